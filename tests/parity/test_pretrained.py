"""Whole pre-trained models, taken over, are the same function in double precision."""

import pytest
import torch
from fairseq.sequence_generator import SequenceGenerator
from support.built_models import padded
from support.pretrained import (
    NLLB_CODES,
    PAD,
    convert,
    folder,
    loaded,
    original_model,
    pieces,
    that_ends_sooner,
)
from support.searching import readable

from tdo_plugin.models.forced_tag import FreeTagGenerator

FAMILIES = ("m2m100", "nllb")
EOS = 2
LONGEST = 9  # target, with its tag


@pytest.fixture(scope="module", params=FAMILIES)
def both(request, tmp_path_factory):
    """(the original, its tags, the converted model, its dictionary)."""
    return pair_of(request.param, folder(request.param), tmp_path_factory.mktemp("converted"))


def pair_of(family, path, out):
    """Likewise, of an original in a folder."""
    convert(path, out / "whole", family=family, to="tdo_encoder_decoder")
    original, tokenizer = original_model(family, path)
    tags = [tag_of(tokenizer, language) for language in ("en", "fr")]
    return original, tags, *loaded(out / "whole")


def sentences(rows: int, longest: int, first: int, seed: int):
    """Random pieces behind one tag, and the end: (rows, tokens) as lists of different lengths."""
    drawn = torch.Generator().manual_seed(seed)
    return [
        [
            first,
            *torch.randint(4, 4 + len(pieces()), (number % longest,), generator=drawn).tolist(),
            EOS,
        ]
        for number in range(1, rows + 1)
    ]


def tag_of(tokenizer, language):
    """The row of a language's tag, by the tokenizer's own name for it."""
    table = getattr(tokenizer, "lang_token_to_id", None)
    if table is not None:
        return table[f"__{language}__"]
    return tokenizer.convert_tokens_to_ids(NLLB_CODES[language])


def test_every_logit_is_the_originals(both):
    original, (english, french), model, dictionary = both
    source = sentences(9, 6, english, 1)
    target = [[EOS, *sentence[:-1]] for sentence in sentences(9, 7, french, 2)]
    previous = padded(target, left=False)
    ids, real = padded(source, left=False), previous.ne(PAD)
    with torch.no_grad():
        expected = original(
            input_ids=ids,
            attention_mask=ids.ne(PAD),
            decoder_input_ids=previous,
            decoder_attention_mask=real,
        ).logits
        for left in (True, False):
            logits, _ = model(padded(source, left), prev_output_tokens=previous)
            assert logits.shape == (9, previous.shape[1], len(dictionary))
            torch.testing.assert_close(logits[real], expected[real], rtol=0, atol=1e-10)


def searched(model, dictionary, source, tag, beam, kind=SequenceGenerator):
    """Tokens and scores of all hypotheses, of each sentence."""
    search = kind([model], dictionary, beam_size=beam, max_len_b=LONGEST - 1)
    tokens = padded(source, left=True)
    sample = {"net_input": {"src_tokens": tokens, "src_lengths": tokens.ne(PAD).sum(1)}}
    with torch.no_grad():
        ranked = search.generate([model], sample, prefix_tokens=torch.full((len(source), 1), tag))
    return readable(ranked)


def test_its_own_greedy_search_says_the_same(both):
    """The two libraries' beam searches end differently, but one beam leaves no choice."""
    original, (english, french), model, dictionary = both
    source = sentences(12, 6, english, 3)
    ids = padded(source, left=False)
    expected = original.generate(
        input_ids=ids,
        attention_mask=ids.ne(PAD),
        forced_bos_token_id=french,
        forced_eos_token_id=EOS,
        num_beams=1,
        max_length=LONGEST + 1,
        do_sample=False,
        suppress_tokens=[PAD],  # which fairseq never predicts
    )
    ranked = searched(model, dictionary, source, french, 1)
    for row, ((tokens, _),) in zip(expected.tolist(), ranked, strict=True):
        assert tokens == row[1 : row.index(EOS, 1) + 1]  # behind the symbol that starts it


class _EndsAtTheLimit:
    """The end symbol comes last, with its own probability, as in fairseq.

    ``forced_eos_token_id`` would set that to 1.
    """

    def __call__(self, input_ids, scores):
        if input_ids.size(1) < LONGEST:
            return scores
        ended = torch.full_like(scores, float("-inf"))
        ended[:, EOS] = scores[:, EOS]
        return ended


@pytest.mark.parametrize("family", FAMILIES)
def test_with_a_free_tag_its_own_beam_search_says_the_same(family, tmp_path):
    """All translations with their scores; where the tag counts, many are others."""
    changed = that_ends_sooner(family, tmp_path / "original")
    original, (english, french), model, dictionary = pair_of(family, changed, tmp_path)
    source = sentences(60, 6, english, 3)
    ids, differing, lengths = padded(source, left=False), 0, set()
    for beam in (2, 4):
        expected = original.generate(
            input_ids=ids,
            attention_mask=ids.ne(PAD),
            forced_bos_token_id=french,
            num_beams=beam,
            early_stopping=True,  # as fairseq stops
            max_length=LONGEST + 1,
            do_sample=False,
            suppress_tokens=[PAD],  # which fairseq never predicts
            logits_processor=[_EndsAtTheLimit()],
            return_dict_in_generate=True,
            output_scores=True,
        )
        rows = [row[1 : row.index(EOS, 1) + 1] for row in expected.sequences.tolist()]
        free, usual = (
            [each[0] for each in searched(model, dictionary, source, french, beam, kind)]
            for kind in (FreeTagGenerator, SequenceGenerator)
        )
        assert [tokens for tokens, _ in free] == rows
        assert [score for _, score in free] == pytest.approx(
            expected.sequences_scores.tolist(), abs=1e-5
        )
        differing += sum(tokens != row for (tokens, _), row in zip(usual, rows, strict=True))
        lengths |= set(map(len, rows))
    assert differing > 20 and len(lengths) > 2
