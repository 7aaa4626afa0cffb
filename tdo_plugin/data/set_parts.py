"""A training or validation set in parts that are segmented and binarised separately.

So many processes share the work on a large set, memory stays constant, and a killed run loses only
unfinished parts. Together the parts give what one `fairseq-preprocess` over all of the text would
have written, or that in shards.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tdo_plugin.data.binarization import binarise
from tdo_plugin.data.segmentation import Dropped, encode_sides
from tdo_plugin.data.textfolder import Pair, line_starts
from tdo_plugin.runtime.steps import Facts, Step

if TYPE_CHECKING:
    from sentencepiece import SentencePieceProcessor

PART = 250_000  # lines
PARTS = Path("work", "parts")  # their location in the data folder


@dataclass(frozen=True)
class TextSet:
    """The text of one split of a pair.

    Attributes:
        split: train or valid.
        pair: its languages; equal for monolingual text.
        sources: the file of each language.
    """

    split: str
    pair: Pair
    sources: Sequence[Path]

    @property
    def name(self) -> str:
        """`train.en-de`"""
        return f"{self.split}.{self.pair[0]}-{self.pair[1]}"

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages without repetition."""
        return tuple(dict.fromkeys(self.pair))


@dataclass(frozen=True)
class Encoding:
    """Segmentation and dictionary, the same for all sets of a data folder."""

    root: Path
    model: SentencePieceProcessor
    model_digest: str
    max_pieces: int
    lowercase: bool
    digest: Callable[[Path], str]

    def depends(self, sources: Sequence[Path]) -> dict[str, Any]:
        """The dependencies of sets of these texts."""
        return {
            "texts": [self.digest(path) for path in sources],
            "model": self.model_digest,
            "max_pieces": self.max_pieces,
            "lowercase": self.lowercase,
            "versions": [version("sentencepiece"), version("fairseq")],
        }


def part_steps(text_set: TextSet, encoding: Encoding) -> list[Step]:
    """The steps that segment each part and binarise it."""
    starts = list(zip(*(line_starts(path, PART) for path in text_set.sources), strict=True))
    return [
        Step(
            f"{text_set.name}.{number:05}",
            {**encoding.depends(text_set.sources), "part": number, "lines": PART},
            partial(_make_part, text_set, encoding, at, _place(text_set, number)),
        )
        for number, at in enumerate(starts)
    ]


def _place(text_set: TextSet, number: int) -> Path:
    return PARTS / text_set.name / f"{number:05}"


def _make_part(
    text_set: TextSet, encoding: Encoding, starts: Sequence[int], place: Path, folder: Path
) -> Facts:
    out = folder / place
    out.mkdir(parents=True)
    targets = [out / f"pieces.{language}" for language in text_set.languages]
    dropped = encode_sides(
        encoding.model,
        text_set.sources,
        targets,
        encoding.max_pieces,
        encoding.lowercase,
        starts,
        PART,
    )
    binarise(text_set.split, text_set.pair, out / "pieces", encoding.root / "dict.txt", out)
    return asdict(dropped)


def joining_step(
    text_set: TextSet, encoding: Encoding, shards: Sequence[str], parts: Sequence[Facts]
) -> Step:
    """The step that joins the parts.

    Args:
        text_set: the set.
        encoding: of the data folder.
        shards: subfolders to distribute the sentences over.
        parts: facts of the parts' steps, in order; not needed if this step is already done.
    """
    return Step(
        text_set.name,
        {**encoding.depends(text_set.sources), "shards": len(shards)},
        partial(_join, text_set, encoding.root, parts, shards),
    )


def _join(
    text_set: TextSet, root: Path, parts: Sequence[Facts], shards: Sequence[str], folder: Path
) -> Facts:
    from tdo_plugin.data.sharding import join_parts

    places = [root / _place(text_set, number) for number in range(len(parts))]
    (folder / "pieces").mkdir()
    for language in text_set.languages:
        with (folder / "pieces" / f"{text_set.name}.{language}").open("wb") as stream:
            for place in places:
                with (place / f"pieces.{language}").open("rb") as text:
                    shutil.copyfileobj(text, stream, 1 << 20)
        name = f"{text_set.name}.{language}"
        join_parts([place / name for place in places], [folder / s / name for s in shards])
        for shard in shards:
            if (folder / shard / f"{name}.idx").exists():
                dictionary = f"dict.{language}.txt"
                shutil.copyfile(places[0] / dictionary, folder / shard / dictionary)
    return asdict(sum((Dropped(**facts) for facts in parts), Dropped()))
