"""A specification takes what makes sense and names everything else."""

import pytest

from tdo_plugin.modules.spec import ModelSpec, SpecError

SIZES = {"model_dim": 8, "num_heads": 2, "stage1_ffn_dim": 12, "stage2_ffn_dim": 12}
TWO_STAGE = {**SIZES, "topology": "decoder-only", "num_layers": 4, "target_layer": 2}
ENCODER_DECODER = {**SIZES, "topology": "encoder-decoder", "encoder_layers": 2, "decoder_layers": 3}


def test_layers_are_counted_over_what_the_source_passes():
    spec = ModelSpec(**TWO_STAGE)
    assert (spec.source_layers, spec.entry_layer, spec.read_layers) == (4, 2, 3)
    spec = ModelSpec(**ENCODER_DECODER)
    assert (spec.source_layers, spec.entry_layer, spec.read_layers) == (2, 2, 2)


@pytest.mark.parametrize("part", ["cut_residual", "tpdm_layer"])
@pytest.mark.parametrize(("base", "last"), [(TWO_STAGE, 3), (ENCODER_DECODER, 2)])
def test_parts_of_the_source_stand_where_they_are_read(part, base, last):
    """Of the last layer of a decoder-only model the target reads what is made of its input."""
    for layer in range(last + 1):
        assert getattr(ModelSpec(**base, **{part: layer}), part) == layer
    for layer in (-1, last + 1):
        with pytest.raises(SpecError, match=f"`--tdo-{part.replace('_', '-')}`.* 1 to {last}"):
            ModelSpec(**base, **{part: layer})


@pytest.mark.parametrize("layers", [1, 2, 7])
def test_every_place_for_the_target(layers):
    for place in range(layers):
        ModelSpec(**{**TWO_STAGE, "num_layers": layers, "target_layer": place})
    for place in (-1, layers, layers + 3):
        with pytest.raises(SpecError, match=f"`--tdo-target-layer`.* from 0 to {layers - 1}"):
            ModelSpec(**{**TWO_STAGE, "num_layers": layers, "target_layer": place})


# the first name is the one that is wrong
WRONG = (
    {"topology": "decoder"},
    {"source_attention": "both"},
    {"norm": "Pre"},
    {"positions": ""},
    {"position_embedding": "relative"},
    {"share_embeddings": "encoder"},
    {"model_dim": 0},
    {"model_dim": 9},
    {"model_dim": 2},
    {"stage1_ffn_dim": -4},
    {"stage2_ffn_dim": 0},
    {"adaptation_dim": -1},
    {"adaptation_dim": 4, "target_layer": 0},
    {"dropout": 1.0},
    {"attention_dropout": -0.1},
    {"activation_dropout": float("nan")},
    {"tpdm_gate": "kuma"},
    {"tpdm_gate": "hard-concrete"},
    {"max_source_positions": 0},
    {"max_target_positions": -1},
    {"decoder_attention": "joint"},
    {"decoder_attention": "merged"},
    {"init": ("xavier",)},
    {"init": ("standard", "depth-scaled")},
    {"init": ()},
    {"init": ("depth-scaled", "depth-scaled")},
    {"init": ("identity-all", "identity-stage1")},
    {"init": ("identity-stage1",), "target_layer": 0},
    {"init": ("identity-adaptation",)},
    {"cut_residual": 2, "init": ("identity-stage1",)},
    {"cut_residual": 3, "init": ("identity-all",)},
    {"num_heads": 0},
    {"num_layers": 0},
)
WRONG_IN_ENCODER_DECODERS = (
    {"encoder_layers": 0},
    {"decoder_layers": 0},
    {"source_sees_start": True},
)


def test_wrong_values(refused):
    for base, changes in ((TWO_STAGE, WRONG), (ENCODER_DECODER, WRONG_IN_ENCODER_DECODERS)):
        for change in changes:
            name = next(iter(change)).removeprefix("num_").replace("_", "-")
            with refused.raised(str(change), names=name):
                ModelSpec(**{**base, **change})


def test_a_layer_behind_the_identity_may_be_cut():
    assert ModelSpec(**TWO_STAGE, init=("identity-stage1",), cut_residual=3).cut_residual == 3


def test_all_complaints_at_once():
    with pytest.raises(SpecError) as raised:
        ModelSpec(**{**TWO_STAGE, "norm": "x", "dropout": 7, "num_layers": -2, "num_heads": 0})
    for flag in ("--tdo-norm", "--dropout", "--tdo-layers", "--tdo-heads"):
        assert f"`{flag}`" in str(raised.value)
    assert "\n" not in str(raised.value)
