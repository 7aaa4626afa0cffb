"""`tdo probe` and `tdo preference`, as far as they go without a model."""

from pathlib import Path

import pytest

from tdo_plugin.cli.probe import own_layer, wanted_layers
from tdo_plugin.cli.probe_checkpoints import named
from tdo_plugin.errors import UserError


def test_models_and_their_checkpoints():
    assert named(["a.pt,b.pt"]) == {"model": [Path("a.pt"), Path("b.pt")]}
    assert named(["rc=a.pt", "tpdm=b.pt,c.pt"]) == {
        "rc": [Path("a.pt")],
        "tpdm": [Path("b.pt"), Path("c.pt")],
    }


def test_the_layer_that_a_target_reads():
    """Of an encoder-decoder, of two stages, of one stage, and of one layer."""
    places = [(6, 6), (3, 6), (0, 6), (0, 1)]
    assert [own_layer(entry, layers) for entry, layers in places] == [6, 3, 5, 1]


def test_layers_that_are_wanted():
    assert wanted_layers(None, 3, 6, Path("x")) == (3,)
    assert wanted_layers("all", 3, 4, Path("x")) == (1, 2, 3, 4)
    assert wanted_layers("4,1,4", 3, 6, Path("x")) == (1, 4)
    with pytest.raises(UserError, match=r"`--layers` must be at most 3, .* of x; it has 4"):
        wanted_layers("2,4", 3, 3, Path("x"))


def test_what_is_refused(data, tmp_path, refused, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("file").touch()
    refused.rows(
        """
        probe positions --data {data} --cpu --out out --path
            a.pt b.pt             :: NAME=MODEL
            x=a.pt x=b.pt         :: x occurs twice
            x=                    :: it is x=
            =a.pt                 :: it is =a.pt
            a.pt,                 :: a.pt,
        probe positions --data {data} --cpu --out out --path none.pt :: none.pt
            --layers 0            :: --layers
            --layers 2,           :: --layers
            --sentences 1         :: --sentences
            --test-sentences 0    :: --test-sentences
            --probes 0            :: --probes
            --longest 0           :: --longest
        preference --data {data} --cpu --out out --path none.pt :: none.pt
            --sentences 0         :: --sentences
            --longest 2           :: --longest
            --max-tokens 0        :: --max-tokens
            --variance 0          :: --variance
            --variance 1.1        :: --variance
            --out file            :: --out
            --out file/below      :: --out
        """,
        data=data.root,
    )
