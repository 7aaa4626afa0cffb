"""Similarity of a source's states to those of an English source with the same meaning.

    python benchmarks/states_across_languages.py DATA CHECKPOINT... [--sentences N]

In zero-shot translation, upper layers process a source in a language with a tag that it never had
in training; in training, they only had sources of the centre language with that tag. For each
checkpoint and source layer, over all zero-shot directions X to Y of DATA and the validation
sentences that all languages share, with states averaged over a sentence's tokens:

- same: percentage of sentences in X with the tag of Y for which the nearest sentence (by cosine) of
  the centre language with the tag of Y has the same meaning;
- shift: the distance between the means of both sets, relative to the root mean square distance of
  sentences of the centre language from their mean.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch

from tdo_plugin.analysis.preference.pooled import pooled_outputs
from tdo_plugin.data.databin import read_data_folder
from tdo_plugin.data.parallel import parallel_lines, within
from tdo_plugin.evaluation.inspected_model import EvalModel
from tdo_plugin.metrics.silence import quiet_libraries

LONGEST = 256


def compare(states: torch.Tensor, centre: torch.Tensor) -> tuple[float, float]:
    """Percentage of sentences (N, D) that are nearest to their own in ``centre``, and the shift."""
    likeness = torch.cosine_similarity(states[:, None], centre[None], dim=-1)
    same = likeness.argmax(1).eq(torch.arange(len(states))).float().mean()
    spread = (centre - centre.mean(0)).square().sum(1).mean().sqrt()
    shift = (states.mean(0) - centre.mean(0)).norm() / spread
    return 100 * same.item(), shift.item()


def main() -> None:
    """Measure, print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("checkpoints", type=Path, nargs="+")
    parser.add_argument("--sentences", type=int, default=200)
    args = parser.parse_args()
    data = read_data_folder(args.data.resolve())
    hub = data.hub()
    lines = within(parallel_lines(data, "valid"), LONGEST - 2, args.sentences)
    pairs = [pair.split("-") for pair in data.select("zero-shot", "pairs")]
    if hub is None or not pairs or not next(iter(lines.values())):
        parser.error(
            "DATA must have a language that all trained pairs share, zero-shot directions, and "
            f"validation sentences of at most {LONGEST - 2} pieces; {args.data} does not"
        )
    print("| checkpoint | layer | same % | shift |\n|---|---|---|---|")
    for path in args.checkpoints:
        with quiet_libraries():
            model = EvalModel(path, data, torch.device("cpu"))
        layers = range(1, model.spec.source_layers + 1)
        states = {}
        for source, target in (pair for x, y in pairs for pair in ((x, y), (hub, y))):
            batches = model.readings(f"{source}-{target}", lines[source], LONGEST, 8000)
            outputs = pooled_outputs(model.core, batches, layers, len(lines[source]))
            states[source, target] = outputs
        for layer in layers:
            rows = [compare(states[x, y][layer], states[hub, y][layer]) for x, y in pairs]
            same, shift = (sum(column) / len(rows) for column in zip(*rows, strict=True))
            print(f"| {path} | {layer} | {same:.1f} | {shift:.2f} |", flush=True)


if __name__ == "__main__":
    main()
