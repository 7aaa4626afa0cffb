"""BERTScore is bert-score's own, from tiny models; without weights it says so and asks nobody."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

import numpy as np
import pytest
from support.covering import needs

from tdo_plugin.errors import UserError
from tdo_plugin.metrics import bertscore
from tdo_plugin.metrics.bertscore import BertScore
from tdo_plugin.metrics.cache import Cache
from tdo_plugin.metrics.segments import Segments, Unavailable

pytestmark = needs("bert_score")
REFERENCES = ("das weiße Pferd trinkt", "ein altes Buch", "zwei Hunde", "am Meer", "Wasser")
HYPOTHESES = ("das Pferd trinkt Wasser", "ein Buch", "", "kaltes Wasser am Fluss", "Wasser")
GERMAN = Segments("de", None, HYPOTHESES, REFERENCES)
ENGLISH = Segments("en", None, ("the dog reads", "the sea"), ("the white dog reads", "a book"))


@pytest.fixture(scope="module")
def tiny(bert):
    return bert()


def library(folder: Path, layer: int, hypotheses: list[str], references: list[str]) -> np.ndarray:
    import bert_score

    _, _, f1 = bert_score.score(hypotheses, references, model_type=str(folder), num_layers=layer)
    return 100 * f1.numpy()


def test_scores_are_the_librarys(tiny, requests, capfd):
    mine = BertScore(str(tiny), layer=2, batch_size=2).score([GERMAN, ENGLISH, GERMAN])
    assert requests == [] and capfd.readouterr() == ("", "")
    full = [0, 1, 3, 4]  # the third hypothesis is empty
    expected = library(tiny, 2, [HYPOTHESES[n] for n in full], [REFERENCES[n] for n in full])
    np.testing.assert_allclose(mine[0][full], expected, rtol=1e-5)
    assert mine[0][2] == 0 and mine[0][4] == pytest.approx(100)
    np.testing.assert_array_equal(mine[0], mine[2])
    expected = library(tiny, 2, list(ENGLISH.hypotheses), list(ENGLISH.references))
    np.testing.assert_allclose(mine[1], expected, rtol=1e-5)
    third_layer = BertScore(str(tiny), layer=3).score([GERMAN])[0]
    assert abs(third_layer - mine[0])[full[:3]].min() > 0.05


def test_each_language_gets_the_papers_model(hub, xlm_roberta, bert, requests):
    from bert_score.utils import model2layers

    assert model2layers.items() >= bertscore.LAYERS.items()
    english = hub("xlm-roberta-large", xlm_roberta(layers=18))
    multilingual = hub("bert-base-multilingual-cased", bert(layers=10))
    metric = BertScore()
    german, from_english = metric.score([GERMAN, ENGLISH])
    expected = library(english, 17, [*ENGLISH.hypotheses], [*ENGLISH.references])
    np.testing.assert_allclose(from_english, expected, rtol=1e-5)
    expected = library(multilingual, 9, [*HYPOTHESES[:2]], [*REFERENCES[:2]])
    np.testing.assert_allclose(german[:2], expected, rtol=1e-5)
    signature = "model:xlm-roberta-large|revision:01234567|layer:17|idf:no|rescale:no|bert-score:"
    assert metric.signature("en").startswith(f"{signature}0.3.13|transformers:4.")
    same = {metric.signature(code) for code in ("en_XX", "eng", "eng_Latn")}
    assert same == {metric.signature("en")}
    assert metric.signature("en") != metric.signature("de") == metric.signature("deu_Latn")
    assert requests == []


def test_a_cached_segment_is_not_computed_again(tiny, bert, tmp_path, monkeypatch):
    import bert_score

    loaded, scored = [], []

    class Scorer(bert_score.BERTScorer):
        def __init__(self, model, *more):
            loaded.append(model)
            super().__init__(model, *more)

        def score(self, first, *more, **named):
            scored.extend(first)
            return super().score(first, *more, **named)

    monkeypatch.setattr(bert_score, "BERTScorer", Scorer)

    def metric(model=tiny, layer=2):
        return BertScore(str(model), layer, cache=Cache(tmp_path / "scores.sqlite"))

    first = metric().score([GERMAN, ENGLISH, GERMAN])
    assert len(loaded) == 1 and len(scored) == 6
    second = metric().score([ENGLISH, GERMAN])
    assert len(loaded) == 1 and len(scored) == 6
    np.testing.assert_array_equal(second[0], first[1])
    np.testing.assert_array_equal(second[1], first[0])
    another = bert(seed=2)
    third = metric(another).score([GERMAN])
    metric(layer=3).score([GERMAN])
    assert len(loaded) == 3 and len(scored) == 14
    assert abs(third[0] - first[0]).max() > 1
    assert metric(another).signature("de") != metric().signature("de")


def test_long_sentences_are_cut(tiny):
    long = Segments("de", None, ("Wasser " * 600,), ("Wasser " * 600 + "Pferd",))
    assert BertScore(str(tiny), layer=2).score([long])[0] == pytest.approx(100)


@pytest.mark.parametrize("model", [None, "somebody/a-model"])
def test_without_weights_there_is_no_request(hub, requests, model):
    with pytest.raises(Unavailable, match="is not installed; --download downloads it"):
        BertScore(model, layer=2).score([GERMAN])
    assert requests == []
    with pytest.raises(Unavailable, match="cannot be downloaded: "):
        BertScore(model, layer=2, download=True).score([GERMAN])
    assert requests


def test_what_is_downloaded(hub, tiny, monkeypatch):
    requested = []

    def snapshot(name, allow_patterns=None, **more):
        if more.get("local_files_only"):
            raise FileNotFoundError
        requested.append(allow_patterns or [])
        return str(hub(name, tiny))

    files = ["model.safetensors", "pytorch_model.bin"]
    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshot)
    monkeypatch.setattr("huggingface_hub.list_repo_files", lambda name: files)
    (scores,) = BertScore("somebody/a-model", layer=2, download=True).score([GERMAN])
    np.testing.assert_array_equal(scores, BertScore(str(tiny), layer=2).score([GERMAN])[0])
    (patterns,) = requested
    assert {"*.safetensors", "*.json", "*.model", "vocab.txt"} <= set(patterns)
    assert not any("bin" in pattern for pattern in patterns)  # the same weights once more


def test_mistakes(tiny, tmp_path, hub, refused):
    for layer in (4, -1):
        with pytest.raises(UserError, match=f"one of the model's layers; it is {layer}"):
            BertScore(str(tiny), layer=layer).score([GERMAN])
    hub("somebody/a-model", tiny)
    (tmp_path / "t5").mkdir()
    for path in tiny.iterdir():
        (tmp_path / "t5" / path.name).symlink_to(path)
    for case, model, layer, names in (
        ("no layer", tiny, None, "--bertscore-layer"),
        ("an empty folder", tmp_path, 1, "config.json"),
        ("no folder", "no/such/folder", 1, "a folder or a model's name"),
        ("no default layer", "somebody/a-model", None, "default layer"),
        ("t5", tmp_path / "t5", 1, "without t5 in its path"),
    ):
        with refused.raised(case, names=names):
            BertScore(str(model), layer=layer).score([GERMAN])


def test_a_missing_package_is_no_error_of_the_user(monkeypatch):
    def missing(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    with pytest.raises(Unavailable, match=r"bert-score is not installed; `tdo setup --eval`"):
        BertScore()
