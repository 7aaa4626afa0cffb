"""The commands of every table and figure, as they are stored, and that they are understood.

``pytest tests/tables/test_golden.py --update-golden`` writes them anew; read the difference.
"""

import contextlib
import io
import shlex
from pathlib import Path

import pytest
from support.configs import data_folder
from support.scripts import CLONE, FIGURES, TABLES, dry_run

from tdo_plugin.cli import _renamed as renamed
from tdo_plugin.cli import build_parser

GOLDEN = Path(__file__).parent / "golden"
SCRIPTS = sorted(path.name for folder in (TABLES, FIGURES) for path in folder.glob("*_*.sh"))


def golden(name: str) -> Path:
    return GOLDEN / Path(name).with_suffix(".txt")


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_commands_of_a_smoke_run(name: str, pytestconfig: pytest.Config) -> None:
    shown = dry_run(name, "--smoke")
    if pytestconfig.getoption("update_golden"):
        golden(name).write_text(shown)
    assert shown == golden(name).read_text()


def test_no_script_is_forgotten() -> None:
    assert {golden(name) for name in SCRIPTS} == set(GOLDEN.iterdir())


def commands() -> list[list[str]]:
    """All `tdo` commands of all scripts, each once, without that word."""
    lines = dict.fromkeys(
        line.removeprefix("+ tdo ")
        for path in sorted(GOLDEN.iterdir())
        for line in path.read_text().splitlines()
        if line.startswith("+ tdo ")
    )
    return [shlex.split(line) for line in lines]


def test_tdo_understands_them(subtests: pytest.Subtests) -> None:
    parser = build_parser()
    for words in commands():
        with subtests.test(command=shlex.join(words)):
            assert parser.parse_args(renamed(words)).run


def test_fairseq_understands_the_trainings(
    clone: Path, tmp_path: Path, subtests: pytest.Subtests
) -> None:
    """The fairseq-train that each comes to, on other data."""
    from fairseq import options

    from tdo_plugin.cli import main

    data = str(data_folder(tmp_path).root)
    trainings = [words for words in commands() if words[0] == "train"]
    assert len(trainings) > 100
    for _, config, _, *flags in trainings:
        config = config.replace(CLONE, str(clone))
        with subtests.test(config=config, flags=shlex.join(flags)):
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                assert main(["train", config, data, *flags, "--cpu", "--dry-run"]) == 0
            (line,) = (line for line in output.getvalue().splitlines() if line.startswith("+ "))
            program, *words = shlex.split(line.removeprefix("+ "))
            assert program == "fairseq-train"
            args = options.parse_args_and_arch(options.get_training_parser(), words)
            assert args.save_dir == flags[flags.index("--save-dir") + 1]
            assert args.max_update <= 4
