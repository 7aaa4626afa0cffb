"""The papers' tables and figures, planned; nothing of them is run."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from tdo_plugin.experiments.library import PAPERS, find, setting_of
from tdo_plugin.experiments.plan import Inputs, Plan
from tdo_plugin.experiments.steps import Step
from tdo_plugin.experiments.tables import PlannedTable

RUN = Path("/reproduced")
TABLES = [(paper, table) for paper in PAPERS for table in find(paper).tables]


def plan(
    paper: str, scale: str = "full", seeds: int = 1, updates: int | None = None, **options: str
) -> Plan:
    """A paper's file at a scale, with options of its own; what must be given is ``/given/NAME``."""
    document = find(paper)
    setting = setting_of(document, scale, options)
    if updates is not None:
        setting = setting.with_updates(updates)
    needed = [name for name, described in document.inputs.items() if described.needed]
    return Plan(setting, RUN, Inputs({name: Path("/given") / name for name in needed}), seeds)


def planned(
    paper: str, table: str, scale: str = "full", rows: Sequence[str] = (), **options: object
) -> PlannedTable:
    """A table of :func:`plan`, or some of its rows."""
    return PlannedTable(plan(paper, scale, **options), table, rows)  # type: ignore[arg-type]


def steps(table: PlannedTable, kind: str) -> list[Step]:
    """The steps of a kind that a table takes."""
    return [step for step in table.plan.graph.closure(table.goals) if step.kind == kind]


def trained(table: PlannedTable) -> dict[str, dict[str, str]]:
    """By system, the flags of each training that a table takes, without ``--``."""
    names = [step.name.removesuffix("/training") for step in steps(table, "training")]
    return {name: flags(table.plan, name) for name in names}


def flags(plan: Plan, system: str) -> dict[str, str]:
    """A system's flags, without ``--``."""
    config = plan.system(system).config(plan.twins.described)
    return {flag.removeprefix("--"): " ".join(values) for flag, values in config.flags.items()}


def words(table: PlannedTable, kind: str) -> list[list[str]]:
    """The commands of a kind of step, paths below the run's folder."""
    return [
        [word.replace(f"{RUN}/", "") for word in command]
        for step in steps(table, kind)
        for command in step.commands
    ]


def value(command: Sequence[str], option: str) -> str:
    """What stands behind an option of a command."""
    return command[command.index(option) + 1]


def places(sweep: Sequence[str]) -> Mapping[str, str]:
    """Of `tdo curve sweep`: where each system stands."""
    first = sweep.index("--x") + 1
    end = next(i for i, word in enumerate(sweep) if i >= first and word[:2] == "--")
    return dict(word.rsplit("=", 1) for word in sweep[first:end])
