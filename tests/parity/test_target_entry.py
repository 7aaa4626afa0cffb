"""An entry that moves or is drawn: always a model whose target enters there, and at last at M."""

import pytest
import torch

from tdo_plugin.modules.builder import Builder
from tdo_plugin.modules.source_state import Reading
from tdo_plugin.modules.spec import ModelSpec, SpecError

PAD, WORDS, LAST = 1, 30, 3
SIZES = {
    "topology": "decoder-only",
    "num_layers": 5,
    "model_dim": 16,
    "num_heads": 2,
    "stage1_ffn_dim": 24,
    "stage2_ffn_dim": 24,
}
SOURCE = torch.tensor([[5, 6, 7, 8, 2], [9, 10, 2, 1, 1]])
SHIFTED = torch.tensor([[2, 11, 12, 13], [2, 14, 1, 1]])


def build(layer=LAST, **numbers):
    torch.manual_seed(1)
    spec = ModelSpec(**{**SIZES, "target_layer": layer, **numbers})
    return Builder(spec, PAD).build(WORDS, WORDS).double()


def moving(schedule, **numbers):
    how = {"target_layer_schedule": schedule, "target_layer_updates": 30}
    return build(**how, **numbers)


def tell(model, number):
    """As fairseq tells every module of a model."""
    for module in model.modules():
        if hasattr(module, "set_num_updates"):
            module.set_num_updates(number)


def logits(model):
    """Of the target beside its source, and behind it."""
    beside = model.logits(model([Reading(SOURCE)], SHIFTED)[1])
    behind = model.logits(model.decode(SHIFTED, model.encode(SOURCE)))
    return beside, behind


def fixed(layer, weights):
    """A model whose target always enters there."""
    model = build(layer)
    model.load_state_dict(weights)
    return model


def of_weights(model):
    return {name: one for name, one in model.state_dict().items() if "target_entry" not in name}


@pytest.mark.parametrize(
    ("update", "layer"), [(0, 0), (9, 0), (10, 1), (19, 1), (20, 2), (29, 2), (30, 3), (500, 3)]
)
@pytest.mark.parametrize("norm", ["post", "pre"])
def test_a_rising_entry_is_a_model_that_has_it_there(update, layer, norm):
    model = moving("rise", norm=norm)
    tell(model, update)
    if (
        norm == "post"
    ):  # pre-norm's final norm of the source moves, too; at 0 other models have none
        for found, expected in zip(
            logits(model), logits(fixed(layer, of_weights(model))), strict=True
        ):
            assert torch.equal(found, expected)
    beside, behind = logits(model)
    assert torch.allclose(beside, behind, rtol=0, atol=1e-12)
    assert model.stack.target_layer == model.eval().stack.target_layer == layer


def test_a_checkpoint_knows_where_the_entry_was():
    before, after = moving("rise"), moving("rise")
    tell(before, 20)
    after.load_state_dict(before.state_dict())
    assert after.stack.target_layer == 2
    assert torch.equal(logits(after)[0], logits(before)[0])
    assert [name for name in before.state_dict() if "target_entry" in name] == [
        "stack.target_entry.reached"
    ]


def test_a_drawn_entry_is_every_one_and_depends_on_the_update_alone():
    model, other = moving("sample"), moving("sample")
    drawn = []
    for update in range(30):
        tell(model, update)
        drawn.append(model.stack.target_layer)
    tell(other, 7)
    assert other.stack.target_layer == drawn[7]
    assert set(drawn) == set(range(LAST + 1))
    for update in (30, 31, 99):
        tell(model, update)
        assert model.stack.target_layer == LAST
    assert model.state_dict().keys() == build().state_dict().keys()


def test_outside_of_training_a_drawn_entry_is_the_last():
    model = moving("sample")
    tell(model, next(number for number in range(30) if drawn_at(number) != LAST))
    assert model.stack.target_layer != LAST
    assert model.eval().stack.target_layer == LAST
    assert torch.equal(logits(model)[0], logits(fixed(LAST, of_weights(model)).eval())[0])


def drawn_at(number):
    model = moving("sample")
    tell(model, number)
    return model.stack.target_layer


@pytest.mark.parametrize("schedule", ["rise", "sample"])
@pytest.mark.parametrize("update", [0, 12, 30])
def test_every_parameter_has_a_gradient(schedule, update):
    """So that workers of a distributed training wait for none."""
    model = moving(schedule, adaptation_dim=8)
    tell(model, update)
    logits(model)[0].sum().backward()
    without = [name for name, one in model.named_parameters() if one.grad is None]
    assert not without


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ({"target_layer_updates": 5}, "`--tdo-target-layer-updates` must be left out where"),
        ({"target_layer_schedule": "rise"}, "`--tdo-target-layer-updates` must be positive where"),
        (
            {"target_layer_schedule": "rise", "target_layer_updates": -1},
            "`--tdo-target-layer-updates` must not be negative; it is -1",
        ),
        (
            {"target_layer_schedule": "sample", "target_layer_updates": 5, "target_layer": 0},
            "`--tdo-target-layer` must be positive where",
        ),
        (
            {
                "target_layer_schedule": "rise",
                "target_layer_updates": 5,
                "laln": "source",
                "num_languages": 2,
            },
            "`--tdo-laln` must be none or both where",
        ),
        (
            {"target_layer_schedule": "rise", "target_layer_updates": 5, "tpdm_layer": 1},
            "`--tdo-tpdm-layer` must be 0 where",
        ),
        ({"target_layer_schedule": "fall"}, "`--tdo-target-layer-schedule` must be one of none,"),
    ],
)
def test_what_makes_no_sense_is_refused(numbers, message):
    with pytest.raises(SpecError, match=message):
        ModelSpec(**{**SIZES, "target_layer": LAST, **numbers})
