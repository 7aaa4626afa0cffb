"""Sentences that do not fit, and sets of which nothing is left, get one line that names them."""

import re
import shutil

import numpy as np
import pytest
from fairseq.data.indexed_dataset import MMapIndexedDatasetBuilder
from support.data import TAG, TASK, TDO, TRAIN, built, databin, generation, iterate

from tdo_plugin.errors import UserError

FLAGS = ("--task", "tdo_translation", *TASK, *TAG)
DE_FR = ("-s", "de", "-t", "fr")


def refused(task, split, **options):
    with pytest.raises(UserError) as raised:
        iterate(task, split, **options)
    line = str(raised.value)
    assert not re.search(r"np\.|\n|Error", line), line
    return line


def longest(split, pair):
    """(line, tokens) of the longest pair of sentences, with the source's tag and an end symbol."""
    folder = databin().parent / "text"
    texts = []
    for language in pair:
        names = ("-".join(pair), "-".join(reversed(pair)))
        paths = (folder / f"{split}.{name}.{language}" for name in names)
        (path,) = (candidate for candidate in paths if candidate.exists())
        texts.append([len(line.split()) for line in path.read_text("utf-8").splitlines()])
    sizes = [max(source + 2, target + 1) for source, target in zip(*texts, strict=True)]
    return max(sizes), [number + 1 for number, size in enumerate(sizes) if size == max(sizes)]


def test_a_batch_that_holds_no_sentence_of_generation():
    _, task = generation(*FLAGS, *DE_FR)
    line = refused(task, "test", max_tokens=4)
    tokens, lines = longest("test", ("de", "fr"))
    match = re.fullmatch(
        r"`--max-tokens` must be at least the longest sentence; it is 4, and line (\d+) of de-fr "
        r"has (\d+) tokens",
        line,
    )
    assert match, line
    assert int(match[1]) in lines and int(match[2]) == tokens


@pytest.mark.parametrize("method", ["temperature", "RoundRobin"])
def test_a_batch_that_holds_no_sentence_of_training(method):
    task, _, _ = built(*FLAGS, *TRAIN, *TDO, "--sampling-method", method)
    line = refused(task, "train", max_tokens=4)
    match = re.search(r"it is 4, and line (\d+) of (\w+)-(\w+) has (\d+) tokens$", line)
    assert match, line
    tokens, lines = longest("train", (match[2], match[3]))
    assert int(match[4]) == tokens and int(match[1]) in lines


def test_a_set_of_which_nothing_is_left():
    _, task = generation(*FLAGS, *DE_FR)
    line = refused(task, "test", max_positions=(1, 9), ignore_invalid_inputs=True)
    assert re.search(
        r"must admit at least one sentence of test of de-fr; all 6 are longer than \(1, 9\)", line
    )


def test_a_sentence_that_is_too_long():
    _, task = generation(*FLAGS, *DE_FR)
    line = refused(task, "test", max_positions=(4, 1024))
    assert re.search(r"first is line \d of de-fr with \d and \d tokens", line), line


def test_a_set_without_sentences(tmp_path):
    data = tmp_path / "data"
    shutil.copytree(databin(), data)
    for language in ("de", "fr"):
        prefix = str(data / f"test.de-fr.{language}")
        MMapIndexedDatasetBuilder(f"{prefix}.bin", dtype=np.uint16).finalize(f"{prefix}.idx")
    _, task = generation(*FLAGS, *DE_FR, data=data)
    assert "`data` must have sentences; test of de-fr has none" in refused(task, "test")
