"""`tdo report`: score decoded directions; table, Markdown, JSON and heat map."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from tdo_plugin.errors import UserError

HELP = "score what was decoded: BLEU, chrF++ and off-target share, several systems side by side"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add = parser.add_argument
    add(
        "--data",
        type=Path,
        required=True,
        metavar="DATA",
        help="folder that scripts/preprocess.sh made",
    )
    add(
        "--system",
        action="append",
        required=True,
        metavar="NAME=DIR",
        help="a system's name and the folder that scripts/generate.sh filled; once a system",
    )
    add(
        "--out",
        type=Path,
        required=True,
        metavar="DIR",
        help="folder for results.md, results.json and heatmap.png",
    )
    add(
        "--directions",
        default="all",
        metavar="D",
        help="all, supervised, zero-shot, or a list such as en-de,de-fr (default all)",
    )
    add(
        "--lid",
        type=Path,
        metavar="FILE",
        help="tell languages apart with this fastText model (lid.176.bin) instead of a classifier "
        "trained on the corpus",
    )
    add(
        "--metric",
        choices=("bleu", "chrf"),
        default="bleu",
        help="what the heat map shows (default bleu)",
    )


def run(args: argparse.Namespace) -> int:
    """Score, print and write."""
    from tdo_plugin.data.databin import read_data_folder
    from tdo_plugin.data.segmentation import write_text
    from tdo_plugin.evaluation import heatmap, tables
    from tdo_plugin.evaluation.language_id import FastText, from_training_side
    from tdo_plugin.evaluation.results import evaluate

    data = read_data_folder(args.data)
    systems = _systems(args.system)
    directions = data.select(args.directions)
    identifier = FastText(args.lid) if args.lid else from_training_side(data)
    report = evaluate(
        data, systems, directions, identifier, progress=lambda line: print(line, flush=True)
    )
    args.out.mkdir(parents=True, exist_ok=True)
    write_text(
        args.out / "results.json", [json.dumps(report.as_json(), indent=1, ensure_ascii=False)]
    )
    write_text(args.out / "results.md", [tables.markdown_report(report).rstrip("\n")])
    print()
    print(tables.terminal(tables.per_direction(report)))
    print()
    print(tables.terminal(tables.summary(report)))
    print()
    for line in tables.notes(report):
        print(line)
    print(flush=True)
    heatmap.draw(report, data.languages, args.out / "heatmap.png", args.metric)
    for name in ("results.md", "results.json", "heatmap.png"):
        print(args.out.resolve() / name)
    return 0


def _systems(given: list[str]) -> dict[str, Path]:
    systems: dict[str, Path] = {}
    for text in given:
        name, mark, folder = text.partition("=")
        if not (name and mark and folder):
            raise UserError(f"`--system` must be NAME=DIR; it is {text}")
        if name in systems:
            raise UserError(f"`--system` must name each system once; {name} is there twice")
        if not Path(folder).is_dir():
            raise UserError(f"`--system` must name a folder after NAME=; {folder} is not one")
        systems[name] = Path(folder)
    return systems
