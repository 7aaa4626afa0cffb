"""Scores are computed once, kept whole, and looked up whatever the place is like."""

from __future__ import annotations

import itertools
import math
import multiprocessing
from pathlib import Path

import pytest

from tdo_plugin.metrics import cache as module
from tdo_plugin.metrics.cache import Cache, default_cache_path, score_through, segment_key

TRIPLES = [(None, f"h{number}", "r" * (5 - number % 3)) for number in range(7)]


def length(triples: list[tuple[str | None, str, str]]) -> list[float]:
    return [len(hypothesis) / 3 for _, hypothesis, _ in triples]


def test_fields_cannot_run_into_each_other():
    fields = [
        *(("s", None, "ab", "c"), ("s", None, "a", "bc"), ("s", "", "ab", "c")),
        *(("s", "ab", "", "c"), ("s", "none:", "ab", "c"), ("s2:ab", None, "", "c")),
        ("s", None, "ab1:c", ""),
    ]
    assert len({segment_key(*row) for row in fields}) == len(fields)


def test_order_is_kept_and_equal_segments_are_computed_once(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "CHUNK", 2)
    calls = []

    def compute(triples):
        calls.append([hypothesis for _, hypothesis, _ in triples])
        return [float(hypothesis[1:]) + 1 / 3 for _, hypothesis, _ in triples]

    def score(cache, model="m", count=None):
        calls.clear()
        return score_through(cache, model, segments[:count], compute, "M").tolist()

    segments = [*TRIPLES, TRIPLES[2], TRIPLES[2]]
    expected = [float(hypothesis[1:]) + 1 / 3 for _, hypothesis, _ in segments]
    assert score(None) == expected
    assert sorted(map(len, calls)) == [1, 2, 2, 2]
    cache = Cache(tmp_path / "new folder" / "scores.sqlite")
    assert score(cache, count=4) == expected[:4]
    assert score(cache) == expected
    assert sorted(itertools.chain(*calls)) == ["h4", "h5", "h6"]
    assert score(Cache(cache.path)) == expected
    assert calls == []
    score(cache, "another m")
    assert len([*itertools.chain(*calls)]) == 7


def test_an_interrupt_loses_one_chunk(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "CHUNK", 3)
    done = []

    def compute(triples: list[tuple[str | None, str, str]]) -> list[float]:
        if done:
            raise KeyboardInterrupt
        done.extend(triples)
        return length(triples)

    cache = Cache(tmp_path / "scores.sqlite")
    with pytest.raises(KeyboardInterrupt):
        score_through(cache, "m", TRIPLES, compute, "M")
    kept = cache.get([segment_key("m", *triple) for triple in TRIPLES])
    assert sorted(kept) == sorted(segment_key("m", *triple) for triple in done)


def test_what_is_no_number_is_computed_again(tmp_path):
    cache = Cache(tmp_path / "scores.sqlite")
    cache.put({b"a": math.nan, b"b": 0.1})
    assert cache.get([b"a", b"b"]) == {b"b": 0.1}


def write(path: Path, name: str) -> None:
    cache = Cache(path)
    for start in range(0, 300, 10):
        cache.put({f"{name} {n}".encode(): n for n in range(start, start + 10)})


def test_several_processes_write_at_once(tmp_path, capfd):
    path = tmp_path / "scores.sqlite"
    with multiprocessing.get_context("fork").Pool(3) as pool:
        pool.starmap(write, [(path, name) for name in ("one", "two", "three")], chunksize=1)
    assert not any(capfd.readouterr())
    keys = [f"{name} {number}".encode() for name in ("one", "two") for number in range(300)]
    assert list(Cache(path).get(keys).values()).count(299.0) == 2
    assert len(Cache(path).get(keys)) == 600


@pytest.mark.parametrize("place", ["a file/scores.sqlite", "a file"])
def test_a_place_of_no_use_is_one_warning(tmp_path, capsys, place):
    (tmp_path / "a file").write_text("this is no database, but it is long enough to be read " * 9)
    cache = Cache(tmp_path / place)
    for _ in range(2):
        assert score_through(cache, "m", TRIPLES, length, "M").tolist() == length(TRIPLES)
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"warning: scores are not cached in {tmp_path / place}: ")


def test_the_default_place(monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert default_cache_path() == Path("/somewhere/tdo/scores.sqlite")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/home/her")
    assert default_cache_path() == Path("/home/her/.cache/tdo/scores.sqlite")
