"""Small models of every topology and sentences for them, as probes read them."""

import torch
from support.built_models import build, padded

from tdo_plugin.modules.token_context import NO_CONTEXT, TokenContext

EOS, TAG = 2, 20
COMMON = {"model_dim": 8, "num_heads": 2, "stage1_ffn_dim": 12, "stage2_ffn_dim": 12}
TOPOLOGIES = {
    "two-stage": {"topology": "decoder-only", "num_layers": 3, "target_layer": 2},
    "prefix": {"topology": "decoder-only", "num_layers": 3, "norm": "pre"},
    "causal": {"topology": "decoder-only", "num_layers": 3, "source_attention": "causal"},
    "encoder-decoder": {"topology": "encoder-decoder", "encoder_layers": 3, "decoder_layers": 1},
    "no positions": {"topology": "decoder-only", "num_layers": 3, "position_embedding": "none"},
    "language-aware": {
        **{"topology": "decoder-only", "num_layers": 3, "target_layer": 1},
        **{"laln": "both", "lalt": "xavier", "num_languages": 2},
    },
}
SENTENCES = ([5, 6, 7, 8], [9], [6, 5, 11])


def core(topology):
    torch.manual_seed(1)
    return build(21, 21, **COMMON, dropout=0.5, **TOPOLOGIES[topology]).double().eval()


def batch(sentences, left, width=0):
    """Tag, sentence, end symbol, padded."""
    return padded([[TAG, *sentence, EOS] for sentence in sentences], left, width)


def languages(model, count):
    rows = torch.tensor([0, 1, 1])[:count]
    return TokenContext.of_targets(rows) if model.spec.language_aware else NO_CONTEXT
