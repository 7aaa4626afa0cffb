"""Which layers a conversion takes where it is not told."""

import pytest

from tdo_plugin.pretrained.design import Design
from tdo_plugin.pretrained.original import Sizes
from tdo_plugin.pretrained.parameter_origins import Layers


def taken(arch, decoder_layers, stacks=None):
    sizes = Sizes(4, decoder_layers, 16, 2, 32, 32, 64)
    design = Design(arch, None, None, None, stacks or {}, ("en", "de"), 1)
    return {name: str(layers) for name, layers in design.layers(sizes).items()}


@pytest.mark.parametrize(("count", "layers"), [(2, "1,2"), (4, "1,2,3,4"), (5, "1,2,3,4")])
def test_a_decoder_only_model_has_an_even_number(count, layers):
    assert taken("tdo_transformer", count) == {"layers": f"decoder:{layers}"}


def test_one_layer_is_not_enough_for_two_halves(refused):
    with refused.raised("one layer", names="two decoder layers"):
        taken("tdo_prefix_decoder_only", 1)


def test_a_side_alone_is_its_first_layers():
    stacks = {"encoder_layers": Layers.parse("decoder", "--encoder")}
    assert taken("tdo_encoder_decoder", 6, stacks) == {
        "encoder_layers": "decoder:1,2,3,4",
        "decoder_layers": "decoder:1,2,3,4,5,6",
    }
