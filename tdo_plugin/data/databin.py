"""A prepared data folder: fairseq's binarised sets, and lists for use in commands.

In addition to the files of `fairseq-preprocess` it has

    spm.model, spm.vocab, dict.txt   the joint segmentation and dictionary
    langs.txt                        languages, one per line, in the order of their tags' ids
    pairs.txt                        training directions, one per line (en-de, de-en, ...)
    test-pairs.txt                   directions with a test set
    pieces/, reference/              segmented text; test text for scoring
    shards.txt, shard2/, ...         further shards of the training sets, if any
    from-text.json                   plan of a folder that is prepared while a training reads it
    work/                            records of the steps that made it
    prepared.json                    settings, and digests of the files that commands read;
                                     written last, so it marks a complete folder
"""

from __future__ import annotations

import itertools
import os
import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from tdo_compat.digests import DIGESTS, check_file, digests
from tdo_compat.settings import shown
from tdo_plugin.data.textfolder import count_lines, read_lines
from tdo_plugin.errors import UserError
from tdo_plugin.names import check_directions, check_languages
from tdo_plugin.typed import read_json

MARK = "prepared.json"
SHARDS = "shards.txt"
LISTS = ("langs.txt", "pairs.txt", "test-pairs.txt")
SHARD = re.compile(r"shard\d+", re.ASCII)


def matching(patterns: str, directions: Iterable[str]) -> tuple[str, ...]:
    """The directions that match any of the patterns, such as `en-*,de-fr`, in order."""
    alternatives = [pattern.strip() for pattern in patterns.split(",")]
    return tuple(
        direction
        for direction in directions
        if any(fnmatchcase(direction, each) for each in alternatives)
    )


@dataclass(frozen=True)
class DataFolder:
    """Languages and directions (`en-de`) of a prepared folder."""

    root: Path
    languages: tuple[str, ...]
    directions: tuple[str, ...]
    test_directions: tuple[str, ...]
    shards: tuple[str, ...] = ()  # subfolders; the first shard is the root itself

    @property
    def path(self) -> str:
        """The data argument of `fairseq-train`, with all shards."""
        return os.pathsep.join(str(self.root / shard) for shard in ("", *self.shards))

    @property
    def validated(self) -> tuple[str, ...]:
        """Trained directions whose pair has a validation set."""
        pairs = [path.name.split(".")[1] for path in self.root.glob("valid.*-*.*.idx")]
        both = {*pairs, *("-".join(reversed(pair.split("-"))) for pair in pairs)}
        return tuple(direction for direction in self.directions if direction in both)

    def kind(self, direction: str) -> str:
        """`supervised` if the direction is trained, else `zero-shot`."""
        return "supervised" if direction in self.directions else "zero-shot"

    def hub(self) -> str | None:
        """The language that all trained directions share, or None."""
        shared = set.intersection(*(set(d.split("-")) for d in self.directions))
        return next((language for language in self.languages if language in shared), None)

    def select(
        self, selection: str, option: str = "--directions", among: Sequence[str] | None = None
    ) -> tuple[str, ...]:
        """Directions by `all`, `supervised`, `zero-shot` or a list such as `en-de,de-*`.

        Args:
            selection: see above.
            option: that sets it, for messages.
            among: the directions to select from; by default those with a test set.

        Raises:
            UserError: a direction is not among them, or none is selected.
        """
        eligible = self.test_directions if among is None else tuple(among)
        if selection == "all":
            chosen = eligible
        elif selection in ("supervised", "zero-shot"):
            chosen = tuple(d for d in eligible if self.kind(d) == selection)
        else:
            matches = {
                pattern.strip(): matching(pattern, eligible) for pattern in selection.split(",")
            }
            for name, directions in matches.items():
                if not directions:
                    tested = f"directions with a test set in {self.root}"
                    raise UserError(
                        f"`{option}` must be all, supervised, zero-shot or "
                        f"{tested if among is None else f'of {eligible[0]}, ..., {eligible[-1]}'}; "
                        f"{name} is not one"
                    )
            chosen = tuple(dict.fromkeys(itertools.chain.from_iterable(matches.values())))
        if not chosen:
            raise UserError(f"`{option}` must select at least one direction; {selection} has none")
        return chosen

    def training_sizes(self) -> dict[str, int]:
        """Numbers of training sentence pairs, by pair as named in the files (`en-de`)."""
        sizes = {}
        for path in sorted((self.root / "pieces").glob("train.*-*.*")):
            _, pair, language = path.name.split(".")
            if pair.startswith(f"{language}-"):
                sizes[pair] = count_lines(path)
        return sizes

    def reference(self, source: str, target: str, language: str) -> Path:
        """The raw test text of one side of a direction.

        Raises:
            UserError: the folder lacks it.
            DamagedData: the file has changed.
        """
        folder = self.root / "reference"
        names = (
            f"test.{source}-{target}.{language}",
            f"test.{target}-{source}.{language}",
            f"test.{language}",
        )
        for name in names:
            if (folder / name).is_file():
                check_file(str(folder / name))
                return folder / name
        raise UserError(f"`DATA` must have reference/test.{language}; {self.root} does not")


