"""Shared parts of the decoding commands: search and machine options, and running jobs."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tdo_compat.errors import tell
from tdo_plugin.errors import UserError
from tdo_plugin.launch.handed_on_options import device_options, gpus_here
from tdo_plugin.launch.parser import seed

if TYPE_CHECKING:
    from tdo_plugin.evaluation.decoding.decoding_jobs import AnyJob
    from tdo_plugin.evaluation.decoding.decoding_options import DecodingOptions
    from tdo_plugin.evaluation.decoding.pool import Event
    from tdo_plugin.evaluation.decoding.worker import AnyWork
    from tdo_plugin.evaluation.protocols import Protocol

MODEL = "a checkpoint, or the folder of a training, system or run (its recommended system)"
# do not affect hypotheses: batch size changes only rounding, and checkpoints are hashed apart
FREE = ("checkpoints", "max_tokens", "batch_size")
# omitted from the settings if off, as in settings written before the option existed
NEWER = ("free_tag",)


def path_option(parser: argparse.ArgumentParser) -> None:
    """Declare `--path`, the model."""
    parser.add_argument(
        "--path",
        required=True,
        metavar="MODEL[:MODEL...]",
        help=f"{MODEL}; several, separated by colons, for an ensemble",
    )


def search_options(group: Any) -> None:
    """Declare the options of the search; `decoding_options` reads them."""
    from tdo_plugin.evaluation.decoding.decoding_options import PENALTY_FORMS

    add = group.add_argument
    add(
        "--average",
        metavar="RULE",
        help="which checkpoints of a folder in --path to average: best-N or last-N (default "
        "best-1)",
    )
    add("--beam", type=int, metavar="N", help="beam size (default 4)")
    add("--lenpen", type=float, metavar="X", help="length penalty exponent (default 1)")
    add(
        "--lenpen-form",
        choices=PENALTY_FORMS,
        help="divide scores by length**X (length, the default) or by ((5 + length) / 6)**X",
    )
    add(
        "--max-len-a",
        type=float,
        metavar="A",
        help="outputs have at most A * source length + B tokens (default 0)",
    )
    add("--max-len-b", type=int, metavar="B", help="see --max-len-a (default 200)")
    add("--min-len", type=int, default=1, metavar="N", help="minimum output tokens (default 1)")
    add(
        "--unkpen",
        type=float,
        default=0.0,
        metavar="X",
        help="penalty subtracted from the score of unknown words (default 0)",
    )
    add(
        "--no-repeat-ngram-size",
        type=int,
        default=0,
        metavar="N",
        help="never repeat an n-gram of N tokens in an output (default 0: off)",
    )
    add(
        "--temperature",
        type=float,
        default=1.0,
        metavar="X",
        help="divide logits by X before the softmax (default 1)",
    )
    add("--sampling", action="store_true", help="sample tokens instead of beam search")
    add(
        "--sampling-topk",
        type=int,
        default=-1,
        metavar="N",
        help="with --sampling: sample from the N most likely tokens (default: all)",
    )
    add(
        "--free-tag",
        action="store_true",
        help="score a forced target tag with log-probability 0, as Hugging Face's generate does",
    )
    add("--seed", type=seed, default=1, metavar="N", help="random seed of sampling (default 1)")
    add("--max-tokens", type=int, metavar="N", help="tokens per batch (default 4000)")
    add("--batch-size", type=int, metavar="N", help="sentences per batch (default: no limit)")
    precision_option(group)


def precision_option(group: Any) -> None:
    """Declare `--precision`; :func:`check_precision` checks it."""
    group.add_argument(
        "--precision",
        choices=("fp32", "fp16", "bf16", "int8"),
        default="fp32",
        help="number format; int8: matrix products in 8-bit integers, on a CPU (default fp32)",
    )


def machine_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the machine: workers, devices, a further package."""
    machine = parser.add_argument_group("machine")
    machine.add_argument(
        "--workers",
        type=int,
        metavar="N",
        help="processes (default: one per GPU, or one per CPU core without GPUs)",
    )
    machine.add_argument(
        "--user-dir",
        type=Path,
        metavar="DIR",
        help="also import this package, for models defined elsewhere",
    )
    device_options(parser)


