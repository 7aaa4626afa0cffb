"""LScore and MScore that were counted by hand."""

import math

from support.neuron_files import masks_of

from tdo_plugin.analysis.neurons.specific import Specific, by_layer, by_module, specific_neurons

PAIRS = ["a-b", "b-a", "a-c"]
QUERY = "encoder_layers.0.attention.query"
INNER = "encoder_layers.0.feed_forward.inner"
SECOND = "encoder_layers.1.feed_forward.inner"
# 1 is a-b's, 2 b-a's, 4 a-c's
MASKS = masks_of({QUERY: "GG17", INNER: "4G33", SECOND: "GGGG"}, PAIRS)


def test_general_neurons_are_nobody_s():
    specific = specific_neurons(MASKS)
    assert specific[QUERY].int().tolist() == [[0, 0, 1, 1], [0, 0, 0, 1], [0, 0, 0, 1]]
    assert not specific[SECOND].any()


def test_counts_of_modules_and_their_mscore():
    counts = by_module(MASKS)
    assert (counts[QUERY], counts[INNER]) == (Specific(2, (2, 1, 1)), Specific(3, (2, 2, 1)))
    assert math.isclose(counts[QUERY].mean, (2 / 2 + 1 / 2 + 1 / 2) / 3)
    assert math.isclose(counts[INNER].mean, (2 / 3 + 2 / 3 + 1 / 3) / 3)


def test_lscore_is_of_all_modules_of_a_layer():
    layers = by_layer(MASKS)
    assert list(layers) == [("encoder", 1), ("encoder", 2)]
    assert layers["encoder", 1].scores == (4 / 5, 3 / 5, 2 / 5)
    none = layers["encoder", 2]  # no specific neuron, so no score
    assert none == Specific(0, (0, 0, 0))
    assert all(map(math.isnan, (*none.scores, none.mean)))
