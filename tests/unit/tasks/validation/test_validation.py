"""What is translated at a validation, and what is refused."""

import json
import random
import shutil
from unittest import mock

import numpy as np
import pytest
import torch
from fairseq.data import Dictionary
from support.data import (
    CROSS_ENTROPY,
    DIRECTIONS,
    TDO,
    VALIDATED,
    built,
    databin,
    databin_zero_shot,
)

from tdo_plugin.errors import UserError
from tdo_plugin.tasks.preserve_training_state import preserve_training_state
from tdo_plugin.tasks.validation.sets import validation_set
from tdo_plugin.tasks.validation.validation_scores import Scorer, to_log
from tdo_plugin.validation_file import read_validations


def begun(*flags, data=None):
    """A task whose training has just begun, and its model."""
    data = data or databin_zero_shot()
    task, model, _ = built(*VALIDATED, *TDO, *CROSS_ENTROPY, *flags, data=data)
    task.begin_epoch(1, model)
    return task, model


# --- directions ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("option", "directions"),
    [
        ("all", DIRECTIONS),
        ("supervised", DIRECTIONS[:6]),
        ("zero-shot", DIRECTIONS[6:]),
        ("fr-de,en-es", ("fr-de", "en-es")),
    ],
)
def test_directions(option, directions):
    task, _ = begun("--eval-translation", option)
    keys = {key for key in task.validation.keys if key.startswith("bleu_") and "-" in key}
    assert keys == {f"bleu_{direction}" for direction in directions}


def test_directions_that_have_a_test_set_alone(tmp_path):
    """`--eval-subset test` translates its sentences, and the file says so."""
    flags = ("--eval-translation", "zero-shot", "--eval-subset", "test")
    task, model = begun(*flags, "--save-dir", str(tmp_path), data=databin())
    assert "bleu_de-fr" in task.validation.keys
    assert {sample.split for sample in task.validation._sets} == {"test"}
    task.begin_valid_epoch(1, model)
    task.validation.write(1)
    (validated,) = read_validations([tmp_path / "validation.jsonl"]).values()
    assert "de-fr" in validated
    assert {row.subset for row in validated.values()} == {"test"}


def test_what_is_left_out_is_said_once(caplog):
    with caplog.at_level("INFO"):
        task, model = begun("--eval-translation", "zero-shot")
        task.begin_epoch(2, model)
    messages = [record.message for record in caplog.records if "left out" in record.message]
    assert messages == [
        "--eval-translation zero-shot: 4 of 6 directions have no valid set and are left out "
        "(de-es, fr-es, es-de, es-fr)"
    ]


BEST = ("--best-checkpoint-metric",)
MAXIMIZE = "--maximize-best-checkpoint-metric"
ALL = ("--eval-translation", "all")
REFUSED = """
--eval-translation de-es                                        :: de-es
--eval-translation en-de,en-it                                  :: en-it
--eval-translation german                                       :: german
--eval-translation zero-shot --lang-pairs en-es,es-en           :: zero-shot
--eval-translation all --eval-sentences 0                       :: --eval-sentences
--eval-translation all --eval-beam 0                            :: --eval-beam
--eval-translation all --eval-max-len-b 0                       :: --eval-max-len-b
--eval-translation all --eval-log-directions -1                 :: --eval-log-directions
--eval-translation all --disable-validation                     :: --eval-translation
--eval-translation all --max-source-positions 3                 :: longest sentence
--eval-translation all --eval-lid nothing.bin                   :: nothing.bin
--eval-translation all --eval-lid corpus                        :: --eval-lid
--best-checkpoint-metric bleu MAXIMIZE                          :: --eval-translation
--eval-translation all --best-checkpoint-metric bleu_de-es MAXIMIZE :: bleu_de-es
--eval-translation all --eval-subset test --best-checkpoint-metric bleu MAXIMIZE :: test
--eval-translation all --best-checkpoint-metric off             :: off
--eval-translation all --best-checkpoint-metric bleu            :: --maximize-best
--eval-translation all --eval-lid references --best-checkpoint-metric off_zero_shot MAXIMIZE \
:: --maximize-best
"""


def test_refused_before_the_first_update(refused):
    for row in REFUSED.strip().splitlines():
        words, _, names = map(str.strip, row.partition("::"))
        with refused.raised(words, names):
            begun(*words.replace("MAXIMIZE", MAXIMIZE).split())


