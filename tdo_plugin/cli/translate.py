"""`tdo translate`: translate test directions, by one of two engines, or plain text."""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tdo_compat.errors import tell
from tdo_plugin.cli.decoding import (
    check_decoding,
    decoding_options,
    machine,
    machine_options,
    path_option,
    run_stages,
    search_options,
    settings_of,
)
from tdo_plugin.errors import UserError
from tdo_plugin.launch.handed_on_options import gpus_here, take_unknown
from tdo_plugin.names import LANGUAGE
from tdo_plugin.runtime.lock import alone, refuse_same
from tdo_plugin.runtime.signals import GOES_ON, ended_by_signal

if TYPE_CHECKING:
    from tdo_plugin.evaluation.decoding.decoding_options import DecodingOptions
    from tdo_plugin.evaluation.decoding.pool import Event
    from tdo_plugin.evaluation.decoding.worker import Work
    from tdo_plugin.evaluation.protocols import Protocol

HELP = "translate all test directions of a data folder, or plain text, loading the model once"
EXAMPLE = """
tdo translate my-data --path my-model --average best-5 --out my-output
tdo translate my-data --path my-model --out my-output --engine fairseq --dry-run
"""

# by engine, the options that only the other engine supports
OF_THE_OTHER = {
    "pool": ("dry_run",),
    "fairseq": ("input", "interactive", "pivot", "pivot_path", "perplexity"),
}
OF_TEST_SETS = ("pairs", "perplexity", "fresh", "workers")
OF_TEXT = ("source_lang", "target_lang")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    from tdo_plugin.evaluation.protocols import PROTOCOLS

    add = parser.add_argument
    add(
        "data",
        nargs="?",
        type=Path,
        metavar="DATA",
        help="data folder (`tdo prepare` or `tdo preprocess`; default: the one that the model was "
        "trained on)",
    )
    path_option(parser)
    add(
        "--out",
        type=Path,
        metavar="PATH",
        help="folder for SRC-TGT.{src,hyp,ref,jsonl} of test sets; for a text, the file to write "
        "(default: standard output)",
    )
    what = parser.add_argument_group("test sets")
    what.add_argument(
        "--pairs",
        metavar="P",
        help="directions: all, supervised, zero-shot, or a list such as en-de,fr-de (default all)",
    )
    what.add_argument(
        "--pivot", metavar="LANG", help="translate in two steps through this language"
    )
    what.add_argument(
        "--pivot-path",
        metavar="MODEL[:MODEL...]",
        help="the model for the step from the pivot; --path is then only for the step into it "
        "(default: --path for both)",
    )
    what.add_argument(
        "--perplexity",
        action="store_true",
        help="also compute the perplexity of each direction's validation set",
    )
    what.add_argument("--fresh", action="store_true", help="redo directions that --out has")
    engine = parser.add_argument_group("engine")
    engine.add_argument(
        "--engine",
        choices=tuple(OF_THE_OTHER),
        default="pool",
        help="pool: workers load the model once and share the directions; fairseq: run stock "
        "fairseq-generate for each direction, which also receives any further flags (default pool)",
    )
    engine.add_argument(
        "--dry-run", action="store_true", help="only print the commands of --engine fairseq"
    )
    take_unknown(parser, lambda args: bool(args.engine == "fairseq"))
    text = parser.add_argument_group("plain text")
    text.add_argument("--input", metavar="FILE", help="translate a text file (-: standard input)")
    text.add_argument("--interactive", action="store_true", help="translate typed lines one by one")
    text.add_argument("-s", "--source-lang", metavar="LANG", help="language of the text")
    text.add_argument("-t", "--target-lang", metavar="LANG", help="language to translate into")
    search = parser.add_argument_group("search")
    search.add_argument(
        "--protocol",
        choices=tuple(PROTOCOLS),
        help="decode as this paper does; other options override it",
    )
    search_options(search)
    machine_options(parser)


