"""Benchmarks of models and text, run on small ones: deep starts, states of sources, letters."""

import itertools
import sys

import deep_start
import first_stage_drift
import letters_of_their_own
import pytest
import states_across_languages
import torch
from support.covering import one_in
from support.prepared import prepared, trained
from support.translating import lines

from tdo_plugin.data.corpus_settings import CorpusSettings
from tdo_plugin.data.embedded_corpus import write_corpus

# --- deep_start.py: how deep models start, and that they train -------------------------------


@pytest.fixture(scope="module")
def started():
    """What a model of so many layers a side looks like at its start, measured once."""
    measurements = {}

    def measured(layers, norm, init, attention="separate"):
        key = layers, norm, init, attention
        if key not in measurements:
            options = {"norm": norm, "init": (init,), "decoder_attention": attention}
            model = deep_start.model(layers, **deep_start.sizes(128), **options)
            measurements[key] = deep_start.measure(model, deep_start.pairs(8))
        return measurements[key]

    return measured


@pytest.mark.parametrize(
    ("layers", "norm", "attention"),
    one_in(5, itertools.product([6, 12, 24], ["pre", "post"], ["separate", "merged"])),
)
def test_outputs_of_deep_sublayers_start_small(layers, norm, attention, started):
    """Two matrices, so that the variance falls with the square of the depth; without it does not.

    What is left of the deepest FFNs is mostly their biases, which start as they always do.
    """
    plain = started(layers, norm, "standard", attention)
    scaled = started(layers, norm, "depth-scaled", attention)
    quarter = started(layers, norm, "depth-scaled-quarter", attention)
    assert len(plain.outputs) == (5 if attention == "separate" else 4)
    for kind, by_layer in plain.outputs.items():
        assert len(by_layer) == layers
        assert min(by_layer) > 0.5 * by_layer[0], kind
        last = [start.outputs[kind][-1] / start.outputs[kind][0] for start in (scaled, quarter)]
        assert last[0] < 4 / layers**2, kind
        assert 0.3 / layers < last[1] < 4 / layers, kind


@pytest.mark.parametrize("attention", ["separate", "merged"])
def test_a_pre_norm_stream_does_not_grow_with_the_depth(attention, started):
    for side in ("encoder", "decoder"):
        growth = {}
        for init in ("standard", "depth-scaled"):
            streams = started(24, "pre", init, attention).streams[f"{side} feed_forward"]
            growth[init] = streams[-1] / streams[5]
        assert growth["standard"] > 3
        assert growth["depth-scaled"] < 1.25


@pytest.mark.full
@pytest.mark.parametrize("attention", ["separate", "merged"])
def test_the_gradient_of_a_deep_post_norm_decoder_dies_without_it(attention, started):
    """Of the first layer against the last: a hundredth or a twentieth, and less the deeper."""
    first = {
        (layers, init): started(layers, "post", init, attention).gradients["decoder"][0]
        for layers in (6, 12, 24)
        for init in ("standard", "depth-scaled", "depth-scaled-quarter")
    }
    assert first[6, "standard"] > first[12, "standard"] > first[24, "standard"]
    assert first[24, "standard"] < (0.03 if attention == "separate" else 0.08)
    for layers in (6, 12, 24):
        assert 1 < first[layers, "depth-scaled"] < 10
        assert 0.3 < first[layers, "depth-scaled-quarter"] < 3


@pytest.mark.full
def test_post_norm_trains_with_it_and_hardly_without_it():
    """12 layers a side learn eight short sentences by heart in 48 updates, without warm-up.

    Without the scaled start the loss (nats a token) is more than ten times as large by then.
    """
    words, losses = 12, {}
    tokens = torch.randint(4, words, (8, 4), generator=torch.Generator().manual_seed(3))
    batch = tokens, deep_start.shifted(tokens), tokens
    sizes = {"model_dim": 32, "num_heads": 2, "stage1_ffn_dim": 64, "stage2_ffn_dim": 64}
    for init in ("standard", "depth-scaled"):
        model = deep_start.model(12, words=words, norm="post", init=(init,), **sizes)
        optimizer = torch.optim.Adam(model.parameters(), 1e-3, betas=(0.9, 0.98), fused=True)
        for _ in range(48):
            optimizer.zero_grad()
            loss = deep_start.loss(model, *batch)
            loss.backward()
            optimizer.step()
        losses[init] = loss.item()
    assert losses["standard"] > 1
    assert losses["depth-scaled"] < 0.25


