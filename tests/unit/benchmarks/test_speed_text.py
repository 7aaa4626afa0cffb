"""The sentences of `tdo bench`."""

import json
from itertools import islice

import pytest
from speed.text import Sentence, embedded, of_length, own

from tdo_plugin.data.databin import MARK
from tdo_plugin.errors import UserError


def sentence(source, target, languages=("en", "de")):
    return Sentence(languages, tuple(source.split()), tuple(target.split()))


def write_text(folder, pairs):
    """A text folder; the sides of a pair are en and another language."""
    folder.mkdir(parents=True, exist_ok=True)
    for target, lines in pairs.items():
        for language, side in zip(("en", target), zip(*lines, strict=True), strict=True):
            path = folder / f"train.en-{target}.{language}"
            path.write_text("".join(f"{line}\n" for line in side), encoding="utf-8")
    return folder


def test_made_up_languages_have_names_of_their_own():
    text = embedded(17)
    assert len(text.languages) == len(set(text.languages)) == 17
    assert len(set(text.directions)) == 2 * 16
    seen = {row.languages for row in islice(text.read(), 2 * 16)}
    assert seen == set(text.directions)
    assert all("en" in languages for languages in seen)


def test_the_embedded_corpus_is_read_alike_each_time():
    text = embedded(4)
    assert list(islice(text.read(), 20)) == list(islice(text.read(), 20))


def test_lengths_count_tag_and_end():
    assert sentence("a b c", "d e").lengths == (5, 3)


def test_short_sentences_are_joined_within_their_direction():
    forward, back = ("en", "de"), ("de", "en")
    short = [
        sentence("a b", "c d", forward),
        sentence("e f", "g h", back),
        sentence("i", "j k", forward),
        sentence("l", "m n", back),
    ]
    assert list(of_length(iter(short), 5)) == [
        sentence("a b i", "c d j k", forward),
        sentence("e f l", "g h m n", back),
    ]


def test_long_and_uneven_sentences_are_left_out():
    fitting = sentence("a b c d", "a b c d e")
    misfits = [
        sentence("a " * 6, "a b c d e"),
        sentence("a b c d", "a " * 7),
        sentence("a", "a " * 5),
    ]
    assert list(of_length(iter([*misfits, fitting]), 6)) == [fitting]


@pytest.mark.parametrize("length", [10, 30, 120])
def test_lengths_are_near_what_is_asked_for(length):
    sentences = list(islice(of_length(embedded(4).read(), length), 50))
    positions = [size for sentence in sentences for size in sentence.lengths]
    assert min(positions) >= 5 / 6 * length and max(positions) <= 7 / 6 * length


def test_own_text_goes_both_ways_and_pairs_take_turns(tmp_path):
    lines = [("one two", "eins zwei"), ("three", "drei")]
    folder = write_text(tmp_path / "mine", {"de": lines, "fr": [("one", "un")]})
    text = own(folder)
    assert text.name == "mine" and text.languages == ("en", "de", "fr")
    assert list(text.read()) == [
        sentence("one two", "eins zwei"),
        sentence("one", "un", ("en", "fr")),
        sentence("drei", "three", ("de", "en")),
    ]


def test_of_a_data_folder_the_pieces_are_read(tmp_path):
    write_text(tmp_path / "pieces", {"de": [("▁one s", "▁eins")]})
    (tmp_path / MARK).write_text(json.dumps({}))
    assert [row.source for row in own(tmp_path).read()] == [("▁one", "s")]


def test_another_folder_is_refused(tmp_path):
    with pytest.raises(UserError, match=r"^`--data` must be a text folder or a data folder"):
        own(tmp_path)
