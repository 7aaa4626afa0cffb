"""The model as fairseq sees it: architectures, options, parameters, and what it refuses to load."""

from argparse import Namespace

import pytest
import torch
from support.data import ENCODER_DECODER, TAG, TASK, TDO, TRAIN, built, iterate, training_arguments

from tdo_plugin.errors import UserError
from tdo_plugin.models.config import TdoConfig, spec_from_args
from tdo_plugin.modules.builder import Builder
from tdo_plugin.modules.source_state import SourceRequest

BASE = ("--task", "tdo_translation", *TASK, *TAG, *TRAIN)


def spec_of(*flags):
    return spec_from_args(training_arguments(*BASE, *flags), num_languages=4, num_pairs=3)


def parameters(arch, vocabulary):
    """In millions, of a model on no device."""
    with torch.device("meta"):
        model = Builder(spec_of("--arch", arch), 1).build(vocabulary, vocabulary)
    return sum(parameter.numel() for parameter in model.parameters()) / 1e6


# Qu et al., tables 1 and 2, in millions; 69.7 is printed as 70 and 67.6 as 67
PRINTED = {
    "tdo_encoder_decoder": {"": 70, "_deep": 121, "_wide": 242},
    "tdo_prefix_decoder_only": {"": 63, "_deep": 108, "_wide": 217},
    "tdo_causal_decoder_only": {"": 63, "_deep": 108, "_wide": 217},
    "tdo_transformer": {"": 67, "_deep": 113, "_wide": 234},
}
ENTRIES = {"": 50_000, "_deep": 64_000, "_wide": 64_000}  # of their vocabularies


@pytest.mark.parametrize("arch", PRINTED)
def test_every_architecture_builds(arch):
    for size, count in PRINTED[arch].items():
        assert parameters(arch + size, ENTRIES[size]) == pytest.approx(count, abs=1), size
    assert parameters(f"{arch}_small", 8_000) < 3


def test_every_option_reaches_the_specification():
    """An option that does nothing would leave the specification as it was."""
    two_stage = """
        --tdo-layers 5; --tdo-target-layer 2; --tdo-source-attention causal; --tdo-model-dim 16;
        --tdo-heads 4; --tdo-ffn-dim 20; --tdo-ffn-experts target; --tdo-stage1-ffn-dim 24;
        --tdo-stage2-ffn-dim 28; --tdo-adaptation-dim 4; --tdo-norm pre; --tdo-init depth-scaled;
        --dropout 0.2; --attention-dropout 0.3; --activation-dropout 0.4; --tdo-laln target;
        --tdo-positions continuous; --tdo-position-embedding learned; --tdo-lalt xavier;
        --tdo-share-embeddings none; --tdo-freeze-embeddings; --tdo-source-sees-start;
        --tdo-target-attention all; --tdo-adapter-dim 6; --tdo-masked-tags 2; --tdo-cut-residual 1;
        --tdo-tpdm-layer 2; --tdo-neuron-masks FILE"""
    others = (
        (TDO, two_stage),
        (
            (*TDO, *ENCODER_DECODER),
            "--tdo-encoder-layers 3; --tdo-decoder-layers 4; --tdo-decoder-attention merged",
        ),
        ((*TDO, "--tdo-tpdm-layer", "1"), "--tdo-tpdm-gate relaxed-bernoulli"),
        ((*TDO, "--tdo-neuron-masks", "FILE"), "--tdo-zero-shot-neurons general"),
    )
    # tests/commands/test_sharding.py has --checkpoint-activations
    described = {"_name", "tdo_topology", "checkpoint_activations"}
    for base, changes in others:
        plain = spec_of(*base)
        for flags in changes.split(";"):
            assert spec_of(*base, *flags.split()) != plain, flags
            described.add(flags.split()[0][2:].replace("-", "_"))
    assert described == {*TdoConfig.__dataclass_fields__}


def test_limits_are_the_task_s():
    flags = ("--max-source-positions", "33", "--max-target-positions", "44")
    _, model, _ = built(*BASE, *TDO, *flags)
    assert model.max_positions() == (33, 44)
    assert model.max_decoder_positions() == 44


def test_parameters_are_registered_once():
    _, model, _ = built(*BASE, *TDO)
    names = [name for name, _ in model.named_parameters(remove_duplicate=False)]
    assert all(name.startswith("core.") for name in names)
    assert len(names) == len(set(names)) == len(list(model.parameters()))
    assert set(model.state_dict()) == set(names)


