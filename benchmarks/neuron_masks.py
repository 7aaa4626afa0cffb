"""Time of an update with neuron masks relative to an update without.

    python benchmarks/neuron_masks.py [--size base|small] [--data FOLDER] [--rounds N]
        [--batch-tokens N] [--sentence-length N] [--vocabulary N] [--options WORDS]
        [--device cpu|cuda] [--precision fp32|fp16|bf16] [--json FILE]

The two systems are interleaved on the same batches, which mix the pairs of four languages, in
alternating order. Their model is that of the neuron allocation paper's tables, where masks keep 93
of 100 neurons for each pair; `small` has its shape, but not its size.

An update is fairseq's `Trainer.train_step`, including the optimiser.

The table and the JSON file have each system's median seconds, and the ratio to the plain update of
the same round: median, minimum and maximum.
"""

from __future__ import annotations

import shlex
import tempfile
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

import torch
from speed import interleaved
from speed.plan import Setting
from speed.running import Training

from tdo_plugin.modules.methods.neurons import projections
from tdo_plugin.neuron_files import Masks

CONFIG = "neurons/many-to-many/multilingual"
SIZES = {
    "small": Setting(128, 512, 4, 6, 8000, batch_tokens=1000),
    "base": Setting(512, 2048, 8, 12, 40_000, batch_tokens=1000),
}
SHARE = 0.93  # a tenth of the neurons is specific, and each pair has about a third of those
METRIC = "update with masks of neurons"


def write_masks(path: Path, training: Training, directions: list[str]) -> None:
    """Write random masks for a model."""
    draws = torch.Generator().manual_seed(1)
    modules, general = {}, {}
    for name, part in projections(training.model.core.stack).items():
        modules[name] = torch.rand(len(directions), part.out_features, generator=draws) < SHARE
        general[name] = modules[name].all(0)
    Masks(tuple(directions), modules, general, "").write(path)


def trainings(case: interleaved.Case, folder: Path) -> dict[str, Training]:
    """The systems, ready for their first update."""
    shape = case.setting
    layers = ("--tdo-encoder-layers", shape.depth // 2, "--tdo-decoder-layers", shape.depth // 2)
    sizes = ("--tdo-model-dim", shape.model_dim, "--tdo-ffn-dim", shape.ffn_dim)
    shape_options = (*layers, *sizes, "--tdo-heads", shape.heads)
    extra = [*map(str, shape_options), *shlex.split(case.options)]
    plain, masked, file = folder / "plain", folder / "masked", folder / "masks"
    for place in (plain, masked):
        place.mkdir()
    systems = {"plain": Training(case.job(CONFIG, *extra), plain)}
    write_masks(file, systems["plain"], ["-".join(pair) for pair in case.text.directions])
    extra += ["--tdo-neuron-masks", str(file)]
    return {**systems, "masked": Training(case.job(CONFIG, *extra), masked)}


def measure(
    args: Namespace, case: interleaved.Case, say: Callable[[str], None]
) -> interleaved.Seconds:
    """Each system's seconds per round."""
    with tempfile.TemporaryDirectory() as folder:
        ways = {name: training.run for name, training in trainings(case, Path(folder)).items()}
        return interleaved.turns(ways, args.rounds, say)


def main() -> None:
    """Measure, print, write."""
    interleaved.run(__doc__, SIZES, METRIC, measure)


if __name__ == "__main__":
    main()
