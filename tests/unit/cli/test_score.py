"""`tdo score` from its command line."""

import argparse
import json
import unicodedata
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from support.covering import needs

from tdo_plugin.cli import score
from tdo_plugin.evaluation.caveats import caveats
from tdo_plugin.evaluation.outputs import Texts
from tdo_plugin.evaluation.score_sheet import ScoreSheet
from tdo_plugin.evaluation.sheet_reading import read_sheet
from tdo_plugin.evaluation.systems import SystemTexts
from tdo_plugin.metrics.segments import Unavailable

GERMAN = ["ein rotes Haus steht dort", "kein Wasser ist hier", "wir lesen drei gute Bücher"]
FRENCH = ["une maison rouge est là", "il n'y a pas d'eau ici", "nous lisons trois bons livres"]
ENGLISH = ["a red house stands there", "there is no water here", "we read three good books"]
TEXT = {"de": GERMAN, "fr": FRENCH, "en": ENGLISH}


@pytest.fixture(autouse=True)
def without_detectors(tmp_path, monkeypatch):
    """lid.176 may lie on this machine."""
    monkeypatch.setenv("FTLANG_CACHE", str(tmp_path / "empty"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "empty"))


def write(folder: Path, direction: str, hypotheses: list[str], sources: bool = True) -> None:
    folder.mkdir(exist_ok=True)
    source, target = direction.split("-")
    sides = {"hyp": hypotheses, "ref": TEXT[target], **({"src": TEXT[source]} if sources else {})}
    for suffix, lines in sides.items():
        (folder / f"{direction}.{suffix}").write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.fixture
def good(tmp_path):
    """A system that makes few mistakes."""
    folder = tmp_path / "good"
    write(folder, "en-de", GERMAN)
    write(folder, "de-en", [*ENGLISH[:2], "we read four good books"])
    write(folder, "de-fr", FRENCH)
    return folder


@pytest.fixture
def bad(tmp_path):
    """A system that answers in English, or not at all."""
    folder = tmp_path / "bad"
    write(folder, "en-de", [*GERMAN[:2], ""])
    write(folder, "de-fr", ENGLISH)
    return folder


def run(tmp_path: Path, *words: object) -> tuple[int, ScoreSheet]:
    parser = argparse.ArgumentParser()
    score.add_arguments(parser)
    arguments = ["--out", tmp_path / "scores", "--workers", "1", *words]
    code = score.run(parser.parse_args([str(word) for word in arguments]))
    return code, read_sheet(tmp_path / "scores" / "scores.json")


def test_hypotheses_and_references_are_enough(tmp_path, good, bad):
    words = (f"good={good}", f"bad={bad}", "--samples", "50")
    code, sheet = run(tmp_path, *words, "--lid", "references")
    assert code == 0
    assert sheet.directions == ("de-en", "de-fr", "en-de")
    assert list(sheet.groups) == ["en → X", "X → en", "X → Y", "all"]
    assert sheet.mean("good", "en → X", "bleu") == pytest.approx(100)
    content = json.loads((tmp_path / "scores" / "scores.json").read_text(encoding="utf-8"))
    assert content["means"]["good"]["en → X"]["bleu"] == pytest.approx(100)
    assert sheet.mean("bad", "X → en", "bleu") is None
    off = {row.direction: row.scores["off"] for row in sheet.system("bad").directions}
    assert off["de-fr"] == 100 and off["en-de"] == pytest.approx(100 / 3)
    assert sheet.system("bad").of("de-fr").shares["english"] == 100
    assert sheet.system("bad").of("en-de").shares["undetectable"] == pytest.approx(100 / 3)
    assert any("references" in signature for signature in sheet.signatures["off"])
    assert "bad has no hypotheses for de-en." in sheet.notes
    assert "bad has empty hypotheses: 1 of en-de." in sheet.notes
    comparison = sheet.comparison("bad", "good", "bleu")
    assert comparison.win_ratio["all"] == 0
    assert comparison.directions["de-fr"].difference < -90
    assert {example.direction for example in sheet.examples} == {"de-en", "de-fr", "en-de"}
    assert "command" in sheet.made_by


