"""`tdo score-lm`: the likelihood of sentence pairs or monolingual text under a model."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tdo_compat.errors import tell
from tdo_plugin.cli.decoding import path_option
from tdo_plugin.cli.output_file import check_has_folder
from tdo_plugin.errors import UserError
from tdo_plugin.launch.handed_on_options import device_options, gpus_here

if TYPE_CHECKING:
    from tdo_plugin.data.databin import DataFolder
    from tdo_plugin.evaluation.decoding.likelihood import Likelihood
    from tdo_plugin.evaluation.decoding.translator import Translator

HELP = "compute the perplexity of sentence pairs or monolingual text under a model"
EXAMPLE = "tdo score-lm my-data --path my-model/average.pt"
SPLITS = ("train", "valid", "test")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add = parser.add_argument
    add("data", type=Path, metavar="DATA", help="data folder (`tdo prepare` or `tdo preprocess`)")
    path_option(parser)
    add(
        "--average",
        metavar="RULE",
        help="which checkpoints of a folder in --path to average: best-N or last-N (default "
        "best-1)",
    )
    add(
        "--pairs",
        metavar="P",
        help="sentence pairs of DATA: all, supervised, zero-shot, or a list such as en-de,fr-de "
        "(default: all available pairs, unless --text is given)",
    )
    add("--split", choices=SPLITS, help="split of DATA (default test)")
    add(
        "--text",
        action="append",
        default=[],
        metavar="LANG=FILE",
        help="monolingual text, one sentence per line, scored as a target without a source; "
        "repeatable",
    )
    add("--json", type=Path, metavar="FILE", help="also write the table as JSON")
    add(
        "--sentences",
        type=Path,
        metavar="FILE",
        help="write each sentence's log-likelihoods in nats as tab-separated values",
    )
    add("--max-tokens", type=int, default=4000, metavar="N", help="tokens per batch (default 4000)")
    add(
        "--precision",
        choices=("fp32", "fp16", "bf16"),
        default="fp32",
        help="number format (default fp32)",
    )
    device_options(parser, several=False)


@dataclass(frozen=True)
class Figures:
    """Summed log-likelihoods of a set of sentences.

    Attributes:
        name: the direction, or the language of monolingual text.
        sentences: number of sentences.
        target: log P(target | source), in nats.
        target_tokens: number of target tokens.
        source: log P(source), in nats, if the model predicts the source.
        source_tokens: number of source tokens.
    """

    name: str
    sentences: int
    target: float
    target_tokens: int
    source: float | None
    source_tokens: int

    def as_dict(self) -> dict[str, Any]:
        """The row for JSON and the table: counts, and perplexities per token."""
        from tdo_plugin.evaluation.decoding.likelihood import perplexity

        row: dict[str, Any] = {
            "set": self.name,
            "sentences": self.sentences,
            "target_tokens": self.target_tokens,
            "target_perplexity": perplexity(self.target, self.target_tokens),
        }
        if self.source is not None and self.source_tokens:
            both = self.target_tokens + self.source_tokens
            row["source_tokens"] = self.source_tokens
            row["source_perplexity"] = perplexity(self.source, self.source_tokens)
            row["joint_perplexity"] = perplexity(self.source + self.target, both)
        return row


def run(args: argparse.Namespace) -> int:
    """Score every set and print a table."""
    from tdo_plugin.data.databin import read_data_folder
    from tdo_plugin.evaluation.decoding import decoded_checkpoints
    from tdo_plugin.evaluation.decoding.decoding_options import DecodingOptions
    from tdo_plugin.evaluation.decoding.worker import Work, load
    from tdo_plugin.runtime.files import complete_file

    texts = _check(args)
    data = read_data_folder(args.data.resolve())
    paths = decoded_checkpoints.resolve(args.path, args.average, tell)
    options = DecodingOptions(paths, max_tokens=args.max_tokens, precision=args.precision)
    options.check()
    translator = load(Work(options, data, data.root, None), "cuda:0" if gpus_here(args) else "cpu")
    reason = None if texts else _why_no_source(paths, translator)  # monolingual text has no source
    with ExitStack() as stack:
        lines = stack.enter_context(complete_file(args.sentences)) if args.sentences else None
        summed = []
        for name, task, dataset, source in _sets(args, data, translator, texts, reason):
            likelihoods = sorted(
                translator.likelihoods(task, dataset, source),
                key=lambda likelihood: likelihood.number,
            )
            summed.append(_summed(name, likelihoods))
            for likelihood in likelihoods if lines else ():
                source_columns = (
                    ""
                    if likelihood.source is None
                    else f"{likelihood.source:.6f}\t{likelihood.source_tokens}"
                )
                print(
                    f"{name}\t{likelihood.number + 1}\t{likelihood.target:.6f}\t"
                    f"{likelihood.target_tokens}\t{source_columns}",
                    file=lines,
                )
    rows = [figures.as_dict() for figures in summed]
    if args.json:
        with complete_file(args.json) as stream:
            sets = [{name: _finite(value) for name, value in row.items()} for row in rows]
            content = {"checkpoints": [str(path) for path in paths], "sets": sets}
            json.dump(content, stream, indent=1)
            stream.write("\n")
    print("\n".join(_table(rows)), flush=True)
    if reason is not None:
        tell(f"P(source) is omitted: {reason}")
    return 0


def _check(args: argparse.Namespace) -> list[tuple[str, Path]]:
    """The languages and files of monolingual text.

    Raises:
        UserError: options that contradict each other, or a missing file.
    """
    from tdo_plugin.evaluation.decoding.decoded_checkpoints import check_rule

    if args.average:
        check_rule(args.average)
    if args.text and (args.split or args.pairs):
        option = "split" if args.split else "pairs"
        raise UserError(f"`--{option}` must be left out with --text; it is {getattr(args, option)}")
    check_has_folder(args.json, "--json")
    check_has_folder(args.sentences, "--sentences")
    texts = []
    for text in args.text:
        language, _, file = text.partition("=")
        if not (language and file and Path(file).is_file()):
            raise UserError(f"`--text` must be LANG=FILE with an existing file; it is {text}")
        texts.append((language, Path(file)))
    return texts


def _sets(
    args: argparse.Namespace,
    data: DataFolder,
    translator: Translator,
    texts: Sequence[tuple[str, Path]],
    reason: str | None,
) -> Iterator[tuple[str, Any, Any, bool]]:
    """Name, task and sentences of each set, and whether sources are scored (no `reason`)."""
    from tdo_plugin.data.textfolder import read_lines
    from tdo_plugin.evaluation.decoding.loading import has_set

    for language, file in texts:
        lines = [line for line in read_lines(file) if line.strip()]
        if not lines:
            raise UserError(f"`--text` must have a non-empty line; {file} has none")
        yield (language, *translator.text_alone(language, lines), False)
    if texts:
        return
    split = args.split or "test"
    chosen = data.select(args.pairs or "all", option="--pairs")
    directions = [
        direction for direction in chosen if args.pairs or has_set(data, split, direction)
    ]
    if not directions:
        raise UserError(f"`--split` must be a split of DATA; DATA has no {split} set")
    for direction in directions:
        task = translator.set_of(split, direction)
        yield direction, task, task.dataset(split), reason is None


def _why_no_source(paths: Sequence[Path], translator: Translator) -> str | None:
    """Why this model does not define P(source); None if it does."""
    from tdo_plugin.checkpoints import read

    if not translator.tags_sources:
        return "no tag precedes the first source token (`--encoder-langtok`)"
    for path, model in zip(paths, translator.models, strict=True):
        spec = getattr(getattr(model, "core", None), "spec", None)
        if spec is None or spec.source_attention != "causal":
            return "source positions attend to later ones (`--tdo-source-attention` is not causal)"
        cfg = read(path, "--path").get("cfg") or {}
        options = cfg.get("criterion") or {}
        options = options if isinstance(options, dict) else vars(options)
        name = options.get("_name") or options.get("criterion") or ""
        trained = name.endswith("_tlm") or "reconstruction" in (options.get("loss_terms") or "")
        task = options.get("reconstruction_task", "lm")
        if not trained or task != "lm" or not options.get("reconstruction_weight", 1):
            return "the model was not trained on it (`--reconstruction-task lm`)"
    return None


def _summed(name: str, likelihoods: Sequence[Likelihood]) -> Figures:
    sources = [likelihood.source for likelihood in likelihoods if likelihood.source is not None]
    return Figures(
        name,
        len(likelihoods),
        math.fsum(likelihood.target for likelihood in likelihoods),
        sum(likelihood.target_tokens for likelihood in likelihoods),
        math.fsum(sources) if sources else None,
        sum(likelihood.source_tokens for likelihood in likelihoods),
    )


def _finite(value: Any) -> Any:
    """The value, or None for an infinite or NaN number, which JSON cannot represent."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _table(rows: Sequence[dict[str, Any]]) -> list[str]:
    """The table as lines of text, one row per set."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    shown = [
        [
            "" if (value := row.get(name)) is None
            else f"{value:.3f}" if isinstance(value, float)
            else f"{value}"
            for name in names
        ]
        for row in rows
    ]  # fmt: skip
    heads = [name.replace("_", " ") for name in names]
    widths = [max(map(len, column)) for column in zip(heads, *shown, strict=True)]
    return [
        "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True))
        for line in (heads, *shown)
    ]
