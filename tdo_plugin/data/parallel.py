"""Sentences that a data folder has in several languages, from its text in pieces."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tdo_plugin.data.databin import DataFolder
from tdo_plugin.data.textfolder import read_lines
from tdo_plugin.errors import UserError

Parallel = dict[str, list[str]]  # by language; line i says the same in each


def parallel_lines(
    data: DataFolder, split: str, languages: Sequence[str] | None = None
) -> Parallel:
    """Lines in pieces that a split has in all of some languages.

    Where it has files that are parallel over them (`test.de`, `test.fr`), all lines of these; else
    those that the sets with the hub language share: lines whose hub side, in pieces, is in each of
    these sets. Of equal ones the first counts, as in the authors' analysis (Qu et al., appendix A).

    Args:
        data: the folder.
        split: such as `test`.
        languages: whose lines; by default all that have such a file, or a set with the hub.

    Raises:
        UserError: a language that is not there or alone, a missing set, or nothing in common.
    """
    if languages is not None:
        _check(data, languages)
    folder = data.root / "pieces"
    own = {language: folder / f"{split}.{language}" for language in data.languages}
    own = {language: path for language, path in own.items() if path.is_file()}
    wanted = (own if len(own) > 1 else None) if languages is None else languages
    if wanted is not None and own.keys() >= set(wanted):
        return _aligned({language: own[language] for language in wanted})
    return _through_hub(data, split, languages)


def within(lines: Parallel, pieces: int, sentences: int | None) -> Parallel:
    """The first lines, at most so many, none of which has more pieces in any language."""
    kept = [
        number
        for number, same in enumerate(zip(*lines.values(), strict=True))
        if max(len(one.split()) for one in same) <= pieces
    ][:sentences]
    return {language: [own[number] for number in kept] for language, own in lines.items()}


def _aligned(paths: dict[str, Path]) -> Parallel:
    """The lines of files by language, as many in each.

    Raises:
        UserError: they are not.
    """
    lines = {language: list(read_lines(path)) for language, path in paths.items()}
    first, *others = lines
    for other in others:
        if len(lines[other]) != len(lines[first]):
            raise UserError(
                f"`{paths[other]}` must have as many lines as {paths[first].name}, "
                f"{len(lines[first])}; it has {len(lines[other])}"
            )
    return lines


def _check(data: DataFolder, languages: Sequence[str]) -> None:
    known = f"`--languages` must be two or more of {', '.join(data.languages)}, each once"
    if unknown := [one for one in languages if one not in data.languages]:
        raise UserError(f"{known}; it has {unknown[0]}")
    if len(set(languages)) < max(2, len(languages)):
        raise UserError(f"{known}; it is {','.join(languages)}")


def _through_hub(data: DataFolder, split: str, languages: Sequence[str] | None) -> Parallel:
    hub = data.hub()
    if hub is None:
        raise UserError(
            f"`--data` must hold pieces/{split}.LANGUAGE of all languages, or have one language in "
            f"all trained pairs; {data.root} has neither"
        )
    chosen = data.languages if languages is None else languages
    sets = {one: _set(data.root / "pieces", split, hub, one) for one in chosen if one != hub}
    there = {one: paths for one, paths in sets.items() if paths}
    missing = [one for one in sets if one not in there]
    if missing and (languages is not None or not there):
        raise UserError(
            f"`--data` must hold a {split} set of {hub} with {missing[0]}, as text in pieces; "
            f"{data.root / 'pieces'} has none"
        )
    # by language, the first of its lines that stands beside a line of the hub
    found: dict[str, dict[str, str]] = {one: {} for one in there}
    for one, (path, other) in there.items():
        lines = _aligned({hub: path, one: other})
        for line, translation in zip(lines[hub], lines[one], strict=True):
            found[one].setdefault(line, translation)
    first, *others = found.values()
    common = [line for line in first if all(line in other for other in others)]
    if not common:
        raise UserError(
            f"`--languages` must be such that their {split} sets share lines in {hub}; "
            f"{', '.join(there)} share none"
        )
    found[hub] = {line: line for line in common}
    return {one: [found[one][line] for line in common] for one in chosen if one in found}


def _set(folder: Path, split: str, hub: str, language: str) -> tuple[Path, Path] | None:
    """The two files of the hub's set with a language, the hub's first."""
    for pair in (f"{hub}-{language}", f"{language}-{hub}"):
        paths = folder / f"{split}.{pair}.{hub}", folder / f"{split}.{pair}.{language}"
        if all(path.is_file() for path in paths):
            return paths
    return None
