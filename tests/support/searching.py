"""A random model, sentences for it, and what fairseq's generator makes of them."""

import torch
from fairseq.data import Dictionary
from support.built_models import moved
from support.parity_cases import EOS, NUMBERS, PAD, TWO_STAGE

from tdo_plugin.models.tdo_transformer import SourceStream, TargetStream, TdoTransformer
from tdo_plugin.modules.builder import Builder
from tdo_plugin.modules.spec import ModelSpec

DICTIONARY = Dictionary()
for _number in range(300):
    DICTIONARY.add_symbol(f"w{_number}")


def random_model(case=TWO_STAGE):
    torch.manual_seed(1)
    vocabulary = len(DICTIONARY)
    spec = ModelSpec(**{**NUMBERS, **case})
    core = moved(Builder(spec, PAD).build(vocabulary, vocabulary).double(), 0.3)
    return TdoTransformer(SourceStream(DICTIONARY, core), TargetStream(DICTIONARY, core)).eval()


def random_sample():
    """Twenty sources of 2 to 6 tokens, padded on the left."""
    torch.manual_seed(2)
    tokens = torch.full((20, 6), PAD)
    for row in range(len(tokens)):
        length = 2 + row % 5
        words = torch.randint(4, len(DICTIONARY), (length - 1,))
        tokens[row, 6 - length :] = torch.cat([words, torch.tensor([EOS])])
    return {"net_input": {"src_tokens": tokens, "src_lengths": tokens.ne(PAD).sum(1)}}


def readable(batch):
    """Tokens and scores of every hypothesis."""
    return [
        [(hypothesis["tokens"].tolist(), float(hypothesis["score"])) for hypothesis in ranked]
        for ranked in batch
    ]
