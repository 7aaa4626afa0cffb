"""`tdo neurons draw` and `tdo curve sweep`: every part's files, and what is refused."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from support.commands import csv_rows, told
from support.neuron_files import importance_of, masks_of
from support.score_sheets import bleu_sheet as sheet

from tdo_plugin.analysis import figure_files
from tdo_plugin.analysis.neurons import pair_similarity
from tdo_plugin.evaluation.score_sheet import as_json
from tdo_plugin.runtime.lock import alone

PAIRS = ["it-en", "en-it", "ro-en"]
ENCODER, DECODER = (f"{stack}_layers.1.feed_forward.inner" for stack in ("encoder", "decoder"))
QUERY, INNER = "encoder_layers.0.attention.query", "encoder_layers.1.feed_forward.inner"
BLEU = {
    "multilingual": {"it-en": 30.0, "en-it": 20.0},
    "TE, k = 0, seed 1": {"it-en": 30.0, "en-it": 21.0},
    "TE, k = 0, seed 2": {"it-en": 31.0, "en-it": 22.0},
    "TE, k = 1": {"it-en": 29.0, "en-it": 20.0},
}
DRAW, SWEPT = ("neurons", "draw"), ("curve", "sweep", "scores.json", "--x")
SWEEP = (*SWEPT, "TE, k = 1=TE:1", "TE, k = 0=TE:0")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """A working folder with a file of each kind."""
    monkeypatch.chdir(tmp_path)
    importance_of(PAIRS, 2, 6, 10).write(tmp_path / "importance")
    masks_of({QUERY: "GG17", INNER: "GGGG"}, PAIRS).write(tmp_path / "masks")
    masks_of({QUERY: "GGGG"}, PAIRS).write(tmp_path / "general")
    Path("scores.json").write_text(json.dumps(as_json(sheet(BLEU))), encoding="utf-8")
    return tmp_path


@pytest.fixture
def analyze(capsys):
    """Run a command; returns what it printed."""
    return lambda *words, out="out": told(capsys, *words, "--out", out)[0]


def rows(name: str) -> list[dict[str, str]]:
    return csv_rows(Path("out", f"{name}.csv"))


def values(name: str) -> list[tuple[str, ...]]:
    return [tuple(row.values()) for row in rows(name)]


def written(out: str = "out") -> set[str]:
    return {path.name for path in Path(out).iterdir()} - {".lock"}


def files(numbers: list[str], pictures: list[str]) -> set[str]:
    drawn = {f"{name}{suffix}" for name in pictures for suffix in (".png", ".svg")}
    return drawn | {f"{name}.csv" for name in numbers}


def drawn(name: str) -> str:
    assert Path("out", f"{name}.png").read_bytes().startswith(b"\x89PNG")
    return Path("out", f"{name}.svg").read_text(encoding="utf-8")


def test_importance(analyze):
    output = analyze(*DRAW, "importance", "importance")
    assert written() == files([ENCODER, DECODER, "alike"], [ENCODER, DECODER])
    importance = importance_of(PAIRS, 2, 6, 10)
    numbers = [[float(row[pair]) for pair in PAIRS] for row in rows(ENCODER)]
    assert numbers == importance.modules[ENCODER].T.tolist()
    assert [row["neuron"] for row in rows(ENCODER)] == [str(neuron) for neuron in range(10)]
    texts = drawn(DECODER)
    assert all(f">{text}<" in texts for text in (*PAIRS, DECODER, "importance (taylor)"))
    assert len(rows("alike")) == 16 * 3
    kind = ("encoder", "feed_forward", "inner")
    (spearman,) = (row[5] for row in values("alike") if row[:5] == (*kind, "it-en", "ro-en"))
    assert float(spearman) == float(pair_similarity.spearman_by_kind(importance)[kind][0, 2])
    assert "least alike" in output and "mean over the modules above" in output


def test_importance_of_some_pairs_and_modules(analyze):
    words = ("--pairs", "ro-en", "--modules", "*_layers.0.attention.[qk]*")
    assert "A single pair has no similarity." in analyze(*DRAW, "importance", "importance", *words)
    names = [
        f"{s}_layers.0.attention.{n}" for s in ("encoder", "decoder") for n in ("query", "key")
    ]
    assert written() == files(names, names)
    assert list(rows(names[0])[0]) == ["neuron", "ro-en"]
    assert ">it-en<" not in drawn(names[0])


def test_pictures_of_many_pairs_show_the_first(analyze):
    pairs = [f"en-{code}" for code in "abcdefghij"]
    importance_of(pairs, 1, 4, 4).write(Path("many"))
    name = "encoder_layers.0.feed_forward.inner"
    one = (*DRAW, "importance", "many", "--modules", name)
    assert "Figures show the first 8 of 10 pairs" in analyze(*one)
    assert ">en-h<" in drawn(name) and ">en-i<" not in drawn(name)
    assert len(rows(name)[0]) == 11
    analyze(*one, "--pairs", ",".join(pairs))
    assert ">en-j<" in drawn(name)


def test_one_stage_has_no_source_side_and_one_pair_no_similarity(analyze):
    both = importance_of(PAIRS, 1, 4, 4)
    modules = {name: both.modules[name] for name in both.modules if name.startswith("decoder")}
    sides = dict.fromkeys(modules, "target")
    type(both)("taylor", PAIRS, modules, sides, "c").write(Path("one"))
    analyze(*DRAW, "importance", "one")
    name = "decoder_layers.0.feed_forward.inner"
    assert written() == files([name, "alike"], [name])
    masks_of({QUERY: "GG11"}, PAIRS[:1]).write(Path("one"))
    assert "A single pair has no similarity." in analyze(*DRAW, "allocation", "one", out="alone")
    assert written("alone") == files(["layers", "modules"], ["layers", "modules"])


def test_allocation(analyze):
    output = analyze(*DRAW, "allocation", "masks")
    names = ["layers", "modules", "alike"]
    assert written() == files([*names, "tree"], names)
    assert values("layers") == [
        ("encoder", "1", "it-en", "2", "2", "1.0"),
        ("encoder", "1", "en-it", "1", "2", "0.5"),
        ("encoder", "1", "ro-en", "1", "2", "0.5"),
        *(("encoder", "2", pair, "0", "0", "") for pair in PAIRS),
    ]
    first, second = values("modules")
    assert first[:5] == ("encoder", "1", "attention", "query", "2")
    assert float(first[5]) == pytest.approx(2 / 3)
    assert second == ("encoder", "2", "feed_forward", "inner", "0", "")
    assert values("alike") == [
        ("it-en", "1.0", "0.5", "0.5"),
        ("en-it", "0.5", "1.0", "1.0"),
        ("ro-en", "0.5", "1.0", "1.0"),
    ]
    assert values("tree") == [
        ("1", "en-it", "ro-en", "0.0", "2"),
        ("2", "it-en", "step 1", "0.5", "3"),
    ]
    assert ">LScore<" in drawn("layers") and ">ro-en<" in drawn("layers")
    assert ">attention, query<" in drawn("modules")
    assert ">0.50<" in drawn("alike")
    assert "LScore, by layer and pair" in output and "0.667" in output


def test_allocation_without_libraries(analyze, monkeypatch, capsys):
    for module in (figure_files, pair_similarity):
        with monkeypatch.context() as missing:
            missing.setattr(module, "find_spec", lambda name: None)
            _, error = told(capsys, *DRAW, "allocation", "masks", "--out", "out", code=2)
            assert "is not installed\n" in error
            assert not Path("out").exists()
    for module in (figure_files, pair_similarity):
        monkeypatch.setattr(module, "find_spec", lambda name: None)
    analyze(*DRAW, "allocation", "masks", "--no-figures")
    assert written() == files(["layers", "modules", "alike"], [])


def test_numbers_make_a_curve(analyze):
    output = analyze(*SWEEP, "--x-label", "k", "--baseline", "multilingual")
    assert written() == files(["sweep"], ["curve"])
    assert values("sweep") == [
        ("TE", "0", "it-en", "2", "0.5", "0.0", "1.0"),
        ("TE", "0", "en-it", "2", "1.5", "1.0", "2.0"),
        ("TE", "0", "mean", "2", "1.0", "0.5", "1.5"),
        ("TE", "1", "it-en", "1", "-1.0", "-1.0", "-1.0"),
        ("TE", "1", "en-it", "1", "0.0", "0.0", "0.0"),
        ("TE", "1", "mean", "1", "-0.5", "-0.5", "-0.5"),
    ]
    picture = drawn("curve")
    for text in ("k", "TE", "Δ BLEU", "mean over 2 directions, against 'multilingual'"):
        assert f">{text}<" in picture
    assert "+1.00  +0.50 to +1.50" in output


CHANGED = "TE, k = 1=ablated", "multilingual=all"
LINES = "TE, k = 1=TE:tag", "multilingual=AV:tag", "TE, k = 0=TE:none"
GROUPS = ("--group", "all", "it-en")


@pytest.mark.parametrize(
    ("words", "pictures", "texts"),
    [
        ((*SWEEP, "--x-label", "k"), ["curve"], ["BLEU", "TE", "k"]),
        ((*SWEPT, *CHANGED), ["bars"], ["it-en", "en-it", "mean", "ablated", "all"]),
        ((*SWEEP, "--per-direction"), ["bars"], ["it-en", "mean", "TE, 0", "TE, 1"]),
        ((*SWEEP, *GROUPS), ["curve"], ["TE, all", "TE, it-en"]),
        ((*SWEPT, *CHANGED, *GROUPS), ["bars-all", "bars-it-en"], ["ablated", "all"]),
        (
            *((*SWEPT, *LINES, *GROUPS, "--x-label", "by $m$"), ["bars-all", "bars-it-en"]),
            ["TE", "AV", "tag", "none", "by $m$"],
        ),
        (
            *((*SWEPT, *LINES[:2], "--group", "to/from", "to_from"),),
            *(["bars-to_from", "bars-to_from-2"], ["tag"]),
        ),
    ],
    ids=lambda value: " ".join(map(str, value)),
)
def test_pictures_of_a_sweep(analyze, words, pictures, texts):
    """Words make bars, numbers a curve; groups of bars have a picture each."""
    if "to/from" in words:
        scores = replace(sheet(BLEU), groups={"to/from": ("it-en",), "to_from": ("en-it",)})
        Path("scores.json").write_text(json.dumps(as_json(scores)), encoding="utf-8")
    analyze(*words)
    assert written() == files(["sweep"], pictures)
    for picture in pictures:
        assert all(f">{text}<" in drawn(picture) for text in texts)
        if "bars-" in picture:
            assert ">by direction<" not in drawn(picture)
    if pictures[0] == "bars-to_from":
        assert ">mean over to/from<" in drawn("bars-to_from")
    if pictures[-1] == "bars-it-en":
        assert ">mean over it-en<" in drawn("bars-it-en")


def test_differences_may_be_ratios_and_pictures_are_left_out(analyze):
    analyze(*SWEEP, "--no-figures")
    means = ["30.5", "21.5", "26.0", "29.0", "20.0", "24.5"]
    assert [row["mean"] for row in rows("sweep")] == means  # without a baseline as they are
    assert written() == files(["sweep"], [])
    analyze(*SWEEP, "--baseline", "multilingual", "--ratio", *GROUPS)
    assert "Δ BLEU, %" in drawn("curve") and "mean over all, it-en, against" in drawn("curve")
    assert [row["direction"] for row in rows("sweep")[:3]] == ["it-en", "en-it", "all"]
    printed = analyze(*SWEPT, *LINES, "--no-figures").splitlines()
    blocks = [line.strip() for line in printed if line.strip() in ("TE", "AV")]
    assert blocks == ["TE", "AV"]  # one a line


def test_what_is_refused(refused):
    refused.rows(
        """
        neurons draw importance masks --out out               :: neuron masks
        neurons draw importance importance --out out
            --pairs x-y                                       :: x-y
            --modules layers.*                                :: layers.*
        neurons draw allocation importance --out out          :: MASKS
        neurons draw allocation general --out out             :: general
        neurons draw allocation masks --out general           :: --out
        curve sweep masks --x a=1 --out out                   :: SCORES
        {sweep} --out out
            --x other=1                                       :: multilingual, TE, k = 0
            --baseline other                                  :: multilingual, TE, k = 0
            --ratio                                           :: --baseline
            --group some                                      :: --group
            --metric chrf                                     :: chrF++
        """,
        sweep=SWEEP,
    )


def test_what_was_found_is_printed_where_another_run_has_the_folder(capsys):
    with alone(Path("out")):
        printed, errors = told(capsys, *SWEEP, "--out", "out", code=2)
        assert "that no other run is writing to" in errors and not written()
    assert "BLEU by direction" in printed
