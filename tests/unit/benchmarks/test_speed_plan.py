"""What `tdo bench` measures."""

from dataclasses import replace

import pytest
from speed.plan import ALL, Comparison, Setting, each, growth, plotted, table
from speed.reference_ops import OPS
from speed.systems import words

TWO = ("two-stream", "concatenating")


def test_the_table_of_a_cpu():
    base = Setting()
    assert (base.model_dim, base.depth, base.vocabulary) == (512, 12, 50_000)
    assert table("paper", "cpu") == [
        Comparison("training", base),
        Comparison("training", replace(base, instrucl=True), TWO),
        Comparison("decoding", replace(base, vocabulary=8000)),
        Comparison("decoding", base),
        Comparison("memory", replace(base, batch_tokens=2000)),
        Comparison("memory", replace(base, batch_tokens=2000, instrucl=True), TWO),
        Comparison("tree memory", replace(base, batch_tokens=2000), ("two-stream", "stock")),
    ]


def test_the_table_of_a_gpu_has_larger_batches():
    comparisons = table("paper", "cuda")
    for kind in ("training", "memory"):
        mine = [row for row in comparisons if row.kind == kind]
        assert [row.setting.batch_tokens for row in mine] == [4000, 4000, 16_000, 16_000]
    assert {row.setting.sentences for row in comparisons if row.kind == "decoding"} == {128}
    assert not any(row.kind == "tree memory" for row in comparisons)


@pytest.mark.parametrize("series", [plotted("paper"), plotted("small"), growth("paper")])
def test_a_series_differs_in_its_axis_alone(series):
    for point in series:
        like = [other for other in series if (other.kind, other.axis) == (point.kind, point.axis)]
        values = [getattr(other.setting, point.axis) for other in like]
        assert len(values) >= 2 and values == sorted(set(values))
        same = {replace(other.setting, **{point.axis: 0}) for other in like}
        assert len(same) == 1 and point.systems == ALL


def test_growth_reaches_as_far_as_it_should():
    reach = {}
    for point in growth("paper"):
        reach.setdefault((point.kind, point.axis), []).append(getattr(point.setting, point.axis))
    for kind in ("training", "memory"):
        assert (reach[kind, "languages"][0], reach[kind, "languages"][-1]) == (4, 100)
        assert reach[kind, "depth"] == [12, 24]
        assert (reach[kind, "vocabulary"][0], reach[kind, "vocabulary"][-1]) == (8000, 64_000)
        assert (reach[kind, "sentence_length"][0], reach[kind, "sentence_length"][-1]) == (10, 120)
    assert reach["decoding", "beam"] == [1, 2, 4, 8]


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_each_way_is_held_against_itself_without_it(device):
    """Every way that can be switched off is measured; kernels and masks where they count."""
    comparisons = list(each("paper", device))
    ways = {row.systems[1] for row in comparisons}
    assert {row.systems[0] for row in comparisons} == {"two-stream"}
    assert not any(row.kind == "tree memory" for row in comparisons)
    assert {"--cross-entropy whole", "--whole-search"} <= ways
    flag = "--reference-ops "
    names = {way.removeprefix(flag) for way in ways if way.startswith(flag)}
    assert names == set(OPS) - ({"kernels", "masks"} if device == "cpu" else set())
    for row in comparisons:
        command = words(row.systems[1], row.setting)
        arch = ["--arch", "reference_transformer"] if flag in row.systems[1] else []
        assert command == [*words("two-stream", row.setting), *arch, *row.systems[1].split()]
    everything = [row for row in comparisons if row.systems[1].endswith(f" {flag}all")]
    models_alone = [row for row in table("paper", device) if row.kind != "tree memory"]
    assert {row.metric for row in everything} == {row.metric for row in models_alone}
    for row in everything:
        alone = {other.systems[1] for other in comparisons if other.kind == row.kind} - {
            other.systems[1] for other in everything
        }
        further = {way for way in alone if not way.startswith(flag)}
        assert row.systems[1].removesuffix(f" {flag}all") == " ".join(sorted(further))
        assert ("--use-old-adam" in further) == (row.kind != "decoding")


def test_settings_are_those_that_matter():
    assert "beam" not in Comparison("training", Setting()).settings()
    decoding = Comparison("decoding", Setting()).settings()
    assert decoding["beam"] == 4 and "batch_tokens" not in decoding


def test_titles_tell_contests_apart():
    for comparisons in (table("paper", "cuda"), growth("paper")):
        assert len({row.title for row in comparisons}) == len(comparisons)
