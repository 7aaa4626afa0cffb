"""`tdo train`: build the `fairseq-train` command of a config, print it, become it."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from pathlib import Path

from tdo_plugin.errors import UserError
from tdo_plugin.launch.options import (
    gpus_here,
    machine_options,
    own_and_stock,
    precision_here,
    take_rest,
)

HELP = "train a config's system on a data folder: prints the fairseq-train command, then runs it"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add("config", type=Path, metavar="CONFIG", help="a file such as in configs/")
    add("data", type=Path, metavar="DATA", help="folder that tdo prepare or preprocess made")
    _options(parser)
    take_rest(parser, "fairseq-train")


def _options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--save-dir",
        type=Path,
        metavar="DIR",
        help="where checkpoints go (default: checkpoints/FOLDER-CONFIG); training resumes there",
    )
    machine_options(parser)
    add("--nodes", type=int, default=1, metavar="N", help="machines that train together")
    add(
        "--rendezvous",
        metavar="HOST:PORT",
        help="the first of several machines (default under Slurm: its first, port 29500)",
    )
    add(
        "--slurm",
        action="store_true",
        help="submit to Slurm: sbatch an allocation of --nodes with --gpus each",
    )
    add("--dry-run", action="store_true", help="only print the command")


def run(args: argparse.Namespace) -> int:
    """Print the command and, unless --dry-run, replace this process by it."""
    from tdo_plugin.data.databin import read_data_folder
    from tdo_plugin.launch.config import read_config
    from tdo_plugin.launch.environment import announce, settings
    from tdo_plugin.launch.generation import program
    from tdo_plugin.launch.training import Machine, sbatch_words, train_words

    extra = own_and_stock(args, _options)
    config = read_config(args.config)
    data = read_data_folder(args.data.resolve())
    system = f"{args.config.resolve().parent.name}-{args.config.stem}"
    save_dir = args.save_dir or Path("checkpoints") / system
    gpus = gpus_here(args)
    machine = Machine(gpus, args.nodes, args.rendezvous or _slurm_rendezvous())
    if args.slurm:
        machine = Machine(gpus, args.nodes, args.rendezvous or "FIRST-NODE:29500")
    words, note = train_words(
        config, data, save_dir.resolve(), machine, precision_here(args, config, gpus), extra
    )
    print(note, flush=True)
    if args.slurm:
        if not gpus:
            raise UserError("`--gpus` must be at least 1 with --slurm; it is 0")
        inner = [
            sys.executable,
            "-m",
            "tdo_plugin",
            "train",
            str(args.config.resolve()),
            str(data.root),
            "--save-dir",
            str(save_dir.resolve()),
            "--gpus",
            str(gpus),
            "--nodes",
            str(args.nodes),
        ]
        inner += ["--rendezvous", args.rendezvous] if args.rendezvous else []
        inner += ["--precision", args.precision] if args.precision else []
        inner += extra
        print("each node: " + shlex.join(words), flush=True)
        words = sbatch_words(machine, inner)
    variables = settings(gpus)
    announce(variables)
    print("+ " + shlex.join(words), flush=True)
    if args.dry_run:
        return 0
    command = words if args.slurm else program(words)
    try:
        os.execvpe(command[0], command, {**os.environ, **variables})
    except OSError as error:
        raise UserError(f"`{command[0]}` must be installed; {error.strerror}") from None


def _slurm_rendezvous() -> str | None:
    """The first machine of the Slurm allocation that this runs in."""
    nodes = os.environ.get("SLURM_JOB_NODELIST")
    if nodes is None:
        return None
    import subprocess

    try:
        names = subprocess.run(
            ["scontrol", "show", "hostnames", nodes], capture_output=True, text=True, check=True
        ).stdout.split()
    except (OSError, subprocess.CalledProcessError):
        return None
    return f"{names[0]}:29500" if names else None
