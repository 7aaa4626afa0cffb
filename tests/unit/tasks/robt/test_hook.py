"""The batch that back-translation makes, and what is left as it was."""

import random
from unittest import mock

import numpy as np
import pytest
import torch
from fairseq.logging import metrics
from fairseq.tasks import FairseqTask
from integration.data import (
    CROSS_ENTROPY,
    ENCODER_DECODER,
    INSTRUCL,
    LANGUAGES,
    TAG,
    TASK,
    TDO,
    TRAIN,
    built,
    dictionary,
    generation,
    iterate,
)
from unit.tasks.robt.reference import WHOLE, algorithm, read

from tdo_plugin.tasks.robt import hook as hook_module

ROBT = ("--task", "tdo_robt", *TASK, *TRAIN, *TDO)
PREFIX = ("--tdo-target-layer", "0", "--tdo-adaptation-dim", "0")
MERGED = (*ENCODER_DECODER, "--tdo-decoder-attention", "merged")
TOPOLOGIES = {
    "tdo": (),
    "prefix": PREFIX,
    "encoder-decoder": ENCODER_DECODER,
    "language-aware": ("--tdo-laln", "both", "--tdo-lalt", "xavier"),
    "merged, language-aware": (*MERGED, "--tdo-laln", "both", "--tdo-lalt", "xavier"),
}
STRATEGIES = {
    "tgt": TAG,
    "decoder": ("--decoder-langtok",),
    "tgt and decoder": (*TAG, "--decoder-langtok"),
    "src and decoder": ("--encoder-langtok", "src", "--decoder-langtok"),
}


END = 2.5  # makes the end as likely as is good for a test
# a model whose next word depends on where it stands, so that not all is repetition
VARIED = (
    *("--tdo-share-embeddings", "none", "--tdo-position-embedding", "learned"),
    *("--max-source-positions", "24", "--max-target-positions", "24"),
)


def lively(*flags, seed=10, data=None):
    """Task, float64 model in training mode, and criterion; translations vary, and most go on."""
    task, model, criterion = built(*ROBT, *CROSS_ENTROPY, *VARIED, *flags, data=data)
    torch.manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            scale = 2 if "position" in name else 0.3
            parameter.add_(torch.randn_like(parameter) * scale * (parameter.dim() > 1))
        model.core.embeddings.output_weight[task.target_dictionary.eos()] *= END
    return task, model.double().train(), criterion


def made_of(task, model, sample, update=5):
    (hook,) = task.step_hooks
    batches, logs = hook.batches(sample, model, update)
    assert batches[0] is sample
    return batches[1:], logs


def text(task, batch):
    """Each instance of a batch, as the reference has it."""
    fed, rows = batch["net_input"], []
    for k, tokens in enumerate(fed["src_tokens"]):
        languages = [LANGUAGES[int(fed[f"{side}_lang_id"][k, 0]) - 1] for side in ("src", "tgt")]
        rows.append((read(task.source_dictionary, tokens), *languages))
    return rows


# --- against a loop over Algorithm 1 ---------------------------------------------------------


def assert_algorithm_1(task, model, **options):
    """Every batch equals the loop's; how many instances there were, were of use, had an end."""
    samples = iterate(task, "train", max_positions=None)[:2]
    total = made_in_all = ended_in_all = 0
    for update, sample in enumerate(samples):
        batches, logs = made_of(task, model, sample, update)
        assert model.training
        wanted = algorithm(task, model.eval(), sample, update, **{**WHOLE, **options})
        made, drawn, ended = wanted
        model.train()
        counted = {name: logs[f"robt_to_{name}"] for name in options.get("languages", LANGUAGES)}
        assert counted == {name: drawn.count(name) for name in counted}
        assert (logs["robt_drawn"], logs["robt_made"]) == (len(drawn), len(made))
        assert len(batches) == bool(made)
        for batch in batches:
            assert text(task, batch) == [one[1:] for one in made]
            assert_targets_of(task, sample, batch, [one[0] for one in made])
        total, made_in_all = total + len(drawn), made_in_all + len(made)
        ended_in_all += ended
    return total, made_in_all, ended_in_all


