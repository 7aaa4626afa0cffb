"""Describes a user's parallel text by the names of the files in a folder.

    train.de-en.de[.gz]  train.de-en.en[.gz]     one file per side
    train.de[.gz]        train.en[.gz]           parallel over all languages
    train.tsv[.gz]                               parallel over all, with a header of language codes

and the same for valid and test; other files are not used. de-en and en-de are the same pair, named
as in train; if train has a pair several times, the texts are concatenated.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from tdo_plugin.corpora.description import SPLITS, Corpus
from tdo_plugin.corpora.description.parsing import parse
from tdo_plugin.corpora.rows.readers.lines import read_lines
from tdo_plugin.data.textnames import (
    fit_code,
    is_split_file,
    is_table,
    refuse_unfit,
    text_files,
    text_name,
    unsplit,
    unsplit_advice,
)
from tdo_plugin.errors import UserError
from tdo_plugin.names import LANGUAGE
from tdo_plugin.runtime.files import sha256

CLEAN = {
    "train": ("empty", "unreadable", "duplicates", "held-out-pairs"),
    "valid": ("empty", "held-out-pairs"),
    "test": ("empty",),
}
# of the record of a folder, in place of a corpus' title and licence
OWN_TITLE, OWN_LICENCE = "text of ", "one's own"
NOTHING = {split: ("empty",) for split in SPLITS}


@dataclass(frozen=True)
class _Source:
    """Text of one split that is parallel over some languages."""

    split: str
    languages: tuple[str, ...]
    files: dict[str, str]  # language -> file name; the same for all in a table
    form: str
    pair: bool = False


def describe(
    folder: Path, centre: str | None, segmentation: dict[str, Any], clean: bool = True
) -> tuple[Corpus, dict[str, Path]]:
    """A corpus of the files in a folder.

    Args:
        folder: of text, see above.
        centre: the language in every training pair of text that is parallel over all languages;
            None: all pairs are trained.
        segmentation: of the description.
        clean: also leave out rows that are unreadable, repeated or in another split.

    Returns:
        The description, and the file of each of its archives.

    Raises:
        UserError: the folder is missing, a language has no training text, a side is missing, a
            pair has two test sets, or the text lacks the centre language.
    """
    if not folder.is_dir():
        raise UserError(f"`--from` must be a folder of parallel text; {folder} is not one")
    sources = sorted(_sources(folder), key=lambda source: SPLITS.index(source.split))
    if not any(source.split == "train" for source in sources):
        text = unsplit(sorted(folder.iterdir()))
        advice = f"; {unsplit_advice(text)}" if text else ""
        raise UserError(
            f"`--from` must have train.X-Y.X and train.X-Y.Y, or train.X for each language, or "
            f"train.tsv; {folder} does not{advice}"
        )
    languages = [*dict.fromkeys(language for source in sources for language in source.languages)]
    if centre is not None:
        if centre not in languages:
            raise UserError(f"`--hub` must be one of {', '.join(languages)}; it is {centre}")
        languages = [centre, *(language for language in languages if language != centre)]
    called: dict[frozenset[str], Sequence[str]] = {}
    sets = [entry for source in sources for entry in _sets(source, centre, languages, called)]
    of = {
        split: Counter(name for entry in sets if entry["split"] == split for name in entry["pairs"])
        for split in SPLITS
    }
    name = folder.resolve().name
    paths = {file: folder / file for source in sources for file in source.files.values()}
    _check(languages, of, paths)
    document = {
        "title": f"{OWN_TITLE}{name}",
        "paper": "none",
        "licence": OWN_LICENCE,
        "cite": "none",
        "notes": [],
        "languages": languages,
        "train": [*of["train"]],
        "test": [*of["test"]],
        "archives": {
            file: {"urls": [], "sha256": sha256(path), "source": "a folder of one's own"}
            for file, path in paths.items()
        },
        "sets": sets,
        "clean": {
            split: [{"rule": rule} for rule in rules]
            for split, rules in (CLEAN if clean else NOTHING).items()
        },
        "form": {"casing": "cased", "tokenization": "none"},
        "segmentation": segmentation,
    }
    return parse(name, document), paths


def _check(
    languages: Iterable[str], of: Mapping[str, Counter[str]], paths: Mapping[str, Path]
) -> None:
    """Refuse text that cannot be prepared, or is ambiguous."""
    for split in ("valid", "test"):
        for pair, count in of[split].items():
            if count > 1:
                raise UserError(
                    f"`--from` must have one {split} set of each pair; it has {count} of {pair}"
                )
    trained = {language for pair in of["train"] for language in pair.split("-")}
    lacking = [language for language in languages if language not in trained]
    if lacking:
        raise UserError(
            f"`--from` must have training text of each language; {', '.join(lacking)} has none"
        )
    for file, path in paths.items():
        if not path.stat().st_size:
            raise UserError(f"`--from` must have text; {file} is empty")


def _sources(folder: Path) -> Iterator[_Source]:
    sides: dict[tuple[str, ...], dict[str, str]] = {}
    parallel: dict[str, dict[str, str]] = {}
    unfit: list[str] = []
    for path in text_files(folder, "--from"):
        file = path.name
        name = text_name(file.removesuffix(".gz"))
        if is_table(file):
            languages = _header(path)
            split = file.partition(".")[0]
            yield _Source(split, languages, dict.fromkeys(languages, file), "multiway-tsv")
        elif name is None:
            unfit += [file] if is_split_file(file) else []
        else:
            where = parallel.setdefault(name.split, {})
            if name.pair:
                where = sides.setdefault((name.split, *name.pair), {})
            if name.language in where:
                raise UserError(
                    f"`--from` must have each file once; it has {where[name.language]} and {file}"
                )
            where[name.language] = file
    refuse_unfit(unfit, "--from")
    for (split, *pair), files in sides.items():
        for language in pair:
            if language not in files:
                missing = f"{split}.{'-'.join(pair)}.{language}"
                raise UserError(f"`--from` must have both sides; {folder} has no {missing}")
        yield _Source(split, tuple(pair), files, "lines", pair=True)
    for split, files in parallel.items():
        yield _Source(split, tuple(files), files, "lines")


def _header(path: Path) -> tuple[str, ...]:
    columns = [*map(str.strip, next(read_lines(path, "utf-8"), "").split("\t"))]
    languages = tuple(code for code in columns if re.fullmatch(LANGUAGE, code))
    for column in columns:
        if column and column not in languages and (code := fit_code(column)):
            raise UserError(
                f"`{path}` must begin with a line of language codes of letters, digits and _; it "
                f"has {column[:40]!r}, a valid code would be {code[:40]}"
            )
    if len(languages) < 2:
        raise UserError(
            f"`{path}` must begin with a line of language codes separated by tabs; it begins "
            f"with {columns[0][:40]!r}"
        )
    return languages


def _sets(
    source: _Source,
    centre: str | None,
    order: Sequence[str],
    called: dict[frozenset[str], Sequence[str]],
) -> Iterator[dict[str, Any]]:
    """One set for each pair; `called` has the names of pairs that occurred before."""
    for languages in _pairs(source, centre, order):
        pair = called.setdefault(frozenset(languages), languages)
        archives = [source.files[language] for language in pair]
        table = source.form == "multiway-tsv"
        yield {
            "split": source.split,
            "pairs": ["-".join(pair)],
            "archive": archives[0] if table else archives,
            "format": source.form,
        }


def _pairs(source: _Source, centre: str | None, order: Sequence[str]) -> Iterable[Sequence[str]]:
    if source.pair:
        return [source.languages]
    if centre and centre in source.languages and source.split != "test":
        return [(centre, language) for language in source.languages if language != centre]
    return combinations(sorted(source.languages, key=order.index), 2)
