"""The printed tables and written files of `tdo probe positions`."""

from __future__ import annotations

import argparse
import csv
import json
import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tdo_plugin.analysis.probing import probing_figures, probing_tables
from tdo_plugin.analysis.probing.probing_results import TestTokens
from tdo_plugin.analysis.probing.probing_tables import Models, Rows
from tdo_plugin.evaluation.report.table import ABSENT, Block, Cell, Column, Row, Table, number
from tdo_plugin.evaluation.report.text_tables import terminal
from tdo_plugin.runtime.files import complete_file, write_text

RECORD = "probe.json"
SUFFIXES = (".png", ".svg")
GROUPS = ("all", "supervised", "zero-shot")


def show(models: Models, against: str, test: TestTokens) -> None:
    """Print three tables, and notes on how to read them."""
    width = shutil.get_terminal_size((100, 24)).columns
    for table in (_accuracy(models, test), _classes(models, test), _shares(models, against, test)):
        print(table.title, "", terminal(table, width, bold=False), "", sep="\n")
    print(*_remarks(models, test), sep="\n", flush=True)


def write(
    out: Path, models: Models, against: str, test: TestTokens, args: argparse.Namespace
) -> Iterator[Path]:
    """Write all files, each atomically and the record last, and yield each path."""
    all_rows = _all_rows(models, against, test)
    for name, rows in all_rows.items():
        path = out / f"{name}.csv"
        with complete_file(path) as stream:
            writer = csv.writer(stream, lineterminator="\n")
            writer.writerow(rows.head)
            writer.writerows(rows.rows)
        yield path
    if not args.no_figures:
        yield from _draw(out, models, all_rows, test, args)
    record = json.dumps(
        _record(models, against, test, all_rows, args), ensure_ascii=False, indent=1
    )
    write_text(out / RECORD, [record])
    yield out / RECORD


def _all_rows(models: Models, against: str, test: TestTokens) -> dict[str, Rows]:
    return {
        "updates": probing_tables.updates(models),
        "layers": probing_tables.layers(models),
        "classes": probing_tables.classes(models, test),
        "shares": probing_tables.type_shares(models, against, test),
        "types": probing_tables.types(models, test),
    }


# --- on the terminal -------------------------------------------------------------------------


def _accuracy(models: Models, test: TestTokens) -> Table:
    layers = sorted(
        {layer for outcomes in models.values() for each in outcomes for layer in each.layers}
    )
    rows = []
    for name, outcomes in models.items():
        for checkpoint in outcomes:
            cells = [
                _spread(checkpoint.layers[layer].accuracies)
                if layer in checkpoint.layers
                else Cell(ABSENT)
                for layer in layers
            ]
            rows.append(Row((name, str(checkpoint.updates)), tuple(cells)))
    return Table(
        key="accuracy",
        title="Position accuracy, % of tokens",
        heads=("model", "updates"),
        columns=tuple(Column("layer", str(layer)) for layer in layers),
        blocks=(Block(tuple(rows)),),
    )


def _spread(accuracies: tuple[float, ...]) -> Cell:
    percent = [100 * accuracy for accuracy in accuracies]
    mean = sum(percent) / len(percent)
    spread = f" ({min(percent):.1f} to {max(percent):.1f})" * (len(percent) > 1)
    return Cell(f"{mean:.1f}{spread}", mean)


def _classes(models: Models, test: TestTokens) -> Table:
    classes = probing_tables.classes(models, test)
    groups = dict.fromkeys(row[0] for row in classes.rows)
    blocks = [
        Block(
            tuple(
                Row((name,), (Cell(f"{tokens:,}"), *(Cell(number(value, 1)) for value in values)))
                for row_group, name, tokens, *values in classes.rows
                if row_group == group
            ),
            "" if group == "all" else group,
        )
        for group in groups
    ]
    columns = [Column("", name) for name in ("tokens", *models, "word only")]
    return Table(
        "classes", "By token class, last checkpoints", ("class",), tuple(columns), tuple(blocks)
    )


