"""Synthetic pairs, from `tdo backtranslate` to a training on them."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from types import SimpleNamespace
from unittest import mock

import pytest
from support.commands import environment, exit_code
from support.data import CROSS_ENTROPY, TAG, TDO, TRAIN, kept_logging, temporary, train
from support.folders import snapshot
from support.prepared import LARGER, TASK, prepared, trained
from support.processes import wait_for_files
from support.translating import lines, translator_of

from tdo_plugin.data.segmentation import join_pieces
from tdo_plugin.evaluation.decoding.textjobs import parts_of
from tdo_plugin.evaluation.decoding.translators import Translators

LINES = 10
SHORT = ("--max-update", "2")


@pytest.fixture
def text(tmp_path):
    """German lines, one of them twice and one from the test set; and French ones."""

    def words(name, count):
        pieces = lines(prepared().root / "pieces" / name)
        return [join_pieces(line) for line in pieces[:count]]

    german = words("train.en-de.de", LINES)
    written = {
        "de": [*german, german[0], *words("test.de", 1)],
        "fr": words("train.en-fr.fr", 4),
    }
    for language, sentences in written.items():
        (tmp_path / f"text.{language}").write_text("\n".join(sentences) + "\n", encoding="utf-8")
    return {language: f"{language}={tmp_path / f'text.{language}'}" for language in written}


def in_this_process(stages, work, args, unit):
    """Instead of workers, which take their time to start."""
    with kept_logging():
        translators = work.load("cpu")
    for job in stages[0]:
        job.perform(translators, work.data, work.out, lambda _: None)
    return 0


@pytest.fixture
def here(monkeypatch):
    monkeypatch.setattr("tdo_plugin.cli.backtranslate.run_stages", in_this_process)


def given(out, *words):
    model = () if "--path" in words else ("--path", trained())
    machine = ("--cpu", "--workers", "1", "--max-len-b", "12")
    return list(map(str, (prepared().root, "--out", out, *model, *machine, *words)))


def make(out, *words, code=0):
    assert exit_code("backtranslate", *given(out, *words)) == code


def pieces_of(out, direction):
    """The lines of both sides."""
    return [
        lines(out / "pieces" / f"train.{direction}.{language}") for language in direction.split("-")
    ]


def pairs_of(out, direction):
    return [tuple(map(join_pieces, row)) for row in zip(*pieces_of(out, direction), strict=True)]


def sets_of(out):
    return {path.name: path.read_bytes() for path in sorted(out.glob("train.*"))}


def stopped(out, *words):
    """A run that ends when all parts are translated."""
    with mock.patch("tdo_plugin.corpora.synthetic.make_further", side_effect=KeyboardInterrupt):
        make(out, *words, code=130)


def test_from_text_to_a_training(text, tmp_path, capsys):
    out = tmp_path / "synthetic"
    words = ("--text", text["de"], text["fr"], "--into", "en,de", "--beam", "2")
    make(out, *words, "--part-lines", "3", "--max-ratio", "100")
    stderr = capsys.readouterr().err
    assert "de: 12 lines, 10 kept (1 duplicates, 1 held-out)" in stderr
    assert "de-en part 4: 1 sentences; " in stderr and "of 8 parts" in stderr
    record = json.loads((out / "back-translated.json").read_text(encoding="utf-8"))
    assert record["sets"].keys() == {"en-de", "en-fr", "de-fr"}
    assert record["checkpoints"][0]["updates"] == 150
    german, english = out / "work" / "text" / "de", tmp_path / "de-en.hyp"
    search = ("-s", "de", "-t", "en", "--beam", "2", "--max-len-b", "12")
    translate = ("translate", prepared().root, "--cpu")
    file = ("--input", german, "--out", english)
    assert exit_code(*translate, "--path", trained(), *search, *file) == 0
    expected = zip(lines(english), lines(german), strict=True)
    kept = [row for row in expected if row[0] and row[0] != row[1]]
    assert pairs_of(out, "en-de") == kept and record["sets"]["en-de"] == len(kept)
    counts = record["lines"]["en-de"]
    assert counts["read"] == LINES == counts["kept"] + sum(counts["taken"].values())
    flags = (*TASK, *TAG, *TRAIN, *TDO, *LARGER, *CROSS_ENTROPY, "--max-update", "5")
    flags = (*flags, "--back-translated", str(out), "--back-translated-upsampling", "2")
    flags = (*flags, "--back-translated-tag", "<bt>", "--tdo-masked-tags", "1")
    folder = tmp_path / "model"
    losses = train(folder, "--task", "tdo_translation", *flags, data=prepared().root)
    assert len(losses) == 5
    out.rename(tmp_path / "elsewhere")
    model = ("--path", folder / "checkpoint_last.pt", "--out", tmp_path / "hypotheses")
    assert exit_code(*translate, *model, "--pairs", "de-fr", "--workers", "1") == 0


def test_pairs_of_unlike_length_go(here, text, tmp_path, capsys):
    """Of all pairs, those at or below a ratio are left, and the others counted."""
    out = tmp_path / "synthetic"
    words = ("--text", text["de"], "--into", "en", "--beam", "1")
    make(out, *words, "--max-ratio", "100")
    many = pairs_of(out, "en-de")
    sizes = [
        [len(line.split()) for line in row] for row in zip(*pieces_of(out, "en-de"), strict=True)
    ]
    ratios = [max(row) / min(row) for row in sizes]
    most = sorted(ratios)[len(ratios) // 2]
    capsys.readouterr()
    make(out, *words, "--max-ratio", str(most), "--fresh")
    few = pairs_of(out, "en-de")
    assert few == [row for row, ratio in zip(many, ratios, strict=True) if ratio <= most]
    record = json.loads((out / "back-translated.json").read_text(encoding="utf-8"))
    taken = record["lines"]["en-de"]["taken"]["ratio"]
    assert taken == len(many) - len(few)
    stderr = capsys.readouterr().err
    assert f"en-de: 10 lines, {len(few)} kept (" in stderr and f"{taken} ratio" in stderr


@pytest.mark.full
def test_a_draw_goes_by_the_seed_and_not_by_batches(here, text, tmp_path):
    words = ("--text", text["de"], "--into", "en", "--sampling", "--max-ratio", "100")
    draws = []
    for name, more in {
        "first": (),
        "by threes": ("--batch-size", "3"),
        "other": ("--seed", "2"),
        "narrow": ("--sampling-topk", "2"),
    }.items():
        make(tmp_path / name, *words, *more)
        draws.append(sets_of(tmp_path / name))
    assert draws[0] == draws[1] != {}
    assert draws[0] != draws[2] and draws[0] != draws[3]
    record = json.loads((tmp_path / "first" / "back-translated.json").read_text(encoding="utf-8"))
    assert record["settings"]["search"]["beam"] == 1


def test_parts_draw_for_themselves(tmp_path):
    """Equal lines in two parts are translated in two ways; each is its part's alone."""
    line = join_pieces(lines(prepared().root / "pieces" / "train.en-de.de")[0])
    text = tmp_path / "text"
    text.write_text(f"{line}\n" * 6, encoding="utf-8")
    translators = Translators(translator_of(beam=1, sampling=True, max_len_b=12), {})
    jobs = parts_of(text, "de-en", 3, tmp_path)
    assert [job.sentences for job in jobs] == [3, 3]
    for job in jobs:
        job.perform(translators, prepared(), tmp_path, lambda _: None)
        assert job.is_whole(tmp_path)
    assert len({job.place.read_text(encoding="utf-8") for job in jobs}) == 2


