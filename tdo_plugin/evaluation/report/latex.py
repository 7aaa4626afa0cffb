"""Tables for a paper: LaTeX that only requires booktabs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tdo_plugin.evaluation.report.table import ABSENT, BETTER, MINUS, WORSE, Cell, Row, Table

ESCAPES = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        **{char: "\\" + char for char in "&%$#_{}"},
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        # after the end of a row these would be read as its options
        **{char: f"{{{char}}}" for char in "[]*"},
        "ρ": r"$\rho$",  # noqa: RUF001 (in the neuron allocation paper's rows)
        "±": r"$\pm$",
        "→": r"$\rightarrow$",
        "↑": r"$\uparrow$",
        "↓": r"$\downarrow$",
        MINUS: r"$-$",
        ABSENT: "--",
        BETTER: r"\textsuperscript{$\bigtriangleup$}",
        WORSE: r"\textsuperscript{$\bigtriangledown$}",
        "“": "``",
        "”": "''",
        "\n": " ",
    }
)


def escape(text: str) -> str:
    """Escape text for LaTeX."""
    return text.translate(ESCAPES)


def latex(table: Table, lines: Iterable[str]) -> str:
    """A `table*` environment, with its title and the lines below it as the caption."""
    caption = " ".join((f"{table.title}.", *lines))
    columns = "l" * len(table.heads) + "r" * len(table.columns)
    body = [
        r"\begin{table*}",
        r"\centering",
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        *_headings(table),
        r"\midrule",
        *_rows(table),
        r"\bottomrule",
        r"\end{tabular}",
        rf"\caption{{{escape(caption)}}}",
        rf"\label{{tab:{table.key}}}",
        r"\end{table*}",
    ]
    return "\n".join(body) + "\n"


def _headings(table: Table) -> Iterator[str]:
    if any(column.over for column in table.columns):
        first = len(table.heads) + 1
        cells, rules = [""] * len(table.heads), []
        for over, count in table.spans():
            cells.append(rf"\multicolumn{{{count}}}{{c}}{{{escape(over)}}}")
            rules.append(rf"\cmidrule(lr){{{first}-{first + count - 1}}}")
            first += count
        yield _line(cells)
        yield " ".join(rules)
    yield _line([escape(name) for name in (*table.heads, *(c.name for c in table.columns))])


def _rows(table: Table) -> Iterator[str]:
    width = len(table.heads) + len(table.columns)
    for index, block in enumerate(table.blocks):
        if index:
            yield r"\midrule"
        if block.title:
            title = rf"\textit{{{escape(block.title)}}}"
            yield _line([rf"\multicolumn{{{width}}}{{l}}{{{title}}}"])
        for row in block.rows:
            yield _row(row)


def _row(row: Row) -> str:
    return _line([*(escape(label) for label in row.labels), *map(_cell, row.cells)])


def _cell(cell: Cell) -> str:
    text = escape(cell.text)
    return (rf"\textbf{{{text}}}" if cell.best else text) + escape(cell.mark)


def _line(cells: list[str]) -> str:
    return " & ".join(cells) + r" \\"