def test_extras_do_not_change_the_logits():
    task, model, _ = built(*BASE, *TDO)
    model.double().eval()
    net_input = iterate(task, "train")[0]["net_input"]
    plain, extra = model(**net_input)
    assert not extra["source"].layer_outputs
    side = SourceRequest(net_input["src_tokens"], (2,), source_kv=False)
    with_extras, extra = model(**net_input, source_layer_outputs=(1, 3), side_sources=[side])
    torch.testing.assert_close(plain, with_extras, rtol=0, atol=1e-12)
    assert sorted(extra["source"].layer_outputs) == [1, 3]
    expected = model.core.encode(net_input["src_tokens"], (2,)).layer_outputs[2]
    torch.testing.assert_close(
        extra["side_sources"][0].layer_outputs[2], expected, rtol=0, atol=1e-12
    )
    languages = ("src_lang_id", "tgt_lang_id")
    tokens = {key: value for key, value in net_input.items() if key not in languages}
    features, _ = model.extract_features(**tokens)
    torch.testing.assert_close(model.decoder.output_layer(features), plain, rtol=0, atol=1e-12)


def test_probabilities_are_at_least_single_precision():
    _, model, _ = built(*BASE, *TDO)
    logits = torch.randn(2, 3, 35)
    for dtype, expected in ((torch.float16, torch.float32), (torch.float64, torch.float64)):
        log_probs = model.get_normalized_probs((logits.to(dtype), None), log_probs=True)
        probs = model.get_normalized_probs((logits.to(dtype), None), log_probs=False)
        assert log_probs.dtype == probs.dtype == expected
        torch.testing.assert_close(log_probs.exp(), probs)
        torch.testing.assert_close(probs.sum(-1), torch.ones(2, 3, dtype=expected))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_half_precision_is_near_single(dtype):
    task, model, criterion = built(*BASE, *TDO, "--dropout", "0")
    batch = iterate(task, "train")[0]
    expected = criterion(model, batch)[0].detach()
    loss, _, _ = criterion(model.to(dtype), batch)
    loss.backward()
    assert loss.item() == pytest.approx(expected.item(), rel=0.02)
    assert all(torch.isfinite(parameter.grad).all() for parameter in model.parameters())


# --- loading ---------------------------------------------------------------------------------


def test_other_checkpoints_are_refused(refused):
    _, model, _ = built(*BASE, *TDO)
    state = model.state_dict()
    for flags in (
        ("--tdo-layers", "4"),
        ("--tdo-ffn-dim", "16"),
        ("--tdo-adaptation-dim", "0"),
        ("--tdo-norm", "pre"),
        ENCODER_DECODER,
        (*ENCODER_DECODER, "--tdo-decoder-attention", "merged"),
        ("--tdo-share-embeddings", "none"),
    ):
        _, different, _ = built(*BASE, *TDO, *flags)
        with refused.raised(" ".join(flags), names="architecture"):
            different.load_state_dict(state)
    name = "core.embeddings.source.weight"
    with refused.raised("a word more", names="dictionary"):
        model.load_state_dict({**state, name: torch.cat([state[name], state[name][:1]])})


def inference(model, **generation):
    """Two decodings of the same batch after fairseq prepared the model for it."""
    model.eval()
    model.prepare_for_inference_(
        Namespace(generation=Namespace(**generation), common=Namespace(bf16=False))
    )
    tokens = torch.tensor([[4, 5, 6, 2]])
    return [model(tokens, None, tokens)[0] for _ in range(2)]


def test_dropout_is_off_in_inference_unless_retained():
    dropout = ("--dropout", "0.5", "--attention-dropout", "0.5")
    _, model, _ = built(*BASE, *TDO, *dropout)
    assert torch.equal(*inference(model))
    for modules in (None, ["FeedForward"], ["MultiheadAttention"]):
        _, model, _ = built(*BASE, *TDO, *dropout, "--activation-dropout", "0.5")
        pair = inference(model, retain_dropout=True, retain_dropout_modules=modules)
        assert not torch.equal(*pair)
    with pytest.raises(UserError, match=r"with dropout, Adaptation, .* it has NoSuchModule"):
        inference(model, retain_dropout=True, retain_dropout_modules=["NoSuchModule"])
