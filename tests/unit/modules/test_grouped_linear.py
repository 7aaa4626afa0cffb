"""Adapters and projections of their own rows, against plain ones a sentence at a time."""

import math

import pytest
import torch
import torch.nn.functional as F
from support.built_models import moved
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from tdo_plugin.modules.language_pairs import LanguagePairs
from tdo_plugin.modules.methods.adapters import PairAdapters
from tdo_plugin.modules.methods.expert_ffn import ExpertLinear
from tdo_plugin.modules.methods.language_transformation import LanguageTransformation
from tdo_plugin.modules.methods.target_attention import TargetProjection, project_for_targets
from tdo_plugin.modules.token_context import TokenContext

# the order of the last, sorted, is not its own inverse
ROWS = [[3], [0, 0, 0], [4, 1, 4, 0, 1], [2, 0, 1, 0, 3]]
EXACT = {"rtol": 0, "atol": 1e-12}


def drawn(part):
    torch.manual_seed(0)
    return moved(part.double())


def sentence_by_sentence(part, x, rows, alone):
    row_parameters = [[parameter[row] for parameter in part.parameters()] for row in rows]
    return torch.stack(
        [alone(sentence, *some) for sentence, some in zip(x, row_parameters, strict=True)]
    )


def adapter(x, gain, bias, down, down_bias, up, up_bias):
    """Bapna and Firat's, of torch's own parts."""
    normed = nn.functional.layer_norm(x, (6,)) * gain + bias
    return x + (normed @ down.T + down_bias).clamp(min=0) @ up.T + up_bias


PARTS = {
    "adapters": (lambda: PairAdapters(5, 6, 4), adapter),
    "projection": (lambda: TargetProjection(5, 6, 8), F.linear),
    "expert": (lambda: ExpertLinear(5, 6, 8), F.linear),
    "transformation": (lambda: LanguageTransformation(5, 6, "xavier"), torch.matmul),
}


def told(rows):
    return TokenContext(target=torch.tensor(rows), pair=torch.tensor(rows))


@pytest.mark.parametrize("rows", ROWS, ids=str)
@pytest.mark.parametrize("name", PARTS)
def test_values_and_gradients(name, rows):
    make, alone = PARTS[name]
    part, languages = drawn(make()), told(rows)
    x = torch.randn(len(rows), 3, 6, dtype=torch.float64, requires_grad=True)
    expected = sentence_by_sentence(part, x, rows, alone)
    weighting, parameters = torch.randn_like(expected), [x, *part.parameters()]
    expected_gradients = torch.autograd.grad((expected * weighting).sum(), parameters)
    for output in (
        part(x, languages[:, None]),
        part(x.flatten(0, 1), languages.repeat_interleave(3)).view_as(expected),
    ):
        torch.testing.assert_close(output, expected, **EXACT)
        gradients = torch.autograd.grad((output * weighting).sum(), parameters)
        torch.testing.assert_close(gradients, expected_gradients, **EXACT)


def test_several_projections_at_once():
    parts = [drawn(TargetProjection(5, 6, width)) for width in (4, 8)]
    x, languages = torch.randn(4, 3, 6).double(), told([2, 0, 2, 1])[:, None]
    expected = [part(x, languages) for part in parts]
    torch.testing.assert_close(project_for_targets(x, languages, *parts), expected, **EXACT)


def test_no_position_is_multiplied_twice():
    x, languages = torch.randn(8, 3, 6), told([row % 5 for row in range(8)])[:, None]
    for name, products in (("adapters", 2 * 4), ("projection", 8), ("transformation", 6)):
        with FlopCounterMode(display=False) as counter:
            PARTS[name][0]()(x, languages)
        assert counter.get_total_flops() == 2 * x.numel() * products


def test_starts():
    x = torch.randn(3, 2, 6)
    adapters, projection = PairAdapters(3, 6, 4), TargetProjection(3, 6, 6, gain=0.5)
    assert torch.equal(adapters(x, told([0, 2, 1])[:, None]), x)
    limit = 0.5 * (6 / 12) ** 0.5
    for weight in (adapters.down_weight, projection.weight):
        assert not torch.equal(weight[0], weight[1])
    assert 0.8 * limit < projection.weight.abs().max() <= limit
    assert not projection.bias.any()
    width, languages = 16, 40
    identity, xavier, authors = (
        LanguageTransformation(languages, width, start).double().weight.detach()
        for start in ("identity", "xavier", "authors")
    )
    assert torch.equal(identity, torch.eye(width).double().expand(languages, -1, -1))
    for weight, limit in (
        (xavier, math.sqrt(6 / (2 * width))),
        (authors, math.sqrt(6 / (languages + width**2))),
    ):
        assert 0.99 * limit < weight.abs().max() <= limit
        assert weight.std() == pytest.approx(limit / math.sqrt(3), rel=0.02)


@pytest.mark.parametrize("name", PARTS)
def test_languages_must_be_told(name):
    other = TokenContext.of_targets(torch.tensor([0, 1])) if name == "adapters" else TokenContext()
    with pytest.raises(ValueError, match="of every sentence"):
        PARTS[name][0]()(torch.randn(2, 3, 6), other)


def test_pairs_are_found_and_go_with_the_state():
    pairs = LanguagePairs(["en", "de", "fr"], ["de-en", "en-fr"])
    sources, targets = torch.tensor([0, 1, 0]), torch.tensor([2, 0, 2])
    assert pairs(sources, targets).tolist() == [1, 0, 1]
    with pytest.raises(LookupError, match="fr-de"):
        pairs(torch.tensor([1, 2]), torch.tensor([0, 1]))
    reordered = LanguagePairs(["en", "de", "fr"], ["en-fr", "de-en"])
    reordered.load_state_dict(pairs.state_dict())
    assert reordered.names() == ["de-en", "en-fr"]
    assert reordered(sources, targets).tolist() == [1, 0, 1]


def test_groups_of_contexts_made_of_others():
    """However a context arises, its counts are those of its own sentences."""
    part = drawn(PairAdapters(5, 6, 4))
    whole, x = told([3, 0, 3, 1]), torch.randn(4, 2, 6).double()
    expected = part(x, whole[:, None])
    places = torch.tensor([2, 3])
    for chosen in (whole.counted()[2:], whole[places], whole.index_select(0, places)):
        torch.testing.assert_close(part(x[2:], chosen[:, None]), expected[2:], **EXACT)
    beside = TokenContext.cat([whole[:, None].flat(4, 2), whole[2:][:, None].flat(2, 2)])
    rows = torch.cat([x.flatten(0, 1), x[2:].flatten(0, 1)])
    wanted = torch.cat([expected.flatten(0, 1), expected[2:].flatten(0, 1)])
    torch.testing.assert_close(part(rows, beside), wanted, **EXACT)


def test_sentences_are_counted_once():
    languages = told([3, 0, 3, 1])
    tokens = TokenContext.cat([languages[:, None].flat(4, 3), languages[:, None].flat(4, 5)])
    assert tokens.counts is languages.counts
    assert tokens.rows("target").counts.sizes(4 * 8) == {0: 8, 1: 8, 3: 16}
