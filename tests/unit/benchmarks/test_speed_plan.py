"""What `tdo bench` measures."""

from dataclasses import replace

import pytest
from speed import reference_ops
from speed.plan import ALL, each, growth, plotted
from speed.systems import words
from support.data import TAG, TASK, TDO, TRAIN, built

REFERENCE = ("--task", "tdo_translation", *TASK, *TAG, *TRAIN, *TDO)
REFERENCE += ("--arch", "reference_transformer")


@pytest.mark.parametrize("series", [plotted("small"), growth("paper")])
def test_a_series_differs_in_its_axis_alone(series):
    assert len({point.title for point in series}) == len(series)
    for point in series:
        like = [other for other in series if (other.kind, other.axis) == (point.kind, point.axis)]
        values = [getattr(other.setting, point.axis) for other in like]
        assert len(values) >= 2 and values == sorted(set(values))
        same = {replace(other.setting, **{point.axis: 0}) for other in like}
        assert len(same) == 1 and point.systems == ALL


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_each_way_is_held_against_itself_without_it(device):
    """Every way that can be switched off is measured; kernels and masks where they count."""
    comparisons = list(each("paper", device))
    ways = {row.systems[1] for row in comparisons}
    assert {"--cross-entropy whole", "--whole-search"} <= ways
    flag = "--reference-ops "
    names = {way.removeprefix(flag) for way in ways if way.startswith(flag)}
    on_gpu = {"kernels", "masks"}
    assert names == {*reference_ops.OPS} - (on_gpu if device == "cpu" else set())
    for row in comparisons:
        command = words(row.systems[1], row.setting)
        arch = ["--arch", "reference_transformer"] if flag in row.systems[1] else []
        assert command == [*words("two-stream", row.setting), *arch, *row.systems[1].split()]


def test_operations_are_chosen_by_name(refused):
    for given, ops in (("masks,streams", {"masks", "streams"}), ("all", {*reference_ops.OPS})):
        assert built(*REFERENCE, "--reference-ops", given)[1].core.ops == ops
    assert built(*REFERENCE)[1].core.ops == frozenset()
    with refused.raised("an unknown operation", names="--reference-ops"):
        built(*REFERENCE, "--reference-ops", "masks,spam")
