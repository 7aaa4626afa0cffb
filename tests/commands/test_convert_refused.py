"""What `tdo convert` refuses, in one line, and that nothing is lost where it ends early."""

import json
import os
import shutil
import signal
from pathlib import Path

import pytest
import torch
from support.commands import refused_beside
from support.data import kept_logging
from support.pretrained import (
    convert,
    copied,
    fairseq_checkpoint,
    folder,
    own_files,
    segmentation,
    spm_file,
)

from tdo_plugin.cli import main


@pytest.fixture
def refused(capsys):
    """The one line of a conversion that is refused; nothing is written."""

    def run(original, out, *words, family="m2m100", to="tdo_transformer") -> str:
        command = ["convert", original, "--from", family, "--to", to, "--out", out, *words]
        return refused_beside(capsys, out, *command)

    return run


def test_bad_requests_are_one_line(refused, tmp_path):
    m2m, out = folder("m2m100"), tmp_path / "out"
    line = refused
    assert "up to 4, the number in the decoder, or `--layers` must be less" in line(
        m2m, out, "--layers", "3"
    )
    assert "`--layers` must be at most 1000" in line(m2m, out, "--layers", str(10**9))
    assert "`--seed` must be a whole number from 0 to" in line(m2m, out, "--seed", str(10**20))
    assert "`--stack` must be encoder or decoder" in line(m2m, out, "--stack", "1-4")
    assert "`--stack` must be encoder or decoder" in line(m2m, out, "--stack", "decoder:4-1")
    assert "`--stack` must name 4 layers" in line(m2m, out, "--stack", "decoder:1-3")
    assert "up to 4" in line(m2m, out, "--stack", "decoder:2-5")
    assert "`--stack` must not be set" in line(
        m2m, out, "--stack", "decoder:1-4", to="tdo_encoder_decoder"
    )
    assert "`--decoder` must name layers of the decoder" in line(
        m2m, out, "--layers", "3", "--decoder", "encoder:1-3", to="tdo_encoder_decoder"
    )
    assert "none named xx" in line(m2m, out, "--languages", "en,xx")
    assert "no tags of nllb" in line(m2m, out, family="nllb")
    assert "at least two" in line(m2m, out, "--languages", "en")
    assert "`--new-languages` must be new" in line(m2m, out, "--new-languages", "de")
    assert "must come with `--new-languages`" in line(m2m, out, "--like", "de")
    assert "must be a file or folder that exists" in line(tmp_path / "none", out)
    assert "`--dict` must be given" in line(fairseq_checkpoint(), out)
    assert "`--dict` must be left out" in line(m2m, out, *own_files())
    for words in (("--adaptation-dim", "8"), ("--target-layer", "1")):
        for arch in ("tdo_prefix_decoder_only", "tdo_encoder_decoder"):
            assert f"`{words[0]}` must not be set" in line(m2m, out, *words, to=arch)
    assert "another's name; de is taken" in line(m2m, out, "--languages", "de=en,fr")
    assert "letters, digits and _" in line(m2m, out, "--languages", "e-n=en,fr")
    assert "letters, digits and _" in line(m2m, out, "--new-languages", "e s")
    new = ("--new-languages", "eus")
    assert "`--new-pieces` must come with `--new-l" in line(m2m, out, "--new-pieces", "9")
    assert "`--new-pieces` must come with `--ext" in line(m2m, out, *new, "--new-pieces", "9")
    text = tmp_path / "text"
    extend = (*new, "--extend-vocabulary", text)
    assert "`--extend-vocabulary` must be text files" in line(m2m, out, *extend)
    text.touch()
    assert "`--new-pieces` must suit the text" in line(m2m, out, *extend)
    dictionary = tmp_path / "dictionary"
    dictionary.write_text("one 1\ntwo\t-1.5\n")
    checkpoint = fairseq_checkpoint()
    assert "line 2 of" in line(checkpoint, out, "--dict", dictionary, "--spm", spm_file())
    spm = tmp_path / "other.model"
    spm.write_bytes(segmentation())
    assert "`--spm` must segment text into entries" in line(
        checkpoint, out, *own_files()[:2], "--spm", spm
    )


