"""The stock commands of fairseq, on generated text, without the plugin being named."""

import random
import re
from pathlib import Path

import pytest
from support.fork_server import PYTHON
from support.made import made_once
from support.processes import finished

OPTIONS = {"arch": "transformer_tiny", "optimizer": "adam", "lr": 0.01, "max-tokens": 300}
TRAIN = ["--cpu", "--bf16", *(f"--{name}={value}" for name, value in OPTIONS.items())]


def write_text(folder):
    """Sentences over twenty words; the other side is the reverse."""
    chosen = random.Random(1)
    for split, size in (("train", 200), ("valid", 20), ("test", 20)):
        lines = [[chosen.randrange(20) for _ in range(chosen.randint(1, 9))] for _ in range(size)]
        source = "".join(" ".join(f"a{word}" for word in line) + "\n" for line in lines)
        target = "".join(" ".join(f"b{word}" for word in line[::-1]) + "\n" for line in lines)
        (folder / f"{split}.aa").write_text(source)
        (folder / f"{split}.bb").write_text(target)


def succeed(done):
    """The output of a command that ended well and without a warning or a traceback."""
    assert done.returncode == 0, done.stderr[-3000:]
    assert "Warning" not in done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout + done.stderr


def really(name, *words, **options):
    """A command without the fork server, so that Python itself begins and ends it."""
    return finished([Path(PYTHON).with_name(name), *words], **options)


@made_once
def _trained(folder):
    write_text(folder)
    splits = [f"--{split}pref={split}" for split in ("train", "valid", "test")]
    words = ["-s", "aa", "-t", "bb", *splits, "--destdir", "bin"]
    succeed(really("fairseq-preprocess", *words, cwd=folder))
    words = ["bin", *TRAIN, "--max-update", 3, "--save-dir", "ck"]
    log = succeed(really("fairseq-train", *words, cwd=folder))
    assert "'tpu': True" not in log
    assert (folder / "ck" / "checkpoint_last.pt").exists()


@pytest.fixture
def trained():
    """A folder with text, binarized data, and a model after three updates."""
    return _trained()


@pytest.mark.long
def test_generate_and_score(trained, tmp_path):
    words = ["bin", "--path", "ck/checkpoint_last.pt", "--beam", 2, "--cpu", "--bf16"]
    output = succeed(really("fairseq-generate", *words, cwd=trained))
    texts = {kind: re.findall(rf"^{kind}-\d+\t(.*)$", output, re.M) for kind in "TH"}
    assert len(texts["T"]) == len(texts["H"]) == 20
    for name in ("ref", "hyp"):
        (tmp_path / name).write_text("\n".join(texts["T"]) + "\n")
    output = succeed(really("fairseq-score", "--sys", "hyp", "--ref", "ref", cwd=tmp_path))
    assert "BLEU4 = 100.00" in output


def test_interactive(run, trained):
    words = ["bin", "--path", "ck/checkpoint_last.pt", "--beam", 2, "--cpu"]
    output = succeed(run("fairseq-interactive", *words, cwd=trained, stdin="a1 a2 a3\na4\n"))
    assert len(re.findall(r"^H-\d+\t", output, re.M)) == 2


def test_validate(run, trained):
    words = ["bin", "--path", "ck/checkpoint_last.pt", "--task", "translation", "--cpu"]
    output = succeed(run("fairseq-validate", *words, "--max-tokens", 500, cwd=trained))
    assert re.search(r"valid .*loss [\d.]+", output)


def test_mistakes_are_one_line(run, trained, tmp_path):
    whole, cut = (trained / "ck" / "checkpoint_last.pt").read_bytes(), tmp_path / "cut.pt"
    cut.write_bytes(whole[: len(whole) // 2])
    model = ["--path", "ck/checkpoint_last.pt"]
    for name, words, expected in (
        ("generate", ["--path", cut], f"{cut} is not a complete checkpoint"),
        ("generate", [*model, "--gen-subset", "dev"], "Dataset not found: dev"),
        ("eval-lm", ["--task", "translation", *model], "`--path` must be a language model"),
        ("eval-lm", ["--task", "translation"], "`--path` must be set to a language model"),
        ("validate", [*model, "--max-tokens", 9], "`--task` must be set; it is not"),
        ("hydra-train", ["task=tdo_translation"], "`task` must be one of fairseq's"),
    ):
        done = run(f"fairseq-{name}", "bin", *words, "--cpu", cwd=trained)
        assert done.returncode == (2 if name == "validate" else 1)
        assert "Traceback" not in done.stderr
        assert f"error: {expected}" in done.stderr.splitlines()[-1]
