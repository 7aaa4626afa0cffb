"""`tdo translate`: every direction of a checkpoint with one load of the model, or plain text."""

from __future__ import annotations

import argparse
import hashlib
import json
import shlex
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tdo_plugin.data.lock import alone
from tdo_plugin.data.signals import ended_by_sigterm
from tdo_plugin.errors import UserError
from tdo_plugin.launch.options import device_options, gpus_here

if TYPE_CHECKING:
    from tdo_plugin.data.databin import DataFolder
    from tdo_plugin.evaluation.decoding.options import DecodingOptions
    from tdo_plugin.evaluation.protocols import Protocol

HELP = "translate all test directions with one load of the model, or plain text"

OF_TEST_SETS = ("out", "pairs", "perplexity", "fresh", "workers")
OF_TEXT = ("source_lang", "target_lang", "output")
# the size of a batch changes nothing but rounding
FREE = ("checkpoints", "max_tokens", "batch_size")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add = parser.add_argument
    add("data", type=Path, metavar="DATA", help="folder that tdo prepare or preprocess made")
    add(
        "--path",
        required=True,
        metavar="CKPT[:CKPT...]",
        help="the model, several for an ensemble; of a folder its average (see --average)",
    )
    what = parser.add_argument_group("test sets")
    what.add_argument(
        "--pairs",
        metavar="P",
        help="all, supervised, zero-shot, or a list such as en-de,fr-de (default all)",
    )
    what.add_argument(
        "--out", type=Path, metavar="DIR", help="folder for SRC-TGT.{src,hyp,ref,jsonl}"
    )
    what.add_argument(
        "--pivot", metavar="LANG", help="translate through this language, in two steps"
    )
    what.add_argument(
        "--perplexity",
        action="store_true",
        help="measure the perplexity of each direction's validation set too",
    )
    what.add_argument("--fresh", action="store_true", help="do again what DIR has already")
    text = parser.add_argument_group("plain text")
    text.add_argument("--input", metavar="FILE", help="translate a text file (- is standard input)")
    text.add_argument(
        "--interactive", action="store_true", help="translate what is typed, line by line"
    )
    text.add_argument("-s", "--source-lang", metavar="LANG", help="language of the text")
    text.add_argument("-t", "--target-lang", metavar="LANG", help="language to translate into")
    text.add_argument(
        "--output", type=Path, metavar="FILE", help="file to write (default: standard output)"
    )
    _search_options(parser.add_argument_group("search"))
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


def _search_options(group: Any) -> None:
    from tdo_plugin.evaluation.decoding.options import PENALTY_FORMS
    from tdo_plugin.evaluation.protocols import PROTOCOLS

    add = group.add_argument
    add(
        "--protocol",
        choices=tuple(PROTOCOLS),
        help="decode as this paper does; options that are given as well win",
    )
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
    add("--seed", type=int, default=1, metavar="N", help="of the draws (default 1)")
    add("--max-tokens", type=int, metavar="N", help="tokens of a batch (default 4000)")
    add("--batch-size", type=int, metavar="N", help="sentences of a batch")
    add(
        "--precision",
        choices=("fp32", "fp16", "bf16"),
        default="fp32",
        help="number format (default fp32)",
    )


def run(args: argparse.Namespace) -> int:
    """Translate; 1 where a direction failed."""
    from tdo_plugin.data.databin import read_data_folder
    from tdo_plugin.evaluation.decoding import checkpoints
    from tdo_plugin.evaluation.protocols import protocol

    _check(args)
    chosen = protocol(args.protocol)
    data = read_data_folder(args.data.resolve())
    paths = checkpoints.resolve(args.path, args.average or chosen.checkpoints, _say)
    options = _options(args, chosen, paths)
    options.check()
    if args.input or args.interactive:
        return _text(args, data, options)
    return _test_sets(args, data, options, args.perplexity or chosen.perplexity)


def _check(args: argparse.Namespace) -> None:
    from tdo_plugin.evaluation.decoding.checkpoints import check_rule

    text = bool(args.input or args.interactive)
    if args.input and args.interactive:
        raise UserError("`--input` must be left out with --interactive; it is given")
    if not text and args.out is None:
        raise UserError(
            "`--out` must name a folder, unless --input or --interactive; it is missing"
        )
    for option in ("source_lang", "target_lang"):
        if text and not getattr(args, option):
            name = option.replace("_", "-")
            raise UserError(f"`--{name}` must name the language of the text; it is missing")
    for option in OF_TEST_SETS if text else OF_TEXT:
        if getattr(args, option):
            name, kind = option.replace("_", "-"), "with" if text else "without"
            raise UserError(f"`--{name}` must be left out {kind} plain text; it is given")
    if args.interactive and args.output:
        raise UserError("`--output` must be left out with --interactive; it is given")
    if args.average:
        check_rule(args.average)
        if not any(Path(part).is_dir() for part in args.path.split(":")):
            raise UserError("`--average` must come with a folder in --path; there is none")
    if args.workers is not None and args.workers < 1:
        raise UserError(f"`--workers` must be at least 1; it is {args.workers}")


