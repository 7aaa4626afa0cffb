"""What all tests share: the tiers, their time limits, a subprocess runner, one torch thread."""

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

pytest.register_assert_rewrite("support.refusals")  # so that it says which words differ
os.environ.setdefault("OMP_NUM_THREADS", "1")
# A shell's background jobs ignore interrupts, and so would every process that tests interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).resolve().parents[1]
# Seconds after which a test has failed, by its marker; pyproject.toml says what each means. They
# are many times what a test takes on two free cores, so that a busy machine fails none.
LIMITS = {"full": 1500, "long": 600, None: 300}
SHORT = 10.0  # seconds that a test without a marker may take
DEAREST = 10  # files that are named at the end


def pytest_addoption(parser: pytest.Parser) -> None:
    """What rewrites the files that tests compare with."""
    parser.addoption("--update-golden", action="store_true", help="write what is stored anew")


def pytest_configure(config: pytest.Config) -> None:
    """Prepare what workers share, and let processes that run tests start others quickly."""
    from support import fork_server, made

    is_worker = hasattr(config, "workerinput")
    if not is_worker:
        made.forget_old()
    if is_worker or not config.getoption("numprocesses", None):
        fork_server.stand_in()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Give each test its time limit, and put the longest first: none is left for the end."""
    whole = not config.getoption("lf", False) and not any("::" in word for word in config.args)
    if whole and config.getoption("update_golden"):
        from support.refusals import forget_wording_of_lost_tests

        refusing = {item.nodeid for item in items if "refused" in item.fixturenames}
        forget_wording_of_lost_tests(refusing, {item.nodeid.partition("::")[0] for item in items})
    for item in items:
        marker = next((name for name in LIMITS if name and item.get_closest_marker(name)), None)
        item.add_marker(pytest.mark.timeout(LIMITS[marker]))
    items.sort(key=lambda item: -item.get_closest_marker("timeout").args[0])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Compare what a test's refused commands said with what is stored."""
    yield
    if commands := getattr(item, "funcargs", {}).get("refused"):
        commands.compare(item.nodeid, item.config.getoption("update_golden"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name the files that took longest, and the tests that should have a marker."""
    files: Counter[str] = Counter()
    slow: Counter[str] = Counter()
    reports = [report for group in terminalreporter.stats.values() for report in group]
    for report in reports:
        if type(report) is not pytest.TestReport:  # a subtest's seconds are also its test's
            continue
        files[report.nodeid.partition("::")[0]] += report.duration
        if report.passed and not {"full", "long"} & set(report.keywords):
            slow[report.nodeid] += report.duration
    _table(terminalreporter, f"the {DEAREST} dearest files", files.most_common(DEAREST))
    above = [(name, seconds) for name, seconds in slow.most_common() if seconds > SHORT]
    _table(terminalreporter, f"over {SHORT:.0f} seconds without a marker", above)


def _table(
    reporter: pytest.TerminalReporter, title: str, rows: Sequence[tuple[str, float]]
) -> None:
    if rows:
        reporter.section(title)
    for name, seconds in rows:
        reporter.line(f"{seconds:6.1f} s  {name}")


@pytest.fixture(autouse=True)
def seeded() -> None:
    """No test depends on what ran before it."""
    if "torch" in sys.modules:
        # torch.manual_seed also writes down, in a millisecond, where a GPU's was asked for
        sys.modules["torch"].default_generator.manual_seed(1)


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


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str], tmp_path: Path):
    """Commands that must be refused, and how the refusals are worded (support/refusals.py)."""
    from support.refusals import Refused

    return Refused(capsys, tmp_path)


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
