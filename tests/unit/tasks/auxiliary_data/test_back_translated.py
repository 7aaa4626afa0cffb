"""Training sets with synthetic sources."""

from collections import Counter

import pytest
import torch
from support.auxiliary_data import FLAGS, SYNTHETIC, back_translated, monolingual, rows_of
from support.data import ENCODER_DECODER, INSTRUCL, TAG, TASK, built, databin, generation, iterate

PAIRS = 24
CONCAT = ("--sampling-method", "concat")


def mixed(*flags):
    return built(*FLAGS, *TAG, "--back-translated", str(back_translated()), *flags)[0]


@pytest.mark.parametrize("rate", [None, 1, 2, 3])
def test_the_union_of_true_and_synthetic_pairs(rate):
    """Each true pair of a direction with synthetic ones as often as the rate says."""
    flags = () if rate is None else ("--back-translated-upsampling", str(rate))
    counts = Counter(rows_of(mixed(*CONCAT, *flags)))
    for row, count in Counter(rows_of(built(*FLAGS, *TAG, *CONCAT)[0])).items():
        times = (rate or 1) if row[0] in SYNTHETIC else 1
        assert counts.pop(row) == times * count
    assert Counter(name for name, *_ in counts.elements()) == SYNTHETIC
    for direction, source, *_ in counts:
        tag, word, *rest = source.split(" ")
        assert tag == f"__{direction[3:]}__"
        assert {word} == {*rest[:-1]}  # as those of the folder are


