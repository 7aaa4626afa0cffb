"""`tdo probe` from its command line, as far as it goes without a model."""

from pathlib import Path

import pytest

from tdo_plugin.cli import main
from tdo_plugin.cli.probe import own_layer, wanted_layers
from tdo_plugin.cli.probe_checkpoints import named
from tdo_plugin.data.databin import DataFolder
from tdo_plugin.errors import UserError


def test_models_and_their_checkpoints():
    assert named(["a.pt,b.pt"]) == {"model": [Path("a.pt"), Path("b.pt")]}
    assert named(["rc=a.pt", "tpdm=b.pt,c.pt"]) == {
        "rc": [Path("a.pt")],
        "tpdm": [Path("b.pt"), Path("c.pt")],
    }


@pytest.mark.parametrize(
    ("paths", "message"),
    [
        (["a.pt", "b.pt"], "must be NAME=CKPT.* with several models; it is a.pt"),
        (["x=a.pt", "x=b.pt"], "must name each model once; x occurs twice"),
        (["x="], r"must be \[NAME=\]CKPT.*; it is x="),
        (["=a.pt"], r"must be \[NAME=\]CKPT.*; it is =a.pt"),
        (["a.pt,"], r"must be \[NAME=\]CKPT.*; it has a.pt,"),
    ],
)
def test_names_that_are_refused(paths, message):
    with pytest.raises(UserError, match=message):
        named(paths)


@pytest.mark.parametrize(
    ("entry", "layers", "expected"),
    [(6, 6, 6), (3, 6, 3), (0, 6, 5), (0, 1, 1)],
    ids=["encoder-decoder", "two stages", "one stage", "one layer"],
)
def test_the_layer_that_a_target_reads(entry, layers, expected):
    assert own_layer(entry, layers) == expected


def test_layers_that_are_wanted():
    assert wanted_layers(None, 3, 6, Path("x")) == (3,)
    assert wanted_layers("all", 3, 4, Path("x")) == (1, 2, 3, 4)
    assert wanted_layers("4,1,4", 3, 6, Path("x")) == (1, 4)
    with pytest.raises(UserError, match=r"`--layers` must be at most 3, .* of x; it has 4"):
        wanted_layers("2,4", 3, 3, Path("x"))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--layers", "0"], "`--layers` must be all or layers from 1 such as 2,4; it is 0"),
        (["--layers", "2,"], "`--layers` must be all or layers from 1 such as 2,4; it is 2,"),
        (["--sentences", "1"], "`--sentences` must be at least 2; it is 1"),
        (["--test-sentences", "0"], "`--test-sentences` must be at least 1; it is 0"),
        (["--probes", "0"], "`--probes` must be at least 1; it is 0"),
        (["--longest", "0"], "`--longest` must be at least 1; it is 0"),
        ([], "`--path` must name files that exist; none.pt does not"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_input_is_one_line(
    data: DataFolder,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    out = tmp_path / "out"
    command = ["probe", "positions", "--path", "none.pt", "--data", str(data.root), "--cpu"]
    assert main([*command, "--out", str(out), *words]) == 2
    errors = capsys.readouterr().err.replace(f"{tmp_path}/", "")
    assert message in errors and errors.count("\n") == 1
    assert not out.exists()
