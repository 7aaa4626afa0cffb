"""Data folders that are prepared while a training already reads them."""

import math
import os
import random
import threading
from collections import Counter
from dataclasses import replace
from itertools import chain

import pytest
from fairseq.data.indexed_dataset import MMapIndexedDataset
from support.covering import mostly_full
from support.data import CROSS_ENTROPY, TAG, TDO, TRAIN, built, train
from support.layouts.sentences import sentence

from tdo_compat.digests import check_folder
from tdo_plugin.data import background_preparation, shard_plan
from tdo_plugin.data.background_preparation import begin
from tdo_plugin.data.databin import MARK, read_data_folder
from tdo_plugin.data.finished_folder import left_out
from tdo_plugin.data.joint_model import SegmentationSettings
from tdo_plugin.data.preprocessing import PreprocessSettings, preprocess
from tdo_plugin.data.shard_plan import is_ready, plan_of, wait_for
from tdo_plugin.data.textfolder import read_text_folder
from tdo_plugin.runtime.lock import alone

LINES = {"en-de": 400, "en-fr": 90, "de-fr": 7}
PAIRS = ("en-de", "en-fr", "de-fr")
SETTINGS = PreprocessSettings(SegmentationSettings(250, sentences=150), max_pieces=40)
AGAIN = PreprocessSettings(SegmentationSettings(250), max_pieces=40)
KEYED = ("--virtual-epoch-draw", "keyed")
TASK = ("--task", "tdo_translation", "--langs", "de,en,fr", *TRAIN, *TDO, *TAG)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(background_preparation, "LINES", 100)
    monkeypatch.setattr(background_preparation, "FEWEST", 10)
    monkeypatch.setattr(shard_plan, "PATIENCE", 0.3)
    monkeypatch.setattr(os, "nice", lambda _: 0)


@pytest.fixture
def text(tmp_path):
    """Three pairs, one too small for all shards; empty and very long lines, no last newline."""
    folder, drawn = tmp_path / "text", random.Random(1)
    folder.mkdir()
    for pair, count in LINES.items():
        numbers = [drawn.randrange(1000) for _ in range(count)]
        for language in pair.split("-"):
            lines = [sentence(language, number) for number in numbers]
            if pair == "en-de":
                lines[7], lines[333] = "" if language == "en" else lines[7], " " * 3
                lines[250] = " ".join(lines[:30]) if language == "de" else lines[250]
            (folder / f"train.{pair}.{language}").write_text("\n".join(lines), encoding="utf-8")
            for split in ("valid", "test"):
                held = "".join(f"{sentence(language, n)}\n" for n in range(2000, 2006))
                (folder / f"{split}.{pair}.{language}").write_text(held, encoding="utf-8")
    return folder


@pytest.fixture
def out(tmp_path):
    return tmp_path / "data"


def start(text, out, settings=SETTINGS):
    begin(read_text_folder(text), out, settings, 1)


def prepare(out):
    background_preparation._prepare(None, out, plan_of(out), 1)


def pairs_of(root, pair):
    """The sentence pairs of a binarised training set, as tokens."""
    sides = [
        [tuple(row.tolist()) for row in MMapIndexedDataset(str(root / f"train.{pair}.{language}"))]
        for language in pair.split("-")
    ]
    return list(zip(*sides, strict=True))


def test_the_folder_is_what_preprocess_makes(text, out, tmp_path, capsys):
    reference = tmp_path / "reference"
    start(text, out)
    data = read_data_folder(out)  # complete but for the other shards
    assert data.shards == ("shard2", "shard3", "shard4", "shard5")
    assert [is_ready(out / shard) for shard in ("", *data.shards)] == [True] + 4 * [False]
    prepare(out)
    written = capsys.readouterr()
    preprocess(read_text_folder(text), reference, replace(AGAIN, model_of=out))

    shards = [out / shard for shard in ("", *read_data_folder(out).shards)]
    for pair in PAIRS:
        holding = [shard for shard in shards if [*shard.glob(f"train.{pair}.*.idx")]]
        assert len(holding) == (1 if pair == "de-fr" else 5)
        parts = [pairs_of(shard, pair) for shard in holding]
        expected = pairs_of(reference, pair)
        assert Counter(chain.from_iterable(parts)) == Counter(expected)
        sizes = list(map(len, parts))
        assert max(sizes) < 2 * min(sizes)
        if pair == "en-de":  # from all over the text
            assert sum(row in expected[:100] for row in parts[3]) > 10
            assert sum(row in expected[-100:] for row in parts[3]) > 10
    assert left_out(out) == left_out(reference)
    assert "train.en-de: left out 2 pairs with an empty side and 1 " in written.err
    assert "all 5 shards are prepared" in written.err
    assert read_data_folder(out).training_sizes() == read_data_folder(reference).training_sizes()
    for path in reference.rglob("*"):
        name = path.relative_to(reference).as_posix()
        if path.is_file() and name.startswith(("valid", "test", "reference", "dict", "spm")):
            assert (out / name).read_bytes() == path.read_bytes()
        if name.startswith("pieces/"):
            lines = [Counter(p.read_text("utf-8").splitlines()) for p in (path, out / name)]
            assert lines[0] == lines[1]
    assert check_folder(str(out)) > 50
    assert not [path for path in (out / "work").iterdir() if "shard" in path.name]
    before = (out / MARK).read_bytes()
    start(text, out)
    assert (out / MARK).read_bytes() == before


