"""Time of an update with TPDM, and with its gate, over a plain one; and the parameters.

    python benchmarks/disentangling.py [--size small|base] [--data FOLDER] [--rounds N]
        [--batch-tokens N] [--sentence-length N] [--vocabulary N] [--options WORDS]
        [--device cpu|cuda] [--precision fp32|fp16|bf16] [--json FILE]

The systems take turns on the same batches, each round in another order. They are the rows MNMT,
MNMT-TPDM and MNMT-GTPDM of the TPDM paper's tables, as configs/experiments/tpdm.toml has them at
the scale full, but for the batches, which are smaller. Its table 8 has 1.46 for the small model,
1.35 for the base one. Parameters are those of these rows, whatever options and vocabulary are.

An update is fairseq's `Trainer.train_step`, with the optimiser, and with TPDM that of its
generator.

The table and the JSON file have each system's median seconds, and its time over that of the plain
update of the same round: median, least and most.
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
SIZES = {  # the entries are those that the paper's table 8 comes to
    "small": Setting(256, 1024, 4, 6, 49_320, batch_tokens=1000),
    "base": Setting(512, 2048, 8, 12, 49_320, batch_tokens=1000),
}
METRIC = "update with TPDM"


def row(name: str, size: str) -> str:
    """The system of the TPDM paper's tables."""
    return f"tpdm/multiun/{size}{SYSTEMS[name]}"


def config(name: str, size: str) -> Config:
    """Its flags at the paper's sizes."""
    return named_config(row(name, size)).config


def parameters(size: str) -> Iterator[str]:
    """A line on each row that the paper counts."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    describe.add_arguments(parser)
    for name, kind in PUBLISHED.items():
        printed, entries = f"{kind}-{size}", str(SIZES[size].vocabulary)
        args, _ = parser.parse_known_args([*config(name, size).words(), "--vocab-size", entries])
        millions = describe.describe(args)["total_parameters"] / 1e6
        paper = table("tpdm:8").value(printed, "model", "parameters (M)")
        yield f"{printed:16} {millions:7.3f} million parameters, {paper:.3f} in the paper"


def trainings(case: interleaved.Case, size: str, folder: Path) -> dict[str, Training]:
    """Each system, ready for its first update."""
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
    """Each system's seconds, round by round; the parameters are printed before."""
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
