"""Recognise parallel text by file names.

    corpus.de, corpus.en             names that differ only in the language; any number of languages
    Europarl.de-en.de, ....de-en.en  named as by OPUS; also in a zip or tar archive
    train-parts/X-deu-eng.deu        named as by mtdata
    de-en.tsv, memory.tmx            a table or a translation memory
    train.de, dev/x.de, test_2016.de train, valid or test by a word in the file or folder name

Files may be compressed with gzip. Unused files are listed with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from tdo_plugin.data.textnames import enumerated, fit_code
from tdo_plugin.errors import UserError
from tdo_plugin.metrics.language_id.language_names import language_name
from tdo_plugin.start.recognised_text import Found, Pair, Selection, Text
from tdo_plugin.start.table_languages import texts_of
from tdo_plugin.start.text_file_names import SIDES, TextFile, parse_name, split_of

# mtdata's folders of parts; files beside such a folder may contain the same text
_PARTS = ("train-parts", "tests")
_STATE = re.compile(r"(?i)filtered|clean|dedup")  # in names of text derived from other text
# Endings of other files that are, or could be, codes of languages: bak is also Bashkir.
COMMON_ENDINGS = frozenset(
    [
        "bak",
        "css",
        "dat",
        "man",
        "map",
        "new",
        "old",
        "org",
        "out",
        "sav",
        "srt",
        "swp",
        "tmp",
        "vtt",
    ]
)
NO_TEXT = "not the name of a text"
ALONE = "no file of another language beside it"


def recognise(
    places: Sequence[Path], files: Iterable[tuple[str, Path]], selection: Selection
) -> Found:
    """Return the texts of folders and files.

    Args:
        places: the folders and files, for error messages.
        files: name and path of each file.
        selection: the user's selection.

    Raises:
        UserError: no text was found, or file names are ambiguous.
    """
    found = Found()
    texts = [*_texts(files, selection, found)]
    _check_languages(texts, selection)
    for text in texts:
        files_of = {
            language: path
            for language, path in text.files.items()
            if not selection.languages or language in selection.languages
        }
        if len(files_of) < 2:
            found.unused[text.name] = f"`--langs` leaves {', '.join(files_of) or 'none'}"
        else:
            found.texts.append(replace(text, files=files_of))
    _drop_merged(found)
    if not found.texts:
        seen = enumerated([*found.unused]) or "no files"
        raise UserError(
            f"`TEXT` must hold parallel text, such as corpus.de and corpus.en, de-en.tsv or an "
            f"archive of OPUS; {' '.join(map(str, places))} has {seen}"
        )
    _check_states(found.texts)
    _check_repeated(found.texts)
    return found


def trained_pairs(found: Found, selection: Selection) -> list[Pair]:
    """Return the selected pairs that have training text, in alphabetical order.

    Raises:
        UserError: `--pairs` names a pair that the text does not have, or there is no training text.
    """
    training = [text for text in found.texts if text.split in (None, "train")]
    pairs = sorted({pair for text in training for pair in text.pairs()})
    if not pairs:
        raise UserError(
            "`TEXT` must hold text to train on; it has only "
            f"{enumerated([text.name for text in found.texts])}"
        )
    names = ", ".join("-".join(pair) for pair in pairs)
    for pattern in selection.pairs:
        if not any(replace(selection, pairs=(pattern,)).trains(pair) for pair in pairs):
            raise UserError(f"`--pairs` must name pairs of the text, {names}; it has {pattern}")
    return [pair for pair in pairs if selection.trains(pair)]


# ------------------------------------------------------------------ files


def _texts(files: Iterable[tuple[str, Path]], selection: Selection, found: Found) -> Iterator[Text]:
    """Yield the selected texts sorted by name; unused files are recorded in `found`."""
    groups: dict[str, list[TextFile]] = {}
    for name, path in files:
        parsed = parse_name(name)
        if parsed is not None and parsed.ending in COMMON_ENDINGS:
            if not selection.languages:
                raise UserError(
                    f"`--langs` must name the languages to use: {name} may be text in the language "
                    f"{language_name(parsed.ending)}, or something else"
                )
            if parsed.ending not in selection.languages:
                parsed = None
        if parsed is None:
            found.unused[name] = NO_TEXT
        else:
            groups.setdefault(parsed.stem, []).append(TextFile(name, path, parsed))
    _check_corpora(sorted(groups), selection)
    for stem, group in sorted(groups.items()):
        tables = [file for file in group if file.parsed.form != "lines"]
        lines = [file for file in group if file.parsed.form == "lines"]
        if len(lines) == 1:
            found.unused[lines.pop().name] = ALONE
        if not (tables or lines):
            continue
        if not selection.takes(stem):
            found.unused[stem] = "not in `--corpora`"
            continue
        if tables and len(tables + lines) > 1:
            raise _repeated(*tables, *lines)
        if tables:
            yield from texts_of(tables[0], selection, found.unused)
        elif (text := _lines(stem, lines, selection, found)) is not None:
            yield text


def _lines(stem: str, files: Iterable[TextFile], selection: Selection, found: Found) -> Text | None:
    """Return a text with one file per language, or with a source and a target file."""
    files = [*files]
    sides = [file for file in files if file.parsed.ending in SIDES]
    by_language: dict[str, TextFile] = {}
    for file in files:
        if sides and file not in sides:  # for example an .id file with the languages of each line
            found.unused[file.name] = "neither of the sides that lie beside it"
            continue
        earlier = by_language.setdefault(_language(file, selection), file)
        if earlier is not file:
            raise _repeated(earlier, file)
    if len(by_language) > 1:
        paths = {language: file.path for language, file in by_language.items()}
        return Text(stem, split_of(stem), paths)
    found.unused |= {file.name: ALONE for file in by_language.values()}
    return None


def _repeated(first: TextFile, second: TextFile, *_: TextFile) -> UserError:
    return UserError(f"`TEXT` must hold a text once; it has {first.name} and {second.name}")


def _language(file: TextFile, selection: Selection) -> str:
    ending = file.parsed.ending
    if ending not in SIDES:
        return fit_code(ending) or ending
    pair = selection.one_pair()
    if pair is None:
        raise UserError(
            f"`--pairs` must name the languages of {file.name}, as --pairs de-en, where src is de; "
            f"it is {','.join(selection.pairs) or 'not given'}"
        )
    return pair[SIDES[ending]]


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


def _check_corpora(names: Sequence[str], selection: Selection) -> None:
    for pattern in selection.corpora:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise UserError(
                f"`--corpora` must name texts of the folder, {enumerated(names)}; it has {pattern}"
            )


def _check_languages(texts: Iterable[Text], selection: Selection) -> None:
    known = sorted({language for text in texts for language in text.files})
    for language in selection.languages:
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
