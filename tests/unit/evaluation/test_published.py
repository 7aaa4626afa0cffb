"""The papers' figures: complete, well-formed, and those of the papers' texts where these are."""

import re
from itertools import groupby
from pathlib import Path

import pytest

from tdo_plugin.evaluation import published
from tdo_plugin.evaluation.groups import size_groups, standard_groups
from tdo_plugin.evaluation.published.corpus_sizes import corpus_sizes
from tdo_plugin.evaluation.report.quantities import MEASURES

TABLES = {
    "tdo": "1 2 3 4 5 6",
    "opus100": "2 3 4 5 6 7",
    "tpdm": "1 2 3 4 6 7 8",
    "tlm": "2 3 4 5 6 7 8 9",
    "neurons": "1 2 3",
}
EVERY = [f"{key}:{number}" for key, numbers in TABLES.items() for number in numbers.split()]
TOP = {"sentence pairs": 1_000_000}
PERCENT = {*MEASURES, "share (%)"} - {"perplexity"}
EN_X, X_EN, ZERO = "en → X", "X → en", "zero-shot"
UN = ["ar → zh", "zh → ar", "ar → ru", "ru → ar", "zh → ru", "ru → zh"]
UN_ENGLISH = ["ar → en", "en → ar", "ru → en", "en → ru", "zh → en", "en → zh"]
EUROPARL = ["de → fr", "fr → de"]
IWSLT = ["it → en", "en → it", "ro → en", "en → ro", "nl → en", "en → nl", "it → ro", "ro → it"]
TARGETS = ["cs", "el", "es", "fi", "hu", "lt", "lv", "pl", "pt", "sk", "sl", "sv"]

# the papers' texts are not part of the project; they lie beside some checkouts
PAPERS = Path(__file__).parents[4] / "shared" / "papers"
TEXTS = {
    "tdo": "tdo-instrucl.txt",
    "opus100": "opus100-laln-lalt-robt.txt",
    "tpdm": "tpdm.txt",
    "tlm": "tlm.txt",
    "neurons": "neuron-allocation.txt",
}
FOUND = [key for key in EVERY if (PAPERS / TEXTS[key.partition(":")[0]]).is_file()]
QUOTED = "running text"
DIFFERENCES = f"differences in the {QUOTED}"
SLACK = 8  # figures that may stand between two rows: those of the row's other corpus
Figures = list[float]


@pytest.mark.parametrize("key", TABLES)
def test_all_tables_are_there(key):
    paper = published.published(key)
    assert paper.key == key
    assert [table.table for table in paper.tables] == TABLES[key].split()
    assert set(published.paper_keys()) == set(TABLES)


@pytest.mark.parametrize("reference", EVERY)
def test_tables_are_well_formed(reference):
    table = published.table(reference)
    names = [row.name for row in table.rows]
    assert len(set(names)) == len(names)
    assert len(set(table.columns)) == len(table.columns)
    for row in table.rows:
        assert len(row.values) == len(table.columns), row.name
        assert row.label in {"printed", "derived", "analogy"}, row.name
        for column, value in zip(table.columns, row.values, strict=True):
            top = 100 if column.metric in PERCENT else TOP.get(column.metric, 1000)
            assert value is None or 0 < value <= top, (row.name, column)
    lost = all(value is None for row in table.rows for value in row.values)
    assert not lost or "All figures are lost" in table.note


def test_columns_of_our_measures_have_our_groups_names():
    sizes = {"en-sw": 10**6, "en-hi": 10**5, "en-yi": 1}
    directions = [*sizes, *("-".join(reversed(pair.split("-"))) for pair in sizes)]
    standard = standard_groups([*directions, "hi-sw"], directions, "en")
    groups = {*standard, *size_groups(directions, sizes)}
    columns = [column for reference in EVERY for column in published.table(reference).columns]
    used = {column.group for column in columns if column.metric in MEASURES}
    strange = {group for group in used - groups if not re.fullmatch(r"[a-z]{2} → [a-z]{2}", group)}
    # a choice of the paper's, for which there is `--group`
    assert strange == {"en → de, zh, br, te", "de, zh, br, te → en"}


