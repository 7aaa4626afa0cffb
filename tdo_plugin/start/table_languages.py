"""The languages of tables and translation memories, by name, first line or selection."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import combinations, islice, pairwise, zip_longest
from pathlib import PurePosixPath

from tdo_compat.settings import shown
from tdo_plugin.corpora.rows.readers.lines import read_lines
from tdo_plugin.corpora.rows.readers.tmx import languages_of
from tdo_plugin.errors import UserError
from tdo_plugin.metrics.language_id.codes import ISO_639, canonical
from tdo_plugin.metrics.language_id.language_names import code_of
from tdo_plugin.start.recognised_text import Pair, Selection, Text
from tdo_plugin.start.text_file_names import SIDES, TextFile, split_of

_CODE = re.compile(r"[a-z]{2,8}(-[a-z0-9]{1,8}){0,3}")
_CHINESE = {"cn": "hans", "sg": "hans", "tw": "hant", "hk": "hant", "mo": "hant"}
_CODES = re.compile(r"(?<![A-Za-z0-9])[A-Za-z]{2,3}(?:[-_][A-Za-z]{2,3})+(?![A-Za-z0-9])")


def texts_of(file: TextFile, selection: Selection, unused: dict[str, str]) -> list[Text]:
    """Return the texts of a table, or of each pair of a translation memory.

    Args:
        file: the table or memory.
        selection: the user's selection.
        unused: gets what is not used of a memory, with the reason.

    Raises:
        UserError: its languages are ambiguous, or it has neither two columns nor a header.
    """
    in_name = _pair_of(file.parsed.stem)
    if file.parsed.form == "tmx":
        return _of_memory(file, in_name or selection.one_pair(), unused)
    return [_of_table(file, in_name, selection, unused)]


def _of_table(
    file: TextFile, in_name: Pair | None, selection: Selection, unused: dict[str, str]
) -> Text:
    name, path, parts = file.name, file.path, file.parsed
    pair = in_name or selection.one_pair()
    split = split_of(parts.stem)
    first, second = [*islice(read_lines(path, "utf-8"), 2), "", ""][:2]
    columns = [cell.strip() for cell in first.split("\t")]
    if in_name and {*in_name} == {column.lower() for column in columns} != {*columns}:
        raise UserError(
            f"`{name}` must have its codes as in its name in the first line; it has {first}"
        )
    titles: dict[str, str] = {}
    for column, below in zip_longest(columns, second.split("\t")[: len(columns)], fillvalue=""):
        language = _language_of(column, below, in_name, pair)
        if language in titles:
            raise UserError(
                f"`{name}` must have a language once in its first line; it has {first[:80]}"
            )
        if language:
            titles[language] = column
    if len(titles) > 1:
        for column in filter(None, columns):
            if column not in titles.values():
                unused[f"the column {shown(column)} of {name}"] = "that is no code such as en"
        return Text(parts.stem, split, dict.fromkeys(titles, path), "multiway-tsv", titles=titles)
    if len(columns) != 2:
        raise UserError(
            f"`{name}` must have two columns, or a first line with the languages' codes; it has "
            f"{len(columns)} columns and begins with {columns[0][:40]!r} (`--corpora` takes other "
            "texts alone)"
        )
    if pair is None:
        raise UserError(
            f"`--pairs` must name the languages of {name}, in the order of its columns, as "
            f"--pairs de-en; it is {','.join(selection.pairs) or 'not given'}"
        )
    return Text(parts.stem, split, dict.fromkeys(pair, path), "tsv")


def _language_of(title: str, below: str, in_name: Pair | None, pair: Pair | None) -> str | None:
    """Return the language that the title of a column means; None if it is no title.

    Args:
        title: the cell of the first line.
        below: the cell of the second.
        in_name: the pair in the file's name. If there is one, other words are no titles, even if
            they look like codes.
        pair: the pair of the text, for titles such as `source`.
    """
    if pair and title.lower() in SIDES:
        return pair[SIDES[title.lower()]]
    if in_name:
        named = code_of(title)
        return next((code for code in in_name if title == code or named == canonical(code)), None)
    # a column `id` is Indonesian only if it does not number the rows
    if _is_known(title) and not (title == "id" and below.strip().isdigit()):
        return title
    return code_of(title)


def _pair_of(stem: str) -> Pair | None:
    """Return the pair of known languages in a name, in order; None if ambiguous (`pt-br-en`)."""
    pairs = {
        (first, second)
        for codes in _CODES.findall(PurePosixPath(stem).name)
        for first, second in pairwise(re.split("[-_]", codes))
        if _is_known(first) and _is_known(second) and first != second
    }
    return pairs.pop() if len(pairs) == 1 else None


def _is_known(code: str) -> bool:
    return bool(re.fullmatch(r"[a-z]{2,3}(_[A-Za-z]+)?", code)) and canonical(code) in ISO_639


def _of_memory(file: TextFile, pair: Pair | None, unused: dict[str, str]) -> list[Text]:
    """Return a text for each pair of languages that units have, or for the given pair alone."""
    name, path, stem = file.name, file.path, file.parsed.stem
    split, units = split_of(stem), _known_codes(languages_of(path), name, unused)
    names = _language_names(units)
    if few := sum(count for unit, count in units.items() if len(unit) < 2):
        unused[f"{few:,} units of {name}"] = "with fewer than two languages"
    if pair is not None:
        unused |= _beside(pair, names, name)
        return [Text(stem, split, dict.fromkeys(pair, path), "tmx")]
    pairs = {
        pair for unit in units for pair in combinations(sorted({names[code] for code in unit}), 2)
    }
    if not pairs:
        found = ", ".join(sorted(names.values())) or "none"
        raise UserError(f"`{name}` must have units in two languages; it has {found}")
    of_base: dict[str, set[str]] = {}
    for code, named in names.items():
        of_base.setdefault(code.partition("-")[0], set()).add(named)
    apart = {named for several in of_base.values() if len(several) > 1 for named in several}
    return [
        Text(
            stem if len(pairs) == 1 else f"{stem}.{'-'.join(pair)}",
            split,
            dict.fromkeys(pair, path),
            "tmx",
            tuple(sorted(apart & {*pair})),
        )
        for pair in sorted(pairs)
    ]


def _beside(pair: Pair, names: Mapping[str, str], file: str) -> Iterator[tuple[str, str]]:
    """Yield the languages of a memory that are not used beside a pair, with the reason."""
    variants: dict[str, set[str]] = {code: set() for code in pair}
    for code, name in names.items():
        of = [of for of in pair if f"{code}-".startswith(f"{of.lower().replace('_', '-')}-")]
        if of:
            variants[of[0]].add(name)
        else:
            yield f"{name} of {file}", f"the pair is {'-'.join(pair)}"
    for code, several in variants.items():
        if len(several) > 1:
            yield (
                f"further variants of {code} of {file}",
                "a unit has several, of which the first counts",
            )


def _known_codes(
    units: Mapping[frozenset[str], int], file: str, unused: dict[str, str]
) -> Counter[frozenset[str]]:
    """Return the units without what is no code of a language, which would become a file's name."""
    known: Counter[frozenset[str]] = Counter()
    for unit, count in units.items():
        known[frozenset(filter(_CODE.fullmatch, unit))] += count
    for code in sorted({code for unit in units for code in unit if not _CODE.fullmatch(code)}):
        unused[f"the language {shown(code)} of {file}"] = "that is no code such as en or pt-BR"
    return known


