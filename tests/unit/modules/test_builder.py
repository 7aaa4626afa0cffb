"""What a specification is built into: sharing, freezing, starts, and places of the parts."""

import pytest
import torch
from support.built_models import ENCODER_DECODER, MERGED, PAD, TWO_STAGE, build

from tdo_plugin.modules.linear import LayerNorm
from tdo_plugin.modules.methods.adaptation import Adaptation


@pytest.mark.parametrize(
    ("sharing", "names"),
    [
        ("all", ["source"]),
        ("decoder", ["source", "target"]),
        ("none", ["source", "target", "output"]),
    ],
)
def test_sharing(sharing, names):
    source, target = (30, 30) if sharing == "all" else (25, 30)
    model = build(source, target, share_embeddings=sharing, **TWO_STAGE)
    stored = {
        name: tensor.shape for name, tensor in model.state_dict().items() if "embeddings" in name
    }
    rows = {"source": source, "target": target, "output": target}
    assert stored == {f"embeddings.{name}.weight": (rows[name], 16) for name in names}
    assert (model.embeddings.output_weight is model.embeddings.target_weight) == (sharing != "none")
    assert (model.embeddings.target_weight is model.embeddings.source.weight) == (sharing == "all")
    assert model.logits(torch.randn(2, 3, 16)).shape == (2, 3, target)


def test_one_matrix_needs_one_vocabulary(refused):
    with refused.raised("two vocabularies", names="--tdo-share-embeddings"):
        build(25, 30, **TWO_STAGE)


@pytest.mark.parametrize("sharing", ["all", "decoder", "none"])
def test_embeddings_start_small_and_zero_at_padding(sharing):
    embeddings = build(3000, 3000, share_embeddings=sharing, **TWO_STAGE).embeddings
    for weight in (embeddings.source.weight, embeddings.target_weight, embeddings.output_weight):
        assert weight.std().item() == pytest.approx(0.25, rel=0.05)
    assert not embeddings.source.weight[PAD].any()
    assert not embeddings.target_weight[PAD].any()


@pytest.mark.parametrize("sharing", ["all", "decoder", "none"])
def test_frozen_embeddings(sharing):
    model = build(freeze_embeddings=True, share_embeddings=sharing, **TWO_STAGE)
    for name, parameter in model.named_parameters():
        assert parameter.requires_grad != ("embeddings" in name)


@pytest.mark.parametrize(
    ("case", "widths"),
    [
        ({**TWO_STAGE, "num_layers": 5, "target_layer": 2}, [12, 12, 20, 20, 20]),
        ({**TWO_STAGE, "target_layer": 0}, [20, 20, 20]),
        (ENCODER_DECODER, [12, 12, 20]),
    ],
)
def test_inner_sizes_of_the_stages(case, widths):
    layers = build(**case).stack.every_layer
    assert [layer.feed_forward.inner.out_features for layer in layers] == widths


@pytest.mark.parametrize("case", [TWO_STAGE, ENCODER_DECODER], ids=["two stages", "enc-dec"])
@pytest.mark.parametrize(
    ("norm", "adaptation", "entry", "exit_"),
    [
        ("post", 0, [], []),
        ("post", 6, [Adaptation], [Adaptation]),
        ("pre", 0, [LayerNorm], [LayerNorm]),
        ("pre", 6, [LayerNorm, Adaptation], [Adaptation, LayerNorm]),
    ],
)
def test_entry_and_exit(case, norm, adaptation, entry, exit_):
    stack = build(norm=norm, adaptation_dim=adaptation, **case).stack
    assert [type(part) for part in stack.bridge] == entry
    assert [type(part) for part in stack.output_block] == exit_


def test_one_stage_has_no_norm_in_the_middle():
    stack = build(norm="pre", **{**TWO_STAGE, "target_layer": 0}).stack
    assert not list(stack.bridge)
    assert len(list(stack.output_block)) == 1


@pytest.mark.parametrize("positions", ["independent", "continuous"])
def test_learned_tables_hold_the_longest_sequences(positions):
    limits = {"max_source_positions": 4, "max_target_positions": 6}
    model = build(positions=positions, position_embedding="learned", **limits, **TWO_STAGE).eval()
    source = torch.randint(4, 30, (2, 4))
    target = torch.randint(4, 30, (2, 6))
    assert model.decode(target, model.encode(source)).shape == (2, 6, 16)
    # an identity pair: a tag and a whole target
    model.encode(torch.randint(4, 30, (2, 7)))
    with pytest.raises(ValueError, match="must have at most"):
        model.decode(torch.randint(4, 30, (2, 10)), model.encode(source))
    assert (model.target_positions is None) == (positions == "continuous")


def test_dropout_and_activation_dropout_are_where_they_are_said_to_be():
    source, target = torch.randint(4, 30, (3, 5)), torch.randint(4, 30, (3, 4))
    for case in (TWO_STAGE, ENCODER_DECODER, MERGED):
        for name in (None, "dropout", "attention_dropout", "activation_dropout"):
            model = build(**case, **({name: 0.5} if name else {})).train()
            first, second = (model.decode(target, model.encode(source)) for _ in range(2))
            assert torch.equal(first, second) == (name is None)
            first, second = (model.eval().decode(target, model.encode(source)) for _ in range(2))
            assert torch.equal(first, second)
