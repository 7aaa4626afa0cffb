"""Recognise the parallel text in a folder by file names.

    corpus.de, corpus.en             names that differ only in the language; any number of languages
    Europarl.de-en.de, ....de-en.en  named as by OPUS; also in a zip or tar archive
    train-parts/X-deu-eng.deu        named as by mtdata
    de-en.tsv, memory.tmx            a table or a translation memory
    train.de, dev/x.de, test_2016.de train, valid or test by a word in the file or folder name

Files may be compressed with gzip. Unused files are listed with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from itertools import combinations, islice, pairwise, zip_longest
from pathlib import Path, PurePosixPath

from tdo_plugin.corpora.rows.readers.lines import read_lines
from tdo_plugin.corpora.rows.readers.tmx import languages_of
from tdo_plugin.data.textnames import ending_language, enumerated, fit_code
from tdo_plugin.errors import UserError
from tdo_plugin.metrics.language_id.codes import ISO_639, canonical

Pair = tuple[str, str]

_WORDS = {
    "train": "train training",
    "valid": "valid validation val dev devel development newsdev tune",
    "test": "test tests testing devtest newstest",
}
_SPLIT_OF = {word: split for split, words in _WORDS.items() for word in words.split()}
# mtdata's folders of parts; files beside such a folder may contain the same text
_PARTS = ("train-parts", "tests")
_FORMS = {".tsv": "tsv", ".tmx": "tmx"}
_SIDES = {"src": 0, "tgt": 1, "trg": 1}  # suffixes of a side instead of a language
_CODES = re.compile(r"(?<![A-Za-z0-9])[A-Za-z]{2,3}(?:[-_][A-Za-z]{2,3})+(?![A-Za-z0-9])")
_STATE = re.compile(r"(?i)filtered|clean|dedup")  # in names of text derived from other text
NO_TEXT = "not the name of a text"
ALONE = "no file of another language beside it"


@dataclass(frozen=True)
class Text:
    """A text in several languages, aligned line by line.

    Attributes:
        name: path below the folder, without the language.
        split: train, valid or test; None if neither the name nor a folder tells.
        files: the file of each language; the same file for all languages of a table.
        form: `lines`, or the table format: `tsv`, `multiway-tsv` or `tmx`.
    """

    name: str
    split: str | None
    files: Mapping[str, Path]
    form: str = "lines"

    @property
    def languages(self) -> tuple[str, ...]:
        """Return the languages in alphabetical order."""
        return tuple(sorted(self.files))

    def pairs(self) -> list[Pair]:
        """Return all pairs of the text's languages."""
        return list(combinations(self.languages, 2))


@dataclass(frozen=True)
class Selection:
    """The user's selection of text in a folder (`--langs`, `--pairs`, `--corpora`).

    Attributes:
        languages: languages to use; () for all.
        pairs: patterns of trained pairs, such as `de-en` or `en-*`, in either order.
        corpora: patterns of names of texts to use; () for all.
    """

    languages: tuple[str, ...] = ()
    pairs: tuple[str, ...] = ()
    corpora: tuple[str, ...] = ()

    def takes(self, name: str) -> bool:
        """Whether a text with this name is selected."""
        return not self.corpora or any(fnmatchcase(name, pattern) for pattern in self.corpora)

    def one_pair(self) -> Pair | None:
        """Return the pair if `--pairs` names exactly one pair without a pattern, else None."""
        match = re.fullmatch(r"(\w+)-(\w+)", self.pairs[0]) if len(self.pairs) == 1 else None
        return (match[1], match[2]) if match else None

    def trains(self, pair: Pair) -> bool:
        """Whether a pair is selected for training."""
        names = ("-".join(pair), "-".join(pair[::-1]))
        return not self.pairs or any(
            fnmatchcase(name, pattern) for name in names for pattern in self.pairs
        )


@dataclass
class Found:
    """The texts found in a folder.

    Attributes:
        texts: texts sorted by name.
        unused: name of a file or text -> reason why it is not used.
    """

    texts: list[Text] = field(default_factory=list)
    unused: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class _FileName:
    """A parsed file name; `stem` is the common part of the names of one text's files."""

    stem: str
    ending: str
    form: str


@dataclass(frozen=True)
class _File:
    """A file that may be text: its relative path, its path, its parsed name."""

    name: str
    path: Path
    parts: _FileName


def is_text(name: str) -> bool:
    """Whether a file may be parallel text, judged by its name."""
    return _taken_apart(name) is not None


