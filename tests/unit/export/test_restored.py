"""The way back from an exported folder opens no file but the folder's own."""

import json
from pathlib import Path

import pytest
from support.parity_cases import TWO_STAGE
from support.remote_code import core_of, exported

from tdo_compat.checkpoint import safe_load
from tdo_plugin.models.mask_files import IN_CHECKPOINT
from tdo_plugin.pretrained import exported_folder


@pytest.mark.parametrize("value", [None, "model.safetensors", "/etc/passwd"])
def test_masks_are_those_of_the_weights(value, tmp_path, monkeypatch):
    core, folder = core_of(**TWO_STAGE, neuron_masks="masks.safetensors"), tmp_path / "model"
    exported(core, folder)
    path = folder / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(
        json.dumps(config | ({"neuron_masks": value} if value else {})), encoding="utf-8"
    )
    monkeypatch.chdir(folder)
    Path(IN_CHECKPOINT).write_text("no masks", encoding="utf-8")
    restored = exported_folder.read(folder)
    assert restored.model.core.neurons.masks.equal(core.neurons.masks)
    (tmp_path / "out").mkdir()
    restored.write(tmp_path / "out")
    state = safe_load(str(tmp_path / "out" / "model.pt"), map_location="cpu")
    assert state["cfg"]["model"].tdo_neuron_masks == IN_CHECKPOINT


def test_a_forced_tag_of_the_source_language_stays(tmp_path):
    exported(core_of(**TWO_STAGE), tmp_path / "model", source_tag="tgt", target_tag="src")
    restored = exported_folder.read(tmp_path / "model")
    assert restored.arguments.langtoks["main"] == ("tgt", "src")
