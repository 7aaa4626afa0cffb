"""`tdo preference` from its command line, as far as it goes without a model."""

from pathlib import Path

import pytest

from tdo_plugin.cli import main
from tdo_plugin.data.databin import DataFolder


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "`--path` must name files that exist; none.pt does not"),
        (["--path", "b.pt"], "must be NAME=CKPT with several models; it is none.pt"),
        (["--sentences", "0"], "`--sentences` must be at least 1; it is 0"),
        (["--longest", "2"], "`--longest` must be at least 3; it is 2"),
        (["--max-tokens", "0"], "`--max-tokens` must be at least 1; it is 0"),
        (["--variance", "0"], "`--variance` must be above 0 and at most 1; it is 0.0"),
        (["--variance", "1.1"], "`--variance` must be above 0 and at most 1; it is 1.1"),
        (["--out", "file"], "`--out` must be a folder to write to; file is not"),
        # before any model is read
        (["--out", "file/below"], "`--out` must be a folder to write to; file/below is not"),
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
    Path("file").touch()
    command = ["preference", "--path", "none.pt", "--data", str(data.root), "--cpu"]
    assert main([*command, "--out", "out", *words]) == 2
    errors = capsys.readouterr().err
    assert message in errors and errors.count("\n") == 1
    assert not Path("out").exists()
