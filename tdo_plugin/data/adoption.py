"""Makes a data folder (see `databin.py`) from one that stock `fairseq-preprocess` made.

The binarised sets and dictionaries become hard links, or copies where the file system has none;
nothing is written to fairseq's folder. Segmented text and, unless the original text is given,
references come from the binarised sets.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tdo_compat.binarised import Side, check_side
from tdo_compat.digests import MARKS
from tdo_plugin.data.binarization import load
from tdo_plugin.data.databin import DataFolder, read_data_folder
from tdo_plugin.data.finished_folder import write_mark
from tdo_plugin.data.segmentation import (
    decoded,
    is_unknown_text,
    load_model,
    vocabulary_lines,
)
from tdo_plugin.data.textfolder import Pair, count_lines
from tdo_plugin.errors import UserError
from tdo_plugin.names import LANGUAGE, check_languages
from tdo_plugin.runtime.files import replaced_folder, write_text

if TYPE_CHECKING:
    from fairseq.data import Dictionary
    from sentencepiece import SentencePieceProcessor

_SET = re.compile(
    rf"((?:train|valid|test)\d*)\.({LANGUAGE})-({LANGUAGE})\.({LANGUAGE})\.(?:bin|idx)", re.ASCII
)
_PADDING = re.compile(r"madeupword\d+")  # entries that fairseq adds for --padding-factor


@dataclass(frozen=True)
class StockFolder:
    """The content of a folder of `fairseq-preprocess`.

    Attributes:
        root: the folder.
        languages: sorted, which is their order in fairseq without `--langs`.
        sets: split (`train`, `valid1`, ...) and pair of each binarised set.
    """

    root: Path
    languages: tuple[str, ...]
    sets: tuple[tuple[str, Pair], ...]

    def files(self) -> Iterator[Path]:
        """The files of its sets, and its dictionaries."""
        for split, pair in self.sets:
            for language in pair:
                prefix = f"{split}.{'-'.join(pair)}.{language}"
                yield from (self.root / f"{prefix}.{kind}" for kind in ("bin", "idx"))
        yield from map(self.dictionary, self.languages)

    def dictionary(self, language: str) -> Path:
        """The file of a language's dictionary."""
        return self.root / f"dict.{language}.txt"

    def directions(self, split: str) -> list[str]:
        """Both directions of every pair with a set of this split."""
        pairs = [pair for name, pair in self.sets if name == split]
        return list(dict.fromkeys("-".join(way) for pair in pairs for way in (pair, pair[::-1])))


@dataclass(frozen=True)
class Adopted:
    """What was made.

    Attributes:
        data: the data folder.
        missing: pieces of the SentencePiece model that the dictionary lacks.
        extra: entries of the dictionary that are text with characters unknown to the model.
        unknown: test sentences, both sides counted, with a piece that the dictionary lacks.
        tested: all test sentences, both sides counted.
    """

    data: DataFolder
    missing: int
    extra: int
    unknown: int
    tested: int


def read_stock_folder(root: Path) -> StockFolder:
    """The sets of a folder, whose names and dictionaries are checked.

    Raises:
        UserError: it is not such a folder, or one for several dictionaries.
    """
    if not root.is_dir():
        raise UserError(f"`--adopt` must be a folder of fairseq-preprocess; {root} is not a folder")
    if marks := [name for name in MARKS if (root / name).exists()]:
        raise UserError(
            f"`--adopt` must be a folder of fairseq-preprocess alone; {root} is tdo's own, with "
            f"{marks[0]}"
        )
    names = sorted(path.name for path in root.iterdir() if path.suffix in (".bin", ".idx"))
    parts = {name: _SET.fullmatch(name) for name in names}
    for name, part in parts.items():
        pair = part.group(2, 3) if part else ()
        # fairseq-preprocess --only-source writes train.en-None.en
        if part is None or len({*pair, "None"}) < 3 or part[4] not in pair:
            raise UserError(
                "`--adopt` must have sets of language pairs only, with names such as "
                f"train.en-de.en.bin; {root} has {name}"
            )
    sets = {(part[1], (part[2], part[3])) for part in parts.values() if part}
    languages = sorted({language for _, pair in sets for language in pair})
    folder = StockFolder(root, tuple(languages), tuple(sorted(sets)))
    if missing := [path for path in folder.files() if not path.is_file()]:
        raise UserError(
            "`--adopt` must have both sides of each set, and each language's dictionary; "
            f"{missing[0]} is missing"
        )
    if not folder.directions("train"):
        raise UserError(f"`--adopt` must have a training set, such as train.en-de; {root} has none")
    first, *others = (folder.dictionary(language) for language in languages)
    for other in others:
        if other.read_bytes() != first.read_bytes():
            raise UserError(
                "`--adopt` must have the same dictionary for all languages (fairseq-preprocess "
                f"--srcdict D --tgtdict D); {other} differs from {first.name}"
            )
    return folder


