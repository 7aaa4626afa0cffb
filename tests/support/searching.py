"""A random model, sentences for it, and what fairseq's generator makes of them."""

import pytest
import torch
from fairseq.data import Dictionary
from support.built_models import build, moved, padded
from support.parity_cases import EOS, NUMBERS, PAD, TWO_STAGE

from tdo_plugin.models.tdo_transformer import SourceStream, TargetStream, TdoTransformer

DICTIONARY = Dictionary()
for _number in range(300):
    DICTIONARY.add_symbol(f"w{_number}")


def random_model(case=TWO_STAGE):
    torch.manual_seed(1)
    core = build(len(DICTIONARY), len(DICTIONARY), **{**NUMBERS, **case})
    core = moved(core.double(), 0.3)
    return TdoTransformer(SourceStream(DICTIONARY, core), TargetStream(DICTIONARY, core)).eval()


def random_sample():
    """Twenty sources of 2 to 6 tokens, padded on the left."""
    torch.manual_seed(2)
    words = (torch.randint(4, len(DICTIONARY), (1 + row % 5,)).tolist() for row in range(20))
    tokens = padded([[*row, EOS] for row in words], left=True)
    return {"net_input": {"src_tokens": tokens, "src_lengths": tokens.ne(PAD).sum(1)}}


def assert_same(ours, theirs, close=1e-6):
    """Readable hypotheses are equal; fairseq sums their scores in single precision."""
    for hypotheses, expected in zip(ours, theirs, strict=True):
        assert [tokens for tokens, _ in hypotheses] == [tokens for tokens, _ in expected]
        assert [s for _, s in hypotheses] == pytest.approx([s for _, s in expected], abs=close)


def end_sooner(model):
    """So that sentences end at different steps."""
    with torch.no_grad():
        source = model.core.encode(random_sample()["net_input"]["src_tokens"])
        usual = model.core.decode(torch.full((20, 1), EOS), source).mean((0, 1))
        model.core.embeddings.source.weight[EOS] += 0.32 * usual


def readable(batch):
    """Tokens and scores of every hypothesis."""
    return [
        [(hypothesis["tokens"].tolist(), float(hypothesis["score"])) for hypothesis in ranked]
        for ranked in batch
    ]
