"""What `tdo serve` answers, and the models that it opens."""

import base64
import math
from argparse import Namespace
from dataclasses import replace
from types import SimpleNamespace
from unittest import mock

import numpy as np
import pytest
import torch
from support.covering import mostly_full
from support.data import ENCODER_DECODER
from support.prepared import prepared, trained
from support.served import EXPLAIN, MANY, ORDER, SHORT, TEXT
from support.translating import translator_of

from tdo_plugin.checkpoints import read
from tdo_plugin.errors import UserError
from tdo_plugin.evaluation.decoding import loading
from tdo_plugin.evaluation.decoding.decoding_options import DecodingOptions
from tdo_plugin.evaluation.decoding.loading import recorded_data
from tdo_plugin.metrics.textform import plain_lines
from tdo_plugin.serve import opening
from tdo_plugin.serve.explained_translation import explain_translation
from tdo_plugin.serve.opening import open_models

GERMAN = "der kleine Hund und das alte Haus"


def test_the_page_and_its_headers(server):
    status, html, response = server.asked("GET", "/")
    assert status == 200 and html.startswith("<!DOCTYPE html>") and html.endswith("</html>\n")
    assert response.getheader("content-type") == "text/html; charset=utf-8"
    for path in ("/", "/health", "/nothing"):
        *_, response = server.asked("GET", path)
        policy = response.getheader("content-security-policy")
        assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
        assert response.getheader("x-content-type-options") == "nosniff"
        assert response.getheader("x-frame-options") == "DENY"
        assert not [name for name, _ in response.getheaders() if name.startswith("access-control")]


def test_models_and_health(server):
    assert server.asked("GET", "/health")[1] == {"status": "ok", "models": 2, "waiting": 0}
    _, content, _ = server.asked("GET", "/api/models")
    first, second = content["models"]
    assert first["name"] == "two stages" and second["name"] == "encoder-decoder"
    assert first["languages"] == ["en", "de", "fr"]
    assert first["directions"] == sorted(["en-de", "de-en", "en-fr", "fr-en"])
    assert (first["kind"], second["kind"]) == ("two-stage", "encoder-decoder")
    assert content["limits"]["characters"] == MANY.characters
    for language, sentence in first["examples"].items():
        assert sentence in plain_lines(prepared(), "valid", language, 100)
    assert list(first["examples"]) == first["languages"]


def test_translations_are_those_of_the_translator(server, models):
    text = f"{TEXT}\n\ndas alte Haus"
    status, content, _ = server.asked("POST", "/api/translate", {**ORDER, "text": text})
    assert status == 200
    assert [each["target"] for each in content["translations"]] == ["en", "fr"]
    for each in content["translations"]:
        hypotheses = models[0].translator.translate_lines(
            f"de-{each['target']}", [TEXT, "das alte Haus"]
        )
        assert each["text"] == "\n\n".join(hypothesis.text for hypothesis in hypotheses)
        assert each["zero_shot"] == (each["target"] == "fr")
        assert [sentence["source"] for sentence in each["sentences"]] == [TEXT, "das alte Haus"]
        for sentence, hypothesis in zip(each["sentences"], hypotheses, strict=True):
            assert " ".join(sentence["pieces"]) == hypothesis.pieces
            assert sentence["score"] == pytest.approx(hypothesis.score, abs=1e-4)
        assert each["off_target"] in (None, True, False)


SHARED = {
    "a tag": (),
    "language-aware": (*SHORT, "--tdo-laln", "both"),
    "two tags": (*SHORT, "--decoder-langtok"),
}


@pytest.mark.parametrize("name", SHARED)
def test_one_search_for_all_targets_changes_nothing(name):
    translator = translator_of(trained(*SHARED[name]), max_len_b=9)
    lines = [TEXT, "", "das alte Haus und der Hund"]
    with mock.patch.object(translator, "_decode", wraps=translator._decode) as search:
        together = translator.translate_into("de", ["fr", "en", "de"], lines)
    assert search.call_count == (3 if name == "two tags" else 1)
    for target, hypotheses in together.items():
        alone = translator.translate_lines(f"de-{target}", lines)
        assert [each.text for each in hypotheses] == [each.text for each in alone]
        assert [each.pieces for each in hypotheses] == [each.pieces for each in alone]
        scores = [each.score for each in alone]
        assert [each.score for each in hypotheses] == pytest.approx(scores, abs=1e-4)
    greedy = translator.with_beam(1)
    assert greedy.options.beam == 1 and translator.options.beam == 4
    assert greedy.models is translator.models and greedy._spm is translator._spm


