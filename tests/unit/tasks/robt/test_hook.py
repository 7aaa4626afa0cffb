"""What back-translation leaves as it was, what it leaves out, and what it logs."""

import random
from unittest import mock

import numpy as np
import pytest
import torch
from fairseq.logging import metrics
from fairseq.tasks import FairseqTask
from support.criterion_models import Optimizer
from support.data import INSTRUCL, LANGUAGES, TAG, TASK, built, generation, iterate
from support.robt_task import ROBT, STRATEGIES, TOPOLOGIES, lively, made_of, text
from support.workers import in_torch_s_wrapper

from tdo_plugin.tasks.robt import hook as hook_module


def begun(*flags):
    task, model, _ = lively(*flags)
    return task, model, iterate(task, "train", max_positions=None)[0]


# --- what is left as it was ------------------------------------------------------------------


def gradients(model):
    grads = {name: parameter.grad.clone() for name, parameter in model.named_parameters()}
    model.zero_grad()
    return grads


def assert_the_union_is_trained_on(task, model, criterion):
    sample = iterate(task, "train", max_positions=None)[0]
    (pseudo,), robt_logs = made_of(task, model, sample, 7)
    step = (model, criterion, Optimizer(), 7)
    loss, size, logs = task.train_step(sample, *step)
    together = gradients(model)
    parts = [FairseqTask.train_step(task, batch, *step) for batch in (sample, pseudo)]
    apart = gradients(model)
    for name, gradient in together.items():
        assert torch.equal(gradient, apart[name]), name
    assert loss.item() == pytest.approx(sum(part[0].item() for part in parts))
    assert size == sum(part[1] for part in parts)
    for key in parts[0][2]:
        assert float(logs[key]) == pytest.approx(sum(float(part[2][key]) for part in parts)), key
    assert {key: logs[key] for key in robt_logs if key != "robt_seconds"} == {
        key: value for key, value in robt_logs.items() if key != "robt_seconds"
    }


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_the_gradient_is_that_of_both_batches_as_data(topology):
    assert_the_union_is_trained_on(*lively(*TAG, "--dropout", "0", *TOPOLOGIES[topology]))


def test_the_gradient_with_instrucl():
    task, model, _ = lively(*TAG, "--dropout", "0", "--tdo-share-embeddings", "all")
    _, _, criterion = built(*ROBT, *INSTRUCL, *TAG)
    assert_the_union_is_trained_on(task, model, criterion)


def test_an_ignored_batch_has_no_gradient_and_the_same_logs():
    """The dummy batch of a worker that has no data left."""
    task, model, criterion = lively(*TAG)
    sample = iterate(task, "train", max_positions=None)[0]
    step = (model, criterion, Optimizer(), 7)
    _, _, logs = task.train_step(sample, *step)
    gradients(model)
    loss, _, ignored = task.train_step(sample, *step, ignore_grad=True)
    assert loss == 0
    assert not any(gradient.any() for gradient in gradients(model).values())
    assert list(ignored) == list(logs)


def test_dropout_is_off_in_the_search_and_nothing_random_is_drawn():
    task, model, sample = begun(*TAG, "--dropout", "0.4", "--attention-dropout", "0.4")
    before = {name: value.clone() for name, value in model.state_dict().items()}
    sources = []
    for seed in (1, 2):
        for generator in (random.seed, np.random.seed, torch.manual_seed):
            generator(seed)
        draws = random.random(), np.random.rand(), torch.rand(1)
        for generator in (random.seed, np.random.seed, torch.manual_seed):
            generator(seed)
        (batch,), _ = made_of(task, model, sample)
        sources.append(batch["net_input"]["src_tokens"])
        assert (random.random(), np.random.rand(), torch.rand(1)) == draws
    assert torch.equal(*sources)
    assert all(module.training for module in model.modules())
    assert torch.is_grad_enabled()
    assert all(parameter.grad is None for parameter in model.parameters())
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


def test_the_mode_comes_back_after_an_error():
    """A training goes on after a batch for which the memory did not suffice."""
    task, model, sample = begun(*TAG)
    error = RuntimeError("out of memory")
    failing = mock.patch.object(type(model.decoder), "forward", side_effect=error)
    with failing, pytest.raises(RuntimeError):
        made_of(task, model, sample)
    assert all(module.training for module in model.modules())
    assert torch.is_grad_enabled()
    assert len(made_of(task, model, sample)[0]) == 1


