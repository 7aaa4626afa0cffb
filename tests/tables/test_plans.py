"""What the papers' tables come to at all scales: rows, tested checkpoints, estimates."""

import re

import pytest
from support.commands import told
from support.covering import one_in
from support.papers import RUN, TABLES, flags, plan, planned, steps, trained, value, words

from tdo_plugin.evaluation.published import published
from tdo_plugin.evaluation.published.corpus_sizes import COUNTED
from tdo_plugin.experiments.library import PAPERS, find
from tdo_plugin.experiments.tables import PlannedTable

FORM = re.compile(r", (paper's|authors') form$")  # of InstruCL, at the scale full
OURS = {"tdo": [], "opus100": [], "tpdm": [], "tlm": [], "neurons": ["multilingual, trained on"]}


@pytest.mark.parametrize("paper", PAPERS)
def test_there_is_a_table_for_each_of_the_paper(paper: str) -> None:
    counted = {
        reference.partition(":")[2] for reference in COUNTED.values()
    }  # `tdo inspect` has them
    numbers = {table.table for table in published(paper).tables}
    expected = {f"table{number}" for number in numbers - (counted if paper == "tdo" else set())}
    assert expected == {name for name in find(paper).tables if name.startswith("table")}


SCORED = [
    (paper, table)
    for paper, table in TABLES
    if table.startswith("table")
    and find(paper).tables[table].score is not False
    and not (find(paper).tables[table].axes or find(paper).tables[table].cells)  # unit tests
]


@pytest.mark.parametrize(("paper", "name"), SCORED)
def test_rows_are_those_of_the_paper_in_its_order(paper: str, name: str) -> None:
    table = planned(paper, name)
    (printed,) = (p for p in published(paper).tables if f"table{p.table}" == name)
    labels = [row.label for b in table.blocks() for row in table.rows if table.block_of(row) == b]
    unformed = dict.fromkeys(FORM.sub("", label) for label in labels)
    assert [row for row in unformed if row not in OURS[paper]] == [r.name for r in printed.rows]
    if paper == "tdo":
        assert {label for label in labels if FORM.search(label)} == {
            f"{row.name}, {form} form"
            for row in printed.rows
            if "InstruCL" in row.system
            for form in ("paper's", "authors'")
        }
    scores = words(table, "scores")
    assert len({value(sheet, "--out") for sheet in scores}) == len(scores) == len(table.blocks())
    for label in labels:
        assert any(word.startswith(f"{label}=") for sheet in scores for word in sheet), label
    for sheet in scores:
        assert value(sheet, "--protocol") == paper
        assert any(word.startswith(f"{value(sheet, '--baseline')}=") for word in sheet)
    (report,) = words(table, "report")
    assert report[-2:] == ["--published", f"{paper}:{printed.table}"]


SCALES = [
    (paper, name)
    for paper in PAPERS
    for name, scale in find(paper).scales.items()
    if scale.help and name not in ("full", "smoke")
]


@pytest.mark.parametrize(
    ("paper", "scale", "least"),
    one_in(3, [(*scale, least) for scale in SCALES for least in (False, True)]),
)
def test_the_last_update_has_a_checkpoint_to_test(paper: str, scale: str, least: bool) -> None:
    """Only checkpoints of a save interval are averaged, only validated ones are best."""
    step = plan(paper, scale).setting.scope({}, "")
    updates = int(step.value(step["updates_of"])) if least and "updates_of" in step else None
    made = plan(paper, scale, updates=updates)
    for other, table in TABLES:
        if other == paper and made.setting.has(find(paper).tables[table].scales):
            PlannedTable(made, table)
    names = [step.name.removesuffix("/training") for step in made.graph if step.kind == "training"]
    for name in names:
        found = flags(made, name)
        last = int(float(found["max-update"]))
        assert last % int(found["save-interval-updates"]) == 0, name
        chosen = made.system(name).test
        if "--best" in chosen and paper != "tdo":
            assert found["save-interval-updates"] == found["validate-interval-updates"], name
            assert int(found.get("validate-interval", last + 1)) > last, name
    assert len(names) > 20


@pytest.mark.full
def test_estimates_are_of_the_papers_sizes(capsys: pytest.CaptureFixture[str]) -> None:
    def counts(*words: str) -> dict[str, str]:
        said, _ = told(capsys, "reproduce", *words, "--estimate", "--out", RUN)
        lines = (line.split() for line in said.splitlines() if line.startswith("    1 "))
        return {line[1]: line[2] for line in lines}

    tuned = counts("tdo", "table2", "--scale", "full")  # as appendix H of the paper
    assert (tuned["m2m-418m/tdo"], tuned["nllb-600m/tdo"]) == ("282.3M", "413.5M")
    assert counts("tdo", "table4", "--scale", "full")["ted19/tdo-prefix+d-544"] == "68.2M"
    small = counts("tdo", "table2", "--scale", "toy")
    assert len(small) == 6 and not any("original" in name for name in small)
    tlm = [float(count[:-1]) for count in counts("tlm", "table6", "--scale", "full").values()]
    (table,) = (table for table in published("tlm").tables if table.table == "6")
    # of a vocabulary of 10,000, to which the paper's adds some (notes of its table)
    assert tlm == pytest.approx([row.values[0] for row in table.rows], abs=0.35)
    robt, _ = told(capsys, *["reproduce", "opus100", "table7", "--scale", "full", "--estimate"])
    assert len(re.findall(r"(?m)^    1 .*\+robt.* 100,000 ", robt)) == 2  # and not 600,000


def test_what_explains_the_row_with_text_alone() -> None:
    """Each variant is its row's training, with what differs behind it."""
    file = "benchmarks/text_alone.toml"
    systems = trained(planned(file, "text-alone", "toy", updates=500))
    base, with_text = systems.pop("mono/encoder-only"), systems.pop("mono/encoder-only+lm")
    assert {key for key in with_text if with_text[key] != base.get(key)} == {
        *("monolingual", "monolingual-share")
    }
    mixed = {"max-tokens": "250", "update-freq": "4"}
    layout = {"langtoks": '{"main": (None, "tgt")}', "lang-tok-replacing-bos-eos": ""}
    unrebuilt = {"reconstruction-task": "lm", "reconstruction-weight": "0", "source-noise": "none"}
    row, lm = "mono/encoder-only+", "mono/encoder-only+lm+"
    assert {
        name: {key: text for key, text in found.items() if text != origin.get(key)}
        for name, found in systems.items()
        for origin in (with_text if name.startswith(lm) else base,)
    } == {
        f"{row}pairs": {"max-update": "390"},
        f"{lm}pairs+percent=128": {"max-update": "640"},
        f"{row}mixed": mixed,
        f"{lm}mixed": mixed,
        f"{lm}few": {"monolingual-share": "0.05"},
        f"{row}layout": layout,
        f"{lm}layout": layout,
        f"{row}unrebuilt": unrebuilt,
        f"{lm}unrebuilt": unrebuilt,
    }
    # two updates are as few on pairs alone
    assert len(steps(planned(file, "text-alone", "smoke"), "translation")) == 10
