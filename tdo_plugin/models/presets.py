"""Architectures (presets): rows of option values.

Four systems in four sizes. Sizes: the TED-19 model, the deep and the wide model for OPUS-100 (Qu
et al., section 5.2 and appendix H), and a small one for a CPU.
"""

from argparse import Namespace
from collections.abc import Callable
from dataclasses import fields
from typing import Any

from fairseq.models import register_model_architecture

from tdo_plugin.models.config import TdoConfig
from tdo_plugin.models.tdo_transformer import MODEL_NAME

Row = dict[str, Any]

# N, half the number of layers, and the other values that a size sets
SIZES: dict[str, tuple[int, Row]] = {
    "": (6, {"tdo_model_dim": 512, "tdo_ffn_dim": 2048, "tdo_heads": 8}),
    "_deep": (12, {"tdo_model_dim": 512, "tdo_ffn_dim": 2048, "tdo_heads": 8, "tdo_norm": "pre"}),
    "_wide": (
        6,
        {
            "tdo_model_dim": 1024,
            "tdo_ffn_dim": 4096,
            "tdo_heads": 16,
            "tdo_norm": "pre",
            "attention_dropout": 0.05,
        },
    ),
    "_small": (3, {"tdo_model_dim": 128, "tdo_ffn_dim": 512, "tdo_heads": 4}),
}


def _decoder_only(half: int, attention: str) -> Row:
    return {"tdo_layers": 2 * half, "tdo_target_layer": 0, "tdo_source_attention": attention}


# the values that define a system, given N and the inner size of the FFN
SYSTEMS: dict[str, Callable[[int, int], Row]] = {
    "tdo_transformer": lambda half, ffn: {
        "tdo_layers": 2 * half,
        "tdo_target_layer": half,
        "tdo_adaptation_dim": ffn,
    },
    "tdo_prefix_decoder_only": lambda half, ffn: _decoder_only(half, "prefix"),
    "tdo_causal_decoder_only": lambda half, ffn: _decoder_only(half, "causal"),
    "tdo_encoder_decoder": lambda half, ffn: {
        "tdo_topology": "encoder-decoder",
        "tdo_encoder_layers": half,
        "tdo_decoder_layers": half,
    },
}

PRESETS: dict[str, Row] = {
    system + size: {**numbers, **row(half, numbers["tdo_ffn_dim"])}
    for system, row in SYSTEMS.items()
    for size, (half, numbers) in SIZES.items()
}


def fill(args: Namespace, row: Row) -> None:
    """Set options that the command line does not set, to the row's value or the default."""
    for option in fields(TdoConfig):
        if option.name != "_name" and not hasattr(args, option.name):
            setattr(args, option.name, row.get(option.name, option.default))


def _register(arch: str, row: Row) -> None:
    @register_model_architecture(MODEL_NAME, arch)
    def preset(args: Namespace) -> None:
        fill(args, row)


for _arch, _row in PRESETS.items():
    _register(_arch, _row)
