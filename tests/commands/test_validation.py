"""Scores during training: right, the same for all workers, and without a trace in the training."""

import json
import re
from collections import Counter
from unittest import mock

import pytest
import torch
from support.commands import exit_code, hypotheses, succeed, two_workers
from support.covering import mostly_full
from support.data import (
    CROSS_ENTROPY,
    DIRECTIONS,
    INSTRUCL,
    NUMBERS,
    TASK,
    TDO,
    VALIDATED,
    databin,
    databin_zero_shot,
    generate,
    train,
)
from support.made import made_once
from support.prepared import prepared
from support.trainings import assert_same_parameters
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

BASE = (*VALIDATED, *TDO, *CROSS_ENTROPY, "--validate-interval-updates", "3")
EVAL = ("--eval-translation", "all", "--eval-lid", "references", "--eval-max-len-b", "4")


def lines(folder):
    text = (folder / "validation.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


@made_once
def model(folder, *tags):
    often = ("--save-interval", "99", "--validate-interval", "99", "--max-tokens", "300")
    flags = (*VALIDATED, *TDO, *CROSS_ENTROPY, *often, "--lr", "0.03", "--dropout", "0")
    train(folder, *flags, *tags, "--max-update", "60", data=databin_zero_shot())


def trained(*tags):
    """A checkpoint that puts out words that are sometimes right."""
    return model(*tags) / "checkpoint_last.pt"


def from_trained(folder, *flags, tags=()):
    """One update at a learning rate of zero, and a validation."""
    start = ("--finetune-from-model", str(trained(*tags)), "--lr", "0", "--max-update", "1")
    train(folder, *BASE, *EVAL, *start, *flags, *tags, data=databin_zero_shot())
    return {line["direction"]: line for line in lines(folder)}


# --- the scores ------------------------------------------------------------------------------


TAGS = {
    "source": (),
    "both": ("--decoder-langtok",),
    "replacing": ("--decoder-langtok", "--lang-tok-replacing-bos-eos"),
}


@pytest.mark.parametrize(("tags",), mostly_full(zip(TAGS.values(), strict=True)), ids=TAGS)
def test_scores_are_those_of_fairseq_generate_and_sacrebleu(tags, tmp_path):
    """All sentences, beam search; with the target's tag on either side."""
    from sacrebleu.metrics import BLEU, CHRF

    measured = from_trained(tmp_path, "--eval-beam", "3", tags=tags)
    assert tuple(measured) == DIRECTIONS
    for direction in ("fr-en", "fr-de"):
        source, target = direction.split("-")
        printed = generate(
            *("--task", "tdo_translation", *TASK, "--encoder-langtok", "tgt", *tags),
            *("--path", tmp_path / "checkpoint_last.pt", "-s", source, "-t", target),
            *("--gen-subset", "valid", "--beam", "3", "--max-len-a", "2", "--max-len-b", "4"),
            *("--num-workers", "0"),
            data=databin_zero_shot(),
        )
        by_number = hypotheses(printed)
        texts = [by_number[number] for number in sorted(by_number)]
        pairs = re.findall(r"^T-(\d+)\t(.*)$", printed, re.MULTILINE)
        references = [text for _, text in sorted(pairs, key=lambda pair: int(pair[0]))]
        line = measured[direction]
        assert line["sentences"] == len(references) == (9 if direction == "fr-de" else 6)
        assert line["group"] == ("zero_shot" if direction == "fr-de" else "supervised")
        assert [example["hypothesis"] for example in line["examples"]] == texts[:3]
        assert [example["reference"] for example in line["examples"]] == references[:3]
        assert set(line["examples"][0]["source"].split()) <= set(NUMBERS[source].split())
        for key, metric in (("bleu", BLEU(tokenize="13a")), ("chrf", CHRF(word_order=2))):
            expected = metric.corpus_score(texts, [references]).score
            assert line[key] == pytest.approx(expected, abs=0.006), (direction, key)
    # BLEU of so small a model may be 0 on some processors
    assert any(line["chrf"] > 0 for line in measured.values())


def test_the_log_and_tensorboard_have_them(tmp_path, caplog):
    with caplog.at_level("INFO"):
        measured = from_trained(
            tmp_path, "--log-format", "simple", "--tensorboard-logdir", str(tmp_path / "events")
        )
    logged = next(record.message for record in caplog.records if "valid on" in record.message)
    events = EventAccumulator(str(tmp_path / "events" / "valid"))
    events.Reload()
    assert "loss" in events.Tags()["scalars"]
    for key in ("bleu", "chrf", "off"):
        mean = sum(measured[direction][key] for direction in DIRECTIONS) / len(DIRECTIONS)
        zero_shot = (measured["de-fr"][key] + measured["fr-de"][key]) / 2
        values = {key: mean, f"{key}_zero_shot": zero_shot}
        values |= {f"{key}_{direction}": line[key] for direction, line in measured.items()}
        for name, value in values.items():
            # both are rounded to two decimals, and so are those that a mean is of
            assert events.Scalars(name)[0].value == pytest.approx(value, abs=0.0101), name
            shown = re.search(rf"\| {name} (\S+)", logged)
            assert float(shown[1]) == pytest.approx(value, abs=0.0101), name


def test_off_target_share_is_of_the_chosen_identifier(tmp_path):
    """By words instead of the classifier: what is not of the target's numbers is off."""

    class Words:
        signature = "words"

        def label(self, language):
            return None if language == "es" else language

        def identify(self, sentences):
            of = {word: language for language in NUMBERS for word in NUMBERS[language].split()}
            counts = [Counter(of[word] for word in sentence.split()) for sentence in sentences]
            return [count.most_common(1)[0][0] for count in counts]

    place = "tdo_plugin.tasks.validation.validation_scores.identifier"
    with mock.patch(place, return_value=Words()):
        measured = from_trained(tmp_path)
    assert "off" not in measured["en-es"]  # the identifier does not know Spanish
    for direction in ("en-de", "de-fr"):
        texts = [example["hypothesis"] for example in measured[direction]["examples"]]
        off = [language != direction[3:] for language in Words().identify(texts)]
        share = measured[direction]["off"] / 100 * measured[direction]["sentences"]
        assert share == pytest.approx(round(share), abs=0.01)
        assert sum(off) <= round(share) <= sum(off) + measured[direction]["sentences"] - 3


def test_a_prepared_folder_has_zero_shot_sets_and_knows_its_languages(tmp_path):
    """From text to scores: `tdo preprocess --join-valid`, and the identifier that comes with it."""
    text, data = prepared().root.with_name("text"), tmp_path / "data"
    words = ("preprocess", text, data, "--vocab-size", "150")
    assert exit_code(*words, "--join-valid", "5") == 0
    flags = (*VALIDATED[:2], "--langs", "en,de,fr", "--lang-pairs", "en-de,de-en,en-fr,fr-en")
    flags = (*flags, *VALIDATED[6:], *TDO, *CROSS_ENTROPY, "--max-update", "1")
    folder = tmp_path / "found"
    train(folder, *flags, "--eval-translation", "zero-shot", "--eval-sentences", "5", data=data)
    both = lines(folder)
    found = [(line["direction"], line["sentences"]) for line in both]
    assert found == [("de-fr", 5), ("fr-de", 5)]
    english = [(text / f"valid.en-{code}.en").read_text().splitlines() for code in ("de", "fr")]
    sides = [(text / f"valid.en-{code}.{code}").read_text().splitlines() for code in ("de", "fr")]
    german, french = (dict(zip(*pair, strict=True)) for pair in zip(english, sides, strict=True))
    pairs = {(german[line], french[line]) for line in german.keys() & french}
    for example in both[0]["examples"]:
        assert (example["source"], example["reference"]) in pairs
    assert all(0 <= line["off"] <= 100 for line in both)
    assert exit_code(*words) == 2  # other settings
    assert exit_code(*words, "--fresh") == 0
    assert list(data.rglob("valid.en-de.*")) and not list(data.rglob("valid.de-fr.*"))


# --- the training ----------------------------------------------------------------------------


@pytest.mark.full
def test_training_does_not_notice(tmp_path):
    """Two epochs with dropout and InstruCL, bit by bit; an interrupted one keeps its file."""
    flags = (*BASE, *INSTRUCL, "--dropout", "0.1")
    data, few = databin_zero_shot(), (*EVAL, "--eval-sentences", "2")
    without = train(tmp_path / "without", *flags, "--max-update", "12", data=data)
    measured = train(tmp_path / "with", *flags, *few, "--max-update", "12", data=data)
    assert measured == without
    first = train(tmp_path / "parts", *flags, *few, "--max-update", "6", data=data)
    second = train(tmp_path / "parts", *flags, *few, "--max-update", "12", data=data)
    assert first + second == without
    for name in ("with", "parts"):
        assert_same_parameters(tmp_path / "without", tmp_path / name)
    updates = [line["update"] for line in lines(tmp_path / "with")]
    assert list(dict.fromkeys(updates)) == [3, 6, 9, 12]
    assert lines(tmp_path / "parts") == lines(tmp_path / "with")


@pytest.mark.parametrize("precision", mostly_full(["--bf16", "--fp16 --fp16-no-flatten-grads"]))
def test_half_precision(precision, tmp_path):
    flags = (*BASE, *EVAL, *precision.split(), "--max-update", "3")
    train(tmp_path, *flags, data=databin_zero_shot())
    assert [line["direction"] for line in lines(tmp_path)] == list(DIRECTIONS)


def test_two_workers_get_the_scores_of_one(tmp_path):
    expected = from_trained(tmp_path / "one", "--max-tokens-valid", "8")
    output = two_workers(
        *(databin_zero_shot(), *BASE, *EVAL, "--finetune-from-model", trained(), "--lr", "0"),
        *("--max-update", "1", "--max-tokens-valid", "8"),
        *("--best-checkpoint-metric", "chrf", "--maximize-best-checkpoint-metric"),
        save_dir=tmp_path / "two",
    )
    assert {line["direction"]: line for line in lines(tmp_path / "two")} == expected
    assert len(re.findall("translated 54 validation sentences of 8 directions", output)) == 1


# --- choosing checkpoints ----------------------------------------------------------------------


def test_the_best_checkpoint_and_patience(tmp_path):
    """By a BLEU that rises, falls for two validations, and would rise again."""
    from fairseq_cli.train import should_stop_early

    scripted = iter([10.0, 30.0, 20.0, 25.0, 40.0])
    vars(should_stop_early).clear()  # as save_checkpoint, it keeps its best on itself
    with mock.patch(
        "tdo_plugin.tasks.validation.validation_scores.Scorer.score",
        lambda *_: {"bleu": next(scripted), "chrf": 50.0},
    ):
        batches = train(
            tmp_path,
            *(*BASE, "--eval-translation", "de-fr", "--max-update", "30", "--patience", "2"),
            *("--best-checkpoint-metric", "bleu_zero_shot", "--maximize-best-checkpoint-metric"),
            *("--save-interval-updates", "3", "--keep-best-checkpoints", "1"),
            *("--max-epoch", "9"),
            data=databin_zero_shot(),
        )
    vars(should_stop_early).clear()
    assert len(batches) == 12
    best = torch.load(tmp_path / "checkpoint_best.pt", weights_only=False)
    assert best["extra_state"]["best"] == best["extra_state"]["val_loss"] == 30
    assert best["optimizer_history"][-1]["num_updates"] == 6
    (kept,) = tmp_path.glob("checkpoint.best_*")
    assert kept.name[:-4] == "checkpoint.best_bleu_zero_shot_30.000"  # and a random digit
    last = torch.load(tmp_path / "checkpoint_last.pt", weights_only=False)
    assert last["extra_state"]["best"] == 30


@pytest.mark.full
def test_a_checkpoint_is_used_without_its_validation_data(tmp_path):
    """Decoding and fairseq-validate build the task of the checkpoint, but measure nothing."""
    from_trained(tmp_path, "--eval-sentences", "2")
    path = ("--path", tmp_path / "checkpoint_last.pt", "--num-workers", "0")
    assert "H-5" in generate(*VALIDATED[:8], *path, "-s", "de", "-t", "fr", data=databin())
    output = succeed("validate", databin(), *VALIDATED[:8], *path, "--cpu", "--batch-size", "6")
    assert "valid_bleu" not in output and "valid on 'valid' subset" in output
