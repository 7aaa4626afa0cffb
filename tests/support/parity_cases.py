"""The models and numbers that the parity tests run through, and the languages of sentences."""

from dataclasses import replace

import torch
from support.built_models import PAD, in_double_precision
from support.covering import pairwise

from tdo_plugin.models.languages import grown
from tdo_plugin.modules.builder import Builder
from tdo_plugin.modules.spec import ModelSpec
from tdo_plugin.modules.token_context import TokenContext

EOS, VOCABULARY = 2, 17
EXACT = {"rtol": 0, "atol": 1e-9}
NUMBERS = {"model_dim": 8, "num_heads": 2, "stage1_ffn_dim": 12, "stage2_ffn_dim": 10}

STYLES = {"source_attention": ("prefix", "causal"), "norm": ("pre", "post")}
DECODER_ONLY = [
    {"topology": "decoder-only", "num_layers": 4, **case}
    for case in pairwise(
        {"target_layer": (0, 1, 2, 3), **STYLES, "adaptation_dim": (0, 6)},
        lambda case: bool(case.get("target_layer")) or not case.get("adaptation_dim"),
    )
]
ENCODER_DECODER = [
    {"topology": "encoder-decoder", "encoder_layers": 2, "decoder_layers": 3, **case}
    for case in pairwise({**STYLES, "adaptation_dim": (0, 6)})
]
TWO_STAGE = {"topology": "decoder-only", "num_layers": 3, "target_layer": 1, "adaptation_dim": 6}
ONE_STAGE = {"topology": "decoder-only", "num_layers": 3, "target_layer": 0}
ENCDEC = {"topology": "encoder-decoder", "encoder_layers": 2, "decoder_layers": 2}
VARIANTS = [
    {**TWO_STAGE, "num_layers": 1, "target_layer": 0, "adaptation_dim": 0},
    {**TWO_STAGE, "positions": "continuous"},
    {**TWO_STAGE, "positions": "continuous", "position_embedding": "learned"},
    {**TWO_STAGE, "position_embedding": "learned"},
    {**TWO_STAGE, "position_embedding": "none", "share_embeddings": "decoder"},
    {**TWO_STAGE, "share_embeddings": "none", "norm": "pre"},
    {**TWO_STAGE, "position_embedding": "rotary"},
    {**TWO_STAGE, "position_embedding": "rotary", "positions": "continuous", "norm": "pre"},
    {
        **{"topology": "decoder-only", "num_layers": 2, "position_embedding": "rotary"},
        **{"laln": "both", "num_languages": 2},
    },
]
SEEING_START = [
    {**case, "source_sees_start": True}
    for case in (
        TWO_STAGE,
        {**TWO_STAGE, "source_attention": "causal", "norm": "pre"},
        {**TWO_STAGE, "num_layers": 4, "norm": "pre"},
        {
            **{**ONE_STAGE, "source_attention": "causal"},
            **{"positions": "continuous", "position_embedding": "learned"},
        },
        {**ONE_STAGE, "share_embeddings": "decoder"},
        {
            **{**TWO_STAGE, "position_embedding": "rotary", "positions": "continuous"},
            **{"laln": "source", "lalt": "xavier", "ffn_experts": "target", "num_languages": 3},
        },
        {**TWO_STAGE, "tpdm_layer": 2, "laln": "target", "num_languages": 2},
        {**TWO_STAGE, "cut_residual": 2, "num_layers": 4},
    )
]
LANGUAGE_AWARE = [
    {**case.pop("layers"), **case, "num_languages": 3}
    for case in pairwise(
        {
            "layers": (
                {**TWO_STAGE, "num_layers": 4, "target_layer": 2, "lalt": "xavier"},
                {**ONE_STAGE, "lalt": "none"},
                {**ENCDEC, "lalt": "xavier"},
            ),
            "laln": ("source", "target", "both"),
            "norm": ("pre", "post"),
        }
    )
] + [
    {**TWO_STAGE, "lalt": "xavier", "num_languages": 2},
    {**TWO_STAGE, "ffn_experts": "target", "norm": "pre", "num_languages": 2},
    {**ENCDEC, "ffn_experts": "target", "laln": "both", "num_languages": 3},
]
MERGED = [case for case in ENCODER_DECODER if case["source_attention"] == "prefix"] + [
    {
        **{"topology": "encoder-decoder", "encoder_layers": 1, "decoder_layers": 2},
        **{"position_embedding": "learned", "positions": "continuous", "share_embeddings": "none"},
    }
]
MERGED += [
    case
    for case in LANGUAGE_AWARE
    if case["topology"] == "encoder-decoder" and case.get("laln") in ("target", "both")
]
MERGED = [{**case, "decoder_attention": "merged"} for case in MERGED]
TOPOLOGIES = [
    ENCDEC,
    {**TWO_STAGE, "target_layer": 2},
    {"topology": "decoder-only", "num_layers": 3, "target_layer": 1, "source_attention": "causal"},
    ONE_STAGE,
]
NORMS = {"laln": "both", "lalt": "xavier"}
TARGETS = {"target_attention": "all", "num_languages": 4}
ADAPTERS = {"adapter_dim": 5, "num_pairs": 4}
WAYS = [
    {**topology, "norm": norm}
    for topology in (*TOPOLOGIES, {**ENCDEC, "decoder_attention": "merged"})
    for norm in ("pre", "post")
]
OWN_PARTS = [
    {**way, **parts} for way in WAYS for parts in (TARGETS, ADAPTERS, {**TARGETS, **ADAPTERS})
]
OWN_PARTS += [
    {**ENCDEC, **TARGETS, "target_attention": "cross"},
    {**ENCDEC, **TARGETS, "decoder_attention": "merged", "target_attention": "cross"},
    {**ENCDEC, **TARGETS, **ADAPTERS, **NORMS},
    {**TOPOLOGIES[1], **TARGETS, **ADAPTERS, "laln": "source", "tpdm_layer": 2},
]
STACKS = [TWO_STAGE, MERGED[0], DECODER_ONLY[0], ENCODER_DECODER[0]]
CACHES = STACKS[:2]  # one of each kind
CUT, GATED = {"cut_residual": 2}, {"tpdm_layer": 2, "tpdm_gate": "relaxed-bernoulli"}
DISENTANGLED = [
    {**topology, "norm": norm, **parts}
    for number, topology in enumerate(TOPOLOGIES)
    for norm, parts in zip(("pre", "post"), (CUT, GATED)[:: (-1) ** number], strict=True)
]
DISENTANGLED += [
    {**TOPOLOGIES[0], "cut_residual": 1, "tpdm_layer": 1, "position_embedding": "none"},
    {**TOPOLOGIES[1], "cut_residual": 2, "tpdm_layer": 1, "position_embedding": "learned"},
] + [
    {**topology, "tpdm_layer": 2, "laln": laln, "num_languages": 3}
    for topology, laln in zip(TOPOLOGIES, ("both", "source", "target", "source"), strict=True)
]
CASES = DECODER_ONLY + ENCODER_DECODER + VARIANTS + LANGUAGE_AWARE + MERGED + DISENTANGLED
CASES += SEEING_START


