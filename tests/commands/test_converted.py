"""What can be done with the folders of `tdo convert`: text, training, translation."""

from pathlib import Path
from typing import Any

import pytest
import torch
from support.commands import exit_code
from support.data import (
    CROSS_ENTROPY,
    LANGUAGES,
    TAG,
    TASK,
    TRAIN,
    databin,
    preprocess,
    train,
)
from support.made import made_once
from support.pretrained import convert, facts, folder, loaded

from tdo_compat.checkpoint import safe_load

TABLE = "core.embeddings.source.weight"
OURS = ("--langs", "en,de,fr,es")
# as `fine_tuned` trains; the architecture is that of the conversion
FINE_TUNED = (
    *("--arch", "tdo_transformer", "--tdo-layers", "4", "--tdo-target-layer", "2"),
    *("--tdo-norm", "pre", "--tdo-model-dim", "16", "--tdo-heads", "2", "--tdo-ffn-dim", "32"),
    *("--tdo-adaptation-dim", "32", "--tdo-freeze-embeddings"),
)


def test_fairseq_preprocess_reads_the_folder(tmp_path):
    """Text that `spm.model` has cut, with fairseq's own command: every piece has its row."""
    import sentencepiece
    from fairseq.data import data_utils

    out = tmp_path / "out"
    convert(folder("m2m100"), out)
    model = sentencepiece.SentencePieceProcessor(model_file=str(out / "spm.model"))
    cut = [model.encode(text, out_type=str) for text in ("one two three", "four five")]
    for side in ("en", "de"):
        text = "".join(f"{' '.join(pieces)}\n" for pieces in cut)
        (tmp_path / f"train.{side}").write_text(text, encoding="utf-8")
    words = ["--source-lang", "en", "--target-lang", "de", "--trainpref", tmp_path / "train"]
    words += ["--srcdict", out / "dict.txt", "--tgtdict", out / "dict.txt"]
    preprocess(tmp_path / "bin", *map(str, words))
    _, dictionary = loaded(out)
    data = data_utils.load_indexed_dataset(str(tmp_path / "bin" / "train.en-de.en"), dictionary)
    indices = [[dictionary.index(piece) for piece in pieces] for pieces in cut]
    assert [row.tolist()[:-1] for row in data] == indices
    assert all(dictionary.unk() not in row for row in indices)


def text() -> Path:
    return databin().parent / "text"


@made_once
def _fine_tuned(root: Path) -> None:
    out, data = root / "to-tune", root / "data"
    convert(folder("m2m100"), out, *OURS)
    assert exit_code("preprocess", text(), data, "--model-of", out) == 0
    flags = ("--task", "tdo_translation", *TASK, *TAG, *TRAIN, *CROSS_ENTROPY, *FINE_TUNED)
    flags += ("--weight-decay", "0.1", "--max-update", "3", "--disable-validation")
    for name, option in {"models": "--restore-file", "begun": "--finetune-from-model"}.items():
        train(data / name, *flags, option, str(out / "model.pt"), data=data)


def fine_tuned() -> tuple[Path, Path]:
    """(the conversion, data cut with its model and, in it, models that went on from it)."""
    return _fine_tuned() / "to-tune", _fine_tuned() / "data"


def state(path: Path) -> dict[str, Any]:
    return safe_load(str(path), map_location="cpu")


def test_training_goes_on_with_frozen_embeddings():
    out, data = fine_tuned()
    assert (data / "dict.en.txt").read_bytes() == (out / "dict.txt").read_bytes()
    before, after = state(out / "model.pt"), state(data / "models" / "checkpoint_last.pt")
    assert torch.equal(before["model"][TABLE], after["model"][TABLE])
    changed = [
        name
        for name, value in after["model"].items()
        if not torch.equal(value, before["model"][name])
    ]
    assert {*after["model"]} - {*changed} == {TABLE}
    assert after["optimizer_history"][-1]["num_updates"] == 3
    moments = [state["exp_avg"] for state in after["last_optimizer_state"]["state"].values()]
    trained_ones = sum(value.numel() for name, value in after["model"].items() if name != TABLE)
    assert sum(moment.numel() for moment in moments) == trained_ones


def test_either_way_to_begin_is_the_same_training():
    _, data = fine_tuned()
    first, second = (
        state(data / name / "checkpoint_last.pt")["model"] for name in ("models", "begun")
    )
    assert all(torch.equal(value, second[name]) for name, value in first.items())


def test_a_whole_model_translates_as_it_is(tmp_path):
    """With the tags that it was trained with, before any training."""
    _, data = fine_tuned()
    whole, translations = tmp_path / "whole", tmp_path / "out"
    convert(folder("m2m100"), whole, *OURS, to="tdo_encoder_decoder")
    words = ("translate", data, "--path", whole / "model.pt", "--out", translations, "--cpu")
    limits = ("--pairs", "en-de,de-fr", "--beam", "2", "--max-len-b", "5")
    assert exit_code(*words, *limits) == 0
    for direction in ("en-de", "de-fr"):
        assert len((translations / f"{direction}.hyp").read_text().splitlines()) == 6


def test_languages_are_a_subset_in_any_order():
    """The checkpoint fixes its dictionary, not the languages that it is trained on."""
    out, data = fine_tuned()
    assert [*LANGUAGES] == facts(out)["languages"]
    task = ("--task", "tdo_translation", "--langs", "fr,en", "--lang-pairs", "fr-en,en-fr")
    flags = (*task, *TAG, *TRAIN, *CROSS_ENTROPY, *FINE_TUNED, "--max-update", "1")
    begun = ("--disable-validation", "--restore-file", str(out / "model.pt"))
    train(data / "subset", *flags, *begun, data=data)
    before, after = state(out / "model.pt"), state(data / "subset" / "checkpoint_last.pt")
    assert after["optimizer_history"][-1]["num_updates"] == 1
    # the rows are those of the dictionary, not of --langs
    assert torch.equal(before["model"][TABLE], after["model"][TABLE])


@pytest.mark.full
def test_a_corpus_is_prepared_in_the_originals_pieces(refused, tmp_path):
    out, data = tmp_path / "converted", tmp_path / "data"
    convert(folder("m2m100"), out, *OURS)
    command = ("prepare", "--from", text(), "--out", data, "--no-cleaning", "--workers", "1")
    command += ("--model-of", out)
    assert exit_code(*command) == 0
    assert (data / "dict.de.txt").read_bytes() == (out / "dict.txt").read_bytes()
    assert (data / "spm.model").read_bytes() == (out / "spm.model").read_bytes()
    other = tmp_path / "other"
    convert(folder("m2m100"), other, *OURS, "--new-langs", "eus")
    refused(*command, "--model-of", other, names="--out", case="another model")
    refused(*command, "--vocab-size", "50", names="--model-of")
