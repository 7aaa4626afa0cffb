"""The names of text files: the languages they contain, and suggestions for invalid names.

    train.en-de.en      one side of a pair
    train.en            text that is parallel over all languages that have such a file
    corpus.en           unsplit text, in all languages that have such a file
    Europarl.de-en.de   unsplit text of a pair, as in OPUS

fairseq splits pairs at the hyphen, so a code must not have one: `pt_BR` for `pt-BR`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tdo_plugin.errors import UserError
from tdo_plugin.names import LANGUAGE as CODE

SPLITS = ("train", "valid", "test")

_SPLIT_FILE = re.compile(rf"({'|'.join(SPLITS)})\.(.+)")
_SIDE = re.compile(rf"({CODE})-({CODE})\.({CODE})")
_GZIP = ".gz"
# any language code in use (BCP 47, locales), for files to be split
_WORLDLY = r"[A-Za-z]{2,3}(?:[-_@][A-Za-z0-9]+)*"
_CORPUS_SIDE = re.compile(rf"(.+?)\.({_WORLDLY}-{_WORLDLY})\.({_WORLDLY})")
_CORPUS = re.compile(rf"(.+)\.({_WORLDLY})")
# endings of other kinds of files that look like a language code
_OTHER_ENDINGS = (
    "md txt tsv csv tmx xml yml ini cfg doc pdf htm log ids sh py js bpe bin idx npy xz zip tgz tar"
)
_NO_LANGUAGES = frozenset(_OTHER_ENDINGS.split())
_MOST_NAMED = 8

# unsplit text: name and pair (empty for text of all languages) -> language -> file
Corpora = dict[tuple[str, tuple[str, ...]], dict[str, Path]]


@dataclass(frozen=True)
class TextName:
    """The parts of a file's name.

    Attributes:
        split: train, valid or test; or the name of an unsplit corpus.
        pair: both languages; empty for a file that is parallel over all languages.
        language: of the file.
    """

    split: str
    pair: tuple[str, ...]
    language: str


def text_name(file: str) -> TextName | None:
    """The parts of a train, valid or test file's name; None for other or invalid names.

    Args:
        file: its name, without the gzip ending.
    """
    match = _SPLIT_FILE.fullmatch(file)
    if not match:
        return None
    split, rest = match.groups()
    if side := _SIDE.fullmatch(rest):
        first, second, language = side.groups()
        fits = first != second and language in (first, second)
        return TextName(split, (first, second), language) if fits else None
    return TextName(split, (), rest) if re.fullmatch(CODE, rest) else None


def fit_code(code: str) -> str | None:
    """A language code that is valid in fairseq's pairs, `pt_BR` for `pt-BR`, or None.

    Args:
        code: any code of a language.
    """
    fit = re.sub(r"[^A-Za-z0-9]+", "_", code).strip("_")
    return fit if re.fullmatch(CODE, fit) else None


def fit_name(file: str) -> str | None:
    """The name that a train, valid or test file should have; None if it cannot be determined.

    Args:
        file: its name, with the gzip ending if it has one.
    """
    bare = file.removesuffix(_GZIP)
    match = _SPLIT_FILE.fullmatch(bare)
    if not match:
        return None
    split, rest = match.groups()
    fit = _fit_side(rest) if "." in rest else _fit_language(rest)
    renamed = f"{split}.{fit}"
    return renamed + file[len(bare) :] if fit and text_name(renamed) else None


def _fit_language(rest: str) -> str | None:
    """`pt_BR` for `pt-BR`; None for `en-de`, which may be a pair without the file's language."""
    pair = re.fullmatch(r"[a-z]{2,3}-[a-z]{2,3}", rest)
    return None if pair or not re.fullmatch(_WORLDLY, rest) else fit_code(rest)


def _fit_side(rest: str) -> str:
    """`en-pt_BR.pt_BR` for `en-pt-BR.pt-BR`, split by means of the file's language."""
    pair, _, language = rest.rpartition(".")
    if "." in pair:
        return ""
    if pair.startswith(f"{language}-"):
        sides = language, pair[len(language) + 1 :]
    elif pair.endswith(f"-{language}"):
        sides = pair[: -len(language) - 1], language
    else:
        return ""
    codes = [fit_code(side) for side in sides]
    if None in codes:
        return ""
    return f"{'-'.join(map(str, codes))}.{fit_code(language)}"


def is_split_file(file: str) -> bool:
    """Whether a name begins like those of train, valid and test files."""
    return bool(_SPLIT_FILE.fullmatch(file))


def refuse_unfit(files: Sequence[str], option: str) -> None:
    """Suggest names for files whose names are invalid.

    Args:
        files: invalid names of train, valid and test files.
        option: that sets their folder.

    Raises:
        UserError: there are any.
    """
    if not files:
        return
    fits = {file: fit_name(file) for file in files}
    listed = enumerated([f"{file} ({fit})" if fit else file for file, fit in fits.items()])
    advice = "rename or remove them"
    if any(fits.values()):
        advice = "valid names are in brackets; --rename uses the files as if they had them"
        if not all(fits.values()):
            advice += ", others must be renamed or removed"
    raise UserError(
        f"`{option}` must have files named like train.X-Y.X, where X and Y are codes of letters, "
        f"digits and _; these are invalid: {listed}; {advice}"
    )


