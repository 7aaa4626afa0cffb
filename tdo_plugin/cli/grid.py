"""`tdo grid`: the trainings of a grid of flags, as one command, and their table."""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tdo_compat.errors import tell
from tdo_plugin.cli.command import example
from tdo_plugin.errors import UserError
from tdo_plugin.launch.handed_on_options import device_options, gpus_here, own_and_stock, take_rest

if TYPE_CHECKING:
    from tdo_plugin.grid.cells import Cell, Run
    from tdo_plugin.grid.description import Grid
    from tdo_plugin.grid.folder import RunFolder
    from tdo_plugin.grid.running import Plan

HELP = "train, translate and score every cell of a grid of flags"
LIST = "print the trainings that a grid comes to, with their numbers and cells"
RUN = "train and translate what is not done yet; flags of fairseq-train stand behind --"
SLURM = "write a Slurm script whose array tasks make one run each"
COLLECT = "score what is translated: one table of all cells, and the best for each value"
EXAMPLES = {
    "list": "tdo grid list configs/quickstart/grid.json",
    "run": "tdo grid run configs/quickstart/grid.json my-data --out my-grid --workers 2",
    "slurm": "tdo grid slurm configs/quickstart/grid.json my-data --out my-grid --at-most 4",
    "collect": "tdo grid collect configs/quickstart/grid.json my-data --out my-grid",
}
EXAMPLE = EXAMPLES["run"]

