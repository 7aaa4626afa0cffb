"""Several reports on one HTML page, each with its own systems and directions."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tdo_plugin.evaluation.report import report_tables
from tdo_plugin.evaluation.report.markup import Markup, tag
from tdo_plugin.evaluation.report.page import folded, lead, static_page, whole
from tdo_plugin.evaluation.report.published_comparison import beside, beside_table, chosen
from tdo_plugin.evaluation.score_sheet import ScoreSheet, merge
from tdo_plugin.evaluation.sheet_reading import read_sheet

LINKED = {"Full report": "index.html", "Grid": "grid.md"}  # files of a report's folder


@dataclass(frozen=True)
class Collected:
    """One of the reports.

    Attributes:
        name: the heading.
        sheet: the scores; None for figures only.
        published: papers and tables to compare with, such as `tdo:1`.
        pictures: the report's PNG files.
        links: links to files of the report, by name.
        title: a line below the heading.
    """

    name: str
    sheet: ScoreSheet | None
    published: Sequence[str] = ()
    pictures: Sequence[Path] = ()
    links: Mapping[str, str] = field(default_factory=dict)
    title: str = ""


def sheet_below(folder: Path) -> ScoreSheet | None:
    """The score sheets in a folder and its subfolders as one; None if there are none.

    Raises:
        UserError: an invalid sheet, or sheets that do not fit together.
    """
    sheets = [read_sheet(path) for path in sorted(folder.rglob("scores.json"))]
    return merge(sheets) if sheets else None


def pictures_below(folder: Path) -> list[Path]:
    """The figures in a folder and its subfolders, without heat maps, which a page draws itself."""
    return [path for path in sorted(folder.rglob("*.png")) if not path.name.startswith("heatmap-")]


def links_to(folder: Path, base: Path) -> dict[str, str]:
    """The pages and texts of a report's folder, by name, as links from the folder `base`."""
    files = {name: folder / file for name, file in LINKED.items()}
    files |= {path.stem: path for path in sorted(folder.glob("*.txt"))}
    return {
        name: os.path.relpath(path.resolve(), base)
        for name, path in files.items()
        if path.is_file()
    }


def collection_page(title: str, reports: Sequence[Collected]) -> str:
    """A self-contained page with tables, published rows and figures of all reports."""
    sections = [
        (f"report-{number}", report.name, _content(report)) for number, report in enumerate(reports)
    ]
    facts = tag("p", f"{len(reports)} report{'s' * (len(reports) != 1)}", class_="facts")
    return static_page(title, title, facts, sections)


def _content(report: Collected) -> list[Markup]:
    content = [tag("p", report.title)] if report.title else []
    content += _scores(report.sheet, report.published) if report.sheet else []
    content += [_picture(path) for path in report.pictures]
    links = report.links.items()
    return content + [tag("p", tag("a", title, href=link)) for title, link in links]


def _scores(sheet: ScoreSheet, published: Sequence[str]) -> list[Markup]:
    content = [lead(sheet), *whole(sheet, report_tables.summary(sheet))]
    if seeds := report_tables.seeds(sheet):
        content.append(folded(sheet, seeds.title, seeds))
    for key in chosen(published, sheet):
        shown = (beside_table(each, sheet) for each in beside(key, sheet))
        content += [
            folded(sheet, f"{table.title}, with the published rows", table) for table in shown
        ]
    return content


def _picture(path: Path) -> Markup:
    data = base64.b64encode(path.read_bytes()).decode()
    name = re.sub(r"[-_]", " ", f"{path.parent.name}: {path.stem}")
    image = tag("img", src=f"data:image/png;base64,{data}", alt=name)
    return tag("figure", image, tag("figcaption", name))
