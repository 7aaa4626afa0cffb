"""`tdo translate --engine fairseq` against the pool of workers, on a model trained here."""

import json
import os
import signal
import sys
from pathlib import Path

import pytest
from support.commands import shown_commands
from support.covering import mostly_full
from support.data import temporary
from support.fork_server import PYTHON
from support.prepared import prepared, trained
from support.processes import wait_for_files
from support.trainings import saved
from support.translating import lines, started

from tdo_plugin.evaluation.outputs import directions_of, read_texts

PAIRS = ("en-de", "de-en", "de-fr")


@pytest.fixture(scope="module")
def decoded() -> Path:
    """Three directions, by stock commands."""
    out = temporary() / "decoded"
    words = ("--out", out, "--workers", "2", "--engine", "fairseq", "--pairs", ",".join(PAIRS))
    process = started(*words)
    _, errors = process.communicate()
    assert process.returncode == 0, errors
    *progress, last = errors.splitlines()  # and nothing that a library says
    assert all(" sentences; " in line for line in progress) and "3 of 3 directions" in last
    return out


@pytest.mark.full
def test_it_leaves_what_the_pool_leaves(decoded, everything):
    pool, _ = everything
    assert sorted(directions_of(decoded)) == sorted(PAIRS)
    for direction in PAIRS:
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


@pytest.mark.full
def test_what_is_whole_is_kept_and_what_is_not_is_done_again(decoded, translate, refused):
    words = ("--path", trained(), "--out", decoded, "--engine", "fairseq")
    words += ("--pairs", ",".join(PAIRS))
    before = lines(decoded / "de-en.hyp")
    kept = (decoded / "en-de.hyp").stat().st_mtime_ns
    (decoded / "de-en.json").unlink()
    (decoded / "de-en.hyp").write_text("half of it")
    printed, errors = translate(*words)
    assert "2 of 3 directions are already complete" in errors
    (command,) = shown_commands(printed)
    assert command[command.index("--target-lang") + 1] == "en"
    assert lines(decoded / "de-en.hyp") == before
    assert (decoded / "en-de.hyp").stat().st_mtime_ns == kept
    refused.rows(
        """
        translate {data} --cpu {words}
            --nbest 2           :: different flags
            --beam 2            :: different beam
            --engine pool       :: different engine, flags
        """,
        data=prepared().root,
        words=words,
    )


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


def test_what_one_engine_alone_can_do(refused, tmp_path):
    for updates in ("5", "10"):
        saved(tmp_path / f"checkpoint_1_{updates}.pt")
    refused.rows(
        """
        translate {data} --cpu --path {folder}/checkpoint_1_5.pt --out {folder}/out --engine fairseq
            --engine pool --dry-run             :: --dry-run
            --pivot en                          :: --pivot
            --perplexity                        :: --perplexity
            --input - -s de -t fr               :: --input
            --protocol opus100 --dry-run        :: --lenpen-form
            --path {folder} --average last-2 --dry-run :: average-last-2.pt
        """,
        data=prepared().root,
        folder=tmp_path,
    )


def test_flags_that_follow_are_handed_on(translate, refused, tmp_path):
    """A mistake in them is a line of each direction; the other engine takes none."""
    words = ("--path", trained(), "--out", tmp_path, "--pairs", "de-en,en-de", "--no-such-flag")
    _, errors = translate(*words, "--engine", "fairseq", code=1)
    failed = [line for line in errors.splitlines() if "`fairseq-generate` must succeed" in line]
    assert len(failed) == 2 and all("unrecognized arguments: --no-such-flag" in x for x in failed)
    assert not list(tmp_path.glob("*.json.*")) and not list(tmp_path.glob("*-*.json"))
    refused("translate", prepared().root, *words, names="--no-such-flag")


PARTS = ("--tdo-adapter-dim", "5", "--tdo-target-attention", "all")
LIMITS = ("--max-source-positions", "60", "--max-target-positions", "60")


@pytest.mark.parametrize(
    ("task", "flags", "pairs"),
    mostly_full(
        [
            ("tdo_translation", PARTS, "fr-en"),
            ("tdo_translation", PARTS, "en-de"),
            ("translation_multi_simple_epoch", ("--decoder-langtok", *LIMITS), "fr-en,en-de"),
        ]
    ),
)
def test_either_task_and_parts_of_pairs(task, flags, pairs, translate, tmp_path):
    path = trained(*flags, "--max-update", "40", task=task)
    for engine in ("pool", "fairseq"):
        words = ("--out", tmp_path / engine, "--engine", engine, "--max-len-b", "20")
        translate("--path", path, "--pairs", pairs, *words)
    for name in pairs.split(","):
        pool, fairseq = (lines(tmp_path / engine / f"{name}.hyp") for engine in ("pool", "fairseq"))
        assert fairseq == pool


@pytest.mark.full
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_run_that_is_ended(number, translate, tmp_path):
    """It takes its commands along; what a killed one leaves behind keeps the folder."""
    words = ("--out", tmp_path, "--workers", "1", "--engine", "fairseq", "--min-len", "190")
    process = started(*words, python=PYTHON)
    wait_for_files(process, tmp_path, "fairseq/*/generate-test.txt")
    tasks = Path(f"/proc/{process.pid}/task").glob("*/children")
    (command,) = (int(child) for task in tasks for child in task.read_text().split())
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
