"""Durations as text."""

from tdo_plugin.runtime.durations import duration


def test_seconds_minutes_and_hours():
    seconds = (5, 89, 90, 720, 3_599, 12_000)
    texts = ["5 s", "89 s", "2 min", "12 min", "1 h 00 min", "3 h 20 min"]
    assert [*map(duration, seconds)] == texts
