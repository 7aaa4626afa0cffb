"""Wall time of all test directions: `tdo translate` compared with `fairseq-generate` for each.

    python benchmarks/many_directions.py DATA CHECKPOINT [--repeats N] [--without WAY]

Three ways are interleaved, with the same checkpoint, beam and batch size:

    translate   one `tdo translate` with its default workers
    one-by-one  `fairseq-generate` for one direction after another, with all cores
    side-by-side  as many `fairseq-generate` at a time as there are cores, one thread each

Every repetition compares the hypotheses. As the last digits of sums depend on the order of
summation, a few among tens of thousands of hypotheses may differ; their number is reported. The
table and the JSON file have each way's seconds, median, minimum and maximum, and the ratio to
`translate` in the same repetition.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tdo_plugin.data.databin import DataFolder, read_data_folder
from tdo_plugin.evaluation.outputs import read_texts
from tdo_plugin.launch.environment import cores

MAX_TOKENS = "4000"
CORES = cores()
WAYS = {  # options of `tdo translate`
    "translate": [],
    "one-by-one": ["--engine", "fairseq", "--workers", "1"],
    "side-by-side": ["--engine", "fairseq"],
}


def translate(way: str, data: DataFolder, checkpoint: Path, out: Path) -> None:
    """Translate all directions in one of the ways, each process with its share of the cores."""
    command = [sys.executable, "-m", "tdo_plugin", "translate", str(data.root), "--cpu", *WAYS[way]]
    command += ["--path", str(checkpoint), "--out", str(out), "--max-tokens", MAX_TOKENS]
    environment = {name: text for name, text in os.environ.items() if name != "OMP_NUM_THREADS"}
    quiet = {"stderr": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
    subprocess.run(command, check=True, env=environment, **quiet)


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument(
        "--without", nargs="+", choices=list(WAYS)[1:], default=[], help="ways to skip"
    )
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    data = read_data_folder(args.data.resolve())
    ways = [way for way in WAYS if way not in args.without]
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    differing: list[dict[str, int]] = []
    for repetition in range(args.repeats):
        with tempfile.TemporaryDirectory() as folder:
            for way in ways:
                begin = time.monotonic()
                translate(way, data, args.checkpoint.resolve(), Path(folder) / way)
                seconds[way].append(time.monotonic() - begin)
                print(f"repetition {repetition + 1}, {way}: {seconds[way][-1]:.1f} s", flush=True)
            differing.append(differences(data, Path(folder), ways))
            shutil.rmtree(folder, ignore_errors=True)
    rows = [row(way, seconds) for way in ways]
    report = {
        "directions": len(data.test_directions),
        "cores": CORES,
        "machine": platform.processor() or platform.machine(),
        "checkpoint": args.checkpoint.name,
        "hypotheses_unlike_translate": differing,
        "rows": rows,
    }
    for figures in rows:
        low, high = figures["spread"]
        print(
            f"{figures['way']:>12}: {figures['seconds']:6.1f} s, "
            f"{figures['ratio']:.2f} x translate ({low:.2f} to {high:.2f})"
        )
    print(f"hypotheses that differ from translate's, by repetition: {differing}")
    if args.json:
        args.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


def row(way: str, seconds: dict[str, list[float]]) -> dict[str, object]:
    """Median seconds of a way, and its ratio to `translate` within each repetition."""
    ratios = [
        duration / base for duration, base in zip(seconds[way], seconds["translate"], strict=True)
    ]
    return {
        "way": way,
        "seconds": statistics.median(seconds[way]),
        "all_seconds": seconds[way],
        "ratio": statistics.median(ratios),
        "spread": [min(ratios), max(ratios)],
    }


def differences(data: DataFolder, folder: Path, ways: Sequence[str]) -> dict[str, int]:
    """The number of each way's hypotheses that differ from those of `translate`."""
    counts = dict.fromkeys(ways, 0)
    for direction in data.test_directions:
        texts = {way: read_texts(folder / way, direction, data).hypotheses for way in ways}
        for way, lines in texts.items():
            counts[way] += sum(a != b for a, b in zip(lines, texts["translate"], strict=True))
    return counts


if __name__ == "__main__":
    main()
