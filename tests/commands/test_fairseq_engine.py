"""`tdo translate --engine fairseq` against the pool of workers, on a model trained here."""

import json
import os
import signal
import sys
from pathlib import Path

import pytest
from support.commands import shown_commands
from support.fork_server import PYTHON
from support.prepared import prepared, trained
from support.processes import wait_for_files
from support.stored_options import saved
from support.translating import lines, started

from tdo_plugin.evaluation.outputs import directions_of, read_texts


@pytest.fixture(scope="module")
def decoded(everything, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All directions, by stock commands."""
    out = tmp_path_factory.mktemp("decoded")
    process = started("--out", out, "--workers", "2", "--engine", "fairseq")
    _, errors = process.communicate()
    assert process.returncode == 0, errors
    *progress, last = errors.splitlines()  # and nothing that a library says
    assert all(" sentences; " in line for line in progress) and "6 of 6 directions" in last
    return out


def test_it_leaves_what_the_pool_leaves(decoded, everything):
    pool, _ = everything
    assert directions_of(decoded) == directions_of(pool)
    for direction in prepared().test_directions:
        assert read_texts(decoded, direction) == read_texts(pool, direction)
        ours, theirs = (
            [json.loads(line) for line in lines(out / f"{direction}.jsonl")]
            for out in (decoded, pool)
        )
        scores = ([record.pop("score") for record in records] for records in (ours, theirs))
        assert next(scores) == pytest.approx(next(scores), abs=1e-4)
        assert ours == theirs
        assert (decoded / "fairseq" / direction / "generate-test.txt").is_file()
    how = json.loads((decoded / "translate.json").read_text(encoding="utf-8"))
    assert how["settings"]["engine"] == "fairseq" and how["settings"]["flags"] == []
    assert how["checkpoints"][0]["updates"] == 150


def test_what_is_whole_is_kept_and_what_is_not_is_done_again(decoded, translate):
    words = ("--path", trained(), "--out", decoded, "--engine", "fairseq")
    before = lines(decoded / "de-en.hyp")
    kept = (decoded / "en-de.hyp").stat().st_mtime_ns
    (decoded / "de-en.json").unlink()
    (decoded / "de-en.hyp").write_text("half of it")
    printed, errors = translate(*words)
    assert "5 of 6 directions are already complete" in errors
    (command,) = shown_commands(printed)
    assert command[command.index("--target-lang") + 1] == "en"
    assert lines(decoded / "de-en.hyp") == before
    assert (decoded / "en-de.hyp").stat().st_mtime_ns == kept
    for more, differing in ((("--nbest", "2"), "flags"), (("--beam", "2"), "beam")):
        _, errors = translate(*words, *more, code=2)
        assert errors.rstrip().endswith(f"was made with different {differing}")
    _, errors = translate(*words, "--engine", "pool", code=2)
    assert "was made with different engine, flags" in errors


def test_a_dry_run_prints_and_touches_nothing(translate, tmp_path, monkeypatch):
    from tdo_plugin.launch.environment import KEEP_MEMORY

    monkeypatch.delenv("OMP_NUM_THREADS")
    monkeypatch.delenv("GLIBC_TUNABLES", raising=False)
    checkpoint = saved(tmp_path / "m.pt", langs=["en", "de", "fr"], encoder_langtok="tgt")
    words = ("--path", checkpoint, "--out", tmp_path / "out", "--engine", "fairseq", "--dry-run")
    printed, _ = translate(*words, "--workers", "1", "--pairs", "de-fr", "--nbest", "2")
    first, second, command = printed.splitlines()
    assert first == f"with GLIBC_TUNABLES={KEEP_MEMORY}" and second.startswith("with OMP_NUM_")
    assert command.startswith(f"+ fairseq-generate {prepared().root} --user-dir ")
    assert " --task=tdo_translation --encoder-langtok=tgt --" in command
    assert command.endswith("/out/fairseq/de-fr --cpu --nbest 2")
    assert len(shown_commands(translate(*words)[0])) == 6
    assert [path.name for path in tmp_path.iterdir()] == ["m.pt"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--engine", "pool", "--dry-run"], "`--dry-run` must be left out with --engine pool"),
        (["--pivot", "en"], "`--pivot` must be left out with --engine fairseq; it is given"),
        (["--perplexity"], "`--perplexity` must be left out with --engine fairseq"),
        (["--input", "-", "-s", "de", "-t", "fr"], "`--input` must be left out with --engine"),
        (["--lenpen-form", "gnmt", "--dry-run"], "`--lenpen-form` must be length with --engine"),
        (["--protocol", "opus100", "--dry-run"], "`--lenpen-form` must be length with --engine"),
        (["--path", "FOLDER", "--average", "last-2", "--dry-run"], "average-last-2.pt; "),
    ],
)
def test_what_one_engine_alone_can_do(words, message, translate, tmp_path):
    folder = tmp_path / "checkpoints"
    folder.mkdir()
    for updates in ("5", "10"):
        saved(folder / f"checkpoint_1_{updates}.pt")
    words = [folder if word == "FOLDER" else word for word in words]
    first = (
        "--engine",
        "fairseq",
        "--out",
        tmp_path / "out",
        "--path",
        folder / "checkpoint_1_5.pt",
    )
    _, errors = translate(*first, *words, code=2)
    assert message in errors and errors.count("\n") == 1
    assert not (tmp_path / "out").exists() and len(list(folder.iterdir())) == 2


def test_flags_that_follow_are_handed_on_and_a_mistake_is_a_line_each(translate, tmp_path):
    words = ("--path", trained(), "--out", tmp_path, "--pairs", "de-en,en-de")
    _, errors = translate(*words, "--engine", "fairseq", "--no-such-flag", code=1)
    failed = [line for line in errors.splitlines() if "`fairseq-generate` must succeed" in line]
    assert len(failed) == 2 and all("unrecognized arguments: --no-such-flag" in x for x in failed)
    assert not list(tmp_path.glob("*.json.*")) and not list(tmp_path.glob("*-*.json"))
    with pytest.raises(SystemExit):
        translate_pool(words)


def translate_pool(words):
    from tdo_plugin.cli import main

    main(["translate", str(prepared().root), *map(str, words), "--no-such-flag"])


PARTS = ("--tdo-adapter-dim", "5", "--tdo-target-attention", "all")
LIMITS = ("--max-source-positions", "60", "--max-target-positions", "60")


@pytest.mark.parametrize(
    ("task", "flags"),
    [
        pytest.param("tdo_translation", PARTS, marks=pytest.mark.long),
        pytest.param(
            "translation_multi_simple_epoch", ("--decoder-langtok", *LIMITS), marks=pytest.mark.full
        ),
    ],
)
def test_either_task_and_parts_of_pairs(task, flags, translate, tmp_path):
    path = trained(*flags, task=task)
    for engine in ("pool", "fairseq"):
        out = ("--out", tmp_path / engine, "--engine", engine)
        translate("--path", path, "--pairs", "fr-en,en-de", *out)
    for name in ("fr-en.hyp", "en-de.hyp"):
        assert lines(tmp_path / "fairseq" / name) == lines(tmp_path / "pool" / name)


def children(process):
    """Process ids of what it has started."""
    path = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    tasks = [
        Path(f"/proc/{process.pid}/task/{task}/children") for task in os.listdir(path.parents[1])
    ]
    return [int(number) for task in tasks for number in task.read_text().split()]


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_run_that_is_ended(number, translate, tmp_path):
    """It takes its commands along; what a killed one leaves behind keeps the folder."""
    words = ("--out", tmp_path, "--workers", "1", "--engine", "fairseq", "--min-len", "190")
    process = started(*words, python=PYTHON)
    wait_for_files(process, tmp_path, "fairseq/*/generate-test.txt")
    (command,) = children(process)
    process.send_signal(number)
    if number == signal.SIGTERM:
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 143 and "Traceback" not in errors
        assert "run the same command again to continue" in errors
        assert not Path(f"/proc/{command}").exists()
        return
    process.wait()
    os.kill(command, signal.SIGSTOP)
    try:
        _, errors = translate("--path", trained(), *words, code=2)
        assert "no other run is writing to" in errors
    finally:
        os.kill(command, signal.SIGKILL)
