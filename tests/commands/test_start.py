"""`tdo start`: from parallel text to trained models, a report, and each way out."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from urllib import request

import pytest
from support.commands import told
from support.covering import needs
from support.own_folders import write_kind, write_parallel
from support.processes import finished

from tdo_plugin.cli import main
from tdo_plugin.installation import FILES
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
    """The report has the systems on all directions, and the lines to copy work."""
    label = recommended + " (recipe)" * (recommended == "tdo-instrucl")
    scores = json.loads((folder / "report" / "comparison" / "scores.json").read_text())
    assert [system["name"] for system in scores["systems"]] == [
        *dict.fromkeys(("encoder-decoder", label))
    ]
    assert all(len(system["directions"]) == directions for system in scores["systems"])
    assert (folder / "report" / "index.html").is_file()
    assert f"The recommended model is {recommended}." in printed
    lines = [line for line in printed.splitlines() if line.startswith("  tdo ")]
    translate, serve, hf, ctranslate2 = (shlex.split(line, comments=True) for line in lines)
    Path("text").write_text("ein satz\n")
    words = ["--cpu" if word == "--interactive" else word for word in translate]
    assert main([*words[1:], "--input", "text", "--out", "translation", "--max-len-b", "3"]) == 0
    assert len(Path("translation").read_text().splitlines()) == 1
    assert serve == ["tdo", "serve", "mine"]
    assert main(hf[1:]) == main(ctranslate2[1:]) == 0
    assert Path("mine-hf", "config.json").is_file()
    assert Path("mine-ctranslate2", "model.bin").is_file()


def test_a_dry_run_shows_everything_and_writes_nothing(here, capsys):
    write_kind(here / "in", "opus", 1_200)
    printed, _ = told(capsys, "start", "in", "--dry-run", "--cpu")
    run = here / "runs" / "in"
    for text in (
        "Books.de-en", "not split", "1,200 lines", "not used, not the name of a text: LICENSE, ",
        "a hash of the en sentence decides", "test, joined by the en sentences",
        "train: nothing left out of cs-en, de-en",
        "systems: encoder-decoder and tdo-instrucl", "recommended: tdo-instrucl: cs-de have no ",
        "vocabulary: 2,000 pieces", "consider NLLB-600M",
        f"--langs cs=ces_Latn,de=deu_Latn,en=eng_Latn --out {run}/nllb",
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
            --out in                :: `--out` must be a folder that TEXT is not in
            --systems transformer   :: `--systems` must be among encoder-decoder, tdo-instrucl
        """
    )


def test_a_test_sentence_that_is_too_long_is_refused_before_the_training(here, capsys):
    write_parallel(here / "in", "news", "de fr", range(300))
    write_parallel(here / "in", "test", "de fr", range(300, 310))
    for language, sentence in (("de", "lang " * 1_500), ("fr", "long")):
        with (here / "in" / f"test.{language}").open("a") as file:
            file.write(f"{sentence}\n")
    _, errors = told(capsys, "start", "in", *FEW, code=2)
    assert "`TEXT` must have test sentences of at most 1,022 pieces; in test.de-fr.de" in errors
    assert not (here / "runs" / "in" / "encoder-decoder").exists()


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


@pytest.mark.full
def test_the_lines_of_the_readme(here):
    """Those under "Run", as they stand; the page's port aside, which another may use."""
    readme = (FILES / "README.md").read_text(encoding="utf-8")
    block = readme.partition("## Run")[2].partition("```bash\n")[2].partition("```")[0]
    start, translate, serve, export = block.strip().splitlines()
    write_kind(here / "my-text", "multi30k", 300)
    programs = str(Path(sys.executable).parent)  # where `tdo` is
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}

    def bash(line, stdin=""):
        done = finished(["bash", "-c", line], stdin=stdin, cwd=here, env=environment)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "The recommended model is encoder-decoder." in bash(start)
    assert bash(translate, "ein satz\n").strip()
    with subprocess.Popen(
        [f"{programs}/tdo", *shlex.split(serve, comments=True)[1:], "--port", "0"],
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        try:
            address = server.stdout.readline().split()[0]
            body = json.dumps(
                {"model": "encoder-decoder", "text": "ein satz", "source": "de", "targets": ["en"]}
            )
            asked = request.Request(f"{address}api/translate", body.encode())
            asked.add_header("Content-Type", "application/json")
            with request.urlopen(asked) as answer:
                assert answer.status == 200
        finally:
            server.terminate()
    bash(export)
    assert (here / "my-text-hf" / "config.json").is_file()
