"""`tdo export` of trained models that need code of their own, and the way back."""

import json
import shutil

import pytest
from support.commands import exit_code
from support.prepared import prepared, trained
from support.remote_code import loaded_elsewhere

from tdo_compat.checkpoint import safe_load
from tdo_plugin.export.opened_model import open_model

PAIRS = ("en-de", "de-en", "de-fr")
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


@pytest.mark.long
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
    shutil.copy(folder / "sentencepiece.bpe.model", again)
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


@pytest.mark.long
def test_convert_restores_the_checkpoint(checkpoint, folder, rows, tmp_path):
    back = tmp_path / "back"
    assert exit_code("convert", folder, "--from", "tdo", "--out", back) == 0
    same_weights(checkpoint, back / "model.pt")
    restored = open_model(back / "model.pt", prepared().root)
    assert restored.spec == open_model(checkpoint, prepared().root).spec
    assert translated(back / "model.pt", tmp_path / "out") == rows


def test_convert_refuses_what_is_no_such_folder(folder, tmp_path, capsys):
    out = tmp_path / "out"

    def line(*words, path=folder):
        assert exit_code("convert", path, "--from", "tdo", "--out", out, *words) == 2
        assert not out.exists()
        message = capsys.readouterr().err
        assert len(message.splitlines()) == 1, message
        return message

    capsys.readouterr()
    assert "`--to` must be left out with `--from tdo`" in line("--to", "tdo_transformer")
    assert "`--layers` must be left out" in line("--layers", "3")
    assert "`--seed` must be left out" in line("--seed", "1")
    assert "must be readable" in line(path=tmp_path)

    def damaged(name, change):
        copy = tmp_path / "damaged"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(folder, copy)
        path = copy / name
        path.write_bytes(change(path.read_bytes()))
        return copy

    def changed(**values):
        return damaged("config.json", lambda text: json.dumps(json.loads(text) | values).encode())

    assert "must be a folder of `tdo export`" in line(path=changed(model_type="m2m_100"))
    assert "must be a multiple of `--tdo-heads`" in line(path=changed(num_heads=3))
    assert "`--tdo-norm` must be" in line(path=changed(norm="both"))
    assert "must be of type int" in line(path=changed(num_layers="3"))
    assert "must be as `tdo export` wrote it" in line(path=changed(languages="en"))
    assert "must be as `tdo export` wrote it" in line(path=changed(init=None))
    assert "config.json must be at least two, each once" in line(path=changed(languages=["en"]))
    assert "each once; they are en, en" in line(path=changed(languages=["en", "en"]))
    for name in ("pairs", "directions"):
        assert f"`{name}` in" in line(path=changed(**{name: ["en"]}))
        assert "between en, de, fr, each once; it has" in line(path=changed(**{name: ["en-xx"]}))
    assert "`directions` in" in line(path=changed(directions=[]))
    assert "must have a casing among" in line(path=changed(text_form={"casing": "weird"}))
    assert "`encoder_langtok` in" in line(path=changed(text_settings={"encoder_langtok": "x"}))
    assert "`--lang-tok-style`" in line(path=changed(text_settings={"lang_tok_style": 3}))
    assert "the checkpoint must fit the architecture" in line(path=changed(num_layers=5))
    assert "tokenizer.json must be readable" in line(path=damaged("tokenizer.json", lambda _: b"{"))
    assert "must be complete" in line(path=damaged("model.safetensors", lambda data: data[:-9]))
