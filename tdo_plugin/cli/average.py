"""`tdo average`: write a checkpoint with the averaged parameters of several checkpoints."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

from tdo_plugin.cli.output_file import check_output, make_folder
from tdo_plugin.errors import UserError
from tdo_plugin.runtime.log_lines import without_log_lines

HELP = "average the parameters of several checkpoints into one, which usually translates better"
EXAMPLE = "tdo average --path my-model --best 5 --out my-model/average.pt"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add = parser.add_argument
    add(
        "--path",
        type=Path,
        nargs="+",
        required=True,
        metavar="PATH",
        help="checkpoint files to average, or, with --best or --last, the folder of a training, "
        "system or run",
    )
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument(
        "--best",
        type=int,
        metavar="N",
        help="average the N checkpoints with the best validation loss",
    )
    chosen.add_argument(
        "--last", type=int, metavar="N", help="average the N checkpoints with the most updates"
    )
    add(
        "--from-update",
        type=int,
        default=0,
        metavar="N",
        help="with --best: ignore checkpoints before update N (default 0)",
    )
    add("--out", type=Path, required=True, metavar="FILE", help="the checkpoint to write")
    add("--fresh", action="store_true", help="overwrite the output if it exists")


def run(args: argparse.Namespace) -> int:
    """Choose the checkpoints, average and write them, and print which were averaged."""
    check_output(args.out, args.fresh)
    with without_log_lines():  # reading a checkpoint imports fairseq
        return _run(args)


def _run(args: argparse.Namespace) -> int:
    from tdo_compat.checkpoint import save_whole
    from tdo_plugin.checkpoints import Candidate, average

    if args.from_update and args.best is None:
        raise UserError(f"`--from-update` must come with --best; it is {args.from_update}")
    paths = _choose(args.path, args.best, args.last, args.from_update)
    if os.path.realpath(args.out) in map(os.path.realpath, paths):
        raise UserError(f"`--out` must be none of the inputs; it is {args.out}")
    print(f"averaging {len(paths)} checkpoint{'s' if len(paths) > 1 else ''}", flush=True)

    def progress(candidate: Candidate) -> None:
        loss = "no validation" if candidate.loss is None else f"validation {candidate.loss:.4g}"
        print(f"  {candidate.path}: {candidate.updates} updates, {loss}", flush=True)

    state = average(paths, progress)
    make_folder(args.out)
    save_whole(state, str(args.out))
    print(f"written: {args.out} ({args.out.stat().st_size / 2**20:.1f} MiB)")
    return 0


def _choose(inputs: Sequence[Path], best: int | None, last: int | None, since: int) -> list[Path]:
    from tdo_plugin.checkpoints import best_of, last_of
    from tdo_plugin.evaluation.decoding.decoded_checkpoints import training_of

    folders = [path for path in inputs if path.is_dir()]
    if not folders:
        if best is not None or last is not None:
            option = "--last" if best is None else "--best"
            raise UserError(f"`{option}` must be left out with files, which are all averaged")
        return list(inputs)
    if len(inputs) > 1:
        raise UserError(
            f"`--path` must be one folder or checkpoint files; it mixes {folders[0]} with others"
        )
    if best is not None:
        return best_of(training_of(folders[0]), best, since=since)
    if last is not None:
        return last_of(training_of(folders[0]), last)
    raise UserError(f"`--best` or `--last` must be given with a folder; {folders[0]} is a folder")