def test_processes_change_nothing(tmp_path, good, bad):
    words = (f"good={good}", f"bad={bad}", "--samples", "50", "--lid", "references")
    words += ("--metrics", "bleu,chrf,ter,off")
    alone, together = (run(tmp_path, *words, "--workers", n)[1] for n in (1, 2))
    assert together.systems == alone.systems
    assert together.comparisons == alone.comparisons
    assert together.signatures == alone.signatures


def test_single_files(tmp_path, good):
    files = ("--hyp", good / "de-en.hyp", "--ref", good / "de-en.ref", "-s", "de", "-t", "en")
    _, sheet = run(tmp_path, *files, "--metrics", "bleu")
    _, folder = run(tmp_path, f"good={good}", "--directions", "de-en", "--metrics", "bleu")
    assert sheet.systems[0].directions == folder.systems[0].directions


def test_what_is_bad_leaves_the_others(tmp_path, good, capsys):
    """A direction, a reference that is not that of the first system, a whole system."""
    other = tmp_path / "other"
    write(other, "en-de", GERMAN)
    write(other, "de-fr", FRENCH)
    (other / "de-fr.ref").write_text("autre chose\n" * 3)
    (tmp_path / "none").mkdir()
    (good / "de-en.hyp").write_text("one line\n")
    systems = (f"good={good}", f"other={other}", f"none={tmp_path}/none")
    code, sheet = run(tmp_path, *systems, "--metrics", "bleu")
    assert (code, sheet.directions) == (1, ("de-fr", "en-de"))
    lines, empty, other = sorted(sheet.failures)
    assert lines == (
        "good de-en: `de-en.hyp` must have as many lines as the reference, 3; it has 1"
    )
    assert empty.startswith("none: `NAME=DIR` must name a folder with SOURCE-TARGET.hyp")
    assert other == "other de-fr: `de-fr.ref` must equal that of good; it differs"
    assert list(sheet.comparison("other", "good", "bleu").directions) == ["en-de"]
    assert "error: good de-en" in capsys.readouterr().err


