"""The direction groups of `tdo score` and `tdo compare`, from their options."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from tdo_compat.errors import tell
from tdo_plugin.errors import UserError
from tdo_plugin.evaluation.outputs import languages_of
from tdo_plugin.evaluation.protocols import Protocol

if TYPE_CHECKING:
    from tdo_plugin.data.databin import DataFolder
    from tdo_plugin.evaluation.groups import Groups


def groups_of(
    args: argparse.Namespace, chosen: Protocol, data: DataFolder | None, directions: list[str]
) -> Groups:
    """The groups of scored directions, by name.

    Args:
        args: the group options.
        chosen: the protocol, which may have groups by training size.
        data: the data folder that was decoded, if known.
        directions: all scored directions.

    Raises:
        UserError: a hub, trained directions or groups that do not match the directions.
    """
    from tdo_plugin.evaluation.groups import (
        HIGH,
        MEDIUM,
        family_groups,
        size_groups,
        standard_groups,
        user_groups,
    )

    if data is not None:
        hub = args.hub or data.hub()
        trained: set[str] | None = set(data.directions)
    else:
        languages = {language for direction in directions for language in direction.split("-")}
        hub = args.hub or ("en" if "en" in languages else None)
        named = args.supervised.split(",") if args.supervised else []
        trained = {"-".join(languages_of(direction, "--supervised")) for direction in named} or None
    _check_hub(args.hub, trained if args.supervised else None, directions)
    groups = standard_groups(directions, trained, hub)
    if args.sizes or (chosen.size_groups and data is not None):
        if data is None:
            raise UserError("`--sizes` must come with --data, which has the training sizes")
        bounds = _size_bounds(args.size_bounds) if args.size_bounds else (HIGH, MEDIUM)
        groups |= size_groups(directions, data.training_sizes(), hub or "en", bounds)
    elif args.size_bounds:
        raise UserError("`--size-bounds` must come with --sizes or a protocol with size groups")
    if args.families:
        families, unknown = family_groups(directions, hub or "en")
        groups |= families
        if unknown:
            tell(f"note: unknown language family: {', '.join(unknown)}")
    custom = user_groups(args.group, directions)
    if clash := [name for name in custom if name in groups]:
        raise UserError(f"`--group` must have a new name; {clash[0]} already exists")
    return groups | custom


def _size_bounds(text: str) -> tuple[int, int]:
    """The minimum numbers of sentence pairs of the groups High and Medium."""
    high, _, medium = text.partition(",")
    if not (high.isdecimal() and medium.isdecimal() and int(high) > int(medium) > 0):
        raise UserError(
            "`--size-bounds` must be two whole numbers above 0, the larger first, such as "
            f"900000,100000; it is {text}"
        )
    return int(high), int(medium)


def _check_hub(hub: str | None, trained: set[str] | None, directions: list[str]) -> None:
    """Raise UserError if the hub or all trained directions are absent from the scored ones."""
    languages = {language for direction in directions for language in direction.split("-")}
    if hub is not None and hub not in languages:
        raise UserError(f"`--hub` must be one of {', '.join(sorted(languages))}; it is {hub}")
    if trained is not None and not trained.intersection(directions):
        raise UserError(f"`--supervised` must name some of {', '.join(directions)}; it names none")
