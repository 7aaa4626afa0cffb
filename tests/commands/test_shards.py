"""Parts of a test set, `--num-shards N --shard-id I` of fairseq-generate: together they are all."""

import re

import pytest
from support.commands import hypotheses, scores
from support.data import TAG, generate
from support.prepared import TASK, prepared, trained

GENERATION = (*TASK, *TAG, "-s", "en", "-t", "de", "--beam", "2", "--task", "tdo_translation")
LENGTH = ("--max-len-b", "8")


def translated(*flags: str) -> str:
    words = ("--path", str(trained()), "--max-tokens", "200", *LENGTH, *flags)
    return generate(*GENERATION, *words, data=prepared().root)


@pytest.fixture(scope="module")
def whole() -> str:
    return translated()


@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_parts_are_the_whole(count: int, whole: str) -> None:
    parts = [
        translated("--num-shards", str(count), "--shard-id", str(part)) for part in range(count)
    ]
    translations: dict[int, str] = {}
    for part in map(hypotheses, parts):
        assert not translations.keys() & part.keys()
        translations |= part
    assert translations == hypotheses(whole) and translations
    together = {number: score for part in map(scores, parts) for number, score in part.items()}
    assert together == pytest.approx(scores(whole), abs=1e-4)
    # each source once, and no other lines
    lines = [line for part in parts for line in re.findall(r"^[ST]-.*$", part, re.MULTILINE)]
    assert sorted(lines) == sorted(re.findall(r"^[ST]-.*$", whole, re.MULTILINE))