def test_the_wrapper_of_distributed_training(tmp_path):
    task, model, sample = begun(*TAG)
    plain, _ = made_of(task, model, sample)

    def work(wrapped):
        batches, _ = made_of(task, wrapped, sample)
        assert wrapped.training
        return text(task, batches[0])

    assert in_torch_s_wrapper(model, work, tmp_path / "meeting") == text(task, plain[0])


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32], ids=str)
@pytest.mark.parametrize("strategy", ["tgt", "tgt and decoder"])
def test_lower_precision(dtype, strategy):
    task, model, sample = begun(*STRATEGIES[strategy])
    expected_rows = {row["id"]: row for row in rows_of(made_of(task, model, sample)[0][0])}
    rows = list(rows_of(made_of(task, model.to(dtype), sample)[0][0]))
    same = sum(row == expected_rows.get(row["id"]) for row in rows)
    assert same >= (0.9 if dtype == torch.float32 else 0.5) * max(len(rows), len(expected_rows))


def rows_of(batch):
    columns = (batch["id"], batch["net_input"]["tgt_lang_id"][:, 0])
    for number, (sentence, language) in enumerate(zip(*columns, strict=True)):
        source = batch["net_input"]["src_tokens"][number]
        yield {"id": (int(sentence), int(language)), "source": source[source.ne(1)].tolist()}


# --- what is left out, and counted -----------------------------------------------------------


def searched(task, model, sample, words):
    """What is made where the search finds the same words for every sentence, in its place."""

    def found(task, model, sides, queries):
        return [words] * len(queries)

    with mock.patch("tdo_plugin.tasks.robt.search._search", found):
        return made_of(task, model, sample)


def test_what_is_of_no_use_is_dropped_and_counted():
    task, model, sample = begun(*TAG)
    longest = int(sample["target"].ne(task.target_dictionary.pad()).sum(1).max()) + 1
    word, tag = (task.target_dictionary.index(symbol) for symbol in ("zwei", "__fr__"))
    useless = ((9,) * longest, (), (tag,), (0, tag))
    for words in (*useless, (9,) * 2, tuple(range(9, 99)), (tag, word)):
        batches, logs = searched(task, model, sample, words)
        assert logs["robt_drawn"] == len(sample["id"])
        kept = words not in useless
        assert logs["robt_made"] == kept * len(sample["id"])
        assert len(batches) == kept


def test_scores_that_are_no_numbers_translate_nothing():
    task, model, sample = begun(*TAG)
    with torch.no_grad():
        model.core.embeddings.output_weight.fill_(torch.nan)
    batches, logs = made_of(task, model, sample)
    assert not batches
    assert logs["robt_drawn"] == len(sample["id"])
    assert logs["robt_made"] == 0


def test_targets_that_cannot_be_translated_are_dropped_and_counted():
    """Without a word, or with too many for a source."""
    task, model, _ = lively(*TAG, "--max-source-positions", "6")
    sample = next(
        batch
        for batch in iterate(task, "train", max_positions=None)
        if len(batch["target"].ne(task.target_dictionary.pad()).sum(1).clamp(5, 6).unique()) == 2
    )
    padding, eos = task.target_dictionary.pad(), task.target_dictionary.eos()
    lengths = sample["target"].ne(padding).sum(1)
    sample["target"][0] = padding
    sample["target"][0, 0] = eos
    fitting = lengths.add(1).le(6)
    fitting[0] = False
    assert 0 < lengths.add(1).gt(6).sum() < len(fitting) - 1
    word = task.target_dictionary.index("zwei")
    (batch,), logs = searched(task, model, sample, (word, word + 1))
    assert logs["robt_drawn"] == len(fitting)
    assert logs["robt_made"] == fitting.sum()
    assert batch["id"].tolist() == sample["id"][fitting].tolist()


def test_a_translation_has_room_on_the_source():
    """However long it may be by the ratio."""
    task, model, _ = lively(*TAG, "--max-source-positions", "9", "--robt-max-length-ratio", "3")
    for sample in iterate(task, "train", max_positions=None)[:2]:
        for batch in made_of(task, model, sample)[0]:
            assert batch["net_input"]["src_tokens"].size(1) <= 9


@pytest.mark.parametrize("tags", [TAG, (*TAG, "--decoder-langtok")], ids=" ".join)
def test_a_translation_has_room_on_the_target(tags):
    """The model writes an end, perhaps a tag, too; so that is where an endless one is seen."""
    task, model, sample = begun(
        *tags, "--max-target-positions", "9", "--robt-max-length-ratio", "9"
    )
    room = 9 - 1 - ("--decoder-langtok" in tags)
    for words, kept in ((room, False), (room - 1, True)):
        _, logs = searched(task, model, sample, (9,) * words)
        assert logs["robt_made"] == kept * len(sample["id"])


