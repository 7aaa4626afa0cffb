"""Fills templates: an archive or set of a description for one pair or language."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tdo_plugin.corpora.description.schema import Archive, ConcreteSet, Deal, Member, Pair, Part
from tdo_plugin.corpora.description.wellformed import FORMATS, LANGUAGE_NAMES, PAIR_NAMES
from tdo_plugin.data.shapes import placeholders


def fill(value: Any, names: Mapping[str, str]) -> Any:
    """A template with its names filled in, also within lists and objects (including keys)."""
    if isinstance(value, str):
        return value.format_map(names)
    if isinstance(value, list):
        return [fill(item, names) for item in value]
    if isinstance(value, dict):
        return {fill(key, names): fill(item, names) for key, item in value.items()}
    return value


def pair_names(pair: Pair, codes: Mapping[str, str]) -> dict[str, str]:
    """The names that templates of a pair may contain."""
    (first, second), called = pair, [codes.get(language, language) for language in pair]
    values = (first, second, f"{first}-{second}", *called)
    return dict(zip(PAIR_NAMES, values, strict=True))


def language_names(language: str, codes: Mapping[str, str]) -> dict[str, str]:
    """The names that templates of a language may contain."""
    return dict(zip(LANGUAGE_NAMES, (language, codes.get(language, language)), strict=True))


def expand_archives(
    document: Mapping[str, Any], pairs: Sequence[Pair], whole: bool, mistakes: list[str]
) -> dict[str, Archive]:
    """Every archive by name: a template in the name stands for each pair or language.

    Args:
        document: the description.
        pairs: all pairs of its sets.
        whole: whether these are all pairs; variants may have fewer.
        mistakes: gets the problems.
    """
    codes = document.get("codes", {})
    families: dict[tuple[str, ...], dict[str, dict[str, str]]] = {
        PAIR_NAMES: {"-".join(pair): pair_names(pair, codes) for pair in pairs},
        LANGUAGE_NAMES: {code: language_names(code, codes) for code in document["languages"]},
        (): {"": {}},
    }
    archives: dict[str, Archive] = {}
    for key, entry in document["archives"].items():
        used = placeholders(key)
        family = next(names for names in families if not names or used & set(names))
        inside = [*entry["urls"], *entry.get("parts", [])]
        foreign = set().union(used, *map(placeholders, inside)) - {*family, "file"}
        if foreign:
            mistakes.append(f"archives.{key} must not use {', '.join(sorted(foreign))}")
            continue
        if whole:
            unknown = [which for which in entry.get("known", {}) if which not in families[family]]
            mistakes += [f"archives.{key}.known has {which}, but no archive" for which in unknown]
        for which, names in families[family].items():
            archive = _archive(fill(key, names), entry, names, entry.get("known", {}).get(which))
            archives[archive.name] = archive
    return archives


def _archive(
    name: str, entry: Mapping[str, Any], names: Mapping[str, str], size_and_sha256: list[Any] | None
) -> Archive:
    def addresses(file: str) -> tuple[str, ...]:
        return tuple(fill(entry["urls"], {**names, "file": file}))

    parts = tuple(Part(part, addresses(part)) for part in fill(entry.get("parts", []), names))
    size, sha256 = size_and_sha256 or (entry.get("bytes"), entry.get("sha256"))
    return Archive(
        name=name,
        urls=() if parts else addresses(name),
        bytes=size,
        sha256=sha256,
        md5=entry.get("md5"),
        source=entry["source"],
        parts=parts,
    )


def expand_set(
    where: str,
    entry: Mapping[str, Any],
    pairs: Sequence[Pair],
    codes: Mapping[str, str],
    mistakes: list[str],
) -> Iterator[ConcreteSet]:
    """The set for each of its pairs."""
    expected, _ = FORMATS[entry["format"]]
    archives = entry["archive"] if isinstance(entry["archive"], list) else [entry["archive"]]
    paths = entry.get("members", [""] * len(archives))
    if len(archives) == 1:
        archives = archives * len(paths)
    if len(archives) != len(paths) or len(paths) != expected:
        mistakes.append(f"{where} must have {expected} texts in the format {entry['format']}")
        return
    dealt = entry.get("deal")
    for number, pair in enumerate(pairs):
        names = pair_names(pair, codes)
        if dealt and dealt not in pair:
            mistakes.append(f"{where}.deal must be a language of each of its pairs; it is {dealt}")
            return
        yield ConcreteSet(
            split=entry["split"],
            pair=pair,
            codes=(names["src_code"], names["tgt_code"]),
            members=tuple(
                Member(fill(archive, names), fill(path, names))
                for archive, path in zip(archives, paths, strict=True)
            ),
            format=entry["format"],
            encoding=entry.get("encoding", "utf-8"),
            rows=entry.get("rows", "all"),
            options=fill(entry.get("options", {}), names),
            deal=Deal(pair.index(dealt), len(pairs), number) if dealt else None,
        )
