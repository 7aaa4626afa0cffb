"""Incremental decoding with a source shared by beams, against decoding from scratch."""

import pytest
import torch
from support.covering import in_turn, one_in
from support.parity_cases import CACHES, CASES, EOS, EXACT, OWN_PARTS, PAD, name_of, padding_first


@pytest.mark.parametrize(
    ("case", "left", "steps"),
    one_in(3, in_turn(CASES + OWN_PARTS, (False, True), ([1] * 6, [2, 1, 3])), 1),
    ids=name_of,
)
def test_incremental_equals_full(case, steps, left, make_model, batch):
    """Of targets padded on either side, as prefixes of different lengths are on the left."""
    model = make_model(**case)
    source, previous, _ = batch
    previous = padding_first(previous) if left else previous
    state = model.encode(source)
    full = model.decode(previous, state)
    cache, done, pieces = model.new_cache(), 0, []
    with torch.no_grad():
        for width in steps:
            done += width
            pieces.append(model.decode(previous[:, :done], state, cache))
    real = previous.ne(PAD)
    torch.testing.assert_close(torch.cat(pieces, 1)[real], full[real], **EXACT)


def test_reorder_permutes_selects_and_shrinks(make_model, batch):
    model = make_model(topology="decoder-only", num_layers=2, target_layer=1)
    source = batch[0]
    state = model.encode(source)
    rows = torch.arange(4).repeat_interleave(3)
    beams = state.reorder(rows)
    assert (beams.beams, beams.sentences) == (3, 4)
    within = torch.tensor([0, 0, 2, 4, 3, 5, 8, 7, 6, 9, 9, 9])
    assert beams.reorder(within) is beams
    left = beams.reorder(torch.tensor([3, 5, 4, 9, 9, 10]))
    assert (left.beams, left.sentences) == (3, 2)
    torch.testing.assert_close(left.source_kv[0].key, state.source_kv[0].key[[1, 3]])
    torch.testing.assert_close(left.padding, state.padding[[1, 3]])
    # one row to a sentence: any choice of rows, also one that repeats some of them unevenly
    for order in ([2, 0], [3, 2, 1, 0], [0, 0, 0, 1, 1, 2, 3, 3]):
        chosen = state.reorder(torch.tensor(order))
        assert chosen.beams == 1
        torch.testing.assert_close(chosen.source_kv[0].value, state.source_kv[0].value[order])
    assert state.reorder(torch.arange(4)) is state
    twice = state.reorder(torch.tensor([3, 1, 2])).reorder(torch.tensor([2, 0]))
    torch.testing.assert_close(twice.source_kv[0].key, state.source_kv[0].key[[2, 3]])


@pytest.mark.parametrize("case", CACHES, ids=name_of)
def test_cache_reorder_follows_rows(case, make_model, batch):
    model = make_model(**case)
    source, previous, _ = batch
    state = model.encode(source)
    order = torch.tensor([2, 0, 3, 1])
    with torch.no_grad():
        cache = model.new_cache()
        model.decode(previous[:, :3], state, cache)
        cache.reorder(order)
        moved = model.decode(previous[order][:, :4], state.reorder(order), cache)
        full = model.decode(previous[:, :4], state)[order][:, 3:]
    real = previous[order][:, 3].ne(PAD)
    torch.testing.assert_close(moved[real], full[real], **EXACT)


@pytest.mark.parametrize("case", CASES[::3], ids=name_of)
def test_rows_of_a_sentence_are_permuted_and_sentences_dropped(case, make_model, batch):
    """A search of random choices, in one step of two positions and then one by one."""
    model = make_model(**case)
    source = batch[0]
    beams, length = 3, 20
    generator = torch.Generator().manual_seed(5)
    state = model.encode(source).reorder(torch.arange(len(source)).repeat_interleave(beams))
    kept = torch.arange(len(source))
    cache = model.new_cache(beams)
    words = torch.randint(4, 17, (len(source) * beams, 2), generator=generator)
    tokens = torch.cat([torch.full((len(words), 1), EOS), words], 1)
    tokens[1, 0] = PAD  # a shorter prefix, padded on the left
    with torch.no_grad():
        for done in range(3, length):
            stepwise = model.decode(tokens, state, cache)[:, -1]
            full = model.decode(tokens, model.encode(source[kept.repeat_interleave(beams)]))[:, -1]
            torch.testing.assert_close(stepwise, full, **EXACT)
            if done in (6, 7, 15):
                left = torch.arange(len(kept))[torch.arange(len(kept)) != done % len(kept)]
            else:
                left = torch.arange(len(kept))
            choice = torch.randint(beams, (len(left), beams), generator=generator)
            rows = (left[:, None] * beams + choice).flatten()
            kept = kept[left]
            cache.reorder(rows)
            state = state.reorder(rows)
            words = torch.randint(4, 17, (len(rows), 1), generator=generator)
            tokens = torch.cat([tokens[rows], words], 1)
    assert len(kept) == 1


@pytest.mark.parametrize("case", CASES[::4], ids=name_of)
def test_one_row_stands_for_all_that_are_alike(case, make_model, batch):
    model = make_model(**case)
    source, beams = batch[0], 3
    rows = torch.arange(len(source)).repeat_interleave(beams)
    state = model.encode(source).reorder(rows)
    alike = torch.full((len(source), 1), EOS)
    words = torch.randint(4, 17, (len(rows), 1), generator=torch.Generator().manual_seed(5))
    tokens = torch.cat([alike[rows], words], 1)
    with torch.no_grad():
        cache, each = model.new_cache(beams), model.new_cache(beams)
        shared = model.decode(alike, state, cache)
        torch.testing.assert_close(shared[rows], model.decode(alike[rows], state, each), **EXACT)
        cache.reorder(rows * beams)
        later = model.decode(tokens, state, cache)
        torch.testing.assert_close(later, model.decode(tokens, state)[:, 1:], **EXACT)


@pytest.mark.parametrize("case", CACHES, ids=name_of)
def test_many_rows_need_no_cache(case, make_model, batch):
    model = make_model(**case)
    source, previous, _ = batch
    rows = torch.arange(len(source)).repeat_interleave(3)
    with torch.no_grad():
        shared = model.decode(previous[rows], model.encode(source).reorder(rows))
        apart = model.decode(previous[rows], model.encode(source[rows]))
    real = previous[rows].ne(PAD)
    torch.testing.assert_close(shared[real], apart[real], **EXACT)


@pytest.mark.parametrize("case", CACHES, ids=name_of)
def test_long_targets_need_more_than_the_first_buffer(case, make_model, batch):
    model = make_model(**case)
    torch.manual_seed(3)
    tokens = torch.randint(4, 17, (2, 70))
    state = model.encode(batch[0][:2])
    full = model.decode(tokens, state)
    cache = model.new_cache()
    with torch.no_grad():
        steps = [model.decode(tokens[:, : t + 1], state, cache) for t in range(70)]
    torch.testing.assert_close(torch.cat(steps, 1), full, **EXACT)
