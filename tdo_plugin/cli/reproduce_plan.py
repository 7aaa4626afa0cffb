"""What a command line of `tdo reproduce` is to make, checked before anything is made."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
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
    _check_used(given, setting, paths, steps, run_folder, tables_of)
    check_commands(plan, steps)
    return plan, tables


def _check_used(
    given: Collection[str],
    setting: Setting,
    paths: Mapping[str, Path],
    steps: Sequence[Step],
    run_folder: Path,
    tables_of: Callable[[Setting], tuple[Plan, list[PlannedTable]]],
) -> None:
    """Raise UserError where an option is for nothing."""
    from tdo_plugin.experiments.given import check_inputs_used, check_options_used

    def come_to(setting: Setting) -> Hashable:
        plan, tables = tables_of(setting)
        return tuple(plan.graph.key(goal) for table in tables for goal in table.goals)

    check_options_used([name for name in given if name in setting.options], setting, come_to)
    commands = [command for step in steps for command in step.commands]
    check_inputs_used({name: paths[name] for name in given if name in paths}, commands, run_folder)


def check_commands(plan: Plan, steps: Sequence[Step]) -> None:
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