@pytest.mark.parametrize("reference", [key for key in EVERY if key.startswith("opus100")])
def test_figures_of_a_lost_table_name_their_source(reference):
    for row in published.table(reference).rows:
        figures = [value for value in row.values if value is not None]
        assert bool(figures) == bool(row.source), row.name
        assert not figures or row.source.startswith(
            (QUOTED, DIFFERENCES, "bzhangGo/zero, docs/multilingual_laln_lalt")
        )


@pytest.mark.parametrize("number", ["2", "3", "4"])
def test_figures_from_a_quoted_difference_are_that_sum(number):
    """Of one figure of the table and a difference that the text quotes, to two decimals."""
    table = published.table(f"opus100:{number}")
    rows = [row for row in table.rows if row.source and row.source.startswith(DIFFERENCES)]
    figures = {value for row in table.rows for value in row.values}
    text = PAPERS / TEXTS["opus100"]
    for row in rows:
        first, sign, second = row.source.rpartition(": ")[2].split()
        total = float(first) + {"+": 1, "-": -1}[sign] * float(second)
        assert [value for value in row.values if value is not None] == [pytest.approx(total)]
        assert float(first) in figures
        assert not text.is_file() or second in text.read_text(encoding="utf-8")
    assert rows


@pytest.mark.parametrize(("number", "group"), [("3", EN_X), ("4", X_EN)])
def test_size_groups_make_up_the_mean_over_all_pairs(number, group):
    """44 pairs are High, 29 Medium and 21 Low, whatever the paper's text says of their numbers."""
    whole, by_size = published.table(f"opus100:{number}"), published.table("opus100:5")
    for row in by_size.rows:
        total = sum(
            count * by_size.value(row.name, f"{size}: {group}", "bleu")
            for size, count in {"High": 44, "Medium": 29, "Low": 21}.items()
        )
        mean = whole.value(f"without ROBT: {row.system}", group, "bleu")
        assert total / 94 == pytest.approx(mean, abs=0.01), row.name


def test_differences_that_the_text_quotes_of_recomputed_figures():
    """Which says which rows of table 5 these are, and that win ratios count as ours do."""
    table = published.table("opus100:5")
    matt, aware, deep = (
        row.values
        for row in table.rows
        if row.name in ("6 layers, MATT", "6 layers, MATT, LALN, LALT", "12 layers, MATT")
    )

    def gains(values: tuple[float | None, ...]) -> Figures:
        return [after - before for before, after in zip(matt, values, strict=True)]

    assert gains(aware)[:3] == pytest.approx([1.37, 3.11, 5.82], abs=0.011)
    assert sum(gains(deep)[:3]) / 3 == pytest.approx(2.38, abs=0.011)
    assert sum(gains(deep)[3:]) / 3 == pytest.approx(2.31, abs=0.011)
    for number, column, gap in (
        ("3", "en → de, zh, br, te", -0.45),
        ("4", "de, zh, br, te → en", 4.8),
    ):
        four = published.table(f"opus100:{number}")
        deepest = four.value("without ROBT: 24 layers, MATT, LALN, LALT", column, "bleu")
        assert deepest - four.value("bilingual", column, "bleu") == pytest.approx(gap, abs=0.011)
    for number, group, cost in (("3", EN_X, 4.3), ("4", X_EN, 4.7)):
        rows = published.table(f"opus100:{number}")
        costs = [
            rows.value(f"without ROBT: {row.system}", group, "win-ratio") - row.values[2]
            for row in rows.rows
            if row.block == "with ROBT" and row.system != "6 layers"
        ]
        assert sum(costs) / len(costs) == pytest.approx(cost, abs=0.05)  # "about 4"
        assert f"ROBT costs {cost} on average" in rows.note


