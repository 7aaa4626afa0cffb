"""The benchmark's arithmetic and its comparison of hypotheses; it is not timed here."""

from pathlib import Path

import many_directions as benchmark


def test_ratios_are_taken_within_a_repetition() -> None:
    seconds = {"translate": [10.0, 20.0, 10.0], "one-by-one": [30.0, 80.0, 35.0]}
    row = benchmark.row("one-by-one", seconds)
    assert (row["seconds"], row["ratio"], row["spread"]) == (35.0, 3.5, [3.0, 4.0])


def test_differing_hypotheses_are_counted(data, tmp_path: Path) -> None:
    for way in benchmark.WAYS:
        (tmp_path / way).mkdir()
        for direction in data.test_directions:
            (tmp_path / way / f"{direction}.hyp").write_text("a\nb\nc\n")
    assert benchmark.differences(data, tmp_path, list(benchmark.WAYS)) == dict.fromkeys(
        benchmark.WAYS, 0
    )
    (tmp_path / "one-by-one" / "de-fr.hyp").write_text("a\nx\ny\n")
    assert benchmark.differences(data, tmp_path, ["translate", "one-by-one"]) == {
        "translate": 0,
        "one-by-one": 2,
    }
