"""A prepared data folder of the embedded corpus, and small models trained on it."""

import functools
import shutil
from pathlib import Path

from support.data import CROSS_ENTROPY, TAG, TDO, TRAIN, train
from support.made import made_once

from tdo_plugin.cli import main
from tdo_plugin.data.databin import DataFolder, read_data_folder

LANGUAGES = "en,de,fr"
PAIRS = "en-de,de-en,en-fr,fr-en"
TEST_SENTENCES = 12
# large enough to say something after some seconds of training
LARGER = ("--tdo-model-dim", "32", "--tdo-ffn-dim", "64", "--lr", "0.005", "--max-tokens", "600")
TASK = ("--langs", LANGUAGES, "--lang-pairs", PAIRS)


@made_once
def _corpus(folder: Path) -> None:
    text, out = folder / "text", folder / "data"
    sizes = ("--train", "60", "--valid", "6", "--test", str(TEST_SENTENCES), "--seed", "1")
    assert main(["corpus", "--out", str(text), "--langs", LANGUAGES, *sizes]) == 0
    small = ("--vocab-size", "150", "--normalization", "identity", "--workers", "1")
    assert main(["preprocess", str(text), str(out), *small]) == 0


@functools.cache
def prepared() -> DataFolder:
    """English-centric in three languages; one test set, parallel over all of them."""
    return read_data_folder(_corpus() / "data")


def stock_folder(folder: Path) -> Path:
    """What fairseq-preprocess alone makes of the same text; its model is the prepared folder's."""
    folder.mkdir()
    for pattern in ("*.bin", "*.idx", "dict.*.txt"):
        for path in prepared().root.glob(pattern):
            shutil.copyfile(path, folder / path.name)
    (folder / "preprocess.log").touch()
    return folder


@made_once
def _model(folder: Path, task: str, flags: tuple[str, ...]) -> None:
    options = ("--task", task, *TASK, *TAG, *TRAIN, *TDO, *LARGER, *CROSS_ENTROPY)
    ending = ("--max-update", "150", "--no-epoch-checkpoints", "--disable-validation")
    train(folder, *options, *ending, *flags, data=prepared().root)


def trained(*flags: str, seed: str = "3", task: str = "tdo_translation") -> Path:
    """A checkpoint that has seen some batches; ``flags`` come last, so they win."""
    return _model(task, ("--seed", seed, *flags)) / "checkpoint_last.pt"