@pytest.mark.parametrize(
    ("flags", "logged_directions"),
    [
        ((*ALL, "--eval-log-directions", "8"), DIRECTIONS),
        ((*ALL, "--eval-log-directions", "7"), ()),
        ((*ALL, "--eval-log-directions", "0", *BEST, "chrf_de-fr", MAXIMIZE), ("de-fr",)),
        (("--eval-translation", "de-fr,en-es", "--eval-log-directions", "1"), ("de-fr", "en-es")),
    ],
)
def test_directions_with_values_of_their_own(flags, logged_directions, caplog):
    """Listed ones, small groups, and the one that chooses checkpoints."""
    with caplog.at_level("INFO"):
        task, model = begun(*flags)
    means = ["bleu", "chrf", "bleu_supervised", "chrf_supervised", "bleu_zero_shot"]
    expected = {
        *means,
        "chrf_zero_shot",
        *(f"{key}_{direction}" for direction in logged_directions for key in means[:2]),
    }
    assert set(task.validation.keys) == expected
    logged = {}
    task.begin_valid_epoch(1, model)
    with mock.patch(
        "fairseq.logging.metrics.log_scalar", lambda key, *_, **__: logged.update({key: 1})
    ):
        task.validation.log()
    assert set(logged) == expected
    assert ("more than --eval-log-directions" in caplog.text) == (len(logged_directions) < 2)


# --- sentences -------------------------------------------------------------------------------


def sample(task, model, direction="de-fr"):
    valid_set = validation_set(task, direction, model)
    return sorted(number for batch in valid_set.batches for number in batch), valid_set


def test_the_sample_is_the_same_every_time():
    task, model = begun("--eval-translation", "all", "--eval-sentences", "4")
    np.random.seed(7)
    first, valid_set = sample(task, model)
    np.random.seed(8)
    assert first == sample(task, model)[0]
    assert len(first) == 4
    assert sorted(valid_set.references) == first
    # sets of one size give the same sentences, so that parallel sets stay parallel
    assert sample(task, model, "en-de")[0] == sample(task, model, "fr-en")[0]
    task.args.eval_sentences = 100
    assert sample(task, model)[0] == list(range(9))


def test_long_sentences_can_be_left_out():
    limit = ("--max-source-positions", "5", "--skip-invalid-size-inputs-valid-test")
    task, model = begun("--eval-translation", "all", *limit)
    numbers, valid_set = sample(task, model)
    words = [len(valid_set.sources[number].split()) for number in numbers]
    assert 0 < len(numbers) < 9
    assert max(words) <= 3  # and the tag and the end
    task.args.max_source_positions = 1
    with pytest.raises(UserError, match="must admit at least one sentence of valid of de-fr"):
        validation_set(task, "de-fr", model)


def test_other_metrics_are_fairseqs():
    begun("--best-checkpoint-metric", "ppl")
    begun(*ALL, "--eval-lid", "references", "--best-checkpoint-metric", "off_zero_shot")


@pytest.mark.parametrize(
    "flags", [(), ("--decoder-langtok",), ("--decoder-langtok", "--lang-tok-replacing-bos-eos")]
)
def test_texts_are_without_tags(flags):
    task, model = begun("--eval-translation", "de-fr", *flags)
    numbers, valid_set = sample(task, model)
    text = databin_zero_shot().parent / "text"
    for side, texts in (("de", valid_set.sources), ("fr", valid_set.references)):
        lines = (text / f"valid.de-fr.{side}").read_text(encoding="utf-8").splitlines()
        assert [texts[number] for number in numbers] == lines


def test_texts_of_a_prepared_folder_have_every_character(tmp_path):
    """In the binarised set an unknown character is <unk>; in the pieces it is itself."""
    data = databin_zero_shot()
    task, model = begun("--eval-translation", "de-fr")
    for path in (*data.glob("valid.de-fr.*"), *data.glob("dict.*")):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "pieces").mkdir()
    for language in ("de", "fr"):
        lines = [f"Æ {language} {number}\n" for number in range(9)]
        (tmp_path / f"pieces/valid.de-fr.{language}").write_text("".join(lines), encoding="utf-8")
    task.args.data = str(tmp_path)
    valid_set = validation_set(task, "fr-de", model)
    assert (valid_set.sources[4], valid_set.references[8]) == ("Æ fr 4", "Æ de 8")


