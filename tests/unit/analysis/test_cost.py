"""Parameters against the paper's counts, FLOPs against torch's own counter on real models."""

import dataclasses

import pytest
import torch
from support.covering import one_in
from support.parity_cases import (
    CASES,
    DECODER_ONLY,
    ENCODER_DECODER,
    MERGED,
    NUMBERS,
    PAD,
    SEEING_START,
    TOPOLOGIES,
    VARIANTS,
    VOCABULARY,
    name_of,
    tell_languages,
)
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from tdo_plugin.analysis.cost import PARTS, FlopModel, Flops, count_parameters, outline
from tdo_plugin.modules.builder import Builder
from tdo_plugin.modules.losses.lexical_loss import entry_lexical_nll
from tdo_plugin.modules.losses.tpdm_loss import batch_mean_anchors, log_likelihood, position_loss
from tdo_plugin.modules.methods.position_generator import PositionGenerator
from tdo_plugin.modules.source_state import SourceRequest
from tdo_plugin.modules.spec import ModelSpec

SOURCE, TARGET, BEAM = 5, 7, 3
# the order of the norm changes no matrix product; a first symbol behind sources is not counted
FLOP_CASES = [
    case
    for case in CASES
    if (case.get("norm") != "pre" or case in VARIANTS) and case not in SEEING_START
]
FLOP_CASES += [
    {**topology, **parts}
    for topology in TOPOLOGIES
    for parts in (
        {"adapter_dim": 6, "num_pairs": 3},
        {"target_attention": "all", "num_languages": 3},
    )
]
SOME_CASES = [*DECODER_ONLY[::3], *ENCODER_DECODER[::3], *VARIANTS, *MERGED]


def counted(work):
    """FLOPs of ``work()`` by torch, attention spelled out as matrix products."""
    counter = FlopCounterMode(display=False)
    with torch.no_grad(), sdpa_kernel(SDPBackend.MATH), counter:
        work()
    return counter.get_total_flops()


def tokens(rows, length):
    return torch.randint(4, VOCABULARY, (rows, length))


@pytest.fixture(params=one_in(3, FLOP_CASES, 1), ids=name_of)
def built(request):
    spec = ModelSpec(**{**NUMBERS, **request.param})
    model = tell_languages(Builder(spec, PAD).build(VOCABULARY, VOCABULARY))
    return model.eval(), FlopModel(spec, VOCABULARY)


def hidden_source_pairs(spec, length):
    """Pairs of source positions that a kernel computes and the causal mask then hides."""
    return length * (length - 1) // 2 if spec.source_attention == "causal" else 0


def attending_layers(spec):
    """Layers in which source positions attend, and in which target positions do."""
    if spec.topology == "encoder-decoder":
        return spec.encoder_layers, spec.decoder_layers
    return spec.num_layers - 1, spec.num_layers - spec.target_layer


def test_training_forward(built):
    """Equal but for the pairs that the causal masks hide, which torch's kernels compute."""
    model, flops = built
    spec = model.spec

    def work():
        model.logits(model.decode(tokens(1, TARGET), model.encode(tokens(1, SOURCE))))

    source_layers, target_layers = attending_layers(spec)
    hidden = source_layers * hidden_source_pairs(spec, SOURCE)
    averaged = 0
    if spec.decoder_attention == "merged":  # the mean is a product with the matrix of shares
        averaged = 2 * target_layers * TARGET * TARGET * spec.model_dim
    else:
        hidden += target_layers * TARGET * (TARGET - 1) // 2
    expected = flops.forward(SOURCE, TARGET).total + 4 * spec.model_dim * hidden
    assert counted(work) == expected + averaged


def test_generation_with_shared_source(built):
    model, flops = built
    spec = model.spec

    def work():
        source = model.encode(tokens(1, SOURCE)).reorder(torch.zeros(BEAM, dtype=torch.long))
        cache, target = model.new_cache(BEAM), tokens(BEAM, TARGET)
        for step in range(1, TARGET + 1):
            model.logits(model.decode(target[:, :step], source, cache))

    source_layers, target_layers = attending_layers(spec)
    hidden = source_layers * hidden_source_pairs(spec, SOURCE)
    # every row is masked from what the other rows of its sentence wrote
    if spec.decoder_attention == "separate":
        hidden += target_layers * BEAM * (BEAM - 1) * TARGET * (TARGET + 1) // 2
    expected = flops.generation(SOURCE, TARGET, BEAM).total + 4 * spec.model_dim * hidden
    assert counted(work) == expected


def test_instrucl(built):
    """Every layer: the identity pass, and what asking for the state adds to the source's own."""
    model, flops = built
    spec = model.spec
    identity, source = tokens(1, TARGET + 1), tokens(1, SOURCE)
    plain = counted(lambda: model.encode(source))
    for layer in range(1, spec.source_layers + 1):
        points = [(layer, torch.zeros(1, dtype=torch.long))]
        both = [
            SourceRequest(source, token_states=points),
            SourceRequest(identity, (), points, source_kv=False),
        ]
        work = counted(lambda both=both: model.encode_all(both)) - plain
        hidden = (layer - 1) * hidden_source_pairs(spec, TARGET + 1)
        expected = flops.instrucl(SOURCE, TARGET, layer).total
        assert 3 * (work - 4 * spec.model_dim * hidden) == expected