def read_data_folder(root: Path) -> DataFolder:
    """Open a folder that `tdo prepare` or `tdo preprocess` finished.

    Raises:
        UserError: it is another or an incomplete folder, or its lists have invalid languages,
            directions or shards.
        DamagedData: a list has changed.
    """
    if not (root / MARK).is_file():
        raise UserError(
            f"`DATA` must be a folder that tdo prepare or preprocess finished; {root} is not one"
            f"{how_to_adopt(root)}"
        )
    if settings_of(root) is None:
        raise UserError(f"`DATA` must have intact files; {root / MARK} is damaged")
    languages, trained, tested = (
        tuple(line for line in read_lines(root / name) if line) for name in LISTS
    )
    directions = (trained, tested)
    check_languages(languages, f"`{root / 'langs.txt'}`")
    for name, among in zip(LISTS[1:], directions, strict=True):
        check_directions(among, f"`{root / name}`")
        for direction in among:
            if not set(direction.split("-")) <= set(languages):
                raise UserError(
                    f"`{root / name}` must have only languages of langs.txt; it has {direction}"
                )
    for name, listed in zip(LISTS, (languages, *directions), strict=True):
        if repeated := [line for line in listed if listed.count(line) > 1]:
            raise UserError(f"`{root / name}` must have each line once; it has {repeated[0]} twice")
    if not trained:
        raise UserError(f"`{root / 'pairs.txt'}` must have a direction; it has none")
    shards = tuple(read_lines(root / SHARDS)) if (root / SHARDS).is_file() else ()
    if strange := [shard for shard in shards if not SHARD.fullmatch(shard)]:
        raise UserError(
            f"`{root / SHARDS}` must list folders such as shard2; it has {shown(strange[0])}"
        )
    if SHARDS in digests(str(root / MARK)) and not shards:
        raise UserError(f"`DATA` must have intact files; {root / SHARDS} is missing")
    for name in (*LISTS, SHARDS):
        check_file(str(root / name))
    return DataFolder(root, languages, trained, tested, shards)


def how_to_adopt(root: Path) -> str:
    """The end of a message about another folder: what makes one of fairseq's, if it is that."""
    if (root / "pieces").exists() or not any(root.glob("*.idx")):
        return ""
    adopt = f"tdo prepare --adopt {shlex.quote(str(root))} --spm MODEL --out DIR"
    return f" (it is fairseq-preprocess's: {adopt} makes one of it)"


def settings_of(root: Path) -> dict[str, object] | None:
    """The settings that a folder was made with; None if it is not complete."""
    try:
        content = read_json(root / MARK)
    except (OSError, ValueError):
        return None
    if not isinstance(content, dict):
        return None
    return {name: value for name, value in content.items() if name != DIGESTS}