# flags behind `--` that would undo what the runner sets
MANAGED = (
    *("--save-dir", "--dry-run", "--cpu", "--gpus", "--nodes", "--rendezvous", "--slurm"),
    *("--workers", "--sbatch", "--distributed-world-size"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what can be done with a grid."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for name, text, declare in (
        ("list", LIST, _grid),
        ("run", RUN, _running),
        ("slurm", SLURM, _slurm),
        ("collect", COLLECT, _collect),
    ):
        action = actions.add_parser(name, help=text, description=text)
        action.epilog = example(EXAMPLES[name])
        declare(action)


def _grid(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("grid", type=Path, metavar="GRID", help="a JSON file (docs/grid.md)")


def _places(parser: argparse.ArgumentParser) -> None:
    _grid(parser)
    data = "folder that tdo prepare or preprocess made"
    parser.add_argument("data", type=Path, metavar="DATA", help=data)


def _each(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", type=Path, metavar="RUN", help="folder of all runs (required)")
    device_options(parser)
    parser.add_argument(
        "--gpus-each", type=int, default=1, metavar="N", help="GPUs of one run (default 1)"
    )


def _running(parser: argparse.ArgumentParser) -> None:
    _places(parser)
    _run_options(parser)
    take_rest(parser, "fairseq-train behind --")


def _run_options(parser: argparse.ArgumentParser) -> None:
    _each(parser)
    add = parser.add_argument
    add(
        "--workers",
        type=int,
        metavar="N",
        help="runs at a time (default: as many as have GPUs of their own; on the CPU 1)",
    )
    add("--only", metavar="CELL,...", help="the runs of these cells")
    add("--task", type=int, metavar="K", help="the run of this number, as a Slurm task")
    add(
        "--fresh",
        action="store_true",
        help="remove runs of other flags or data than now, and train them anew",
    )
    add("--dry-run", action="store_true", help="only print the commands")


def _slurm(parser: argparse.ArgumentParser) -> None:
    _places(parser)
    _slurm_options(parser)
    take_rest(parser, "fairseq-train behind --")


def _slurm_options(parser: argparse.ArgumentParser) -> None:
    _each(parser)
    add = parser.add_argument
    add("--at-most", type=int, metavar="N", help="tasks at a time (default: as Slurm likes)")
    add(
        "--sbatch",
        action="append",
        metavar="OPTION",
        help="a further option of sbatch, as --sbatch=--time=24:00:00; may be repeated",
    )


def _collect(parser: argparse.ArgumentParser) -> None:
    _places(parser)
    add = parser.add_argument
    add("--out", type=Path, required=True, metavar="RUN", help="folder of all runs")
    add(
        "--best-by",
        metavar="AXIS,...",
        help="axes for whose values the best cell is shown (default: all, or none where the grid "
        "has means)",
    )
    add(
        "--published",
        metavar="PAPER:TABLE",
        help="a paper's table to set beside, such as tlm:9 (default: the grid's)",
    )


def run(args: argparse.Namespace) -> int:
    """Do what the action says; 1 where a run failed or a score is missing."""
    from tdo_plugin.grid.cells import cells_of, runs_of
    from tdo_plugin.grid.description import read_grid

    grid = read_grid(args.grid)
    cells = cells_of(grid)
    runs = runs_of(cells)
    if args.action == "list":
        return _list(cells, runs)
    if args.action == "collect":
        from tdo_plugin.cli.grid_output import collect

        _check_options(grid)
        return collect(args, grid, cells, runs)
    options, act = {"run": (_run_options, _run), "slurm": (_slurm_options, _script)}[args.action]
    behind = _behind(args, options)
    if args.out is None:
        raise UserError("`--out` must name the folder of all runs; it is missing")
    _check_options(grid)
    if grid.measure == "validation":
        from tdo_plugin.grid.validated import check_validated

        check_validated(runs, behind)
    return act(args, grid, runs, behind)


def _list(cells: Sequence[Cell], runs: Sequence[Run]) -> int:
    for number, run in enumerate(runs):
        other_cells = f"  = {', '.join(run.cells[1:])}" if run.cells[1:] else ""
        print(f"{number:4}  {run.name}{other_cells}")
    print(f"{len(cells)} cells, {len(runs)} trainings")
    return 0


def _behind(
    args: argparse.Namespace, declare: Callable[[argparse.ArgumentParser], None]
) -> list[str]:
    """Read the options before `--` into `args`; what is behind it is for fairseq-train.

    Raises:
        UserError: an option that there is not, or a flag that the runner sets.
    """
    words = list(args.rest)
    grid_words = words[: words.index("--")] if "--" in words else words
    behind = words[len(grid_words) + 1 :]
    args.rest = grid_words
    if unknown := own_and_stock(args, declare):
        raise UserError(
            f"`{unknown[0]}` must be an option of tdo grid {args.action}, or stand behind -- as a "
            "flag of fairseq-train"
        )
    for word in behind:
        if word.partition("=")[0] in MANAGED:
            raise UserError(f"`{word}` must be left out behind --: tdo grid sets it")
    return behind


def _check_options(grid: Grid) -> None:
    """Read the options of translating and scoring before days of training.

    Raises:
        UserError: they are not options of these commands.
    """
    from tdo_plugin.cli import score, translate

    class Parser(argparse.ArgumentParser):
        def error(self, message: str) -> None:  # type: ignore[override]
            raise UserError(f"`{self.prog}` must be options of tdo {self.prog}: {message}")

    needed = {"translate": ["DATA", "--path", "P", "--out", "O"], "score": ["--out", "O"]}
    for module, words in ((translate, grid.translate), (score, grid.score)):
        name = module.__name__.rpartition(".")[2]
        parser = Parser(prog=name, add_help=False)
        module.add_arguments(parser)
        parser.parse_args([*needed[name], *words])


def _run(args: argparse.Namespace, grid: Grid, runs: tuple[Run, ...], behind: Sequence[str]) -> int:
    from tdo_plugin.data.databin import read_data_folder
    from tdo_plugin.grid.cells import chosen_runs
    from tdo_plugin.grid.folder import folders
    from tdo_plugin.grid.running import Plan, check, deal, run_all
    from tdo_plugin.launch.environment import threads_each

    if args.task is not None and args.only:
        raise UserError(f"`--task` must be left out with --only; it is {args.task}")
    data = read_data_folder(args.data.resolve())
    data.select(grid.directions, option="directions")
    chosen = chosen_runs(runs, args.only, args.task)
    gpus, workers = _machine(args, len(chosen))
    threads = None if gpus else threads_each(workers)
    plan = Plan(data.root, tuple(behind), deal(workers, gpus, args.gpus_each), threads, args.fresh)
    run_folders = folders(grid, chosen, args.out.resolve(), data.root, behind)
    if args.dry_run:
        return _show(run_folders, plan)
    check(run_folders, args.fresh)
    begun = time.monotonic()

    def say(line: str) -> None:
        seconds = int(time.monotonic() - begun)
        print(f"[{seconds // 60:3}:{seconds % 60:02}] {line}", flush=True)

    say(
        f"{len(run_folders)} runs, {workers} at a time, "
        f"{f'{gpus} GPU(s)' if gpus else 'on the CPU'}"
    )
    troubles = run_all(run_folders, plan, say)
    say(f"{len(run_folders) - len(troubles)} of {len(run_folders)} runs are done")
    for name, why in troubles.items():
        tell(f"error: {name}: {why}")
    return 1 if troubles else 0


def _machine(args: argparse.Namespace, runs: int) -> tuple[int, int]:
    """GPUs to use, and runs at a time.

    Raises:
        UserError: numbers that make no sense.
    """
    _at_least_one(args, "workers", "gpus_each")
    gpus = gpus_here(args)
    if args.gpus_each > max(1, gpus):
        raise UserError(f"`--gpus-each` must be at most {max(1, gpus)}; it is {args.gpus_each}")
    return gpus, min(args.workers or max(1, gpus // args.gpus_each), runs)


def _at_least_one(args: argparse.Namespace, *options: str) -> None:
    for option in options:
        value = getattr(args, option)
        if value is not None and value < 1:
            raise UserError(f"`--{option.replace('_', '-')}` must be at least 1; it is {value}")


def _show(run_folders: Sequence[RunFolder], plan: Plan) -> int:
    for folder in run_folders:
        gpus = len(plan.slots[0])
        try:
            state = folder.state()
        except UserError as error:
            state = str(error)
        print(f"{folder.run.name}: {state}")
        for words in plan.commands(folder, gpus):
            print(f"+ tdo {shlex.join(words)}")
    return 0


def _script(
    args: argparse.Namespace, grid: Grid, runs: Sequence[Run], behind: Sequence[str]
) -> int:
    from tdo_plugin.data.databin import read_data_folder
    from tdo_plugin.grid.grid_script import TASK, sbatch_script
    from tdo_plugin.runtime.files import write_text

    _at_least_one(args, "at_most", "gpus_each")
    if args.gpus is not None:
        raise UserError("`--gpus` must be left out of tdo grid slurm, which has --gpus-each")
    if args.cpu and args.gpus_each > 1:
        raise UserError(f"`--gpus-each` must be left out with --cpu; it is {args.gpus_each}")
    data = read_data_folder(args.data.resolve())
    out = args.out.resolve()
    gpus = 0 if args.cpu else args.gpus_each
    words = [sys.executable, "-m", "tdo_plugin", "grid", "run", str(args.grid.resolve())]
    words += [str(data.root), "--out", str(out), "--task", TASK, "--workers", "1"]
    words += ["--gpus", str(gpus), "--gpus-each", str(gpus)] if gpus else ["--cpu"]
    words += ["--", *behind] if behind else []
    log = str(out / "slurm-%a.log")
    script = out / "slurm.sh"
    out.mkdir(parents=True, exist_ok=True)
    text = sbatch_script(
        grid.path.stem, len(runs), log, words, gpus, args.at_most, args.sbatch or ()
    )
    write_text(script, text.split("\n"))
    print(f"sbatch {shlex.quote(str(script))}")
    return 0
