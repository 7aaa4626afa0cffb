"""A prepared data folder of the embedded corpus, and small models trained on it."""

import functools
from pathlib import Path

from integration.data import CROSS_ENTROPY, TAG, TDO, TRAIN, temporary, train

from tdo_plugin.cli import main
from tdo_plugin.data.databin import DataFolder, read_data_folder

LANGUAGES = "en,de,fr"
PAIRS = "en-de,de-en,en-fr,fr-en"
TEST_SENTENCES = 12
# large enough to say something after some seconds of training
LARGER = ("--tdo-model-dim", "32", "--tdo-ffn-dim", "64", "--lr", "0.005", "--max-tokens", "600")
TASK = ("--langs", LANGUAGES, "--lang-pairs", PAIRS)


@functools.cache
def prepared() -> DataFolder:
    """English-centric in three languages; one test set, parallel over all of them."""
    text, out = temporary() / "prepared-text", temporary() / "prepared"
    sizes = ("--train", "60", "--valid", "6", "--test", str(TEST_SENTENCES), "--seed", "1")
    assert main(["corpus", "--out", str(text), "--languages", LANGUAGES, *sizes]) == 0
    small = ("--vocab-size", "150", "--normalization", "identity", "--workers", "1")
    assert main(["preprocess", str(text), str(out), *small]) == 0
    return read_data_folder(out)


@functools.cache
def trained(*flags: str, seed: str = "3", task: str = "tdo_translation") -> Path:
    """A checkpoint that has seen some batches; ``flags`` come last, so they win."""
    name = "-".join((task, seed, *flags)).replace("/", "").replace(" ", "")
    folder = temporary() / "prepared-models" / name
    given = ("--task", task, *TASK, *TAG, *TRAIN, *TDO, *LARGER, *CROSS_ENTROPY)
    ending = (
        "--seed",
        seed,
        "--max-update",
        "150",
        "--no-epoch-checkpoints",
        "--disable-validation",
    )
    train(folder, *given, *ending, *flags, data=prepared().root)
    return folder / "checkpoint_last.pt"