def name_of(case):
    """A test's name for a model, or for an option beside it."""
    if not isinstance(case, dict):
        return str(case)
    short = {"decoder-only": "dec", "encoder-decoder": "encdec"}
    named = {"cut_residual": "cut", "tpdm_layer": "tpdm", "source_sees_start": "start"}
    return "-".join(
        named.get(key, "") + str(short.get(value, value)) for key, value in case.items()
    )


def build(builder=Builder, seed=1, **case):
    """A float64 model as it starts, made by a :class:`Builder` or one of its kind."""
    torch.manual_seed(seed)
    with in_double_precision():
        spec = ModelSpec(**{**NUMBERS, **case})
        return builder(spec, PAD).build(VOCABULARY, VOCABULARY).eval()


def grown_from(plain, **case):
    """A model with more parts, as it starts from the parameters of a checkpoint without them."""
    model = build(**case)
    state = {f"core.{name}": tensor for name, tensor in plain.state_dict().items()}
    more = grown(state, model, None)
    model.load_state_dict({name.removeprefix("core."): tensor for name, tensor in more.items()})
    return model


def gradients(loss, model):
    """Of all parameters by name; zero where a loss does not depend on one."""
    names, parameters = zip(*model.named_parameters(), strict=True)
    options = {"retain_graph": True, "allow_unused": True, "materialize_grads": True}
    return dict(zip(names, torch.autograd.grad(loss, parameters, **options), strict=True))


def languages_of(tokens, count):
    """Language (B,) of each sentence, from 0, told by its first real token, as by a tag."""
    first = tokens.ne(PAD).int().argmax(1)
    return tokens.gather(1, first[:, None])[:, 0] % count


def tell_languages(model):
    """Sources of a model that asks for it are in the language that their first token tells."""
    count = model.spec.num_languages or model.spec.num_pairs
    encode_all, forward = model.encode_all, model.forward
    if not count:
        return model

    def with_context(requests):
        rows = [languages_of(request.tokens, count) for request in requests]
        return [
            replace(request, context=replace(TokenContext.of_targets(row), pair=row))
            for request, row in zip(requests, rows, strict=True)
        ]

    model.encode_all = lambda requests: encode_all(with_context(requests))
    model.forward = lambda requests, previous: forward(with_context(requests), previous)
    return model


def padding_first(rows):
    """The same rows, padded on the left."""
    return torch.stack([torch.cat([row[row == PAD], row[row != PAD]]) for row in rows])