def enumerated(files: Sequence[str]) -> str:
    """A list of file names for a message, abbreviated if it is long."""
    more = len(files) - _MOST_NAMED
    return ", ".join(files[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def renamed_files(files: Iterable[Path], option: str) -> dict[str, Path]:
    """Files by the names that they should have.

    Args:
        files: of a folder.
        option: that sets the folder.

    Raises:
        UserError: two files would have the same name, or a train, valid or test file has no valid
            one.
    """
    renamed: dict[str, Path] = {}
    unfit = []
    for path in files:
        name = path.name
        if is_split_file(name) and not text_name(name.removesuffix(_GZIP)) and not is_table(name):
            fit = fit_name(name)
            if fit is None:
                unfit.append(name)
                continue
            name = fit
        if name in renamed:
            raise UserError(
                f"`{option}` must have one file for {name}; it has {renamed[name].name} and "
                f"{path.name}"
            )
        renamed[name] = path
    refuse_unfit(unfit, option)
    return renamed


def text_files(folder: Path, option: str) -> list[Path]:
    """The files of a folder, by name.

    Raises:
        UserError: a link is broken, or something named as text is not a file.
    """
    paths = sorted(folder.iterdir())
    for path in paths:
        lost = path.is_symlink() and not path.exists()
        if lost or (is_split_file(path.name) and not path.is_file()):
            what = "a broken link" if lost else "not a file"
            raise UserError(f"`{option}` must have text in files; {path.name} is {what}")
    return [path for path in paths if path.is_file()]


def is_table(file: str) -> bool:
    """Whether a file is a table of all languages, `train.tsv` or `train.tsv.gz`."""
    return file.removesuffix(_GZIP) in {f"{split}.tsv" for split in SPLITS}


def unsplit(files: Iterable[Path]) -> Corpora:
    """Unsplit corpora: the file of each language, by name and languages.

    Args:
        files: of a folder, plain or gzip.

    Returns:
        Corpora with at least two languages; codes are valid in fairseq's pairs.
    """
    sides: dict[tuple[str, tuple[str, ...]], dict[str, Path]] = {}
    parallel: dict[str, dict[str, Path]] = {}
    for path in files:
        name = corpus_name(path.name)
        if name is not None and name.pair:
            sides.setdefault((name.split, name.pair), {})[name.language] = path
        elif name is not None:
            parallel.setdefault(name.split, {})[name.language] = path
    multi = {
        (name, tuple(sorted(by_language))): by_language for name, by_language in parallel.items()
    }
    return {
        key: by_language for key, by_language in (sides | multi).items() if len(by_language) > 1
    }


def corpus_name(file: str) -> TextName | None:
    """The parts of an unsplit text file's name; None for other names.

    Args:
        file: its name, with the gzip ending if it has one.
    """
    name = file.removesuffix(_GZIP)
    if is_split_file(name):
        return None
    if side := _CORPUS_SIDE.fullmatch(name):
        return _corpus_side(*side.groups())
    match = _CORPUS.fullmatch(name)
    if not match or match[2] in _NO_LANGUAGES:
        return None
    language = fit_code(match[2])
    return TextName(match[1], (), language) if language else None


def _corpus_side(corpus: str, pair: str, language: str) -> TextName | None:
    fit = _fit_side(f"{pair}.{language}")
    codes, _, code = fit.rpartition(".")
    return TextName(corpus, tuple(codes.split("-")), code) if fit else None


def unsplit_advice(corpora: Corpora, pairs: bool = False) -> str:
    """Advice for a message about unsplit corpora.

    Args:
        corpora: as found by `unsplit`.
        pairs: whether only text of pairs is accepted, and not text in more languages.
    """
    names = [path.name for files in corpora.values() for path in files.values()]
    command = "tdo prepare --from with " if pairs and beyond_pairs(corpora) else ""
    return (
        f"{enumerated(names)} are text that is not split; to split it, use {command}--split-valid "
        "N --split-test N: N sentence pairs each for validation and test, the others for training"
    )


def beyond_pairs(corpora: Corpora) -> list[str]:
    """Languages of the first corpus that is parallel over more than two; empty if there is none."""
    return next((sorted(files) for files in corpora.values() if len(files) > 2), [])


def refuse_clashes(files: Iterable[Path], option: str) -> None:
    """Raise UserError if two files have the same corpus and language, as corpus.de and corpus.De.

    Args:
        files: of a folder, plain or gzip.
        option: that sets the folder.
    """
    seen: dict[tuple[str, tuple[str, ...], str], Path] = {}
    for path in files:
        name = corpus_name(path.name)
        if name is None:
            continue
        earlier = seen.setdefault((name.split, name.pair, name.language.casefold()), path)
        if earlier is not path:
            raise UserError(
                f"`{option}` must have one file of a corpus for each language; it has "
                f"{earlier.name} and {path.name}"
            )


def ending_language(ending: str) -> str | None:
    """The code that a file's ending is, `pt_BR` for `pt-BR`; None where it is of another kind.

    Args:
        ending: of the name, without the point.
    """
    if ending in _NO_LANGUAGES or not re.fullmatch(_WORLDLY, ending):
        return None
    return fit_code(ending)