@needs("comet")
def test_a_metric_that_is_missing_or_fails_leaves_the_others(tmp_path, good, monkeypatch, capsys):
    for name in ("HF_HUB_CACHE", "HF_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "empty"))
    words = (f"good={good}", "--metrics", "bleu,comet", "--cache", tmp_path / "c")
    code, sheet = run(tmp_path, *words)
    assert code == 1
    assert set(sheet.missing) == {"comet"} and "--download" in sheet.missing["comet"]
    assert sheet.metrics == ("bleu", "comet")
    assert "COMET is missing" in capsys.readouterr().err

    reasons = {"no source": Unavailable("no source"), "KeyError: 'model'": KeyError("model")}
    for said, error in reasons.items():
        failing = SimpleNamespace(key="comet", score=Mock(side_effect=error))
        monkeypatch.setattr("tdo_plugin.metrics.comet.Comet", lambda *_, it=failing: it)
        code, sheet = run(tmp_path, *words)
        assert code == 1 and sheet.missing == {"comet": said}
    assert sheet.mean("good", "en → X", "bleu") == pytest.approx(100)
    (good / "en-de.json").write_text('{"perplexity": 7.5}')  # of the others it is not known
    code, sheet = run(tmp_path, f"good={good}", "--metrics", "bleu,perplexity")
    assert code == 1 and "good de-en, good de-fr" in sheet.missing["perplexity"]


def test_what_looks_segmented_is_told(tmp_path, good):
    (good / "en-de.hyp").write_text("▁ein ▁Haus\n" * 3, encoding="utf-8")
    (good / "de-fr.hyp").write_text("une mai@@ son\n" * 3)
    notes = run(tmp_path, f"good={good}", "--metrics", "bleu")[1].notes
    assert "good has hypotheses that look segmented: de-fr, en-de." in notes


def test_references_in_another_form_of_unicode_are_noted():
    """As on macOS; a few typographic characters, which any text has, are not."""
    plain = ["Bücher für Köche."] * 60
    decomposed = [unicodedata.normalize("NFD", line) for line in plain]
    noted = {}
    for name, references, hypotheses in (
        ("NFD", decomposed, plain),
        ("both", decomposed, [*plain[1:], decomposed[0]]),
        ("an ellipsis", [*plain[1:], "Und …"], plain),
    ):
        texts = {"en-de": Texts("en-de", None, tuple(hypotheses), tuple(references))}
        noted[name] = caveats([SystemTexts(name, texts)], ["en-de"], {}, False)
    assert noted["both"] == noted["an ellipsis"] == []
    assert "hypotheses of NFD have none" in noted["NFD"][0] and "60 of en-de" in noted["NFD"][0]


def test_a_detector_that_is_not_here(tmp_path, good, data):
    for words in (["--protocol", "neurons"], ["--metrics", "bleu,off"]):
        code, sheet = run(tmp_path, f"good={good}", *words)
        assert code == 1 and "lid.176" in sheet.missing["off"]
    code, sheet = run(tmp_path, f"good={good}")  # nobody asked for it
    assert code == 0 and sheet.metrics == ("bleu", "chrf")
    assert any(note.startswith("No off-target rate: ") for note in sheet.notes)
    code, sheet = run(tmp_path, f"good={good}", "--data", data.root)
    assert code == 0 and sheet.mean("good", "zero-shot", "off") is not None
    assert any("a classifier trained on the training text" in note for note in sheet.notes)


def test_without_resamples_there_is_still_a_win_ratio(tmp_path, good, bad):
    words = (f"bad={bad}", f"good={good}", "--metrics", "bleu", "--samples", "0")
    comparison = run(tmp_path, *words)[1].comparison("good", "bad", "bleu")
    assert comparison.win_ratio["all"] == 100 and not comparison.directions
    with_samples = run(tmp_path, *words, "--samples", "20")[1]
    assert with_samples.comparison("good", "bad", "bleu").win_ratio == comparison.win_ratio
    assert (with_samples.samples, with_samples.seed) == (20, 12345)


def test_protocols_measure_differently(tmp_path, good):
    write(good, "en-de", [line.upper() for line in GERMAN])
    words = (f"good={good}", "--metrics", "bleu,perplexity")
    for direction in ("en-de", "de-en", "de-fr"):
        (good / f"{direction}.json").write_text('{"perplexity": 7.5}')
    plain = run(tmp_path, *words)[1]
    lower = run(tmp_path, *words, "--protocol", "tpdm")[1]
    tlm = run(tmp_path, *words, "--protocol", "tlm")[1]
    assert plain.mean("good", "en → X", "bleu") < 1
    assert lower.mean("good", "en → X", "bleu") == pytest.approx(100)
    assert "case:lc" in lower.signatures["bleu"][0]
    assert "moses" in tlm.signatures["bleu"][0]
    pooled = tlm.systems[0].pooled["all"]["bleu"]
    assert 0 < pooled < 100 and pooled != pytest.approx(tlm.mean("good", "all", "bleu"))
    assert tlm.mean("good", "en → X", "perplexity") == 7.5
    assert not plain.systems[0].pooled


def test_groups(tmp_path, good, data):
    words = (f"good={good}", "--metrics", "bleu", "--group", "into French=*-fr", "--families")
    groups = run(tmp_path, *words)[1].groups
    assert groups["into French"] == ("de-fr",)
    assert groups["Germanic"] == ("de-en", "en-de")
    groups = run(tmp_path, *words[:3], "--supervised", "en-de,de-en")[1].groups
    assert groups["zero-shot"] == ("de-fr",)
    groups = run(tmp_path, *words[:3], "--data", data.root, "--sizes")[1].groups
    assert groups["zero-shot"] == ("de-fr",)
    assert groups["Low: en → X"] == ("en-de",)
    words = (*words[:3], "--data", data.root, "--sizes", "--size-bounds")
    sizes = data.training_sizes()
    assert run(tmp_path, *words, f"{sizes['en-de']},1")[1].groups["High: en → X"] == ("en-de",)
    groups = run(tmp_path, *words, f"{sizes['en-de'] + 1},1")[1].groups
    assert groups["Medium: en → X"] == ("en-de",)


def test_patterns_choose_of_what_a_system_has(tmp_path, good, bad):
    words = (f"good={good}", f"bad={bad}", "--metrics", "bleu", "--directions")
    code, sheet = run(tmp_path, *words, "*-de,*-fr")
    assert (code, sheet.directions) == (0, ("de-fr", "en-de"))
    code, sheet = run(tmp_path, *words, "*-en")
    assert (code, sheet.directions) == (1, ("de-en",))
    assert sheet.failures == ("bad: none of de-fr, en-de matches *-en",)


def test_a_system_may_have_a_folder_for_each_direction(tmp_path, good, bad):
    words = ("--metrics", "bleu,chrf,perplexity", "--samples", "20")
    for folder, direction in ((good, "de-en"), (bad, "en-de")):
        (folder / f"{direction}.json").write_text('{"perplexity": 7.5}')
    whole = run(tmp_path, f"model={good}", f"bad={bad}", *words)[1]
    parts = {direction: tmp_path / direction for direction in ("en-de", "de-en", "de-fr")}
    for direction, part in parts.items():
        part.mkdir()
        for path in good.glob(f"{direction}.*"):
            path.rename(part / path.name)
    folders = [f"model={part}" for part in parts.values()]
    code, sheet = run(tmp_path, *folders, f"bad={bad}", *words)
    assert (sheet.systems, sheet.comparisons) == (whole.systems, whole.comparisons)
    assert code == 1 and sheet.missing == whole.missing  # perplexities of some directions alone
    code, sheet = run(tmp_path, *folders, "--directions", "en-de,de-en", "--metrics", "bleu")
    assert (code, sheet.directions) == (0, ("de-en", "en-de"))
    code, sheet = run(tmp_path, *folders, f"model={tmp_path / 'scores'}", "--metrics", "bleu")
    assert code == 1 and len(sheet.failures) == 1 and "has none" in sheet.failures[0]
    assert sheet.directions == ("de-en", "de-fr", "en-de")


def test_every_folder_of_a_system_tells_what_made_it(tmp_path, good):
    write(good, "en-de", [line.upper() for line in GERMAN])
    other, how = tmp_path / "other", {"form": {"casing": "lowercased"}}
    write(other, "en-fr", FRENCH)
    words = (f"model={good}", f"model={other}", "--metrics", "bleu")
    _, sheet = run(tmp_path, *words)
    assert sheet.system("model").provenance == {}
    assert sheet.system("model").of("en-de").scores["bleu"] < 1
    (other / "translate.json").write_text(json.dumps(how))
    _, sheet = run(tmp_path, *words)
    assert sheet.system("model").provenance == {str(other): how}
    assert sheet.system("model").of("en-de").scores["bleu"] == pytest.approx(100)


def test_names_and_folders_may_have_an_equals_sign(tmp_path, good):
    folder = good.rename(good.with_name("lr=1"))
    words = (f"k = 0.7={folder}", f"k = 1={folder}", f"plain={folder}")
    code, sheet = run(tmp_path, *words, "--metrics", "bleu")
    assert (code, [system.name for system in sheet.systems]) == (0, ["k = 0.7", "k = 1", "plain"])


def test_what_is_refused(good, tmp_path, refused):
    refused.rows(
        """
        score --out {out}                    :: --hyp
            {good}                           :: NAME=DIR
            a={good} a={good}                :: de-en of a
            --hyp {good}/de-en.hyp           :: --ref
        score --out {out} a={good}
            --metrics bleu,blue              :: --metrics
            --lid no.bin                     :: --lid
            --lid corpus                     :: --data
            --directions all                 :: --data
            --directions de-xx               :: a de-xx
            --directions de-fr-en            :: --directions
            --directions *-xx                :: none of
            --supervised en_de               :: --supervised
            --supervised en-xx               :: --supervised
            --hub eng                        :: --hub
            --group all=*                    :: all already exists
            --group x=zz-*                   :: zz-* of x
            -s de                            :: --source-lang
            --baseline b                     :: --baseline
            --samples -1                     :: --samples
            --sizes                          :: --sizes
            --size-bounds 2,1                :: --size-bounds
            --tokenizer 14a                  :: --tokenizer
            --hyp {good}/de-en.hyp           :: NAME=DIR
        """,
        out=tmp_path / "scores",
        good=good,
    )