def assert_targets_of(task, sample, batch, rows):
    """Target side, numbers and sizes of a batch are those of some rows of another."""
    assert batch["id"].tolist() == sample["id"][rows].tolist()
    padding = task.target_dictionary.pad()
    for one in (
        lambda batch: batch["target"],
        lambda batch: batch["net_input"]["prev_output_tokens"],
    ):
        own, original = one(batch), one(sample)[rows]
        width = own.size(1)
        assert torch.equal(own, original[:, :width])
        assert original[:, width:].eq(padding).all()
        assert not own[:, -1].eq(padding).all()
    assert batch["ntokens"] == batch["target"].ne(padding).sum()
    assert batch["nsentences"] == len(rows)
    lengths = batch["net_input"]["src_tokens"].ne(padding).sum(1)
    assert torch.equal(batch["net_input"]["src_lengths"], lengths)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_the_pseudo_batch_is_algorithm_1s(topology, strategy):
    task, model, _ = lively(*TOPOLOGIES[topology], *STRATEGIES[strategy])
    total, made, ended = assert_algorithm_1(task, model)
    # the seed is such that each kind of outcome is among them
    assert 0 < made < total
    assert 0 < ended < total


@pytest.mark.parametrize(
    ("flags", "options"),
    [
        (("--robt-languages", "fr,de"), {"languages": ("fr", "de")}),
        (("--robt-share", "0.5"), {"share": 0.5}),
        (("--robt-max-length-ratio", "0.5"), {"ratio": 0.5}),
        (("--robt-max-length-ratio", "2.5"), {"ratio": 2.5}),
        (("--left-pad-source", "False"), {}),
        (("--whole-search",), {}),
    ],
    ids=lambda one: " ".join(one) if isinstance(one, tuple) else "",
)
def test_options_are_algorithm_1s(flags, options):
    task, model, _ = lively(*TAG, *flags)
    _, made, _ = assert_algorithm_1(task, model, **options)
    assert made


def test_beam_search():
    """The same draws; other translations of the same targets, none above its limit."""
    (greedy, wide) = (made_by("--robt-beam", beam) for beam in ("1", "3"))
    assert sources_of(wide) == sources_of(made_by("--robt-beam", "3", "--whole-search"))
    assert [logs["robt_drawn"] for _, logs in wide] == [logs["robt_drawn"] for _, logs in greedy]
    assert sources_of(wide) != sources_of(greedy)
    for batches, _ in wide:
        sources = batches[0]["net_input"]["src_lengths"]
        lengths = batches[0]["target"].ne(1).sum(1)
        assert (sources - 2 <= lengths + 1).all()  # tag and end on both


@pytest.mark.parametrize("strategy", ["decoder", "tgt and decoder"])
def test_the_tasks_own_generator_behind_tags(strategy):
    task, model, _ = lively(*STRATEGIES[strategy], "--whole-search")
    total, made, ended = assert_algorithm_1(task, model)
    assert 0 < made < total
    assert ended


def test_scores_that_are_no_numbers_translate_nothing():
    task, model, _ = lively(*TAG)
    sample = iterate(task, "train", max_positions=None)[0]
    with torch.no_grad():
        model.core.embeddings.output_weight.fill_(torch.nan)
    batches, logs = made_of(task, model, sample)
    assert not batches
    assert logs["robt_drawn"] == len(sample["id"])
    assert logs["robt_made"] == 0


def sources_of(made):
    return [batches[0]["net_input"]["src_tokens"].tolist() for batches, _ in made]


def made_by(*flags):
    task, model, _ = lively(*TAG, *flags)
    samples = iterate(task, "train", max_positions=None)[:2]
    return [made_of(task, model, sample) for sample in samples]


# --- dictionaries of both sides --------------------------------------------------------------


def test_words_go_from_one_dictionary_to_the_other_by_their_symbols(tmp_path):
    """The source's has another order, and no French."""
    own = dictionary(tmp_path / "source.txt", ("es", "de", "en"))
    both = dictionary(tmp_path / "target.txt")
    flags = ("--source-dict", str(own), "--target-dict", str(both))
    task, model, _ = lively(*TAG, *flags)
    sample = iterate(task, "train", max_positions=None)[0]
    (batch,), _ = made_of(task, model, sample)
    made, *_ = algorithm(task, model.eval(), sample, 5, **WHOLE)
    assert text(task, batch) == [
        ([known(task, word) for word in words], *languages) for _, words, *languages in made
    ]
    unknown = batch["net_input"]["src_tokens"].eq(task.source_dictionary.unk()).any(1)
    assert 0 < unknown.sum() < len(unknown)


def known(task, word):
    return task.source_dictionary[task.source_dictionary.index(word)]


