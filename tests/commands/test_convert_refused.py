"""What `tdo convert` refuses, in one line, and that nothing is lost where it ends early."""

import json
import os
import signal
from pathlib import Path

import pytest
import torch
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
def of_folder(refused, tmp_path):
    """``of_folder(original, *words, ...)``: a conversion of this folder is refused."""

    def run(original, *words, out=None, **told):
        options = ("--from", "m2m100", "--to", "tdo_transformer", "--out", out or tmp_path / "out")
        return refused("convert", original, *options, *words, **told)

    return run


def test_requests(refused, tmp_path):
    text, dictionary, spm = (tmp_path / name for name in ("text", "dictionary", "other.model"))
    text.touch()
    dictionary.write_text("one 1\ntwo\t-1.5\n")
    spm.write_bytes(segmentation())
    refused.rows(
        """
        convert {m2m} --from m2m100 --to tdo_transformer --out {out}
            --layers 3                                      :: --layers
            --layers 1000000000                             :: --layers
            --seed 100000000000000000000                    :: --seed
            --stack 1-4                                     :: --stack
            --stack decoder:4-1                             :: --stack
            --stack decoder:1-3                             :: --stack
            --stack decoder:2-5                             :: --stack
            --to tdo_encoder_decoder --stack decoder:1-4    :: --stack
            --to tdo_encoder_decoder --layers 3 --decoder encoder:1-3 :: --decoder
            --langs en,xx                               :: xx
            --from nllb                                     :: nllb
            --langs en                                  :: --langs
            --langs de=en,fr                            :: de
            --langs e-n=en,fr                           :: --langs
            --new-langs "e s"                           :: --new-langs
            --new-langs de                              :: --new-langs
            --like de                                       :: --new-langs
            --new-langs eus --new-pieces 9              :: --extend-vocabulary
            --new-pieces 9                                  :: --new-langs
            --new-langs eus --extend-vocabulary {none}  :: --extend-vocabulary
            --new-langs eus --extend-vocabulary {text}  :: --new-pieces
            --to tdo_prefix_decoder_only --adaptation-dim 8 :: --adaptation-dim
            --to tdo_prefix_decoder_only --target-layer 1   :: --target-layer
            --to tdo_encoder_decoder --adaptation-dim 8     :: --adaptation-dim
            --to tdo_encoder_decoder --target-layer 1       :: --target-layer
            {own}                                           :: --dict
        convert {fairseq} --from m2m100 --to tdo_transformer --out {out} :: --dict
            --dict {dictionary} --spm {spm_file}            :: line 2
            {own_dict} --spm {spm}                          :: --spm
        """,
        m2m=folder("m2m100"),
        out=tmp_path / "out",
        none=tmp_path / "none",
        text=text,
        fairseq=fairseq_checkpoint(),
        dictionary=dictionary,
        spm=spm,
        spm_file=spm_file(),
        own=own_files(),
        own_dict=own_files()[:2],
    )


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ({"activation_function": "gelu"}, "activation_function"),
        ({"model_type": "marian"}, "model_type"),
        ({"d_model": "16"}, "d_model"),
        ({"max_position_embeddings": None}, "max_position_embeddings"),
        ({"decoder_layers": 5}, "decoder.layers.4.self_attn.q_proj.weight"),
        ({"decoder_layers": 3}, "decoder.layers.3."),
        ({"encoder_ffn_dim": 12}, "[12, 16]"),
    ],
)
def test_other_models(changes, names, of_folder, tmp_path):
    original = copied("m2m100", tmp_path / "other")
    config = original / "config.json"
    config.write_text(json.dumps({**json.loads(config.read_text()), **changes}))
    of_folder(original, names=names, case=changes)


@pytest.mark.parametrize(
    ("name", "content", "names"),
    [
        ("model.safetensors", "cut", "model.safetensors"),
        ("model.safetensors.index.json", "{", "model.safetensors.index.json"),
        ("model.safetensors.index.json", "{}", "model.safetensors.index.json"),
        ("sentencepiece.bpe.model", "no", "SentencePiece"),
        ("config.json", "[1]", "config.json"),
        ("vocab.json", "[1]", "tokenizer"),
        ("tokenizer_config.json", "{", "tokenizer"),
        ("vocab.json", None, "vocab.json"),
        ("model.safetensors", None, "model.safetensors"),
    ],
)
def test_damaged_folders(name, content, names, of_folder, tmp_path):
    original = copied("m2m100", tmp_path / "other")
    if content is None:
        (original / name).unlink()
    else:
        (original / name).write_text(content)
    of_folder(original, names=names, case=f"{name}: {content}")


def test_a_pickle_that_holds_no_parameters(of_folder, tmp_path):
    original = copied("m2m100", tmp_path / "other")
    (original / "model.safetensors").unlink()
    for stored in ([1], {"model.shared.weight": [1.0]}):
        torch.save(stored, original / "pytorch_model.bin")
        of_folder(original, names="parameters", case=stored)


def test_a_folder_is_replaced_only_when_asked(of_folder, tmp_path):
    out = tmp_path / "out"
    convert(folder("m2m100"), out, "--seed", "1")
    before = (out / "model.pt").read_bytes()
    of_folder(folder("m2m100"), "--seed", "2", names="--fresh")
    assert (out / "model.pt").read_bytes() == before
    convert(folder("m2m100"), out, "--seed", "2", "--fresh")
    assert (out / "model.pt").read_bytes() != before
    user_folder = tmp_path / "mine"
    user_folder.mkdir()
    (user_folder / "thesis").write_text("years")
    of_folder(folder("m2m100"), "--fresh", out=user_folder, names="--out")


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

    options = ["--from", "m2m100", "--to", "tdo_transformer", "--out", out, "--fresh"]
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
