"""The commands of every table and figure and the systems, as stored, and that they are understood.

``pytest tests/tables/test_golden.py --update-golden`` writes them anew; read the difference.
"""

import contextlib
import io
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.configs import ROOT, data_folder, systems_at
from support.covering import mostly_full
from support.papers import RUN, TABLES, plan

from tdo_plugin.cli import RENAMED, build_parser, main
from tdo_plugin.experiments import detector
from tdo_plugin.experiments.library import PAPERS
from tdo_plugin.experiments.named_configs import FULL
from tdo_plugin.experiments.steps import Step
from tdo_plugin.experiments.tables import PlannedTable
from tdo_plugin.launch.training_config import Config

GOLDEN = Path(__file__).parent / "golden"
SYSTEMS = Path(__file__).parent / "golden_systems"
STARTS = ("--restore-file", "--finetune-from-model")


def said(*words: str) -> str:
    """What `tdo` prints in this process."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        assert main(words) == 0, output.getvalue()
    return output.getvalue()


@pytest.mark.parametrize(("paper", "table"), TABLES)
def test_the_commands_of_a_smoke_run(
    paper: str,
    table: str,
    pytestconfig: pytest.Config,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("LID", raising=False)
    monkeypatch.setattr(detector, "CLONE", tmp_path)
    options = ("--scale", "smoke", "--out", str(RUN), "--dry-run")
    shown = said("reproduce", paper, table, *options)
    stored = GOLDEN / f"{paper}_{table}.txt"
    if pytestconfig.getoption("update_golden"):
        stored.write_text(shown)
    assert shown == stored.read_text()


def test_none_is_forgotten() -> None:
    assert {f"{paper}_{table}.txt" for paper, table in TABLES} == {p.name for p in GOLDEN.iterdir()}


def test_they_are_understood(subtests: pytest.Subtests) -> None:
    parser = build_parser()
    text = "".join(path.read_text() for path in sorted(GOLDEN.iterdir()))
    lines = dict.fromkeys(line for line in text.splitlines() if line.startswith("+ "))
    assert len(lines) > 500
    for line in lines:
        _, program, *words = shlex.split(line)
        with subtests.test(command=line):
            if program == "tdo":
                assert parser.parse_args(words).run
                old = {name for name in RENAMED if words[: len(name.split())] == name.split()}
                assert old <= {"curve"}  # as `curve updates`
            else:
                assert program == "python" and (ROOT / words[0]).is_file()


@pytest.mark.parametrize("paper", PAPERS)
def test_the_systems_at_full_size(paper: str, pytestconfig: pytest.Config) -> None:
    """What all have in common, and behind it what each has otherwise."""
    systems = {name: _said(config) for name, config in systems_at(paper, FULL).items()}
    common = set.intersection(*systems.values())
    lines = sorted(common)
    for name, said in systems.items():
        lines += ["", name, "  ".join(sorted(said - common))]
    text = "\n".join(lines) + "\n"
    stored = SYSTEMS / f"{paper}.txt"
    if pytestconfig.getoption("update_golden"):
        stored.write_text(text)
    assert text == stored.read_text()


def _said(config: Config) -> set[str]:
    flags = {" ".join((name.removeprefix("--"), *values)) for name, values in config.flags.items()}
    about = {"gpus": config.gpus, "precision": config.precision, "directions": config.directions}
    return flags | {f"{name} {value}" for name, value in about.items()}


def trainings(paper: str) -> Iterator[Step]:
    """Those of all tables at smoke scale."""
    made = plan(paper, "smoke")
    for other, table in TABLES:
        if other == paper:
            PlannedTable(made, table)
    return (step for step in made.graph if step.kind == "training")


@pytest.mark.parametrize("paper", mostly_full(PAPERS))
def test_fairseq_understands_the_trainings(
    paper: str, tmp_path: Path, subtests: pytest.Subtests
) -> None:
    """The fairseq-train that each comes to, on other data."""
    from fairseq import options

    data = str(data_folder(tmp_path).root)
    steps = list(trainings(paper))
    assert len(steps) > 20
    for step in steps:
        ((_, config),) = step.files.items()
        with subtests.test(system=step.name):
            file = tmp_path / "system.conf"
            file.write_text(config)
            save = ("--save-dir", str(tmp_path / "save"))
            words = (str(file), data, *save, *step.start, *step.silent, "--cpu", "--dry-run")
            (line,) = (x for x in said("train", *words).splitlines() if x.startswith("+ "))
            program, *stock = shlex.split(line.removeprefix("+ "))
            assert program == "fairseq-train"
            args = options.parse_args_and_arch(options.get_training_parser(), stock)
            assert args.save_dir == save[1] and args.max_update == step.updates <= 4
            assert bool(step.start) == any(word in stock for word in STARTS) or "m2m-" in step.name
