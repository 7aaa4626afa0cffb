"""`tdo reproduce`: make the tables and figures of a file of experiments."""

from __future__ import annotations

import argparse
import shlex
import time
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tdo_compat.errors import tell
from tdo_plugin.cli import reproduce_all
from tdo_plugin.errors import UserError
from tdo_plugin.experiments.machine import Machine
from tdo_plugin.launch.handed_on_options import (
    check_sbatch,
    device_options,
    gpus_here,
    slurm_options,
)
from tdo_plugin.launch.parser import RaisingParser

if TYPE_CHECKING:
    from tdo_plugin.experiments.document import Document
    from tdo_plugin.experiments.plan import Plan
    from tdo_plugin.experiments.steps import Step
    from tdo_plugin.experiments.systems import Setting
    from tdo_plugin.experiments.tables import PlannedTable

HELP = "train, translate, score and draw the tables of a paper, or of one's own experiments"
EXAMPLE = "tdo reproduce tdo table1 --scale toy --rows 'ted19/*'"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "experiments",
        metavar="EXPERIMENTS",
        help="tdo, opus100, tpdm, tlm, neurons, or a file (docs/experiments.md); all for the "
        "headline tables of these papers, and one page of them",
    )
    parser.add_argument(
        "rest",
        nargs=argparse.REMAINDER,
        metavar="TABLE ...",
        help="tables and figures (default: all), and options as below; EXPERIMENTS alone with "
        "--help lists its tables and what options of its own it has",
    )
    _options(parser)
    reproduce_all.add_options(parser)


def _options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--rows", metavar="NAME,...", help="some of the rows, by their names or patterns")
    add("--headline", action="store_true", help="of the rows those that show what the paper found")
    add(
        "--seeds", type=int, default=1, metavar="N",
        help="trainings of each system; the report has means and spreads (default 1)",
    )  # fmt: skip
    add(
        "--gpus-each", type=int, metavar="N",
        help="GPUs of one step (default: 1; at the scale full all, but for --slurm)",
    )  # fmt: skip
    slurm_options(parser, "submit each step that trains or computes as a job of its own, and wait")
    add("--estimate", action="store_true", help="only print the GPU hours of what is to be trained")
    run_options(
        parser,
        scales="toy, smoke, multi30k, full (default: the file's first)",
        place="runs/NAME-SCALE; tables with the same folder share what they have in common",
    )


def run_options(parser: argparse.ArgumentParser, scales: str, place: str) -> None:
    """Declare the options of a run, whatever it makes; help names its scales and usual place."""
    add = parser.add_argument
    add("--scale", metavar="SCALE", help=scales)
    add(
        "--updates", type=int, metavar="N",
        help="updates of a row, at the small scales (default: the file's)",
    )  # fmt: skip
    add(
        "--out", type=Path, metavar="RUN", help=f"where everything goes (default: {place})"
    )  # fmt: skip
    add(
        "--jobs", type=int, metavar="N",
        help="steps at a time (default: as many as have GPUs of their own; on the CPU 2); with "
        "--slurm jobs at a time (default 16)",
    )  # fmt: skip
    device_options(parser)
    add("--threads", type=int, metavar="N", help="CPU threads of a step (default: its share)")
    add("--fresh", action="store_true", help="begin again; else what is whole is not done again")
    add("--dry-run", action="store_true", help="only print the commands")


def run(args: argparse.Namespace) -> int:
    """Do what is not done yet; 1 where a step failed."""
    if args.experiments == reproduce_all.ALL:
        return _run_all(args)
    return make(args, *planned(args))


def _run_all(args: argparse.Namespace) -> int:
    """The same of all papers, and their page; without the tables of one where a step failed."""
    parser = RaisingParser(
        prog=f"tdo reproduce {args.experiments}", description=reproduce_all.DESCRIPTION,
        allow_abbrev=False,
    )  # fmt: skip
    _options(parser)
    reproduce_all.add_options(parser)
    parser.add_argument("--from", metavar="PATH", help="folder with the corpora's archives")
    parser.parse_args(args.rest, namespace=args)
    args.scale = args.scale or "toy"
    args.out = args.out or Path("runs") / f"{reproduce_all.ALL}-{args.scale}"
    # mistakes are said before the first paper is trained
    papers = [(own, *planned(own)) for own in reproduce_all.of_each_paper(args)]
    made: list[PlannedTable] = []
    failed = 0
    for own, plan, tables in papers:
        print(f"{own.experiments}: {plan.setting.document.title}", flush=True)
        code = make(own, plan, tables)
        failed = max(failed, code)
        made += [] if code else tables
    if not (args.dry_run or args.estimate):
        reproduce_all.write_page(args.scale, made, args.out / "index.html")
    return failed


