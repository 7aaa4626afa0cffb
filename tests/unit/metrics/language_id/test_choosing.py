"""A detector is chosen by name, and can be sent to other processes."""

import pickle

import pytest
from support.covering import needs

from tdo_plugin.metrics.language_id import identifier

REFERENCES = {
    "en": ["the dog", "a house", "no water"],
    "de": ["der Hund", "ein Haus", "das Wasser"],
}


@pytest.mark.parametrize(
    ("spec", "begin"),
    [
        ("corpus", "char-ngrams"),
        ("references", "char-ngrams"),
        pytest.param("langdetect", "langdetect:", marks=needs("langdetect")),
        pytest.param("fasttext", "fasttext:lid.176.ftz|", marks=needs("fasttext")),
        pytest.param("FILE", "fasttext:tiny-flores.ftz|", marks=needs("fasttext")),
    ],
)
def test_each_name_is_a_detector_that_can_be_sent(spec, begin, data, root, tmp_path, monkeypatch):
    model = root / "tests" / "data" / "lid" / "tiny-flores.ftz"
    monkeypatch.setenv("FTLANG_CACHE", str(tmp_path))
    (tmp_path / "lid.176.ftz").write_bytes(model.read_bytes())
    chosen = identifier(str(model) if spec == "FILE" else spec, data, REFERENCES)
    sentences = ["Der Hund schläft im Haus.", "The dog sleeps in the house.", "..."]
    assert chosen.identify(sentences) == ["de", "en", "?"]
    assert chosen.signature.startswith(begin)
    *likely, none = map(chosen.probabilities, sentences)
    assert [max(each, key=each.get) for each in likely] == ["de", "en"] and none == {}
    assert all(0.5 < max(each.values()) <= sum(each.values()) < 1.01 for each in likely)
    sent = pickle.loads(pickle.dumps(chosen))
    assert (sent.signature, sent.label("de")) == (chosen.signature, "de")
    assert sent.identify(sentences) == ["de", "en", "?"]


def test_what_is_missing(refused):
    for spec, names in (
        ("corpus", "--data"),
        ("references", "--lid references"),
        ("fastext", "it is fastext"),
        ("none/lid.176.bin", "it is none/lid.176.bin"),
    ):
        with refused.raised(spec, names=names):
            identifier(spec)
