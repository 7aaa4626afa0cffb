"""`tdo inspect`: statistics of a data folder, and batches as a model receives them."""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tdo_plugin.cli.config_argument import config_of, scale_option
from tdo_plugin.cli.output_file import check_has_folder
from tdo_plugin.errors import UserError
from tdo_plugin.launch.handed_on_options import own_and_stock, take_rest

if TYPE_CHECKING:
    from tdo_plugin.data.databin import DataFolder
    from tdo_plugin.data.inventory import BinarisedSet
    from tdo_plugin.evaluation.published.corpus_sizes import CorpusSizes

HELP = "show a data folder's sizes, lengths and unknown tokens, and batches as the model sees them"
EXAMPLE = "tdo inspect my-data"

TAGS = ("--encoder-langtok", "--decoder-langtok", "--langtoks")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "data", type=Path, metavar="DATA", help="data folder (`tdo prepare` or `tdo preprocess`)"
    )
    _options(parser)
    take_rest(parser, "fairseq-train, for --batches")


def _options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--batches",
        type=int,
        metavar="N",
        help="show the first N training batches with tags, as fairseq-train makes them (default "
        "tag: the target language, before the source)",
    )
    add(
        "--config",
        metavar="CONFIG",
        help="make batches with this config's flags (see `tdo train`)",
    )
    scale_option(parser)
    add("--plot", type=Path, metavar="FILE", help="draw the sizes of the directions: .svg, .png")
    add("--json", type=Path, metavar="FILE", help="also write all numbers as JSON")


def run(args: argparse.Namespace) -> int:
    """Print the tables, and write the figure and the JSON file if requested."""
    from dataclasses import asdict

    from tdo_compat.digests import check_folder
    from tdo_plugin.analysis import figure_files, size_plot
    from tdo_plugin.corpora.prepared_corpus import corpus_made
    from tdo_plugin.data.databin import read_data_folder
    from tdo_plugin.data.inventory import as_json, by_direction, read_sets
    from tdo_plugin.evaluation.published.corpus_sizes import corpus_sizes
    from tdo_plugin.runtime.files import write_text

    extra = own_and_stock(args, _options)
    _check(args, extra)
    if args.plot:
        figure_files.check(args.plot)
    data = read_data_folder(args.data)
    sets = read_sets([data.root / shard for shard in ("", *data.shards)])
    files = check_folder(str(data.root))
    counted = corpus_sizes(*corpus_made(data.root))
    _print(data, sets, counted)
    print(_said_of(files))
    if args.batches is not None:
        _print_batches(_words(args, data, extra), args.batches)
    if args.plot:
        train_sides = by_direction(sets, "train")
        sides = {name: train_sides[name][0] for name in data.directions if name in train_sides}
        sizes = {
            "sentences": {name: side.sentences for name, side in sides.items()},
            "source tokens": {name: side.tokens for name, side in sides.items()},
        }
        size_plot.draw_sizes(sizes, f"training text of {data.root.resolve().name}", args.plot)
        print(args.plot.resolve())
    if args.json:
        numbers = as_json(data, sets) | {"published": asdict(counted) if counted else None}
        write_text(args.json, [json.dumps(numbers, indent=1, ensure_ascii=False)])
        print(args.json.resolve())
    return 0


def _check(args: argparse.Namespace, extra: Sequence[str]) -> None:
    if args.batches is None and (extra or args.config):
        raise UserError(
            f"`--batches` must be given with {' '.join(extra) or '--config'}, which only "
            "fairseq-train reads; it is not"
        )
    if args.batches is not None and args.batches < 1:
        raise UserError(f"`--batches` must be at least 1; it is {args.batches}")
    check_has_folder(args.plot, "--plot")
    check_has_folder(args.json, "--json")


def _words(args: argparse.Namespace, data: DataFolder, extra: Sequence[str]) -> list[str]:
    """The command line of fairseq-train."""
    flags = config_of(args).config.words() if args.config else ["--max-tokens", "500"]
    chosen = [*flags, *extra]
    tagged = any(word.partition("=")[0] in TAGS for word in chosen)
    return [
        *(data.path, "--task", "tdo_translation", "--arch", "tdo_transformer"),
        *("--langs", ",".join(data.languages), "--lang-pairs", ",".join(data.directions)),
        *(() if tagged else ("--encoder-langtok", "tgt")),
        *chosen,
    ]


def _print(data: DataFolder, sets: Sequence[BinarisedSet], counted: CorpusSizes | None) -> None:
    from functools import reduce
    from operator import add

    from tdo_plugin.data.inventory import Side, by_language
    from tdo_plugin.evaluation.report.data_tables import (
        directions_table,
        histogram,
        languages_table,
    )
    from tdo_plugin.evaluation.report.text_tables import terminal

    width = shutil.get_terminal_size((100, 24)).columns
    for table in (directions_table(data, sets), languages_table(data, sets, counted)):
        print(table.title, "", terminal(table, width, bold=False), "", sep="\n")
    train = reduce(add, by_language(sets, "train").values(), Side())
    print("Training sentences by length in tokens", "", *histogram(train, width), "", sep="\n")
    print(
        "Source and target lengths are in tokens: subword pieces, without language tags and "
        "end-of-sentence symbols."
        + (f" {counted.source}: the paper's sentence pairs with English." if counted else ""),
        flush=True,
    )


def _said_of(files: int) -> str:
    if files:
        return f"All {files} files match the digests from when the folder was made."
    return "prepared.json has no file digests; `tdo preprocess --fresh` writes them."


def _print_batches(words: Sequence[str], count: int) -> None:
    from tdo_plugin.metrics.silence import quiet_libraries

    with quiet_libraries():
        from tdo_plugin.tasks.preview import first_batches

        batches = first_batches(words, count)
    for number, batch in enumerate(batches, 1):
        rows, source, target = batch.shape
        print(f"\nbatch {number}: {rows} sentences, {source} source x {target} target positions")
        for sentence in batch.sentences:
            print(
                f"{sentence.direction}\n  source    {sentence.source}\n"
                f"  previous  {sentence.previous}\n  target    {sentence.target}"
            )
