"""The report as text: for a terminal and as Markdown."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from tdo_plugin.evaluation.results import Report


def summary(report: Report) -> list[list[str]]:
    """Header and one row a system: BLEU, chrF++ and off-target share of every group."""
    rows = [["system", *(f"{group}: BLEU / chrF++ / off" for group in report.groups)]]
    for name in report.systems:
        cells = []
        for group in report.groups:
            means = report.means(name, group)
            cells.append("-" if means is None else _cell(means.bleu, means.chrf, means.off))
        rows.append([name, *cells])
    return rows


def per_direction(report: Report) -> list[list[str]]:
    """Header and one row a direction, a column for each system."""
    rows = [["direction", "kind", *(f"{name}: BLEU / chrF++ / off" for name in report.systems)]]
    for index, first in enumerate(next(iter(report.systems.values()))):
        cells = [
            _cell(results[index].score.bleu, results[index].score.chrf, results[index].off)
            for results in report.systems.values()
        ]
        rows.append([first.direction.replace("-", " → "), first.group, *cells])
    return rows


def _cell(bleu: float, chrf: float, off: float | None) -> str:
    return f"{bleu:.1f} / {chrf:.1f} / " + ("-" if off is None else f"{off:.1f} %")


def notes(report: Report) -> list[str]:
    """What the numbers are: means, signatures, languages left out."""
    counts = [
        f"{group}: {means.directions}"
        for group in report.groups
        if (means := report.means(next(iter(report.systems)), group))
    ]
    lines = [
        f"Means over directions ({', '.join(counts)}); off: hypotheses that are not in the target "
        "language.",
        *(f"Signature: {signature}" for signature in report.signatures()),
        f"Language identification: {report.lid_signature}",
    ]
    if report.not_covered:
        lines.append(
            "Not known to the language identification, without an off-target share: "
            + ", ".join(report.not_covered)
        )
    return lines


def terminal(rows: Sequence[Sequence[str]]) -> str:
    """Columns aligned with spaces, a line under the header."""
    widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(c + " " * (w - _width(c)) for c, w in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    return "\n".join([lines[0], "-" * (sum(widths) + 2 * len(widths) - 2), *lines[1:]])


def _width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]])


def markdown_report(report: Report) -> str:
    """The whole report as one Markdown document."""
    return (
        "\n\n".join(
            [
                "# Results",
                markdown(summary(report)),
                "\n".join(f"- {line}" for line in notes(report)),
                "## Every direction",
                markdown(per_direction(report)),
            ]
        )
        + "\n"
    )