# --- first_stage_drift.py, states_across_languages.py ----------------------------------------


@pytest.fixture
def table(monkeypatch, capsys):
    def run(benchmark, *words):
        monkeypatch.setattr("sys.argv", ["x", *map(str, (prepared().root, *words))])
        benchmark.main()
        lines = capsys.readouterr().out.splitlines()
        return [line.strip("| ").split(" | ") for line in lines if line.startswith("| ")]

    return run


def test_the_nearest_is_counted_and_the_shift_is_in_units_of_the_spread():
    centre, compare = torch.tensor([[3.0, 1], [1, 3], [2, 2]]), states_across_languages.compare
    assert compare(centre, centre) == (pytest.approx(100), 0)
    assert compare(centre[[1, 0, 2]], centre)[0] == pytest.approx(100 / 3)
    # twice as far from the origin has the same direction; the mean moves by (2, 2)
    spread = pytest.approx((8 / (4 / 3)) ** 0.5)
    assert compare(2 * centre, centre) == (pytest.approx(100), spread)


def test_states_across_languages(table):
    head, *rows = table(states_across_languages, trained(), "--sentences", "5")
    assert head == ["checkpoint", "layer", "same %", "shift"]
    assert [int(row[1]) for row in rows] == list(range(1, len(rows) + 1))
    assert all(0 <= float(row[2]) <= 100 and float(row[3]) > 0 for row in rows)


def test_first_stage_drift(table):
    identity = trained("--tdo-init", "identity-stage1", "--max-update", "1", "--lr", "1e-9")
    head, begun, later = table(first_stage_drift, trained(), identity, "--direction", "de-en")
    assert head == list(first_stage_drift.HEAD)
    assert [int(begun[0]), int(later[0])] == [1, 150]
    # a first stage that is the identity hands on its own words, with their positions
    assert float(begun[1]) > 90 and float(begun[2]) > 0.5
    assert float(later[4]) < float(begun[4])


# --- letters_of_their_own.py -----------------------------------------------------------------


def test_languages_share_no_letter_and_keep_their_words(tmp_path, monkeypatch):
    text, out = tmp_path / "text", tmp_path / "out"
    write_corpus(text, CorpusSettings(languages=("en", "de", "fr"), train=30, valid=5, test=5))
    monkeypatch.setattr(sys, "argv", ["x", str(text), str(out)])
    letters_of_their_own.main()
    assert {path.name for path in out.iterdir()} == {path.name for path in text.iterdir()}
    letters = {}
    for language in ("en", "de", "fr"):
        (before, after) = (lines(folder / f"test.{language}") for folder in (text, out))
        assert [len(line) for line in after] == [len(line) for line in before]
        pairs = {
            pair for a, b in zip(before, after, strict=True) for pair in zip(a, b, strict=True)
        }
        assert len(dict(pairs)) == len(pairs) == len({b for _, b in pairs})  # one for one
        assert all((a == b) == (not a.isalnum()) for a, b in pairs)
        letters[language] = {b for a, b in pairs if a.isalnum()}
    assert len(set.union(*letters.values())) == sum(map(len, letters.values()))


def test_other_alphabets_do_not_fit(tmp_path, monkeypatch, capsys):
    (tmp_path / "text").mkdir()
    (tmp_path / "text/test.ru").write_text("да\n", encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["x", str(tmp_path / "text"), str(tmp_path / "out")])
    with pytest.raises(SystemExit, match="2"):
        letters_of_their_own.main()
    assert "must be Latin, up to U+024F" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
