"""How many sentences of each language the joint model sees, and which."""

import random
from collections import Counter

import pytest

from tdo_plugin.data import sampling
from tdo_plugin.data.sampling import draw, most_sentences, quotas, sample
from tdo_plugin.data.textfolder import read_lines

SIZES = {"en": 9000, "de": 900, "cs": 99, "yo": 1}


@pytest.mark.parametrize("temperature", [1, 1.5, 5, 100])
def test_quotas_are_in_proportion_and_add_up(temperature):
    counts = quotas(SIZES, 1234, temperature)
    powers = {name: (size / 10_000) ** (1 / temperature) for name, size in SIZES.items()}
    for name, power in powers.items():
        assert abs(counts[name] - 1234 * power / sum(powers.values())) < 1
    assert sum(counts.values()) == 1234
    assert quotas(SIZES, 10_000, 1) == SIZES


@pytest.mark.parametrize("size", [0, 1, 7, 10, 25, 30])
def test_exactly_as_many_lines_are_drawn_in_their_order(size):
    lines = [f"{number}" for number in range(10)]
    drawn = list(draw(iter(lines), 10, size, random.Random(1)))
    assert len(drawn) == size and drawn == sorted(drawn)
    counts = Counter(drawn)
    assert {counts[line] for line in lines} <= {size // 10, size // 10 + 1}
    assert not [*draw([], 0, size, random.Random(1))]


def test_every_line_has_the_same_chance():
    chances = random.Random(7)
    drawn = Counter(line for _ in range(2000) for line in draw(iter(range(5)), 5, 2, chances))
    assert all(abs(drawn[line] / 2000 - 0.4) < 0.05 for line in range(5))  # 4.6 deviations


@pytest.fixture
def sides(tmp_path):
    """English in two files, a third of whose lines are empty, and less German."""
    for name, count in {"a.en": 90, "b.en": 60, "a.de": 15}.items():
        lines = ("" if number % 3 == 0 else f"{name} {number}" for number in range(count))
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
    return [tmp_path / name for name in ("a.en", "a.de", "b.en")]


def languages(lines: list[str]) -> Counter[str]:
    return Counter(line.split()[0].removeprefix("a.").removeprefix("b.") for line in lines)


def test_languages_are_sampled_over_their_files(sides):
    def drawn(sentences: int, temperature: float, seed: int = 1) -> list[str]:
        return list(sample(sides, read_lines, sentences, temperature, seed))

    # 100 English lines that are not empty, 10 German
    assert languages(drawn(0, 1)) == languages(drawn(1000, 1)) == {"en": 100, "de": 10}
    assert languages(drawn(55, 1)) == {"en": 50, "de": 5}
    assert languages(drawn(40, 1e9)) == {"en": 20, "de": 20}
    assert set(Counter(line for line in drawn(40, 1e9) if line.startswith("a.de")).values()) == {2}
    assert drawn(55, 1) == drawn(55, 1) != drawn(55, 1, seed=2)


def test_text_larger_than_memory_should_hold_is_sampled(sides, monkeypatch):
    assert most_sentences(sides) == 0
    sides[0].write_text("ß" * 35 + "\n" + sides[0].read_text(), encoding="utf-8")
    size = sum(len(path.read_text("utf-8")) for path in sides)
    monkeypatch.setattr(sampling, "MOST_CHARACTERS", size)
    assert most_sentences(sides) == 0
    monkeypatch.setattr(sampling, "MOST_CHARACTERS", size // 2)
    assert most_sentences(sides) in (82, 83)  # of 166
