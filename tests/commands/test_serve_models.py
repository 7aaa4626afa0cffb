"""The models that `tdo serve` opens: checkpoints, their data, directions and detectors."""

from argparse import Namespace

import pytest
import torch
from support.prepared import prepared, trained
from support.served import SHORT, TEXT

from tdo_plugin.checkpoints import read
from tdo_plugin.errors import UserError
from tdo_plugin.evaluation.decoding import loading
from tdo_plugin.evaluation.decoding.decoding_options import DecodingOptions
from tdo_plugin.evaluation.decoding.loading import recorded_data
from tdo_plugin.serve import opening
from tdo_plugin.serve.opening import open_models


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
        (tmp_path / "gone.pt", "`MODEL`"),
        (tmp_path, "--average"),
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
    text = "der kleine Hund und das alte Haus"
    assert models[0].detected("de", text) == {"detected": "de", "off_target": False}
    assert models[0].detected("fr", text) == {"detected": "de", "off_target": True}
    assert models[0].detected("xx", text) == {"detected": "de", "off_target": None}
    assert models[0].detected("de", "12") == {"detected": None, "off_target": None}


def test_adapters_translate_trained_directions():
    path = trained(*SHORT, "--tdo-adapter-dim", "4")
    (model,) = open_models({"adapters": str(path)}, None, DecodingOptions((), max_len_b=9), "cpu")
    assert model.targets_of("de") == ["en"] and model.targets_of("en") == ["de", "fr"]
    answer = model.translate(TEXT, "de", "all")
    assert [each["target"] for each in answer["translations"]] == ["en"]
    assert "adapters" in model.explain(TEXT, "de", "en")["no_preference"]
