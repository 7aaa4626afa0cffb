"""Source reconstruction against loops written from section 3.1, values and gradients."""

import itertools

import pytest
import torch
from support.covering import one_in
from support.parity_cases import CASES, EOS, EXACT, PAD, VOCABULARY, build, gradients, name_of
from support.reference import Reference

from tdo_plugin.modules.losses.reconstruction_loss import reconstruction_loss, reconstruction_target
from tdo_plugin.modules.source_state import SourceRequest

SMOOTHING = 0.1
KINDS = {"lm": 1, "ae": 0}  # how many tokens later stands what a position predicts
TAGS = torch.tensor([VOCABULARY - 1, VOCABULARY - 2])
TAG = int(TAGS[0])


def smoothed(log_probs, token):
    """fairseq's label smoothing: the rest is shared by all other tokens."""
    others = log_probs.sum() - log_probs[token]
    return -(1 - SMOOTHING) * log_probs[token] - SMOOTHING / (len(log_probs) - 1) * others


def source_logits(model, row):
    """Logits (S, V) of what one source (S,) without padding says of itself."""
    reference = Reference(model)
    _, states = reference.forward(row[None], torch.tensor([[EOS]]))
    if model.spec.topology == "encoder-decoder":
        features = reference.sequence(model.stack.bridge, states[-1])
    else:
        reference.split = 0  # what follows the last layer treats all positions as a target's
        features = reference.sequence(model.stack.output_block, states[-1])
    return (features @ model.embeddings.output_weight.T)[0]


def with_tags(source):
    """The source with other words for the tags within it, and one in front."""
    source = torch.where(torch.isin(source, TAGS), 4, source)
    source[torch.arange(len(source)), source.ne(PAD).int().argmax(1)] = TAGS[0]
    return source


def expected(model, source, kind):
    """Loss and likelihood, sentence by sentence and token by token, of what follows the tag."""
    loss, nll = 0.0, 0.0
    for row in source:
        row = row[row != PAD]
        log_probs = source_logits(model, row).log_softmax(-1)
        for position in range(1, len(row)):
            token, predicted = row[position], log_probs[position - KINDS[kind]]
            loss, nll = loss + smoothed(predicted, token), nll - predicted[token]
    return loss, nll


@pytest.mark.parametrize(("case", "kind"), one_in(5, itertools.product(CASES, KINDS)), ids=name_of)
def test_values_and_gradients(case, kind, make_model, batch):
    model = make_model(**case)
    source, previous = with_tags(batch[0]), batch[1]
    last = model.spec.source_layers
    tokens = reconstruction_target(source, kind, TAGS, PAD)
    # beside a whole target, as in training, and alone
    (beside, *_), _ = model([SourceRequest(source, (last,))], previous)
    alone = model.encode_all([SourceRequest(source, (last,))])[0]
    expected_loss, nll = expected(model, source, kind)
    theirs = gradients(expected_loss, model)
    for state in (beside, alone):
        loss, likelihood = reconstruction_loss(model, state, tokens, SMOOTHING)
        torch.testing.assert_close(loss, expected_loss, **EXACT)
        torch.testing.assert_close(likelihood, nll.detach(), **EXACT)
        torch.testing.assert_close(gradients(loss, model), theirs, **EXACT)


def test_targets():
    """What each position predicts, with padding on either side, and of sources of length zero."""
    source = torch.tensor(
        [
            *([PAD, TAG, 5, EOS], [TAG, 6, EOS, PAD], [PAD] * 4, [PAD, PAD, PAD, TAG]),
            *([PAD, 5, 6, TAG], [5, 6, TAG, PAD], [PAD, 5, 6, EOS]),
        ]
    )
    assert reconstruction_target(source, "lm", TAGS, PAD).tolist() == [
        *([PAD, 5, EOS, PAD], [6, EOS, PAD, PAD], [PAD] * 4, [PAD] * 4),
        *([PAD, 6, PAD, PAD], [6, PAD, PAD, PAD], [PAD, 6, EOS, PAD]),
    ]
    assert reconstruction_target(source, "ae", TAGS, PAD).tolist() == [
        *([PAD, PAD, 5, EOS], [PAD, 6, EOS, PAD], [PAD] * 4, [PAD] * 4),
        *([PAD, 5, 6, PAD], [5, 6, PAD, PAD], [PAD, 5, 6, EOS]),
    ]
    assert reconstruction_target(source, "ae", TAGS[:0], PAD).tolist() == source.tolist()
    for kind in KINDS:
        assert reconstruction_target(source[:, :0], kind, TAGS, PAD).shape == (7, 0)