@pytest.mark.parametrize("model", ["two stages", "encoder-decoder"])
def test_an_explanation(server, models, model):
    status, content, _ = server.asked("POST", "/api/explain", {**EXPLAIN, "model": model})
    assert status == 200
    source, target = content["source_pieces"], content["target_pieces"]
    assert source[0] == "__fr__" and source[-1] == target[-1] == "</s>" == content["begin"]
    index = [each.name for each in models].index(model)
    (hypothesis,) = models[index].translator.translate_lines("de-fr", [TEXT])
    assert content["translation"] == hypothesis.text
    assert target[:-1] == hypothesis.pieces.split()

    def array(matrix):
        units = np.frombuffer(base64.b64decode(matrix["units"]), dtype=np.uint8)
        return units.reshape(matrix["shape"]) / 255

    for layer in content["source_attention"]:
        weights = array(layer["source"])
        assert weights.shape[1:] == (len(source), len(source))
        assert weights.sum(-1) == pytest.approx(1, abs=len(source) / 255)
    for layer in content["target_attention"]:
        over_source, over_target = array(layer["source"]), array(layer["target"])
        assert over_source.shape[1:] == (len(target), len(source))
        assert not np.triu(over_target, 1).any()
        whole = [over_source.sum(-1), over_target.sum(-1)]
        for sums in [sum(whole)] if layer["kind"] == "joint" else whole:
            assert sums == pytest.approx(1, abs=(len(source) + len(target)) / 255)
    kind = "joint" if model == "two stages" else "cross"
    assert {layer["kind"] for layer in content["target_attention"]} == {kind}
    for step, piece in zip(content["steps"], target, strict=True):
        assert len(step["top"]) == 10
        shares = [share for _, share in step["top"]]
        assert shares == sorted(shares, reverse=True)
        if step["rank"] <= 10:
            assert step["top"][step["rank"] - 1] == [piece, step["probability"]]
    assert len(content["preference"]) == len(content["source_attention"])
    assert all(0 < layer["score"] < 1 for layer in content["preference"])


MODELS = {
    "both tags": ("--decoder-langtok",),
    "the source's tag": (),
    "a tag for the end": ("--decoder-langtok", "--lang-tok-replacing-bos-eos"),
    "language-aware": ("--tdo-laln", "both", "--tdo-lalt", "xavier", "--tdo-norm", "pre"),
    "merged": (*ENCODER_DECODER, "--tdo-adaptation-dim", "0", "--tdo-decoder-attention", "merged"),
    "one stage": ("--tdo-target-layer", "0", "--tdo-adaptation-dim", "0"),
}


@pytest.mark.parametrize("name", mostly_full(MODELS, quick=3))
def test_the_explained_pass_is_the_one_that_was_searched(name):
    """The chosen pieces' probabilities give the score of the search: every tag has its place."""
    translator = translator_of(trained(*SHORT, *MODELS[name]), max_len_b=9)
    explained = explain_translation(translator, "de-fr", TEXT)
    (hypothesis,) = translator.translate_lines("de-fr", [TEXT])
    assert explained.hypothesis == hypothesis
    chosen = [step.probability for step in explained.steps]
    score = sum(map(math.log2, chosen)) / len(chosen)
    assert score == pytest.approx(hypothesis.score, abs=1e-3)
    assert len(explained.weights.logits) == len(explained.target) == len(explained.steps)
    replaced = name == "a tag for the end"
    assert bool(explained.preference) != replaced and bool(explained.no_preference) == replaced