def check_decoding(args: argparse.Namespace, *paths: str) -> None:
    """Raise UserError for wrong options of the models named in `paths`, or of the machine."""
    from tdo_plugin.evaluation.decoding.decoded_checkpoints import check_rule

    if args.average:
        check_rule(args.average)
        if not any(Path(part).is_dir() for path in paths for part in path.split(":")):
            raise UserError("`--average` must come with a folder in --path; it has none")
    if args.workers is not None and args.workers < 1:
        raise UserError(f"`--workers` must be at least 1; it is {args.workers}")
    check_precision(args)


def check_precision(args: argparse.Namespace) -> None:
    """Raise UserError for int8 on a GPU."""
    if args.precision == "int8" and gpus_here(args):
        raise UserError("`--precision` must be fp32, fp16 or bf16 without --cpu; it is int8")


def decoding_options(
    args: argparse.Namespace, chosen: Protocol, dry_run: bool = False
) -> DecodingOptions:
    """The decoding options for the workers.

    Args:
        args: the command line, which takes precedence over `chosen`.
        chosen: the protocol that supplies defaults.
        dry_run: write nothing, so averaged checkpoints must exist.

    Raises:
        UserError: an invalid value, or missing checkpoints.
    """
    from tdo_plugin.evaluation.decoding import decoded_checkpoints
    from tdo_plugin.evaluation.decoding.decoding_options import DecodingOptions

    def given(value: Any, default: Any) -> Any:
        return default if value is None else value

    size = {"max_tokens": args.max_tokens, "batch_size": args.batch_size}
    options = DecodingOptions(
        checkpoints=decoded_checkpoints.resolve(
            args.path, args.average, tell, write=not dry_run, default=chosen.checkpoints
        ),
        beam=given(args.beam, chosen.beam),
        length_penalty=given(args.lenpen, chosen.length_penalty),
        penalty_form=given(args.lenpen_form, chosen.penalty_form),
        max_len_a=given(args.max_len_a, chosen.max_len_a),
        max_len_b=given(args.max_len_b, chosen.max_len_b),
        min_len=args.min_len,
        unk_penalty=args.unkpen,
        no_repeat_ngram_size=args.no_repeat_ngram_size,
        temperature=args.temperature,
        sampling=args.sampling,
        sampling_topk=args.sampling_topk,
        free_tag=args.free_tag,
        seed=args.seed,
        precision=args.precision,
        **(size if any(size.values()) else {}),
    )
    options.check()
    return options


def settings_of(options: DecodingOptions) -> dict[str, Any]:
    """The options that affect hypotheses, with checkpoints identified by their content."""
    from dataclasses import asdict

    from tdo_plugin.runtime.files import sha256

    settings = {
        name: value
        for name, value in asdict(options).items()
        if name not in FREE and (value or name not in NEWER)
    }
    return {**settings, "checkpoints_sha256": [sha256(path) for path in options.checkpoints]}


def run_stages(
    stages: Sequence[Sequence[AnyJob]],
    work: AnyWork,
    args: argparse.Namespace,
    unit: str = "directions",
    seen: Callable[[Event], object] = lambda event: None,
    decode: Callable[..., Iterator[Event]] | None = None,
) -> int:
    """Run jobs on the machine and show their progress.

    Args:
        stages: lists of jobs, one per stage; see `pool.decode_all`.
        work: the input shared by all workers.
        args: has the machine options.
        unit: what jobs are called in the progress display.
        seen: called with each event.
        decode: runs the jobs (default: `pool.decode_all`).

    Returns:
        The number of failed jobs.
    """
    from tdo_plugin.evaluation.decoding.pool import decode_all
    from tdo_plugin.evaluation.decoding.progress import ProgressDisplay

    jobs = [job for stage in stages for job in stage]
    if not jobs:
        return 0
    devices, environment = machine(args, max(map(len, stages)))
    display = ProgressDisplay(jobs, unit=unit)
    failed = 0
    for event in (decode or decode_all)(stages, work, devices, environment):
        seen(event)
        display.show(event)
        failed += event.kind == "failed"
    display.close()
    return failed


def machine(args: argparse.Namespace, most: int) -> tuple[list[str], dict[str, str]]:
    """One device per worker (at most `most` workers on the CPU), and the workers' environment."""
    from tdo_plugin.launch.environment import cores, settings, threads_each

    gpus = gpus_here(args)
    if gpus:
        count = args.workers or gpus
        return [f"cuda:{number % gpus}" for number in range(count)], settings(gpus)
    count = min(args.workers or cores(), most)
    return ["cpu"] * count, settings(0, threads_each(count))
