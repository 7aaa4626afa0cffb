"""BERTScore is bert-score's own, from tiny models; without weights it says so and asks nobody."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import bert_score
import numpy as np
import pytest
from bert_score.utils import model2layers

from tdo_plugin.errors import UserError
from tdo_plugin.metrics import bertscore
from tdo_plugin.metrics.bertscore import BertScore
from tdo_plugin.metrics.cache import Cache
from tdo_plugin.metrics.segments import Segments, Unavailable

REFERENCES = ("das weiße Pferd trinkt", "ein altes Buch", "zwei Hunde", "am Meer", "Wasser")
HYPOTHESES = ("das Pferd trinkt Wasser", "ein Buch", "", "kaltes Wasser am Fluss", "Wasser")
GERMAN = Segments("de", None, HYPOTHESES, REFERENCES)
ENGLISH = Segments("en", None, ("the dog reads", "the sea"), ("the white dog reads", "a book"))


@pytest.fixture(scope="module")
def tiny(bert: Callable[..., Path]) -> Path:
    return bert()


def library(folder: Path, layer: int, hypotheses: list[str], references: list[str]) -> np.ndarray:
    _, _, f1 = bert_score.score(hypotheses, references, model_type=str(folder), num_layers=layer)
    return 100 * f1.numpy()


def test_scores_are_the_librarys(
    tiny: Path, requests: list[object], capfd: pytest.CaptureFixture[str]
) -> None:
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


def test_each_language_gets_the_papers_model(
    hub: Callable[[str, Path], Path],
    xlm_roberta: Callable[..., Path],
    bert: Callable[..., Path],
    requests: list[object],
) -> None:
    assert model2layers.items() >= bertscore.LAYERS.items()
    english = hub("xlm-roberta-large", xlm_roberta(layers=18))
    multilingual = hub("bert-base-multilingual-cased", bert(layers=10))
    metric = BertScore()
    german, from_english = metric.score([GERMAN, ENGLISH])
    np.testing.assert_allclose(
        from_english, library(english, 17, [*ENGLISH.hypotheses], [*ENGLISH.references]), rtol=1e-5
    )
    np.testing.assert_allclose(
        german[:2], library(multilingual, 9, [*HYPOTHESES[:2]], [*REFERENCES[:2]]), rtol=1e-5
    )
    signature = "model:xlm-roberta-large|revision:01234567|layer:17|idf:no|rescale:no|bert-score:"
    assert metric.signature("en").startswith(f"{signature}0.3.13|transformers:4.")
    assert {metric.signature(code) for code in ("en_XX", "eng", "eng_Latn")} == {
        metric.signature("en")
    }
    assert metric.signature("en") != metric.signature("de") == metric.signature("deu_Latn")
    assert requests == []


def test_a_cached_segment_is_not_computed_again(
    tiny: Path,
    bert: Callable[..., Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loaded: list[str] = []
    scored: list[str] = []
    start, score = bert_score.BERTScorer.__init__, bert_score.BERTScorer.score
    monkeypatch.setattr(
        bert_score.BERTScorer,
        "__init__",
        lambda self, model, *more: loaded.append(model) or start(self, model, *more),
    )
    monkeypatch.setattr(
        bert_score.BERTScorer,
        "score",
        lambda self, first, *more, **named: (
            scored.extend(first) or score(self, first, *more, **named)
        ),
    )

    def metric(model: Path = tiny, layer: int = 2) -> BertScore:
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


def test_long_sentences_are_cut(tiny: Path) -> None:
    long = Segments("de", None, ("Wasser " * 600,), ("Wasser " * 600 + "Pferd",))
    assert BertScore(str(tiny), layer=2).score([long])[0] == pytest.approx(100)


@pytest.mark.parametrize("model", [None, "somebody/a-model"])
def test_without_weights_there_is_no_request(
    hub: Callable[[str, Path], Path], requests: list[object], model: str | None
) -> None:
    with pytest.raises(Unavailable, match="is not installed; --download downloads it"):
        BertScore(model, layer=2).score([GERMAN])
    assert requests == []
    with pytest.raises(Unavailable, match="cannot be downloaded: "):
        BertScore(model, layer=2, download=True).score([GERMAN])
    assert requests


def test_what_is_downloaded(
    hub: Callable[[str, Path], Path], tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    requested: list[list[str]] = []

    def snapshot(name: str, allow_patterns: list[str] | None = None, **more: bool) -> str:
        if more.get("local_files_only"):
            raise FileNotFoundError
        requested.append(allow_patterns or [])
        return str(hub(name, tiny))

    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshot)
    monkeypatch.setattr(
        "huggingface_hub.list_repo_files", lambda name: ["model.safetensors", "pytorch_model.bin"]
    )
    (scores,) = BertScore("somebody/a-model", layer=2, download=True).score([GERMAN])
    np.testing.assert_array_equal(scores, BertScore(str(tiny), layer=2).score([GERMAN])[0])
    (patterns,) = requested
    assert {"*.safetensors", "*.json", "*.model", "vocab.txt"} <= set(patterns)
    assert not any("bin" in pattern for pattern in patterns)  # the same weights once more


def test_mistakes_are_one_line(
    tiny: Path, tmp_path: Path, hub: Callable[[str, Path], Path]
) -> None:
    with pytest.raises(UserError, match="`--bertscore-layer` must be given with a folder"):
        BertScore(str(tiny))
    for layer in (4, -1):
        with pytest.raises(UserError, match=f"one of the model's layers; it is {layer}"):
            BertScore(str(tiny), layer=layer).score([GERMAN])
    with pytest.raises(UserError, match=r"`--bertscore-model` must be a folder with config.json"):
        BertScore(str(tmp_path), layer=1).score([GERMAN])
    with pytest.raises(UserError, match="must be a folder or a model's name"):
        BertScore("no/such/folder", layer=1).score([GERMAN])
    hub("somebody/a-model", tiny)
    with pytest.raises(UserError, match="for which bert-score has no default layer"):
        BertScore("somebody/a-model").score([GERMAN])
    (tmp_path / "t5").mkdir()
    for path in tiny.iterdir():
        (tmp_path / "t5" / path.name).symlink_to(path)
    with pytest.raises(UserError, match="without t5 in its path"):
        BertScore(str(tmp_path / "t5"), layer=1).score([GERMAN])


def test_a_missing_package_is_no_error_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib import metadata

    def missing(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    with pytest.raises(Unavailable, match=r"bert-score is not installed; `tdo setup --eval`"):
        BertScore()