def planned(args: argparse.Namespace) -> tuple[Plan, list[PlannedTable]]:
    """The tables that are asked for, with the steps that they take.

    Args:
        args: `experiments` names the file; what `rest` says of tables and options is read into it.

    Raises:
        UserError: a file, table, scale or option that there is not.
    """
    from tdo_plugin.experiments.library import find, setting_of
    from tdo_plugin.experiments.plan import Inputs, Plan
    from tdo_plugin.experiments.rows import tables_with
    from tdo_plugin.experiments.tables import PlannedTable

    document = find(args.experiments)
    given = _read(args, document)
    setting = setting_of(
        document, args.scale, {k: v for k, v in given.items() if k in document.options}
    )
    if args.updates is not None:
        setting = setting.with_updates(args.updates)
    run_folder = (args.out or Path("runs") / f"{document.name}-{setting.scale}").resolve()
    paths = {
        name: Path(value).resolve() for name, value in given.items() if name in document.inputs
    }
    _check_inputs(document, setting, paths)
    if args.dry_run or args.estimate:  # which read nothing
        needed = [name for name, described in document.inputs.items() if described.needed]
        paths = {name: Path(name.upper()) for name in needed} | paths
    inputs = Inputs(paths, _detector(setting))
    patterns = args.rows.split(",") if args.rows else ()
    names = tables_with(setting, _tables(document, setting, args.tables), patterns)

    def tables_of(setting: Setting) -> tuple[Plan, list[PlannedTable]]:
        plan = Plan(setting, run_folder, inputs, args.seeds)
        scored = {name: document.tables[name].cells or name for name in names}
        headline = {
            name: args.headline and document.tables[scored[name]].headline for name in names
        }
        return plan, [PlannedTable(plan, name, patterns or headline[name] or ()) for name in names]

    plan, tables = tables_of(setting)
    steps = plan.graph.closure([goal for table in tables for goal in table.goals])
    _check_given(given, setting, paths, steps, run_folder, tables_of)
    _check_commands(plan, steps)
    return plan, tables


def make(args: argparse.Namespace, plan: Plan, tables: Sequence[PlannedTable]) -> int:
    """Do the steps that are not done yet, or print what the options say; 1 where one failed."""
    for table in {table.scored.name: table.scored for table in tables}.values():
        if table.left_out:
            scale = plan.setting.scale
            print(f"{table.name}: not at the scale {scale}: {', '.join(table.left_out)}")
    if args.estimate:
        from tdo_plugin.experiments.estimates import estimate

        return estimate(plan)
    if args.dry_run:
        return _show(plan, tables, _machine(args, plan.setting) if args.slurm else Machine(()))
    return _run(args, plan, tables, _machine(args, plan.setting))


def _read(args: argparse.Namespace, document: Document) -> dict[str, str]:
    """Read tables and options out of `args.rest`; what it says of the file's own options."""
    parser = RaisingParser(
        prog=f"tdo reproduce {args.experiments}", description=document.title, allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter, epilog=_epilog(document),
    )  # fmt: skip
    parser.add_argument("tables", nargs="*", metavar="TABLE", help="tables and figures; see below")
    _options(parser)
    own = parser.add_argument_group(f"of {document.path.name}")
    for name, option in document.options.items():
        listed = f" ({', '.join(option.choices)})" if option.choices else ""
        own.add_argument(f"--{name}", metavar="VALUE", help=f"{option.help}{listed}")
    for name, given_path in document.inputs.items():
        own.add_argument(f"--{name}", metavar="PATH", help=given_path.help)
    parser.parse_intermixed_args(args.rest, namespace=args)
    _at_least_one(args)
    check_sbatch(args)
    if args.slurm and args.gpus is not None:
        raise UserError(
            f"`--gpus` must be left out with --slurm, where --gpus-each says it; it is {args.gpus}"
        )
    values = {
        name: getattr(args, name.replace("-", "_"))
        for name in (*document.options, *document.inputs)
    }
    return {name: value for name, value in values.items() if value is not None}


def _epilog(document: Document) -> str:
    tables = "\n".join(f"  {name:12} {table.title}" for name, table in document.tables.items())
    scales = "\n".join(
        f"  {name:12} {scale.help}" for name, scale in document.scales.items() if scale.help
    )
    return f"tables:\n{tables}\n\nscales:\n{scales}"


def _check_given(
    given: Collection[str],
    setting: Setting,
    paths: Mapping[str, Path],
    steps: Sequence[Step],
    run_folder: Path,
    tables_of: Callable[[Setting], tuple[Plan, list[PlannedTable]]],
) -> None:
    """Raise UserError where an option is for nothing."""
    from tdo_plugin.experiments.given import check_inputs, check_options

    def come_to(setting: Setting) -> Hashable:
        plan, tables = tables_of(setting)
        return tuple(plan.graph.key(goal) for table in tables for goal in table.goals)

    check_options([name for name in given if name in setting.options], setting, come_to)
    commands = [command for step in steps for command in step.commands]
    check_inputs({name: paths[name] for name in given if name in paths}, commands, run_folder)


def _check_commands(plan: Plan, steps: Sequence[Step]) -> None:
    """Read the commands of a file before days of training.

    Raises:
        UserError: one is none of `tdo`, has an option that it does not take, or a value.
    """
    from tdo_plugin.cli import COMMANDS, build_parser
    from tdo_plugin.experiments.steps import SCRIPT

    commands = [command for step in steps for command in step.commands if command[0] != SCRIPT]
    names = {command[0] for command in commands}
    known = [name for name in COMMANDS if name in names or not names <= {*COMMANDS}]
    parser = build_parser(known, RaisingParser)
    for command in commands:
        try:
            args = parser.parse_args(command)
        except UserError as error:
            file = plan.setting.document.path.name
            raise UserError(
                f"`{file}` must have commands that tdo takes; of {shlex.join(command)}: {error}"
            ) from None
        if args.check is not None:
            args.check(args)


