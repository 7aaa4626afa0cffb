"""`tdo export` of trained models that need code of their own, and the way back."""

import json
import shutil

import pytest
from support.commands import exit_code
from support.prepared import prepared, trained
from support.remote_code import loaded_elsewhere

from tdo_compat.checkpoint import safe_load
from tdo_plugin.export.opened_model import open_model

PAIRS = ("en-de", "de-fr")
AWARE = (
    *("--encoder-langtok", "src", "--decoder-langtok"),
    *("--tdo-laln", "both", "--tdo-lalt", "identity"),
)


@pytest.fixture(scope="module")
def checkpoint():
    return trained(*AWARE)


@pytest.fixture(scope="module")
def folder(checkpoint, tmp_path_factory):
    """A folder of a two-stage model with tags on both sides."""
    out = tmp_path_factory.mktemp("exported") / "model"
    assert exit_code("export", checkpoint, out, "--to", "hf", "--data", prepared().root) == 0
    return out


def translated(checkpoint, out):
    """What `tdo translate` makes of the test sets: rows with source, text and direction."""
    words = ("--pairs", ",".join(PAIRS), "--cpu", "--workers", "1", "--out", out)
    assert exit_code("translate", prepared().root, "--path", checkpoint, *words) == 0
    rows = []
    for pair in PAIRS:
        with (out / f"{pair}.jsonl").open(encoding="utf-8") as stream:
            rows += [{**json.loads(line), "pair": pair} for line in stream]
    return rows


@pytest.fixture(scope="module")
def rows(checkpoint, tmp_path_factory):
    """What `tdo translate` makes of the checkpoint."""
    return translated(checkpoint, tmp_path_factory.mktemp("translated") / "out")


def test_a_batch_of_all_directions_is_translated_alike(checkpoint, folder, rows, tmp_path):
    texts = [[row["source"], *row["pair"].split("-")] for row in rows]
    (result,) = loaded_elsewhere(
        [{"folder": str(folder), "texts": texts}], tmp_path, tmp_path / "cache"
    )
    expected = [row["hypothesis"] for row in rows]
    assert result["texts"] == expected
    assert result["first"] == expected[0]
    assert result["dtype"] == "torch.bfloat16" and 0 < result["half"] < 0.02
    again = folder.with_name("model-again")  # saved by transformers
    assert exit_code("convert", again, "--from", "tdo", "--out", tmp_path / "back") == 0
    same_weights(checkpoint, tmp_path / "back" / "model.pt")
    opened = open_model(checkpoint, prepared().root)
    assert open_model(tmp_path / "back" / "model.pt", prepared().root).spec == opened.spec
    tags = {opened.row(tag) for tag in opened.tags.values()}
    assert not {0, 1, 2, *tags} & {*result["awkward"]}  # it is text
    for ids, labels in zip(result["ids"], result["labels"], strict=True):
        assert len(tags & {*ids}) == len(tags & {*labels}) == 1


def same_weights(checkpoint, other):
    before, after = (safe_load(str(path), map_location="cpu") for path in (checkpoint, other))
    assert before["task_state"] == after["task_state"]
    assert before["model"].keys() == after["model"].keys()
    for name, value in before["model"].items():
        assert value.dtype == after["model"][name].dtype and value.equal(after["model"][name]), name


def test_convert_restores_the_checkpoint(checkpoint, folder, rows, tmp_path):
    back = tmp_path / "back"
    assert exit_code("convert", folder, "--from", "tdo", "--out", back) == 0
    same_weights(checkpoint, back / "model.pt")
    restored = open_model(back / "model.pt", prepared().root)
    assert restored.spec == open_model(checkpoint, prepared().root).spec
    assert translated(back / "model.pt", tmp_path / "out") == rows


CHANGED = [
    ({"model_type": "m2m_100"}, "tdo export"),
    ({"num_heads": 3}, "--tdo-heads"),
    ({"norm": "both"}, "--tdo-norm"),
    ({"num_layers": "3"}, "of type int"),
    ({"languages": "en"}, "as `tdo export` wrote it"),
    ({"init": None}, "as `tdo export` wrote it"),
    ({"languages": ["en"]}, "config.json"),
    ({"languages": ["en", "en"]}, "en, en"),
    ({"pairs": ["en"]}, "`pairs` in"),
    ({"pairs": ["en-xx"]}, "between en, de, fr"),
    ({"directions": ["en"]}, "`directions` in"),
    ({"directions": ["en-xx"]}, "between en, de, fr"),
    ({"directions": []}, "`directions` in"),
    ({"text_form": {"casing": "weird"}}, "casing"),
    ({"text_settings": {"encoder_langtok": "x"}}, "`encoder_langtok` in"),
    ({"text_settings": {"lang_tok_style": 3}}, "--lang-tok-style"),
    ({"num_layers": 5}, "the checkpoint must fit"),
]


def test_convert_refuses_what_is_no_such_folder(refused, folder, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    refused.rows(
        """
        convert {path} --from tdo --out {out}
            --to tdo_transformer   :: --to
            --layers 3             :: --layers
            --seed 1               :: --seed
        convert {empty} --from tdo --out {out} :: must be readable
        """,
        path=copy,
        empty=tmp_path,
        out=tmp_path / "out",
    )
    words = ("convert", copy, "--from", "tdo", "--out", tmp_path / "out")
    config = copy / "config.json"
    whole = config.read_text()
    for values, names in CHANGED:
        config.write_text(json.dumps(json.loads(whole) | values))
        refused(*words, names=names, case=values)
    config.write_text(whole)
    weights = (copy / "model.safetensors").read_bytes()
    (copy / "model.safetensors").write_bytes(weights[:-9])
    refused(*words, names="complete", case="model.safetensors cut off")
    (copy / "tokenizer.json").write_text("{")
    refused(*words, names="tokenizer.json", case="no tokenizer.json")