def test_reconstruction(built):
    """The last layer's rest, what stands behind it, and logits of all tokens but one."""
    model, flops = built
    spec, source = model.spec, tokens(1, SOURCE)
    last = spec.source_layers

    def work():
        state = model.encode(source, layer_outputs=(last,))
        model.logits(model.stack.readout(state.layer_outputs[last], state.context)[:, 1:])

    added = counted(work) - counted(lambda: model.encode(source))
    in_last_layer = spec.topology == "decoder-only"
    hidden = in_last_layer * hidden_source_pairs(spec, SOURCE)
    assert 3 * (added - 4 * spec.model_dim * hidden) == flops.reconstruction(SOURCE).total


def test_lexical(built):
    """The bridge and the logits of each source state, which the backward pass computes again."""
    model, flops = built
    if not model.spec.entry_layer:
        return
    source, target = tokens(1, SOURCE), tokens(1, TARGET)
    layer = model.spec.entry_layer
    state = model.encode(source, layer_outputs=(layer,))
    counter = FlopCounterMode(display=False)
    with counter:
        features = state.layer_outputs[layer].detach().requires_grad_()
        outputs = {**state.layer_outputs, layer: features}
        again = dataclasses.replace(state, layer_outputs=outputs)
        entry_lexical_nll(model, again, target).backward()
    assert counter.get_total_flops() == flops.lexical(SOURCE, TARGET).total


def test_kinds_add_up():
    flops = Flops(1, 2, 3, 4, 5, 6, 7)
    assert 3 * flops == Flops(3, 6, 9, 12, 15, 18, 21)
    assert (flops + flops).total == 56
    kinds = ("layers", "attention", "adaptation", "vocabulary", "lalt", "tpdm", "adapters")
    assert flops.as_dict() == {**{kind: n for n, kind in enumerate(kinds, 1)}, "total": 28}


def test_formula_by_hand():
    """Two layers of width 4, one for the source alone, one joint; V = 10, S = 2, T = 3."""
    stages = {"topology": "decoder-only", "num_layers": 2, "target_layer": 1, "num_heads": 1}
    sizes = {"model_dim": 4, "stage1_ffn_dim": 5, "stage2_ffn_dim": 6, "adaptation_dim": 7}
    forward = FlopModel(ModelSpec(**stages, **sizes), 10).forward(2, 3)
    source_alone = 2 * (8 * 16 + 4 * 4 * 5)
    keys_and_values = 2 * 4 * 16
    target = 3 * (8 * 16 + 4 * 4 * 6)
    assert forward.layers == source_alone + keys_and_values + target
    assert forward.attention == 4 * 4 * (2 * 2) + 4 * 4 * (3 * 2 + 6)
    assert forward.adaptation == (2 + 3) * 4 * 4 * 7
    assert forward.vocabulary == 2 * 3 * 4 * 10


SIZES = {
    "small": (3, 256, 1024, 4, "post", 50_000),
    "base": (6, 512, 2048, 8, "post", 50_000),
    "deep": (12, 512, 2048, 8, "pre", 64_000),
    "wide": (6, 1024, 4096, 16, "pre", 64_000),
}


def paper_spec(size, system, **changed):
    half, width, inner, heads, norm, vocabulary = SIZES[size]
    ffn = {"stage1_ffn_dim": inner, "stage2_ffn_dim": inner}
    numbers = {"model_dim": width, "num_heads": heads, "norm": norm, **ffn}
    if system == "encoder-decoder":
        rows = {"topology": system, "encoder_layers": half, "decoder_layers": half}
    else:
        rows = {"topology": "decoder-only", "num_layers": 2 * half}
        if system == "tdo":
            rows |= {"target_layer": half, "adaptation_dim": inner}
    return ModelSpec(**{**numbers, **rows, **changed}), vocabulary


@pytest.mark.parametrize(
    ("size", "millions"),
    [("base", (70, 63, 67)), ("deep", (121, 108, 113)), ("wide", (242, 217, 234))],
)
def test_parameters_are_the_papers(size, millions):
    """Table 1 of the TDO paper prints whole millions, rounded unevenly."""
    for system, printed in zip(("encoder-decoder", "decoder-only", "tdo"), millions, strict=True):
        spec, vocabulary = paper_spec(size, system)
        count = count_parameters(outline(spec, vocabulary, vocabulary))
        assert abs(count.total / 1e6 - printed) < 1
        assert count.by_part["embeddings"] == vocabulary * spec.model_dim
        assert sum(count.by_part.values()) == count.total
        assert (count.by_part["adaptation"] > 0) == (system == "tdo")
        assert count.by_part["other"] == 0


