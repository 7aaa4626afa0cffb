"""``tdo describe``, by its output."""

import json

import pytest
from support.commands import told

from tdo_plugin.models.presets import PRESETS

KEYS = [
    *("arch", "model", "source_vocabulary", "target_vocabulary", "parameters"),
    *("trainable_parameters", "frozen_parameters", "total_parameters"),
    *("source_length", "target_length", "beam", "instrucl_layer", "flops"),
]
CHOICES = ("decoder attention", "initialisation")


@pytest.fixture
def shown(capsys):
    """``shown(arch, *flags)`` is the object that ``--json`` prints."""

    def show(arch, *flags, vocabulary="64000"):
        words = ("describe", "--arch", arch, "--vocab-size", vocabulary, "--json", *flags)
        printed, errors = told(capsys, *words)
        assert errors == ""
        return json.loads(printed)

    return show


@pytest.mark.parametrize(
    ("arch", "vocabulary", "millions"),
    [
        ("tdo_encoder_decoder", "50000", 70),
        ("tdo_prefix_decoder_only", "50000", 63),
        ("tdo_causal_decoder_only", "50000", 63),
        ("tdo_transformer", "50000", 67),
        ("tdo_encoder_decoder_deep", "64000", 121),
        ("tdo_prefix_decoder_only_deep", "64000", 108),
        ("tdo_transformer_deep", "64000", 113),
        ("tdo_encoder_decoder_wide", "64000", 242),
        ("tdo_prefix_decoder_only_wide", "64000", 217),
        ("tdo_transformer_wide", "64000", 234),
    ],
)
def test_the_papers_sizes(shown, arch, vocabulary, millions):
    description = shown(arch, vocabulary=vocabulary)
    assert list(description) == KEYS
    assert abs(description["total_parameters"] / 1e6 - millions) < 1
    assert sum(description["parameters"].values()) == description["total_parameters"]


@pytest.mark.parametrize("arch", PRESETS)
def test_every_preset_as_a_table(arch, capsys):
    text, _ = told(capsys, "describe", "--arch", arch, "--vocab-size", "64000")
    assert text.startswith(arch + "\n")
    for word in ("topology", "layers", "embeddings", "total", "training", "generation (beam 4)"):
        assert word in text


def test_what_is_not_the_usual_choice_has_a_row(capsys):
    words = ("describe", "--arch", "tdo_encoder_decoder_small", "--vocab-size", "100")
    chosen = ("--tdo-decoder-attention", "merged", "--tdo-init", "depth-scaled")
    for flags, rows in ((chosen, ["merged", "depth-scaled"]), ((), [])):
        lines = told(capsys, *words, *flags)[0].splitlines()
        named = [line for line in lines if line.strip().startswith(CHOICES)]
        assert [line.split()[-1] for line in named] == rows


def test_merged_attention_saves_half_of_the_matrices(shown):
    """Four of d x d with biases in each decoder layer, and a norm."""
    separate = shown("tdo_encoder_decoder")
    merged = shown("tdo_encoder_decoder", "--tdo-decoder-attention", "merged")
    saved = 6 * (4 * (512 * 512 + 512) + 2 * 512)
    assert separate["total_parameters"] - merged["total_parameters"] == saved
    assert merged["flops"]["generation"]["total"] < separate["flops"]["generation"]["total"]


