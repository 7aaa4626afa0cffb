"""The batches of `tdo bench`, and its dictionary."""

import pytest
from fairseq.data import Dictionary
from speed.batches import BATCHES, by_sentences, by_tokens, target_tokens, write_dictionary
from speed.text import Sentence, Text, embedded

from tdo_plugin.errors import UserError

LENGTH, TOKENS = 30, 300


@pytest.fixture(scope="module")
def batches():
    return by_tokens(embedded(4), LENGTH, TOKENS)


def test_batches_are_as_full_as_they_can_be(batches):
    assert len(batches) == BATCHES
    for batch in batches:
        assert TOKENS - LENGTH * 7 / 6 < target_tokens(batch) <= TOKENS


def test_all_systems_get_the_same(batches):
    assert by_tokens(embedded(4), LENGTH, TOKENS) == batches


def test_batches_are_sorted_by_length_and_mix_directions(batches):
    for batch in batches:
        assert [sentence.lengths for sentence in batch] == sorted(
            sentence.lengths for sentence in batch
        )
    assert batches[0][0].lengths < batches[-1][0].lengths
    assert any(len({sentence.languages for sentence in batch}) > 2 for batch in batches)


def test_decoded_batches_have_so_many_sentences():
    assert {len(batch) for batch in by_sentences(embedded(4), LENGTH, 5)} == {5}


def test_text_must_suffice():
    sentence = Sentence(("en", "de"), ("a",) * 8, ("a",) * 9)
    text = Text("mine", (("en", "de"), ("de", "en")), lambda: iter([sentence] * 30))
    assert len(by_sentences(text, 10, 7)) == 4
    with pytest.raises(UserError, match=r"`--data` must have text for 4 batches .* for 3"):
        by_sentences(text, 10, 8)


@pytest.mark.parametrize("size", [1000, 2000])
def test_the_dictionary_has_just_the_size(batches, size, tmp_path):
    path = tmp_path / "dict.txt"
    write_dictionary(path, batches, size)
    dictionary = Dictionary.load(str(path))
    assert len(dictionary) == size
    words = {word for batch in batches for sentence in batch for word in sentence.target}
    unknown = {word for word in words if dictionary.index(word) == dictionary.unk()}
    assert not unknown


def test_a_small_dictionary_keeps_the_most_frequent(tmp_path):
    batch = (Sentence(("en", "de"), ("a", "b", "a"), ("c", "c", "c")),)
    write_dictionary(tmp_path / "dict.txt", [batch], 6)
    assert Dictionary.load(str(tmp_path / "dict.txt")).symbols[4:] == ["c", "a"]
