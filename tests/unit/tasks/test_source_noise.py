"""BERT-style noise on sources: what is disturbed, how often, and what it depends on."""

from argparse import Namespace

import pytest
import torch
from fairseq import metrics
from fairseq.data import Dictionary
from support.data import CROSS_ENTROPY, TAG, TASK, TDO, TRAIN, built, databin, generation, iterate

from tdo_plugin.models.batch_keys import CLEAN_SOURCE
from tdo_plugin.tasks.source_noise import MASK, SourceNoise, add_mask_symbol, check_noise_options

FLAGS = (*TASK, *TAG, *TRAIN, *TDO, *CROSS_ENTROPY)
BERT = ("--source-noise", "bert")


def task_of(*flags, name="tdo_translation"):
    return built("--task", name, *FLAGS, *BERT, *flags)[0]


def test_the_mask_stands_behind_all_other_symbols():
    noisy, plain = task_of(), built("--task", "tdo_translation", *FLAGS)[0]
    for side in ("source_dictionary", "target_dictionary"):
        with_mask, without_mask = getattr(noisy, side), getattr(plain, side)
        assert with_mask.symbols == [*without_mask.symbols, MASK]
        assert with_mask.index(MASK) == len(without_mask)


def test_where_a_model_is_used_the_dictionary_has_it_too():
    task = generation("--task", "tdo_translation", *TASK, *TAG, *BERT, "-s", "en", "-t", "de")[1]
    assert MASK in task.source_dictionary
    assert task.step_hooks == []


def disturbed_often(task, draws=400):
    """The words of one source of many tokens, and what came of them, (draws, tokens)."""
    dictionary = task.source_dictionary
    noise = SourceNoise(task)
    words = [dictionary.index(word) for word in ("one", "zwei", "trois", "cuatro")] * 25
    tag, pad = dictionary.index("__de__"), dictionary.pad()
    row = torch.tensor([[pad, pad, tag, *words, dictionary.unk(), dictionary.eos()]])
    return row, torch.cat([noise.disturbed(row, [1, 2, draw])[0] for draw in range(draws)])


def test_shares_over_many_draws():
    task = task_of()
    dictionary = task.source_dictionary
    row, noisy = disturbed_often(task)
    words = slice(3, -1)
    changed = noisy != row
    # padding, tag and end symbol never change; an unknown word may
    assert not changed[:, :3].any() and not changed[:, -1].any()
    assert changed[:, -2].any()
    tokens = noisy[:, words]
    count = tokens.numel()
    masked = tokens.eq(dictionary.index(MASK)).sum().item() / count
    replaced = (changed[:, words] & tokens.ne(dictionary.index(MASK))).sum().item() / count
    # five standard deviations of a share among so many draws
    assert abs(masked - 0.12) < 5 * (0.12 * 0.88 / count) ** 0.5
    vocabulary = 28  # words of four languages; one in as many is drawn in its own place
    expected = 0.015 * (1 - 1 / vocabulary)
    assert abs(replaced - expected) < 5 * (expected / count) ** 0.5
    # each position is picked as often as any other
    each = changed[:, words].double().mean(0)
    assert (each - each.mean()).abs().max() < 5 * (0.135 * 0.865 / len(noisy)) ** 0.5


def test_random_tokens_are_words_and_all_of_them():
    shares = {"rate": "1", "mask": "0", "random": "1"}
    flags = [word for name in shares for word in (f"--source-noise-{name}", shares[name])]
    task = task_of(*flags)
    dictionary = task.source_dictionary
    _, noisy = disturbed_often(task, 60)
    drawn = noisy[:, 3:-1].unique().tolist()
    special = {dictionary.bos(), dictionary.pad(), dictionary.eos(), dictionary.unk()}
    tags = {dictionary.index(f"__{language}__") for language in task.langs}
    words = set(range(len(dictionary))) - special - tags - {dictionary.index(MASK)}
    assert set(drawn) == words
    counts = torch.bincount(noisy[:, 3:-1].flatten(), minlength=len(dictionary))[sorted(words)]
    expected = counts.sum().item() / len(words)
    assert (counts - expected).abs().max() < 5 * expected**0.5


def test_padding_of_the_vocabulary_is_no_word():
    dictionary = Dictionary()
    for word in ("one", "two", "madeupword0000", "madeupword0001", "__de__", MASK):
        dictionary.add_symbol(word)
    shares = {"rate": 1.0, "mask": 0.0, "random": 1.0}
    args = Namespace(seed=1, lang_tok_style="multilingual", langtoks_specs=["main"])
    vars(args).update({f"source_noise_{name}": share for name, share in shares.items()})
    noise = SourceNoise(Namespace(args=args, source_dictionary=dictionary, langs=["de"]))
    noisy, _ = noise.disturbed(torch.full((9, 9), dictionary.index("one")), [3])
    assert {dictionary[token] for token in noisy.unique().tolist()} == {"one", "two"}


def test_the_tag_of_synthetic_sources_is_no_word():
    task = task_of("--back-translated-tag", "<bt>", *("--source-noise-rate", "1"))
    dictionary = task.source_dictionary
    tag = dictionary.index("<bt>")
    assert dictionary.symbols[-2:] == ["<bt>", MASK]
    row = torch.tensor([[dictionary.index("__de__"), tag, *[dictionary.index("one")] * 50]])
    draws = [SourceNoise(task).disturbed(row, [number])[0] for number in range(60)]
    assert all(draw[0, 1] == tag and not draw[0, 2:].eq(tag).any() for draw in draws)


# --- in a batch ------------------------------------------------------------------------------


def batch_and_hook(*flags):
    task = task_of(*flags)
    (hook,) = task.step_hooks
    return iterate(task, "train")[0], hook


