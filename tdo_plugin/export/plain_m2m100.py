"""Encoder-decoders as M2M100 of transformers: the same function, without code of this package."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tdo_plugin.export.folder_files import write_model_files
from tdo_plugin.export.opened_model import OpenedModel
from tdo_plugin.modules.spec import ModelSpec
from tdo_plugin.pretrained.hugging_face import EXPORTED
from tdo_plugin.pretrained.parameter_origins import Layers, origins


@dataclass(frozen=True)
class Need:
    """The value of a specification's field for which M2M100 computes the same.

    Attributes:
        field: of :class:`ModelSpec`.
        value: that it must have.
        reason: what another value changes.
    """

    field: str
    value: Any
    reason: str


NEEDS = (
    Need("topology", "encoder-decoder", "the target reads the source layer by layer"),
    Need("norm", "pre", "its layers normalise after the residual connection"),
    Need("decoder_attention", "separate", "its decoder merges self- and cross-attention"),
    Need("source_attention", "prefix", "its source positions attend only to earlier positions"),
    Need("positions", "independent", "its target positions continue those of the source"),
    Need("position_embedding", "sinusoidal", "its positions are not sinusoidal"),
    Need("share_embeddings", "all", "its embeddings and output projection are several matrices"),
    Need("laln", "none", "its layer norms depend on the language"),
    Need("lalt", "none", "its source states are transformed for each target language"),
    Need("target_attention", "none", "its attention depends on the language"),
    Need("ffn_experts", "none", "its feed-forward networks depend on the language"),
    Need("adapter_dim", 0, "it has an adapter for each language pair"),
    Need("cut_residual", 0, "one of its layers has no residual connection"),
    Need("tpdm_layer", 0, "it has a module that disentangles position from meaning"),
    Need("neuron_masks", "", "its neurons are masked for each language pair"),
    Need("masked_tags", 0, "it never predicts tags"),
)


def misfits(spec: ModelSpec) -> list[Need]:
    """The needs that a model does not meet; empty: M2M100 computes exactly the same."""
    return [need for need in NEEDS if getattr(spec, need.field) != need.value]


def write_model(opened: OpenedModel, folder: Path, dtype: torch.dtype) -> None:
    """Write configuration and weights.

    Args:
        opened: a model without misfits.
        folder: an existing folder.
        dtype: number format of the weights.
    """
    tensors = {name: value.to(dtype).contiguous() for name, value in parameters(opened).items()}
    write_model_files(folder, configuration(opened, dtype), tensors)


def configuration(opened: OpenedModel, dtype: torch.dtype) -> dict[str, Any]:
    """The content of `config.json`."""
    spec = opened.spec
    return {
        "architectures": ["M2M100ForConditionalGeneration"],
        "model_type": "m2m_100",
        "is_encoder_decoder": True,
        "vocab_size": len(opened.symbols),
        "max_position_embeddings": max(spec.max_source_positions, spec.max_target_positions),
        "d_model": spec.model_dim,
        "encoder_layers": spec.encoder_layers,
        "decoder_layers": spec.decoder_layers,
        "num_hidden_layers": spec.encoder_layers,
        "encoder_ffn_dim": spec.stage1_ffn_dim,
        "decoder_ffn_dim": spec.stage2_ffn_dim,
        "encoder_attention_heads": spec.num_heads,
        "decoder_attention_heads": spec.num_heads,
        "activation_function": "relu",
        "scale_embedding": True,
        "tie_word_embeddings": True,
        "dropout": spec.dropout,
        "attention_dropout": spec.attention_dropout,
        "activation_dropout": spec.activation_dropout,
        "encoder_layerdrop": 0.0,
        "decoder_layerdrop": 0.0,
        "bos_token_id": opened.row("<s>"),
        "pad_token_id": opened.row("<pad>"),
        "eos_token_id": opened.row("</s>"),
        "decoder_start_token_id": opened.row("</s>"),
        "use_cache": True,
        "dtype": str(dtype).removeprefix("torch."),
        EXPORTED: dict(opened.tags),
        **opened.text.stored(),
        **opened.tag_entries,
    }


def parameters(opened: OpenedModel) -> dict[str, Tensor]:
    """The parameters by M2M100's names; the shared embeddings once.

    Raises:
        ValueError: the model has a parameter that M2M100 lacks, although its specification fits.
    """
    state = opened.core.state_dict()
    stacks = {
        f"{side}_layers": Layers.first(side, count)
        for side, count in (
            ("encoder", opened.spec.encoder_layers),
            ("decoder", opened.spec.decoder_layers),
        )
    }
    names = origins(state, stacks)
    if foreign := [name for name, origin in names.items() if origin is None]:
        raise ValueError(f"M2M100 has no parameter for {foreign[0]}")
    shared = {"embeddings": "shared.weight"}
    return {
        f"model.{shared.get(origin, origin)}": state[name]
        for name, origin in names.items()
        if origin is not None
    }


def shown(needs: Sequence[Need]) -> str:
    """The reasons of some misfits as one phrase."""
    return "; ".join(need.reason for need in needs)