@pytest.mark.parametrize(
    ("casing", "kept", "plain"),
    [
        ("truecased", "das ist &quot; rot &quot; , Anna .", 'Das ist "rot", Anna.'),
        ("lowercased", "das ist rot , anna .", "das ist rot, anna."),
    ],
)
@pytest.mark.parametrize("pieces", [True, False], ids=["pieces", "binarised"])
def test_tokenized_folders_are_scored_as_plain_text(casing, kept, plain, pieces, tmp_path):
    data = tmp_path / "data"
    shutil.copytree(databin_zero_shot(), data)
    form = {"casing": casing, "tokenization": "moses"}
    (data / "prepared.json").write_text(json.dumps({"form": form}), encoding="utf-8")
    if pieces:
        (data / "pieces").mkdir()
        for language in ("de", "fr"):
            path = data / f"pieces/valid.de-fr.{language}"
            path.write_text(f"{kept}\n" * 9, encoding="utf-8")
    save = ("--save-dir", str(tmp_path / "out"))
    with (
        mock.patch("tdo_plugin.tasks.validation.validation.choose_identifier", return_value=None),
        mock.patch.object(Dictionary, "string", return_value=kept),
        mock.patch.object(Scorer, "score", autospec=True, return_value={"bleu": 1.0}) as score,
    ):
        task, model = begun("--eval-translation", "de-fr,fr-de", *save, data=data)
        task.begin_valid_epoch(1, model)
    assert [call.args[1] for call in score.call_args_list] == ["de-fr", "fr-de"]
    for scorer, _, hypotheses, references in (call.args for call in score.call_args_list):
        assert hypotheses == references == [plain] * 9
        assert scorer.lowercase == (casing == "lowercased")
    task.validation.write(1)
    written = (tmp_path / "out/validation.jsonl").read_text(encoding="utf-8").splitlines()
    example = json.loads(written[0])["examples"][0]
    assert example == {"source": plain, "hypothesis": plain, "reference": plain}


def test_lowercase_scores_ignore_case():
    texts = ["Eins zwei DREI vier fünf"], ["eins zwei drei vier fünf"]
    assert Scorer(None, lowercase=True).score("en-de", *texts) == pytest.approx(
        {"bleu": 100, "chrf": 100}
    )
    assert max(Scorer(None).score("en-de", *texts).values()) < 90


# --- what stays ------------------------------------------------------------------------------


def test_nothing_random_is_touched():
    task, model = begun(*ALL)
    model.train()

    def seeded():
        for seed in (random.seed, np.random.seed, torch.manual_seed):
            seed(3)

    def drawn():
        return random.random(), np.random.rand(), torch.rand(1).item()

    seeded()
    expected = drawn()
    seeded()
    with preserve_training_state(model):
        drawn()
        assert not torch.is_grad_enabled()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    task.begin_valid_epoch(1, model)
    assert drawn() == expected
    assert torch.is_grad_enabled()
    assert all(module.training for module in model.modules())
    assert all(parameter.grad is None for parameter in model.parameters())
    torch.testing.assert_close(dict(model.state_dict()), before, rtol=0, atol=0)
    assert task.args.source_lang is None


def test_the_mode_comes_back_after_an_error():
    task, model = begun(*ALL)
    model.train()
    with (
        mock.patch.object(type(model.decoder), "forward", side_effect=RuntimeError),
        pytest.raises(RuntimeError),
    ):
        task.begin_valid_epoch(1, model)
    assert model.training


# --- means -----------------------------------------------------------------------------------


def test_means_are_over_directions_that_have_the_score():
    scores = {
        "en-de": {"bleu": 30.0, "off": 1.0},
        "en-fr": {"bleu": 20.0},
        "de-fr": {"bleu": 4.0, "off": 50.0},
    }
    groups = {"en-de": "supervised", "en-fr": "supervised", "de-fr": "zero_shot"}
    assert to_log(scores, groups, ["en-fr", "de-fr"]) == {
        **{"bleu": 18.0, "off": 25.5},
        **{"bleu_supervised": 25.0, "off_supervised": 1.0},
        **{"bleu_zero_shot": 4.0, "off_zero_shot": 50.0},
        **{"bleu_en-fr": 20.0, "bleu_de-fr": 4.0, "off_de-fr": 50.0},
    }