@pytest.mark.parametrize(
    ("reference", "row", "group", "metric", "value"),
    [
        ("tdo:1", "TED-19, N=6, d=512: encoder-decoder", ZERO, "bleu", 12.32),
        ("tdo:1", "TED-19, N=6, d=512: TDO, prefix, adaptation", X_EN, "bleu", 28.52),
        ("tdo:1", "OPUS-100, N=12, d=512: TDO, prefix, adaptation, InstruCL", ZERO, "chrf", 19.94),
        ("tdo:1", "OPUS-100, N=6, d=1024: decoder-only, prefix", ZERO, "off", 55.67),
        ("tdo:2", "M2M-418M: TDO, prefix, adaptation", EN_X, "comet", 82.62),
        ("tdo:3", "TED-19, N=6, d=512: TDO, prefix, InstruCL at layer 9", ZERO, "bertscore", 79.57),
        ("opus100:2", "24 layers, MATT, LALN, LALT", EN_X, "win-ratio", 92.6),
        ("opus100:2", "24 layers, MATT, LALN, LALT", "en → de, zh, br, te", "bleu", 21.23),
        ("opus100:2", "6 layers", "en → de, zh, br, te", "bleu", 18.95),
        ("opus100:3", "without ROBT: 6 layers", EN_X, "bleu", 19.50),
        ("opus100:3", "bilingual", "en → de, zh, br, te", "bleu", 20.28),
        ("opus100:3", "without ROBT: 6 layers, MATT, LALN, LALT", EN_X, "win-ratio", 78.7),
        ("opus100:4", "with ROBT: 6 layers", "de, zh, br, te → en", "bleu", 22.5),
        ("opus100:5", "12 layers, MATT", "Low: en → X", "bleu", 16.95),
        ("opus100:4", "without ROBT: 24 layers, MATT, LALN, LALT", X_EN, "bleu", 31.36),
        ("opus100:6", "pivot by bilingual models", ZERO, "bleu", 12.98),
        ("opus100:6", "with ROBT: 24 layers, MATT, LALN, LALT", ZERO, "bleu", 14.08),
        ("opus100:6", "without ROBT: 6 layers", ZERO, "accuracy", None),
        ("tpdm:1", "MultiUN: MNMT-TPDM-base", ZERO, "bleu", 31.8),
        ("tpdm:1", "Europarl: MNMT-GTPDM-base", "fr → de", "bleu", 24.3),
        ("tpdm:1", "Europarl: MNMT-GTPDM-base", "ar → zh", "bleu", None),
        ("tpdm:8", "MNMT-TPDM-base", "model", "parameters (M)", 95.696),
        ("tlm:8", "encoder-only", "all", "perplexity", 6.06),
        ("tlm:9", "encoder-only, LM, full mask: BERT noise, schedule 0", "en → ro", "bleu", 26.2),
        ("tlm:9", "encoder-only, LM, full mask: BERT noise, schedule 0", "de → en", "bleu", None),
        ("neurons:1", "neurons, TE", "ro → it", "bleu", 24.76),
        ("neurons:2", "neurons, AV", EN_X, "bleu", 36.66),
    ],
)
def test_known_figures(reference, row, group, metric, value):
    assert published.table(reference).value(row, group, metric) == value


@pytest.mark.parametrize(
    ("block", "last"),
    [("TED-19, N=6, d=512", 9), ("OPUS-100, N=12, d=512", 18), ("OPUS-100, N=6, d=1024", 9)],
)
def test_rows_that_two_tables_share_have_the_same_figures(block, last):
    first, third = published.table("tdo:1"), published.table("tdo:3")
    again = {"TDO, prefix, InstruCL": f"TDO, prefix, InstruCL at layer {last}"}
    for system in ("encoder-decoder", "decoder-only, prefix", "TDO, prefix", *again):
        for column in third.columns:
            twin = third.value(f"{block}: {again.get(system, system)}", column.group, column.metric)
            assert first.value(f"{block}: {system}", column.group, column.metric) == twin


