"""`tdo probe positions` on a model trained here."""

import functools
import json
import shutil
from pathlib import Path

import pytest
import torch
from support.commands import csv_rows, told
from support.data import ENCODER_DECODER, temporary
from support.prepared import TEST_SENTENCES, prepared, trained

from tdo_plugin.analysis.probing.position_probe import Training
from tdo_plugin.evaluation.inspected_model import Cut, EvalModel, Sampling

SAVING = ("--save-interval-updates", "10", "--max-update", "20", "--keep-interval-updates", "-1")
SMALL = ("--sentences", "12", "--test-sentences", "8")


@functools.cache
def checkpoints() -> Path:
    """The folder of a short training, with checkpoints after 10 and 20 updates."""
    return trained(*SAVING, seed="6").parent


@pytest.fixture
def probe(capsys, monkeypatch):
    """The command, with probes that are trained for a moment only."""
    quick = functools.partial(Training, updates=30, interval=10)
    monkeypatch.setattr("tdo_plugin.analysis.probing.position_probe.Training", quick)

    def run(*words: object) -> tuple[str, str]:
        return told(capsys, "probe", "positions", "--cpu", "--data", prepared().root, *words)

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
    assert {path.name for path in out.iterdir()} == files
    assert all(str(out / name) in printed for name in files)
    curve = csv_rows(out / "updates.csv")
    places = [(row["model"], row["updates"], row["layer"]) for row in curve]
    assert places == [("tdo", "10", "1"), ("tdo", "20", "1"), ("again", "20", "1")]
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


def test_sources_are_the_sets_lines_with_their_tag():
    model = EvalModel(checkpoints() / "checkpoint_last.pt", prepared(), torch.device("cpu"))
    sources = {}
    for lines, tokens, _ in model.batches("fr-de", Cut("test", 0.5, 1), Sampling(4, 256, 1)):
        for line, row in zip(lines.tolist(), tokens.tolist(), strict=True):
            sources[line] = [model.symbols[token] for token in row if token != 1]
    text = (prepared().root / "pieces" / "test.fr").read_text(encoding="utf-8").splitlines()
    assert len(sources) == 4 and min(sources) >= TEST_SENTENCES // 2
    vocabulary = set(model.symbols)
    for line, source in sources.items():
        pieces = [piece if piece in vocabulary else "<unk>" for piece in text[line].split()]
        assert source == ["__de__", *pieces, "</s>"]
    ignored = {model.symbols[token] for token in model.ignored}
    assert ignored == {"<s>", "<pad>", "</s>", "__en__", "__de__", "__fr__"}
    dictionary = (prepared().root / "dict.txt").read_text(encoding="utf-8").splitlines()
    symbols = [line.rsplit(" ", 1)[0] for line in dictionary if not line.startswith("madeup")]
    kept = model.types.nonzero()[:, 0].tolist()
    assert [model.symbols[token] for token in kept] == symbols
    # all of the set, where that is not too much
    whole = list(model.batches("fr-de", Cut("test"), Sampling(100, 256, 1)))
    assert sum(len(lines) for lines, *_ in whole) == TEST_SENTENCES


OTHERS = {
    "encoder-decoder": ((*ENCODER_DECODER, "--tdo-adaptation-dim", "0"), 2),
    "one stage": (("--tdo-target-layer", "0", "--tdo-adaptation-dim", "0"), 2),
    "no positions, language-aware": (("--tdo-position-embedding", "none", "--tdo-laln", "both"), 1),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_models(probe, name):
    flags, layer = OTHERS[name]
    path = trained("--max-update", "2", *flags)
    printed, _ = probe("--path", path, "--halves", *SMALL, "--directions", "de-fr")
    assert f"Accuracy by class and type is for layer {layer} of {path.parent.name}." in printed


def test_mistakes(refused, probe, tmp_path):
    last, data = checkpoints() / "checkpoint_last.pt", tmp_path / "data"
    shutil.copy(last, tmp_path / "copy.pt")
    shutil.copytree(prepared().root, data)
    for path in data.glob("dict*.txt"):
        first, second, *rest = path.read_text(encoding="utf-8").splitlines()
        path.write_text("\n".join([second, first, *rest]) + "\n", encoding="utf-8")
    one_stage = trained("--max-update", "2", "--tdo-target-layer", "0", "--tdo-adaptation-dim", "0")
    refused.rows(
        """
        probe positions --cpu --data {data} --out {out}
            --path {last}                               :: de-fr
            --halves --path a={last},{copy}             :: different numbers of updates
            --halves --path a={last},{one_stage}        :: differ
            --halves --path {last} --layers 4           :: --layers
            --halves --path a={last} --against b        :: --against
            --halves --path {last} --directions de-es   :: de-es
            --halves --path {last} --longest 2          :: at most 2 tokens
            --halves --path {empty}                     :: --path
            --halves --path {last} --data {reordered}   :: dictionary
        """,
        data=prepared().root,
        out=temporary() / "probed",
        last=last,
        copy=tmp_path / "copy.pt",
        one_stage=one_stage,
        empty=tmp_path,
        reordered=data,
    )
    assert {path.name for path in (temporary() / "probed").glob("*")} <= {".lock"}