def adopt(
    folder: StockFolder,
    segmentation: Path,
    out: Path,
    languages: Sequence[str] = (),
    references: Path | None = None,
    form: Mapping[str, str | bool] | None = None,
) -> Adopted:
    """Make the data folder `out`, completely or not at all.

    Args:
        folder: of fairseq.
        segmentation: the SentencePiece model of its text.
        out: new or empty.
        languages: all of the folder's, in the order of their tags, and maybe others; by default
            the folder's.
        references: a folder with the original text of the test sets, `test.X-Y.X` or `test.X`;
            None: the references are put together from pieces.
        form: of the text before segmentation, see `TextForm.stored`.

    Raises:
        UserError: model, languages or references do not fit the folder.
        DamagedData: a set is damaged.
    """
    load()  # fairseq, without its log lines
    from fairseq.data import Dictionary

    languages = languages or folder.languages
    _check_order(folder, languages)
    model = load_model(segmentation)
    dictionary = Dictionary.load(str(folder.dictionary(folder.languages[0])))
    missing, extra = _check_covered(dictionary, model, segmentation)
    with replaced_folder(out) as new:
        for path in folder.files():
            _link(path, new / path.name)
        shutil.copyfile(segmentation, new / "spm.model")
        write_text(new / "spm.vocab", vocabulary_lines(model))
        shutil.copyfile(folder.dictionary(folder.languages[0]), new / "dict.txt")
        write_text(new / "langs.txt", languages)
        write_text(new / "pairs.txt", folder.directions("train"))
        write_text(new / "test-pairs.txt", folder.directions("test"))
        unknown, tested = _write_text(folder, dictionary, model, references, new)
        files = [path.relative_to(new).as_posix() for path in new.rglob("*") if path.is_file()]
        write_mark(new, {"adopted": str(folder.root.resolve()), "form": form or {}}, files)
    return Adopted(read_data_folder(out), missing, extra, unknown, tested)


def _check_order(folder: StockFolder, languages: Sequence[str]) -> None:
    check_languages(languages, "`--langs`")
    if missing := [name for name in folder.languages if name not in languages]:
        raise UserError(
            f"`--langs` must have all languages of {folder.root}, {','.join(folder.languages)}; it "
            f"lacks {missing[0]}"
        )
    if len(set(languages)) < len(languages):
        raise UserError(f"`--langs` must have each language once; it is {','.join(languages)}")


def _check_covered(
    dictionary: Dictionary, model: SentencePieceProcessor, path: Path
) -> tuple[int, int]:
    """Check that the model can output every entry.

    Returns:
        The numbers of pieces without an entry, and of entries that are not pieces.
    """
    entries = {*dictionary.symbols[dictionary.nspecial :]}
    entries = {entry for entry in entries if not _PADDING.fullmatch(entry)}
    pieces = {
        model.id_to_piece(index)
        for index in range(model.get_piece_size())
        if not (model.is_control(index) or model.is_unknown(index))
    }
    extra = entries - pieces
    if foreign := sorted(entry for entry in extra if not is_unknown_text(model, entry)):
        raise UserError(
            "`--spm` must be the model of the folder's text; the dictionary has "
            f"{len(foreign):,} entries that {path} never outputs, such as {foreign[0]}"
        )
    return len(pieces - entries), len(extra)


def _link(source: Path, target: Path) -> None:
    try:
        os.link(source.resolve(), target)
    except OSError:  # another file system, or one without links
        shutil.copyfile(source, target)


def _write_text(
    folder: StockFolder,
    dictionary: Dictionary,
    model: SentencePieceProcessor,
    references: Path | None,
    out: Path,
) -> tuple[int, int]:
    """Write segmented text and references.

    Returns:
        The numbers of test sentences with an unknown piece, and of all.
    """
    for name in ("pieces", "reference"):
        (out / name).mkdir()
    unknown = tested = 0
    for split, pair in folder.sets:
        for language in pair:
            name = f"{split}.{'-'.join(pair)}.{language}"
            side = check_side(str(folder.root / name), dictionary, whole=True)
            write_text(out / "pieces" / name, map(" ".join, _pieces(side, dictionary.symbols)))
            if split != "test":
                continue
            lines = list(_pieces(side, dictionary.symbols))
            unknown += sum(dictionary.unk_word in line for line in lines)
            tested += len(lines)
            if references is None:
                write_text(out / "reference" / name, (decoded(model, line) for line in lines))
            else:
                shutil.copyfile(_original(references, name, len(lines)), out / "reference" / name)
    return unknown, tested


def _pieces(side: Side, symbols: Sequence[str]) -> Iterator[list[str]]:
    """The pieces of each sentence, without its end symbol."""
    starts = side.places // side.tokens.itemsize
    for start, size in zip(starts, side.sizes, strict=True):
        yield [symbols[token] for token in side.tokens[start : start + size - 1].tolist()]


def _original(folder: Path, name: str, count: int) -> Path:
    """The file with the original text of a side of a test set, in one of two forms of names."""
    names = (name, f"test.{name.rpartition('.')[2]}")
    found = [folder / each for each in names if (folder / each).is_file()]
    if not found:
        raise UserError(
            f"`--references` must be a folder with {' or '.join(names)}; {folder} has neither"
        )
    if (lines := count_lines(found[0])) != count:
        raise UserError(
            f"`--references` must have a line for each sentence of {name}, {count}; {found[0]} has "
            f"{lines}"
        )
    return found[0]
