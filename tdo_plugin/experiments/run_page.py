"""The page of a run, RUN/report/index.html."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from tdo_plugin.evaluation.report.collection import (
    Collected,
    collection_page,
    links_to,
    pictures_below,
    sheet_below,
)
from tdo_plugin.experiments.plan import Plan
from tdo_plugin.experiments.tables import PAGE, REPORT, label_of, published_beside
from tdo_plugin.runtime.files import complete_file


def write_run_page(plan: Plan) -> Path | None:
    """Write the page of a run folder: its only report, or a page with all of its tables.

    Tables are in the order of the experiment file; those that other files made in the same run
    folder follow.

    Returns:
        The path of the page; None if nothing was made.
    """
    page, document = plan.graph.run / REPORT / PAGE, plan.setting.document
    places = list(_places(document.tables, page.parent))
    if not places:
        return None
    only = places[0][1] / PAGE
    if len(places) == 1 and only.is_file():
        text = only.read_text(encoding="utf-8")
    else:
        reports = [_collected(plan, name, place, page.parent) for name, place in places]
        title = f"{document.title or document.name}: reports ({plan.graph.run.name})"
        text = collection_page(title, reports)
    with complete_file(page) as stream:
        stream.write(text)
    return page


def _places(names: Iterable[str], folder: Path) -> Iterator[tuple[str, Path]]:
    """Each table that has anything to show, and its folder, or those of its blocks."""
    made = {path.parent.name for path in folder.glob("*/*")}
    for name in (*names, *sorted(made.difference(names))):
        blocks = sorted(path.parent for path in folder.glob(f"{name}/*/{PAGE}"))
        for place in blocks or [folder / name]:
            if links_to(place, folder) or pictures_below(place):
                yield name, place


def _collected(plan: Plan, name: str, place: Path, base: Path) -> Collected:
    block = [place.name] if place.name != name else []
    title, published = "", ""
    document = plan.setting.document
    if name in document.tables:
        title = plan.setting.scope({}, f"tables.{name}").text(document.tables[name].title)
        published = published_beside(document, name)
    return Collected(
        ", ".join([label_of(name), *block]),
        sheet_below(place) if (place / PAGE).is_file() else None,
        [published] if published else [],
        pictures_below(place),
        links_to(place, base),
        title,
    )