CAUSAL = {
    "topology": "decoder-only",
    "num_layers": 3,
    "target_layer": 0,
    "source_attention": "causal",
    "positions": "continuous",
}


LAYOUTS = {
    "the tag before the sequence": ([TAG, 5, 4, 7, EOS], [EOS, 6, 8, 5]),
    "f </s> <t> e </t>, figure 2": ([5, 4, 7, EOS], [TAG, 6, 8, 5]),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_the_joint_probability_is_a_language_model_s_of_the_concatenation(norm, layout, make_model):
    """Section 3.1: P(f, e) = P(f) P(e | f), with a triangular mask and shifted outputs."""
    model = make_model(**CAUSAL, norm=norm)
    source, previous = (torch.tensor([side]) for side in LAYOUTS[layout])
    target = torch.tensor([[6, 8, 5, EOS]])
    (state, *_), features = model([SourceRequest(source, (3,))], previous)
    _, of_source = reconstruction_loss(
        model, state, reconstruction_target(source, "lm", TAGS, PAD), SMOOTHING
    )
    _, of_target = model.cross_entropy(features, target, SMOOTHING)
    # one sequence behind its first token; what begins the target is given
    whole = torch.cat([source, previous], 1)
    next_tokens = [*source[0, 1:].tolist(), None, *target[0].tolist()]
    logits = torch.cat(
        [
            source_logits(model, whole[0, :1]),
            Reference(model).forward(whole[:, :1], whole[:, 1:])[0][0],
        ]
    )
    log_probs = logits.log_softmax(-1)
    joint = sum(log_probs[i, token] for i, token in enumerate(next_tokens) if token is not None)
    torch.testing.assert_close(of_source + of_target, -joint.detach(), **EXACT)


@pytest.mark.parametrize("attention", ["causal", "prefix"])
def test_later_tokens_of_the_source(attention, make_model):
    """The triangular form does not leak them; the full one, whose task is trivial, does."""
    model = make_model(**{**CAUSAL, "source_attention": attention})
    source = torch.randint(4, VOCABULARY, (1, 6))
    tokens = reconstruction_target(source, "lm", TAGS[:0], PAD)

    def likelihoods(changed):
        state = model.encode_all([SourceRequest(changed, (3,))])[0]
        values = []
        for place in range(5):
            single_token = torch.full_like(tokens, PAD)
            single_token[0, place] = tokens[0, place]
            values.append(reconstruction_loss(model, state, single_token, 0.0)[1].item())
        return values

    unchanged = likelihoods(source)
    for place in range(1, 6):
        changed = source.clone()
        changed[0, place] = 4 + (int(source[0, place]) - 3) % (VOCABULARY - 4)
        moved = [abs(a - b) > 1e-12 for a, b in zip(unchanged, likelihoods(changed), strict=True)]
        earlier, later = moved[:place], moved[place:]
        assert all(later)
        assert all(earlier) if attention == "prefix" else not any(earlier)


def test_masked_tags_have_no_part():
    model = build(**CAUSAL, masked_tags=3)
    source = torch.tensor([[15, 5, 4, EOS]])
    state = model.encode_all([SourceRequest(source, (3,))])[0]
    loss, _ = reconstruction_loss(
        model, state, reconstruction_target(source, "lm", TAGS, PAD), SMOOTHING
    )
    torch.testing.assert_close(loss, expected(model, source, "lm")[0], **EXACT)
