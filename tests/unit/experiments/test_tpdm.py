"""The file of the TPDM paper: what the adversary takes, what is tested."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from tdo_plugin.experiments.library import find, setting_of
from tdo_plugin.experiments.plan import Inputs, Plan

LATE = {"--tpdm-disentangle-start": ["750"], "--tpdm-disentangle-warmup": ["250"]}
STEPS = {"--tpdm-generator-steps": ["5"]}
LIGHT = {"--tpdm-disentangle-weight": ["0.1"]}
DETACHED: dict[str, list[str]] = {"--tpdm-detach-positional": []}
FULL = {"--tpdm-disentangle-weight": ["1"]}


def plan(scale: str) -> Plan:
    setting = setting_of(find("tpdm"), scale, {})
    if scale == "toy":
        setting = setting.with_updates(1500)
    return Plan(setting, Path("run"), Inputs({}))


def flags(scale: str, system: str) -> Mapping[str, list[str]]:
    return plan(scale).system(system).config(lambda expression, scope: None).flags


@pytest.mark.parametrize(
    ("system", "expected"),
    [
        ("multiun/small", {}),
        ("multiun/base+tpdm+gate", LATE | STEPS | LIGHT | DETACHED),
        ("europarl/small+sinusoidal-anchor", LATE | STEPS | LIGHT | DETACHED),
        ("europarl/small+without-l_p", LATE | STEPS | LIGHT),
        ("europarl/small+without-l_d", {"--tpdm-disentangle-weight": ["0"]}),
        ("multiun/small+as-printed", FULL),
        ("multiun/small+late+5-steps", FULL | LATE | STEPS),
    ],
)
def test_rows_with_l_d_take_what_the_adversary_needs_at_small_scales(system, expected):
    names = LATE | STEPS | LIGHT | DETACHED
    found = {name: words for name, words in flags("toy", system).items() if name in names}
    assert found == expected


def test_at_full_all_is_as_printed():
    for name in ("tpdm", "tpdm+gate", "sinusoidal-anchor", "without-l_p"):
        found = flags("full", f"multiun/base+{name}")
        assert not {*LATE, *STEPS, *DETACHED, "--tdo-init"} & {*found}
        assert found["--tpdm-disentangle-weight"] == ["1"]


@pytest.mark.parametrize(
    ("scale", "system", "least"),
    [
        ("toy", "multiun/base", "1000"),
        ("toy", "multiun/small+late", "1000"),
        ("multi30k", "europarl/small+tpdm", "1000"),
        ("full", "multiun/small+tpdm", "0"),
        ("full", "multiun/small+late+5-steps", "333000"),
    ],
)
def test_no_checkpoint_is_chosen_before_l_d_has_its_weight(scale, system, least):
    made = plan(scale)
    (command,) = made.graph[made.checkpoint(system)].commands
    assert command[3:7] == ("--best", "1", "--from-update", least)
