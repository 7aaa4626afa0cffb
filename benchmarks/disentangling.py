"""Time of an update with TPDM, and with its gate, over a plain one.

    python benchmarks/disentangling.py [--size small|base] [--data FOLDER] [--rounds N]
        [--batch-tokens N] [--sentence-length N] [--vocabulary N] [--options WORDS]
        [--device cpu|cuda] [--precision fp32|fp16|bf16] [--json FILE]

The systems take turns on the same batches, each round in another order. They are the rows MNMT,
MNMT-TPDM and MNMT-GTPDM of the TPDM paper's tables, as configs/tpdm-tables/multiun has them, but
for the batches, which are smaller. Its table 8 has 1.46 for the small model, 1.35 for the base one.

An update is fairseq's `Trainer.train_step`, with the optimiser, and with TPDM that of its
generator.

The table and the JSON file have each system's median seconds, and its time over that of the plain
update of the same round: median, least and most.
"""

from __future__ import annotations

import shlex
import tempfile
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

from speed import interleaved
from speed.plan import Setting
from speed.running import Training

CONFIGS = Path(__file__).resolve().parents[1] / "configs" / "tpdm-tables" / "multiun"
SYSTEMS = {"plain": "mnmt", "TPDM": "mnmt-tpdm", "GTPDM": "mnmt-gtpdm"}
SIZES = {  # the entries are those that the paper's table 8 comes to
    "small": Setting(256, 1024, 4, 6, 49_320, batch_tokens=1000),
    "base": Setting(512, 2048, 8, 12, 49_320, batch_tokens=1000),
}
METRIC = "update with TPDM"


def trainings(case: interleaved.Case, size: str, folder: Path) -> dict[str, Training]:
    """Each system, ready for its first update."""
    extra = shlex.split(case.options)
    systems = {}
    for name, config in SYSTEMS.items():
        place = folder / name
        place.mkdir()
        systems[name] = Training(case.job(str(CONFIGS / f"{config}-{size}.conf"), *extra), place)
    return systems


def measure(
    args: Namespace, case: interleaved.Case, say: Callable[[str], None]
) -> interleaved.Seconds:
    """Each system's seconds, round by round."""
    with tempfile.TemporaryDirectory() as folder:
        systems = trainings(case, args.size, Path(folder))
        ways = {name: training.run for name, training in systems.items()}
        return interleaved.turns(ways, args.rounds, say)


def main() -> None:
    """Measure, print, write."""
    interleaved.run(__doc__, SIZES, METRIC, measure)


if __name__ == "__main__":
    main()