def _at_least_one(args: argparse.Namespace) -> None:
    for option in ("seeds", "jobs", "gpus_each", "threads", "updates"):
        value = getattr(args, option)
        if value is not None and value < 1:
            raise UserError(f"`--{option.replace('_', '-')}` must be at least 1; it is {value}")


def _check_inputs(document: Document, setting: Setting, paths: dict[str, Path]) -> None:
    for name, path in paths.items():
        scales = document.inputs[name].scales
        if not setting.has(scales):
            raise UserError(
                f"`--{name}` must come with the scale {' or '.join(scales)}; it is {setting.scale}"
            )
        if not path.exists():
            raise UserError(f"`--{name}` must be {document.inputs[name].help}; {path} is not there")


def _tables(document: Document, setting: Setting, requested: Sequence[str]) -> list[str]:
    for name in requested:
        if name not in document.tables:
            raise UserError(f"`TABLE` must be of {', '.join(document.tables)}; it is {name}")
    names = [name for name in document.tables if name in requested or not requested]
    here = [name for name in names if setting.has(document.tables[name].scales)]
    if names and not here:
        raise UserError(
            f"`--scale` must be one that {', '.join(names)} is there at; it is {setting.scale}"
        )
    return here


def _detector(setting: Setting) -> tuple[str, ...]:
    from tdo_plugin.experiments.detector import lid_words

    return lid_words(setting.said("detector") == "lid.176", print)


def _machine(args: argparse.Namespace, setting: Setting) -> Machine:
    """Where steps run."""
    if args.slurm:
        gpus = 0 if args.cpu else args.gpus_each or 1
        if args.cpu and (args.gpus_each or 1) > 1:
            raise UserError(f"`--gpus-each` must be left out with --cpu; it is {args.gpus_each}")
        return Machine.of_slurm(gpus, args.jobs, args.threads, args.sbatch)
    gpus = gpus_here(args)
    each = args.gpus_each or (max(1, gpus) if "full" in setting.names_of_scale() else 1)
    return Machine.of(gpus, args.jobs, each, args.threads)


def _show(plan: Plan, tables: Sequence[PlannedTable], machine: Machine) -> int:
    from tdo_plugin.experiments.runner import job_of, there
    from tdo_plugin.experiments.steps import shown

    for table in tables:
        print(f"# {table.name}: {table.table.title}")
        if table.scored is not table:
            print(f"#   cells of {table.scored.name}")
            continue
        for row in table.rows:
            print(f"#   {row.name}: {row.label}")
    goals = [goal for table in tables for goal in table.goals]
    for step in plan.graph.closure(goals):
        if step.kind == "output":  # a folder, without commands
            continue
        state = " (done)" if there(plan.graph, step) else ""
        print(f"# {step.name}{state}")
        if machine.submits(step.device):
            job = job_of(plan.graph, machine, step, machine.jobs[0])
            print(f"+ {shlex.join(job.command)}\n{job.text}")
            continue
        for command in step.commands:
            last = command is step.commands[-1]
            print(shown([*command, *(step.start if last else ()), *(step.silent if last else ())]))
    return 0


def _run(
    args: argparse.Namespace, plan: Plan, tables: Sequence[PlannedTable], machine: Machine
) -> int:
    from tdo_plugin.experiments.runner import Runner, refuse_foreign, to_do
    from tdo_plugin.experiments.steps import cannot_draw

    goals = [goal for table in tables for goal in table.goals]
    begun = time.monotonic()

    def say(line: str) -> None:
        seconds = int(time.monotonic() - begun)
        print(f"[{seconds // 60:3}:{seconds % 60:02}] {line}", flush=True)

    every = plan.graph.closure(goals)
    refuse_foreign(plan.graph, every)
    steps = every if args.fresh else to_do(plan.graph, goals)
    trainings = sum(step.kind == "training" for step in steps)
    gpus = len({gpu for slot in machine.slots for gpu in slot})
    where = f"{gpus} GPU(s)" if gpus else "the CPU"
    at_a_time = f"{len(machine.slots)} at a time, {where}"
    if machine.jobs:
        at_a_time += f"; jobs of Slurm, {len(machine.jobs)} at a time"
    say(f"{len(steps)} steps, {trainings} of them trainings, {at_a_time}")
    if (package := cannot_draw()) and any(step.kind == "drawing" for step in steps):
        say(f"no pictures: {package} is not installed (pip install {package})")
    stale = [path for table in tables for path in table.stale()]
    fresh = every if args.fresh else ()
    troubles = Runner(plan.graph, machine, say).run(goals, stale, fresh)
    for name, why in troubles.items():
        tell(f"error: {name}: {why}")
    for table in tables:
        print(table.folder)
    return 1 if troubles else 0
