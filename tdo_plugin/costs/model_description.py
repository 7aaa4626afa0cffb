"""Description of an architecture: its parameters by part, and its FLOPs."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from tdo_compat.errors import did_you_mean
from tdo_plugin.errors import UserError
from tdo_plugin.runtime.log_lines import without_log_lines

if TYPE_CHECKING:
    from tdo_plugin.modules.spec import ModelSpec

SPECIAL_SYMBOLS = 4  # at the beginning of every fairseq dictionary
# Each layer is built (without memory), and the product of any three sizes must fit into 64 bits.
MOST_LAYERS = 1000
MOST_WIDE = 10**6
MOST = {
    **dict.fromkeys(("num_languages", "num_pairs"), 10**4),
    **dict.fromkeys(("vocab_size", "target_vocab_size"), 10**9),
    **dict.fromkeys(("source_length", "target_length"), 10**9),
    **dict.fromkeys(("max_source_positions", "max_target_positions"), 10**9),
}


def description_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options; model options are added by fairseq only when the command runs."""
    add = parser.add_argument
    add("--arch", required=True, metavar="NAME", help="architecture, as --arch of fairseq-train")
    add("--vocab-size", type=int, required=True, metavar="V", help="entries of the dictionary")
    add(
        "--target-vocab-size",
        type=int,
        metavar="V",
        help="entries of the target dictionary (default: --vocab-size)",
    )
    add(
        "--num-languages",
        type=int,
        default=0,
        metavar="K",
        help="number of languages, for parameters per target language, such as --tdo-laln",
    )
    add(
        "--num-pairs",
        type=int,
        default=0,
        metavar="P",
        help="number of language pairs, for --tdo-adapter-dim",
    )
    add(
        "--source-length",
        type=int,
        default=30,
        metavar="S",
        help="source tokens including tag and end symbol (default 30)",
    )
    add(
        "--target-length",
        type=int,
        default=30,
        metavar="T",
        help="target tokens including the end symbol (default 30)",
    )
    add("--beam", type=int, default=4, metavar="K", help="beam size in generation (default 4)")
    add(
        "--instrucl-layer",
        type=int,
        metavar="LAYER",
        help="layer for InstruCL's contrastive loss, counted from 1 (default: as in training)",
    )
    _model_options_when_parsing(parser)


def _model_options_when_parsing(parser: argparse.ArgumentParser) -> None:
    """Add the model options just before parsing, since fairseq, which has them, loads slowly."""
    parse = parser.parse_known_args

    def parse_known_args(args: Any = None, namespace: Any = None) -> Any:
        parser.parse_known_args = parse  # type: ignore[method-assign]
        add_model_options(parser)
        return parse(args, namespace)

    parser.parse_known_args = parse_known_args  # type: ignore[method-assign]


def add_model_options(parser: argparse.ArgumentParser) -> None:
    """Declare the model options, which are those of fairseq-train."""
    with without_log_lines():
        from tdo_plugin.models.tdo_transformer import TdoTransformer
    group = parser.add_argument_group(
        "model",
        "options of fairseq-train that change the architecture",
        argument_default=argparse.SUPPRESS,  # the architecture fills in the rest
    )
    TdoTransformer.add_args(group)  # type: ignore[arg-type]
    for side in ("source", "target"):
        parser.add_argument(
            f"--max-{side}-positions",
            type=int,
            default=1024,
            metavar="N",
            help=f"maximum {side} length, which matters for learned positions (default 1024)",
        )


def describe(args: argparse.Namespace) -> dict[str, Any]:
    """The description of an architecture, with stable keys; FLOPs are for one sentence.

    Raises:
        UserError: an unknown architecture, or invalid numbers.
    """
    from tdo_plugin.analysis.cost import FlopModel, count_parameters, outline
    from tdo_plugin.models.config import OPTIONS, destination, spec_from_args
    from tdo_plugin.models.presets import PRESETS, fill

    _check(args, list(PRESETS))
    fill(args, PRESETS[args.arch])
    counts = {"languages": args.num_languages, "pairs": args.num_pairs}
    for option in OPTIONS.values():
        switched_on = getattr(args, destination(option.flag)) != option.off
        if switched_on and counts.get(option.needs or "") == 0:
            raise UserError(f"`--num-{option.needs}` must be given with `{option.flag}`; it is not")
    spec = spec_from_args(args, args.num_languages, args.num_pairs)
    target_vocabulary = args.target_vocab_size or args.vocab_size
    count = count_parameters(outline(spec, args.vocab_size, target_vocabulary))
    flops = FlopModel(spec, target_vocabulary)
    lengths = (args.source_length, args.target_length)
    layer = _instrucl_layer(spec, args.instrucl_layer)
    return {
        "arch": args.arch,
        "model": asdict(spec),
        "source_vocabulary": args.vocab_size,
        "target_vocabulary": target_vocabulary,
        "parameters": count.by_part,
        "trainable_parameters": count.trainable,
        "frozen_parameters": count.frozen,
        "total_parameters": count.total,
        "source_length": args.source_length,
        "target_length": args.target_length,
        "beam": args.beam,
        "instrucl_layer": layer,
        "flops": {
            "training": flops.training(*lengths).as_dict(),
            "instrucl": layer and flops.instrucl(*lengths, layer).as_dict(),
            "reconstruction": flops.reconstruction(args.source_length).as_dict(),
            "lexical": flops.lexical(*lengths).as_dict() if spec.entry_layer else None,
            "generation": flops.generation(*lengths, args.beam).as_dict(),
        },
    }


def _check(args: argparse.Namespace, names: Sequence[str]) -> None:
    if args.arch not in names:
        guess = did_you_mean(args.arch, names)
        raise UserError(f"`--arch` must be one of {', '.join(names)}; it is {args.arch}{guess}")
    least = {"vocab_size": SPECIAL_SYMBOLS, "target_vocab_size": SPECIAL_SYMBOLS}
    least |= dict.fromkeys(("source_length", "target_length", "beam"), 1)
    for name, limit in least.items():
        value = getattr(args, name)
        if value is not None and value < limit:
            raise UserError(f"`--{name.replace('_', '-')}` must be at least {limit}; it is {value}")
    for name, value in vars(args).items():
        most = MOST_LAYERS if name.endswith(("layer", "layers")) else MOST.get(name, MOST_WIDE)
        if type(value) is int and value > most:
            option = f"--{name.replace('_', '-')}"
            raise UserError(f"`{option}` must be at most {most:,}; it is {value:,}")


def _instrucl_layer(spec: ModelSpec, requested: int | None) -> int | None:
    """InstruCL's layer; None if the model cannot encode targets as sources."""
    from tdo_plugin.criterions.instrucl import instrucl_layer

    if spec.share_embeddings != "all" and requested is None:
        return None
    return instrucl_layer(spec, requested)
