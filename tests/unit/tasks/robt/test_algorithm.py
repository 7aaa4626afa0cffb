"""The batch that back-translation makes, against a loop over Algorithm 1."""

import pytest
import torch
from support.covering import in_turn
from support.data import LANGUAGES, TAG, dictionary, iterate
from support.robt_task import STRATEGIES, TOPOLOGIES, WHOLE, algorithm, lively, made_of, text


def assert_algorithm_1(task, model, **options):
    samples = iterate(task, "train", max_positions=None)[:2]
    total = made_in_all = ended_in_all = 0
    for update, sample in enumerate(samples):
        batches, logs = made_of(task, model, sample, update)
        assert model.training
        outcome = algorithm(task, model.eval(), sample, update, **{**WHOLE, **options})
        pseudo_rows, drawn, ended = outcome
        model.train()
        counted = {name: logs[f"robt_to_{name}"] for name in options.get("languages", LANGUAGES)}
        assert counted == {name: drawn.count(name) for name in counted}
        assert (logs["robt_drawn"], logs["robt_made"]) == (len(drawn), len(pseudo_rows))
        assert len(batches) == bool(pseudo_rows)
        for batch in batches:
            assert text(task, batch) == [row[1:] for row in pseudo_rows]
            assert_targets_of(task, sample, batch, [row[0] for row in pseudo_rows])
        total, made_in_all = total + len(drawn), made_in_all + len(pseudo_rows)
        ended_in_all += ended
    return total, made_in_all, ended_in_all


def assert_targets_of(task, sample, batch, rows):
    """Target side, numbers and sizes of a batch are those of some rows of another."""
    assert batch["id"].tolist() == sample["id"][rows].tolist()
    padding = task.target_dictionary.pad()
    for tensor_of in (
        lambda batch: batch["target"],
        lambda batch: batch["net_input"]["prev_output_tokens"],
    ):
        values, original = tensor_of(batch), tensor_of(sample)[rows]
        width = values.size(1)
        assert torch.equal(values, original[:, :width])
        assert original[:, width:].eq(padding).all()
        assert not values[:, -1].eq(padding).all()
    assert batch["ntokens"] == batch["target"].ne(padding).sum()
    assert batch["nsentences"] == len(rows)
    lengths = batch["net_input"]["src_tokens"].ne(padding).sum(1)
    assert torch.equal(batch["net_input"]["src_lengths"], lengths)


OWN = ("--whole-search",)  # the task's own generator


@pytest.mark.parametrize(
    ("topology", "strategy", "flags"),
    [
        *((*case, ()) for case in in_turn(TOPOLOGIES, STRATEGIES)),
        *(("tdo", strategy, OWN) for strategy in ("decoder", "tgt and decoder")),
    ],
)
def test_the_pseudo_batch_is_algorithm_1s(topology, strategy, flags):
    task, model, _ = lively(*TOPOLOGIES[topology], *STRATEGIES[strategy], *flags)
    total, used, ended = assert_algorithm_1(task, model)
    # the seed is such that each kind of outcome is among them
    assert 0 < used < total
    assert 0 < ended <= total - (not flags)


@pytest.mark.parametrize(
    ("flags", "options"),
    [
        (("--robt-languages", "fr,de"), {"languages": ("fr", "de")}),
        (
            ("--robt-languages", "fr,de", "--robt-targets", "listed"),
            {"languages": ("fr", "de"), "targets": ("fr", "de")},
        ),
        (("--robt-share", "0.5"), {"share": 0.5}),
        (("--robt-max-length-ratio", "0.5"), {"ratio": 0.5}),
        (("--robt-max-length-ratio", "2.5"), {"ratio": 2.5}),
        (("--left-pad-source", "False"), {}),
        (("--whole-search",), {}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_options_are_algorithm_1s(flags, options):
    task, model, _ = lively(*TAG, *flags)
    _, used, _ = assert_algorithm_1(task, model, **options)
    assert used


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


def sources_of(results):
    return [batches[0]["net_input"]["src_tokens"].tolist() for batches, _ in results]


def made_by(*flags):
    task, model, _ = lively(*TAG, *flags)
    samples = iterate(task, "train", max_positions=None)[:2]
    return [made_of(task, model, sample) for sample in samples]


# --- dictionaries of both sides --------------------------------------------------------------


def test_words_go_from_one_dictionary_to_the_other_by_their_symbols(tmp_path):
    """The source's has another order, and no French."""
    source_dict = dictionary(tmp_path / "source.txt", ("es", "de", "en"))
    both = dictionary(tmp_path / "target.txt")
    flags = ("--source-dict", str(source_dict), "--target-dict", str(both))
    task, model, _ = lively(*TAG, *flags)
    sample = iterate(task, "train", max_positions=None)[0]
    (batch,), _ = made_of(task, model, sample)
    pseudo_rows, *_ = algorithm(task, model.eval(), sample, 5, **WHOLE)
    assert text(task, batch) == [
        ([known(task, word) for word in words], *languages) for _, words, *languages in pseudo_rows
    ]
    unknown = batch["net_input"]["src_tokens"].eq(task.source_dictionary.unk()).any(1)
    assert 0 < unknown.sum() < len(unknown)


def known(task, word):
    return task.source_dictionary[task.source_dictionary.index(word)]
