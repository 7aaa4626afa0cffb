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


def test_sets_of_which_nothing_is_left(refused, tmp_path):
    _, task = generation(*FLAGS, *DE_FR)
    with refused.raised("no sentence fits", "all 6"):
        iterate(task, "test", max_positions=(1, 9), ignore_invalid_inputs=True)
    with refused.raised("a sentence is too long", "line"):
        iterate(task, "test", max_positions=(4, 1024))
    data = tmp_path / "data"
    shutil.copytree(databin(), data)
    for language in ("de", "fr"):
        prefix = str(data / f"test.de-fr.{language}")
        MMapIndexedDatasetBuilder(f"{prefix}.bin", dtype=np.uint16).finalize(f"{prefix}.idx")
    _, task = generation(*FLAGS, *DE_FR, data=data)
    with refused.raised("a set without sentences", "test of de-fr"):
        iterate(task, "test")


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


@pytest.mark.parametrize("method", [None, "temperature", "RoundRobin"])
def test_a_batch_that_holds_no_sentence(method):
    if method:
        task, _, _ = built(*FLAGS, *TRAIN, *TDO, "--sampling-method", method)
    else:
        _, task = generation(*FLAGS, *DE_FR)
    split = "train" if method else "test"
    with pytest.raises(UserError) as raised:  # which of the longest is named depends on draws
        iterate(task, split, max_tokens=4)
    number, source, target, size = re.fullmatch(
        r"`--max-tokens` must be at least the longest sentence; it is 4, and line (\d+) of "
        r"(\w+)-(\w+) has (\d+) tokens",
        str(raised.value),
    ).groups()
    tokens, lines = longest(split, (source, target))
    assert int(size) == tokens and int(number) in lines
