"""Ways of an update in turns, and the arithmetic."""

from speed import interleaved


def test_turns_are_in_another_order_each_round_and_the_first_does_not_count() -> None:
    order: list[tuple[str, int]] = []

    def way(name: str, seconds: float, number: int) -> float:
        order.append((name, number))
        return seconds + number

    ways = {
        "plain": lambda number: way("plain", 1.0, number),
        "other": lambda number: way("other", 2.0, number),
    }
    messages: list[str] = []
    times = interleaved.turns(ways, 2, messages.append)
    assert times == {"plain": [2.0, 3.0], "other": [3.0, 4.0]}
    names = ["plain", "other", "other", "plain", "plain", "other"]
    assert order == [*zip(names, [0, 0, 1, 1, 2, 2], strict=True)]
    assert messages[0] == "round 0, plain: 1.00 s"


def test_ratios_are_taken_within_a_round() -> None:
    times = {"plain": [1.0, 2.0, 4.0], "robt": [2.0, 5.0, 12.0]}
    (row,) = interleaved.rows(times, "an update", {"size": 1})
    assert (row["system"], row["baseline"], row["metric"]) == ("robt", "plain", "an update")
    assert (row["ratio"], row["spread"]) == (2.5, [2.0, 3.0])
    assert row["settings"] == {
        **{"size": 1, "unit": "seconds per update"},
        **{"cost": 5.0, "baseline_cost": 2.0, "rounds": 3},
    }
    assert interleaved.line(row).split("  ")[-1].strip() == (
        "5.000 s per update, 2.50 x the plain update (2.00 to 3.00)"
    )