def noised(hook, batch, update):
    (noisy_batch,), _ = hook.batches(batch, None, update)
    return noisy_batch["net_input"]["src_tokens"]


def test_a_batch_keeps_its_source():
    batch, hook = batch_and_hook("--source-noise-rate", "0.5")
    clean = batch["net_input"]["src_tokens"].clone()
    (noisy_batch,), logs = hook.batches(batch, None, 0)
    assert torch.equal(batch["net_input"]["src_tokens"], clean)  # it may be repeated
    assert torch.equal(noisy_batch[CLEAN_SOURCE], clean)
    assert not torch.equal(noisy_batch["net_input"]["src_tokens"], clean)
    untouched = {**batch["net_input"], "src_tokens": None}
    for name, value in {**noisy_batch["net_input"], "src_tokens": None}.items():
        assert value is untouched[name]
    assert logs["noise_able"] >= logs["noise_picked"] >= logs["noise_masked"] > 0


def test_noise_follows_seed_update_and_sentences():
    batch, hook = batch_and_hook("--source-noise-rate", "0.5")
    again, reseeded = (
        batch_and_hook("--source-noise-rate", "0.5")[1],
        batch_and_hook("--source-noise-rate", "0.5", "--seed", "4")[1],
    )
    first = noised(hook, batch, 7)
    assert torch.equal(first, noised(hook, batch, 7))
    assert torch.equal(first, noised(again, batch, 7))  # nothing is kept
    assert not torch.equal(first, noised(hook, batch, 8))  # so no two epochs are alike
    assert not torch.equal(first, noised(reseeded, batch, 7))
    moved = {**batch, "id": batch["id"] + 1}
    assert not torch.equal(first, noised(hook, moved, 7))


def test_torch_s_random_numbers_go_on():
    batch, hook = batch_and_hook()
    state = torch.get_rng_state()
    hook.batches(batch, None, 0)
    assert torch.equal(state, torch.get_rng_state())


def test_what_is_logged():
    batch, hook = batch_and_hook("--source-noise-rate", "0.5")
    logs = [hook.batches(batch, None, update)[1] for update in range(20)]
    with metrics.aggregate() as aggregator:
        hook.log(logs)
    values = aggregator.get_smoothed_values()
    assert values["noise_picked"] == pytest.approx(0.5, abs=0.08)
    assert values["noise_masked"] == pytest.approx(0.4, abs=0.08)


@pytest.mark.parametrize("able", [0, 1])
def test_shares_of_hardly_any_tokens(able):
    _, hook = batch_and_hook()
    with metrics.aggregate() as aggregator:
        hook.log([{"noise_able": able, "noise_picked": able, "noise_masked": 0}])
    values = aggregator.get_smoothed_values()
    assert (values["noise_picked"], values["noise_masked"]) == (able, 0)


def test_sources_of_length_zero():
    batch, hook = batch_and_hook()
    empty = batch["net_input"]["src_tokens"][:, :0]
    assert hook.disturbed(empty, [1])[0].shape == empty.shape


def test_after_back_translation():
    """What is translated back is not disturbed, what comes of it is."""
    kinds = [type(hook).__name__ for hook in task_of(name="tdo_robt").step_hooks]
    assert kinds == ["BackTranslation", "SourceNoise"]


# --- refused ---------------------------------------------------------------------------------


def test_refused(refused):
    refused.rows(
        """
        fairseq-train {data} --task tdo_translation {flags} --source-noise bert
            --source-noise-rate 1.5                              :: --source-noise-rate
            --source-noise-mask -0.1                             :: --source-noise-mask
            --source-noise-random 2                              :: --source-noise-random
            --source-noise-mask 0.8 --source-noise-random 0.3    :: sum is 1.1
            --source-noise-rate 0                                :: --source-noise-rate
            --source-noise-mask 0 --source-noise-random 0        :: --source-noise-mask
            --tdo-masked-tags 6                                  :: --tdo-masked-tags
        fairseq-train {data} --task tdo_translation {flags}
            --source-noise-rate 0.2                              :: --source-noise-rate
            --source-noise-random 0.2                            :: --source-noise-random
        """,
        data=databin(),
        flags=FLAGS,
    )
    check_noise_options(Namespace())  # of an older checkpoint
    dictionary = Dictionary()
    dictionary.add_symbol(MASK)
    with refused.raised("a dictionary with the symbol", "--source-noise"):
        add_mask_symbol([dictionary])


def test_masked_tags_count_it():
    """They are the last symbols of the dictionary, whatever these are."""
    flags = ("--task", "tdo_translation", *FLAGS, *BERT, "--tdo-masked-tags", "5")
    task, model, _ = built(*flags)
    (batch, *_) = iterate(task, "train")
    assert model(**batch["net_input"])[0].size(-1) == len(task.target_dictionary) - 5


def test_checkpoints_with_and_without_the_symbol(refused):
    """As the task meets them, and before it a model by `--finetune-from-model`."""
    noisy, plain = (built("--task", "tdo_translation", *FLAGS, *flags) for flags in (BERT, ()))
    for place, part in enumerate(("task", "model")):
        for one, other in ((plain, noisy), (noisy, plain)):
            case = f"{part} {'with' if one is noisy else 'without'}"
            with refused.raised(case, names="--source-noise"):
                one[place].load_state_dict(other[place].state_dict())


@pytest.mark.parametrize("loading", ["lean", "fairseq"])
def test_each_language_s_dictionary_has_the_symbol(loading):
    """fairseq's loading has one object for each."""
    task = task_of("--data-loading", loading)
    assert {dictionary.index(MASK) for dictionary in task.dicts.values()} == {
        len(task.source_dictionary) - 1
    }
