"""`tdo probe positions` on a model trained here."""

import functools
import json
import re
import shutil
from pathlib import Path

import pytest
import torch
from support.commands import csv_rows, told
from support.data import ENCODER_DECODER, temporary
from support.prepared import TEST_SENTENCES, prepared, trained

from tdo_compat.checkpoint import safe_load
from tdo_plugin.analysis.probing.position_probe import Training
from tdo_plugin.analysis.probing.states import read_states
from tdo_plugin.data.databin import read_data_folder
from tdo_plugin.evaluation.inspected_model import Cut, EvalModel, Sampling

SAVING = ("--save-interval-updates", "10", "--max-update", "20", "--keep-interval-updates", "-1")
SMALL = ("--sentences", "12", "--test-sentences", "8")


@functools.cache
def checkpoints() -> Path:
    """The folder of a short training, with checkpoints after 10 and 20 updates."""
    return trained(*SAVING, seed="6").parent


@pytest.fixture
def probe(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    """The command, with probes that are trained for a moment only."""
    quick = functools.partial(Training, updates=30, interval=10)
    monkeypatch.setattr("tdo_plugin.analysis.probing.position_probe.Training", quick)

    def run(*words: object, code: int = 0, data: Path | None = None) -> tuple[str, str]:
        command = ["probe", "positions", "--cpu", "--data", data or prepared().root, *words]
        return told(capsys, *command, code=code)

    return run


def test_a_curve_two_models_and_every_file(probe, tmp_path):
    out = tmp_path / "out"
    before = [path.read_bytes() for path in sorted(checkpoints().iterdir())]
    paths = (f"tdo={checkpoints()}", f"again={checkpoints()}/checkpoint_last.pt")
    flags = ("--path", *paths, "--halves", *SMALL, "--layers", "all", "--out", out)
    printed, errors = probe(*flags)
    assert before == [path.read_bytes() for path in sorted(checkpoints().iterdir())]
    names = ("updates", "layers", "classes", "shares", "types")
    drawn = [f"{name}{end}" for name in names[:3] for end in (".png", ".svg")]
    files = {*drawn, *(f"{name}.csv" for name in names), "probe.json"}
    assert {path.name for path in out.iterdir()} - {".lock"} == files
    assert all(str(out / name) in printed for name in files)
    curve = csv_rows(out / "updates.csv")
    assert [(row["model"], row["updates"], row["layer"]) for row in curve] == [
        ("tdo", "10", "1"),
        ("tdo", "20", "1"),
        ("again", "20", "1"),
    ]
    # the same checkpoint twice: the same probes, and nothing that rose
    assert curve[1]["accuracy"] == curve[2]["accuracy"]
    among = {row["among"]: row for row in csv_rows(out / "shares.csv")}
    assert among["again > tdo"]["types"] == "0"
    record = json.loads((out / "probe.json").read_text(encoding="utf-8"))
    assert record["directions"] == ["de-fr", "fr-de"]
    assert [entry["updates"] for entry in record["models"]["tdo"]] == [10, 20]
    assert list(record["models"]["tdo"][0]["accuracies"]) == ["1", "2", "3"]
    assert "Position accuracy" in printed and "tdo after 10 updates" in errors
    assert "again > tdo" in printed


def test_the_same_numbers_again_and_others_of_another_seed(probe):
    flags = ("--path", checkpoints() / "checkpoint_last.pt", "--halves", *SMALL)
    first, _ = probe(*flags)
    assert probe(*flags)[0] == first
    assert probe(*flags, "--seed", "2")[0] != first


@functools.cache
def right_padded_twin() -> Path:
    """The checkpoint with the other side of padding in its options."""
    state = safe_load(str(checkpoints() / "checkpoint_last.pt"))
    task = state["cfg"]["task"]
    assert str(task.left_pad_source) == "True"
    task.left_pad_source = "False"
    del state["task_state"]["text"]
    path = temporary() / "right-padded.pt"
    torch.save(state, path)
    return path


def test_the_side_of_padding_makes_no_difference():
    readings = []
    for path in (checkpoints() / "checkpoint_last.pt", right_padded_twin()):
        model = EvalModel(path, prepared(), torch.device("cpu"))
        batches = list(model.batches("de-fr", Cut("test"), Sampling(8, 256, 1)))
        assert len(batches) == 1
        readings.append(
            (batches[0][1], read_states(model.core, [(0, *batches[0])], [1], model.ignored))
        )
    (left, left_states), (right, right_states) = readings
    assert (left[:, 0] == 1).any() and (right[:, -1] == 1).any() and not (right[:, 0] == 1).any()
    for name in ("tokens", "positions", "lines"):
        assert torch.equal(getattr(left_states, name), getattr(right_states, name))
    torch.testing.assert_close(left_states.states[1], right_states.states[1], rtol=1e-4, atol=1e-5)


def test_sources_are_the_sets_lines_with_their_tag():
    model = EvalModel(checkpoints() / "checkpoint_last.pt", prepared(), torch.device("cpu"))
    sources = {}
    for lines, tokens, _ in model.batches("fr-de", Cut("test", 0.5, 1), Sampling(4, 256, 1)):
        for line, row in zip(lines.tolist(), tokens.tolist(), strict=True):
            sources[line] = [model.symbols[token] for token in row if token != 1]
    text = (prepared().root / "pieces" / "test.fr").read_text(encoding="utf-8").splitlines()
    assert len(sources) == 4 and min(sources) >= TEST_SENTENCES // 2
    vocabulary = set(model.symbols)
    pieces = {
        line: [piece if piece in vocabulary else "<unk>" for piece in text[line].split()]
        for line in sources
    }
    assert sources == {
        line: ["__de__", *line_pieces, "</s>"] for line, line_pieces in pieces.items()
    }
    assert {model.symbols[token] for token in model.ignored} == {
        *("<s>", "<pad>", "</s>", "__en__", "__de__", "__fr__")
    }
    dictionary = (prepared().root / "dict.txt").read_text(encoding="utf-8").splitlines()
    symbols = [line.rsplit(" ", 1)[0] for line in dictionary]
    kept = model.types.nonzero()[:, 0].tolist()
    assert [model.symbols[token] for token in kept] == [
        symbol for symbol in symbols if not symbol.startswith("madeupword")
    ]
    # all of the set, where that is not too much
    whole = list(model.batches("fr-de", Cut("test"), Sampling(100, 256, 1)))
    assert sum(len(lines) for lines, *_ in whole) == TEST_SENTENCES


@pytest.mark.parametrize(
    ("flags", "layer"),
    [
        ((*ENCODER_DECODER, "--tdo-adaptation-dim", "0"), 2),
        (("--tdo-target-layer", "0", "--tdo-adaptation-dim", "0"), 2),
        (("--tdo-position-embedding", "none", "--tdo-laln", "both"), 1),
    ],
    ids=["encoder-decoder", "one stage", "no positions, language-aware"],
)
def test_other_models(probe, flags, layer):
    path = trained("--max-update", "2", *flags)
    printed, _ = probe("--path", path, "--halves", *SMALL, "--directions", "de-fr")
    assert f"Accuracy by class and type is for layer {layer} of model." in printed


def test_mistakes_are_one_line_and_leave_nothing(probe, tmp_path):
    last, out = checkpoints() / "checkpoint_last.pt", tmp_path / "out"
    copy = tmp_path / "copy.pt"
    shutil.copy(last, copy)
    one_stage = trained("--max-update", "2", "--tdo-target-layer", "0", "--tdo-adaptation-dim", "0")
    for words, message in (
        ((last,), "`--data` must have a valid set for each direction; .* has none for de-fr"),
        (
            (f"{last},{copy}", "--halves"),
            "must name checkpoints with different numbers of updates for model",
        ),
        (
            (f"{last},{one_stage}", "--halves"),
            "must name checkpoints of a single model for model; .* differ",
        ),
        ((last, "--halves", "--layers", "4"), "`--layers` must be at most 3"),
        ((f"a={last}", "--halves", "--against", "b"), "`--against` must be one of a; it is b"),
        ((last, "--halves", "--directions", "de-es"), "`--directions` must be .*de-es is not one"),
        (
            (last, "--halves", "--longest", "2"),
            "`--data` must have two test lines of at most 2 tokens .*; it has 0",
        ),
        ((tmp_path, "--halves"), "`--path` must be a folder with checkpoints; .* has none"),
    ):
        printed, errors = probe("--path", *words, "--out", out, code=2)
        line = errors.splitlines()[-1]
        assert line.startswith("tdo probe: error: ")
        assert re.search(message, line), line
        assert "Traceback" not in errors and not printed
        assert not out.exists() or {path.name for path in out.iterdir()} == {".lock"}


def test_another_dictionary_is_refused(probe, tmp_path):
    data = tmp_path / "data"
    shutil.copytree(prepared().root, data)
    for path in data.glob("dict*.txt"):
        first, second, *rest = path.read_text(encoding="utf-8").splitlines()
        path.write_text("\n".join([second, first, *rest]) + "\n", encoding="utf-8")
    assert read_data_folder(data)
    last = checkpoints() / "checkpoint_last.pt"
    _, errors = probe("--path", last, "--halves", code=2, data=data)
    assert "the source dictionary must be the checkpoint's" in errors
    assert errors.count("\n") == 1
