"""Sentences that are parallel over several languages in a data folder, from its segmented text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tdo_plugin.data.databin import DataFolder
from tdo_plugin.data.textfolder import read_lines
from tdo_plugin.errors import UserError

Parallel = dict[str, list[str]]  # by language; rows are translations of each other


def parallel_lines(
    data: DataFolder, split: str, languages: Sequence[str] | None = None
) -> Parallel:
    """Segmented lines of a split that are parallel over several languages.

    If there are files that are parallel over them (`test.de`, `test.fr`), all of their lines;
    otherwise the lines that the sets with the hub language share: those whose segmented hub side is
    in each of the sets. Of equal lines the first is used, as in the authors' analysis (Qu et al.,
    appendix A).

    Args:
        data: the folder.
        split: such as `test`.
        languages: by default all that have such a file, or a set with the hub.

    Raises:
        UserError: there are fewer than two languages, a language or set is missing, or nothing is
            in common.
    """
    if languages is not None:
        _check(data, languages)
    folder = data.root / "pieces"
    paths = {language: folder / f"{split}.{language}" for language in data.languages}
    paths = {language: path for language, path in paths.items() if path.is_file()}
    chosen = (paths if len(paths) > 1 else None) if languages is None else languages
    if chosen is not None and paths.keys() >= set(chosen):
        return _aligned({language: paths[language] for language in chosen})
    return _through_hub(data, split, languages)


def within(lines: Parallel, pieces: int, sentences: int | None) -> Parallel:
    """The first lines, at most ``sentences``, with at most ``pieces`` pieces in every language."""
    kept = [
        number
        for number, same in enumerate(zip(*lines.values(), strict=True))
        if max(len(line.split()) for line in same) <= pieces
    ][:sentences]
    return {language: [text[number] for number in kept] for language, text in lines.items()}


def _aligned(paths: dict[str, Path]) -> Parallel:
    """The lines of files by language.

    Raises:
        UserError: the numbers of lines differ.
    """
    lines = {language: list(read_lines(path)) for language, path in paths.items()}
    first, *others = lines
    for language in others:
        if len(lines[language]) != len(lines[first]):
            raise UserError(
                f"`{paths[language]}` must have as many lines as {paths[first].name}, "
                f"{len(lines[first])}; it has {len(lines[language])}"
            )
    return lines


def _check(data: DataFolder, languages: Sequence[str]) -> None:
    requirement = f"`--langs` must be two or more of {', '.join(data.languages)}, each once"
    if unknown := [language for language in languages if language not in data.languages]:
        raise UserError(f"{requirement}; it has {unknown[0]}")
    if len(set(languages)) < max(2, len(languages)):
        raise UserError(f"{requirement}; it is {','.join(languages)}")


def _through_hub(data: DataFolder, split: str, languages: Sequence[str] | None) -> Parallel:
    hub = data.hub()
    if hub is None:
        raise UserError(
            f"`--data` must have pieces/{split}.LANGUAGE for all languages, or one language in "
            f"all trained pairs; {data.root} has neither"
        )
    chosen = data.languages if languages is None else languages
    sets = {
        language: _set(data.root / "pieces", split, hub, language)
        for language in chosen
        if language != hub
    }
    available = {language: paths for language, paths in sets.items() if paths}
    missing = [language for language in sets if language not in available]
    if missing and (languages is not None or not available):
        raise UserError(
            f"`--data` must have a segmented {split} set of {hub} with {missing[0]}; "
            f"{data.root / 'pieces'} has none"
        )
    # by language, the first translation of each line of the hub
    translations: dict[str, dict[str, str]] = {language: {} for language in available}
    for language, (hub_path, path) in available.items():
        lines = _aligned({hub: hub_path, language: path})
        for line, translation in zip(lines[hub], lines[language], strict=True):
            translations[language].setdefault(line, translation)
    first, *others = translations.values()
    common = [line for line in first if all(line in table for table in others)]
    if not common:
        raise UserError(
            f"`--langs` must have {split} sets that share lines in {hub}; "
            f"{', '.join(available)} share none"
        )
    translations[hub] = {line: line for line in common}
    return {
        language: [translations[language][line] for line in common]
        for language in chosen
        if language in translations
    }


def _set(folder: Path, split: str, hub: str, language: str) -> tuple[Path, Path] | None:
    """The two files of the hub's set with a language, the hub's first."""
    for pair in (f"{hub}-{language}", f"{language}-{hub}"):
        paths = folder / f"{split}.{pair}.{hub}", folder / f"{split}.{pair}.{language}"
        if all(path.is_file() for path in paths):
            return paths
    return None
