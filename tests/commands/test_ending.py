"""A training that a signal ends, or a batch that is too large, says how to go on, and can."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from support.commands import logged
from support.covering import mostly_full
from support.ending import GLOO, TWO_WORKERS, Training, trouble
from support.fork_server import PYTHON
from support.trainings import assert_same_parameters

END = ("--max-update", "7")


def losses(output: str) -> list[float]:
    """Of each update, from its line in the log."""
    return logged(output, "loss")


def ended(update: int, folder: Path) -> str:
    return (
        f"ended by a signal after update {update}: the same command resumes from "
        f"{folder / 'checkpoint_last.pt'}\n"
    )


@pytest.fixture(scope="module")
def through(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[float]]:
    """One process that nothing happens to: its folder and losses."""
    folder = tmp_path_factory.mktemp("through")
    all_losses = losses(Training(folder, *END).end()[0])
    assert len(all_losses) == 7
    return folder, all_losses


@pytest.mark.parametrize("name", mostly_full(["SIGTERM", "SIGUSR1"]))
def test_a_signal_ends_an_update_with_a_checkpoint(name, through, tmp_path):
    happens = trouble(tmp_path, f"os.kill(os.getpid(), signal.{name})", update=3)
    output, errors = Training(tmp_path, *END, *happens).end(143)
    assert errors == ended(4, tmp_path)
    assert losses(output) == through[1][:4]
    assert losses(Training(tmp_path, *END).end()[0]) == through[1][4:]
    assert_same_parameters(tmp_path, through[0])


def test_a_signal_in_a_validation_does_not_wait_for_its_end(tmp_path: Path) -> None:
    """The update is in the checkpoint; the validation is left out."""
    happens = trouble(tmp_path, "os.kill(os.getpid(), signal.SIGTERM)", update=None)
    flags = (*END, "--max-tokens-valid", "20", "--validate-interval-updates", "3")
    output, errors = Training(tmp_path, *flags, *happens, valid=True).end(143)
    assert errors == ended(3, tmp_path)
    assert not logged(output, "valid_loss") and len(losses(output)) == 3


def test_a_signal_in_the_last_validation_saves_the_last_update_first(tmp_path: Path) -> None:
    """The validation goes on, as nothing comes after it; here something ends it by force."""
    last = tmp_path / "checkpoint_last.pt"
    what = f"os._exit(9) if os.path.exists({str(last)!r}) else os.kill(os.getpid(), signal.SIGTERM)"
    happens = trouble(tmp_path, what, update=None)
    flags = ("--max-update", "3", "--max-tokens-valid", "20")
    _, errors = Training(tmp_path, *flags, *happens, valid=True).end(9)
    assert not errors
    state = torch.load(last, weights_only=False)
    assert state["optimizer_history"][-1]["num_updates"] == 3


@pytest.mark.full
def test_a_signal_to_one_worker_ends_all_after_the_same_update(tmp_path: Path) -> None:
    def trained(*happens: str, code: int = 0, folder: Path = tmp_path) -> tuple[str, str]:
        return Training(folder, *GLOO, *END, *happens, torchrun=TWO_WORKERS).end(code)

    through = losses(trained(folder=tmp_path / "through")[0])
    happens = trouble(tmp_path, "os.kill(os.getpid(), signal.SIGTERM)", update=2, rank=1)
    output, errors = trained(*happens, code=143)
    assert ended(3, tmp_path) in errors and "Traceback" not in errors
    assert losses(output) == through[:3]
    assert losses(trained()[0]) == through[3:]
    assert_same_parameters(tmp_path, tmp_path / "through")


def to_all(process: int, number: int) -> None:
    """To a process and all that it has started, as Slurm does."""
    os.kill(process, number)
    for task in Path(f"/proc/{process}/task").glob("*/children"):
        for child in task.read_text().split():
            to_all(int(child), number)


@pytest.mark.long
@pytest.mark.parametrize(
    ("to", "number"),
    mostly_full([(os.kill, signal.SIGTERM), (to_all, signal.SIGTERM), (os.kill, signal.SIGUSR1)]),
)
def test_torchrun_hands_a_signal_on(to, number: int, tmp_path: Path) -> None:
    """To torchrun alone, or to all of its processes at once, those that load data among them."""
    python = PYTHON if to is to_all else None  # what has children of its own
    flags = (*GLOO, "--num-workers", "1")
    training = Training(tmp_path, *flags, torchrun=TWO_WORKERS, python=python)
    training.wait_for('"num_updates": "3"')
    to(training.process.pid, number)
    output, errors = training.end(143)
    (update,) = re.findall(r"ended by a signal after update (\d+)", errors)
    assert ended(int(update), tmp_path) in errors and "Traceback" not in errors
    assert len(losses(output)) == int(update)
    whole = torch.load(tmp_path / "checkpoint_last.pt", weights_only=False)
    assert whole["optimizer_history"][-1]["num_updates"] == int(update)


SHORT = 'raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 9 GiB")'
ADVICE = (
    "`--max-tokens 60 --update-freq 2` instead of `--max-tokens 120 --update-freq 1` halves "
    "batches and keeps updates"
)
BATCH = r"at a batch of \d+ sentences x \d+ source tokens x \d+ target tokens"


@pytest.mark.full
def test_a_lack_of_memory_ends_all_workers(tmp_path: Path) -> None:
    """Without a word by the other one, and without a wait: its own limit is half an hour."""
    happens = (*trouble(tmp_path, SHORT, update=3, rank=1), "--save-interval-updates", "2")
    _, errors = Training(tmp_path, *GLOO, *END, *happens, torchrun=TWO_WORKERS).end(1)
    last = tmp_path / "checkpoint_last.pt"
    (line,) = re.findall(r"error: (.*)", errors)
    pattern = f"the worker of rank 1 of 2 ran out of memory in update 4, {BATCH}; {ADVICE}; "
    assert re.fullmatch(f"{pattern}the same command resumes from {last}", line)
    assert "Traceback" not in errors
    state = torch.load(last, weights_only=False)
    assert state["optimizer_history"][-1]["num_updates"] == 2


@pytest.mark.parametrize(
    ("what", "update"), mostly_full([(SHORT, 0), ("torch.empty(1 << 60, dtype=torch.int8)", None)])
)
def test_a_lack_of_memory_ends_a_single_process(what, update, tmp_path):
    """fairseq would leave the batch out. The other one is torch's own error on a CPU."""
    happens = (*trouble(tmp_path, what, update), "--max-tokens-valid", "20")
    _, errors = Training(tmp_path, *END, *happens, valid=True).end(1)
    advice = ADVICE if update == 0 else "`--max-tokens-valid 10` halves batches of validation"
    when = "update 1" if update == 0 else "validation"
    pattern = f"error: this training ran out of memory in {when}, {BATCH}; {advice}; there is no .*"
    assert re.fullmatch(pattern, errors.strip()), errors