def test_a_whole_folder_stays(here, text, refused, tmp_path, capsys):
    """The order of languages is no setting, and neither is the size of batches."""
    out, words = tmp_path / "out", ("--text", text["fr"], "--beam", "1", "--max-ratio", "50")
    make(out, *words, "--into", "en,de")
    before = snapshot(out)
    make(out, *words, "--into", "de,en", "--max-tokens", "300")
    assert "is already complete" in capsys.readouterr().err
    other = given(out, *words, "--into", "en,de", "--beam", "2")
    refused("backtranslate", *other, names="`--fresh`")
    assert snapshot(out) == before


@pytest.mark.full
def test_a_killed_run_goes_on_where_it_was(text, tmp_path, capsys, monkeypatch):
    words = ("--text", text["de"], "--into", "en", "--beam", "1", "--part-lines", "2")
    words = (*words, "--max-ratio", "50")
    with monkeypatch.context() as here:
        here.setattr("tdo_plugin.cli.backtranslate.run_stages", in_this_process)
        make(tmp_path / "whole", *words)
    out = tmp_path / "parts"
    command = [sys.executable, "-m", "tdo_plugin", "backtranslate", *given(out, *words)]
    # so that the kill finds it at work
    process = subprocess.Popen([*command, "--min-len", "1"], env=environment())
    wait_for_files(process, out, "work/decoded/*/de-en.*", 2)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert not (out / "back-translated.json").exists()
    kept = {path.name: path.stat().st_mtime_ns for path in out.glob("work/decoded/*/de-en.00000")}
    capsys.readouterr()
    make(out, *words)
    assert re.search(r"[2-5] of 5 parts are already complete", capsys.readouterr().err)
    for name, moment in kept.items():
        (path,) = out.glob(f"work/decoded/*/{name}")
        assert path.stat().st_mtime_ns == moment
    for path in (tmp_path / "whole").glob("train.*"):
        assert (out / path.name).read_bytes() == path.read_bytes()


