"""Learning speed in the first thousand updates, by how the second stage reads the source.

    python benchmarks/source_reading/run.py [DATA] [--updates N] [--seed N] [--variants A,B,...]

Bits per token over the last 200 updates, one row per variant. ``encoder-decoder`` (2 + 2 layers)
and ``joint`` (TDO, M = 2 of 4, no adaptation) are the unchanged models; the others are described in
__init__.py. Trainings run one after another, one to two minutes each on one core; their logs are in
runs/source-reading.
"""

import argparse
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LOGS = Path("runs") / "source-reading"
TDO = [sys.executable, "-m", "tdo_plugin", "train"]
EVERY = 200  # updates per log line
LOSS = re.compile(r"train_inner.* nll_loss=([\d.]+),")
READING = ("quickstart/tdo", "--user-dir", str(ROOT / "benchmarks" / "source_reading"))
READING += ("--arch", "tdo_source_reading")
# a system of configs/experiments/quickstart.toml, and further flags
MODELS: dict[str, tuple[str, ...]] = {
    "encoder-decoder": (
        *("quickstart/model", "--arch", "tdo_encoder_decoder_small"),
        *("--tdo-encoder-layers", "2", "--tdo-decoder-layers", "2"),
    ),
    "own-after": READING,
    "own-beside": READING,
    "query-key-value-beside": READING,
    "shared-after": READING,
    "query-beside": READING,
    "shared-beside": READING,
    "key-value-beside": READING,
    "joint": ("quickstart/tdo",),
}


def command(variant: str, args: argparse.Namespace) -> list[str]:
    """The command that trains a variant."""
    system, *flags = MODELS[variant]
    words = [*TDO, system, str(args.data), "--cpu", "--save-dir", str(LOGS / "none"), "--no-save"]
    words += ["--disable-validation", "--log-format", "simple", "--log-interval", str(EVERY)]
    words += ["--max-update", str(args.updates), "--seed", str(args.seed), *flags]
    return [*words, "--dry-run"] if args.dry_run else words


def environment(variant: str) -> dict[str, str]:
    """The environment variables; the package must be found when --user-dir is imported."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    return os.environ | {"SOURCE_READING": variant, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description="bits per token by how the source is read")
    add = parser.add_argument
    add("data", type=Path, nargs="?", default=Path("runs/quickstart/text/data"), metavar="DATA")
    add(
        "--updates",
        type=int,
        default=1000,
        help="updates per training, a multiple of 200 (default 1000)",
    )
    add("--seed", type=int, default=1)
    add("--variants", default=",".join(MODELS), help="variants to train (default: all)")
    add("--dry-run", action="store_true", help="only print the stock training commands")
    args = parser.parse_args()
    variants = args.variants.split(",")
    if unknown := sorted(set(variants) - set(MODELS)):
        parser.error(f"`--variants` must be among {', '.join(MODELS)}; it has {unknown[0]}")
    if args.updates < 1 or args.updates % EVERY:
        parser.error(f"`--updates` must be a multiple of {EVERY}; it is {args.updates}")
    if not args.data.is_dir():
        parser.error(f"`DATA` must be a data folder, such as the quickstart's; it is {args.data}")
    print(f"| {'reading':22} | bits per token |\n|---|---|")
    for variant in variants:
        done = subprocess.run(
            command(variant, args),
            env=environment(variant),
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        if args.dry_run:
            print(f"with SOURCE_READING={variant} PYTHONPATH={shlex.quote(str(ROOT))}")
            print(done.stdout, end="")
            continue
        LOGS.mkdir(parents=True, exist_ok=True)
        log = LOGS / f"{variant}-{args.seed}.log"
        log.write_text(done.stdout, encoding="utf-8")
        if done.returncode:
            print(f"error: training of {variant} failed; see {log}", file=sys.stderr)
            return 1
        print(f"| {variant:22} | {LOSS.findall(done.stdout)[-1]:>14} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
