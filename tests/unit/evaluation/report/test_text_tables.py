"""Tables for terminals and as Markdown."""

from support.score_sheets import sheet

from tdo_plugin.evaluation.report import report_tables
from tdo_plugin.evaluation.report.table import ABSENT, Block, Cell, Column, Row, Table
from tdo_plugin.evaluation.report.text_tables import (
    BOLD,
    PLAIN,
    escape_markdown,
    markdown,
    terminal,
)

SMALL = Table(
    "key",
    "Title",
    ("system",),
    (Column("BLEU ↑", "a"), Column("TER ↓", "b")),
    (
        Block((Row(("猫",), (Cell("9.5", 9.5, True, "‡"), Cell(ABSENT))),)),
        Block((Row(("a|b",), (Cell("10.0", 10.0), Cell("1.0", 1.0))),), "TDO, Table 1", True),
    ),
)


def test_terminal_aligns_on_the_last_digit_and_shows_the_best():
    lines = [
        "        BLEU ↑  TER ↓",
        "system       a      b",
        "─────────────────────",
        f"猫       9.5‡*      {ABSENT}",
        "TDO, Table 1",
        "a|b     10.0      1.0",
    ]
    assert terminal(SMALL, 80, bold=False).splitlines() == lines
    line = terminal(SMALL, 80, bold=True).splitlines()[3]
    assert f"{BOLD}  9.5‡{PLAIN}" in line and "*" not in line


def test_what_stands_over_several_columns_ends_with_the_last_of_them():
    columns = [Column(over, name) for over in ("BLEU", "TER") for name in ("a", "longer")]
    cells = tuple(Cell(text) for text in ("1.0", "2.0", "3.0", "4.0"))
    table = Table("key", "", ("",), tuple(columns), (Block((Row(("x",), cells),)),))
    assert terminal(table, 80, bold=False).splitlines() == [
        "          BLEU          TER",
        "     a  longer    a  longer",
        "─" * 27,
        "x  1.0     2.0  3.0     4.0",
    ]


def test_terminal_is_cut_between_metrics_where_it_is_narrow():
    table = report_tables.summary(sheet())
    whole, parts = terminal(table, 500, False), terminal(table, 60, False).split("\n\n")
    assert "\n\n" not in whole and len(parts) > 1
    assert max(len(line) for part in parts for line in part.splitlines()) <= 60
    for part in parts:
        assert [line.split()[0] for line in part.splitlines()[-2:]] == ["plain", "few"]
    assert [sum(part.count(name) for part in parts) for name in ("BLEU", "COMET")] == [1, 1]


def test_markdown_has_every_number_and_escapes():
    assert markdown(SMALL).splitlines() == [
        "| system | BLEU ↑ a | TER ↓ b |",
        "| --- | ---: | ---: |",
        f"| 猫 | **9.5**‡ | {ABSENT} |",
        "| *TDO, Table 1* |  |  |",
        r"| a\|b | 10.0 | 1.0 |",
    ]
    assert escape_markdown("a_b <c>\n*d*") == r"a\_b \<c\> \*d\*"
