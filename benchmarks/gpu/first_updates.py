"""Losses of the first updates of several systems, on a CPU in fp32 and on a device by precision.

    python benchmarks/gpu/first_updates.py DATA OUT [--updates N] [--jobs N] [--systems A B ...]
        [--precisions A B ...] [--device cuda|cpu]

OUT/SYSTEM/cpu.log and OUT/SYSTEM/PRECISION.log have a JSON object for each update; what a training
printed is beside it, in cpu.txt and PRECISION.txt. The exit code is 1 if a training failed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from tdo_compat.errors import install, print_line
from tdo_plugin.launch.parser import Parser, at_least
from tdo_plugin.runtime.commands import Commands
from tdo_plugin.runtime.log_ends import last_line
from tdo_plugin.runtime.processes import end_with_parent
from tdo_plugin.runtime.signals import ended_by_signal

SMALL = "--tdo-model-dim 128 --tdo-ffn-dim 512 --tdo-heads 4"
SYSTEMS = {
    "multi30k/shared/transformer": "",
    "multi30k/shared/prefix-decoder-only": SMALL,
    "multi30k/shared/tdo+instrucl-recipe": SMALL,
    "tdo/ted19/tdo-causal+adaptation+instrucl": f"{SMALL} --tdo-adaptation-dim 512",
    "opus100/one-to-many/24-layers+matt+laln+lalt": SMALL,
    "tpdm/multiun/small+tpdm+gate": SMALL,
}
TRAINING = (
    "--log-format json --log-interval 1 --lr 0.001 --warmup-updates 10 --max-tokens 2000 "
    "--update-freq 1 --num-workers 0 --seed 1 --disable-validation --no-save "
    "--dropout 0 --attention-dropout 0 --activation-dropout 0"
)
MACHINES = {"cpu": "--cpu", "cuda": "--gpus 1"}
PRECISIONS = ("fp32", "fp16", "bf16")
GRACE = 5.0  # seconds between SIGTERM and SIGKILL; less than this script has itself


def trainings(args: argparse.Namespace) -> Iterator[tuple[list[str], Path]]:
    """The command of each training, and the file for what it prints."""
    runs = {"cpu": ("cpu", "fp32"), **{name: (args.device, name) for name in args.precisions}}
    for system in args.systems:
        for run, (device, precision) in runs.items():
            place = args.out / system.replace("/", "-") / run
            tdo_train = (sys.executable, "-m", "tdo_plugin", "train", system, str(args.data))
            files = ("--save-dir", str(place), "--log-file", str(place.with_suffix(".log")))
            numbers = ("--precision", precision, "--max-update", str(args.updates))
            words = f"{MACHINES[device]} {TRAINING} {SYSTEMS[system]}".split()
            yield [*tdo_train, *files, *numbers, *words], place.with_suffix(".txt")


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = Parser(description=__doc__.partition("\n")[0], allow_abbrev=False)
    add, count = parser.add_argument, at_least(1)
    add("data", type=Path, metavar="DATA", help="data folder")
    add("out", type=Path, metavar="OUT", help="folder for logs")
    add("--updates", type=count, default=20, metavar="N", help="(default 20)")
    add("--jobs", type=count, default=1, metavar="N", help="trainings at a time (default 1)")
    several = {"nargs": "+", "metavar": "A", "help": "(default: all)"}
    add("--systems", choices=SYSTEMS, default=[*SYSTEMS], **several)
    add("--precisions", choices=PRECISIONS, default=PRECISIONS, **several)
    add("--device", choices=MACHINES, default="cuda", help="to compare with (default cuda)")
    args: argparse.Namespace = parser.parse_args()
    return args


def main() -> int:
    """Run the trainings; returns the exit code."""
    end_with_parent()
    args = arguments()
    commands = [*trainings(args)]
    programs = Commands(GRACE)

    def run(command: list[str], text: Path) -> int:
        text.parent.mkdir(parents=True, exist_ok=True)
        return programs.run(command, text, {})

    with ended_by_signal(), programs.threads(args.jobs) as pool:
        codes = [*pool.map(run, *zip(*commands, strict=True))]
    for (_, text), code in zip(commands, codes, strict=True):
        if code:
            print_line(f"{text}: ended with {code}: {last_line(text)}")
    return int(any(codes))


if __name__ == "__main__":
    install()
    sys.exit(main())
