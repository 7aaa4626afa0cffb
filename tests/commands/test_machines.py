"""Training on several machines: two launchers that meet over the loopback stand for them."""

import itertools
import re
from pathlib import Path

import pytest
import torch
from support.commands import logged
from support.ending import GLOO, TWO_WORKERS, Training, free_port, trouble
from support.trainings import assert_same_parameters

FLAGS = (*GLOO, "--max-update", "7", "--save-interval-updates", "2")


def both(folder: Path, *flags: str) -> list[Training]:
    """A training on two machines, of one worker each, which share the folder of checkpoints."""
    place = ("--rdzv-backend", "c10d", "--rdzv-endpoint", f"127.0.0.1:{free_port()}")
    torchrun = ("--nnodes", "2", "--nproc-per-node", "1", *place)
    words = (*FLAGS, *flags)
    return [Training(folder, *words, torchrun=torchrun, name=name) for name in ("one", "two")]


@pytest.fixture(scope="module")
def through(tmp_path_factory) -> tuple[Path, list[float]]:
    """Two workers of one machine, that nothing happens to."""
    folder = tmp_path_factory.mktemp("through")
    values = logged(Training(folder, *FLAGS, torchrun=TWO_WORKERS).end()[0], "loss")
    assert len(values) == 7
    return folder, values


LAUNCHER = "os.kill(os.getppid(), signal.SIGKILL)"
MACHINE = f"{LAUNCHER}; os.kill(os.getpid(), signal.SIGKILL)"
SAYS = {
    LAUNCHER: "error: the launcher of the worker of rank {lost} has disappeared",
    MACHINE: r"error: the worker of rank {left} lost another worker \((Connection|Broken pipe).*\)"
    "; the same command resumes from {last}",
}


@pytest.mark.full
@pytest.mark.parametrize(("what", "lost"), [(LAUNCHER, 1), (MACHINE, 1), (MACHINE, 0)])
def test_a_lost_machine_ends_the_others_and_training_goes_on(what, lost, through, tmp_path):
    """Before the fourth update; the last checkpoint is that of the second."""
    happens = trouble(tmp_path, f"{what}; time.sleep(100)", update=3, rank=lost)
    machines = both(tmp_path, *happens)
    codes = sorted(machine.process.wait(300) for machine in machines)
    assert codes == [-9, 1]
    (survivor,) = (each.err.read_text() for each in machines if each.process.returncode == 1)
    last = tmp_path / "checkpoint_last.pt"
    assert re.search(SAYS[what].format(lost=lost, left=1 - lost, last=last), survivor), survivor
    assert "Traceback" not in survivor
    state = torch.load(last, weights_only=False)
    assert state["optimizer_history"][-1]["num_updates"] == 2
    outputs = [machine.end()[0] for machine in both(tmp_path)]
    assert logged("".join(outputs), "loss") == through[1][2:]
    assert_same_parameters(tmp_path, through[0])


SLOW = ("threading.Thread(target=time.sleep, args=[3]).start()", "atexit.register(time.sleep, 3)")


@pytest.mark.full
@pytest.mark.parametrize(("rank", "slow"), itertools.product([0, 1], SLOW))
def test_machines_that_a_signal_has_ended_need_not_leave_together(rank, slow, tmp_path):
    """One's worker takes its time; the other may be the one where all meet."""
    tell = "os.kill(os.getppid(), signal.SIGTERM), time.sleep(3)"  # until it has been handed on
    what = f"({tell}) if os.environ['RANK'] == '{rank}' else {slow}"
    machines = both(tmp_path, *trouble(tmp_path, what, update=3, rank=None))
    assert [machine.process.wait(300) for machine in machines] == [143, 143]
    errors = "".join(machine.err.read_text() for machine in machines)
    assert "error:" not in errors and errors.count("ended by a signal after update 4") == 1
