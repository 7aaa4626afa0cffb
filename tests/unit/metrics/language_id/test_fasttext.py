"""fastText's own library on two tiny models (tests/data/lid), with both kinds of labels."""

import hashlib
import sys
from types import SimpleNamespace

import pytest
from support.covering import needs

from tdo_plugin.data.grammar import LANGUAGES, linearize, meaning_at
from tdo_plugin.errors import UserError
from tdo_plugin.metrics.language_id import UNDETECTABLE, FastText

pytestmark = needs("fasttext")
MODELS = ("tiny.bin", "tiny-flores.ftz")


@pytest.fixture
def folder(root):
    return root / "tests" / "data" / "lid"


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("language", LANGUAGES)
def test_each_language_is_recognised(folder, name, language):
    identifier = FastText(folder / name)
    # the models were trained on the meanings of another seed
    sentences = [linearize(meaning_at(number, seed=2), language) for number in range(100)]
    assert identifier.identify(sentences).count(language) >= 98
    assert identifier.label(language) == language


def test_names_and_signature(folder):
    identifier = FastText(folder / "tiny-flores.ftz")
    names = [identifier.label(language) for language in ("deu_Latn", "ja_XX", "jpn", "it", "zh")]
    assert names == ["de", "ja", "ja", None, None]
    digest = hashlib.sha256((folder / "tiny-flores.ftz").read_bytes()).hexdigest()
    assert identifier.signature == f"fasttext:tiny-flores.ftz|sha256:{digest[:16]}"


def test_what_has_no_letters_is_undetectable(folder):
    sentences = ["", " ", "...", "1986", "😀", "The dog\nsleeps."]
    languages = FastText(folder / "tiny.bin").identify(sentences)
    assert languages == [UNDETECTABLE] * 5 + ["en"]


def stand_in(monkeypatch: pytest.MonkeyPatch, answers: dict[str, str]) -> list[str]:
    """A `fasttext` module whose model answers from a table; returns what it was asked."""
    requests: list[str] = []

    def predict(text: str, k: int = 1, threshold: float = 0.0) -> tuple[tuple[str, ...], object]:
        if k == -1:
            return tuple(answers.values()), None
        requests.append(text)
        return tuple(answers[text].split()), None

    model = SimpleNamespace(predict=predict)
    monkeypatch.setitem(sys.modules, "fasttext", SimpleNamespace(load_model=lambda path: model))
    return requests


def test_labels_of_no_language(tmp_path, monkeypatch):
    path = tmp_path / "glotlid.bin"
    path.write_bytes(b"model")
    answers = {"ikke": "__label__nob_Latn", "lalala": "__label__zxx_Latn", "nothing": ""}
    requests = stand_in(monkeypatch, answers)
    identifier = FastText(path)
    assert identifier.identify(["ikke", "lalala", "ikke", "nothing"]) == ["no", "?", "no", "?"]
    assert requests == ["ikke", "lalala", "nothing"]  # equal sentences once
    assert (identifier.label("nb"), identifier.label("zxx")) == ("no", None)


def test_a_file_that_is_no_model_or_no_module(folder, tmp_path, monkeypatch, refused):
    with refused.raised("no file", names="none.bin"):
        FastText(tmp_path / "none.bin")
    whole = (folder / "tiny.bin").read_bytes()
    for content in (b"", b"some text", whole[: len(whole) // 2]):
        path = tmp_path / "broken.bin"
        path.write_bytes(content)
        with pytest.raises(UserError, match=r"that fasttext-predict can read; .*broken\.bin"):
            FastText(path)
    monkeypatch.setitem(sys.modules, "fasttext", None)
    with refused.raised("no module", names="pip install fasttext-predict"):
        FastText(folder / "tiny.bin")