def test_a_rate_may_be_a_fraction():
    counts = Counter(
        name for name, *_ in rows_of(mixed(*CONCAT, "--back-translated-upsampling", "0.5"))
    )
    expected = {name: PAIRS // 2 + SYNTHETIC[name] for name in SYNTHETIC}
    assert all(counts[name] == expected.get(name, PAIRS) for name in counts)


@pytest.mark.parametrize("draw", [("fairseq",), ("keyed",)])
def test_virtual_epochs_are_slices_of_the_union(draw):
    flags = (*CONCAT, "--virtual-epoch-size", "60", "--virtual-epoch-draw", *draw)
    task, total = mixed(*flags, "--back-translated-upsampling", "2"), Counter()
    for epoch in range(1, 5):  # 233 sentences
        total += Counter(rows_of(task, epoch=epoch))
    whole = Counter(rows_of(mixed(*CONCAT, "--back-translated-upsampling", "2")))
    assert total == whole


def test_directions_are_sampled_by_their_unions():
    task = mixed("--sampling-temperature", "2", "--virtual-data-size", "500")
    counts = Counter(name for name, *_ in rows_of(task))
    roots = {name: (PAIRS + SYNTHETIC.get(name, 0)) ** 0.5 for name in counts}
    for name, count in counts.items():
        assert abs(count - 500 * roots[name] / sum(roots.values())) <= 1


TAGGED = ("--back-translated-tag", "<bt>")


def test_a_tag_stands_behind_the_language_s():
    task = mixed(*CONCAT, *TAGGED)
    dictionary, plain = task.source_dictionary, built(*FLAGS, *TAG)[0].source_dictionary
    assert dictionary.symbols == [*plain.symbols, "<bt>"]
    counts = Counter(rows_of(task))
    tagged = {row for row in counts if "<bt>" in row[1]}
    assert all(source.split(" ")[1] == "<bt>" for _, source, *_ in tagged)
    assert all("<bt>" not in previous + target for *_, previous, target in counts)
    for row in tagged:
        count = counts.pop(row)
        counts[(row[0], row[1].replace("<bt> ", ""), *row[2:])] += count
    assert counts == Counter(rows_of(mixed(*CONCAT)))
    assert Counter(row[0] for row in tagged) <= Counter(SYNTHETIC)


@pytest.mark.parametrize("flags", [("--decoder-langtok",), ("--decoder-langtok", *TAG)])
def test_a_tag_without_one_of_the_language(flags):
    options = (*CONCAT, *TAGGED, "--back-translated", str(back_translated()))
    task = built(*FLAGS, *flags, *options)[0]
    place = 1 if TAG[0] in flags else 0
    tagged = [row for row in rows_of(task) if "<bt>" in row[1]]
    assert len(tagged) == sum(SYNTHETIC.values())
    assert all(source.split(" ")[place] == "<bt>" for _, source, *_ in tagged)


def test_a_tag_may_be_kept_out_of_the_output():
    """Masked it has no logit, and all others stay what they are."""
    options = (*FLAGS, *TAG, *TAGGED, "--back-translated", str(back_translated()))
    task, model, _ = built(*options, "--tdo-masked-tags", "1")
    (batch, *_) = iterate(task, "train")
    logits, _ = model.eval()(**batch["net_input"])
    assert logits.size(-1) == len(task.target_dictionary) - 1
    assert task.target_dictionary[logits.size(-1)] == "<bt>"


def test_a_task_that_translates_knows_the_tag():
    flags = ("--task", "tdo_translation", *TAG, *TASK, "-s", "de", "-t", "en", *TAGGED)
    _, task = generation(*flags, "--back-translated", "is/gone")
    assert task.source_dictionary.symbols[-1] == "<bt>"
    assert built(*FLAGS, *TAG, *TAGGED)[0].source_dictionary.symbols[-1] == "<bt>"


def test_with_text_of_single_languages():
    flags = ("--monolingual", str(monolingual()), "--monolingual-share", "0.2")
    counts = Counter(name for name, *_ in rows_of(mixed(*CONCAT, *flags)))
    lone = counts.pop("de-de") + counts.pop("fr-fr")
    assert sum(counts.values()) == 6 * PAIRS + sum(SYNTHETIC.values())
    assert lone == round(sum(counts.values()) / 4)


@pytest.mark.parametrize("more", [(), ENCODER_DECODER])
def test_any_architecture_and_terms_that_need_a_source(more):
    options = (*FLAGS, *TAG, *INSTRUCL, "--back-translated", str(back_translated()), *more)
    task, model, criterion = built(*options)
    task.build_criterion(task.args)
    for batch in iterate(task, "train"):
        assert torch.isfinite(criterion(model, batch)[0])


def test_a_direction_that_is_not_trained_is_left_out():
    flags = (*CONCAT, "--lang-pairs", "de-en,en-de")
    counts = Counter(name for name, *_ in rows_of(mixed(*flags)))
    assert counts == {"de-en": PAIRS + SYNTHETIC["de-en"], "en-de": PAIRS}


def test_refused(refused):
    refused.rows(
        """
        fairseq-train {data} {flags} --back-translated {synthetic}
            --back-translated nowhere                         :: nowhere
            --back-translated {mono}                          :: --back-translated
            --back-translated-upsampling 0                    :: --back-translated-upsampling
            --back-translated-upsampling inf                  :: --back-translated-upsampling
            --data-loading fairseq                            :: --data-loading
            --lang-pairs fr-en                                :: fr-en
            --back-translated-tag eins                        :: eins
            --back-translated-tag __de__                      :: __de__
            --back-translated-tag </s>                        :: </s>
            --back-translated-tag "b t"                       :: b t
            --back-translated-tag ""                          :: --back-translated-tag
        fairseq-train {data} {flags} --back-translated-upsampling 2 :: --back-translated-upsampling
        fairseq-train {data} {flags} --back-translated-tag <bt> --data-loading fairseq :: -tag
        fairseq-train {two} {flags} --back-translated {synthetic} :: single `data` folder
        """,
        data=databin(),
        two=f"{databin()}:{databin()}",
        flags=(*FLAGS, *TAG),
        synthetic=back_translated(),
        mono=monolingual(),
    )
    flags = ("--back-translated-tag", "<bt>", "--data-loading", "fairseq")
    with refused.raised("where a model is only used", names="--data-loading"):
        generation("--task", "tdo_translation", *TASK, *TAG, *flags, "-s", "en", "-t", "de")
