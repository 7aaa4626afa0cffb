"""The report as one self-contained HTML file, without network access or other files.

Tables are static HTML; JavaScript draws the figures from data embedded in the page.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from tdo_plugin.evaluation.report import notes, report_tables
from tdo_plugin.evaluation.report.markup import Markup, details, html_table, tag
from tdo_plugin.evaluation.report.page_data import page_data
from tdo_plugin.evaluation.report.published_comparison import Beside, beside_table
from tdo_plugin.evaluation.report.report_files import languages_of
from tdo_plugin.evaluation.report.table import Table
from tdo_plugin.evaluation.report.verdict import recommended, verdict
from tdo_plugin.evaluation.score_sheet import ScoreSheet
from tdo_plugin.metrics.language_id.language_names import language_name

NOSCRIPT = (
    '<noscript><p class="alert">The figures and examples require JavaScript; tables do not.</p>'
    "</noscript>"
)
SCRIPTS = ("common", "tables", "heat", "pair", "languages", "examples", "start")
NAMED_LANGUAGES = 12  # maximum number of languages that are named at the top


@dataclass(frozen=True)
class About:
    """What a report is about.

    Attributes:
        title: title of the text or experiment; empty for the name of the data folder.
        run: the run folder that the report belongs to, if any.
    """

    title: str = ""
    run: Path | None = None

    def heading(self, sheet: ScoreSheet) -> str:
        """The heading of the report."""
        folders = (system.provenance.get("data") for system in sheet.systems)
        data = next((Path(folder) for folder in folders if isinstance(folder, str)), Path())
        name = f"{data.parent.name}/{data.name}" if data.name == "data" else data.name
        return f"{self.title or name or 'Translations'}: report"


def html_page(sheet: ScoreSheet, besides: Sequence[Beside], about: About) -> str:
    """The complete page."""
    script = "\n".join(_part(f"{name}.js") for name in SCRIPTS)
    content = page_data(sheet, recommended(sheet))
    data = f'<script type="application/json" id="data">{_embedded(content)}</script>'
    heading = about.heading(sheet)
    return static_page(
        heading,
        f"{heading} ({about.run.name})" if about.run else heading,
        lead(sheet, about.run),
        list(_sections(sheet, besides)),
        policy=f"; script-src '{_digest(script)}'",
        warning=Markup(NOSCRIPT),
        scripts=Markup(f"{data}\n<script>{script}</script>"),
    )


def static_page(
    heading: str,
    title: str,
    facts: Markup,
    sections: Sequence[tuple[str, str, Sequence[Markup]]],
    policy: str = "",
    warning: str = "",
    scripts: str = "",
) -> str:
    """A page of sections (key, title and content of each), with optional scripts."""
    style = _part("style.css")
    links = [tag("li", tag("a", name, href=f"#{key}")) for key, name, _ in sections]
    return Template(_part("page.html")).substitute(
        policy=f"default-src 'none'; img-src data:; style-src '{_digest(style)}'{policy}",
        title=tag("title", title),
        heading=tag("h1", heading),
        lead=facts,
        navigation=tag("nav", tag("ul", links), aria_label="Sections"),
        sections="\n".join(
            tag("section", tag("h2", name), content, id=key) for key, name, content in sections
        ),
        style=style,
        warning=warning,
        scripts=scripts,
    )


def _part(name: str) -> str:
    return (files(__package__) / "page" / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    """The hash with which a content security policy allows an inline script or style."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _embedded(data: Any) -> str:
    """JSON that cannot end its HTML element."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c")


def lead(sheet: ScoreSheet, run: Path | None = None) -> Markup:
    """The verdict, what was compared, and what could not be scored."""
    codes = languages_of(sheet)
    named = ", ".join(f"{code}: {language_name(code)}" for code in codes)
    facts = [
        *([f"run {run}"] if run else []),
        f"{len(sheet.systems)} system{'s' * (len(sheet.systems) != 1)}",
        f"{len(codes)} languages" + (f" ({named})" if 0 < len(codes) <= NAMED_LANGUAGES else ""),
        f"{len(sheet.directions)} direction{'s' * (len(sheet.directions) != 1)}",
        *([f"protocol {sheet.protocol}"] if sheet.protocol else []),
    ]
    judged = [[tag("dt", heading), tag("dd", text)] for heading, text in verdict(sheet)]
    problems = [*(f"Not scored: {failure}" for failure in sheet.failures), *notes.missing(sheet)]
    alert = [tag("div", _list(problems), class_="alert", role="note")] if problems else []
    shown = [tag("dl", *judged, class_="verdict")] if judged else []
    return Markup("".join([*shown, tag("p", " · ".join(facts), class_="facts"), *alert]))


def _sections(
    sheet: ScoreSheet, besides: Sequence[Beside]
) -> Iterable[tuple[str, str, list[Markup]]]:
    """Key, title and content of each non-empty section."""
    summary = report_tables.summary(sheet)
    yield summary.key, summary.title, whole(sheet, summary)
    if seeds := report_tables.seeds(sheet):
        yield seeds.key, seeds.title, whole(sheet, seeds)
    if besides:
        shown = [beside_table(published_table, sheet) for published_table in besides]
        published = [folded(sheet, table.title, table, table is shown[0]) for table in shown]
        yield "published", "Comparison with published rows", published
    measured = bool(report_tables.measured_metrics(sheet))
    if measured:
        yield "heat", "Source by target", [_drawn("heat")]
    if measured and len(sheet.systems) > 1:
        compared = report_tables.differences(sheet)
        means = [folded(sheet, "Means of groups", compared, True)] if compared else []
        yield "pair", "Two systems", [_drawn("pair"), *means]
    if languages := report_tables.languages(sheet):
        means = [folded(sheet, "Means of groups", languages)]
        yield "languages", languages.title, [_drawn("languages"), *means]
    if measured:
        every = report_tables.by_direction(sheet)
        yield "directions", every.title, [_drawn("directions"), *whole(sheet, every)]
    if sheet.examples:
        yield "examples", "Examples", [_drawn("examples")]
    yield "made", "How it was made", list(_provenance(sheet))


def _drawn(key: str) -> Markup:
    """An element for JavaScript to draw into."""
    return tag("div", data_draw=key)


def small(lines: Iterable[str]) -> Markup:
    """Lines below a table."""
    return tag("div", [tag("p", line) for line in lines], class_="small")


def whole(sheet: ScoreSheet, table: Table) -> list[Markup]:
    """A table and the lines below it."""
    return [html_table(table), small(notes.below(sheet, table))]


def folded(sheet: ScoreSheet, title: str, table: Table, opened: bool = False) -> Markup:
    """A collapsible table under its title."""
    return tag("details", tag("summary", title), whole(sheet, table), open=opened)


def _list(lines: Iterable[str]) -> Markup:
    return tag("ul", [tag("li", line, dir="auto") for line in lines])


def _provenance(sheet: ScoreSheet) -> Iterable[Markup]:
    if lines := notes.remarks(sheet):
        yield tag("h3", "Notes")
        yield _list(lines)
    if signatures := notes.signatures(sheet):
        yield tag("h3", "Signatures")
        rows = [[tag("dt", name), tag("dd", tag("code", text))] for name, text in signatures]
        yield tag("dl", *rows, class_="details")
    yield tag("h3", "Systems")
    for system in sheet.systems:
        unknown = "Unknown: these hypotheses are not from tdo translate."
        content = details(system.provenance) if system.provenance else tag("p", unknown)
        yield tag("details", tag("summary", tag("bdi", system.name)), content)
    if sheet.made_by:
        yield tag("details", tag("summary", "The scoring"), details(sheet.made_by))
