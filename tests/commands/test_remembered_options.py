"""Models that are used without the options of their training, and with others."""

import json
import shutil

import pytest
import torch
from support.commands import command, hypotheses, logged, scores, succeed
from support.covering import mostly_full
from support.data import (
    CROSS_ENTROPY,
    PACKAGE,
    PAIRS,
    TAG,
    TASK,
    TDO,
    TRAIN,
    built,
    databin,
    generate,
    train,
)
from support.made import made_once
from support.prepared import LARGER, prepared, trained
from support.prepared import TASK as LISTED_TASK
from support.translating import translator_of

from tdo_compat.checkpoint import safe_load
from tdo_plugin.data.databin import MARK, read_data_folder
from tdo_plugin.evaluation.decoding.loading import known_languages, load_models

PADDED = ("--left-pad-source", "False", "--max-source-positions", "40")
OURS = ("--task", "tdo_translation")
DE_FR = ("-s", "de", "-t", "fr", "--beam", "3", "--max-len-b", "10")


@made_once
def _model(folder, flags):
    ending = ("--max-update", "12", "--no-epoch-checkpoints")
    train(folder, *OURS, *TRAIN, *TDO, *CROSS_ENTROPY, *flags, *ending)


def model(*flags):
    return _model(flags) / "checkpoint_last.pt"


def tagged():
    return model(*TASK, *TAG, *PADDED)


def older(path, to):
    """What a version that remembered dictionary and languages alone would have saved."""
    state = safe_load(str(path))
    del state["task_state"]["text"]
    torch.save(state, to)
    return to


def test_generation_without_a_word_is_that_with_all_options(tmp_path):
    expected = generate(*OURS, *TASK, *TAG, *PADDED, *DE_FR, "--path", tagged())
    assert "\nS-5\t__fr__ " in expected
    for path in (tagged(), older(tagged(), tmp_path / "old.pt")):
        output = generate(*OURS, *DE_FR, "--path", path)
        assert "\nS-5\t__fr__ " in output
        assert (hypotheses(output), scores(output)) == (hypotheses(expected), scores(expected))


def test_the_task_is_the_checkpoint_s(run):
    expected = generate(*OURS, *DE_FR, "--path", tagged())
    assert hypotheses(generate(*DE_FR, "--path", tagged())) == hypotheses(expected)
    stock = ("--task", "translation_multi_simple_epoch")
    where = ("--path", trained(task=stock[1]), *DE_FR)
    expected = generate(*where, *stock, *LISTED_TASK, *TAG, data=prepared().root)
    assert hypotheses(generate(*where, data=prepared().root)) == hypotheses(expected)
    log = ("--max-tokens", "120", "--valid-subset", "valid", "--cpu", "--log-format", "json")
    (loss,) = logged(succeed("validate", databin(), "--path", tagged(), *log), "valid_loss")
    assert loss > 0
    done = run("fairseq-eval-lm", databin(), "--user-dir", PACKAGE, "--path", tagged())
    assert "tagged is of the task tdo_translation (fairseq-validate" in done.stderr.replace(
        str(tagged()), "tagged"
    )


def test_another_tag_is_refused_where_a_model_is_used(refused):
    for name in ("generate", "interactive", "validate"):
        more = ("--max-tokens", "99") if name == "validate" else ()
        words = (*OURS, *DE_FR[:4], *more, "--cpu", "--path", tagged(), "--encoder-langtok", "src")
        process = name != "generate"
        refused(f"fairseq-{name}", databin(), *words, names="--encoder-langtok", process=process)


@pytest.mark.full
def test_interactive_use_and_validation_without_a_word():
    source = (databin().parent / "text" / "test.de-fr.de").read_text(encoding="utf-8")
    where = (databin(), *OURS, "--cpu", "--path", tagged())
    done = command("interactive", *where, *DE_FR, stdin=source)
    assert done.returncode == 0, done.stderr
    expected = generate(*OURS, *DE_FR, "--path", tagged())
    assert hypotheses(done.stdout) == hypotheses(expected)
    log = ("--max-tokens", "120", "--log-format", "json", "--valid-subset", "valid")
    (stated_loss,) = logged(succeed("validate", *where, *TASK, *TAG, *PADDED, *log), "valid_loss")
    (remembered_loss,) = logged(succeed("validate", *where, *log), "valid_loss")
    assert remembered_loss == stated_loss


