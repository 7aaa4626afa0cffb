"""The plan of a data folder whose shards are prepared while a training already reads it.

A training that reaches a shard before it is ready waits for it, so the batches do not depend on how
fast either of them is. `from-text.json` has the plan. The folders of shards exist from the start,
since fairseq lists them, and get their files all at once.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path

from tdo_plugin.errors import UserError
from tdo_plugin.runtime.files import write_text
from tdo_plugin.runtime.lock import is_locked
from tdo_plugin.typed import read_json, typed

PLAN = "from-text.json"
PAUSE = 0.2  # seconds between two looks at a shard that is not ready
PATIENCE = 10.0  # seconds without a preparing process after which a training gives up

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class ShardPlan:
    """Which part of the text each shard has.

    Attributes:
        text: the text folder.
        sizes: bytes of each of its files, by name.
        languages: in the order of their tags.
        shards: their number; the first is the data folder itself.
        lines: training lines of each pair (`en-de`).
        starts: by training file, the byte offsets of its chunks and its end. Chunk c belongs to
            shard c mod the number of shards, so each shard has lines from all over the file.
    """

    text: str
    sizes: dict[str, int]
    languages: tuple[str, ...]
    shards: int
    lines: dict[str, int]
    starts: dict[str, tuple[int, ...]]

    def chunks(self, name: str, number: int) -> list[tuple[int, int]]:
        """Beginnings and ends of a file's chunks in a shard, from 1."""
        starts = self.starts[name]
        chunks = list(pairwise(starts))
        return chunks[number - 1 :: self.shards]

    def shards_of(self, pair: str) -> int:
        """The number of shards that have lines of a pair."""
        source = pair.split("-")[0]
        return min(self.shards, len(self.starts[f"train.{pair}.{source}"]) - 1)

    def pair_of(self, languages: Sequence[str]) -> str | None:
        """The pair of a direction as its files name it; None if it is not in the text."""
        names = "-".join(languages), "-".join(reversed(languages))
        return next((name for name in names if name in self.lines), None)

    def write(self, root: Path) -> None:
        """Write the plan to a data folder."""
        write_text(root / PLAN, [json.dumps(asdict(self))])


def plan_of(root: Path) -> ShardPlan | None:
    """The plan of a data folder; None if it was not made while a training read it.

    Raises:
        UserError: the plan is damaged.
    """
    try:
        plan: ShardPlan = typed(read_json(root / PLAN), ShardPlan, "it")
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise UserError(f"`data` must have an intact {PLAN}; {root / PLAN}: {error}") from None
    return plan


def is_ready(shard: Path) -> bool:
    """Whether a shard has its files, which may be dictionaries alone."""
    return any(shard.glob("dict.*.txt"))


def wait_for(shard: Path) -> None:
    """Wait until a shard of a folder with a plan is ready.

    Raises:
        UserError: no process prepares it any more.
    """
    root, began = shard.parent, time.monotonic()
    if not (root / PLAN).is_file() or is_ready(shard):
        return
    logger.info(f"waiting for {shard}, whose text is still being segmented")
    alive = began
    while not is_ready(shard):
        if is_locked(root):
            alive = time.monotonic()
        elif time.monotonic() - alive > PATIENCE:
            raise UserError(
                f"`data` must have all of its shards; {shard} is empty and no process prepares it "
                "(`tdo resume` continues both)"
            )
        time.sleep(PAUSE)
    logger.info(f"{shard} is ready after {time.monotonic() - began:.1f} s")