def test_parts_outlive_a_mistake(here, text, tmp_path, capsys):
    """They took long: another model or search does not remove them, but a finished run does."""
    out, words = tmp_path / "out", ("--text", text["fr"], "--into", "en", "--max-ratio", "50")
    stopped(out, *words, "--beam", "1")
    before = snapshot(out / "work" / "decoded")
    assert before
    flags = ("--langs", "en,de", "--lang-pairs", "en-de,de-en")
    make(out, *words, "--path", trained(*flags, *SHORT), code=2)
    assert snapshot(out / "work" / "decoded") == before
    stopped(out, *words, "--beam", "2")
    assert before.items() < snapshot(out / "work" / "decoded").items()
    capsys.readouterr()
    make(out, *words, "--beam", "1")
    assert "1 of 1 parts are already complete" in capsys.readouterr().err
    assert snapshot(out / "work" / "decoded") == before


@pytest.mark.full
def test_what_a_stopped_run_left_changes_nothing(here, text, tmp_path):
    words = ("--text", text["de"], "--into", "en", "--beam", "1", "--max-ratio", "50")
    words = (*words, "--part-lines", "4")
    make(tmp_path / "once", *words)
    for earlier in (
        *(("--part-lines", "3"), ("--max-ratio", "10")),
        *(("--max-pieces", "4"), ("--beam", "2")),
    ):
        out = tmp_path / earlier[0]
        stopped(out, *words, *earlier)
        make(out, *words)
        assert sets_of(out) == sets_of(tmp_path / "once") != {}, earlier


def test_fresh_begins_anew_in_its_own_folder(here, text, tmp_path, capsys):
    """Also where the parts were removed to save room; until the end it is no whole folder."""
    from tdo_plugin.data.auxiliary_folder import BACK_TRANSLATED, read_further
    from tdo_plugin.errors import UserError

    out, words = tmp_path / "out", ("--text", text["fr"], "--into", "en", "--max-ratio", "50")
    make(out, *words, "--beam", "1")
    assert read_further(out, BACK_TRANSLATED)
    shutil.rmtree(out / "work")
    stopped(out, *words, "--beam", "2", "--fresh")
    with pytest.raises(UserError, match="finished"):
        read_further(out, BACK_TRANSLATED)
    make(out, *words, "--beam", "2")
    make(tmp_path / "new", *words, "--beam", "2")
    assert sets_of(out) == sets_of(tmp_path / "new")


def test_what_is_no_text_is_no_translation(tmp_path):
    """Tags and unknown words would be read as letters."""
    no_text = translator_of(trained("--source-noise", "bert", *SHORT)).no_text
    assert no_text == {"<unk>", "__en__", "__de__", "__fr__", "<mask>"}
    translations = ["▁one ▁t wo", "▁one <unk>", "__de__ ▁one", "▁un k"]
    translator = SimpleNamespace(
        no_text=no_text,
        too_long=lambda *_, **__: [],
        translate_lines=lambda *_, **__: [
            SimpleNamespace(pieces=pieces) for pieces in translations
        ],
    )
    text = tmp_path / "text"
    text.write_text("a\n" * 4, encoding="utf-8")
    (job,) = parts_of(text, "de-en", 4, tmp_path)
    job.perform(Translators(translator, {}), prepared(), tmp_path, lambda _: None)
    assert job.place.read_text("utf-8").split("\n") == ["one two", "", "", "unk", ""]


def test_a_part_that_failed_leaves_the_folder_unfinished(text, tmp_path, monkeypatch, capsys):
    out, words = tmp_path / "synthetic", ("--text", text["fr"], "--into", "en")
    monkeypatch.setattr("tdo_plugin.cli.backtranslate.run_stages", lambda *_, **__: 2)
    make(out, *words, code=1)
    assert "2 parts failed; run the same command again" in capsys.readouterr().err
    assert not (out / "back-translated.json").exists()


def test_mistakes(here, text, refused, tmp_path):
    mine, monolingual = tmp_path / "mine", tmp_path / "monolingual"
    mine.mkdir()
    (mine / "thesis.txt").touch()
    data = prepared().root
    assert exit_code("monolingual", data, "--text", text["fr"], "--out", monolingual) == 0
    refused.rows(
        """
        backtranslate {words} --into xx                 :: xx
            --into fr                                   :: --into
            --into ""                                   :: --into
        backtranslate {words} --into en
            --path {english_german} --out {out}         :: fr
            --max-ratio 0.5                             :: --max-ratio
            --max-ratio nan                             :: --max-ratio
            --part-lines 0                              :: --part-lines
            --sampling --beam 3                         :: --beam
            --sampling-topk 3                           :: --sampling-topk
            --sampling --seed 9223372036854775808       :: --seed
            --min-len 1900 --max-len-b 2000 --out {out} :: --min-len
            --max-ratio 1 --min-len 12 --out {out}      :: --text
            --workers 0                                 :: --workers
            --max-pieces 0                              :: --max-pieces
            --average best-2                            :: --average
            --beam 0                                    :: --beam
            --out {mine}                                :: {mine}
            --out {monolingual}                         :: tdo backtranslate
        """,
        words=tuple(given(tmp_path / "out", "--text", text["fr"])),
        english_german=trained("--langs", "en,de", "--lang-pairs", "en-de,de-en", *SHORT),
        out=temporary() / "backtranslated",  # written before the mistake is seen
        mine=mine,
        monolingual=monolingual,
    )