def run(args: argparse.Namespace) -> int:
    """Translate; returns 1 if a direction failed."""
    from tdo_plugin.data.databin import read_data_folder
    from tdo_plugin.evaluation.decoding.worker import Work
    from tdo_plugin.evaluation.protocols import protocol

    _check(args)
    chosen = protocol(args.protocol)
    options = decoding_options(args, chosen, args.dry_run)
    data = read_data_folder((args.data or _recorded(options)).resolve())
    from_pivot = _from_pivot(args, chosen, options)
    if args.input or args.interactive:
        work = Work(options, data, data.root, args.user_dir, from_pivot)
        return _text(args, work)
    work = Work(options, data, args.out.resolve(), args.user_dir, from_pivot)
    if args.engine == "fairseq":
        return _with_fairseq(args, work)
    # with two models, neither has a perplexity of the whole direction
    perplexity = args.perplexity or (chosen.perplexity and not from_pivot)
    return _test_sets(args, work, perplexity)


def _recorded(options: DecodingOptions) -> Path:
    """The data folder that the first model was trained on."""
    from tdo_plugin.checkpoints import read
    from tdo_plugin.evaluation.decoding.loading import recorded_data

    path = options.checkpoints[0]
    return recorded_data(path, read(path, "--path"), "DATA")


def _from_pivot(
    args: argparse.Namespace, chosen: Protocol, options: DecodingOptions
) -> dict[str, DecodingOptions]:
    """The decoding options for the step from the pivot, if another model does it."""
    from tdo_plugin.evaluation.decoding.decoded_checkpoints import resolve

    if args.pivot_path is None:
        return {}
    checkpoints = resolve(
        args.pivot_path, args.average, tell, "--pivot-path", default=chosen.checkpoints
    )
    return {args.pivot: replace(options, checkpoints=checkpoints)}


def _check(args: argparse.Namespace) -> None:
    text = bool(args.input or args.interactive)
    if args.input and args.interactive:
        raise UserError("`--input` must be left out with --interactive; it is given")
    if not text and args.out is None:
        raise UserError(
            "`--out` must name a folder, unless --input or --interactive; it is missing"
        )
    for option in ("source_lang", "target_lang"):
        name, code = option.replace("_", "-"), getattr(args, option)
        if text and not code:
            raise UserError(f"`--{name}` must name the language of the text; it is missing")
        if code and not re.fullmatch(LANGUAGE, code):
            raise UserError(f"`--{name}` must be a language's code such as de; it is {code}")
    if args.out and args.input:
        refuse_same(args.out, Path(args.input), "--input")
        for path in filter(None, f"{args.path or ''}:{args.pivot_path or ''}".split(":")):
            refuse_same(args.out, Path(path), "a model")
    if text and args.source_lang == args.target_lang:
        raise UserError(
            f"`--target-lang` must be another language than --source-lang; it is {args.target_lang}"
        )
    _left_out(args, OF_THE_OTHER[args.engine], f"with --engine {args.engine}")
    if text:
        _left_out(args, OF_TEST_SETS, "with plain text")
    else:
        _left_out(args, OF_TEXT, "without plain text")
    if args.interactive and args.out:
        raise UserError("`--out` must be left out with --interactive; it is given")
    if args.pivot_path is not None:
        if not args.pivot:
            raise UserError("`--pivot-path` must come with --pivot; it is missing")
        if args.perplexity:
            raise UserError("`--perplexity` must be left out with --pivot-path; it is given")
    check_decoding(args, *filter(None, (args.path, args.pivot_path)))


def _left_out(args: argparse.Namespace, options: Sequence[str], where: str) -> None:
    for option in options:
        if getattr(args, option):
            name = option.replace("_", "-")
            raise UserError(f"`--{name}` must be left out {where}; it is given")


def _with_fairseq(args: argparse.Namespace, work: Work) -> int:
    """Print the stock commands and, unless it is a dry run, run them."""
    from tdo_plugin.evaluation.decoding.fairseq_engine import FairseqWork

    work = FairseqWork(work.options, work.data, work.out, work.user_dir, flags=tuple(args.rest))
    if not args.dry_run:
        return _test_sets(args, work, False)
    _commands(args, work, work.data.select(args.pairs or "all", option="--pairs"))
    return 0


def _commands(
    args: argparse.Namespace, work: Work, directions: Sequence[str], lock: int | None = None
) -> Callable[..., Iterator[Event]]:
    """Print the stock commands of the directions; returns the function that runs them."""
    from tdo_plugin.evaluation.decoding.fairseq_engine import FairseqWork, generate_all
    from tdo_plugin.launch.environment import announce

    assert isinstance(work, FairseqWork)
    devices, environment = machine(args, len(directions))
    announce(environment)
    for direction in directions:
        print("+ " + shlex.join(work.command(direction, devices[0])), flush=True)
    return partial(generate_all, lock=lock)


