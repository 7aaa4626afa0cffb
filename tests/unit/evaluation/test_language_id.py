"""Languages are told apart; what cannot be recognised is not counted as wrong."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tdo_plugin.data.databin import DataFolder
from tdo_plugin.errors import UserError
from tdo_plugin.evaluation.language_id import UNDETECTABLE, FastText, from_training_side


def test_the_classifier_learns_from_the_training_side(data: DataFolder) -> None:
    identifier = from_training_side(data)
    sentences = ["the white dog reads", "das weiße Wasser", "la maison blanche", "...", ""]
    assert identifier.identify(sentences) == ["en", "de", "fr", UNDETECTABLE, UNDETECTABLE]
    assert identifier.accuracy == 1
    assert "held-out-accuracy:100.0%" in identifier.signature
    assert "languages:de,en,fr" in identifier.signature
    # three lines each of de and fr, and en's three in both of its pairs
    assert "training-lines:12" in identifier.signature
    assert (identifier.label("de"), identifier.label("tr")) == ("de", None)


@pytest.fixture
def lid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file, and a stand-in for the `fasttext` module that knows three labels."""

    def predict(text: str, k: int = 1, threshold: float = 0.0) -> tuple[tuple[str, ...], object]:
        labels = ["__label__en", "__label__no", "__label__zh"]
        if "ikke" in text:
            labels.sort(key="__label__no".__ne__)
        found = labels if k == -1 and threshold < 0 else labels[:k]
        return tuple(found), (1 / 3,) * len(found)

    model = SimpleNamespace(predict=predict)
    monkeypatch.setitem(sys.modules, "fasttext", SimpleNamespace(load_model=lambda path: model))
    path = tmp_path / "lid.176.bin"
    path.write_bytes(b"model")
    return path


def test_fasttext_labels_and_signature(lid: Path) -> None:
    identifier = FastText(lid)
    assert identifier.identify(["not this", "ikke dette", "!"]) == ["en", "no", UNDETECTABLE]
    labels = [identifier.label(language) for language in ("nb", "zh_CN", "en", "xh")]
    assert labels == ["no", "zh", "en", None]
    assert identifier.signature.startswith("fasttext:lid.176.bin|sha256:")


def test_a_missing_model_or_module_is_one_line(
    lid: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UserError, match="`--lid` must be a fastText model"):
        FastText(tmp_path / "none.bin")
    monkeypatch.setitem(sys.modules, "fasttext", None)
    with pytest.raises(UserError, match="pip install fasttext-predict"):
        FastText(lid)
