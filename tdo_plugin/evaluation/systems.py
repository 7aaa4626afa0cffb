"""The systems to score, from their folders or from single files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tdo_plugin.data.databin import DataFolder, matching
from tdo_plugin.data.textfolder import read_lines
from tdo_plugin.errors import UserError
from tdo_plugin.evaluation.outputs import (
    HOW,
    Texts,
    check_counts,
    directions_of,
    languages_of,
    read_how,
    read_texts,
    summary_of,
)
from tdo_plugin.metrics.textform import form_of
from tdo_plugin.names import check_titles


@dataclass(frozen=True)
class SystemTexts:
    """A system to score.

    Attributes:
        name: the system's name.
        texts: texts by direction.
        provenance: how the texts were made, from its folder, or by folder if there are several.
        perplexities: perplexities by direction.
        lowercased: whether any folder has lowercased text.
    """

    name: str
    texts: dict[str, Texts]
    provenance: dict[str, Any] = field(default_factory=dict)
    perplexities: dict[str, float] = field(default_factory=dict)
    lowercased: bool = False


def read_systems(
    specs: Sequence[str], directions: str | None, data: DataFolder | None, failures: list[str]
) -> list[SystemTexts]:
    """Read the systems; what cannot be read is reported in `failures`, one line each.

    Args:
        specs: `NAME=DIR` of each system; a repeated name adds further directions to the system.
        directions: all, supervised or zero-shot (with `data`), a list of directions, patterns such
            as `en-*`, or None for all available directions.
        data: the data folder that was decoded, if known.
        failures: receives the lines.

    Raises:
        UserError: invalid specs or directions.
    """
    if not specs:
        raise UserError("`NAME=DIR`, or --hyp and --ref, must be given; all are missing")
    return [
        _read_system(name, folders, directions, data, failures)
        for name, folders in _named(specs).items()
    ]


def _read_system(
    name: str,
    folders: Sequence[Path],
    directions: str | None,
    data: DataFolder | None,
    failures: list[str],
) -> SystemTexts:
    places = _places(name, folders, failures)
    present = sorted(places)
    chosen = _wanted(directions, data, present) if present else []
    if present and not chosen:
        failures.append(f"{name}: none of {', '.join(present)} matches {directions}")
    texts, perplexities = {}, {}
    for direction in chosen:
        folder = places.get(direction, folders[0])
        try:
            texts[direction] = read_texts(folder, direction, data)
        except UserError as error:
            failures.append(f"{name} {direction}: {error}")
            continue
        perplexity = summary_of(folder, direction).get("perplexity")
        if perplexity is not None:
            perplexities[direction] = perplexity
    hows = {str(folder): read_how(folder) or {} for folder in folders}
    forms = [form_of(how.get("form", {}), f"{folder}/{HOW}") for folder, how in hows.items()]
    known = {folder: how for folder, how in hows.items() if how}
    provenance = known if len(folders) > 1 else hows[str(folders[0])]
    lowercased = any(form.casing == "lowercased" for form in forms)
    return SystemTexts(name, texts, provenance, perplexities, lowercased)


def _places(name: str, folders: Iterable[Path], failures: list[str]) -> dict[str, Path]:
    """The folder of each direction of a system.

    Raises:
        UserError: two folders have the same direction.
    """
    places: dict[str, Path] = {}
    for folder in folders:
        try:
            present = directions_of(folder)
        except UserError as error:
            failures.append(f"{name}: {error}")
            continue
        for direction in present:
            first = places.setdefault(direction, folder)
            if first is not folder:
                raise UserError(
                    f"`NAME=DIR` must give each direction of a system once; {direction} of {name} "
                    f"is in {first} and in {folder}"
                )
    return places


def _named(specs: Iterable[str]) -> dict[str, list[Path]]:
    folders: dict[str, list[Path]] = {}
    for text in specs:
        name, folder = _divided(text)
        if not (name and folder):
            raise UserError(f"`NAME=DIR` must name a system and its folder; it is {text}")
        check_titles([name], "`NAME=DIR`")
        if not Path(folder).is_dir():
            raise UserError(f"`NAME=DIR` must name a folder; {folder} is not")
        folders.setdefault(name, []).append(Path(folder))
    return folders


def named_folders(specs: Sequence[str]) -> dict[str, Path]:
    """The folder of each `NAME=DIR`, by name.

    Raises:
        UserError: no specs, an invalid spec, or a name with two folders.
    """
    if not specs:
        raise UserError("`NAME=DIR` must be given; it is missing")
    named = _named(specs)
    if several := [name for name, folders in named.items() if len(folders) > 1]:
        raise UserError(f"`NAME=DIR` must name each system once; {several[0]} occurs twice")
    return {name: folders[0] for name, folders in named.items()}


def _divided(text: str) -> tuple[str, str]:
    """Name and folder; as both may contain ``=``, split at the first one before a folder."""
    words = text.split("=")
    cuts = [("=".join(words[:cut]), "=".join(words[cut:])) for cut in range(1, len(words))]
    existing = (cut for cut in cuts if cut[1] and Path(cut[1]).is_dir())
    return next(existing, cuts[0] if cuts else (text, ""))


def _wanted(directions: str | None, data: DataFolder | None, present: list[str]) -> list[str]:
    if directions is None:
        return present
    if "*" in directions:
        return list(matching(directions, present))
    if data is not None:
        return list(data.select(directions))
    if directions in ("all", "supervised", "zero-shot"):
        raise UserError(f"`--directions` must be a list without --data; it is {directions}")
    return ["-".join(languages_of(direction)) for direction in directions.split(",")]


def single_system(
    hyp: Path | None,
    ref: Path | None,
    src: Path | None,
    source_lang: str | None,
    target_lang: str | None,
) -> SystemTexts:
    """A system with one direction, from single files, named after the hypotheses' file.

    Raises:
        UserError: a file or language is missing, or the files do not match.
    """
    needed = {"hyp": hyp, "ref": ref, "source-lang": source_lang, "target-lang": target_lang}
    for option, value in needed.items():
        if not value:
            raise UserError(f"`--{option}` must be given with --hyp and --ref; it is missing")
    assert hyp is not None and ref is not None
    for option, path in (("hyp", hyp), ("ref", ref), ("src", src)):
        if path is not None and not path.is_file():
            raise UserError(f"`--{option}` must be a text file; {path} is not")
    direction = f"{source_lang}-{target_lang}"
    languages_of(direction, "--source-lang and --target-lang")
    sources = tuple(read_lines(src)) if src else None
    texts = Texts(direction, sources, tuple(read_lines(hyp)), tuple(read_lines(ref)))
    check_counts(texts)
    return SystemTexts(hyp.stem, {direction: texts})


def in_order(systems: list[SystemTexts], data: DataFolder | None) -> list[str]:
    """All directions of the systems, in the data folder's order, then others, sorted."""
    present = {direction for system in systems for direction in system.texts}
    ordered = [
        direction for direction in (data.test_directions if data else ()) if direction in present
    ]
    return ordered + sorted(present.difference(ordered))


def same_references(systems: Sequence[SystemTexts], failures: list[str]) -> list[SystemTexts]:
    """The systems without directions whose references differ from those of earlier systems.

    Scores against different references are not comparable; each such direction is reported in
    `failures`.
    """
    first: dict[str, tuple[str, Texts]] = {}
    result = []
    for system in systems:
        kept = {}
        for direction, texts in system.texts.items():
            name, first_texts = first.setdefault(direction, (system.name, texts))
            if first_texts.references == texts.references:
                kept[direction] = texts
            else:
                line = f"`{direction}.ref` must equal that of {name}; it differs"
                failures.append(f"{system.name} {direction}: {line}")
        result.append(replace(system, texts=kept))
    return result


def parallel_directions(systems: Sequence[SystemTexts]) -> frozenset[str]:
    """Directions that share a side with another direction, line by line."""
    by_text: dict[tuple[str, ...], set[str]] = {}
    for system in systems:
        for direction, texts in system.texts.items():
            for side in (texts.sources, texts.references):
                if side is not None:
                    by_text.setdefault(side, set()).add(direction)
    return frozenset().union(
        *(directions for directions in by_text.values() if len(directions) > 1)
    )