# --- what is left as it was ------------------------------------------------------------------


class Optimizer:
    """The part of an optimiser that a step needs."""

    def backward(self, loss):
        loss.backward()


def gradients(model):
    found = {name: one.grad.clone() for name, one in model.named_parameters()}
    model.zero_grad()
    return found


def assert_the_union_is_trained_on(task, model, criterion):
    sample = iterate(task, "train", max_positions=None)[0]
    (pseudo,), made = made_of(task, model, sample, 7)
    step = (model, criterion, Optimizer(), 7)
    loss, size, logs = task.train_step(sample, *step)
    together = gradients(model)
    parts = [FairseqTask.train_step(task, one, *step) for one in (sample, pseudo)]
    apart = gradients(model)
    for name, one in together.items():
        assert torch.equal(one, apart[name]), name
    assert loss.item() == pytest.approx(sum(part[0].item() for part in parts))
    assert size == sum(part[1] for part in parts)
    for key in parts[0][2]:
        assert float(logs[key]) == pytest.approx(sum(float(part[2][key]) for part in parts)), key
    assert {key: logs[key] for key in made if key != "robt_seconds"} == {
        key: value for key, value in made.items() if key != "robt_seconds"
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
    assert not any(one.any() for one in gradients(model).values())
    assert list(ignored) == list(logs)


def test_dropout_is_off_in_the_search_and_nothing_random_is_drawn():
    task, model, _ = lively(*TAG, "--dropout", "0.4", "--attention-dropout", "0.4")
    sample = iterate(task, "train", max_positions=None)[0]
    before = {name: one.clone() for name, one in model.state_dict().items()}
    found = []
    for seed in (1, 2):
        for generator in (random.seed, np.random.seed, torch.manual_seed):
            generator(seed)
        wanted = random.random(), np.random.rand(), torch.rand(1)
        for generator in (random.seed, np.random.seed, torch.manual_seed):
            generator(seed)
        (batch,), _ = made_of(task, model, sample)
        found.append(batch["net_input"]["src_tokens"])
        assert (random.random(), np.random.rand(), torch.rand(1)) == wanted
    assert torch.equal(*found)
    assert all(module.training for module in model.modules())
    assert torch.is_grad_enabled()
    assert all(parameter.grad is None for parameter in model.parameters())
    assert all(torch.equal(one, before[name]) for name, one in model.state_dict().items())


def test_the_mode_comes_back_after_an_error():
    """A training goes on after a batch for which the memory did not suffice."""
    task, model, _ = lively(*TAG)
    sample = iterate(task, "train", max_positions=None)[0]
    error = RuntimeError("out of memory")
    failing = mock.patch.object(type(model.decoder), "forward", side_effect=error)
    with failing, pytest.raises(RuntimeError):
        made_of(task, model, sample)
    assert all(module.training for module in model.modules())
    assert torch.is_grad_enabled()
    assert len(made_of(task, model, sample)[0]) == 1


def test_the_wrapper_of_distributed_training():
    from fairseq.distributed import ModuleProxyWrapper
    from torch import distributed

    task, model, _ = lively(*TAG)
    sample = iterate(task, "train", max_positions=None)[0]
    plain, _ = made_of(task, model, sample)
    distributed.init_process_group("gloo", store=distributed.HashStore(), rank=0, world_size=1)
    try:
        wrapped = ModuleProxyWrapper(torch.nn.parallel.DistributedDataParallel(model))
        found, _ = made_of(task, wrapped, sample)
        assert wrapped.training
    finally:
        distributed.destroy_process_group()
    assert text(task, found[0]) == text(task, plain[0])


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32], ids=str)
@pytest.mark.parametrize("strategy", ["tgt", "tgt and decoder"])
def test_lower_precision(dtype, strategy):
    """Most of the translations stay the same."""
    task, model, _ = lively(*STRATEGIES[strategy])
    sample = iterate(task, "train", max_positions=None)[0]
    wanted = {row["id"]: row for row in rows_of(made_of(task, model, sample)[0][0])}
    rows = list(rows_of(made_of(task, model.to(dtype), sample)[0][0]))
    same = sum(row == wanted.get(row["id"]) for row in rows)
    assert same >= (0.9 if dtype == torch.float32 else 0.5) * max(len(rows), len(wanted))