def test_other_models_are_refused(refused, tmp_path):
    out = tmp_path / "out"
    config = folder("m2m100") / "config.json"
    for changes, message in (
        ({"activation_function": "gelu"}, "activation_function relu"),
        ({"model_type": "marian"}, "model_type m2m_100"),
        ({"d_model": "16"}, "whole number above 0 as d_model"),
        ({"max_position_embeddings": None}, "above 0 as max_position_embeddings; it is None"),
        ({"decoder_layers": 5}, "must have decoder.layers.4.self_attn.q_proj.weight"),
        ({"decoder_layers": 3}, "it also has decoder.layers.3."),
        ({"encoder_ffn_dim": 12}, "of shape [12, 16]; it has [24, 16]"),
    ):
        original = copied("m2m100", tmp_path / "other")
        (original / "config.json").write_text(
            json.dumps({**json.loads(config.read_text()), **changes})
        )
        assert message in refused(original, out)
        shutil.rmtree(original)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("model.safetensors", "cut", "model.safetensors must be complete"),
        ("model.safetensors.index.json", "{", "model.safetensors.index.json must be readable"),
        ("model.safetensors.index.json", "{}", "model.safetensors.index.json must be readable"),
        ("sentencepiece.bpe.model", "no", "must be a SentencePiece model"),
        ("config.json", "[1]", "config.json must be readable"),
        ("vocab.json", "[1]", "must have a tokenizer of m2m100"),
        ("tokenizer_config.json", "{", "must have a tokenizer of m2m100"),
        ("vocab.json", None, "must have vocab.json"),
        ("model.safetensors", None, "must have model.safetensors or pytorch_model.bin"),
    ],
)
def test_damaged_folders_are_one_line(name, content, message, refused, tmp_path):
    original = copied("m2m100", tmp_path / "other")
    if content is None:
        (original / name).unlink()
    else:
        (original / name).write_text(content)
    assert message in refused(original, tmp_path / "out")


def test_a_pickle_that_holds_no_parameters_is_one_line(refused, tmp_path):
    original = copied("m2m100", tmp_path / "other")
    (original / "model.safetensors").unlink()
    for stored in ([1], {"model.shared.weight": [1.0]}):
        torch.save(stored, original / "pytorch_model.bin")
        assert "must have only parameters by name" in refused(original, tmp_path / "out")


def test_a_folder_is_replaced_only_when_asked(refused, tmp_path):
    out = tmp_path / "out"
    convert(folder("m2m100"), out, "--seed", "1")
    before = (out / "model.pt").read_bytes()
    assert "`--force`" in refused(folder("m2m100"), out, "--seed", "2")
    assert (out / "model.pt").read_bytes() == before
    convert(folder("m2m100"), out, "--seed", "2", "--force")
    assert (out / "model.pt").read_bytes() != before
    user_folder = tmp_path / "mine"
    user_folder.mkdir()
    (user_folder / "thesis").write_text("years")
    assert "`--out` must be new" in refused(folder("m2m100"), user_folder, "--force")


def test_an_earlier_conversion_outlives_one_that_fails(tmp_path, monkeypatch):
    """Also where the last step fails, and no folder beside it is touched."""
    out, beside = tmp_path / "out", tmp_path / "out.partial"
    beside.mkdir()
    (beside / "thesis").write_text("years")
    convert(folder("m2m100"), out)
    before = (out / "model.pt").read_bytes()
    rename = Path.rename

    def failing(self, target):
        if self.name == "new":
            raise OSError(5, "Input/output error", str(target))
        return rename(self, target)

    def ended(self, target):
        if self.name == "new":
            os.kill(os.getpid(), signal.SIGTERM)
        return rename(self, target)

    options = ["--from", "m2m100", "--to", "tdo_transformer", "--out", out, "--force"]
    words = ["convert", *map(str, (folder("m2m100"), *options))]
    with kept_logging():
        monkeypatch.setattr(Path, "rename", failing)
        assert main(words) == 2
        monkeypatch.setattr(Path, "rename", ended)
        with pytest.raises(SystemExit) as end:
            main(words)
    assert end.value.code == 128 + signal.SIGTERM
    assert (out / "model.pt").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "out.partial"]
    assert (beside / "thesis").read_text() == "years"
