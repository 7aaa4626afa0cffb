"""An encoder-decoder of this package as a model of CTranslate2, filled weight by weight.

For the benchmark's random models, which have a dictionary but no tokenizer; `tdo export --to
ctranslate2` writes trained models.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ctranslate2.converters.utils import fuse_linear
from ctranslate2.specs import TransformerSpec, common_spec
from torch import Tensor, nn

from tdo_plugin.modules.attention import MultiheadAttention
from tdo_plugin.modules.translation_model import TranslationModel

BEGIN, END, UNKNOWN = "<s>", "</s>", "<unk>"


def write_model(
    core: TranslationModel, symbols: Sequence[str], folder: Path, quantization: str | None
) -> None:
    """Write CTranslate2's files into a new folder.

    Args:
        core: an encoder-decoder with separate attentions and sinusoidal positions.
        symbols: the dictionary, in order; source and target share it.
        folder: is created.
        quantization: number format of the weights, such as `int8`; None: float32.
    """
    spec = _filled(core)
    spec.register_source_vocabulary(list(symbols))
    spec.register_target_vocabulary(list(symbols))
    spec.config.bos_token, spec.config.eos_token = BEGIN, END
    spec.config.unk_token, spec.config.decoder_start_token = UNKNOWN, END
    spec.validate()
    spec.optimize(quantization=quantization)
    folder.mkdir()
    spec.save(str(folder))


def _filled(core: TranslationModel) -> Any:
    stack, pre_norm = core.stack, core.spec.norm == "pre"
    layers = list(stack.encoder_layers), list(stack.decoder_layers)
    sizes = len(layers[0]), len(layers[1])
    relu = common_spec.Activation.RELU
    spec = TransformerSpec.from_config(
        sizes, core.spec.num_heads, pre_norm=pre_norm, activation=relu
    )
    positions = core.source_positions.table[core.padding_idx + 1 :]
    for side, embeddings in (
        (spec.encoder, spec.encoder.embeddings[0]),
        (spec.decoder, spec.decoder.embeddings),
    ):
        side.scale_embeddings = math.sqrt(core.spec.model_dim)
        side.position_encodings.encodings = _array(positions)
        embeddings.weight = _array(core.embeddings.source.weight)
    spec.decoder.projection.weight = _array(core.embeddings.output_weight)
    for side, side_layers in zip((spec.encoder, spec.decoder), layers, strict=True):
        for place, layer in zip(side.layer, side_layers, strict=True):
            _attention(place.self_attention, layer.attention, [3])
            _norm(place.self_attention.layer_norm, layer.attention_residual.norm)
            _linear(place.ffn.linear_0, layer.feed_forward.inner)
            _linear(place.ffn.linear_1, layer.feed_forward.outer)
            _norm(place.ffn.layer_norm, layer.feed_forward_residual.norm)
    for place, layer in zip(spec.decoder.layer, layers[1], strict=True):
        _attention(place.attention, layer.cross_attention, [1, 2])
        _norm(place.attention.layer_norm, layer.cross_attention_residual.norm)
    if pre_norm:
        _norm(spec.encoder.layer_norm, stack.bridge[0])
        _norm(spec.decoder.layer_norm, stack.output_block[0])
    return spec


def _array(tensor: Tensor) -> Any:
    return tensor.detach().float().numpy()


def _linear(place: Any, linear: nn.Module) -> None:
    place.weight, place.bias = _array(linear.weight), _array(linear.bias)


def _norm(place: Any, norm: nn.Module) -> None:
    place.gamma, place.beta = _array(norm.weight), _array(norm.bias)


def _attention(place: Any, attention: MultiheadAttention, joined: Sequence[int]) -> None:
    """Queries, keys and values, joined to products of that many projections each; the output."""
    parts = [common_spec.LinearSpec() for _ in range(3)]
    for part, linear in zip(parts, (attention.query, attention.key, attention.value), strict=True):
        _linear(part, linear)
    for number, count in enumerate(joined):
        fuse_linear(place.linear[number], parts[:count])
        del parts[:count]
    _linear(place.linear[-1], attention.out)
