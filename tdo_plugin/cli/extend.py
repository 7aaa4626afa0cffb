"""`tdo extend`: add languages to a trained model."""

from __future__ import annotations

import argparse
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tdo_compat.errors import tell
from tdo_plugin.cli.decoding import MODEL
from tdo_plugin.cli.output_file import check_output, make_folder
from tdo_plugin.errors import UserError
from tdo_plugin.evaluation.decoding.decoded_checkpoints import resolve_one
from tdo_plugin.runtime.log_lines import without_log_lines

if TYPE_CHECKING:
    from fairseq.data import Dictionary

HELP = "add languages to a trained model, which keeps its old languages"
EXAMPLE = "tdo extend my-data --path my-model/average.pt --langs es --out larger.pt"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add = parser.add_argument
    add("data", type=Path, metavar="DATA", help="data folder with the model's dictionary")
    add("--path", required=True, metavar="MODEL", help=f"the model: {MODEL}")
    add("--langs", type=_codes, required=True, metavar="A,B", help="languages to add")
    add(
        "--like",
        metavar="LANG",
        help="initialise new tags and language-aware parameters with those of this language "
        "(default: the mean of all languages)",
    )
    add("--out", type=Path, required=True, metavar="FILE", help="the checkpoint to write")
    add("--fresh", action="store_true", help="overwrite the output if it exists")


def _codes(text: str) -> tuple[str, ...]:
    return tuple(filter(None, text.split(",")))


def run(args: argparse.Namespace) -> int:
    """Load, extend and write the model; prints how to continue training."""
    check_output(args.out, args.fresh)
    with without_log_lines():
        return _run(args)


def _run(args: argparse.Namespace) -> int:
    from fairseq import checkpoint_utils, tasks

    from tdo_compat.checkpoint import save_whole
    from tdo_plugin.checkpoints import read
    from tdo_plugin.models.extension import Extension, extend
    from tdo_plugin.models.tdo_transformer import TdoTransformer
    from tdo_plugin.text_settings import is_multilingual, languages_of

    path = resolve_one(args.path, None, tell, "--path")
    state = read(path, "--path")
    overrides: dict[str, Any] = {"data": str(args.data)}
    multilingual = is_multilingual(state)
    if multilingual:
        # a language file would override the list, and may no longer exist
        overrides |= {"langs": languages_of(state), "lang_dict": None}
    (old,), cfg, task = checkpoint_utils.load_model_ensemble_and_task(
        [str(path)], arg_overrides=overrides
    )
    if not isinstance(old, TdoTransformer) or not multilingual:
        raise UserError(f"`--path` must name a multilingual model of tdo_plugin; {path} is not")
    extension = Extension(task.langs, args.langs, args.like)
    arguments = extension.arguments(cfg.model)
    grown = tasks.setup_task(arguments)
    for side in ("source", "target"):
        _check(
            getattr(task, f"{side}_dictionary"), getattr(grown, f"{side}_dictionary"), extension.new
        )
    model = extend(old, lambda: grown.build_model(arguments), extension)
    make_folder(args.out)
    save_whole(_state(state, arguments, model, grown), str(args.out))
    languages = ",".join(grown.langs)
    print(f"written: {args.out} ({args.out.stat().st_size / 2**20:.1f} MiB)")
    if not arguments.tdo_masked_tags:
        print("its targets begin with tags, so the softmax includes the new tags")
    print(f"languages: {languages}; continue training with the dictionary of {args.data} and")
    print(
        f"  --finetune-from-model {args.out} --langs {languages}"
        + (f" --tdo-masked-tags {arguments.tdo_masked_tags}" if arguments.tdo_masked_tags else "")
    )
    return 0


def _check(old: Dictionary, new: Dictionary, languages: Sequence[str]) -> None:
    """Raise UserError unless the new dictionary is the old one plus a tag for each language."""
    if len(new) != len(old) + len(languages):
        raise UserError(
            "`--path` must name a model with one tag for each language; its dictionary would grow "
            f"by {len(new) - len(old)} entries for {len(languages)} languages"
        )
    if new.symbols[: len(old)] != old.symbols:
        raise UserError(
            "`--path` must name a model whose dictionary ends with its tags; other entries follow "
            "them (`--lang-tok-style mbart`)"
        )


def _state(state: dict[str, Any], arguments: Namespace, model: Any, task: Any) -> dict[str, Any]:
    """The checkpoint to write, without state that only the old model's training can use."""
    cfg = dict(state["cfg"])
    for part in ("model", "task"):
        cfg[part] = Namespace(**{**vars(arguments), "data": cfg["task"].data})
    kept: dict[str, Any] = {
        key: state[key] for key in ("args", "criterion", "optimizer_history") if key in state
    }
    iterator = (state.get("extra_state") or {}).get("train_iterator")
    stored = state.get("task_state") or {}
    remembered = {key: value for key, value in stored.items() if key == "remembered"}
    return {
        **kept,
        "cfg": cfg,
        "model": model.state_dict(),
        "task_state": {**task.state_dict(), **remembered},
        "extra_state": {"val_loss": None, **({"train_iterator": iterator} if iterator else {})},
    }
