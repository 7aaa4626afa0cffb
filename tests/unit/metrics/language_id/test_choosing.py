"""A detector is chosen by name, and can be sent to other processes."""

import pickle
from pathlib import Path

import pytest

from tdo_plugin.data.databin import DataFolder
from tdo_plugin.errors import UserError
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
        ("langdetect", "langdetect:"),
        ("fasttext", "fasttext:lid.176.ftz|"),
        ("FILE", "fasttext:tiny-flores.ftz|"),
    ],
)
def test_each_name_is_a_detector_that_can_be_sent(
    spec: str,
    begin: str,
    data: DataFolder,
    root: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = root / "tests" / "data" / "lid" / "tiny-flores.ftz"
    monkeypatch.setenv("FTLANG_CACHE", str(tmp_path))
    (tmp_path / "lid.176.ftz").write_bytes(model.read_bytes())
    chosen = identifier(str(model) if spec == "FILE" else spec, data, REFERENCES)
    sentences = ["Der Hund schläft im Haus.", "The dog sleeps in the house.", "..."]
    assert chosen.identify(sentences) == ["de", "en", "?"]
    assert chosen.signature.startswith(begin)
    sent = pickle.loads(pickle.dumps(chosen))
    assert (sent.signature, sent.label("de")) == (chosen.signature, "de")
    assert sent.identify(sentences) == ["de", "en", "?"]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("corpus", "`--lid corpus` must come with `--data`"),
        ("references", "`--lid references` requires references in at least two languages"),
        ("fastext", "`--lid` must be fasttext, .* or a fastText model file; it is fastext$"),
        ("none/lid.176.bin", "it is none/lid.176.bin$"),
    ],
)
def test_what_is_missing_is_one_line(spec: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        identifier(spec)
