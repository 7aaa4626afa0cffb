"""`tdo start`: from a folder of parallel text to trained models and a report."""

import json
import shlex
from pathlib import Path

import pytest
from support.commands import told
from support.covering import needs
from support.own_folders import write_kind, write_parallel

from tdo_plugin.cli import main
from tdo_plugin.start import machine_facts

FEW = ("--updates", "3", "--cpu", "--jobs", "2")
KINDS = {  # kind -> options, the recommended system, directions that are scored
    "multi30k": (("--pairs", "en-*"), "tdo-instrucl", 6),
    "tsv": ((), "encoder-decoder", 2),
    "opus": ((), "tdo-instrucl", 6),  # cs-en and de-en share their English sentences
    "pair": ((), "encoder-decoder", 2),
}


@pytest.fixture
def here(tmp_path, monkeypatch):
    """The folder where commands are given."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def checked(folder, printed, recommended, directions):
    """The report has both systems on all directions, and the last advice works."""
    scores = json.loads((folder / "report" / "comparison" / "scores.json").read_text())
    assert [system["name"] for system in scores["systems"]] == [
        "transformer",
        recommended + " (recipe)" * (recommended == "tdo-instrucl"),
    ]
    assert all(len(system["directions"]) == directions for system in scores["systems"])
    assert (folder / "report" / "index.html").is_file()
    assert f"recommended: {recommended}, since" in printed
    (line,) = (line for line in printed.splitlines() if line.startswith("  tdo translate "))
    words = shlex.split(line)
    source = words[words.index("-s") + 1]
    Path(f"FILE.{source}").write_text("ein satz\n")
    assert main([*words[1:], "--cpu", "--max-len-b", "3"]) == 0


def test_a_dry_run_shows_everything_and_writes_nothing(here, capsys):
    write_kind(here / "in", "opus", 1_200)
    printed, _ = told(capsys, "start", "in", "--dry-run", "--cpu")
    run = here / "runs" / "in"
    for text in (
        "Books.de-en", "not split", "1,200 lines", "not used, not the name of a text: LICENSE, ",
        "a hash of the en sentence decides", "test, joined by the en sentences",
        "train: nothing left out of cs-en, de-en",
        "recommended: tdo-instrucl, since cs-de have no training text",
        "vocabulary: 2,000 pieces", "consider NLLB-600M",
        f"--languages cs=ces_Latn,de=deu_Latn,en=eng_Latn --out {run}/nllb",
        "[systems.tdo-instrucl.flags]",
        f"+ tdo train {run}/tdo-instrucl/system.conf {run}/data ",
    ):  # fmt: skip
        assert text in printed, text
    assert {path.name for path in here.iterdir()} == {"in"}


def test_mistakes(here, refused, monkeypatch):
    write_parallel(here / "in", "news", "de fr", range(300))
    write_parallel(here / "unequal", "news", "de", range(300))
    write_parallel(here / "unequal", "news", "fr", range(299))
    monkeypatch.setattr(machine_facts, "count_gpus", lambda: 0)
    for name in ("in", "unequal"):
        (here / "runs" / name).mkdir(parents=True)
    refused.rows(
        """
        start unequal               :: each language of a text; news has: news.de 300, news.fr 299
        start in
            --updates 0             :: `--updates` must be at least 1; it is 0
            --hours 0               :: `--hours` must be above 0
            --gpus 99               :: `--gpus` must be at most 0
            --out in                :: `--out` must be a folder that FOLDER is not in
        """
    )


def test_a_test_sentence_that_is_too_long_is_refused_before_the_training(here, capsys):
    write_parallel(here / "in", "news", "de fr", range(300))
    write_parallel(here / "in", "test", "de fr", range(300, 310))
    for language, sentence in (("de", "lang " * 1_500), ("fr", "long")):
        with (here / "in" / f"test.{language}").open("a") as file:
            file.write(f"{sentence}\n")
    _, errors = told(capsys, "start", "in", *FEW, code=2)
    assert "`FOLDER` must have test sentences of at most 1,022 pieces; in test.de-fr.de" in errors
    assert not (here / "runs" / "in" / "transformer").exists()


@needs("langdetect")
def test_text_in_another_language_is_left_out(here, capsys):
    words = {
        "de": "Der kleine Hund läuft heute schnell über die grüne Wiese hinter unserem Haus",
        "en": "The little dog runs quickly across the green meadow behind our house today",
    }
    (here / "in").mkdir()
    for code, text in words.items():
        lines = [f"{text} {number}" for number in range(300)]
        lines += [f"{words['en']} again {number}" for number in range(20)]
        (here / "in" / f"a.{code}").write_text("".join(f"{line}\n" for line in lines))
    options = ("--filter-language", "langdetect", "--dry-run", "--cpu")
    printed, _ = told(capsys, "start", "in", *options)
    assert "left out, with a side in another language: de-en 20" in printed


@pytest.mark.long
def test_one_command_to_a_report_and_again(here, capsys):
    options, recommended, directions = KINDS["multi30k"]  # with few test sentences
    words = ("start", "in", "--out", "mine", *FEW, *options)
    write_kind(here / "in", "multi30k", 1_200)
    printed, _ = told(capsys, *words)
    checked(here / "mine", printed, recommended, directions)
    again, _ = told(capsys, *words)
    assert "mine/data is already complete" in again and " 0 steps, including 0 train" in again
    file = here / "mine" / "experiment.toml"
    head = f"[systems.{recommended}.flags]\n"
    assert head in file.read_text()
    file.write_text(file.read_text().replace(head, f"{head}clip-norm = 1.0\n"))
    edited, _ = told(capsys, *words)
    assert "was edited and is used as it is" in edited and "including 1 train" in edited


@pytest.mark.full
@pytest.mark.parametrize("kind", ["tsv", "opus", "pair"])
def test_each_kind_of_folder(kind, here, capsys):
    options, recommended, directions = KINDS[kind]
    write_kind(here / "in", kind, 1_200)
    printed, _ = told(capsys, "start", "in", "--out", "mine", *FEW, *options)
    checked(here / "mine", printed, recommended, directions)
