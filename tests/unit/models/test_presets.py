"""Every registered name, through fairseq's own training parser on a real command line."""

from argparse import Namespace
from pathlib import Path

import pytest
from fairseq import options
from fairseq.criterions import CRITERION_REGISTRY
from fairseq.models import ARCH_MODEL_REGISTRY, MODEL_REGISTRY
from fairseq.tasks import TASK_REGISTRY

import tdo_plugin
from tdo_plugin.models.config import spec_from_args
from tdo_plugin.models.presets import PRESETS, fill
from tdo_plugin.models.tdo_transformer import TdoTransformer

# half the layers (N), width, heads, inner size, norm, dropout on attention weights
SIZES = {
    "": (6, 512, 8, 2048, "post", 0.0),
    "_deep": (12, 512, 8, 2048, "pre", 0.0),
    "_wide": (6, 1024, 16, 4096, "pre", 0.05),
    "_small": (3, 128, 4, 512, "post", 0.0),
}
SYSTEMS = (
    "tdo_transformer",
    "tdo_prefix_decoder_only",
    "tdo_causal_decoder_only",
    "tdo_encoder_decoder",
)


def parsed(arch, *flags):
    words = ["data", "--user-dir", str(Path(tdo_plugin.__file__).parent)]
    words += ["--task", "tdo_translation", "--lang-pairs", "en-de", "--arch", arch, *flags]
    return options.parse_args_and_arch(options.get_training_parser(), input_args=words)


def ours(registry):
    return {name for name, entry in registry.items() if entry.__module__.startswith("tdo_plugin.")}


def test_no_name_is_forgotten():
    assert list(PRESETS) == [system + size for system in SYSTEMS for size in SIZES]
    assert len(PRESETS) == 16
    assert ours(ARCH_MODEL_REGISTRY) == set(PRESETS)
    assert ours(MODEL_REGISTRY) == {"tdo_transformer"}
    assert ours(TASK_REGISTRY) == {"tdo_translation", "tdo_robt"}
    assert ours(CRITERION_REGISTRY) == {
        "label_smoothed_cross_entropy_terms",
        "label_smoothed_cross_entropy_instrucl",
        "label_smoothed_cross_entropy_tlm",
        "label_smoothed_cross_entropy_tpdm",
    }


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("size", SIZES)
def test_preset(system, size):
    half, width, heads, inner, norm, attention_dropout = SIZES[size]
    assert ARCH_MODEL_REGISTRY[system + size] is TdoTransformer
    spec = spec_from_args(parsed(system + size))
    expected = {
        **{"model_dim": width, "num_heads": heads, "norm": norm, "share_embeddings": "all"},
        **{"stage1_ffn_dim": inner, "stage2_ffn_dim": inner, "adaptation_dim": 0},
        **{"dropout": 0.1, "attention_dropout": attention_dropout},
        **{"positions": "independent", "position_embedding": "sinusoidal"},
        "source_attention": "causal" if "causal" in system else "prefix",
    }
    if system == "tdo_encoder_decoder":
        expected |= {"topology": "encoder-decoder", "encoder_layers": half, "decoder_layers": half}
    else:
        expected |= {"topology": "decoder-only", "num_layers": 2 * half, "target_layer": 0}
    if system == "tdo_transformer":
        expected |= {"target_layer": half, "adaptation_dim": inner}
    assert {name: getattr(spec, name) for name in expected} == expected


# each option gets a value that no preset and no default has
SETTINGS = """
--tdo-model-dim 48 --tdo-heads 3 --tdo-ffn-dim 40 --tdo-ffn-experts target --tdo-stage1-ffn-dim 24
--tdo-adaptation-dim 56 --tdo-init depth-scaled-quarter --tdo-positions continuous
--tdo-position-embedding learned --tdo-share-embeddings none --dropout 0.3 --attention-dropout 0.2
--activation-dropout 0.4 --tdo-laln source --tdo-lalt authors --tdo-target-attention all
--tdo-adapter-dim 6 --tdo-masked-tags 3 --tdo-cut-residual 1 --tdo-tpdm-layer 1
--tdo-tpdm-gate hard-concrete --tdo-neuron-masks FILE --tdo-zero-shot-neurons general
--max-source-positions 77 --max-target-positions 88
"""


@pytest.mark.parametrize("arch", PRESETS)
def test_command_line_overrides(arch):
    layers = "--tdo-layers 7 --tdo-target-layer 2"
    if "encoder" in arch:
        layers = "--tdo-encoder-layers 1 --tdo-decoder-layers 2 --tdo-decoder-attention merged"
    words = [
        *("--tdo-norm", "post" if PRESETS[arch].get("tdo_norm") == "pre" else "pre"),
        *("--tdo-source-attention", "prefix" if "causal" in arch else "causal"),
        *(*SETTINGS.split(), *layers.split()),
    ]
    args = parsed(arch, *words, "--tdo-freeze-embeddings", "--checkpoint-activations")
    for flag, value in zip(words[::2], words[1::2], strict=True):
        assert str(getattr(args, flag[2:].replace("-", "_"))) == value
    spec = spec_from_args(args, num_languages=5, num_pairs=7)
    assert spec.freeze_embeddings and args.checkpoint_activations
    assert spec.init == ("depth-scaled-quarter",)
    assert spec.decoder_attention == ("merged" if "encoder" in arch else "separate")
    assert (spec.laln, spec.lalt, spec.masked_tags) == ("source", "authors", 3)
    assert (spec.cut_residual, spec.tpdm_layer, spec.tpdm_gate) == (1, 1, "hard-concrete")
    assert (spec.neuron_masks, spec.zero_shot_neurons) == ("FILE", "general")
    assert (spec.target_attention, spec.num_languages) == ("all", 5)
    assert (spec.adapter_dim, spec.num_pairs) == (6, 7)
    assert (spec.stage1_ffn_dim, spec.stage2_ffn_dim) == (24, 40)
    assert (spec.max_source_positions, spec.max_target_positions) == (77, 88)


@pytest.mark.parametrize("arch", PRESETS)
def test_a_checkpoints_namespace_is_left_alone(arch):
    """What a checkpoint of another preset says stands, also where it is the default."""
    namespace = Namespace(**vars(parsed("tdo_encoder_decoder_small")))
    before = dict(vars(namespace))
    fill(namespace, PRESETS[arch])
    assert vars(namespace) == before


def test_what_is_refused(refused):
    args = parsed("tdo_transformer", "--tdo-target-layer", "12", "--tdo-heads=7")
    args.dropout = 1.0
    with refused.raised("impossible values are named together", names="--tdo-target-layer"):
        spec_from_args(args)
    for option, value in (  # what only a checkpoint can say
        ("tdo_layers", "2"),
        ("tdo_layers", [2]),
        ("tdo_model_dim", None),
        ("dropout", True),
        ("tdo_init", 3),
        ("tdo_freeze_embeddings", "yes"),
    ):
        args = parsed("tdo_transformer")
        setattr(args, option, value)
        with refused.raised(f"{option}: {value!r}", names=option.replace("_", "-")):
            spec_from_args(args)