def test_none_before_the_first_such_update():
    task, model, sample = begun(*TAG, "--robt-start-update", "6")
    with mock.patch.object(hook_module, "translate") as never:
        batches, early = made_of(task, model, sample, 5)
    assert not batches and not never.called
    assert not any(value for key, value in early.items() if key != "robt_seconds")
    batches, late = made_of(task, model, sample, 6)
    assert batches
    assert list(early) == list(late)


def test_none_where_no_target_is_listed():
    """Such a batch is trained on as it is; another one's pseudo-pairs have listed targets only."""
    task, model, sample = begun(*TAG, "--robt-languages", "fr,es", "--robt-targets", "listed")
    fed = sample["net_input"]
    listed = [LANGUAGES.index(name) + 1 for name in ("fr", "es")]
    (pseudo,), logs = made_of(task, model, sample)
    rows = sum(fed["tgt_lang_id"].eq(number).sum() for number in listed)
    assert 0 < logs["robt_drawn"] == rows < len(sample["id"])
    assert set(pseudo["net_input"]["tgt_lang_id"].flatten().tolist()) <= set(listed)
    fed["tgt_lang_id"] = torch.full_like(fed["tgt_lang_id"], LANGUAGES.index("de") + 1)
    with mock.patch.object(hook_module, "translate") as never:
        batches, without = made_of(task, model, sample)
    assert not batches and not never.called
    assert list(without) == list(logs)
    assert not any(value for key, value in without.items() if key != "robt_seconds")


# --- the log ---------------------------------------------------------------------------------


def logged(task, *logs):
    (hook,) = task.step_hooks
    with metrics.aggregate(new_root=True) as aggregator:
        for entry in logs:
            hook.log(entry)
    return aggregator.get_smoothed_values()


def entries(drawn, translated, words, seconds, **languages):
    totals = {
        "robt_drawn": drawn,
        "robt_made": translated,
        "robt_words": words,
        "robt_seconds": seconds,
    }
    counted = dict.fromkeys((f"robt_to_{name}" for name in LANGUAGES), 0)
    return {**counted, **totals, **{f"robt_to_{name}": n for name, n in languages.items()}}


def test_what_is_logged():
    """Two updates, the first of two batches; no more digits than are of use."""
    task, _, _ = lively(*TAG)
    first = [entries(4, 3, 12, 0.5, de=3, fr=1), entries(4, 1, 2, 0.25, en=4)]
    second = [entries(8, 8, 46, 0.2507, es=8)]
    assert logged(task, first, second) == {
        "robt_seconds": 0.5,
        "robt_dropped": 0.25,
        "robt_length": 5.0,
        **{"robt_en": 0.25, "robt_de": 0.188, "robt_fr": 0.062, "robt_es": 0.5},
    }


def test_an_update_without_any_changes_no_mean():
    """Nor does one between two logs leave an entry empty."""
    task, _, _ = lively(*TAG)
    none, some = [entries(0, 0, 0, 0.0)], [entries(4, 2, 8, 1.0, de=4)]
    zero = dict.fromkeys(
        ("robt_dropped", "robt_length", *(f"robt_{language}" for language in LANGUAGES)), 0
    )
    assert logged(task, none) == {"robt_seconds": 0.0, **zero}
    assert logged(task, none, some) == {**logged(task, some), "robt_seconds": 0.5}


def test_of_many_languages_the_least_and_the_most_are_logged():
    with mock.patch.object(hook_module, "MOST_LOGGED", 3):
        task, _, _ = lively(*TAG)
        smoothed = logged(task, [entries(4, 0, 0, 0.5, de=3, fr=1)])
    assert smoothed == {
        **{"robt_seconds": 0.5, "robt_dropped": 1.0, "robt_length": 0},
        **{"robt_least": 0.0, "robt_most": 0.75},
    }


def test_validation_does_not_translate_back():
    task, model, criterion = lively(*TAG)
    sample = iterate(task, "valid", max_positions=None)[0]
    with mock.patch.object(hook_module, "translate") as never:
        _, _, logs = task.valid_step(sample, model, criterion)
    assert not never.called
    assert not any(key.startswith("robt") for key in logs)


def test_generation_has_no_hook():
    _, task = generation("--task", "tdo_robt", *TASK, *TAG, "-s", "de", "-t", "fr")
    assert not task.step_hooks