def _test_sets(args: argparse.Namespace, work: Work, perplexity: bool) -> int:
    from tdo_plugin.evaluation.decoding.decoding_jobs import plan
    from tdo_plugin.evaluation.outputs import read_how, write_how

    data, out = work.data, work.out
    directions = data.select(args.pairs or "all", option="--pairs")
    if args.pivot and args.pivot not in data.languages:
        raise UserError(f"`--pivot` must be one of {', '.join(data.languages)}; it is {args.pivot}")
    if out.exists() and (not out.is_dir() or out == data.root):
        raise UserError(f"`--out` must be a folder other than DATA; it is {args.out}")
    with alone(out) as lock, ended_by_signal(hint=GOES_ON):
        how = _how(args, work)
        _take_over(out, how, args.fresh)
        digest = hashlib.sha256(json.dumps(how["settings"], sort_keys=True).encode()).hexdigest()
        stages, failures = plan(data, out, directions, digest, args.pivot, perplexity)
        for line in failures:
            tell(f"error: {line}")
        todo = [[job for job in stage if not job.is_whole(out)] for stage in stages]
        jobs = [job for stage in todo for job in stage]
        whole = sum(map(len, stages)) - len(jobs)
        if whole:
            tell(f"{whole} of {whole + len(jobs)} directions are already complete")

        def seen(event: Event) -> None:
            if event.kind == "ready" and read_how(out) is None:
                write_how(out, {**how, "checkpoints": list(event.checkpoints)})

        decode = None
        if args.engine == "fairseq" and jobs:
            decode = _commands(args, work, [job.direction for job in jobs], lock)
        failed = len(failures) + run_stages(todo, work, args, seen=seen, decode=decode)
    print(out, flush=True)
    return 1 if failed else 0


def _how(args: argparse.Namespace, work: Work) -> dict[str, Any]:
    """The settings that determine the folder's hypotheses, and how they were made."""
    from tdo_plugin.data.databin import MARK
    from tdo_plugin.metrics.textform import read_text_form
    from tdo_plugin.runtime.files import sha256
    from tdo_plugin.runtime.provenance import made_by

    root = work.data.root
    settings = {
        **settings_of(work.options),
        **work.settings,
        "data": sha256(root / MARK),
        "pivot": args.pivot,
    }
    if args.pivot_path:
        from_pivot = settings_of(work.by_source[args.pivot])
        settings["pivot_checkpoints_sha256"] = from_pivot["checkpoints_sha256"]
    return {
        "settings": settings,
        "data": str(root),
        "form": asdict(read_text_form(root)),
        "protocol": args.protocol,
        **made_by(shlex.join(["tdo", *sys.argv[1:]])),
    }


def _take_over(out: Path, how: dict[str, Any], fresh: bool) -> None:
    """Claim `out` for these settings.

    Raises:
        UserError: `out` has hypotheses with other settings, and `fresh` is not set.
    """
    from tdo_plugin.evaluation.outputs import (
        has_others_hypotheses,
        read_how,
        remove_translations,
    )

    if has_others_hypotheses(out):
        raise UserError(
            f"`--out` must be new or an output folder of tdo translate; {out} has hypotheses from "
            "another program"
        )
    before = None if fresh else read_how(out)
    if before is not None and before.get("settings") != how["settings"] and not fresh:
        old, new = before.get("settings") or {}, how["settings"]
        differing = [name for name in {**new, **old} if old.get(name) != new.get(name)]
        raise UserError(
            f"`--out` must be a new folder, or --fresh given; {out} was made with different "
            f"{', '.join(differing)}"
        )
    if fresh or before is None:  # hypotheses with unknown settings are useless
        remove_translations(out)


def _text(args: argparse.Namespace, work: Work) -> int:
    from tdo_plugin.evaluation.decoding.plaintext import converse, translate_file

    device = "cuda:0" if gpus_here(args) else "cpu"
    steps = [args.source_lang, *([args.pivot] if args.pivot else []), args.target_lang]
    if args.interactive:
        return converse(work, device, steps)
    return translate_file(work, device, steps, args.input, args.out)
