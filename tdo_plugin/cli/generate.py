"""`tdo generate`: decode directions with the stock `fairseq-generate`, several at a time."""

from __future__ import annotations

import argparse
import shlex
import time
from pathlib import Path

from tdo_plugin.errors import UserError
from tdo_plugin.launch.handed_on_options import (
    gpus_here,
    machine_options,
    own_and_stock,
    precision_here,
    take_rest,
)

HELP = "decode test sets: prints a fairseq-generate command for each direction, then runs them"
EXAMPLE = "tdo generate configs/own-data/tdo-instrucl.conf my-data my-model/average.pt my-output"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add("config", type=Path, metavar="CONFIG", help="the config that the model was trained with")
    add("data", type=Path, metavar="DATA", help="folder that tdo prepare or preprocess made")
    add("checkpoint", type=Path, metavar="CHECKPOINT", help="the model")
    add("out", type=Path, metavar="OUT", help="folder for OUT/SOURCE-TARGET/generate-test.txt")
    _options(parser)
    take_rest(parser, "fairseq-generate")


def _options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--directions",
        default="all",
        metavar="D",
        help="all, supervised, zero-shot, or a list such as en-de,de-fr (default all)",
    )
    add("--beam", type=int, default=4, metavar="N", help="beam size (default 4)")
    add("--batch-size", type=int, default=100, metavar="N", help="sentences a batch (default 100)")
    add("--jobs", type=int, metavar="N", help="directions at a time (default: one a GPU)")
    add("--threads", type=int, default=1, metavar="N", help="CPU threads of each (default 1)")
    machine_options(parser)
    add("--dry-run", action="store_true", help="only print the commands")


def run(args: argparse.Namespace) -> int:
    """Print and run what is not decoded yet."""
    from tdo_plugin.data.databin import read_data_folder
    from tdo_plugin.launch import generation
    from tdo_plugin.launch.environment import announce, settings
    from tdo_plugin.launch.training_config import read_config

    stock = own_and_stock(args, _options)
    config = read_config(args.config)
    data = read_data_folder(args.data.resolve())
    gpus = gpus_here(args)
    args.jobs = max(1, gpus) if args.jobs is None else args.jobs
    _check(args)
    decoding = generation.Decoding(
        checkpoint=args.checkpoint.resolve(),
        out=args.out.resolve(),
        beam=args.beam,
        batch_size=args.batch_size,
        gpus=gpus,
        precision=precision_here(args, config, gpus),
        extra=tuple(stock),
    )
    commands = {
        direction: generation.generate_words(config, data, decoding, direction)
        for direction in data.select(args.directions)
    }
    variables = settings(gpus, args.threads)
    if args.dry_run:
        announce(variables)
        for words in commands.values():
            print("+ " + shlex.join(words))
        return 0
    if not args.checkpoint.is_file():
        raise UserError(f"`CHECKPOINT` must be an existing file; {args.checkpoint} is not one")
    todo = {d: w for d, w in commands.items() if not generation.is_whole(decoding, d, w)}
    if todo:
        announce(variables)
    for words in todo.values():
        print("+ " + shlex.join(words), flush=True)
    start, total, count = time.monotonic(), len(commands), len(commands) - len(todo)
    if count:
        print(f"{count} of {total} directions are whole already", flush=True)

    def done(direction: str) -> None:
        nonlocal count
        count += 1
        print(f"{direction} done, {count} of {total}, {time.monotonic() - start:.0f} s", flush=True)

    generation.generate_all(todo, decoding, args.jobs, variables, done)
    return 0


def _check(args: argparse.Namespace) -> None:
    for name in ("beam", "batch_size", "jobs", "threads"):
        if getattr(args, name) < 1:
            option = name.replace("_", "-")
            raise UserError(f"`--{option}` must be at least 1; it is {getattr(args, name)}")
