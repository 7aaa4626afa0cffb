"""The pictures know the modules of every kind of model, and say what they show."""

import pytest
import torch
from support.built_models import ENCODER_DECODER, MERGED, TWO_STAGE, build

from tdo_plugin.analysis.neurons.neuron_figures import draw_layers, draw_modules, draw_similarity
from tdo_plugin.analysis.neurons.pair_similarity import tree
from tdo_plugin.modules.methods.neurons import projections
from tdo_plugin.neuron_files import place_of


@pytest.mark.parametrize(
    "model", [ENCODER_DECODER, MERGED, TWO_STAGE], ids=["two", "merged", "one"]
)
def test_every_kind_of_module_is_in_the_legend(model, tmp_path):
    places = [place_of(name) for name in projections(build(**model).stack)]
    draw_modules(dict.fromkeys(places, 0.5), "title", [tmp_path / "a.svg"])
    picture = (tmp_path / "a.svg").read_text(encoding="utf-8")
    kinds = {f"{place.part.replace('_', ' ')}, {place.neurons}" for place in places}
    assert all(picture.count(f">{kind}<") == 1 for kind in kinds)
    assert all(picture.count(f">{place.stack}<") == 1 for place in places)


def test_more_pairs_than_colours_differ_in_their_dashes(tmp_path):
    pairs = [f"en-{number}" for number in range(12)]
    draw_layers(
        {("layers", 1): [0.5] * 12, ("layers", 2): [0.6] * 12}, pairs, "", [tmp_path / "a.svg"]
    )
    picture = (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert all(picture.count(f">{pair}<") == 1 for pair in pairs)
    # the last two, in the panel and in the legend
    assert picture.count("stroke-dasharray") == 4


def test_pairs_stand_in_the_order_of_the_tree(tmp_path):
    alike = torch.tensor([[1.0, 0.1, 0.8], [0.1, 1.0, 0.3], [0.8, 0.3, 1.0]], dtype=torch.float64)
    for path in (tmp_path / "a.svg", tmp_path / "b.svg"):
        draw_similarity(alike, tree(alike), ["aa", "bb", "cc"], "title", [path])
    picture = (tmp_path / "a.svg").read_text(encoding="utf-8")
    places = {name: picture.index(f">{name}<") for name in ("aa", "bb", "cc")}
    assert sorted(places, key=places.__getitem__)[1] != "bb"
    assert picture.count(">0.80<") == 2 and ">1.00<" not in picture
    assert (tmp_path / "b.svg").read_text(encoding="utf-8") == picture
    alike = torch.ones(2, 2, dtype=torch.float64)  # all equal
    draw_similarity(alike, tree(alike), ["a", "b"], "title", [tmp_path / "a.png"])
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