@pytest.mark.parametrize("named", [{}, {"source": None}, {"source": "auto"}])
def test_a_detected_source(server, named):
    asked = {"model": "two stages", "text": GERMAN}
    detected = (200, {"model": "two stages", "source": "de"})
    assert server.asked("POST", "/api/detect", asked)[:2] == detected
    status, content, _ = server.asked(
        "POST", "/api/translate", {**asked, **named, "targets": "all"}
    )
    assert status == 200 and content["source"] == "de"
    assert [each["target"] for each in content["translations"]] == ["en", "fr"]
    status, content, _ = server.asked("POST", "/api/explain", {**asked, **named, "target": "fr"})
    assert status == 200 and content["source"] == "de"


@pytest.mark.parametrize(
    ("probabilities", "source"),
    [
        ({"nl": 0.6, "de": 0.3, "en": 0.1}, "de"),  # the most likely of the model's languages
        ({"nl": 0.9, "de": 0.05}, "is detected as nl"),
        ({"?": 0.9, "de": 0.05}, "cannot be detected"),
        ({}, "cannot be detected"),
        (None, "no language detector"),
    ],
)
def test_detection_is_among_the_languages_of_the_model(models, probabilities, source):
    detector = SimpleNamespace(label=lambda code: code, probabilities=lambda _: probabilities)
    model = replace(models[0], detector=None if probabilities is None else detector)
    if source in model.languages:
        assert model.source_of(GERMAN) == source
    else:
        with pytest.raises(UserError, match=source):
            model.translate(GERMAN, "auto", "all")


def test_the_folder_of_a_training_and_its_data(tmp_path):
    state = read(trained())
    assert recorded_data(trained(), state) == prepared().root
    state["extra_state"]["val_loss"] = 1.0
    torch.save(state, tmp_path / "checkpoint_best.pt")
    options = DecodingOptions(())
    (model,) = open_models({"a": str(tmp_path)}, None, options, "cpu", "none")
    assert model.detector is None and model.description()["detector"] is None


def test_a_data_folder_that_has_gone(refused, monkeypatch):
    for data, shown in (("/gone:/gone/shard2", "/gone:"), (None, "an unknown folder")):
        monkeypatch.setattr(loading, "task_options", lambda _, data=data: Namespace(data=data))
        with refused.raised(f"data {data}", names=shown):
            recorded_data(trained(), read(trained()))


def test_what_is_no_model(refused, tmp_path):
    for path, name in (
        (tmp_path, "is empty"),
        (f"{trained()}:{trained()}", "`MODEL` must be one checkpoint or folder"),
    ):
        with refused.raised(str(path), names=name):
            open_models({"a": str(path)}, None, DecodingOptions(()), "cpu")


def test_detectors_in_their_order(monkeypatch):
    tried = []

    def refused(spec, data):
        tried.append(spec)
        raise UserError("not here")

    monkeypatch.setattr(opening, "identifier", refused)
    assert opening.detector_of("auto", prepared()) is None
    assert tried == ["fasttext", "corpus", "langdetect"]
    with pytest.raises(UserError, match="not here"):
        opening.detector_of("langdetect", prepared())


def test_off_target(models):
    assert models[0].detected("de", GERMAN) == {"detected": "de", "off_target": False}
    assert models[0].detected("fr", GERMAN) == {"detected": "de", "off_target": True}
    assert models[0].detected("xx", GERMAN) == {"detected": "de", "off_target": None}
    unknown = {"detected": None, "off_target": None}
    assert models[0].detected("de", "12") == unknown
    assert replace(models[0], detector=None).detected("fr", GERMAN) == unknown


def test_adapters_translate_trained_directions():
    path = trained(*SHORT, "--tdo-adapter-dim", "4")
    (model,) = open_models({"adapters": str(path)}, None, DecodingOptions((), max_len_b=9), "cpu")
    assert not model.description()["zero_shot"]
    assert model.targets_of("de") == ["en"] and model.targets_of("en") == ["de", "fr"]
    answer = model.translate(TEXT, "de", "all")
    assert [each["target"] for each in answer["translations"]] == ["en"]
    assert "adapters" in model.explain(TEXT, "de", "en")["no_preference"]
