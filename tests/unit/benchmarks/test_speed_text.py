"""The sentences of `tdo bench`, its batches and its dictionary."""

import json
from itertools import islice

import pytest
from fairseq.data import Dictionary
from speed.batches import BATCHES, by_sentences, by_tokens, target_tokens, write_dictionary
from speed.text import Sentence, Text, embedded, of_length, own

from tdo_plugin.data.databin import MARK

LENGTH, TOKENS = 30, 300


def sentence(source, target, languages=("en", "de")):
    return Sentence(languages, tuple(source.split()), tuple(target.split()))


def write_text(folder, pair, source, target):
    folder.mkdir(parents=True, exist_ok=True)
    for language, lines in zip(pair.split("-"), (source, target), strict=True):
        (folder / f"train.{pair}.{language}").write_text(lines, encoding="utf-8")


def test_made_up_languages_have_names_of_their_own():
    text = embedded(17)
    assert len(set(text.languages)) == 17 and len(set(text.directions)) == 2 * 16
    read = list(islice(text.read(), 2 * 16))
    assert {row.languages for row in read} == set(text.directions)
    assert list(islice(text.read(), 2 * 16)) == read


def test_short_sentences_are_joined_within_their_direction_and_others_left_out():
    forward, back = ("en", "de"), ("de", "en")
    assert sentence("a b c", "d e").lengths == (5, 3)  # with tag and end
    sides = ("a b", "c d", forward), ("e f", "g h", back), ("i", "j k", forward), ("l", "m n", back)
    short = [sentence(*each) for each in sides]
    assert list(of_length(iter(short), 5)) == [
        sentence("a b i", "c d j k", forward),
        sentence("e f l", "g h m n", back),
    ]
    fitting = sentence("a b c d", "a b c d e")
    misfits = (("a " * 6, "a b c d e"), ("a b c d", "a " * 7), ("a", "a " * 5))
    texts = [*(sentence(*sides) for sides in misfits), fitting]
    assert list(of_length(iter(texts), 6)) == [fitting]
    read = islice(of_length(embedded(4).read(), LENGTH), 50)
    positions = [size for each in read for size in each.lengths]
    assert min(positions) >= 5 / 6 * LENGTH and max(positions) <= 7 / 6 * LENGTH


def test_own_text_goes_both_ways_and_pairs_take_turns(tmp_path, refused):
    with refused.raised("an empty folder", names="--data"):
        own(tmp_path)
    write_text(tmp_path / "mine", "en-de", "one two\nthree\n", "eins zwei\ndrei\n")
    write_text(tmp_path / "mine", "en-fr", "one\n", "un\n")
    text = own(tmp_path / "mine")
    assert text.name == "mine" and text.languages == ("en", "de", "fr")
    assert list(text.read()) == [
        sentence("one two", "eins zwei"),
        sentence("one", "un", ("en", "fr")),
        sentence("drei", "three", ("de", "en")),
    ]
    write_text(tmp_path / "pieces", "en-de", "▁one s\n", "▁eins\n")
    (tmp_path / MARK).write_text(json.dumps({}))
    assert [row.source for row in own(tmp_path).read()] == [("▁one", "s")]  # of a data folder


def test_batches_are_full_sorted_by_length_and_mix_directions():
    batches = by_tokens(embedded(4), LENGTH, TOKENS)
    assert by_tokens(embedded(4), LENGTH, TOKENS) == batches and len(batches) == BATCHES
    for batch in batches:
        assert TOKENS - LENGTH * 7 / 6 < target_tokens(batch) <= TOKENS
        lengths = [sentence.lengths for sentence in batch]
        assert lengths == sorted(lengths)
    assert any(len({sentence.languages for sentence in batch}) > 2 for batch in batches)


def test_decoded_batches_have_so_many_sentences(refused):
    assert {len(batch) for batch in by_sentences(embedded(4), LENGTH, 5)} == {5}
    directions, eight = (("en", "de"), ("de", "en")), sentence("a " * 8, "a " * 9)
    text = Text("mine", directions, lambda: iter([eight] * 30))
    assert len(by_sentences(text, 10, 7)) == 4
    with refused.raised("too little text", names="--data"):
        by_sentences(text, 10, 8)


@pytest.mark.parametrize("size", [1000, 2000])
def test_the_dictionary_has_just_the_size_and_the_most_frequent(size, tmp_path):
    path, batches = tmp_path / "dict.txt", by_tokens(embedded(4), LENGTH, TOKENS)
    write_dictionary(path, batches, size)
    dictionary = Dictionary.load(str(path))
    assert len(dictionary) == size
    words = {word for batch in batches for sentence in batch for word in sentence.target}
    assert dictionary.unk() not in map(dictionary.index, words)
    write_dictionary(path, [(sentence("a b a", "c c c"),)], 6)
    assert Dictionary.load(str(path)).symbols[4:] == ["c", "a"]
