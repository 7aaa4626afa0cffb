"""The languages of tables and translation memories, by name, first line or selection."""

from __future__ import annotations

import re
from itertools import islice, pairwise, zip_longest
from pathlib import Path, PurePosixPath

from tdo_plugin.corpora.rows.readers.lines import read_lines
from tdo_plugin.corpora.rows.readers.tmx import languages_of
from tdo_plugin.errors import UserError
from tdo_plugin.metrics.language_id.codes import ISO_639, canonical
from tdo_plugin.start.recognised_text import Pair, Selection, Text
from tdo_plugin.start.text_file_names import TextFile, split_of

_CODES = re.compile(r"(?<![A-Za-z0-9])[A-Za-z]{2,3}(?:[-_][A-Za-z]{2,3})+(?![A-Za-z0-9])")


def table_text(file: TextFile, selection: Selection) -> Text:
    """Return a table or translation memory as a text.

    Raises:
        UserError: its languages are ambiguous, or it has neither two columns nor a header.
    """
    name, path, parts = file.name, file.path, file.parsed
    in_name = _pair_of(parts.stem)
    pair = in_name or selection.one_pair()
    split = split_of(parts.stem)
    if parts.form == "tmx":
        languages = _of_memory(name, path, pair, selection)
        return Text(parts.stem, split, dict.fromkeys(languages, path), "tmx")
    first, second = [*islice(read_lines(path, "utf-8"), 2), "", ""][:2]
    columns = [cell.strip() for cell in first.split("\t")]
    # If the name has a pair, the first line is no header, even if its words look like codes.
    # A column `id` is Indonesian only if it does not number the rows.
    named = [
        column
        for column, below in zip_longest(columns, second.split("\t")[: len(columns)], fillvalue="")
        if (
            column in in_name
            if in_name
            else _is_known(column) and not (column == "id" and below.strip().isdigit())
        )
    ]
    if len(named) > 1:
        return Text(parts.stem, split, dict.fromkeys(named, path), "multiway-tsv")
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


def _of_memory(name: str, path: Path, pair: Pair | None, selection: Selection) -> tuple[str, ...]:
    """Return a translation memory's languages: from its name, `--langs`, or its only two."""
    if pair is not None:
        return pair
    languages = tuple(sorted({code.partition("-")[0] for code in languages_of(path)}))
    chosen = tuple(code for code in languages if code in selection.languages) or languages
    if len(chosen) != 2:
        raise UserError(
            f"`--langs` must name the two languages to take of {name}; it has "
            f"{', '.join(languages) or 'none'}"
        )
    return chosen
