"""What model, vocabulary, batch and updates a corpus and a machine get, and what is written."""

from dataclasses import replace
from pathlib import Path

import pytest

from tdo_plugin.experiments.document_reader import read_document
from tdo_plugin.start.choices import (
    ROOM,
    SIZES,
    SYSTEMS,
    Asked,
    Corpus,
    choose,
    rounded,
    training_memory,
)
from tdo_plugin.start.experiment_file import experiment, write_experiment
from tdo_plugin.start.machine_facts import MachineFacts
from tdo_plugin.start.nllb_commands import nllb_commands, unknown

CPU = MachineFacts(0, 16, 2, together=2)
GPU = MachineFacts(1, 80, 16, "bf16")


def corpus(sentences, languages="de en", alphabet=100):
    codes = tuple(languages.split())
    pairs = {(codes[0], code): sentences // (len(codes) - 1) for code in codes[1:]}
    return Corpus(pairs, codes, 15.0, alphabet)


def test_size_by_text_and_machine():
    for sentences, machine, size in (
        (5_000_000, CPU, "tiny"),
        (10_000, GPU, "tiny"),
        (100_000, GPU, "small"),
        (2_000_000, GPU, "base"),
        (20_000_000, GPU, "big"),
        (20_000_000, replace(GPU, memory=24), "base"),
    ):
        assert choose(corpus(sentences), machine, Asked()).size == SIZES[size]


def test_every_choice_has_a_reason_on_one_line():
    choices = choose(corpus(87_000, "en de fr cs"), CPU, Asked())
    names = [
        "systems",
        "recommended",
        "model",
        "vocabulary",
        "batch",
        "memory",
        "updates",
        "regularisation",
    ]
    assert [*choices.reasons] == names
    assert all(": " in why and "\n" not in why for why in choices.reasons.values())
    assert choices.vocab_size == 8_000 and choices.systems == SYSTEMS
    assert choose(corpus(5_000, alphabet=6_000), CPU, Asked()).vocab_size == 9_000
    assert corpus(10, "en de fr").zero_shot() == [("de", "fr")] and not corpus(10).zero_shot()
    assert rounded(3_123) == 3_100 and rounded(99) == 99


def test_options_decide():
    choices = choose(corpus(1_000), GPU, Asked((), "base", 777, 40, 0, 5))
    assert choices.size == SIZES["base"] and choices.vocab_size == 777 and choices.updates == 40
    assert choices.warmup == 10 and choices.eval_sentences == 5
    for name, option in (("model", "size"), ("vocabulary", "vocab-size"), ("updates", "updates")):
        assert f"set by `--{option}`" in choices.reasons[name]


def test_hours_are_a_budget():
    one, two = (choose(corpus(5_000_000), CPU, Asked(hours=hours)).updates for hours in (1, 2))
    assert 1.8 * one < two < 2.2 * one
    assert choose(corpus(5_000_000), CPU, Asked()).updates == one
    few = choose(corpus(1_000), GPU, Asked(hours=1_000))
    assert few.updates < 10_000 and "30 passes" in few.reasons["updates"]


def test_a_small_memory_gets_small_batches():
    wide = corpus(10_000_000)
    large, small = (choose(wide, replace(GPU, memory=m), Asked(size="base")) for m in (80, 8))
    assert (large.max_tokens, large.update_freq) == (32_000, 1)
    assert small.update_freq == 8 and small.max_tokens == 4_000


def test_trainings_on_a_cpu_fit_its_memory():
    """Smaller batches first, then one training at a time; what does not fit even so is said."""
    wide, base = corpus(10_000_000, "en de fr"), SIZES["base"]
    asked = Asked(size="base")
    made = {size: choose(wide, replace(CPU, memory=size), asked) for size in (500, 30, 4)}
    for size, choices in made.items():
        need = training_memory(wide, choices.systems, base, choices.vocab_size, choices.max_tokens)
        assert choices.machine.together * need <= ROOM * size
    assert made[500].update_freq < made[30].update_freq
    assert [choices.machine.together for choices in made.values()] == [2, 2, 1]
    one = choose(corpus(10_000_000), CPU, asked)
    assert one.machine.together == 1 and one.machine.speed == 2 * made[500].machine.speed
    none = choose(wide, replace(CPU, memory=2), Asked(size="base"))
    assert "more than the 2.0 GiB of this machine" in none.reasons["memory"]
    assert "more than" not in made[4].reasons["memory"]


def test_a_batch_holds_the_longest_sentence_that_a_data_folder_has():
    for machine in (CPU, replace(GPU, memory=1), replace(CPU, memory=0.1)):
        for sentences in (200, 10_000_000):
            assert choose(corpus(sentences), machine, Asked()).max_tokens >= 1_002


@pytest.mark.parametrize(
    ("languages", "asked", "systems", "recommended"),
    [
        ("de en", (), "encoder-decoder", "encoder-decoder"),
        ("de en", ("tdo-instrucl", "encoder-decoder"), "tdo-instrucl encoder-decoder",
         "encoder-decoder"),
        ("en de fr", (), "encoder-decoder tdo-instrucl", "tdo-instrucl"),
        ("en de fr", ("encoder-decoder",), "encoder-decoder", "encoder-decoder"),
    ],
)  # fmt: skip
def test_the_file_is_one_of_experiments(languages, asked, systems, recommended, tmp_path):
    choices = choose(corpus(20_000, languages), CPU, Asked(asked, eval_sentences=3))
    text = experiment('text of "ours"', Path("/run/data"), choices)
    path = tmp_path / "experiment.toml"
    path.write_text(text)
    document = read_document(path, lambda name: path)
    assert [*document.systems] == [*document.tables["comparison"].rows] == systems.split()
    assert document.recommended == recommended
    assert document.title == 'text of "ours"'
    assert document.flags["max-update"] == choices.updates
    for name, system in document.systems.items():
        assert system.flags["eval-sentences"] == 3
        assert ("loss-terms" in system.flags) == (name == "tdo-instrucl")


def test_an_edited_file_stays(tmp_path):
    path = tmp_path / "experiment.toml"
    assert write_experiment(tmp_path, "a = 1\n") and write_experiment(tmp_path, "a = 2\n")
    assert path.read_text() == "a = 2\n"
    path.write_text("a = 3\n")
    assert not write_experiment(tmp_path, "a = 4\n") and path.read_text() == "a = 3\n"
    path.unlink()
    assert write_experiment(tmp_path, "a = 4\n")


def test_commands_of_nllb():
    assert unknown(["deu", "en", "tlh"]) == ["tlh"]
    convert, preprocess, translate = nllb_commands(["deu", "pt_BR"], Path("runs/a b"))
    assert "--langs deu=deu_Latn,pt_BR=por_Latn --out 'runs/a b/nllb'" in convert
    assert "--model-of 'runs/a b/nllb'" in preprocess and "nllb/model.pt" in translate
