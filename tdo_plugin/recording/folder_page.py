"""`index.html` of a training folder: one self-contained static file."""

from __future__ import annotations

import base64
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

from tdo_plugin.analysis.curves import METRICS, NAMES, Curve
from tdo_plugin.evaluation.report.markup import Markup, details, html_table, tag
from tdo_plugin.evaluation.report.page import static_page
from tdo_plugin.evaluation.report.table import ABSENT, Block, Cell, Column, Row, Table, number
from tdo_plugin.recording.logged_values import LOSSES
from tdo_plugin.recording.runs import FAILED, INTERRUPTED, LOST, Run, options_of
from tdo_plugin.recording.training_folder import TRAINING, TrainingFolder, read_training_folder
from tdo_plugin.runtime.durations import duration
from tdo_plugin.runtime.files import complete_file

PAGE = "index.html"
DRAWN = ("bleu", "accuracy")  # the scores that are drawn; the table has all scores
ROWS = 200  # last updates shown in the table


def write_page(root: Path, from_checkpoint: bool = False) -> TrainingFolder:
    """Write the page of a folder atomically, and return the data that it shows.

    Args:
        root: the training folder.
        from_checkpoint: see `read_training_folder`.

    Raises:
        OSError: a file cannot be read, or the page cannot be written.
        ValueError: a file is damaged.
    """
    folder = read_training_folder(root, from_checkpoint)
    text = page(folder)
    with complete_file(root / PAGE) as stream:
        stream.write(text)
    return folder


def page(folder: TrainingFolder) -> str:
    """Return the complete HTML page."""
    heading = f"Training: {folder.name}"
    return static_page(heading, folder.name, _lead(folder), [*_sections(folder)])


def state_line(folder: TrainingFolder) -> str:
    """Return the training's state and last update as a short text."""
    state = folder.runs[-1].state_now() if folder.runs else ""
    return f"{state or 'state unknown'}, update {folder.updates:,}"


def _lead(folder: TrainingFolder) -> Markup:
    runs = folder.runs
    facts = [state_line(folder)]
    if runs and runs[0].started:
        facts += [f"started {_time(runs[0].started)}", f"{len(runs)} run{'s' * (len(runs) > 1)}"]
    lead = Markup(
        tag("dl", _measures(folder), class_="measures")
        + tag("p", " · ".join(facts), class_="facts")
    )
    problems = []
    if runs and (state := runs[-1].state_now()) in (FAILED, INTERRUPTED, LOST):
        problems.append(f"The last run {'was ' * (state != FAILED)}{runs[-1].outcome()}")
    if folder.problem:
        problems.append(f"There are no scores: {folder.problem}")
    if not problems:
        return lead
    notes = tag("ul", [tag("li", text) for text in problems])
    return Markup(lead + tag("div", notes, class_="alert", role="note"))


def _measures(folder: TrainingFolder) -> Iterator[Markup]:
    """Yield best loss, speed and duration, as far as they are known."""
    if folder.best:
        loss, update = folder.best
        yield _measure("Best validation loss", number(loss, 3), f"bits, update {update:,}")
    if folder.speed:
        yield _measure("Speed", f"{folder.speed:,.0f}", "target tokens per second")
    seconds = [run.seconds() for run in folder.runs]
    if known := [each for each in seconds if each is not None]:
        lost = "" if len(known) == len(seconds) else "without lost runs"
        yield _measure("Duration", duration(sum(known)), lost)


def _measure(name: str, value: str, unit: str) -> Markup:
    return tag("div", tag("dt", name), tag("dd", value, " ", tag("small", unit)))


def _sections(folder: TrainingFolder) -> Iterator[tuple[str, str, list[Markup]]]:
    """Yield key, title and content of each section that is not empty."""
    if folder.losses or folder.scores:
        yield "curves", "Curves", list(_curves(folder))
    yield "next", "Checkpoints", list(_checkpoints(folder))
    if folder.runs:
        last = folder.runs[-1]
        if last.started:
            yield "runs", "Runs", [html_table(_runs_table(folder.runs)), *_changes(folder.runs)]
        options = options_of(folder.runs)
        every = tag("details", tag("summary", f"All {len(options)} options"), details(options))
        yield "settings", "Settings", [tag("p", tag("code", last.command)), every]
        origins = {**last.versions, "commit": last.commit or "unknown"}
        yield "versions", "Versions and machine", [details({**origins, **last.machine})]
        if last.data:
            yield "data", "Data", [details(last.data)]


# --- curves ------------------------------------------------------------------------------------


