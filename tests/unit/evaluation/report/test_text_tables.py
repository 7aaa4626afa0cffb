"""Tables for terminals and as Markdown."""

from support.score_sheets import TABLE, sheet

from tdo_plugin.evaluation.report import report_tables
from tdo_plugin.evaluation.report.table import ABSENT
from tdo_plugin.evaluation.report.text_tables import (
    BOLD,
    PLAIN,
    escape_markdown,
    markdown,
    terminal,
)


def test_terminal_aligns_on_the_last_digit_and_headings_on_their_last_column():
    lines = [
        "                BLEU ↑  TER ↓",
        "system       a  longer      a",
        "─────────────────────────────",
        f"猫_1     9.5▲*       {ABSENT}    1.0",
        "TDO, Table 1",
        "a|b     10.0              2.0",
    ]
    assert terminal(TABLE, 80, bold=False).splitlines() == lines
    line = terminal(TABLE, 80, bold=True).splitlines()[3]
    assert f"{BOLD} 9.5▲{PLAIN}" in line and "*" not in line


def test_terminal_is_cut_between_metrics_where_it_is_narrow():
    table = report_tables.summary(sheet())
    whole, parts = terminal(table, 500, False), terminal(table, 60, False).split("\n\n")
    assert "\n\n" not in whole and len(parts) > 1
    assert max(len(line) for part in parts for line in part.splitlines()) <= 60
    for part in parts:
        assert [line.split()[0] for line in part.splitlines()[-2:]] == ["plain", "few"]
    assert [sum(part.count(name) for part in parts) for name in ("BLEU", "COMET")] == [1, 1]


def test_markdown_has_every_number_and_escapes():
    assert markdown(TABLE).splitlines() == [
        "| system | BLEU ↑ a | BLEU ↑ longer | TER ↓ a |",
        "| --- | ---: | ---: | ---: |",
        rf"| 猫\_1 | **9.5**▲ | {ABSENT} | 1.0 |",
        "| *TDO, Table 1* |  |  |  |",
        r"| a\|b | 10.0 |  | 2.0 |",
    ]
    assert escape_markdown("a_b <c>\n*d*") == r"a\_b \<c\> \*d\*"
