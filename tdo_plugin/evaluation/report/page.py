"""The report as one self-contained HTML file, without network access or other files.

Tables are static HTML; JavaScript draws the figures from data embedded in the page.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Sequence
from importlib.resources import files
from string import Template
from typing import Any

from tdo_plugin.evaluation.report import notes, report_tables
from tdo_plugin.evaluation.report.markup import Markup, details, html_table, tag
from tdo_plugin.evaluation.report.page_data import page_data
from tdo_plugin.evaluation.report.published_comparison import Beside, beside_table
from tdo_plugin.evaluation.report.report_files import languages_of
from tdo_plugin.evaluation.report.table import Table
from tdo_plugin.evaluation.score_sheet import ScoreSheet

NOSCRIPT = (
    '<noscript><p class="alert">The figures and examples require JavaScript; tables do not.</p>'
    "</noscript>"
)
SCRIPTS = ("common", "tables", "heat", "pair", "languages", "examples", "start")


def html_page(sheet: ScoreSheet, besides: Sequence[Beside]) -> str:
    """The complete page."""
    script = "\n".join(_part(f"{name}.js") for name in SCRIPTS)
    data = f'<script type="application/json" id="data">{_embedded(page_data(sheet))}</script>'
    return static_page(
        "Translation report",
        f"Translation report: {', '.join(system.name for system in sheet.systems)}",
        lead(sheet),
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


def lead(sheet: ScoreSheet) -> Markup:
    """The numbers of systems, languages and directions, and what could not be scored."""
    facts = [
        f"{len(sheet.systems)} system{'s' * (len(sheet.systems) != 1)}",
        f"{len(languages_of(sheet))} languages",
        f"{len(sheet.directions)} direction{'s' * (len(sheet.directions) != 1)}",
        *([f"protocol {sheet.protocol}"] if sheet.protocol else []),
    ]
    problems = [*(f"Not scored: {failure}" for failure in sheet.failures), *notes.missing(sheet)]
    alert = [tag("div", _list(problems), class_="alert", role="note")] if problems else []
    return Markup(tag("p", " · ".join(facts), class_="facts") + "".join(alert))


def _sections(
    sheet: ScoreSheet, besides: Sequence[Beside]
) -> Iterable[tuple[str, str, list[Markup]]]:
    """Key, title and content of each non-empty section."""
    summary = html_table(report_tables.summary(sheet))
    yield "scores", "Scores", [summary, small(notes.reading(sheet))]
    if seeds := report_tables.seeds(sheet):
        yield seeds.key, seeds.title, [html_table(seeds), small([seeds.caption])]
    if besides:
        shown = [beside_table(published_table, sheet) for published_table in besides]
        published = [folded(table.title, table, table is shown[0]) for table in shown]
        yield "published", "Comparison with published rows", published
    measured = bool(report_tables.measured_metrics(sheet))
    if measured:
        yield "heat", "Source by target", [_drawn("heat")]
    if measured and len(sheet.systems) > 1:
        compared = report_tables.differences(sheet)
        means = [folded("Means of groups", compared, True)] if compared else []
        yield "pair", "Two systems", [_drawn("pair"), *means]
    if languages := report_tables.languages(sheet):
        means = [folded("Means of groups", languages)]
        yield "languages", languages.title, [_drawn("languages"), *means]
    if measured:
        every = report_tables.by_direction(sheet)
        yield "directions", every.title, [_drawn("directions"), html_table(every)]
    if sheet.examples:
        yield "examples", "Examples", [_drawn("examples")]
    yield "made", "How it was made", list(_provenance(sheet))


def _drawn(key: str) -> Markup:
    """An element for JavaScript to draw into."""
    return tag("div", data_draw=key)


def small(lines: Iterable[str]) -> Markup:
    """Lines below a table."""
    return tag("div", [tag("p", line) for line in lines if line], class_="small")


def folded(title: str, table: Table, opened: bool = False) -> Markup:
    """A collapsible table under its title."""
    shown = html_table(table), small([table.caption])
    return tag("details", tag("summary", title), *shown, open=opened)


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
