"""Every corpus of the papers, from archives with its own layout to a first update."""

import gzip
import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
from support import corpora
from support.configs import ROOT
from support.corpora import contents, first_update, make, outcome, prepared
from support.covering import one_in
from support.layouts import CASES, Case, europarl, opus100, sentences, ted, un, wmt
from support.own_folders import SMALL, THREE, write_own

from tdo_plugin.cli import main
from tdo_plugin.data import corpus_settings
from tdo_plugin.data.corpus_settings import CorpusSettings
from tdo_plugin.data.databin import read_data_folder, settings_of
from tdo_plugin.data.grammar import LANGUAGES
from tdo_plugin.data.segmentation import join_pieces
from tdo_plugin.data.textfolder import read_lines
from tdo_plugin.evaluation.outputs import data_side
from tdo_plugin.runtime import steps

MULTI30K = ROOT.parent / "shared" / "data" / "multi30k"


@pytest.fixture(autouse=True)
def one_worker_is_this_process(monkeypatch):
    """As in `make`: it is several times as fast as a process for each step."""
    several = steps.run_jobs

    def run_jobs(jobs, workers):
        return several(jobs, workers) if workers > 1 else corpora.run_here(jobs, workers)

    monkeypatch.setattr(steps, "run_jobs", run_jobs)


def within(count: int, expected: int | range) -> bool:
    """Whether a number is the expected one, or one of those."""
    return count in (expected if isinstance(expected, range) else (expected,))


def text(out: Path, name: str) -> list[str]:
    """One side of a set without its segmentation."""
    return [join_pieces(line) for line in read_lines(out / "pieces" / name)]


def check_directions(case: Case, out: Path) -> None:
    """Languages in the order of their tags; every pair both ways."""
    data = read_data_folder(out)
    assert " ".join(data.languages) == case.languages
    for split, directions in (("train", data.directions), ("test", data.test_directions)):
        pairs = [*case.pairs(split)]
        assert sorted(directions) == sorted(
            [*pairs, *("-".join(p.split("-")[::-1]) for p in pairs)]
        )


def counted(case: Case, split: str, pair: str) -> bool:
    """Whether every row of the source is either kept or taken by a rule of this set."""
    corpus = case.corpus("http://127.0.0.1")
    held = split != "train" and corpus.hold_out and tuple(pair.split("-")) in corpus.hold_out.pairs
    return not held and split not in corpus.limit


def check_rows(case: Case, out: Path) -> None:
    """What is left of each set, what each rule took, and that row i translates row i."""
    from fairseq.data.data_utils import load_indexed_dataset

    counts = outcome(out)
    assert set(counts) == set(case.rows)
    for name, rows in counts.items():
        split, pair = name.split()
        assert within(rows["kept"], case.rows[name]), (name, rows)
        if counted(case, split, pair):
            assert rows["read"] == rows["kept"] + sum(rows["taken"].values()), (name, rows)
        sides = [text(out, f"{split}.{pair}.{language}") for language in pair.split("-")]
        assert [len(side) for side in sides] == [rows["kept"]] * 2, name
        numbers = [[sentences.number_of(line) for line in side] for side in sides]
        odd = sum(None not in row and row[0] != row[1] for row in zip(*numbers, strict=True))
        assert within(odd, case.odd.get(name, 0)), name
        for language in pair.split("-"):
            binarised = load_indexed_dataset(str(out / f"{split}.{pair}.{language}"))
            assert len(binarised) == rows["kept"]


def check_taken(case: Case, out: Path) -> None:
    """What each rule took of some sets."""
    counts = outcome(out)
    for name, rules in case.taken.items():
        taken = counts[name]["taken"]
        for rule, count in rules.items():
            numbers = [n for key, n in taken.items() if key == rule or key.startswith(f"{rule} ")]
            assert numbers == [count], (name, taken)


def check_references(case: Case, out: Path) -> None:
    """Translations are scored against the text of the source, whatever was done to it."""
    data = read_data_folder(out)
    for pair in case.pairs("test"):
        for language in pair.split("-"):
            pieces = text(out, f"test.{pair}.{language}")
            references = data_side(data, pair, language)
            assert len(references) == len(pieces)
            for reference, line in zip(references, pieces, strict=True):
                number = sentences.number_of(line)
                if number is not None:
                    plain = reference.removeprefix("Q & A ").removeprefix("A & B ")
                    assert plain == sentences.sentence(language, number)


@pytest.mark.parametrize("case", one_in(2, CASES), ids=str)
def test_a_corpus_from_its_own_layout(case):
    out = prepared(case)
    check_directions(case, out)
    check_rows(case, out)
    check_taken(case, out)
    check_references(case, out)
    for (name, line), expected in case.text.items():
        assert text(out, name)[line] == expected, (name, line)
    assert (settings_of(out) or {}).get("form", {}) == case.form


@pytest.mark.full
def test_all_languages_of_ted19():
    """The slow one: 342 directions."""
    out = prepared(ted.ALL_LANGUAGES)
    check_directions(ted.ALL_LANGUAGES, out)
    assert len(read_data_folder(out).test_directions) == 342
    assert {name: rows["kept"] for name, rows in outcome(out).items()} == ted.ALL_LANGUAGES.rows


def test_text_of_one_language_alone():
    lines = [*read_lines(prepared(wmt.ZH_EN) / "mono" / "mono.en")]
    numbers = [sentences.number_of(line) - wmt.CRAWL for line in lines]
    assert len(lines) == 50
    assert numbers == sorted(set(numbers) & set(range(80)))
    assert lines[7] == sentences.sentence("en", wmt.CRAWL + numbers[7])
    assert not (prepared(wmt.ZH_EN_PARALLEL) / "mono").exists()