def _curves(folder: TrainingFolder) -> Iterator[Markup]:
    losses, scores = _measured(folder.losses, LOSSES), _measured(folder.scores, METRICS)
    if find_spec("matplotlib") is None:
        yield tag("p", "No plots: matplotlib is not installed (extra `report`).", class_="small")
    else:
        drawn = [name for name in scores if name in DRAWN]
        pictures = [
            _picture(curves, metrics, title, from_zero)
            for curves, metrics, title, from_zero in (
                (folder.losses, losses, "Losses", False),
                (folder.scores, drawn, "Means over directions at each validation", True),
            )
            if metrics
        ]
        yield tag("div", pictures, class_="figures")
    table = _table(folder, losses, scores)
    yield tag("details", tag("summary", table.title), html_table(table))


def _measured(curves: Mapping[str, Curve], metrics: Iterable[str]) -> list[str]:
    """Return the metrics that occur in any of the curves."""
    present = {name for curve in curves.values() for values in curve.values() for name in values}
    return [name for name in metrics if name in present]


def _picture(
    curves: Mapping[str, Curve], metrics: Sequence[str], title: str, from_zero: bool
) -> Markup:
    from tdo_plugin.analysis.curves import curve_figure
    from tdo_plugin.analysis.figure_files import as_svg

    figure = curve_figure(curves, metrics, "", from_zero)
    data = base64.b64encode(as_svg(figure)).decode()
    image = tag("img", src=f"data:image/svg+xml;base64,{data}", alt=title)
    return tag("figure", image, tag("figcaption", title))


def _table(folder: TrainingFolder, losses: Sequence[str], scores: Sequence[str]) -> Table:
    """Build a row per validation, or per logged update if there were no validations."""
    columns = [
        (name, metric, curve)
        for curves, metrics in ((folder.losses, losses), (folder.scores, scores))
        for name, curve in curves.items()
        for metric in metrics
    ]
    training = folder.losses.get(TRAINING, {})
    validated = {
        update for _, _, curve in columns if curve is not training for update in curve
    } or set(training)
    rows = [
        Row(
            (f"{update:,}",),
            tuple(
                _cell(_at(curve, update, curve is training), metric) for _, metric, curve in columns
            ),
        )
        for update in sorted(validated)[-ROWS:]
    ]
    heads = tuple(Column(name, NAMES[metric]) for name, metric, _ in columns)
    return Table("curves", "The curves as numbers", ("updates",), heads, (Block(tuple(rows)),))


def _at(curve: Curve, update: int, latest: bool) -> Mapping[str, float]:
    """Return a curve's values at an update, or with `latest` the most recent values before."""
    if update in curve or not latest:
        return curve.get(update, {})
    before = [point for point in curve if point < update]
    return curve[before[-1]] if before else {}


def _cell(values: Mapping[str, float], metric: str) -> Cell:
    value = values.get(metric)
    if value is None:
        return Cell(ABSENT)
    return Cell(number(value, 3 if metric in LOSSES else 1), value)


# --- checkpoints and runs ----------------------------------------------------------------------


def _checkpoints(folder: TrainingFolder) -> Iterator[Markup]:
    names = folder.checkpoints
    yield tag("p", ", ".join(names) if names else "No checkpoints yet.")
    if folder.resume:
        yield tag("p", "To resume, start it as before: ", tag("code", folder.resume))
    data = str(options_of(folder.runs).get("data", "DATA")) if folder.runs else "DATA"
    if names:
        place = str(folder.root.resolve())
        words = ["tdo", "translate", data, "--path", place, "--out", "OUTPUT"]
        yield tag("p", "To translate its test sets: ", tag("code", shlex.join(words)))


def _runs_table(runs: Sequence[Run]) -> Table:
    names = ("started", "ended", "state", "updates", "workers", "host")
    rows = []
    for count, run in enumerate(runs, 1):
        machine = [str(run.machine.get(name, "")) for name in ("workers", "host")]
        times = [_time(run.started), _time(run.ended) if run.ended else ABSENT]
        texts = [*times, run.outcome(), f"{run.updates:,}" if run.ended else ABSENT, *machine]
        rows.append(Row((str(count),), tuple(map(Cell, texts))))
    columns = tuple(Column("", name) for name in names)
    return Table("runs", "Runs", ("run",), columns, (Block(tuple(rows)),))


def _changes(runs: Sequence[Run]) -> Iterator[Markup]:
    """Yield what each later run changed compared with the run before."""
    for count, (before, run) in enumerate(pairwise(runs), 2):
        pairs = {
            "options": (options_of(runs[: count - 1]), run.options),
            "versions": (before.versions, run.versions),
            "commit": ({"commit": before.commit}, {"commit": run.commit}),
            "data": (before.data, run.data),
        }
        changed = {
            f"{name} ({what})" if what != name else name: f"{old.get(name)} → {value}"
            for what, (old, new) in pairs.items()
            for name, value in new.items()
            if old.get(name) != value
        }
        if changed:
            yield tag("h3", f"Changed in run {count}")
            yield details(changed)


def _time(text: str) -> str:
    """Format an ISO 8601 time without time zone, with a space between date and time."""
    return text[:19].replace("T", " ")
