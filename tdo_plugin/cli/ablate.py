"""`tdo neurons ablate`: write a masked checkpoint with some neurons set to zero."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from tdo_compat.errors import tell
from tdo_plugin.cli.decoding import MODEL
from tdo_plugin.cli.output_file import check_output, make_folder
from tdo_plugin.errors import UserError
from tdo_plugin.evaluation.decoding.decoded_checkpoints import resolve_one
from tdo_plugin.launch.parser import seed
from tdo_plugin.runtime.log_lines import without_log_lines

HELP = "ablate a random share of a masked model's neurons, to measure their effect"
EXAMPLE = "tdo neurons ablate --path masked.pt --specific 0.5 --pair en-de --out ablated.pt"

PREFIX = "core.neurons."
KEPT = ("masks", "general", "pairs", "digest")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add = parser.add_argument
    add(
        "--path",
        required=True,
        metavar="MODEL",
        help=f"a model trained with --tdo-neuron-masks: {MODEL}",
    )
    add(
        "--general",
        type=float,
        default=0.0,
        metavar="SHARE",
        help="share of the general neurons to ablate, over all modules together (default 0)",
    )
    add(
        "--specific",
        type=float,
        default=0.0,
        metavar="SHARE",
        help="share of the specific neurons of --pair to ablate (default 0)",
    )
    add("--pair", metavar="A-B", help="language pair for --specific")
    add("--seed", type=seed, default=1, metavar="N", help="random seed (default 1)")
    add("--out", type=Path, required=True, metavar="FILE", help="the checkpoint to write")
    add("--fresh", action="store_true", help="overwrite the output if it exists")


def run(args: argparse.Namespace) -> int:
    """Ablate, write the checkpoint, and print how many neurons were ablated."""
    check_output(args.out, args.fresh)
    for option in ("general", "specific"):
        if not 0 <= getattr(args, option) <= 1:
            raise UserError(f"`--{option}` must be from 0 to 1; it is {getattr(args, option)}")
    if bool(args.specific) != bool(args.pair):
        raise UserError("`--specific` and `--pair` must be used together; one of them is missing")
    with without_log_lines():  # reading a checkpoint imports fairseq
        return _run(args)


def _run(args: argparse.Namespace) -> int:
    from tdo_compat.checkpoint import save_whole
    from tdo_plugin.analysis.neurons.ablation import Ablation, ablated
    from tdo_plugin.checkpoints import read

    path = resolve_one(args.path, None, tell, "--path")
    state = read(path, "--path")
    if PREFIX + "masks" not in state["model"]:
        raise UserError(
            f"`--path` must name a model trained with --tdo-neuron-masks; {path} was trained "
            "without"
        )
    pair = args.pair and _pair(args.pair, state.get("task_state", {}).get("languages", []))
    stored = {name: state["model"][PREFIX + name] for name in KEPT}
    buffers, gone = ablated(stored, Ablation(args.general, args.specific, pair, args.seed))
    model = {**state["model"], **{PREFIX + name: value for name, value in buffers.items()}}
    make_folder(args.out)
    save_whole({**_elsewhere(state, args), "model": model}, str(args.out))
    print(f"{gone} of {stored['masks'].size(1)} neurons are ablated")
    print(f"written: {args.out} ({args.out.stat().st_size / 2**20:.1f} MiB)")
    return 0


def _elsewhere(state: dict[str, Any], args: argparse.Namespace) -> dict[str, Any]:
    """The other entries of the checkpoint, which notes that its masks differ from their file."""
    cfg = dict(state["cfg"])
    model = argparse.Namespace(**vars(cfg["model"]))
    model.tdo_neuron_masks = f"{args.out}, of which neurons are ablated"
    dropped = ("last_optimizer_state",)  # only needed for training
    return {
        **{key: value for key, value in state.items() if key not in dropped},
        "cfg": {**cfg, "model": model},
    }


def _pair(text: str, languages: list[str]) -> tuple[int, int]:
    source, _, target = text.partition("-")
    for language in (source, target):
        if language not in languages:
            raise UserError(f"`--pair` must name two of {', '.join(languages)}; it is {text}")
    return languages.index(source), languages.index(target)