def test_a_training_that_begins_with_a_model(refused, tmp_path):
    flags = (*OURS, *TRAIN, *TDO, *CROSS_ENTROPY, "--max-update", "1", "--no-epoch-checkpoints")
    pairs = ("--lang-pairs", ",".join(PAIRS))
    begun = (*flags, *pairs, "--finetune-from-model", str(tagged()))
    train(tmp_path / "new", *begun)
    state = safe_load(str(tmp_path / "new" / "checkpoint_last.pt"))
    assert state["task_state"]["text"] == safe_load(str(tagged()))["task_state"]["text"]
    assert state["cfg"]["task"].max_source_positions == 40
    with refused.raised("another tag", names="--encoder-langtok"):
        train(tmp_path / "other", *begun, "--encoder-langtok", "src")
    assert not (tmp_path / "other").exists()
    with refused.raised("another side, resumed", names="--left-pad-source"):
        train(tmp_path / "new", *flags, *pairs, "--left-pad-source", "True", "--max-update", "3")


def test_a_task_that_was_made_otherwise_still_compares(refused):
    task, _, _ = built(*OURS, *TASK, *TAG, *TRAIN, *TDO, *CROSS_ENTROPY)
    with refused.raised("another side of padding", names="--left-pad-source"):
        task.load_state_dict(safe_load(str(tagged()))["task_state"])


# --- tdo -------------------------------------------------------------------------------------


def translated(*paths):
    translator = translator_of(*paths, max_len_b=8)
    return [each.text for each in translator.translate_test("de-fr", lambda _: None)]


@made_once
def _listed(folder, way):
    """Models of a data folder of `tdo`, told their languages in other ways than --langs."""
    names = folder / "names.txt"
    names.write_text("fr\nen\nde\n", encoding="utf-8")
    language_flags = ("--lang-dict", str(names)) if way == "file" else ()
    pairs = ("--lang-pairs", "en-de,de-en,en-fr,fr-en")
    flags = (*OURS, *language_flags, *pairs, *TAG, *TRAIN, *TDO, *LARGER, *CROSS_ENTROPY)
    ending = ("--max-update", "20", "--no-epoch-checkpoints", "--disable-validation")
    train(folder, *flags, *ending, data=prepared().root)


LISTED = {"file": ["fr", "en", "de"], "pairs": ["de", "en", "fr"]}


@pytest.mark.parametrize("way", mostly_full(LISTED))
def test_languages_of_a_file_or_of_the_pairs(way, tmp_path):
    path = tmp_path / "model.pt"
    shutil.copy(_listed(way) / "checkpoint_last.pt", path)
    direction = ("-s", "de", "-t", "fr", "--path", path, "--beam", "4", "--max-len-b", "8")
    expected = hypotheses(generate(*OURS, *direction, data=prepared().root))
    assert known_languages(path) == LISTED[way]
    texts = translated(path)
    assert len(texts) == len(expected)
    pieces = ["".join(expected[number].split()).replace("▁", " ").strip() for number in expected]
    assert sorted(pieces) == sorted(texts)
    _as_before(path, way)
    assert known_languages(path) == LISTED[way]
    assert translated(path) == texts


def _as_before(path, way):
    """As an older version saved it: with the name of a file, which is gone, or with nothing."""
    state = safe_load(str(path))
    del state["task_state"]["text"], state["task_state"]["text_form"]
    task = state["cfg"]["task"]
    task.langs, task.lang_dict = None, "/gone/names.txt" if way == "file" else None
    torch.save(state, path)


def test_members_of_an_ensemble_that_read_other_text(refused, tmp_path):
    source_tagged = tmp_path / "other.pt"
    state = safe_load(str(trained()))
    state["cfg"]["task"].langtoks = {"main": ("src", None)}
    del state["task_state"]["text"]
    torch.save(state, source_tagged)
    with refused.raised("an ensemble", names="--encoder-langtok"):
        load_models([trained(), source_tagged], prepared())


def test_text_of_another_form(refused, tmp_path):
    form = safe_load(str(trained()))["task_state"]["text_form"]
    assert form == {"casing": "cased", "tokenization": "none"}
    folder = tmp_path / "data"
    shutil.copytree(prepared().root, folder)
    mark = json.loads((folder / MARK).read_text(encoding="utf-8"))
    del mark["digests"]  # as of a folder that was made before there were any
    mark["form"] = {"casing": "lowercased", "tokenization": "moses"}
    (folder / MARK).write_text(json.dumps(mark), encoding="utf-8")
    with refused.raised("another form", names="lowercased, moses"):
        load_models([trained()], read_data_folder(folder))
