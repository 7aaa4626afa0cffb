"""`tdo describe`: an architecture's settings, parameters by part, and FLOPs."""

from __future__ import annotations

import argparse
import json
from typing import Any

from tdo_plugin.costs.model_description import describe, description_options

HELP = "describe an architecture: parameters by part, and FLOPs per sentence"
EXAMPLE = "tdo describe --arch tdo_transformer --vocab-size 8000"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options; model options are added by fairseq only when the command runs."""
    description_options(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    """Build the model without allocating its parameters, count, and print."""
    description = describe(args)
    print(json.dumps(description, indent=1) if args.json else table(description))
    return 0


def table(description: dict[str, Any]) -> str:
    """The description as text."""
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
    lines += ["", f"parameters, vocabulary {entries}, tied parameters counted once"]
    always = ("total", "trainable", "frozen")
    lines += _rows({name: f"{n:>13,}" for name, n in sizes.items() if n or name in always})
    flops = description["flops"]
    costs = {"training": flops["training"]}
    if flops["instrucl"]:
        costs[f"InstruCL adds (layer {description['instrucl_layer']})"] = flops["instrucl"]
    costs["source reconstruction adds"] = flops["reconstruction"]
    if flops["lexical"]:
        costs["the lexical loss adds"] = flops["lexical"]
    costs[f"generation (beam {description['beam']})"] = flops["generation"]
    s, t = description["source_length"], description["target_length"]
    lines += ["", f"GFLOP per sentence, source {s} and target {t} positions"]
    lines += _rows({name: f"{cost['total'] / 1e9:>13,.3f}" for name, cost in costs.items()})
    return "\n".join(lines)


def _architecture(spec: dict[str, Any]) -> dict[str, str]:
    if spec["topology"] == "encoder-decoder":
        layers = f"{spec['encoder_layers']} of the encoder, {spec['decoder_layers']} of the decoder"
    elif spec["target_layer"] == 0:
        layers = f"{spec['num_layers']}, the target enters before the first (M = 0)"
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
    """Settings that get a row only if they differ from the usual value."""
    rows = {
        "decoder attention": (spec["decoder_attention"], "separate"),
        "initialisation": (", ".join(spec["init"]), "standard"),
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