def test_what_was_interrupted_goes_on(text, out, monkeypatch):
    def interrupted(*args, **options):
        raise KeyboardInterrupt

    for step in ("preprocess", "_keep_parts"):
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(background_preparation, step, interrupted)
            start(text, out)
    monkeypatch.setattr(background_preparation, "LINES", 50_000)  # the plan stays
    start(text, out)
    background_preparation._make_shard(plan_of(out), out, 3)
    made = (out / "shard3" / "train.en-de.de.bin").stat().st_mtime_ns
    (out / "work" / "shard-scratch-killed").mkdir()
    prepare(out)
    assert (out / "shard3" / "train.en-de.de.bin").stat().st_mtime_ns == made
    assert check_folder(str(out)) > 50


@pytest.mark.parametrize("sharded", mostly_full([False, True]))
def test_other_text_or_segmentation_is_refused(text, out, monkeypatch, refused, sharded):
    if not sharded:
        monkeypatch.setattr(background_preparation, "LINES", 1000)
    for _ in range(2):
        start(text, out)
    assert bool(plan_of(out)) == bool(read_data_folder(out).shards) == sharded
    with refused.raised("another segmentation", names="another segmentation"):
        start(text, out, replace(SETTINGS, segmentation=SegmentationSettings(200)))
    for language in ("de", "fr"):
        with (text / f"train.de-fr.{language}").open("a", encoding="utf-8") as stream:
            stream.write("\nx")
    with refused.raised("other text", names="other text"):
        start(text, out)


def test_text_that_is_not_utf_8_is_refused_before_the_training(text, out, tmp_path, refused):
    path = text / "train.en-de.de"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\n\xff", 1))
    for make in (start, lambda text, out: preprocess(read_text_folder(text), out, AGAIN)):
        with refused.raised("one line for both", names=f"`{path}` must be UTF-8 text"):
            make(text, out)


def test_text_that_changes_ends_preparation_and_training(text, out, capsys, refused):
    start(text, out)
    with (text / "train.en-fr.fr").open("a", encoding="utf-8") as stream:
        stream.write("x")
    prepare(out)
    assert "must stay as it was when the training began; it changed" in capsys.readouterr().err
    with refused.raised("a shard that will not come", names="shard2"):
        wait_for(out / "shard2")


def prepared_after(seconds, out):
    """A thread that prepares the other shards."""

    def late():
        with alone(out):
            prepare(out)

    return threading.Timer(seconds, late)


def test_a_training_reads_a_shard_in_each_epoch_and_waits_for_it(text, out):
    start(text, out)
    flags = (*TASK, "--lang-pairs", "en-de,de-en,de-fr", "--sampling-temperature", "2")
    data = read_data_folder(out).path
    thread, (task, _, _) = prepared_after(0.1, out), built(*flags, data=data)
    drawn = []
    for epoch in range(1, 7):
        task.load_dataset("train", epoch=epoch)
        drawn.append(task.dataset("train").virtual_size_per_dataset.tolist())
        if epoch == 1:
            thread.start()
        en_de, _, de_fr = task.dataset("train").datasets
        shard = out if epoch in (1, 6) else out / f"shard{epoch}"
        assert len(en_de) == len(pairs_of(shard, "en-de"))
        assert len(de_fr) == 7  # in the first shard only, read in each epoch
    thread.join()
    assert plan_of(out).lines == LINES
    assert sum(drawn[5]) == sum(drawn[0])
    resumed, _, _ = built(*flags, data=data)
    resumed.load_dataset("train", epoch=4)  # what was loaded before does not matter
    assert resumed.dataset("train").virtual_size_per_dataset.tolist() == drawn[3]


