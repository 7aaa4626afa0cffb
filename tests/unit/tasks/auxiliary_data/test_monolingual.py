"""Training sets with sentences that have no source."""

import shutil
from collections import Counter

import pytest
import torch
from support.auxiliary_data import FLAGS, LINES, monolingual, rows_of
from support.data import ENCODER_DECODER, TAG, TASK, built, databin, generation

PAIRS = 24  # of each of six directions
TARGET = "--decoder-langtok"
STRATEGIES = {
    "on the source": (TAG, "__de__", "</s>", None),
    "on the target": ((TARGET,), "", "</s> __de__", "__de__"),
    "first of the target": ((TARGET, "--lang-tok-replacing-bos-eos"), "", "__de__", None),
    "on both": ((*TAG, TARGET), "", "</s> __de__", "__de__"),
    "the source's and the target's": (
        ("--encoder-langtok", "src", TARGET),
        "",
        "</s> __de__",
        "__de__",
    ),
}


def lone_task(*flags):
    task, _, _ = built(*FLAGS, "--monolingual", str(monolingual()), *flags)
    return task


def text_of(language):
    path = monolingual() / f"train.{language}.{language}"
    return path.read_text(encoding="utf-8").split("\n")[:-1]


@pytest.mark.parametrize("name", STRATEGIES)
def test_what_a_sentence_is(name):
    flags, source, start, predicted = STRATEGIES[name]
    task = lone_task(*flags, "--sampling-method", "concat")
    line_counts = Counter(text_of("de"))
    rows = [row for row in rows_of(task) if row[0] == "de-de"]
    assert rows
    for _, read, previous, target in rows:
        tagged, *_ = target.removesuffix(" </s>").partition(" ") if predicted else (None,)
        text = target.removesuffix("</s>").strip()
        text = text.removeprefix(predicted or "").strip()
        assert tagged == predicted
        assert read == source
        assert previous == f"{start} {text}".strip()
        assert line_counts[text]
    assert {name for name, *_ in rows_of(task)} == {*task.lang_pairs, "de-de", "fr-fr"}


def lone_rows(task, **options):
    lone = {f"{name}-{name}" for name in LINES}
    return Counter(row for row in rows_of(task, **options) if row[0] in lone)


def counts_of(task, **options):
    return Counter(name for name, *_ in rows_of(task, **options))


@pytest.mark.parametrize("method", ["concat", "uniform", "temperature", "RoundRobin"])
@pytest.mark.parametrize("share", ["0.1", "0.5", "0.8"])
def test_shares_are_of_the_sentences_of_an_epoch(method, share):
    flags = (*TAG, "--sampling-method", method)
    without, _, _ = built(*FLAGS, *flags)
    before = sum(counts_of(without).values())
    counts = counts_of(lone_task(*flags, "--monolingual-share", share))
    lone = {name: counts.pop(f"{name}-{name}") for name in LINES}
    assert sum(counts.values()) == before == 6 * PAIRS
    if method in ("concat", "RoundRobin"):
        assert set(counts.values()) == {PAIRS}
    lone_total = round(before * float(share) / (1 - float(share)))
    assert sum(lone.values()) == lone_total
    power = {"uniform": 0, "temperature": 1 / 1.5}.get(method, 1)
    weights = {name: count**power for name, count in LINES.items()}
    for name, count in lone.items():
        assert abs(count - lone_total * weights[name] / sum(weights.values())) < 1


@pytest.mark.parametrize("size", [100, 101, 400])
def test_a_virtual_size_is_of_both_together(size):
    flags = ("--virtual-data-size", str(size), "--monolingual-share", "0.3")
    counts = counts_of(lone_task(*TAG, *flags))
    lone = sum(counts[f"{name}-{name}"] for name in LINES)
    assert (sum(counts.values()), lone) == (size, round(0.3 * size))


VIRTUAL = ("--virtual-epoch-size", "50")
KEYED = ("--virtual-epoch-draw", "keyed")


@pytest.mark.parametrize("draw", ["fairseq", "keyed"])
@pytest.mark.parametrize("method", ["concat", "temperature"])
def test_virtual_epochs_are_slices_of_such_a_pass(draw, method):
    flags = (*TAG, *VIRTUAL, "--virtual-epoch-draw", draw, "--sampling-method", method)
    task = lone_task(*flags, "--monolingual-share", "0.25")
    total, lone = Counter(), Counter()
    for epoch in range(1, 5):  # 192 sentences
        total += Counter(rows_of(task, epoch=epoch))
        lone += lone_rows(task, epoch=epoch)
    assert (sum(total.values()), sum(lone.values())) == (6 * PAIRS + 48, 48)
    if method == "concat":
        whole, _, _ = built(*FLAGS, *TAG, "--sampling-method", "concat")
        assert total - lone == Counter(rows_of(whole))  # every pair once
        # 38 of 40 lines without repetition, and ten
        assert not {r: c for r, c in lone.items() if c > Counter(text_of(r[0][:2]))[r[3][:-5]]}


