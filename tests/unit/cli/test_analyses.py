"""`tdo neurons draw` and `tdo curve sweep`: every part's files, and what is refused."""

import csv
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from support.neuron_files import importance_of, masks_of
from support.sweep_sheets import sheet

from tdo_plugin import cli
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
SWEEP = ("sweep", "scores.json", "--x", "TE, k = 1=TE:1", "TE, k = 0=TE:0")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a file of each kind."""
    monkeypatch.chdir(tmp_path)
    importance_of(PAIRS, 2, 6, 10).write(tmp_path / "importance")
    masks_of({QUERY: "GG17", INNER: "GGGG"}, PAIRS).write(tmp_path / "masks")
    masks_of({QUERY: "GGGG"}, PAIRS).write(tmp_path / "general")
    Path("scores.json").write_text(json.dumps(as_json(sheet(BLEU))), encoding="utf-8")
    return tmp_path


def command(words: Sequence[str]) -> list[str]:
    """Parts draw what is known of neurons, or scores over a choice."""
    return [*(["curve"] if words[0] == "sweep" else ["neurons", "draw"]), *words]


@pytest.fixture
def analyze(capsys: pytest.CaptureFixture[str]):
    """Run a part; returns what it printed."""

    def run(*words: str, code: int = 0) -> str:
        assert cli.main([*command(words), "--out", "out"]) == code
        return capsys.readouterr().out

    return run


def rows(name: str) -> list[dict[str, str]]:
    with (Path("out") / f"{name}.csv").open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def written() -> set[str]:
    return {path.name for path in Path("out").iterdir()} - {".lock"}


def files(numbers: list[str], pictures: list[str]) -> set[str]:
    drawn = {f"{name}{suffix}" for name in pictures for suffix in (".png", ".svg")}
    return drawn | {f"{name}.csv" for name in numbers}


def drawn(name: str) -> str:
    assert (Path("out") / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    return (Path("out") / f"{name}.svg").read_text(encoding="utf-8")


# --- importance ------------------------------------------------------------------------------


def test_importance(analyze):
    output = analyze("importance", "importance")
    assert written() == files([ENCODER, DECODER, "alike"], [ENCODER, DECODER])
    importance = importance_of(PAIRS, 2, 6, 10)
    numbers = [[float(row[pair]) for pair in PAIRS] for row in rows(ENCODER)]
    assert numbers == importance.modules[ENCODER].T.tolist()
    assert [row["neuron"] for row in rows(ENCODER)] == [str(neuron) for neuron in range(10)]
    texts = drawn(DECODER)
    assert all(f">{text}<" in texts for text in (*PAIRS, DECODER, "importance (taylor)"))
    alike = rows("alike")
    assert len(alike) == 16 * 3
    kind = ("encoder", "feed_forward", "inner")
    (row,) = (
        row
        for row in alike
        if (*list(row.values())[:3],) == kind and (row["pair"], row["other"]) == ("it-en", "ro-en")
    )
    assert float(row["spearman"]) == float(pair_similarity.spearman_by_kind(importance)[kind][0, 2])
    assert "least alike" in output and "mean over the modules above" in output


def test_importance_of_some_pairs_and_modules(analyze):
    words = ("--pairs", "ro-en", "--modules", "*_layers.0.attention.[qk]*")
    assert "A single pair has no similarity." in analyze("importance", "importance", *words)
    names = [
        f"{s}_layers.0.attention.{n}" for s in ("encoder", "decoder") for n in ("query", "key")
    ]
    assert written() == files(names, names)
    assert list(rows(names[0])[0]) == ["neuron", "ro-en"]
    assert ">it-en<" not in drawn(names[0])


def test_pictures_of_many_pairs_show_the_first(analyze):
    pairs = [f"en-{code}" for code in "abcdefghij"]
    importance_of(pairs, 1, 4, 4).write(Path("many"))
    assert "Figures show the first 8 of 10 pairs" in analyze("importance", "many")
    name = "encoder_layers.0.feed_forward.inner"
    assert ">en-h<" in drawn(name) and ">en-i<" not in drawn(name)
    assert len(rows(name)[0]) == 11
    assert "Pictures" not in analyze("importance", "many", "--pairs", ",".join(pairs))
    assert ">en-j<" in drawn(name)


def test_one_stage_has_no_source_side(analyze):
    importance = importance_of(PAIRS, 1, 4, 4)
    modules = {
        name: importance.modules[name] for name in importance.modules if name.startswith("decoder")
    }
    type(importance)("taylor", PAIRS, modules, dict.fromkeys(modules, "target"), "c").write(
        Path("one")
    )
    analyze("importance", "one")
    name = "decoder_layers.0.feed_forward.inner"
    assert written() == files([name, "alike"], [name])


# --- allocation ------------------------------------------------------------------------------


def test_allocation(analyze):
    output = analyze("allocation", "masks")
    names = ["layers", "modules", "alike"]
    assert written() == files([*names, "tree"], names)
    assert [tuple(row.values()) for row in rows("layers")] == [
        ("encoder", "1", "it-en", "2", "2", "1.0"),
        ("encoder", "1", "en-it", "1", "2", "0.5"),
        ("encoder", "1", "ro-en", "1", "2", "0.5"),
        *(("encoder", "2", pair, "0", "0", "") for pair in PAIRS),
    ]
    first, second = (tuple(row.values()) for row in rows("modules"))
    assert first[:5] == ("encoder", "1", "attention", "query", "2")
    assert float(first[5]) == pytest.approx(2 / 3)
    assert second == ("encoder", "2", "feed_forward", "inner", "0", "")
    assert [tuple(row.values()) for row in rows("alike")] == [
        ("it-en", "1.0", "0.5", "0.5"),
        ("en-it", "0.5", "1.0", "1.0"),
        ("ro-en", "0.5", "1.0", "1.0"),
    ]
    assert [tuple(row.values()) for row in rows("tree")] == [
        ("1", "en-it", "ro-en", "0.0", "2"),
        ("2", "it-en", "step 1", "0.5", "3"),
    ]
    assert ">LScore<" in drawn("layers") and ">ro-en<" in drawn("layers")
    assert ">attention, query<" in drawn("modules")
    assert ">0.50<" in drawn("alike")
    assert "LScore, by layer and pair" in output and "0.667" in output


def test_allocation_to_one_pair(analyze):
    masks_of({QUERY: "GG11"}, PAIRS[:1]).write(Path("one"))
    assert "A single pair has no similarity." in analyze("allocation", "one")
    assert written() == files(["layers", "modules"], ["layers", "modules"])


def test_allocation_without_libraries(analyze, monkeypatch, capsys):
    for module in (figure_files, pair_similarity):
        with monkeypatch.context() as missing:
            missing.setattr(module, "find_spec", lambda name: None)
            assert cli.main([*command(["allocation"]), "masks", "--out", "out"]) == 2
            assert "is not installed\n" in capsys.readouterr().err
            assert not Path("out").exists()
    for module in (figure_files, pair_similarity):
        monkeypatch.setattr(module, "find_spec", lambda name: None)
    analyze("allocation", "masks", "--no-figures")
    assert written() == files(["layers", "modules", "alike"], [])


# --- sweep -----------------------------------------------------------------------------------


def test_numbers_make_a_curve(analyze):
    output = analyze(*SWEEP, "--x-label", "k", "--baseline", "multilingual")
    assert written() == files(["sweep"], ["curve"])
    table = [tuple(row.values()) for row in rows("sweep")]
    assert table == [
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


def test_without_a_baseline_scores_are_as_they_are(analyze):
    analyze(*SWEEP)
    assert [row["mean"] for row in rows("sweep")] == [
        "30.5",
        "21.5",
        "26.0",
        "29.0",
        "20.0",
        "24.5",
    ]
    assert ">BLEU<" in drawn("curve")


def test_words_make_bars_and_so_do_numbers_by_direction(analyze):
    words = ("--x", "TE, k = 1=ablated", "multilingual=all")
    analyze("sweep", "scores.json", *words)
    assert written() == files(["sweep"], ["bars"])
    assert all(
        f">{name}<" in drawn("bars") for name in ("it-en", "en-it", "mean", "ablated", "all")
    )
    analyze(*SWEEP, "--per-direction", "--x-label", "k")
    assert written() == files(["sweep"], ["bars"])
    assert all(f">{name}<" in drawn("bars") for name in ("it-en", "mean", "TE, 0", "TE, 1", "k"))


def test_each_line_has_one_block(analyze):
    words = ("--x", "TE, k = 1=TE:all", "multilingual=none:all", "TE, k = 0=TE:some")
    printed = analyze("sweep", "scores.json", *words, "--no-figures").splitlines()
    starts = [line for line in printed if line.strip() in ("TE", "none")]
    assert [line.strip() for line in starts] == ["TE", "none"]


def test_groups_are_lines_and_differences_may_be_ratios(analyze):
    words = ("--baseline", "multilingual", "--ratio", "--group", "all", "it-en")
    output = analyze(*SWEEP, *words)
    picture = drawn("curve")
    for text in ("TE, all", "TE, it-en", "Δ BLEU, %", "mean over all, it-en, against"):
        assert text in picture
    assert [row["direction"] for row in rows("sweep")[:3]] == ["it-en", "en-it", "all"]
    assert "all" in output


def test_words_of_several_lines_stand_side_by_side_in_a_picture_for_each_group(analyze):
    words = ("--x", "TE, k = 1=TE:tag", "multilingual=AV:tag", "TE, k = 0=TE:none")
    analyze("sweep", "scores.json", *words, "--group", "all", "it-en", "--x-label", "by $m$")
    assert written() == files(["sweep"], ["bars-all", "bars-it-en"])
    for name in ("bars-all", "bars-it-en"):
        assert all(f">{text}<" in drawn(name) for text in ("TE", "AV", "tag", "none", "by $m$"))


def test_groups_whose_names_are_no_names_of_files(analyze):
    scores = replace(sheet(BLEU), groups={"to/from": ("it-en",), "to_from": ("en-it",)})
    Path("scores.json").write_text(json.dumps(as_json(scores)), encoding="utf-8")
    words = ("--x", "TE, k = 1=TE:tag", "multilingual=AV:tag", "--group", "to/from", "to_from")
    analyze("sweep", "scores.json", *words)
    assert written() == files(["sweep"], ["bars-to_from", "bars-to_from-2"])
    assert ">mean over to/from<" in drawn("bars-to_from")


def test_bars_of_groups_say_so(analyze):
    """In a picture of its own each, so that small scores beside large ones are seen."""
    words = ("--x", "TE, k = 1=ablated", "multilingual=plain", "--group", "all", "it-en")
    analyze("sweep", "scores.json", *words)
    assert written() == files(["sweep"], ["bars-all", "bars-it-en"])
    for group in ("all", "it-en"):
        picture = drawn(f"bars-{group}")
        assert f">mean over {group}<" in picture and ">by direction<" not in picture
        assert all(f">{name}<" in picture for name in ("ablated", "plain"))


def test_no_figures(analyze):
    analyze(*SWEEP, "--no-figures")
    assert written() == files(["sweep"], [])


# --- what is refused -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["importance", "masks"], "must be a file of neuron importance; masks is neuron masks"),
        (["importance", "none"], "must be a file of neuron importance; none is not one"),
        (["importance", "importance", "--pairs", "x-y"], "`--pairs` must be among it-en, en-it, "),
        (
            ["importance", "importance", "--modules", "layers.*"],
            "`--modules` must match modules such as encoder_layers.0.attention.query; layers.* mat",
        ),
        (["allocation", "importance"], "`MASKS` must be a file of neuron masks; importance is"),
        (["allocation", "general"], "`MASKS` must have specific neurons; all of general are gen"),
        (["sweep", "masks", "--x", "a=1"], "`SCORES` must be a scores.json of tdo score; masks"),
        ([*SWEEP, "--x", "other=1"], "`--x` must name one of multilingual, TE, k = 0, TE,"),
        ([*SWEEP, "--baseline", "other"], "`--baseline` must name one of multilingual, "),
        ([*SWEEP, "--ratio"], "`--ratio` must come with `--baseline`; it does not"),
        ([*SWEEP, "--group", "some"], "`--group` must be among all"),
        ([*SWEEP, "--metric", "chrf"], "`SCORES` must have chrF++ for every direction of each"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_input_is_one_line(capsys, words, message):
    assert cli.main([*command(words), "--out", "out"]) == 2
    error = capsys.readouterr().err
    name = " ".join(["tdo", *command(words[:1])])
    assert error.startswith(f"{name}: error: ") and error.count("\n") == 1
    assert message in error
    assert not Path("out").exists()


def test_what_was_found_is_printed_where_another_run_has_the_folder(capsys):
    with alone(Path("out")):
        assert cli.main(["curve", *SWEEP, "--out", "out"]) == 2
    printed, errors = capsys.readouterr()
    assert "BLEU by direction" in printed
    assert "that no other run is writing to" in errors and not written()


def test_a_file_is_no_folder(capsys):
    words = ["allocation", "masks", "--out", "general"]
    assert cli.main(command(words)) == 2
    assert "`--out` must be a folder to write to" in capsys.readouterr().err
