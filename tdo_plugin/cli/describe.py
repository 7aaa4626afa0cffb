"""`tdo describe`: what an architecture is, its parameters by part, and its FLOPs."""

from __future__ import annotations

import argparse
import json
import logging
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from tdo_compat.errors import did_you_mean
from tdo_plugin.errors import UserError

if TYPE_CHECKING:
    from tdo_plugin.modules.spec import ModelSpec

HELP = "describe an architecture: parameters by part, and FLOPs per sentence"
EXAMPLE = "tdo describe --arch tdo_transformer --vocab-size 8000"

SPECIAL_SYMBOLS = 4  # at the head of every fairseq dictionary
# Each layer is built, if without memory; and the product of any three sizes must fit into 64 bits.
MOST_LAYERS = 1000
MOST_WIDE = 10**6
MOST = {
    **dict.fromkeys(("num_languages", "num_pairs"), 10**4),
    **dict.fromkeys(("vocab_size", "target_vocab_size"), 10**9),
    **dict.fromkeys(("source_length", "target_length"), 10**9),
    **dict.fromkeys(("max_source_positions", "max_target_positions"), 10**9),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options; the model's own come from fairseq, once this command is really run."""
    add = parser.add_argument
    add("--arch", required=True, metavar="NAME", help="as --arch of fairseq-train")
    add("--vocab-size", type=int, required=True, metavar="V", help="entries of the dictionary")
    add(
        "--target-vocab-size",
        type=int,
        metavar="V",
        help="entries of the target's dictionary (default: --vocab-size)",
    )
    add(
        "--num-languages",
        type=int,
        default=0,
        metavar="K",
        help="languages of the parts for each target language, such as --tdo-laln",
    )
    add(
        "--num-pairs",
        type=int,
        default=0,
        metavar="P",
        help="language pairs of --tdo-adapter-dim",
    )
    add("--source-length", type=int, default=30, metavar="S", help="with tag and end (default 30)")
    add("--target-length", type=int, default=30, metavar="T", help="with the end (default 30)")
    add("--beam", type=int, default=4, metavar="K", help="beams in generation (default 4)")
    add(
        "--instrucl-layer",
        type=int,
        metavar="LAYER",
        help="layer that InstruCL contrasts, from 1 (default: as in training)",
    )
    add("--json", action="store_true", help="print one JSON object")
    _model_options_when_parsing(parser)


def _model_options_when_parsing(parser: argparse.ArgumentParser) -> None:
    """Add the options of the model just before parsing: fairseq, which has them, loads slowly."""
    parse = parser.parse_known_args

    def parse_known_args(args: Any = None, namespace: Any = None) -> Any:
        parser.parse_known_args = parse  # type: ignore[method-assign]
        _add_model_options(parser)
        return parse(args, namespace)

    parser.parse_known_args = parse_known_args  # type: ignore[method-assign]


def _add_model_options(parser: argparse.ArgumentParser) -> None:
    logging.disable(logging.INFO)  # fairseq greets whoever imports it
    try:
        from tdo_plugin.models.tdo_transformer import TdoTransformer
    finally:
        logging.disable(logging.NOTSET)
    group = parser.add_argument_group(
        "model",
        "options of fairseq-train that change the architecture",
        argument_default=argparse.SUPPRESS,  # what is not given is the architecture's to fill in
    )
    TdoTransformer.add_args(group)  # type: ignore[arg-type]
    for side in ("source", "target"):
        parser.add_argument(
            f"--max-{side}-positions",
            type=int,
            default=1024,
            metavar="N",
            help=f"longest {side}; counts for learned positions",
        )


def run(args: argparse.Namespace) -> int:
    """Build the model without memory, count, print."""
    description = describe(args)
    print(json.dumps(description, indent=1) if args.json else table(description))
    return 0


def describe(args: argparse.Namespace) -> dict[str, Any]:
    """All that is known of the architecture, with stable keys; FLOPs are for one sentence.

    Raises:
        UserError: on an unknown architecture, or wrong numbers.
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
    """The layer that is contrasted; None where the model cannot read targets as source."""
    from tdo_plugin.criterions.instrucl import instrucl_layer

    if spec.share_embeddings != "all" and requested is None:
        return None
    return instrucl_layer(spec, requested)


def table(description: dict[str, Any]) -> str:
    """The description for reading."""
    spec, part = description["model"], description["parameters"]
    lines = [description["arch"], *_rows(_architecture(spec))]
    vocabularies = (description["source_vocabulary"], description["target_vocabulary"])
    if spec["topology"] == "encoder-decoder":
        stages = ("encoder layers", "decoder layers")
    elif spec["target_layer"] == 0:
        stages = ("no first stage", "layers")
    else:
        stages = ("layers of stage 1", "layers of stage 2")
    sizes = {
        "embeddings": part["embeddings"],
        "positions": part["positions"],
        stages[0]: part["stage1_layers"],
        stages[1]: part["stage2_layers"],
        "adaptation": part["adaptation"],
        "adapters": part["adapters"],
        "LALT": part["lalt"],
        "TPDM": part["tpdm"],
        "final norms": part["final_norms"],
        "other": part["other"],
        "total": description["total_parameters"],
        "trainable": description["trainable_parameters"],
        "frozen": description["frozen_parameters"],
    }
    entries = " and ".join(f"{size:,}" for size in dict.fromkeys(vocabularies))
    lines += ["", f"parameters, vocabulary {entries}, tied ones counted once"]
    always = ("total", "trainable", "frozen")
    lines += _rows({name: f"{n:>13,}" for name, n in sizes.items() if n or name in always})
    flops = description["flops"]
    costs = {"training": flops["training"]}
    if flops["instrucl"]:
        costs[f"InstruCL adds (layer {description['instrucl_layer']})"] = flops["instrucl"]
    costs["source reconstruction adds"] = flops["reconstruction"]
    costs[f"generation (beam {description['beam']})"] = flops["generation"]
    s, t = description["source_length"], description["target_length"]
    lines += ["", f"GFLOP per sentence, source {s} and target {t} positions"]
    lines += _rows({name: f"{cost['total'] / 1e9:>13,.3f}" for name, cost in costs.items()})
    return "\n".join(lines)


def _architecture(spec: dict[str, Any]) -> dict[str, str]:
    if spec["topology"] == "encoder-decoder":
        layers = f"{spec['encoder_layers']} of the encoder, {spec['decoder_layers']} of the decoder"
    elif spec["target_layer"] == 0:
        layers = f"{spec['num_layers']}, the target enters at once (M = 0)"
    else:
        layers = f"{spec['num_layers']}, the target enters after {spec['target_layer']} (M)"
    inner = dict.fromkeys((spec["stage1_ffn_dim"], spec["stage2_ffn_dim"]))
    one_stage = spec["topology"] == "decoder-only" and spec["target_layer"] == 0
    ffn = str(spec["stage2_ffn_dim"]) if one_stage else ", then ".join(map(str, inner))
    return {
        "topology": spec["topology"],
        "layers": layers,
        "source attention": spec["source_attention"],
        "width": f"{spec['model_dim']}, {spec['num_heads']} heads",
        "FFN": ffn,
        "adaptation": str(spec["adaptation_dim"] or "none"),
        "norm": f"{spec['norm']}-norm",
        **_unusual(spec),
        **_language_aware(spec),
        "dropout": f"{spec['dropout']}, attention {spec['attention_dropout']}, "
        f"activation {spec['activation_dropout']}",
        "positions": f"{spec['position_embedding']}, {spec['positions']}",
        "embeddings": f"shared: {spec['share_embeddings']}"
        + (", frozen" if spec["freeze_embeddings"] else ""),
    }


def _unusual(spec: dict[str, Any]) -> dict[str, str]:
    """Choices that have a row only where they are not the usual one."""
    rows = {
        "decoder attention": (spec["decoder_attention"], "separate"),
        "start of the layers": (", ".join(spec["init"]), "standard"),
        "residual cut in layer": (str(spec["cut_residual"]), "0"),
        "TPDM in layer": (str(spec["tpdm_layer"]), "0"),
        "gate of TPDM": (spec["tpdm_gate"], "none"),
    }
    return {name: chosen for name, (chosen, usual) in rows.items() if chosen != usual}


def _language_aware(spec: dict[str, Any]) -> dict[str, str]:
    from tdo_plugin.models.config import OPTIONS

    rows = {}
    for needs, name in (("languages", "by target language"), ("pairs", "by language pair")):
        parts = [
            f"{option.title} ({spec[field]})"
            for field, option in OPTIONS.items()
            if option.needs == needs and spec[field] != option.off
        ]
        if parts:
            rows[name] = f"{', '.join(parts)}, {spec[f'num_{needs}']} {needs}"
    return rows


def _rows(pairs: dict[str, str]) -> list[str]:
    return [f"  {name:<25}{value}" for name, value in pairs.items()]