def blank(text, number):
    """Leave nothing of en-fr in a shard's part of the text."""
    path = text / "train.en-fr.fr"
    lines = path.read_text("utf-8").split("\n")
    chunk = -(-LINES["en-fr"] // (background_preparation.CHUNKS * 5))
    for place in range(len(lines)):
        if place // chunk % 5 == number - 1:
            lines[place] = " "
    path.write_text("\n".join(lines), encoding="utf-8")


@pytest.mark.parametrize(
    ("pairs",), mostly_full([(("en-fr",),), (PAIRS,)]), ids=["the only one", "of several"]
)
def test_a_pair_of_which_nothing_is_left_in_a_shard(text, out, tmp_path, monkeypatch, pairs):
    blank(text, 3)
    for path in text.glob("*.*-*.*"):
        if path.name.split(".")[1] not in pairs:
            path.unlink()
    if len(pairs) == 1:
        monkeypatch.setattr(background_preparation, "LINES", 18)
    reference, folder = tmp_path / "reference", read_text_folder(text)
    start(text, out)
    prepare(out)
    assert check_folder(str(out))
    preprocess(folder, reference, replace(AGAIN, model_of=out))
    holding = [out, *(out / f"shard{number}" for number in (2, 4, 5))]
    parts = [pairs_of(shard, "en-fr") for shard in holding]
    assert Counter(chain.from_iterable(parts)) == Counter(pairs_of(reference, "en-fr"))
    assert not list((out / "shard3").glob("train.en-fr.*"))

    folders = [parts[0], parts[1], parts[0], *parts[2:]]  # the first one instead of shard3
    languages = ("--langs", ",".join(folder.languages))
    words = (*TASK, *languages, "--lang-pairs", ",".join((*pairs, "fr-en")))
    for draw in ((), ("--virtual-epoch-size", "200", *KEYED)):
        task, _, _ = built(*words, *draw, data=read_data_folder(out).path)
        for epoch in range(1, 12):
            task.load_dataset("train", epoch=epoch)
            dataset, number = task.dataset("train"), epoch
            dataset.set_epoch(epoch)  # as its iterator does
            if draw:
                number = task.data_manager.estimate_global_pass_epoch(epoch)
            read = dataset.datasets[pairs.index("en-fr")]
            targets = [tuple(row["target"].tolist()) for row in read]
            assert targets == [target for _, target in folders[(number - 1) % 5]]
            assert all(dataset[place] for place in range(len(dataset)))
    assert number > 5  # passes


@pytest.mark.full
def test_a_pair_of_which_nothing_is_left_in_the_first_shard_is_refused(text, out, refused):
    blank(text, 1)
    for _ in range(2):
        with refused.raised("no lines of a pair in the first shard", names="train.en-fr"):
            start(text, out)
    for language in ("en", "fr"):  # with other text the folder is made, since nothing was
        path = text / f"train.en-fr.{language}"
        path.write_text(f"{sentence(language, 5)}\n{path.read_text('utf-8')}", "utf-8")
    start(text, out)
    assert pairs_of(out, "en-fr")


FLAGS = (*TASK, *CROSS_ENTROPY, "--lang-pairs", "en-de,de-en", "--max-tokens", "600")


def test_the_last_epoch_waits_for_no_further_shard(text, out, tmp_path):
    start(text, out)
    logs = train(tmp_path, *FLAGS, "--max-epoch", "1", data=read_data_folder(out).path)
    assert math.isfinite(logs[-1]["loss"])


@pytest.mark.parametrize(("draw",), mostly_full([((),), (("--virtual-epoch-size", "90", *KEYED),)]))
def test_losses_do_not_depend_on_how_fast_the_text_comes(text, out, tmp_path, draw):
    start(text, out)
    path, losses = read_data_folder(out).path, []
    for run in ("late", "early"):
        thread = prepared_after(0.0, out)
        thread.start()
        losses.append(train(tmp_path / run, *FLAGS, *draw, "--max-epoch", "3", data=path))
        thread.join()
    assert losses[0] == losses[1]
