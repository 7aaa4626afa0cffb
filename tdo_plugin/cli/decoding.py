"""What the commands that decode share: options of the search and the machine, and a run."""

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

# the size of a batch changes nothing but rounding
FREE = ("checkpoints", "max_tokens", "batch_size")
# where it is off, it is not named, as before there was the option
NEWER = ("free_tag",)


def path_option(parser: argparse.ArgumentParser) -> None:
    """Declare the option that names the model."""
    parser.add_argument(
        "--path",
        required=True,
        metavar="CKPT[:CKPT...]",
        help="the model, several for an ensemble; of a folder its average (see --average)",
    )


def search_options(group: Any) -> None:
    """Declare the options of the search; `decoding_options` reads them."""
    from tdo_plugin.evaluation.decoding.decoding_options import PENALTY_FORMS

    add = group.add_argument
    add(
        "--average",
        metavar="RULE",
        help="what of a folder in --path is averaged: best-N or last-N (default best-1)",
    )
    add("--beam", type=int, metavar="N", help="beam size (default 4)")
    add("--lenpen", type=float, metavar="X", help="exponent of the length penalty (default 1)")
    add(
        "--lenpen-form",
        choices=PENALTY_FORMS,
        help="divide scores by length**X, or by ((5 + length) / 6)**X (default length)",
    )
    add(
        "--max-len-a",
        type=float,
        metavar="A",
        help="at most A * source length + B tokens (default 0)",
    )
    add("--max-len-b", type=int, metavar="B", help="see --max-len-a (default 200)")
    add("--min-len", type=int, default=1, metavar="N", help="at least N tokens (default 1)")
    add("--unkpen", type=float, default=0.0, metavar="X", help="taken off unknown words' scores")
    add("--no-repeat-ngram-size", type=int, default=0, metavar="N", help="n-grams that occur once")
    add("--temperature", type=float, default=1.0, metavar="X", help="divides logits (default 1)")
    add("--sampling", action="store_true", help="draw tokens instead of searching")
    add("--sampling-topk", type=int, default=-1, metavar="N", help="draw from the N likeliest")
    add(
        "--free-tag",
        action="store_true",
        help="a target tag that is forced has log-probability 0, as in Hugging Face's generate",
    )
    add("--seed", type=seed, default=1, metavar="N", help="of the draws (default 1)")
    add("--max-tokens", type=int, metavar="N", help="tokens of a batch (default 4000)")
    add("--batch-size", type=int, metavar="N", help="sentences of a batch")
    add(
        "--precision",
        choices=("fp32", "fp16", "bf16"),
        default="fp32",
        help="number format (default fp32)",
    )


def machine_options(parser: argparse.ArgumentParser) -> None:
    """Declare where to decode."""
    machine = parser.add_argument_group("machine")
    machine.add_argument(
        "--workers",
        type=int,
        metavar="N",
        help="processes (default: one a GPU; on the CPU one a core)",
    )
    machine.add_argument(
        "--user-dir",
        type=Path,
        metavar="DIR",
        help="import this package too, for models that are not part of this one",
    )
    device_options(parser)


def check_decoding(args: argparse.Namespace, *paths: str) -> None:
    """Raise UserError where options of the models, which `paths` name, or the machine are wrong."""
    from tdo_plugin.evaluation.decoding.decoded_checkpoints import check_rule

    if args.average:
        check_rule(args.average)
        if not any(Path(part).is_dir() for path in paths for part in path.split(":")):
            raise UserError("`--average` must come with a folder in --path; there is none")
    if args.workers is not None and args.workers < 1:
        raise UserError(f"`--workers` must be at least 1; it is {args.workers}")


def decoding_options(
    args: argparse.Namespace, chosen: Protocol, dry_run: bool = False
) -> DecodingOptions:
    """The record that workers get.

    Args:
        args: given options win.
        chosen: what holds where they are not given.
        dry_run: whether nothing is to be written, so that averages must be there.

    Raises:
        UserError: a value that makes no sense, or checkpoints that are not there.
    """
    from tdo_plugin.evaluation.decoding import decoded_checkpoints
    from tdo_plugin.evaluation.decoding.decoding_options import DecodingOptions

    def given(value: Any, default: Any) -> Any:
        return default if value is None else value

    size = {"max_tokens": args.max_tokens, "batch_size": args.batch_size}
    options = DecodingOptions(
        checkpoints=decoded_checkpoints.resolve(
            args.path, args.average or chosen.checkpoints, tell, write=not dry_run
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
    """What hypotheses depend on of the options, the checkpoints by their content."""
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
    """Do jobs on the machine, and show how far they are.

    Args:
        stages: of jobs; see `pool.decode_all`.
        work: what the workers need.
        args: the machine's options.
        unit: what a job is called.
        seen: gets each event.
        decode: does them (default: `pool.decode_all`).

    Returns:
        How many failed.
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
    """A device for each worker, of whom the CPU has `most`, and the workers' environment."""
    from tdo_plugin.launch.environment import cores, settings, threads_each

    gpus = gpus_here(args)
    if gpus:
        count = args.workers or gpus
        return [f"cuda:{number % gpus}" for number in range(count)], settings(gpus)
    count = min(args.workers or cores(), most)
    return ["cpu"] * count, settings(0, threads_each(count))
