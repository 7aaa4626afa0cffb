"""`tdo reproduce`: make the tables and figures of an experiment file."""

from __future__ import annotations

import argparse
import shlex
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tdo_compat.errors import tell
from tdo_plugin.cli import reproduce_all
from tdo_plugin.cli.reproduce_options import file_options
from tdo_plugin.cli.reproduce_plan import planned
from tdo_plugin.errors import UserError
from tdo_plugin.evaluation.decoding.decoded_checkpoints import write_run
from tdo_plugin.experiments.machine import Machine
from tdo_plugin.launch.handed_on_options import gpus_here
from tdo_plugin.launch.parser import RaisingParser

if TYPE_CHECKING:
    from tdo_plugin.experiments.plan import Plan
    from tdo_plugin.experiments.systems import Setting
    from tdo_plugin.experiments.tables import PlannedTable

HELP = "make a paper's tables and figures, or your own: train, translate, score and draw"
EXAMPLE = "tdo reproduce tdo table1 --scale toy --rows 'ted19/*'"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "experiments",
        metavar="EXPERIMENTS",
        help="tdo, opus100, tpdm, tlm, neurons, or an experiment file of your own (`tdo doctor` "
        "says where experiments.md is, which describes the format); all for the headline tables "
        "of these papers on one page",
    )
    parser.add_argument(
        "rest",
        nargs=argparse.REMAINDER,
        metavar="TABLE ...",
        help="tables and figures (default: all), and options as below; `tdo reproduce EXPERIMENTS "
        "--help` lists its tables and additional options",
    )
    file_options(parser)
    reproduce_all.add_options(parser)


def run(args: argparse.Namespace) -> int:
    """Run the steps that are not done yet; returns 1 if a step failed."""
    if args.experiments == reproduce_all.ALL:
        return _run_all(args)
    return make(args, *planned(args))


def _run_all(args: argparse.Namespace) -> int:
    """Run each paper, then write one page with the papers whose steps all succeeded."""
    parser = RaisingParser(
        prog=f"tdo reproduce {args.experiments}", description=reproduce_all.DESCRIPTION,
        allow_abbrev=False,
    )  # fmt: skip
    file_options(parser)
    reproduce_all.add_options(parser)
    parser.add_argument("--from", metavar="PATH", help="folder with the corpora's archives")
    parser.parse_args(args.rest, namespace=args)
    args.scale = args.scale or "toy"
    args.out = args.out or Path("runs") / f"{reproduce_all.ALL}-{args.scale}"
    # report errors in any paper before training the first
    papers = [
        (paper_args, *planned(paper_args)) for paper_args in reproduce_all.of_each_paper(args)
    ]
    made: list[PlannedTable] = []
    failed = 0
    for paper_args, plan, tables in papers:
        print(f"{paper_args.experiments}: {plan.setting.document.title}", flush=True)
        code = make(paper_args, plan, tables)
        failed = max(failed, code)
        made += [] if code else tables
    if not (args.dry_run or args.estimate):
        reproduce_all.write_page(args.scale, made, args.out)
    return failed


def make(args: argparse.Namespace, plan: Plan, tables: Sequence[PlannedTable]) -> int:
    """Run, print or estimate the steps that are not done yet; returns 1 if a step failed."""
    for table in {table.scored.name: table.scored for table in tables}.values():
        if table.left_out:
            scale = plan.setting.scale
            print(f"{table.name}: not available at scale {scale}: {', '.join(table.left_out)}")
    if args.estimate:
        from tdo_plugin.experiments.estimates import estimate

        return estimate(plan)
    if args.dry_run:
        return _show(plan, tables, _machine(args, plan.setting) if args.slurm else Machine(()))
    return _run(args, plan, tables, _machine(args, plan.setting))


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
    from tdo_plugin.experiments.run_page import write_run_page
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
    at_a_time = f"{len(machine.slots)} at a time on {where}"
    if machine.jobs:
        at_a_time += f"; Slurm jobs, {len(machine.jobs)} at a time"
    say(f"{len(steps)} steps, including {trainings} training runs, {at_a_time}")
    if (package := cannot_draw()) and any(step.kind == "drawing" for step in steps):
        say(f"no figures: {package} is not installed (pip install {package})")
    if plan.setting.document.recommended:
        write_run(plan.graph.run, plan.setting.document.recommended)
    stale = [path for table in tables for path in table.stale()]
    fresh = every if args.fresh else ()
    troubles = Runner(plan.graph, machine, say).run(goals, stale, fresh)
    for name, why in troubles.items():
        tell(f"error: {name}: {why}")
    page = write_run_page(plan)
    if page:
        print(page)
    return 1 if troubles else 0
