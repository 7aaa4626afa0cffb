"""The stock `fairseq-preprocess`: its command for each pair, and a fast version for one set."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from tdo_plugin.data.textfolder import Pair, TextFolder
from tdo_plugin.errors import UserError
from tdo_plugin.runtime.log_lines import without_log_lines

if TYPE_CHECKING:
    from fairseq.data import Dictionary
    from torch import Tensor


def sets_of(folder: TextFolder, valids: Collection[Pair]) -> dict[Pair, dict[str, str]]:
    """For every pair with a set: by split, the prefix of its files.

    Validation sets are those of `valids`. fairseq reads a pair in both directions, so each pair
    occurs once, except pairs whose directions have different test sets.
    """
    tests = dict(folder.test_pairs())
    result: dict[Pair, dict[str, str]] = {}
    for pair in folder.pairs:
        name = f"{pair[0]}-{pair[1]}"
        result[pair] = {"train": f"train.{name}"}
        if pair in valids:
            result[pair]["valid"] = f"valid.{name}"
        for named in (pair, pair[::-1]):
            if tests.get(named) in ("test", f"test.{name}"):
                result[pair]["test"] = tests.pop(named)
    for pair, prefix in tests.items():
        result[pair] = {"test": prefix}
    for pair in valids:
        result.setdefault(pair, {})["valid"] = f"valid.{pair[0]}-{pair[1]}"
    return result


def commands(
    folder: TextFolder, out: Path, workers: int, valids: Collection[Pair]
) -> list[list[str]]:
    """The `fairseq-preprocess` command of every pair, without the program's name.

    Sets both dictionaries rather than `--joined-dictionary`, with which fairseq refuses a folder
    that already has dictionaries.
    """
    result = []
    for pair, prefixes in sets_of(folder, valids).items():
        paths = {split: out / "pieces" / prefix for split, prefix in prefixes.items()}
        result.append(_command(pair, paths, out / "dict.txt", out, workers))
    return result


def _command(
    pair: Pair, prefixes: Mapping[str, Path], dictionary: Path, out: Path, workers: int
) -> list[str]:
    inputs = [word for split, path in prefixes.items() for word in (f"--{split}pref", str(path))]
    target_options = ("--only-source",) if pair[0] == pair[1] else ("--tgtdict", str(dictionary))
    return [
        *("--source-lang", pair[0], "--target-lang", pair[1], *inputs),
        *("--srcdict", str(dictionary), *target_options),
        *("--destdir", str(out), "--workers", str(workers)),
    ]


def load() -> None:
    """Import fairseq now, so that processes started later need not.

    Raises:
        UserError: fairseq is not installed.
    """
    try:
        with without_log_lines():  # it recommends packages that are not needed here
            from fairseq_cli import preprocess  # noqa: F401
    except ImportError as error:
        raise UserError(f"`fairseq` must be installed (tdo setup); it is not ({error})") from None


def binarise(split: str, pair: Pair, prefix: Path, dictionary: Path, out: Path) -> None:
    """Run fairseq's own `main` on one set, in this process.

    Args:
        split: train, valid or test.
        pair: its languages; equal for monolingual text.
        prefix: path of the segmented text, without the language suffixes.
        dictionary: of both languages.
        out: the folder for its files and the dictionaries.

    Raises:
        UserError: fairseq reports an error.
    """
    from fairseq import options
    from fairseq_cli import preprocess

    log = logging.getLogger("fairseq_cli.preprocess")
    log.setLevel(logging.WARNING)
    words = _command(pair, {split: prefix}, dictionary, out, workers=1)
    try:
        with _quickly():
            preprocess.main(options.get_preprocessing_parser().parse_args(words))
    except (OSError, AssertionError) as error:
        raise UserError(f"`fairseq-preprocess` must succeed; it says: {error}") from None
    finally:
        for handler in [h for h in log.handlers if isinstance(h, logging.FileHandler)]:
            log.removeHandler(handler)
            handler.close()
    (out / "preprocess.log").unlink(missing_ok=True)


@contextmanager
def _quickly() -> Iterator[None]:
    """Make fairseq's `main` several times faster, in one process.

    It spends its time on checking its position in the text after every line, to stop at the end of
    its share, and on filling tensors element by element. Here its share is the whole text.
    """
    from fairseq import binarizer
    from fairseq.data import Dictionary

    chunker, encode_line = binarizer.Chunker, Dictionary.encode_line
    binarizer.Chunker, Dictionary.encode_line = _whole_text, _encode_line
    try:
        yield
    finally:
        binarizer.Chunker, Dictionary.encode_line = chunker, encode_line


@contextmanager
def _whole_text(path: str, start: int, end: int) -> Iterator[TextIO]:
    with open(path, encoding="utf-8") as stream:
        yield stream


def _encode_line(
    dictionary: Dictionary, line: str, consumer: Callable[[str, int], object], **options: Any
) -> Tensor:
    """Ids of a line's pieces and the end symbol, (pieces + 1,); `consumer` gets unknown pieces."""
    import numpy as np
    from torch import from_numpy

    words, unknown = line.split(), dictionary.unk_index
    numbers = list(map(dictionary.indices.get, words, repeat(unknown)))
    if unknown in numbers:
        for word, number in zip(words, numbers, strict=True):
            consumer(word, number)
    numbers.append(dictionary.eos_index)
    return from_numpy(np.array(numbers, np.int32))  # a third of the time of a tensor from a list
