"""Files that come along: how many cells and trainings grids come to, and what some papers' say."""

import json

import pytest
from support.papers import flags, plan, planned, steps

from tdo_plugin.evaluation.published import published
from tdo_plugin.experiments.plan import Plan


@pytest.mark.parametrize(
    ("file", "table", "scale", "count", "trainings"),
    [
        ("quickstart", "grid", "toy", 12, 9),
        ("two-stage-start", "starts", "toy", 111, 111),
        ("two-stage-start", "starts", "multi30k", 36, 36),
        ("tpdm-game", "game", "toy", 66, 52),
        ("tpdm-game", "game", "multi30k", 66, 52),
    ],
)
def test_cells_and_trainings(file, table, scale, count, trainings):
    shown = planned(file, table, scale)
    assert (len(shown.rows), len(steps(shown, "training"))) == (count, trainings)
    assert bool(steps(shown, "translation")) == (file == "quickstart")


def test_the_quickstart_s_grid_shares_a_training_with_its_table():
    training, *_ = steps(planned("quickstart", "grid", "toy"), "training")
    assert training.name == "prefix-decoder-only/training"


def test_what_an_axis_changes_stands_against_the_scale():
    toy = plan("two-stage-start", "toy")
    for setup, changed in (
        ("temperature-0.1-batch", {"max-update": "1000"}),
        ("temperature-0.1-dropout", {"dropout": "0.1"}),
        ("recipe", {"max-update": "2000", "seed": "2"}),
        ("lexical", {"tdo-init": "standard"}),
    ):
        assert flags(toy, f"two-stage+setup={setup}+seed=2").items() >= changed.items()


# The grid of table 9 of the TLM paper, and the best of it
BEST = {"2": "task", "3": "mask", "4": "noise", "5": "schedule"}


def cells(table: str, scale: str) -> list[dict]:
    reports = steps(planned("tlm", table, scale), "report")
    return [json.loads(text) for report in reports for text in report.files.values()]


def rows_of(number: str) -> list[str]:
    (table,) = (entry for entry in published("tlm").tables if entry.table == number)
    return [row.name for row in table.rows]


@pytest.mark.parametrize("scale", ["toy", "smoke", "multi30k", "full"])
def test_the_grid_has_a_cell_for_each_row_of_the_paper(scale):
    for content in cells("table9", scale):
        assert [cell["row"] for cell in content["cells"]] == rows_of("9")
        assert len({cell["run"] for cell in content["cells"]}) == 29  # four pairs share one


@pytest.mark.parametrize("number", list(BEST))
def test_other_tables_are_of_the_best_cells(number):
    (content,) = cells(f"table{number}", "toy")
    (axis,) = content["best"]
    assert axis == BEST[number] and not content["every"]
    assert ["encoder-decoder", *content["best"][axis]["rows"].values()] == rows_of(number)
    assert content["best"][axis]["published"] == f"tlm:{number}"


def test_two_language_pairs_are_two_grids_with_the_paper_s_data():
    small, full = planned("tlm", "table9", "toy"), planned("tlm", "table9", "full")
    assert small.blocks() == ["de-en"] and full.blocks() == ["de-en", "en-ro"]
    assert small.left_out == ["en-ro/encoder-decoder", "en-ro/tlm"]
    trainings = steps(full, "training")
    assert len(trainings) == 2 * 29
    assert {step.name.partition("/")[0] for step in trainings} == {"de-en", "en-ro"}
    texts = {text for step in trainings for text in step.files.values()}
    assert sum("--lang-pairs en-ro\n" in text for text in texts) == 29


# What the adversary of the TPDM paper takes
LATE = {"tpdm-disentangle-start": "750", "tpdm-disentangle-warmup": "250"}
STEPS = {"tpdm-generator-steps": "5"}
LIGHT = {"tpdm-disentangle-weight": "0.1"}
DETACHED = {"tpdm-detach-positional": ""}
FULL = {"tpdm-disentangle-weight": "1"}


def made(scale: str) -> Plan:
    return plan("tpdm", scale, updates=1500 if scale == "toy" else None)


@pytest.mark.parametrize(
    ("system", "expected"),
    [
        ("multiun/small", {}),
        ("multiun/base+tpdm+gate", LATE | STEPS | LIGHT | DETACHED),
        ("europarl/small+sinusoidal-anchor", LATE | STEPS | LIGHT | DETACHED),
        ("europarl/small+without-l_p", LATE | STEPS | LIGHT),
        ("europarl/small+without-l_d", {"tpdm-disentangle-weight": "0"}),
        ("multiun/small+as-printed", FULL),
        ("multiun/small+late+5-steps", FULL | LATE | STEPS),
    ],
)
def test_rows_with_l_d_take_what_the_adversary_needs_at_small_scales(system, expected):
    names = LATE | STEPS | LIGHT | DETACHED
    found = {name: words for name, words in flags(made("toy"), system).items() if name in names}
    assert found == expected


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
    of_scale = made(scale)
    (command,) = of_scale.graph[of_scale.checkpoint(system)].commands
    assert command[3:7] == ("--best", "1", "--from-update", least)