@pytest.mark.parametrize("draw", [(), (*VIRTUAL,), (*VIRTUAL, "--virtual-epoch-draw", "keyed")])
def test_much_text_is_drawn_as_often_as_it_goes(draw):
    """576 sentences of 50: each line eleven or twelve times."""
    flags = (*TAG, *draw, "--sampling-method", "concat", "--monolingual-share", "0.8")
    task, total = lone_task(*flags), Counter()
    for epoch in range(1, 16 if draw else 2):
        total += lone_rows(task, epoch=epoch)
    assert sum(total.values()) == 576
    for language in LINES:
        for line, times in Counter(text_of(language)).items():
            pair = f"{language}-{language}"
            drawn = total[pair, f"__{language}__", f"</s> {line}", f"{line} </s>"]
            assert 11 * times <= drawn <= 12 * times


@pytest.mark.parametrize(
    "draw", [(), ("--virtual-epoch-size", "160", "--virtual-epoch-draw", "keyed")]
)
def test_epochs_draw_other_sentences(draw):
    """Passes too, where a virtual epoch is a whole one."""
    flags = (*TAG, "--monolingual-share", "0.1", *draw)
    task = lone_task(*flags)  # 16 of 50
    first, second = (lone_rows(task, epoch=epoch) for epoch in (1, 2))
    assert sum(first.values()) == sum(second.values()) == 16
    assert first != second
    assert lone_rows(lone_task(*flags), epoch=2) == second


def test_workers_share_an_epoch():
    task = lone_task(*TAG)
    both = Counter()
    for rank in (0, 1):
        both += Counter(rows_of(task, num_shards=2, shard_id=rank, max_tokens=40))
    assert both == Counter(rows_of(task, max_tokens=40))


@pytest.mark.parametrize("draw", [(), ("--virtual-epoch-size", "999", *KEYED)])
def test_shards_of_the_pairs(tmp_path, draw):
    """Every epoch has its share, whichever shard of the pairs it reads."""
    shards = [tmp_path / name for name in ("first", "second")]
    for shard in shards:
        shutil.copytree(databin(), shard)
    flags = (*FLAGS, *TAG, *draw, "--monolingual", str(monolingual()))
    task, _, _ = built(*flags, data=":".join(map(str, shards)))
    for epoch in (1, 2):
        task.load_dataset("train", epoch=epoch)
        counts = counts_of(task, epoch=epoch)
        assert sum(counts[f"{name}-{name}"] for name in LINES) * 2 == sum(counts.values())


@pytest.mark.parametrize("split", ["valid", "test"])
def test_other_sets_are_as_they_were(split):
    task, plain = lone_task(*TAG), built(*FLAGS, *TAG)[0]
    for translation_task in (task, plain):
        translation_task.load_dataset(split)
    first, second = task.dataset(split), plain.dataset(split)
    assert len(first) == len(second)
    for number in range(len(first)):
        assert torch.equal(first[number]["source"], second[number]["source"])


def test_a_language_without_translations_into_it_is_left_out():
    flags = (*FLAGS, *TAG, "--lang-pairs", "en-de,de-en", "--monolingual", str(monolingual()))
    task, _, _ = built(*flags)
    assert {"de-de"} == {name for name in counts_of(task) if name[:2] == name[3:]}


def test_one_target_language_needs_no_tag():
    task = built(*FLAGS, "--lang-pairs", "en-de", "--monolingual", str(monolingual()))[0]
    rows = lone_rows(task)
    assert rows and all(source == "" for _, source, _, _ in rows)


def test_a_checkpoint_s_task_does_not_look_for_the_folder():
    flags = ("--task", "tdo_translation", *TAG, *TASK, "-s", "de", "-t", "en")
    _, task = generation(*flags, "--monolingual", "is/gone")
    task.load_dataset("test")
    lone_task(*TAG, "--monolingual", "is/gone")  # whatever is not yet trained


def test_refused(refused, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(monolingual(), other)
    first, second, *rest = (other / "dict.txt").read_text(encoding="utf-8").split("\n")
    (other / "dict.txt").write_text("\n".join([second, first, *rest]), encoding="utf-8")
    refused.rows(
        """
        fairseq-train {data} {flags} --monolingual {mono} --encoder-langtok tgt
            --monolingual nowhere                           :: nowhere
            --monolingual {data}                            :: --monolingual
            --monolingual a:b                               :: --monolingual
            --monolingual {other}                           :: dictionary
            --monolingual-share 0                           :: --monolingual-share
            --monolingual-share 1                           :: --monolingual-share
            --data-loading fairseq                          :: --data-loading
            --sampling-weights "{'main:en-de': 1, 'monolingual:de-de': 5}" :: monolingual:de-de
            --extra-data "{'monolingual': 'folder'}"        :: --extra-data
            --encoder-langtok src                           :: --decoder-langtok
            --lang-tok-replacing-bos-eos                    :: --lang-tok-replacing-bos-eos
            {encoder_decoder}                               :: --tdo-topology
            --lang-pairs de-en,fr-es                        :: en-en, es-es
        fairseq-train {data} {flags} --monolingual {mono}   :: --decoder-langtok
        fairseq-train {data} {flags} --encoder-langtok tgt --monolingual-share 0.5 :: -share
        """,
        data=databin(),
        flags=FLAGS,
        mono=monolingual(),
        other=other,
        encoder_decoder=ENCODER_DECODER,
    )
    for term, *more in (
        ("instrucl",),
        ("tpdm", "--tdo-tpdm-layer", "1"),
        ("lexical", "--lexical-updates", "9"),
    ):
        terms = ("--criterion", "label_smoothed_cross_entropy_terms", "--loss-terms", term)
        task = lone_task(*TAG, *terms, *more)
        with refused.raised(term, "--loss-terms"):
            task.build_criterion(task.args)