def test_flags_of_the_model_count(shown):
    plain = shown("tdo_transformer")
    changed = shown(
        "tdo_transformer",
        *("--tdo-layers", "8", "--tdo-target-layer", "3", "--tdo-stage1-ffn-dim", "100"),
        *("--tdo-share-embeddings", "decoder", "--target-vocab-size", "9000"),
        *("--tdo-position-embedding", "learned", "--max-target-positions", "50"),
        *("--tdo-freeze-embeddings", "--tdo-adaptation-dim=0", "--tdo-norm", "pre"),
    )
    assert changed["model"]["num_layers"] == 8
    attention_and_norms = 4 * (512 * 512 + 512) + 4 * 512
    stage1 = 3 * (attention_and_norms + 2 * 512 * 100 + 100 + 512)
    assert changed["parameters"] == {
        "embeddings": (64000 + 9000) * 512,
        "positions": (1024 + 2 + 50 + 2) * 512,
        "stage1_layers": stage1,
        "stage2_layers": plain["parameters"]["stage2_layers"] * 5 // 6,
        "final_norms": 2 * 2 * 512,
        **dict.fromkeys(("adaptation", "adapters", "lalt", "tpdm", "other"), 0),
    }
    assert changed["frozen_parameters"] == (64000 + 9000) * 512
    assert changed["instrucl_layer"] is None
    assert changed["flops"]["instrucl"] is None


def test_tpdm_costs_four_matrices_of_which_decoding_takes_two(shown):
    """Table 8 of the TPDM paper, with the dictionary that its counts come to."""
    flags = ("--tdo-share-embeddings", "decoder")
    plain, more = (
        shown("tdo_encoder_decoder", *flags, *layer, vocabulary="49320")
        for layer in ((), ("--tdo-tpdm-layer", "4"))
    )
    assert (plain["total_parameters"], more["total_parameters"]) == (94_642_176, 95_695_872)
    assert more["parameters"]["tpdm"] == 4 * (512 * 512 + 512) + 3 * 2 * 512
    assert more["flops"]["generation"]["tpdm"] == 30 * 2 * 2 * 512 * 512
    for kind, count in plain["flops"]["generation"].items():
        if kind not in ("tpdm", "total"):
            assert more["flops"]["generation"][kind] == count


def test_a_language_costs_a_matrix_and_two_rows_a_norm(shown):
    """Zhang et al., 2020, section 4: footnote 6, and equation 4 in all norms."""
    for arch, norms in (("tdo_transformer", 24), ("tdo_encoder_decoder_deep", 12 * 5 + 2)):
        flags = ("--tdo-laln", "both", "--tdo-lalt", "identity", "--num-languages")
        counts = [shown(arch, *flags, number) for number in ("100", "101")]
        before, after = (count["total_parameters"] for count in counts)
        assert after - before == 512 * 512 + 2 * 512 * norms
        assert counts[0]["parameters"]["lalt"] == 100 * 512 * 512
        assert counts[0]["flops"]["generation"]["lalt"] == 30 * 2 * 512 * 512
        plain = shown(arch)["total_parameters"]
        assert before - plain == 100 * 512 * 512 + 99 * 2 * 512 * norms


# Tables 1 and 2 of Xie et al. (2021), in millions: entries, and flags of each row
MANY, ONE = ("40100", "8", "4"), ("90400", "12", "12")
INDIVIDUAL = (("27700", "1", "1"), ("35300", "1", "1"))
TARGETS, ADAPTERS = ("--tdo-target-attention", "all"), ("--tdo-adapter-dim", "128")
XIE = [
    (64.69, MANY, ()),
    (121.42, MANY, TARGETS),
    (77.43, MANY, ADAPTERS),
    (58.3, INDIVIDUAL[0], ()),
    (90.42, ONE, ()),
    (109.54, ONE, ADAPTERS),
    (102.14, ONE, ("--tdo-ffn-dim", "3000")),
    (62.23, INDIVIDUAL[1], ()),
]


@pytest.mark.parametrize(("millions", "sizes", "flags"), XIE, ids=lambda value: str(value))
def test_the_counts_of_neuron_allocation(shown, millions, sizes, flags):
    """The vocabularies are those that the plain rows' counts come to, which the paper lacks."""
    vocabulary, pairs, languages = sizes
    numbers = ("--num-pairs", pairs, "--num-languages", languages)
    count = shown("tdo_encoder_decoder", *flags, *numbers, vocabulary=vocabulary)
    assert count["total_parameters"] / 1e6 == pytest.approx(millions, abs=0.03)


