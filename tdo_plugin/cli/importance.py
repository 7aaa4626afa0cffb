"""`tdo neurons importance`: measure each neuron's importance to each language pair."""

from __future__ import annotations

import argparse
import shlex
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tdo_compat.errors import tell
from tdo_plugin.cli.decoding import MODEL, machine_options, run_stages
from tdo_plugin.cli.output_file import check_has_folder
from tdo_plugin.errors import UserError
from tdo_plugin.evaluation.decoding.decoded_checkpoints import resolve_one
from tdo_plugin.launch.parser import seed

if TYPE_CHECKING:
    from tdo_plugin.cli.importance_jobs import ImportanceJob, ImportanceWork
    from tdo_plugin.data.databin import DataFolder
    from tdo_plugin.neuron_files import Importance

HELP = "measure each neuron's importance to each language pair"
EXAMPLE = "tdo neurons importance --path my-model/average.pt --data my-data --out importance"
METHODS = ("taylor", "absolute")
INNER = ("after", "before")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add = parser.add_argument
    add("--path", required=True, metavar="MODEL", help=f"the model: {MODEL}")
    add("--data", type=Path, required=True, metavar="DATA", help="the model's data folder")
    add("--out", type=Path, required=True, metavar="FILE", help="importance file to write")
    add(
        "--method",
        choices=METHODS,
        default="taylor",
        help="taylor: mean of |gradient * activation| (default); absolute: mean of |activation|",
    )
    add(
        "--inner",
        choices=INNER,
        default="after",
        help="measure inner feed-forward neurons after the ReLU, or before it as the authors' code "
        "does; taylor gives the same for both (default after)",
    )
    add(
        "--pairs",
        metavar="P",
        help="language pairs such as de-en,en-* (default: all training pairs)",
    )
    add(
        "--split",
        choices=("train", "valid", "test"),
        default="train",
        help="split of the data (default train)",
    )
    add(
        "--sentences",
        default="10000",
        metavar="N",
        help="random sentences per pair, or all (default 10000)",
    )
    add(
        "--longest",
        type=int,
        default=256,
        metavar="N",
        help="skip sentences with more than N tokens on either side (default 256)",
    )
    add("--seed", type=seed, default=1, metavar="N", help="random seed (default 1)")
    add(
        "--label-smoothing",
        type=float,
        metavar="X",
        help="label smoothing of the loss (default: as in the checkpoint's training)",
    )
    add("--max-tokens", type=int, default=4000, metavar="N", help="tokens per batch (default 4000)")
    add(
        "--precision",
        choices=("fp32", "fp16", "bf16"),
        default="fp32",
        help="number format of the model; sums are always in double precision (default fp32)",
    )
    add("--fresh", action="store_true", help="start over, discarding earlier results")
    machine_options(parser)


def run(args: argparse.Namespace) -> int:
    """Measure every pair, write the file, and print a table."""
    from tdo_plugin.data.databin import read_data_folder
    from tdo_plugin.runtime.lock import alone
    from tdo_plugin.runtime.signals import GOES_ON, ended_by_signal

    sentences = _check(args)
    out = args.out.absolute()
    check_has_folder(args.out, "--out")
    data = read_data_folder(args.data.resolve())
    work = _work(args, data, sentences, out.with_name(out.name + ".parts"))
    if out.exists() and not args.fresh:
        importance = _same(out, work)
        tell(f"{args.out} is already complete")
        _show(importance, out)
        return 0
    jobs = [_job(work, pair) for pair in work.settings.pairs]
    with alone(work.out), ended_by_signal(hint=GOES_ON):
        try:
            if args.fresh:
                for part in work.out.glob("*.safetensors"):
                    part.unlink()
            for part in sorted(work.out.glob("*.safetensors")):
                _same(part, work)
            todo = [job for job in jobs if not job.is_whole(work.out)]
            if len(todo) < len(jobs):
                tell(f"{len(jobs) - len(todo)} of {len(jobs)} pairs are already complete")
            failed = run_stages([todo], work, args, unit="pairs")
            if failed:
                tell(f"error: {failed} of {len(jobs)} pairs failed; run the same command again")
                return 1
            _join(jobs, work, data).write(out)
            shutil.rmtree(work.out)
        finally:
            if not any(work.out.glob("*.safetensors")):
                shutil.rmtree(work.out, ignore_errors=True)
    _show(_same(out, work), out)
    return 0


def _check(args: argparse.Namespace) -> int | None:
    """The number of sentences per pair; None: all.

    Raises:
        UserError: an invalid option.
    """
    for option in ("longest", "max_tokens", "workers"):
        value = getattr(args, option)
        if value is not None and value < 1:
            name = option.replace("_", "-")
            raise UserError(f"`--{name}` must be at least 1; it is {value}")
    if args.label_smoothing is not None and not 0 <= args.label_smoothing < 1:
        raise UserError(
            f"`--label-smoothing` must be from 0 to below 1; it is {args.label_smoothing}"
        )
    if args.sentences == "all":
        return None
    if not args.sentences.isdecimal() or not int(args.sentences):
        raise UserError(f"`--sentences` must be all or at least 1; it is {args.sentences}")
    return int(args.sentences)