def recognise(folder: Path, files: Iterable[tuple[str, Path]], wanted: Selection) -> Found:
    """Return the texts of a folder.

    Args:
        folder: the folder, for error messages.
        files: relative path and path of each file.
        wanted: the user's selection.

    Raises:
        UserError: no text was found, or file names are ambiguous.
    """
    found = Found()
    texts = [*_texts(files, wanted, found)]
    _check_languages(texts, wanted)
    for text in texts:
        files_of = {
            language: path
            for language, path in text.files.items()
            if not wanted.languages or language in wanted.languages
        }
        if len(files_of) < 2:
            found.unused[text.name] = f"`--langs` leaves {', '.join(files_of) or 'none'}"
        else:
            found.texts.append(replace(text, files=files_of))
    _drop_merged(found)
    if not found.texts:
        seen = enumerated([*found.unused]) or "no files"
        raise UserError(
            f"`FOLDER` must hold parallel text, such as corpus.de and corpus.en, de-en.tsv or an "
            f"archive of OPUS; {folder} has {seen}"
        )
    _check_states(found.texts)
    _check_repeated(found.texts)
    return found


def trained_pairs(found: Found, wanted: Selection) -> list[Pair]:
    """Return the selected pairs that have training text, in alphabetical order.

    Raises:
        UserError: `--pairs` names a pair that the text does not have, or there is no training text.
    """
    training = [text for text in found.texts if text.split in (None, "train")]
    pairs = sorted({pair for text in training for pair in text.pairs()})
    if not pairs:
        raise UserError(
            "`FOLDER` must hold text to train on; it has only "
            f"{enumerated([text.name for text in found.texts])}"
        )
    names = ", ".join("-".join(pair) for pair in pairs)
    for pattern in wanted.pairs:
        if not any(replace(wanted, pairs=(pattern,)).trains(pair) for pair in pairs):
            raise UserError(f"`--pairs` must name pairs of the text, {names}; it has {pattern}")
    return [pair for pair in pairs if wanted.trains(pair)]


# ------------------------------------------------------------------ files


def _taken_apart(name: str) -> _FileName | None:
    path = PurePosixPath(name.removesuffix(".gz"))
    if form := _FORMS.get(path.suffix.lower()):
        return _FileName(str(path.with_suffix("")), "", form)
    if path.suffix == ".txt":
        path = path.with_suffix("")
    ending = path.suffix[1:]
    if ending not in _SIDES and ending_language(ending) is None:
        return None
    return _FileName(str(path.with_suffix("")), ending, "lines")


def _split_of(name: str) -> str | None:
    """Return the split by a word in the file name, else in the name of the nearest folder."""
    for part in reversed(PurePosixPath(name).parts):
        for word in re.findall(r"[a-z]+", part.lower()):
            if word in _SPLIT_OF:
                return _SPLIT_OF[word]
    return None


def _texts(files: Iterable[tuple[str, Path]], wanted: Selection, found: Found) -> Iterator[Text]:
    """Yield the selected texts sorted by name; unused files are recorded in `found`."""
    groups: dict[str, list[_File]] = {}
    for name, path in files:
        parts = _taken_apart(name)
        if parts is None:
            found.unused[name] = NO_TEXT
        else:
            groups.setdefault(parts.stem, []).append(_File(name, path, parts))
    _check_corpora(sorted(groups), wanted)
    for stem, group in sorted(groups.items()):
        tables = [file for file in group if file.parts.form != "lines"]
        lines = [file for file in group if file.parts.form == "lines"]
        if len(lines) == 1:
            found.unused[lines.pop().name] = ALONE
        if not (tables or lines):
            continue
        if not wanted.takes(stem):
            found.unused[stem] = "not in `--corpora`"
            continue
        if tables and len(tables + lines) > 1:
            raise _repeated(*tables, *lines)
        text = _table(tables[0], wanted) if tables else _lines(stem, lines, wanted, found)
        if text is not None:
            yield text


def _lines(stem: str, files: Iterable[_File], wanted: Selection, found: Found) -> Text | None:
    """Return a text with one file per language, or with a source and a target file."""
    files = [*files]
    sides = [file for file in files if file.parts.ending in _SIDES]
    by_language: dict[str, _File] = {}
    for file in files:
        if sides and file not in sides:  # for example an .id file with the languages of each line
            found.unused[file.name] = "neither of the sides that lie beside it"
            continue
        earlier = by_language.setdefault(_language(file, wanted), file)
        if earlier is not file:
            raise _repeated(earlier, file)
    if len(by_language) > 1:
        paths = {language: file.path for language, file in by_language.items()}
        return Text(stem, _split_of(stem), paths)
    found.unused |= {file.name: ALONE for file in by_language.values()}
    return None