def rows_of(batch):
    columns = (batch["id"], batch["net_input"]["tgt_lang_id"][:, 0])
    for number, (one, language) in enumerate(zip(*columns, strict=True)):
        source = batch["net_input"]["src_tokens"][number]
        yield {"id": (int(one), int(language)), "source": source[source.ne(1)].tolist()}


# --- what is left out, and counted -----------------------------------------------------------


def searched(task, model, sample, words):
    """What is made where the search finds the same words for every sentence, in its place."""

    def found(task, model, sides, queries):
        return [words] * len(queries)

    with mock.patch("tdo_plugin.tasks.robt.search._search", found):
        return made_of(task, model, sample)


def test_what_repeats_itself_without_an_end_is_dropped_and_counted():
    task, model, _ = lively(*TAG)
    sample = iterate(task, "train", max_positions=None)[0]
    longest = int(sample["target"].ne(task.target_dictionary.pad()).sum(1).max()) + 1
    for words, kept in (((9,) * longest, False), ((9,) * 2, True), (tuple(range(9, 99)), True)):
        batches, logs = searched(task, model, sample, words)
        assert logs["robt_drawn"] == len(sample["id"])
        assert logs["robt_made"] == kept * len(sample["id"])
        assert len(batches) == kept


def test_what_has_no_word_is_dropped_and_counted():
    task, model, _ = lively(*TAG)
    sample = iterate(task, "train", max_positions=None)[0]
    word, tag = (task.target_dictionary.index(one) for one in ("zwei", "__fr__"))
    for words, kept in (((), False), ((tag,), False), ((0, tag), False), ((tag, word), True)):
        batches, logs = searched(task, model, sample, words)
        assert logs["robt_made"] == kept * len(sample["id"])
        assert len(batches) == kept


def test_targets_that_cannot_be_translated_are_dropped_and_counted():
    """Without a word, or with too many for a source."""
    task, model, _ = lively(*TAG, "--max-source-positions", "6")
    sample = next(
        one
        for one in iterate(task, "train", max_positions=None)
        if len(one["target"].ne(task.target_dictionary.pad()).sum(1).clamp(5, 6).unique()) == 2
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
    task, model, _ = lively(*tags, "--max-target-positions", "9", "--robt-max-length-ratio", "9")
    sample = iterate(task, "train", max_positions=None)[0]
    room = 9 - 1 - ("--decoder-langtok" in tags)
    for words, kept in ((room, False), (room - 1, True)):
        _, logs = searched(task, model, sample, (9,) * words)
        assert logs["robt_made"] == kept * len(sample["id"])


def test_none_before_the_first_such_update():
    task, model, _ = lively(*TAG, "--robt-start-update", "6")
    sample = iterate(task, "train", max_positions=None)[0]
    with mock.patch.object(hook_module, "translate") as never:
        batches, early = made_of(task, model, sample, 5)
    assert not batches and not never.called
    assert not any(value for key, value in early.items() if key != "robt_seconds")
    batches, late = made_of(task, model, sample, 6)
    assert batches
    assert list(early) == list(late)


# --- the log ---------------------------------------------------------------------------------


def logged(task, *logs):
    (hook,) = task.step_hooks
    with metrics.aggregate(new_root=True) as found:
        for one in logs:
            hook.log(one)
    return found.get_smoothed_values()


def entries(drawn, made, words, seconds, **languages):
    own = {"robt_drawn": drawn, "robt_made": made, "robt_words": words, "robt_seconds": seconds}
    counted = dict.fromkeys((f"robt_to_{name}" for name in LANGUAGES), 0)
    return {**counted, **own, **{f"robt_to_{name}": n for name, n in languages.items()}}


def test_what_is_logged():
    """Two updates, the first of two batches."""
    task, _, _ = lively(*TAG)
    first = [entries(4, 3, 12, 0.5, de=3, fr=1), entries(4, 1, 2, 0.25, en=4)]
    second = [entries(8, 8, 46, 0.25, es=8)]
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
    zero = dict.fromkeys(("robt_dropped", "robt_length", *(f"robt_{one}" for one in LANGUAGES)), 0)
    assert logged(task, none) == {"robt_seconds": 0.0, **zero}
    assert logged(task, none, some) == {**logged(task, some), "robt_seconds": 0.5}


def test_of_many_languages_the_least_and_the_most_are_logged():
    with mock.patch.object(hook_module, "MOST_LOGGED", 3):
        task, _, _ = lively(*TAG)
        found = logged(task, [entries(4, 0, 0, 0.5, de=3, fr=1)])
    assert found == {
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
