"""Tables for papers: escaped, every row as wide as the table."""

import re

import pytest
from support.score_sheets import TABLE, sheet

from tdo_plugin.evaluation.report.latex import escape, latex
from tdo_plugin.evaluation.report.table import MINUS
from tdo_plugin.evaluation.report.write import latex_report


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("a&b_c#1 $5 {x} 100%", r"a\&b\_c\#1 \$5 \{x\} 100\%"),
        ("\\~^", r"\textbackslash{}\textasciitilde{}\textasciicircum{}"),
        ("en → X", r"en $\rightarrow$ X"),
        (f"[{MINUS}1, *]", r"{[}$-$1, {*}{]}"),
        ("two\nlines", "two lines"),
    ],
)
def test_escape(text, escaped):
    assert escape(text) == escaped


def test_a_table_in_full():
    assert latex(TABLE, [TABLE.caption]).splitlines() == [
        r"\begin{table*}",
        r"\centering",
        r"\begin{tabular}{lrrr}",
        r"\toprule",
        r" & \multicolumn{2}{c}{BLEU $\uparrow$} & \multicolumn{1}{c}{TER $\downarrow$} \\",
        r"\cmidrule(lr){2-3} \cmidrule(lr){4-4}",
        r"system & a & longer & a \\",
        r"\midrule",
        r"猫\_1 & \textbf{9.5}\textsuperscript{$\bigtriangleup$} & -- & 1.0 \\",
        r"\midrule",
        r"\multicolumn{4}{l}{\textit{TDO, Table 1}} \\",
        r"a\textbar{}b & 10.0 &  & 2.0 \\",
        r"\bottomrule",
        r"\end{tabular}",
        r"\caption{Title. How to read it.}",
        r"\label{tab:key}",
        r"\end{table*}",
    ]


def test_the_report_is_ascii_with_whole_rows_and_says_what_is_missing():
    text = latex_report(sheet(), [])
    assert text.isascii()
    assert "COMET is missing: unbabel-comet is not installed." in text
    for body in re.findall(r"\\begin\{tabular\}\{(\w+)\}\n(.*?)\\end\{tabular\}", text, re.DOTALL):
        columns, rows = len(body[0]), re.findall(r"^(.*) \\\\$", body[1], re.MULTILINE)
        assert rows
        for row in rows:
            spans = [int(width) for width in re.findall(r"\\multicolumn\{(\d+)\}", row)]
            cells = len(re.split(r"(?<!\\)&", row))
            assert cells - len(spans) + sum(spans) == columns, row
    assert text.count("{") == text.count("}") and text.count("$") % 2 == 0
