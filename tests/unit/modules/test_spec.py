"""A specification takes what makes sense and names everything else."""

import re
from dataclasses import FrozenInstanceError

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


def test_it_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        ModelSpec(**TWO_STAGE).num_layers = 3


def test_unknown_names_are_refused():
    with pytest.raises(TypeError, match="spam"):
        ModelSpec(**TWO_STAGE, spam=1)


@pytest.mark.parametrize("part", ["cut_residual", "tpdm_layer"])
@pytest.mark.parametrize(("base", "last"), [(TWO_STAGE, 3), (ENCODER_DECODER, 2)])
def test_parts_of_the_source_stand_where_they_are_read(part, base, last):
    """Of the last layer of a decoder-only model the target reads what is made of its input."""
    flag = "--tdo-" + part.replace("_", "-")
    for layer in range(last + 1):
        assert getattr(ModelSpec(**base, **{part: layer}), part) == layer
    for layer in (-1, last + 1):
        with pytest.raises(SpecError, match=f"`{flag}` must be from 1 to {last}, the .* or"):
            ModelSpec(**base, **{part: layer})


@pytest.mark.parametrize("layers", [1, 2, 7])
def test_every_place_for_the_target(layers):
    for place in range(layers):
        ModelSpec(**{**TWO_STAGE, "num_layers": layers, "target_layer": place})
    for place in (-1, layers, layers + 3):
        with pytest.raises(SpecError, match=f"`--tdo-target-layer` must be from 0 to {layers - 1}"):
            ModelSpec(**{**TWO_STAGE, "num_layers": layers, "target_layer": place})


WRONG = [
    ({"topology": "decoder"}, "`--tdo-topology` must be one of decoder-only, encoder-decoder"),
    ({"source_attention": "both"}, "`--tdo-source-attention` must be one of prefix, causal"),
    ({"norm": "Pre"}, "`--tdo-norm` must be one of pre, post; it is Pre"),
    ({"positions": ""}, "`--tdo-positions` must be one of independent, continuous"),
    ({"position_embedding": "relative"}, "`--tdo-position-embedding` must be one of sinusoidal"),
    ({"share_embeddings": "encoder"}, "`--tdo-share-embeddings` must be one of all, decoder, none"),
    ({"model_dim": 0}, "`--tdo-model-dim` must be positive; it is 0"),
    ({"model_dim": 9}, r"`--tdo-model-dim` must be a multiple of `--tdo-heads` \(2\); it is 9"),
    ({"model_dim": 2}, "`--tdo-model-dim` must be at least 4 for sinusoidal positions"),
    ({"num_heads": 0}, "`--tdo-heads` must be positive"),
    ({"stage1_ffn_dim": -4}, "`--tdo-stage1-ffn-dim` must be positive; it is -4"),
    ({"stage2_ffn_dim": 0}, "`--tdo-stage2-ffn-dim` must be positive; it is 0"),
    ({"adaptation_dim": -1}, "`--tdo-adaptation-dim` must not be negative; it is -1"),
    ({"dropout": 1.0}, "`--dropout` must be at least 0 and below 1; it is 1.0"),
    ({"attention_dropout": -0.1}, "`--attention-dropout` must be at least 0"),
    ({"activation_dropout": float("nan")}, "`--activation-dropout` must be at least 0"),
    ({"tpdm_gate": "kuma"}, "`--tdo-tpdm-gate` must be one of none, relaxed-bernoulli, hard-conc"),
    (
        {"tpdm_gate": "hard-concrete"},
        "`--tdo-tpdm-gate` must be none if `--tdo-tpdm-layer` is 0",
    ),
    ({"max_source_positions": 0}, "`--max-source-positions` must be positive"),
    ({"max_target_positions": -1}, "`--max-target-positions` must be positive"),
    (
        {"init": ("xavier",)},
        "`--tdo-init` must be one or more of standard, depth-scaled, .*; it has xavier",
    ),
    ({"decoder_attention": "joint"}, "`--tdo-decoder-attention` must be one of separate, merged"),
    (
        {"decoder_attention": "merged"},
        "`--tdo-decoder-attention` must be separate if `--tdo-topology` is decoder-only: the "
        "target attends to source and target in one softmax, so there is nothing to merge; it is",
    ),
    ({"num_layers": 0}, "`--tdo-layers` must be positive; it is 0"),
    ({"target_layer": 0, "adaptation_dim": 4}, "`--tdo-adaptation-dim` must be 0 if"),
]


@pytest.mark.parametrize(("change", "message"), WRONG, ids=[str(change) for change, _ in WRONG])
def test_wrong_values(change, message):
    with pytest.raises(SpecError, match=message) as raised:
        ModelSpec(**{**TWO_STAGE, **change})
    complaint = re.sub("; it (is|has)", "", str(raised.value))
    assert ";" not in complaint, "more than one complaint"


def test_only_joint_layers_show_a_source_the_first_target_symbol():
    assert ModelSpec(**TWO_STAGE, source_sees_start=True).source_sees_start
    message = "`--tdo-source-sees-start` must be off if `--tdo-topology` is encoder-dec.* on$"
    with pytest.raises(SpecError, match=message):
        ModelSpec(**ENCODER_DECODER, source_sees_start=True)


@pytest.mark.parametrize("name", ["encoder_layers", "decoder_layers"])
def test_encoder_decoders_need_both(name):
    with pytest.raises(SpecError, match=f"`--tdo-{name.replace('_', '-')}` must be positive"):
        ModelSpec(**{**ENCODER_DECODER, name: 0})


def test_all_complaints_at_once():
    with pytest.raises(SpecError) as raised:
        ModelSpec(**{**TWO_STAGE, "norm": "x", "dropout": 7, "num_layers": -2, "num_heads": 0})
    for flag in ("--tdo-norm", "--dropout", "--tdo-layers", "--tdo-heads"):
        assert f"`{flag}`" in str(raised.value)
    assert "\n" not in str(raised.value)
