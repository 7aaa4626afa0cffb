"""Several reports on one HTML page, each with its own systems and directions."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tdo_plugin.evaluation.report import notes, report_tables
from tdo_plugin.evaluation.report.markup import Markup, html_table, tag
from tdo_plugin.evaluation.report.page import folded, lead, small, static_page
from tdo_plugin.evaluation.report.published_comparison import beside, beside_table, chosen
from tdo_plugin.evaluation.score_sheet import ScoreSheet


@dataclass(frozen=True)
class Collected:
    """One of the reports.

    Attributes:
        name: the heading.
        sheet: the scores.
        published: papers and tables to compare with, such as `tdo:1`.
        pictures: the report's PNG files.
        link: link to the report's own page, if there is one.
    """

    name: str
    sheet: ScoreSheet
    published: Sequence[str] = ()
    pictures: Sequence[Path] = ()
    link: str | None = None


def collection_page(title: str, reports: Sequence[Collected]) -> str:
    """A self-contained page with tables, published rows and figures of all reports."""
    sections = [
        (f"report-{number}", report.name, _content(report)) for number, report in enumerate(reports)
    ]
    facts = tag("p", f"{len(reports)} report{'s' * (len(reports) != 1)}", class_="facts")
    return static_page(title, title, facts, sections)


def _content(report: Collected) -> list[Markup]:
    sheet = report.sheet
    content = [lead(sheet), html_table(report_tables.summary(sheet)), small(notes.reading(sheet))]
    if seeds := report_tables.seeds(sheet):
        content.append(folded(seeds.title, seeds))
    for key in chosen(report.published, sheet):
        shown = (beside_table(each, sheet) for each in beside(key, sheet))
        content += [folded(f"{table.title}, with the published rows", table) for table in shown]
    content += [_picture(path) for path in report.pictures]
    if report.link:
        content.append(tag("p", tag("a", "Full report", href=report.link)))
    return content


def _picture(path: Path) -> Markup:
    data = base64.b64encode(path.read_bytes()).decode()
    name = re.sub(r"[-_]", " ", f"{path.parent.name}: {path.stem}")
    image = tag("img", src=f"data:image/png;base64,{data}", alt=name)
    return tag("figure", image, tag("figcaption", name))
