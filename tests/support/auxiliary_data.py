"""Text of single languages beside the small binarised data, and trainings on it."""

import json
import random
import shutil
from pathlib import Path

from support.data import NUMBERS, databin, preprocess
from support.made import made_once

LINES = {"de": 40, "fr": 10}
MOST = 5  # words of a sentence


@made_once
def monolingual(folder: Path) -> None:
    """A folder as `tdo monolingual` leaves it, for the data of :func:`databin`, of two languages.

    Its sentences repeat one word of two, so that none is a sentence of the pairs.
    """
    text = databin().parent / "text"
    shutil.copy(text / "dict.txt", folder)
    drawn = random.Random(4)
    for language, count in LINES.items():
        words = NUMBERS[language].split()
        lines = []
        for _ in range(count):
            pair = drawn.sample(words, 2)
            lines.append(" ".join(pair[number % 2] for number in range(drawn.randint(1, MOST))))
        prefix = folder / f"train.{language}"
        prefix.with_name(f"{prefix.name}.{language}").write_text("\n".join(lines) + "\n")
        flags = ("-s", language, "-t", language, "--only-source", "--trainpref", str(prefix))
        preprocess(folder, *flags, "--srcdict", str(folder / "dict.txt"))
    sets = {f"{language}-{language}": count for language, count in LINES.items()}
    (folder / "monolingual.json").write_text(json.dumps({"settings": {}, "sets": sets}))


SYNTHETIC = {"de-en": 30, "en-fr": 11}


@made_once
def back_translated(folder: Path) -> None:
    """A folder as `tdo backtranslate` leaves it, likewise; its sources repeat one word."""
    text = databin().parent / "text"
    shutil.copy(text / "dict.txt", folder)
    drawn = random.Random(5)
    for direction, count in SYNTHETIC.items():
        for language in direction.split("-"):
            words = NUMBERS[language].split()
            lines = [" ".join([drawn.choice(words)] * drawn.randint(2, MOST)) for _ in range(count)]
            (folder / f"train.{language}").write_text("\n".join(lines) + "\n", encoding="utf-8")
        source, target = direction.split("-")
        flags = ("-s", source, "-t", target, "--trainpref", str(folder / "train"))
        dictionary = str(folder / "dict.txt")
        preprocess(folder, *flags, "--srcdict", dictionary, "--tgtdict", dictionary)
    mark = {"settings": {}, "sets": SYNTHETIC}
    (folder / "back-translated.json").write_text(json.dumps(mark))


def words(task, tokens):
    """The words of token ids, without padding."""
    real = tokens[tokens.ne(task.target_dictionary.pad())]
    return " ".join(task.target_dictionary[int(token)] for token in real)