def _work(
    args: argparse.Namespace, data: DataFolder, sentences: int | None, parts: Path
) -> ImportanceWork:
    """The work to be shared among workers.

    Raises:
        UserError: an unusable checkpoint, or unknown pairs.
    """
    from tdo_plugin.checkpoints import read
    from tdo_plugin.cli.importance_jobs import ImportanceWork, Settings
    from tdo_plugin.data.databin import MARK
    from tdo_plugin.evaluation.decoding.loading import check_languages, known_languages
    from tdo_plugin.neuron_files import digest_of
    from tdo_plugin.runtime.files import sha256

    path = resolve_one(args.path, None, tell, "--path")
    state = read(path, "--path")
    languages = known_languages(path)
    pairs = _pairs(args, data)
    for pair in pairs:
        check_languages(languages, pair)
    smoothing = args.label_smoothing
    settings = Settings(
        args.inner,
        args.split,
        sentences,
        args.longest,
        args.seed,
        _smoothing_of(state) if smoothing is None else smoothing,
        args.precision,
        sha256(data.root / MARK),
        pairs,
    )
    checkpoint = digest_of(state["model"])
    return ImportanceWork(
        path, checkpoint, args.method, settings, args.max_tokens, data, parts, args.user_dir
    )


def _pairs(args: argparse.Namespace, data: DataFolder) -> tuple[str, ...]:
    from tdo_plugin.data.databin import matching
    from tdo_plugin.evaluation.decoding.loading import has_set
    from tdo_plugin.evaluation.inspected_model import Cut, check_sets

    if args.pairs is None:
        check_sets(data, data.directions, Cut(args.split), " (choose others with `--pairs`)")
        return data.directions
    available = [
        direction
        for direction in dict.fromkeys((*data.directions, *data.test_directions))
        if has_set(data, args.split, direction)
    ]
    matches = {pattern.strip(): matching(pattern, available) for pattern in args.pairs.split(",")}
    for name, pairs in matches.items():
        if not pairs:
            raise UserError(
                f"`--pairs` must be pairs with a {args.split} set in {data.root}; {name} is not one"
            )
    return tuple(dict.fromkeys(pair for pairs in matches.values() for pair in pairs))


def _smoothing_of(state: dict[str, Any]) -> float:
    """Label smoothing of the checkpoint's criterion; 0 if there is none."""
    cfg = state.get("cfg") or {}
    stored = cfg.get("criterion") if cfg else state.get("args")
    options = stored if isinstance(stored, Mapping) else vars(stored) if stored else {}
    value = options.get("label_smoothing") or 0.0
    if not isinstance(value, int | float) or not 0 <= value < 1:
        raise UserError(f"`--path` must have label smoothing from 0 to below 1; it has {value}")
    return float(value)


def _job(work: ImportanceWork, pair: str) -> ImportanceJob:
    """The job of a pair."""
    from tdo_plugin.cli.importance_jobs import ImportanceJob
    from tdo_plugin.evaluation.inspected_model import lines_of

    lines = lines_of(work.data, work.settings.split, pair)
    return ImportanceJob(pair, min(lines, work.settings.sentences or lines))


def _same(path: Path, work: ImportanceWork) -> Importance:
    """Read an importance file that was made with the same settings as this run.

    Raises:
        UserError: the settings differ.
    """
    from tdo_plugin.neuron_files import Importance

    importance = Importance.read(path, "--out")
    expected: dict[str, Any] = {
        "checkpoint": work.checkpoint, "method": work.method, **work.settings.as_dict()
    }  # fmt: skip
    before = {
        "checkpoint": importance.checkpoint,
        "method": importance.method,
        **importance.about.get("settings", {}),
        "inner": importance.inner,
    }
    if work.method == "taylor":
        del expected["inner"]  # the same numbers on both sides of the ReLU
    differing = [name for name, value in expected.items() if before.get(name) != value]
    if differing:
        raise UserError(
            f"`--out` must be a new file, or --fresh given; {path} was made with different "
            f"{', '.join(differing)}"
        )
    return importance


def _join(jobs: list[ImportanceJob], work: ImportanceWork, data: DataFolder) -> Importance:
    """All parts joined, in the order of the pairs."""
    import torch

    from tdo_plugin.neuron_files import Importance
    from tdo_plugin.runtime.provenance import made_by

    parts = [_same(job.part(work.out), work) for job in jobs]
    first = parts[0]
    return Importance(
        work.method,
        work.settings.pairs,
        {name: torch.cat([part.modules[name] for part in parts]) for name in first.modules},
        first.sides,
        work.checkpoint,
        {
            "settings": work.settings.as_dict(),
            "of_pairs": {k: v for part in parts for k, v in part.about["of_pairs"].items()},
            "path": str(work.path),
            "data": str(data.root),
            "max_tokens": work.max_tokens,
            **made_by(shlex.join(["tdo", *sys.argv[1:]])),
        },
    )


def _show(importance: Importance, out: Path) -> None:
    """Print a table of the measurements, and the file's path."""
    rows = [("pair", "sentences", "positions", "seconds", "loss per token")]
    for pair, facts in importance.about["of_pairs"].items():
        counts = [f"{facts[name]:,}" for name in ("sentences", "positions")]
        rows.append((pair, *counts, f"{facts['seconds']:.1f}", f"{facts['loss']:.3f}"))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)))
    print(out, flush=True)
