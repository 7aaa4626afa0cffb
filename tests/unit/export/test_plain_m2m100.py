"""Which models are M2M100."""

from dataclasses import fields

import pytest
from support.built_models import ENCODER_DECODER, TWO_STAGE

from tdo_plugin.export.plain_m2m100 import NEEDS, misfits
from tdo_plugin.modules.spec import ModelSpec

# M2M100 has them, or they matter only in training
FREE = {
    *("encoder_layers", "decoder_layers", "model_dim", "num_heads"),
    *("stage1_ffn_dim", "stage2_ffn_dim", "max_source_positions", "max_target_positions"),
    *("dropout", "attention_dropout", "activation_dropout", "init", "freeze_embeddings"),
}
# without effect in an encoder-decoder, or if what needs them is off
UNUSED = {
    *("num_layers", "target_layer", "source_sees_start", "adaptation_dim"),
    *("num_languages", "num_pairs", "tpdm_gate", "zero_shot_neurons"),
}


def test_every_field_is_decided():
    needed = [need.field for need in NEEDS]
    assert sorted([*needed, *FREE, *UNUSED]) == sorted(field.name for field in fields(ModelSpec))


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, []),
        ({"norm": "post"}, ["norm"]),
        ({"decoder_attention": "merged"}, ["decoder_attention"]),
        ({"laln": "both", "num_languages": 3}, ["laln"]),
        ({"share_embeddings": "decoder", "masked_tags": 2}, ["share_embeddings", "masked_tags"]),
    ],
)
def test_misfits_of_encoder_decoders(changes, expected):
    spec = ModelSpec(**{**ENCODER_DECODER, "norm": "pre", **changes})
    assert [need.field for need in misfits(spec)] == expected


def test_a_two_stage_model_is_read_layer_by_layer():
    first, *_ = misfits(ModelSpec(**TWO_STAGE))
    assert "layer by layer" in first.reason
