"""`tdo train`: build a config's `fairseq-train` command, print it, and exec it."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tdo_plugin.cli.config_argument import CONFIG, config_of, scale_option
from tdo_plugin.cli.model_help import PrintModelOptions
from tdo_plugin.errors import UserError
from tdo_plugin.launch.handed_on_options import (
    check_sbatch,
    gpus_here,
    machine_options,
    own_and_stock,
    precision_here,
    slurm_options,
    take_rest,
)
from tdo_plugin.launch.text_training import (
    add_text_options,
    continue_preparation,
    data_folder,
    prepare_text,
)

if TYPE_CHECKING:
    from tdo_plugin.data.databin import DataFolder
    from tdo_plugin.experiments.named_configs import NamedConfig
    from tdo_plugin.launch.training_record import TrainingRecord

LOGGING = {"--log-format", "--log-interval"}  # from `tdo reproduce`: need no check
HELP = "train a config's system on a data folder: print the fairseq-train command, then run it"
EXAMPLE = "tdo train own-data/tdo-instrucl my-data --save-dir my-model"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add("config", metavar="CONFIG", help=CONFIG)
    add(
        "data",
        type=Path,
        metavar="DATA",
        help="data folder (`tdo prepare` or `tdo preprocess`), or text with --from-text",
    )
    _options(parser)
    take_rest(parser, "fairseq-train")


def _options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--save-dir",
        type=Path,
        metavar="DIR",
        help="checkpoint folder; a training run found there is resumed (default: "
        "checkpoints/FOLDER-CONFIG)",
    )
    add_text_options(parser)
    scale_option(parser)
    machine_options(parser)
    add(
        "--processes",
        type=int,
        default=1,
        metavar="N",
        help="without GPUs: training processes on each machine's CPU (default 1)",
    )
    add("--nodes", type=int, default=1, metavar="N", help="machines to train on (default 1)")
    add("--rendezvous", metavar="HOST:PORT", help="with --nodes: first machine and a free port")
    slurm_options(parser, "write and submit a Slurm script for --nodes with --gpus each (or --cpu)")
    add("--dry-run", action="store_true", help="only print the command, or the Slurm script")
    add("--help-model", action=PrintModelOptions)


def run(args: argparse.Namespace) -> int:
    """Print the command and, unless --dry-run, replace this process by it."""
    from tdo_plugin.launch.slurm_script import RENDEZVOUS
    from tdo_plugin.launch.training import Machine
    from tdo_plugin.launch.training_record import TrainingRecord

    extra = own_and_stock(args, _options)
    _check_slurm(args)
    named = config_of(args)
    _check_needed(named, extra)
    config = named.config
    system = named.name.replace("/", "-")
    save_dir = (args.save_dir or Path("checkpoints") / system).resolve()
    gpus = gpus_here(args)
    place = RENDEZVOUS if args.slurm and args.nodes > 1 else args.rendezvous
    machine = Machine(gpus, args.nodes, place, args.processes)
    precision = precision_here(args, config, gpus)
    lines = tuple(config.lines())
    flags = [*config.words(), *extra]
    data = data_folder(args, flags, save_dir).resolve()
    record = TrainingRecord(lines, str(data), machine, precision, tuple(extra))
    if args.from_text and not args.dry_run:
        prepare_text(args, flags, data, partial(_check_options, record, save_dir))
    elif not args.dry_run and _options_of(extra) - LOGGING:  # before anything is written
        _check_options(record, save_dir)
    if args.slurm:
        return _submit(args, named, save_dir, record)
    return start(record, save_dir, args.dry_run)


def start(record: TrainingRecord, save_dir: Path, dry_run: bool) -> int:
    """Print the command of a training run and, unless it is a dry run, exec it.

    First writes a record of the training to the folder, for `tdo resume`.
    """
    from tdo_plugin.launch.environment import announce, settings, threads_each
    from tdo_plugin.launch.programs import program
    from tdo_plugin.runtime.lock import alone

    words, note = record.words(save_dir)
    print(note, flush=True)
    machine = record.machine
    threads = threads_each(machine.processes) if machine.processes > 1 else None
    variables = settings(machine.gpus, threads)
    announce(variables)
    print("+ " + shlex.join(words), flush=True)
    if dry_run:
        return 0
    if machine.nodes > 1:  # the training itself may already run on another machine
        record.write(save_dir)
    else:
        with alone(save_dir, "--save-dir"):
            record.write(save_dir)
    continue_preparation(Path(record.data))
    return _become(program(words), variables)


def _options_of(words: Sequence[str]) -> set[str]:
    return {word.partition("=")[0] for word in words if word.startswith("--")}


def _check_options(record: TrainingRecord, save_dir: Path, data: DataFolder | None = None) -> None:
    """Raise UserError for options that the training would refuse.

    Args:
        record: of the training.
        save_dir: its checkpoint folder.
        data: an outline of its data folder, before that is made.
    """
    from tdo_plugin.metrics.silence import quiet_libraries

    words, _ = record.words(save_dir, data)
    with quiet_libraries():
        from tdo_plugin.tasks.training_command import check_training

        check_training(words[words.index("fairseq-train") + 1 :])


def _check_needed(named: NamedConfig, extra: Sequence[str]) -> None:
    """Raise UserError if an input that only `tdo reproduce` makes is not given."""
    given = _options_of(extra)
    for option, why in named.needed.items():
        if option not in given:
            raise UserError(f"`{option}` must be given: {named.name} {why}")


def _check_slurm(args: argparse.Namespace) -> None:
    check_sbatch(args)
    if args.slurm and not (args.gpus or args.cpu):
        raise UserError("`--gpus` or `--cpu` must be given with --slurm; neither is")
    if args.slurm and args.rendezvous:
        raise UserError(
            f"`--rendezvous` must be left out with --slurm, which sets it; it is {args.rendezvous}"
        )


def _submit(
    args: argparse.Namespace, named: NamedConfig, save_dir: Path, record: TrainingRecord
) -> int:
    """Write the script to the checkpoint folder, and exec sbatch on it."""
    from tdo_plugin.launch.slurm_script import job_script
    from tdo_plugin.runtime.files import write_text

    machine = record.machine
    _, note = record.words(save_dir)
    print(note, flush=True)
    words = [sys.executable, "-m", "tdo_plugin", "train", named.place, record.data]
    words += ["--scale", named.setting.scale] if named.setting else []
    words += ["--save-dir", str(save_dir)]
    words += ["--gpus", str(machine.gpus)] if machine.gpus else ["--cpu"]
    words += ["--processes", str(machine.processes)] if machine.processes > 1 else []
    words += ["--precision", args.precision] if args.precision else []
    if machine.rendezvous:
        words += ["--nodes", str(machine.nodes), "--rendezvous", machine.rendezvous]
    name = named.name.replace("/", "-")
    command = [*words, *record.extra]
    text = job_script(name, machine, save_dir, [command], args.sbatch)
    if args.dry_run:
        print(text)
        return 0
    save_dir.mkdir(parents=True, exist_ok=True)
    write_text(save_dir / "slurm.sh", text.split("\n"))
    command = ["sbatch", str(save_dir / "slurm.sh")]
    print("+ " + shlex.join(command), flush=True)
    return _become(command, {})


def _become(command: Sequence[str], variables: Mapping[str, str]) -> int:
    """Replace this process by the command, so that signals reach the command."""
    try:
        os.execvpe(command[0], list(command), {**os.environ, **variables})
    except OSError as error:
        raise UserError(f"`{command[0]}` must be installed; {error.strerror}") from None