def test_a_model_larger_than_memory_is_one_line(tmp_path: Path) -> None:
    """Before there is a batch."""
    _, errors = Training(tmp_path, *END, "--tdo-ffn-dim", str(10**14)).end(1)
    assert re.fullmatch(r"error: not enough memory: .*; `TDO_TRACEBACK=1` .*\n", errors)


SPAWN = """
import os, signal, sys, time
import torch
from tdo_compat.distributed import handing_signals_on

def say(line):
    os.write(1, line.encode() + bytes([10]))  # in one piece: two workers write to one pipe

def work(rank):
    def end(number, _):
        say(f"told {int(number)}")
        sys.exit(143)
    for one in (signal.SIGTERM, signal.SIGUSR1):
        signal.signal(one, end)
    say("ready")
    time.sleep(100)

if __name__ == "__main__":
    handing_signals_on(torch.multiprocessing.spawn)(work, nprocs=2, join=True)
"""


@pytest.mark.full
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1])
def test_what_spawns_workers_hands_a_signal_on(number: int, tmp_path: Path) -> None:
    """And ends as they do."""
    script = tmp_path / "spawn.py"
    script.write_text(SPAWN)
    words = [sys.executable, str(script)]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdout=pipe, stderr=pipe, text=True) as started:
        try:
            assert [started.stdout.readline() for _ in range(2)] == ["ready\n"] * 2
            started.send_signal(number)
            rest, errors = started.communicate(timeout=100)
        finally:
            started.kill()
    assert started.returncode == 143 and "Traceback" not in errors
    assert f"told {int(number)}" in rest.splitlines()
