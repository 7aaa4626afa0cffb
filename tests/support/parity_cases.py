"""The models and numbers that the parity tests run through."""

import torch
from support.covering import pairwise

PAD, EOS, VOCABULARY = 1, 2, 17
NUMBERS = {"model_dim": 8, "num_heads": 2, "stage1_ffn_dim": 12, "stage2_ffn_dim": 10}

DECODER_ONLY = [
    {"topology": "decoder-only", "num_layers": 4, **case}
    for case in pairwise(
        {
            "target_layer": (0, 1, 2, 3),
            "source_attention": ("prefix", "causal"),
            "norm": ("pre", "post"),
            "adaptation_dim": (0, 6),
        },
        lambda case: bool(case.get("target_layer")) or not case.get("adaptation_dim"),
    )
]
ENCODER_DECODER = [
    {"topology": "encoder-decoder", "encoder_layers": 2, "decoder_layers": 3, **case}
    for case in pairwise(
        {
            "source_attention": ("prefix", "causal"),
            "norm": ("pre", "post"),
            "adaptation_dim": (0, 6),
        }
    )
]
TWO_STAGE = {"topology": "decoder-only", "num_layers": 3, "target_layer": 1, "adaptation_dim": 6}
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
        "topology": "decoder-only",
        "num_layers": 2,
        "position_embedding": "rotary",
        "laln": "both",
        "num_languages": 2,
    },
]
SEEING_START = [
    {**TWO_STAGE, "source_sees_start": True},
    {**TWO_STAGE, "source_sees_start": True, "source_attention": "causal", "norm": "pre"},
    {**TWO_STAGE, "source_sees_start": True, "num_layers": 4, "norm": "pre"},
    {
        **{"topology": "decoder-only", "num_layers": 3, "target_layer": 0},
        **{"source_sees_start": True, "source_attention": "causal"},
        **{"positions": "continuous", "position_embedding": "learned"},
    },
    {
        **{"topology": "decoder-only", "num_layers": 3, "target_layer": 0},
        **{"source_sees_start": True, "share_embeddings": "decoder"},
    },
    {
        **{**TWO_STAGE, "source_sees_start": True, "num_languages": 3},
        **{"position_embedding": "rotary", "positions": "continuous"},
        **{"laln": "source", "lalt": "xavier", "ffn_experts": "target"},
    },
    {**TWO_STAGE, "source_sees_start": True, "tpdm_layer": 2, "laln": "target", "num_languages": 2},
    {**TWO_STAGE, "source_sees_start": True, "cut_residual": 2, "num_layers": 4},
]
LANGUAGE_AWARE = [
    {**case.pop("layers"), **case, "num_languages": 3}
    for case in pairwise(
        {
            "layers": (
                {
                    **{"topology": "decoder-only", "num_layers": 4, "target_layer": 2},
                    **{"adaptation_dim": 6, "lalt": "xavier"},
                },
                {"topology": "decoder-only", "num_layers": 3, "target_layer": 0, "lalt": "none"},
                {
                    **{"topology": "encoder-decoder", "encoder_layers": 2, "decoder_layers": 2},
                    "lalt": "xavier",
                },
            ),
            "laln": ("source", "target", "both"),
            "norm": ("pre", "post"),
        }
    )
] + [
    {**TWO_STAGE, "lalt": "xavier", "num_languages": 2},
    {**TWO_STAGE, "ffn_experts": "target", "norm": "pre", "num_languages": 2},
    {
        **{"topology": "encoder-decoder", "encoder_layers": 2, "decoder_layers": 2},
        **{"ffn_experts": "target", "laln": "both", "num_languages": 3},
    },
]
MERGED = [
    {**case, "decoder_attention": "merged"}
    for case in ENCODER_DECODER
    if case["source_attention"] == "prefix"
] + [
    {
        "topology": "encoder-decoder",
        "encoder_layers": 1,
        "decoder_layers": 2,
        "decoder_attention": "merged",
        "position_embedding": "learned",
        "positions": "continuous",
        "share_embeddings": "none",
    }
]
MERGED += [
    {**case, "decoder_attention": "merged"}
    for case in LANGUAGE_AWARE
    if case["topology"] == "encoder-decoder" and case.get("laln") in ("target", "both")
]
TOPOLOGIES = [
    {"topology": "encoder-decoder", "encoder_layers": 2, "decoder_layers": 2},
    {"topology": "decoder-only", "num_layers": 3, "target_layer": 2, "adaptation_dim": 6},
    {"topology": "decoder-only", "num_layers": 3, "target_layer": 1, "source_attention": "causal"},
    {"topology": "decoder-only", "num_layers": 3, "target_layer": 0},
]
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
# what losses alone read
UNREAD = ("pre_ffn.positional.", "pre_ffn.gate.")


def name_of(case):
    """A test's name for a model, or for an option beside it."""
    if not isinstance(case, dict):
        return str(case)
    short = {"decoder-only": "dec", "encoder-decoder": "encdec"}
    named = {"cut_residual": "cut", "tpdm_layer": "tpdm", "source_sees_start": "start"}
    return "-".join(
        named.get(key, "") + str(short.get(value, value)) for key, value in case.items()
    )


def padding_first(rows):
    """The same rows, padded on the left."""
    return torch.stack([torch.cat([row[row == PAD], row[row != PAD]]) for row in rows])