def _shares(models: Models, against: str, test: TestTokens) -> Table:
    shares = probing_tables.type_shares(models, against, test)
    rows = [
        Row((name,), (Cell(f"{count:,}"), *(Cell(number(value, 2)) for value in values)))
        for name, count, *values in shares.rows
    ]
    return Table(
        key="shares",
        title="Token classes of vocabulary types, %",
        heads=("among",),
        columns=tuple(Column("", name) for name in shares.head[1:]),
        blocks=(Block(tuple(rows)),),
    )


def _remarks(models: Models, test: TestTokens) -> Iterator[str]:
    layers = {name: outcomes[-1].layer for name, outcomes in models.items()}
    layers_text = ", ".join(f"{layer} of {name}" for name, layer in layers.items())
    yield f"Accuracy by class and type is for layer {layers_text}."
    yield (
        "Baselines without hidden states: the most frequent position is correct for "
        f"{_mean(test.most_frequent):.1f} % of the tokens, the most frequent position of each word "
        f"for {_mean(test.by_word):.1f} %."
    )
    yield (
        "Language tags and end symbols are not counted. Probes were trained on "
        f"{test.trained_positions} positions; {test.beyond} of {len(test.tokens)} test tokens are "
        "at later positions and count as wrong."
    )


def _mean(right: Any) -> float:
    return 100 * float(right.double().mean())


# --- in the folder ---------------------------------------------------------------------------


def _draw(
    out: Path,
    models: Models,
    all_rows: Mapping[str, Rows],
    test: TestTokens,
    args: argparse.Namespace,
) -> Iterator[Path]:
    named = args.directions in GROUPS
    what = f"{args.directions} directions" if named else ", ".join(test.directions)
    title = f"{what}, position accuracy from source states "
    guess = _mean(test.by_word)

    def paths(name: str) -> list[Path]:
        return [out / f"{name}{suffix}" for suffix in SUFFIXES]

    for name, column, xlabel, head in (
        ("updates", 1, "updates", "over updates"),
        ("layers", 2, "layer", "by layer"),
    ):
        lines = {
            model: [(row[column], row[3]) for row in all_rows[name].rows if row[0] == model]
            for model in models
        }
        if max(map(len, lines.values())) > 1:
            probing_figures.draw_lines(lines, guess, xlabel, title + head, paths(name))
            yield from paths(name)
    rows = all_rows["classes"].rows
    columns = {
        model: {row[1]: row[place] for row in rows} for place, model in enumerate(models, start=3)
    }
    overall = {model: values["all"] for model, values in columns.items()}
    guesses = {row[1]: row[-1] for row in rows}
    groups = [list(members) for members in test.groups.values()]
    title += "by token class"
    probing_figures.draw_classes(columns, overall, guesses, groups, title, paths("classes"))
    yield from paths("classes")


def _record(
    models: Models,
    against: str,
    test: TestTokens,
    all_rows: Mapping[str, Rows],
    args: argparse.Namespace,
) -> dict[str, Any]:
    from tdo_plugin.evaluation.decoding.decoded_checkpoints import describe
    from tdo_plugin.runtime.provenance import made_by

    settings = ("halves", "layers", "sentences", "test_sentences", "longest", "probes", "seed")
    return {
        "models": {
            name: [
                {
                    **describe(checkpoint.path),
                    "layer": checkpoint.layer,
                    "accuracies": {
                        layer: [100 * each for each in outcome.accuracies]
                        for layer, outcome in checkpoint.layers.items()
                    },
                }
                for checkpoint in outcomes
            ]
            for name, outcomes in models.items()
        },
        "against": against,
        "data": str(args.data.resolve()),
        "directions": list(test.directions),
        "settings": {name: getattr(args, name) for name in settings},
        "test_tokens": len(test.tokens),
        "positions": test.trained_positions,
        "tokens_beyond": test.beyond,
        "guesses": {"most_frequent": _mean(test.most_frequent), "by_word": _mean(test.by_word)},
        **{
            name: [dict(zip(rows.head, row, strict=True)) for row in rows.rows]
            for name, rows in all_rows.items()
        },
        **made_by(shlex.join(["tdo", *sys.argv[1:]])),
    }
