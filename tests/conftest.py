"""What all tests share: the tiers, their time limits, a subprocess runner, one torch thread."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

os.environ.setdefault("OMP_NUM_THREADS", "1")
# A shell's background jobs ignore interrupts, and so would every process that tests interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).resolve().parents[1]
# Seconds after which a test has failed, by its marker; pyproject.toml says what each means. They
# are many times what a test takes on two free cores, so that a busy machine fails none.
LIMITS = {"full": 1500, "long": 600, None: 300}
SHORT = 10.0  # seconds that a test without a marker may take


def pytest_addoption(parser: pytest.Parser) -> None:
    """What rewrites the files that tests compare with."""
    parser.addoption("--update-golden", action="store_true", help="write tests/tables/golden anew")


def pytest_configure(config: pytest.Config) -> None:
    """Prepare what workers share, and let processes that run tests start others quickly."""
    from support import fork_server, made

    made.keep_in(config)
    is_worker = hasattr(config, "workerinput")
    if not is_worker:
        made.forget_old()
    if is_worker or not config.getoption("numprocesses", None):
        fork_server.stand_in()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give each test its time limit, and put the longest first: none is left for the end."""
    for item in items:
        marker = next((name for name in LIMITS if name and item.get_closest_marker(name)), None)
        item.add_marker(pytest.mark.timeout(LIMITS[marker]))
    items.sort(key=lambda item: -item.get_closest_marker("timeout").args[0])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name the tests that should have a marker."""
    slow: dict[str, float] = {}
    for report in terminalreporter.getreports("passed"):
        if not {"full", "long"} & set(report.keywords):
            slow[report.nodeid] = slow.get(report.nodeid, 0.0) + report.duration
    slow = {name: seconds for name, seconds in slow.items() if seconds > SHORT}
    if slow:
        terminalreporter.section(f"over {SHORT:.0f} seconds without a marker")
        for name, seconds in sorted(slow.items(), key=lambda item: -item[1]):
            terminalreporter.line(f"{seconds:6.1f} s  {name}")


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository's root folder."""
    return ROOT


@pytest.fixture(scope="session")
def run() -> Callable[..., subprocess.CompletedProcess[str]]:
    """``run(command, *arguments, **options of finished)``: a command and what it said.

    A command named ``python`` is the tests' Python, of the fork server; any other is beside it.
    """
    from support.processes import finished

    def run(command: str, *arguments: object, **options: object) -> subprocess.CompletedProcess:
        return finished([Path(sys.executable).parent / command, *arguments], **options)

    return run


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory):
    """What a command's text needs of a data folder: three languages, without a sentence."""
    from support.configs import data_folder

    return data_folder(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Scripts and configs to run, with nothing to set up."""
    from support.scripts import make_clone

    return make_clone(tmp_path_factory.mktemp("a clone"))
