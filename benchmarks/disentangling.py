"""Time of an update with TPDM, and with its gate, relative to a plain update; and parameters.

    python benchmarks/disentangling.py [--size small|base] [--data FOLDER] [--rounds N]
        [--batch-tokens N] [--sentence-length N] [--vocabulary N] [--options WORDS]
        [--device cpu|cuda] [--precision fp32|fp16|bf16] [--json FILE]

The systems are interleaved on the same batches, in alternating order. They are the rows MNMT,
MNMT-TPDM and MNMT-GTPDM of the TPDM paper's tables, as in configs/experiments/tpdm.toml at scale
full, except for smaller batches. The paper's table 8 has 1.46 for the small model and 1.35 for the
base model. Parameters are those of these rows, regardless of options and vocabulary.

An update is fairseq's `Trainer.train_step`, including the optimiser, and with TPDM that of its
generator.

The table and the JSON file have each system's median seconds, and the ratio to the plain update of
the same round: median, minimum and maximum.
"""

from __future__ import annotations

import argparse
import shlex
import tempfile
from argparse import Namespace
from collections.abc import Callable, Iterator
from pathlib import Path

from speed import interleaved
from speed.plan import Setting
from speed.running import Training

from tdo_plugin.cli import describe
from tdo_plugin.evaluation.published import table
from tdo_plugin.experiments.named_configs import named_config
from tdo_plugin.launch.training_config import Config

SYSTEMS = {"plain": "", "TPDM": "+tpdm", "GTPDM": "+tpdm+gate"}
PUBLISHED = {"plain": "MNMT", "TPDM": "MNMT-TPDM"}
SIZES = {  # vocabulary sizes that match the parameters in the paper's table 8
    "small": Setting(256, 1024, 4, 6, 49_320, batch_tokens=1000),
    "base": Setting(512, 2048, 8, 12, 49_320, batch_tokens=1000),
}
METRIC = "update with TPDM"


def row(name: str, size: str) -> str:
    """The system of the TPDM paper's tables."""
    return f"tpdm/multiun/{size}{SYSTEMS[name]}"


def config(name: str, size: str) -> Config:
    """The system's flags at the paper's sizes."""
    return named_config(row(name, size)).config


def parameters(size: str) -> Iterator[str]:
    """A line for each row whose parameters the paper reports."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    describe.add_arguments(parser)
    for name, kind in PUBLISHED.items():
        printed, entries = f"{kind}-{size}", str(SIZES[size].vocabulary)
        args, _ = parser.parse_known_args([*config(name, size).words(), "--vocab-size", entries])
        millions = describe.describe(args)["total_parameters"] / 1e6
        paper = table("tpdm:8").value(printed, "model", "parameters (M)")
        yield f"{printed:16} {millions:7.3f} million parameters, {paper:.3f} in the paper"


def trainings(case: interleaved.Case, size: str, folder: Path) -> dict[str, Training]:
    """The systems, ready for their first update."""
    extra = shlex.split(case.options)
    systems = {}
    for name in SYSTEMS:
        place = folder / name
        place.mkdir()
        systems[name] = Training(case.job(row(name, size), *extra), place)
    return systems


def measure(
    args: Namespace, case: interleaved.Case, say: Callable[[str], None]
) -> interleaved.Seconds:
    """Each system's seconds per round; first prints the parameters."""
    print(*parameters(args.size), sep="\n", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        systems = trainings(case, args.size, Path(folder))
        ways = {name: training.run for name, training in systems.items()}
        return interleaved.turns(ways, args.rounds, say)


def main() -> None:
    """Measure, print, write."""
    interleaved.run(__doc__, SIZES, METRIC, measure)


if __name__ == "__main__":
    main()
