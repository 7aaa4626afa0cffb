"""Experiment trackers of a training: the option of trackio, and the packages that each needs."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from importlib.util import find_spec

# by option, packages of which one must be installed; messages name the first
PACKAGES = {
    "tensorboard_logdir": ("tensorboard", "tensorboardX"),
    "wandb_project": ("wandb",),
    "trackio_project": ("trackio",),
}


def add_tracking_options(parser: ArgumentParser) -> None:
    """Declare ``--trackio-project``; fairseq declares those of TensorBoard and wandb."""
    parser.add_argument(
        "--trackio-project",
        metavar="NAME",
        help="log to this trackio project, which is stored on this machine; the run is "
        "named after the folder of the checkpoints, as with --wandb-project",
    )


def missing_trackers(args: Namespace) -> Iterator[str]:
    """A message for each requested tracker that is not installed; fairseq would only warn."""
    for option, packages in PACKAGES.items():
        if getattr(args, option, None) and not any(map(find_spec, packages)):
            yield (
                f"`--{option.replace('_', '-')}` must have the package {packages[0]} (pip install "
                f"{packages[0]}); it is not installed"
            )