def _repeated(first: _File, second: _File, *_: _File) -> UserError:
    return UserError(f"`FOLDER` must hold a text once; it has {first.name} and {second.name}")


def _language(file: _File, wanted: Selection) -> str:
    ending = file.parts.ending
    if ending not in _SIDES:
        return fit_code(ending) or ending
    pair = wanted.one_pair()
    if pair is None:
        raise UserError(
            f"`--pairs` must name the languages of {file.name}, as --pairs de-en, where src is de; "
            f"it is {','.join(wanted.pairs) or 'not given'}"
        )
    return pair[_SIDES[ending]]


# ------------------------------------------------------------------ tables


def _table(file: _File, wanted: Selection) -> Text:
    name, path, parts = file.name, file.path, file.parts
    in_name = _pair_of(parts.stem)
    pair = in_name or wanted.one_pair()
    split = _split_of(parts.stem)
    if parts.form == "tmx":
        languages = _of_memory(name, path, pair, wanted)
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
            f"--pairs de-en; it is {','.join(wanted.pairs) or 'not given'}"
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


def _of_memory(name: str, path: Path, pair: Pair | None, wanted: Selection) -> tuple[str, ...]:
    """Return a translation memory's languages: from its name, `--langs`, or its only two."""
    if pair is not None:
        return pair
    languages = tuple(sorted({code.partition("-")[0] for code in languages_of(path)}))
    chosen = tuple(code for code in languages if code in wanted.languages) or languages
    if len(chosen) != 2:
        raise UserError(
            f"`--langs` must name the two languages to take of {name}; it has "
            f"{', '.join(languages) or 'none'}"
        )
    return chosen


# ------------------------------------------------------------------ which texts


def _drop_merged(found: Found) -> None:
    """Drop mtdata's parts if a merged file or a link contains the same text."""
    whole = [text for text in found.texts if PurePosixPath(text.name).parent.name not in _PARTS]
    for part in [text for text in found.texts if text not in whole]:
        folder = PurePosixPath(part.name).parent.parent
        for text in whole:
            beside = PurePosixPath(text.name).parent == folder
            merged = (text.split, text.languages) == (part.split, part.languages)
            if beside and (merged or _same_files(text, part)):
                found.texts.remove(part)
                found.unused[part.name] = f"a part of {text.name}"
                break


def _same_files(text: Text, part: Text) -> bool:
    return {path.resolve() for path in text.files.values()} == {
        path.resolve() for path in part.files.values()
    }


def _check_corpora(names: Sequence[str], wanted: Selection) -> None:
    for pattern in wanted.corpora:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise UserError(
                f"`--corpora` must name texts of the folder, {enumerated(names)}; it has {pattern}"
            )


def _check_languages(texts: Iterable[Text], wanted: Selection) -> None:
    known = sorted({language for text in texts for language in text.files})
    for language in wanted.languages:
        if known and language not in known:
            raise UserError(
                f"`--langs` must name languages of the text, {', '.join(known)}; it has {language}"
            )


def _check_states(texts: Iterable[Text]) -> None:
    """Refuse a text together with its filtered version, as in the folder of an OpusFilter run."""
    training = [text for text in texts if text.split in (None, "train")]
    by_languages: dict[tuple[str, ...], list[str]] = {}
    for text in training:
        by_languages.setdefault(text.languages, []).append(text.name)
    for languages, names in by_languages.items():
        filtered = [name for name in names if _STATE.search(PurePosixPath(name).name)]
        if filtered and len(filtered) < len(names):
            raise UserError(
                f"`--corpora` must say which text of {','.join(languages)} to take, as --corpora "
                f"{filtered[-1]}, since some may be filtered from others; there are "
                f"{enumerated(names)}"
            )


def _check_repeated(texts: Iterable[Text]) -> None:
    """Refuse two validation sets or two test sets for the same pair."""
    seen: dict[tuple[str, Pair], str] = {}
    for text in texts:
        if text.split not in ("valid", "test"):
            continue
        for pair in text.pairs():
            earlier = seen.setdefault((text.split, pair), text.name)
            if earlier != text.name:
                raise UserError(
                    f"`--corpora` must take one {text.split} set of {'-'.join(pair)}, named beside "
                    f"the other texts; there are {earlier} and {text.name}"
                )