def test_held_out_rows_are_not_in_train():
    """Europarl's Czech has each row twice."""
    sets = {
        split: {*text(prepared(europarl.ENGLISH_TO_TWELVE), f"{split}.cs-en.cs")}
        for split in ("train", "valid", "test")
    }
    assert not sets["train"] & (sets["valid"] | sets["test"])
    assert len(sets["valid"] | sets["test"]) > 10


@pytest.mark.parametrize("case", [ted.FEW_LANGUAGES, un.BASE, opus100.BASE], ids=str)
def test_a_first_update(case, tmp_path):
    (batch,) = first_update(read_data_folder(prepared(case)), tmp_path)
    assert batch["ntokens"] > 100
    assert 0 < batch["loss"] / batch["ntokens"] < 100
    assert math.isfinite(batch["nll_loss"])


# --- the same again --------------------------------------------------------------------------


@pytest.mark.full
def test_the_same_seed_gives_the_same_bytes_with_any_number_of_workers(tmp_path):
    again = make(europarl.SAMPLED, tmp_path, workers=2)
    assert contents(again) == contents(prepared(europarl.SAMPLED))


def test_another_seed_draws_other_rows(tmp_path):
    def other(corpus):
        corpus = europarl.SAMPLED.small(corpus)
        return replace(corpus, sample=replace(corpus.sample, seed=2))

    again = make(replace(europarl.SAMPLED, small=other), tmp_path)
    name = "train.sv-en.en"
    assert len(text(again, name)) == 80
    assert text(again, name) != text(prepared(europarl.SAMPLED), name)


# --- text of one's own -----------------------------------------------------------------------


def test_text_of_ones_own_in_every_form(tmp_path):
    by_form = []
    for form in ("pairs", "gzip", "table"):
        text, out = write_own(tmp_path / form, form), tmp_path / f"{form}-data"
        flags = ("--from", text, "--hub", "en", "--out", out, *SMALL)
        assert main(["prepare", *map(str, flags)]) == 0
        by_form.append(contents(out))
    data = read_data_folder(tmp_path / "table-data")
    assert data.languages == THREE
    assert set(data.directions) == {"en-de", "de-en", "en-fr", "fr-en"}
    assert {data.kind(direction) for direction in ("de-fr", "fr-de")} == {"zero-shot"}
    assert len(data.test_directions) == 6
    assert by_form[0] == by_form[1] == by_form[2]


def test_text_of_ones_own_for_training_alone(tmp_path, capsys):
    text, out = write_own(tmp_path / "text", "gzip"), tmp_path / "data"
    for path in (*text.glob("valid.*"), *text.glob("test.*")):
        path.unlink()
    assert main(["prepare", "--from", str(text), "--out", str(out), *SMALL]) == 0
    data = read_data_folder(out)
    assert (len(data.directions), len(data.test_directions)) == (6, 0)
    assert "no trained pair has a validation set" in capsys.readouterr().err
    assert main(["inspect", str(out)]) == 0
    assert "en-de" in capsys.readouterr().out
    assert len(first_update(data, tmp_path)) == 1


# --- the real files --------------------------------------------------------------------------


@pytest.mark.full
@pytest.mark.skipif(not MULTI30K.is_dir(), reason="needs Multi30k's files")
def test_multi30k_for_real(tmp_path):
    out = tmp_path / "data"
    (tmp_path / "cache").mkdir()
    words = ("multi30k", "--out", out, "--from-file", MULTI30K, "--cache", tmp_path / "cache")
    small = ("--rows", 300, "--vocab-size", 500, "--workers", 1)
    assert main(["prepare", *map(str, (*words, *small))]) == 0
    data = read_data_folder(out)
    assert data.languages == ("en", "cs", "de", "fr")
    assert (len(data.directions), len(data.test_directions)) == (6, 12)
    for name, rows in outcome(out).items():
        assert rows["kept"] == {"train": 300, "valid": 1014, "test": 1000}[name.split()[0]]
    with gzip.open(MULTI30K / "test_2016_flickr.cs.gz", "rt", encoding="utf-8") as stream:
        expected = [line.strip() for line in stream]
    assert [*read_lines(data.reference("de", "cs", "cs"))] == expected
    whole = json.loads((out / "prepare.json").read_text(encoding="utf-8"))
    assert "non-commercial" in whole["licence"]
    assert len(first_update(data, tmp_path)) == 1


def test_the_embedded_grammar_leaves_nothing_beside_it(tmp_path, monkeypatch, capsys):
    asked = []

    def smaller(languages: tuple[str, ...]) -> CorpusSettings:
        asked.append(languages)
        return CorpusSettings(languages[:3], train=100, valid=60, test=60)

    monkeypatch.setattr(corpus_settings, "CorpusSettings", smaller)
    out = tmp_path / "out"
    words = ["prepare", "toy", "--out", str(out), "--rows", "50", "--vocab-size", "600"]
    times = []
    for _ in range(2):
        assert main([*words, "--workers", "2"]) == 0
        assert not (out / "text").exists()
        times.append({path: path.stat().st_mtime_ns for path in out.rglob("*.bin")})
    assert times[0] == times[1] and len([*out.glob("train.*.bin")]) == 4
    assert asked == [tuple(LANGUAGES)] * 2
    assert capsys.readouterr().err.endswith(f"{out} is already complete\n")
