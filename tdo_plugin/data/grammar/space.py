"""The numbered space of all meanings: a bijection from index to meaning for every seed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from tdo_plugin.data.grammar.clauses import Kind
from tdo_plugin.data.grammar.kinds import make_kinds
from tdo_plugin.data.grammar.meaning import Meaning
from tdo_plugin.data.grammar.permutation import permute, round_keys


@dataclass(frozen=True)
class _Phase:
    """A run of blocks with the same kinds; exhausted kinds are missing from the next run."""

    first_index: int
    first_block: int
    slots: tuple[tuple[Kind, int], ...]


@dataclass(frozen=True)
class _Space:
    phases: tuple[_Phase, ...]
    sizes: dict[str, int]
    count: int


@lru_cache(maxsize=1)
def _space() -> _Space:
    kinds = make_kinds()
    blocks = {kind.name: kind.size // kind.weight for kind in kinds}
    phases, index, block = [], 0, 0
    for end in sorted(set(blocks.values())):
        left = [kind for kind in kinds if blocks[kind.name] >= end]
        slots = tuple((kind, turn) for kind in left for turn in range(kind.weight))
        phases.append(_Phase(index, block, slots))
        index += (end - block) * len(slots)
        block = end
    sizes = {kind.name: blocks[kind.name] * kind.weight for kind in kinds}
    return _Space(tuple(phases), sizes, index)


@lru_cache(maxsize=4096)
def _keys(*parts: int | str) -> tuple[int, ...]:
    return round_keys(*parts)


def kind_sizes() -> dict[str, int]:
    """Number of meanings of each kind of sentence."""
    return dict(_space().sizes)


def count_meanings() -> int:
    """Exact number of meanings, the same in all languages."""
    return _space().count


def meaning_at(index: int, seed: int) -> Meaning:
    """The meaning with number ``index`` in the order of ``seed``; see `locate`."""
    kind, rank = locate(index, seed)
    return Meaning(kind.name, rank, kind.clause(rank))


def locate(index: int, seed: int) -> tuple[Kind, int]:
    """Kind and rank of the meaning with number ``index`` in the order of ``seed``.

    For each seed this is a bijection between ``range(count_meanings())`` and the meanings. Kinds of
    sentence alternate by their weights within each block of indices, in an order that depends on
    the block.

    Raises:
        IndexError: ``index`` is not in ``range(count_meanings())``.
    """
    space = _space()
    if not 0 <= index < space.count:
        raise IndexError(f"index must be from 0 to {space.count - 1}; it is {index}")
    phase = space.phases[0]
    for candidate in space.phases:
        if candidate.first_index > index:
            break
        phase = candidate
    period = len(phase.slots)
    block, slot = divmod(index - phase.first_index, period)
    block += phase.first_block
    kind, turn = phase.slots[permute(slot, period, _keys("block", seed, block))]
    draw = block * kind.weight + turn
    return kind, permute(draw, space.sizes[kind.name], _keys("kind", seed, kind.name))