@pytest.mark.parametrize(
    ("size", "layer", "plain", "with_tpdm"),
    [("base", 4, "94.642", "95.696"), ("small", 2, "30.781", "31.046")],
)
def test_tpdm_has_the_paper_s_parameters(size, layer, plain, with_tpdm):
    """Table 8 of the TPDM paper, in millions; its dictionary has 49,320 entries by these counts."""
    for printed, tpdm_layer in ((plain, 0), (with_tpdm, layer)):
        changed = {"share_embeddings": "decoder", "tpdm_layer": tpdm_layer}
        spec, _ = paper_spec(size, "encoder-decoder", **changed)
        count = count_parameters(outline(spec, 49_320, 49_320))
        assert f"{count.total / 1e6:.3f}" == printed
        assert (count.by_part["tpdm"] > 0) == (tpdm_layer > 0)


@pytest.mark.parametrize("layer", [1, 2])
@pytest.mark.parametrize("gate", ["none", "relaxed-bernoulli"])
def test_what_tpdm_adds_to_training(layer, gate):
    """Positional head and gate forward and backward, the generator's step and the bound."""
    stages = {"topology": "decoder-only", "num_layers": 3, "target_layer": 1}
    spec = ModelSpec(**NUMBERS, **stages, tpdm_layer=layer, tpdm_gate=gate)
    model = Builder(spec, PAD).build(VOCABULARY, VOCABULARY)
    part = model.stack.layers[layer - 1].pre_ffn
    generator = PositionGenerator.of(spec)
    x = torch.randn(1, SOURCE, spec.model_dim, requires_grad=True)
    padding = torch.zeros(1, SOURCE, dtype=torch.bool)

    def work():
        semantic, positional = part.semantic(x), part.positional(x)
        guessed = generator(semantic.detach(), padding)
        likelihood = log_likelihood(guessed, positional.detach(), padding, 0.05)
        torch.autograd.grad(likelihood.sum(), list(generator.parameters()))
        generator.requires_grad_(False)
        likelihood = log_likelihood(generator(semantic, padding), positional, padding, 0.05)
        anchors = batch_mean_anchors(positional, padding)
        total = likelihood.sum() + position_loss(positional, anchors, padding, 0.05).sum()
        if part.gate is not None:
            total = total + part.gate(x).sum()
        total.backward()

    counter = FlopCounterMode(display=False)
    with sdpa_kernel(SDPBackend.MATH), counter:
        work()
    estimated = FlopModel(spec, VOCABULARY).training(SOURCE, TARGET).tpdm
    assert counter.get_total_flops() == estimated


def test_merged_attention_has_half_of_the_matrices():
    """Four of d x d with biases instead of eight, and a norm less, in each decoder layer."""
    counts = {}
    for kind in ("separate", "merged"):
        spec, vocabulary = paper_spec("base", "encoder-decoder", decoder_attention=kind)
        counts[kind] = count_parameters(outline(spec, vocabulary, vocabulary)).by_part
    saved = {part: counts["separate"][part] - counts["merged"][part] for part in PARTS}
    assert saved.pop("stage2_layers") == 6 * (4 * (512 * 512 + 512) + 2 * 512)
    assert not any(saved.values())


@pytest.mark.parametrize("case", one_in(2, SOME_CASES), ids=name_of)
def test_outline_counts_as_the_real_model(case):
    spec = ModelSpec(**{**NUMBERS, **case})
    real = Builder(spec, PAD).build(VOCABULARY, VOCABULARY)
    count = count_parameters(outline(spec, VOCABULARY, VOCABULARY))
    assert count == count_parameters(real)
    assert count.total == sum(parameter.numel() for parameter in real.parameters())
    assert tuple(count.by_part) == PARTS
    assert (count.by_part["positions"] > 0) == (spec.position_embedding == "learned")
    assert (count.by_part["final_norms"] > 0) == (spec.norm == "pre")


def test_stages_with_ffns_of_their_own():
    spec, vocabulary = paper_spec("base", "tdo", stage1_ffn_dim=1024, stage2_ffn_dim=4096)
    count = count_parameters(outline(spec, vocabulary, vocabulary)).by_part
    attention_and_norms = 4 * (512 * 512 + 512) + 4 * 512
    for part, inner in (("stage1_layers", 1024), ("stage2_layers", 4096)):
        assert count[part] == 6 * (attention_and_norms + 2 * 512 * inner + inner + 512)


def test_frozen_and_foreign_parameters():
    spec, _ = paper_spec("base", "tdo", freeze_embeddings=True)
    model = outline(spec, 100, 100)
    count = count_parameters(model)
    assert count.frozen == 100 * 512
    model.stack.output_block.append(nn.Linear(3, 5, device="meta"))
    assert count_parameters(model).by_part["other"] == 3 * 5 + 5
    assert count_parameters(model).trainable == count.trainable + 20
