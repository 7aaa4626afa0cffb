"""Distinct shapes of an epoch's batches, as they are and with lengths rounded up.

    python benchmarks/batch_shapes.py DATA [--max-tokens 4096] [--multiple 8]

DATA is a data folder (`tdo preprocess`). A new shape costs compilation with torch.compile without
dynamic shapes, a plan with libraries that keep one for each shape, and usually an allocation. For
the tensors that enter the layers of a two-stage model the script counts, over one epoch of training
batches (seed 1):

- first stage: sentences B and source length S;
- second stage: B, S and target length T;
- rows: tokens with padding of the second stage, B * (S + T), which is all that its norms,
  projections and FFNs depend on;
- padding: percentage of positions that are padding.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from fairseq import options, tasks

from tdo_plugin.data.databin import DataFolder, read_data_folder

HEAD = ("multiple", "batches", "first stage", "second stage", "rows", "padding %")


@dataclass(frozen=True)
class Batch:
    """Sentences, source and target length, and the tokens of both without padding."""

    sentences: int
    source: int
    target: int
    tokens: int

    def rounded(self, multiple: int) -> tuple[int, int, int]:
        """B, S and T, the lengths rounded up to a multiple."""
        source, target = (
            -(-length // multiple) * multiple for length in (self.source, self.target)
        )
        return self.sentences, source, target


def batches_of(data: DataFolder, max_tokens: int) -> Iterator[Batch]:
    """The batches of the first epoch of a training on all directions of a folder."""
    words = [data.path, "--task", "tdo_translation", "--arch", "tdo_transformer"]
    words += ["--langs", ",".join(data.languages), "--lang-pairs", ",".join(data.directions)]
    words += ["--encoder-langtok", "tgt", "--sampling-method", "temperature"]
    words += ["--optimizer", "adam", "--max-tokens", str(max_tokens)]
    task = tasks.setup_task(options.parse_args_and_arch(options.get_training_parser(), words))
    task.load_dataset("train", epoch=1)
    iterator = task.get_batch_iterator(
        dataset=task.dataset("train"),
        max_tokens=max_tokens,
        max_positions=(1024, 1024),
        required_batch_size_multiple=8,
        seed=1,
        epoch=1,
    )
    pad = task.source_dictionary.pad()
    for sample in iterator.next_epoch_itr(shuffle=False):
        source, target = sample["net_input"]["src_tokens"], sample["target"]
        tokens = int(source.ne(pad).sum()) + sample["ntokens"]
        yield Batch(len(source), source.size(1), target.size(1), tokens)


def row_of(batches: list[Batch], multiple: int) -> tuple[int | float, ...]:
    """The row of the table for lengths rounded up to a multiple."""
    shapes = [batch.rounded(multiple) for batch in batches]
    rows = [sentences * (source + target) for sentences, source, target in shapes]
    padding = 1 - sum(batch.tokens for batch in batches) / sum(rows)
    first = {shape[:2] for shape in shapes}
    return multiple, len(batches), len(first), len({*shapes}), len({*rows}), 100 * padding


def main(arguments: list[str] | None = None) -> None:
    """Count, print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--max-tokens", type=int, default=4096)
    parser.add_argument("--multiple", type=int, default=8)
    args = parser.parse_args(arguments)
    batches = list(batches_of(read_data_folder(args.data), args.max_tokens))
    print("| " + " | ".join(HEAD) + " |")
    print("|" + "---|" * len(HEAD))
    for multiple in (1, args.multiple):
        *counts, padding = row_of(batches, multiple)
        print("| " + " | ".join(f"{count:,}" for count in counts) + f" | {padding:.1f} |")


if __name__ == "__main__":
    main()