def _language_names(units: Mapping[frozenset[str], int]) -> dict[str, str]:
    """Return the name of each language code of a memory's units.

    The variants of a language, such as en-US and en-GB, are named en, unless a tenth of its units
    has two of them, or they are in different scripts: sr-Latn and sr-Cyrl are sr_Latn and sr_Cyrl,
    zh-CN and zh-TW are zh_CN and zh_TW.
    """
    variants: dict[str, set[str]] = {}
    having: Counter[str] = Counter()
    several: Counter[str] = Counter()
    for unit, number in units.items():
        for base, count in Counter(code.partition("-")[0] for code in unit).items():
            having[base] += number
            several[base] += number * (count > 1)
        for code in unit:
            variants.setdefault(code.partition("-")[0], set()).add(code)
    names = {}
    for base, codes in variants.items():
        scripts = set(map(_script, codes))
        for code in codes:
            own = several[base] * 10 > having[base] or len(scripts) > 1
            names[code] = "_".join([base, *map(_cased, code.split("-")[1:])]) if own else base
    return names


def _script(code: str) -> str:
    """The script that a code has or implies; empty if it does neither."""
    base, *parts = code.split("-")
    stated = next((part for part in parts if len(part) == 4), "")
    implied = next((part for part in parts if base == "zh" and part in _CHINESE), "")
    return stated or _CHINESE.get(implied, "")


def _cased(part: str) -> str:
    """A script as Latn, a region as BR."""
    return part.title() if len(part) == 4 else part.upper()
