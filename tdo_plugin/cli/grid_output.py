"""What `tdo grid collect` scores, prints and writes."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tdo_plugin.errors import UserError
from tdo_plugin.launch.parser import Parser

if TYPE_CHECKING:
    from tdo_plugin.data.databin import DataFolder
    from tdo_plugin.evaluation.score_sheet import ScoreSheet
    from tdo_plugin.grid.cells import Cell, Run
    from tdo_plugin.grid.description import Grid
    from tdo_plugin.grid.folder import RunFolder

SCORED = "scored.json"  # what the score sheet is of


def collect(
    args: argparse.Namespace, grid: Grid, cells: Sequence[Cell], runs: Sequence[Run]
) -> int:
    """Score, print all tables, write them, name the files; 1 where a score is missing."""
    from tdo_plugin.data.databin import read_data_folder
    from tdo_plugin.evaluation.report.text_tables import terminal
    from tdo_plugin.grid.folder import folders
    from tdo_plugin.grid.grid_tables import tables_of, write
    from tdo_plugin.grid.results import gather
    from tdo_plugin.runtime.lock import alone

    axes = _axes(args.best_by, grid)
    data = read_data_folder(args.data.resolve())
    run_folders = folders(grid, runs, args.out.resolve(), data.root, None)
    states = {folder.run.name: _state(folder) for folder in run_folders}
    done = [folder for folder in run_folders if states[folder.run.name] == folder.final]
    if not done:
        raise UserError(
            f"`--out` must have a run that is {run_folders[0].final}; {args.out} has none"
        )
    with alone(args.out):
        sheet = _scored(grid, data, done, args.out.resolve())
        results = gather(
            grid,
            cells,
            {cell: run.name for run in runs for cell in run.cells},
            states,
            {folder.run.name: folder.parameters() for folder in run_folders},
            sheet,
            args.published or grid.published,
        )
        width = shutil.get_terminal_size((100, 24)).columns
        bold = sys.stdout.isatty() and "NO_COLOR" not in os.environ
        for table in tables_of(results, axes):
            print(table.title, "", terminal(table, width, bold), "", table.caption, "", sep="\n")
        for line in _remarks(done, args.published or grid.published, bool(results.published.rows)):
            print(line)
        for path in write(results, axes, args.out.resolve()):
            print(path, flush=True)
    return 1 if sheet.failures or sheet.missing else 0


def _axes(best_by: str | None, grid: Grid) -> list[str]:
    if best_by is None:
        return [] if grid.mean_over else list(grid.axes)
    names = [name.strip() for name in best_by.split(",")]
    for name in names:
        if name not in grid.axes:
            raise UserError(f"`--best-by` must be of {', '.join(grid.axes)}; it has {name}")
    return names


def _state(folder: RunFolder) -> str:
    try:
        return folder.state()
    except UserError:
        return "of other flags or data"


def _scored(grid: Grid, data: DataFolder, done: Sequence[RunFolder], out: Path) -> ScoreSheet:
    """The score sheet of what is done; made anew only where something has changed."""
    from tdo_plugin.cli import score
    from tdo_plugin.evaluation.sheet_reading import read_sheet
    from tdo_plugin.grid.validated import validation_sheet
    from tdo_plugin.runtime.files import sha256, write_text

    if grid.measure == "validation":
        return validation_sheet(data, done)
    words = [f"{folder.run.name}={folder.output}" for folder in done]
    words += ["--data", str(data.root), "--directions", grid.directions]
    words += ["--metrics", ",".join(grid.metrics), "--samples", "0", "--examples", "0"]
    words += ["--out", str(out), *grid.score]
    files = [path for folder in done for path in sorted(folder.output.glob("*.hyp"))]
    of: dict[str, Any] = {"words": words, "files": {str(path): sha256(path) for path in files}}
    mark, sheet = out / SCORED, out / score.SHEET
    if not (sheet.is_file() and mark.is_file() and _read(mark) == of):
        parser = Parser(prog="tdo score")
        score.add_arguments(parser)
        mark.unlink(missing_ok=True)
        with contextlib.redirect_stdout(sys.stderr):
            score.run(parser.parse_args(words))
        write_text(mark, [json.dumps(of, indent=1)])
    return read_sheet(sheet)


def _read(mark: Path) -> Any:
    """What is scored; of a file that is damaged it is not known, so scoring begins anew."""
    from tdo_plugin.typed import read_json

    try:
        return read_json(mark)
    except ValueError:
        return None


def _remarks(done: Sequence[RunFolder], table: str | None, beside: bool) -> list[str]:
    """What does not stand below a table."""
    behind = {tuple(folder.behind()) for folder in done}
    remarks = []
    if len(behind) > 1:
        flags = "; ".join(" ".join(words) or "nothing" for words in sorted(behind))
        remarks.append(f"Not all runs were trained with the same flags behind --: {flags}.")
    if table and not beside:
        remarks.append(f"{table} has no column that was measured.")
    return remarks