def test_what_target_attention_and_adapters_add(shown):
    """One-to-many +TS, 273.77 million in table 2, fits no number of copies of all attentions.

    Eleven more target languages would add 208 million; the paper's row has 183.
    """
    plain = shown("tdo_encoder_decoder")
    block = 4 * (512 * 512 + 512)
    for which, attentions in (("all", 18), ("cross", 6)):
        flags = ("--tdo-target-attention", which, "--num-languages", "4")
        more = shown("tdo_encoder_decoder", *flags)
        assert more["total_parameters"] - plain["total_parameters"] == 3 * attentions * block
        assert more["flops"] == plain["flops"]
    more = shown("tdo_encoder_decoder", *ADAPTERS, "--num-pairs", "8")
    assert more["parameters"]["adapters"] == 132_736 * 12 * 8
    assert more["total_parameters"] - plain["total_parameters"] == 132_736 * 12 * 8
    for kind, count in plain["flops"]["generation"].items():
        added = {"adapters": (30 + 4 * 30) * 6 * 4 * 512 * 128}
        added["total"] = added["adapters"]
        assert more["flops"]["generation"][kind] - count == added.get(kind, 0)


def test_lengths_beam_and_layer(shown):
    short = shown("tdo_transformer")["flops"]
    assert short["generation"]["vocabulary"] == 4 * 30 * 2 * 512 * 64000
    assert short["training"]["vocabulary"] == 3 * 30 * 2 * 512 * 64000
    flags = ("--source-length", "11", "--target-length", "7", "--beam", "2")
    long = shown("tdo_transformer", *flags, "--instrucl-layer", "2")
    assert long["flops"]["generation"]["vocabulary"] == 2 * 7 * 2 * 512 * 64000
    assert long["instrucl_layer"] == 2
    one_layer = 8 * 512**2 + 4 * 512 * 2048  # identity source: tag and target
    keys_values, at_tag = 4 * 512**2, 4 * 512**2 + 4 * 512 * 2048  # of the second layer
    assert long["flops"]["instrucl"]["layers"] == 3 * (8 * one_layer + 8 * keys_values + at_tag)


def test_source_reconstruction(shown):
    """TLM's: the last layer's rest of a causal or prefix model, and the projection."""
    flags = ("--source-length", "11", "--target-length", "7")
    added = shown("tdo_prefix_decoder_only", *flags)["flops"]["reconstruction"]
    assert added["layers"] == 3 * 11 * (4 * 512**2 + 4 * 512 * 2048)
    assert added["vocabulary"] == 3 * 10 * 2 * 512 * 64000
    assert shown("tdo_encoder_decoder", *flags)["flops"]["reconstruction"]["layers"] == 0


def test_default_layer_of_instrucl(shown):
    layers = {"tdo_transformer": 9, "tdo_encoder_decoder": 6, "tdo_transformer_deep": 18}
    for arch, layer in layers.items():
        assert shown(arch)["instrucl_layer"] == layer


def test_what_is_refused(refused):
    refused.rows(
        """
        describe --arch tdo_transformer --vocab-size 100
            --arch tdo_transfomer         :: tdo_transformer?
            --arch zzz                    :: --arch
            --vocab-size -5               :: --vocab-size
            --beam 0                      :: --beam
            --target-length 0             :: --target-length
            --tdo-layers 1000000000       :: --tdo-layers
            --tdo-model-dim 1000000000    :: --tdo-model-dim
            --num-pairs 1000000           :: --num-pairs
            --tdo-target-layer 12         :: --tdo-target-layer
            --target-vocab-size 50        :: --tdo-share-embeddings
            --instrucl-layer 13           :: --instrucl-layer
            --instrucl-layer 0            :: --instrucl-layer
            --instrucl-layer 3 --tdo-share-embeddings none  :: --tdo-share-embeddings
            --tdo-target-attention all    :: --num-languages
            --tdo-width 3                 :: --tdo-width
        """
    )