@pytest.mark.parametrize(
    ("reference", "directions", "group"),
    [
        ("tpdm:1", UN, ZERO),
        ("tpdm:6", UN, ZERO),
        ("tpdm:6", UN_ENGLISH, "supervised"),
        *((f"tpdm:{number}", EUROPARL, ZERO) for number in (1, 2, 3, 7)),
        ("neurons:1", IWSLT, "all"),
        ("neurons:2", [f"en → {target}" for target in TARGETS], EN_X),
    ],
)
def test_means_are_those_of_their_directions(reference, directions, group):
    table = published.table(reference)
    compared = 0
    for row in table.rows:
        values = [table.value(row.name, direction, "bleu") for direction in directions]
        if None not in values:
            unit = 0.1 if reference.startswith("tpdm") else 0.01
            mean = sum(values) / len(values)
            assert table.value(row.name, group, "bleu") == pytest.approx(mean, abs=0.501 * unit)
            compared += 1
    assert compared


def test_unknown_papers_and_tables(refused):
    with refused.raised("bert", names="it is bert"):
        published.published("bert")
    with refused.raised("tdo:9", names="it is tdo:9"):
        published.table("tdo:9")
    with pytest.raises(KeyError):
        published.table("tdo:1").value("TDO", ZERO, "bleu")


def runs_of(reference: str) -> list[list[Figures]]:
    """What stands in a row in the text, by runs of such rows that follow each other there."""
    table = published.table(reference)
    rows = [row for row in table.rows if row.source is None]
    if reference.startswith("neurons"):  # this text goes by columns, in an order of its own ...
        values = zip(*(row.values for row in rows), strict=True)
        columns = dict(zip(table.columns, map(list, values), strict=True))
        if reference == "neurons:2":
            return [[column] for column in columns.values()]
        last = [
            columns.pop(published.Column(group, "bleu")) for group in ("all", "ro → it", "it → ro")
        ]
        by_rows = [list(row) for row in zip(*last, strict=True)]  # ... but for the last, by rows
        return [*([column] for column in columns.values()), by_rows]
    blocks = groupby(rows, key=lambda row: row.block if reference == "tpdm:1" else "")
    runs = (
        [[value for value in row.values if value is not None] for row in rows] for _, rows in blocks
    )
    return [[figures for figures in run if figures] for run in runs]


def stands(run: list[Figures], text: Figures, start: int = 0, gap: int | None = None) -> bool:
    """Whether the rows stand in the text, the first anywhere, each other close behind the last."""
    if not run:
        return True
    row, *rest = run
    last = len(text) if gap is None else min(start + gap, len(text))
    return any(
        stands(rest, text, at + len(row), SLACK)
        for at in range(start, last + 1)
        if text[at : at + len(row)] == row
    )


def test_sizes_of_corpora_add_up():
    """To what section 5.1 says: 6.5 and 92 million sentence pairs in both directions."""
    ted, opus = corpus_sizes("ted19", ""), corpus_sizes("opus100", "revised")
    assert ted and opus
    assert (ted.source, len(ted.pairs), sum(ted.pairs.values())) == ("TDO, Table 5", 18, 3_275_728)
    assert (opus.source, len(opus.pairs)) == ("TDO, Table 6", 94)
    assert round(2 * sum(opus.pairs.values()) / 1e6) == 92
    assert corpus_sizes("opus100", "") is None and corpus_sizes("", "") is None


@pytest.mark.parametrize("reference", FOUND)
def test_figures_stand_in_the_text_row_by_row(reference):
    key = reference.partition(":")[0]
    text = (PAPERS / TEXTS[key]).read_text(encoding="utf-8")
    gains = r"\+\d\.\d\d" if key == "neurons" else "$^"  # that text has them between the figures
    decimals = r"\d+\.\d{1,2}" if key == "neurons" else r"\d+\.\d+"  # and no spaces between these
    if reference in ("tdo:5", "tdo:6"):  # sentence pairs
        decimals = r"\d+"
    figures = [float(figure) for figure in re.findall(decimals, re.sub(gains, " ", text))]
    for run in runs_of(reference):
        assert stands(run, figures), run
    for row in published.table(reference).rows:
        if row.source and row.source.startswith(QUOTED):
            assert {value for value in row.values if value is not None} <= set(figures), row.name