def _options(
    args: argparse.Namespace, chosen: Protocol, paths: tuple[Path, ...]
) -> DecodingOptions:
    from tdo_plugin.evaluation.decoding.options import DecodingOptions

    def given(value: Any, default: Any) -> Any:
        return default if value is None else value

    size = {"max_tokens": args.max_tokens, "batch_size": args.batch_size}
    return DecodingOptions(
        checkpoints=paths,
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
        seed=args.seed,
        precision=args.precision,
        **(size if any(size.values()) else {}),
    )


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _test_sets(
    args: argparse.Namespace, data: DataFolder, options: DecodingOptions, perplexity: bool
) -> int:
    from tdo_plugin.evaluation.decoding.jobs import plan
    from tdo_plugin.evaluation.decoding.pool import Work, run_jobs
    from tdo_plugin.evaluation.decoding.progress import ProgressDisplay
    from tdo_plugin.evaluation.outputs import read_how, write_how

    directions = data.select(args.pairs or "all", option="--pairs")
    if args.pivot and args.pivot not in data.languages:
        raise UserError(f"`--pivot` must be one of {', '.join(data.languages)}; it is {args.pivot}")
    out = args.out.resolve()
    if out.exists() and (not out.is_dir() or out == data.root):
        raise UserError(f"`--out` must be a folder of its own; it is {args.out}")
    with alone(out), ended_by_sigterm():
        how = _how(args, data, options)
        _take_over(out, how, args.fresh)
        digest = hashlib.sha256(json.dumps(how["settings"], sort_keys=True).encode()).hexdigest()
        stages, failures = plan(data, out, directions, digest, args.pivot, perplexity)
        for line in failures:
            _say(f"error: {line}")
        todo = [[job for job in stage if not job.is_whole(out)] for stage in stages]
        jobs = [job for stage in todo for job in stage]
        whole = sum(map(len, stages)) - len(jobs)
        if whole:
            _say(f"{whole} of {whole + len(jobs)} directions are whole already")
        failed = len(failures)
        if jobs:
            devices, environment = _machine(args, max(map(len, todo)))
            display = ProgressDisplay(jobs)
            work = Work(options, data, out, args.user_dir)
            for event in run_jobs(todo, work, devices, environment):
                if event.kind == "ready" and read_how(out) is None:
                    write_how(out, {**how, "checkpoints": list(event.checkpoints)})
                display.show(event)
                failed += event.kind == "failed"
            display.close()
    print(out, flush=True)
    return 1 if failed else 0


def _machine(args: argparse.Namespace, most: int) -> tuple[list[str], dict[str, str]]:
    """A device for each worker, and the workers' environment."""
    from tdo_plugin.launch.environment import cores, settings

    gpus = gpus_here(args)
    if gpus:
        count = args.workers or gpus
        return [f"cuda:{number % gpus}" for number in range(count)], settings(gpus)
    count = min(args.workers or cores(), most)
    return ["cpu"] * count, settings(0, max(1, cores() // count))


def _how(args: argparse.Namespace, data: DataFolder, options: DecodingOptions) -> dict[str, Any]:
    """What the folder's hypotheses depend on, and what made them."""
    from tdo_plugin.data.databin import MARK
    from tdo_plugin.data.files import sha256
    from tdo_plugin.metrics.textform import read_text_form
    from tdo_plugin.provenance import made_by

    settings = {name: value for name, value in asdict(options).items() if name not in FREE}
    settings |= {
        "checkpoints_sha256": [sha256(path) for path in options.checkpoints],
        "data": sha256(data.root / MARK),
        "pivot": args.pivot,
    }
    return {
        "settings": settings,
        "data": str(data.root),
        "form": asdict(read_text_form(data.root)),
        "protocol": args.protocol,
        **made_by(shlex.join(["tdo", *sys.argv[1:]])),
    }


def _take_over(out: Path, how: dict[str, Any], fresh: bool) -> None:
    """Make `out` a folder of these settings.

    Raises:
        UserError: it has hypotheses of other settings, and they are not to be replaced.
    """
    from tdo_plugin.evaluation.outputs import (
        has_others_hypotheses,
        read_how,
        remove_translations,
    )

    if has_others_hypotheses(out):
        raise UserError(
            f"`--out` must be a folder of tdo translate, or a new one; {out} has hypotheses of "
            "something else"
        )
    before = read_how(out)
    if before is not None and before.get("settings") != how["settings"] and not fresh:
        old = before.get("settings") or {}
        differing = [name for name, value in how["settings"].items() if old.get(name) != value]
        raise UserError(
            f"`--out` must be a new folder, or --fresh given; {out} was made with other "
            f"{', '.join(differing)}"
        )
    if fresh or before is None:  # what nobody knows the settings of is worth nothing
        remove_translations(out)


def _text(args: argparse.Namespace, data: DataFolder, options: DecodingOptions) -> int:
    from tdo_plugin.evaluation.decoding.plaintext import converse, translate_file

    device = "cuda:0" if gpus_here(args) else "cpu"
    steps = [args.source_lang, *([args.pivot] if args.pivot else []), args.target_lang]
    if args.interactive:
        return converse(options, data, device, steps, args.user_dir)
    return translate_file(options, data, device, steps, args.user_dir, args.input, args.output)
