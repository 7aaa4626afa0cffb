"""The plan of a `tdo reproduce` command line, checked before any step runs."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tdo_plugin.cli.reproduce_options import read_options
from tdo_plugin.errors import UserError
from tdo_plugin.launch.parser import RaisingParser

if TYPE_CHECKING:
    from tdo_plugin.experiments.document import Document
    from tdo_plugin.experiments.plan import Plan
    from tdo_plugin.experiments.steps import Step
    from tdo_plugin.experiments.systems import Setting
    from tdo_plugin.experiments.tables import PlannedTable


def planned(args: argparse.Namespace) -> tuple[Plan, list[PlannedTable]]:
    """The requested tables, and the plan with their steps.

    Args:
        args: `experiments` names the file; tables and options in `rest` are parsed into `args`.

    Raises:
        UserError: an unknown file, table, scale or option.
    """
    from tdo_plugin.experiments.given import check_inputs_used, check_options_used
    from tdo_plugin.experiments.library import find, setting_of
    from tdo_plugin.experiments.plan import Inputs, Plan
    from tdo_plugin.experiments.rows import tables_with
    from tdo_plugin.experiments.tables import PlannedTable

    document = find(args.experiments)
    given = read_options(args, document)
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
    if args.dry_run or args.estimate:  # neither reads any input
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
    options, key = [name for name in given if name in document.options], _keys(plan, tables)
    check_options_used(options, setting, key, lambda other: _keys(*tables_of(other)))
    commands = [command for step in steps for command in step.commands]
    check_inputs_used({name: paths[name] for name in given if name in paths}, commands, run_folder)
    check_commands(plan, steps)
    return plan, tables


def _keys(plan: Plan, tables: Sequence[PlannedTable]) -> Hashable:
    """What the tables' steps come to."""
    return tuple(plan.graph.key(goal) for table in tables for goal in table.goals)


def check_commands(plan: Plan, steps: Sequence[Step]) -> None:
    """Parse the commands of a file before days of training.

    Raises:
        UserError: a command that `tdo` does not have, or an invalid option or value.
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
                f"`{file}` must have valid tdo commands; in {shlex.join(command)}: {error}"
            ) from None
        if args.check is not None:
            args.check(args)


def _check_inputs(document: Document, setting: Setting, paths: dict[str, Path]) -> None:
    for name, path in paths.items():
        scales = document.inputs[name].scales
        if not setting.has(scales):
            raise UserError(
                f"`--{name}` must be used at scale {' or '.join(scales)}; the scale is "
                f"{setting.scale}"
            )
        if not path.exists():
            raise UserError(
                f"`--{name}` must be {document.inputs[name].help}; {path} does not exist"
            )


def _tables(document: Document, setting: Setting, requested: Sequence[str]) -> list[str]:
    for name in requested:
        if name not in document.tables:
            raise UserError(f"`TABLE` must be one of {', '.join(document.tables)}; it is {name}")
    names = [name for name in document.tables if name in requested or not requested]
    here = [name for name in names if setting.has(document.tables[name].scales)]
    if names and not here:
        raise UserError(
            f"`--scale` must be a scale at which {', '.join(names)} exists; it is {setting.scale}"
        )
    return here


def _detector(setting: Setting) -> tuple[str, ...]:
    from tdo_plugin.experiments.detector import lid_words

    return lid_words(setting.said("detector") == "lid.176", print)
