"""Text of single languages beside the small binarised data, and trainings on it."""

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path

from support.data import CROSS_ENTROPY, NUMBERS, TASK, TDO, TRAIN, databin, iterate, preprocess
from support.made import made_once

LINES = {"de": 40, "fr": 10}
MOST = 5  # words of a sentence


SYNTHETIC = {"de-en": 30, "en-fr": 11}


@made_once
def monolingual(folder: Path) -> None:
    """A folder as `tdo monolingual` leaves it, for the data of :func:`databin`, of two languages.

    Its sentences repeat one word of two, so that none is a sentence of the pairs.
    """
    drawn = random.Random(4)

    def line(words: list[str]) -> list[str]:
        pair = drawn.sample(words, 2)
        return [pair[number % 2] for number in range(drawn.randint(1, MOST))]

    sets = {f"{language}-{language}": count for language, count in LINES.items()}
    _fill(folder, "monolingual.json", sets, line, "--only-source")


@made_once
def back_translated(folder: Path) -> None:
    """A folder as `tdo backtranslate` leaves it, likewise; its sources repeat one word."""
    drawn = random.Random(5)

    def line(words: list[str]) -> list[str]:
        return [drawn.choice(words)] * drawn.randint(2, MOST)

    _fill(folder, "back-translated.json", SYNTHETIC, line)


def _fill(
    folder: Path, mark: str, sets: dict[str, int], line: Callable[[list[str]], list[str]], *flags
) -> None:
    """Write and binarise so many lines for each direction, and the mark of a whole folder."""
    dictionary = str(shutil.copy(databin().parent / "text" / "dict.txt", folder))
    dictionaries = ("--srcdict", dictionary, "--tgtdict", dictionary)
    for direction, count in sets.items():
        languages = [*dict.fromkeys(direction.split("-"))]
        name = "-".join(languages)
        for language in languages:
            lines = [" ".join(line(NUMBERS[language].split())) for _ in range(count)]
            text = "\n".join(lines) + "\n"
            (folder / f"train.{name}.{language}").write_text(text, encoding="utf-8")
        sides = ("-s", languages[0], "-t", languages[-1], "--trainpref", folder / f"train.{name}")
        preprocess(folder, *map(str, sides), *dictionaries, *flags)
    (folder / mark).write_text(json.dumps({"settings": {}, "sets": sets}))


FLAGS = ("--task", "tdo_translation", *TASK, *TRAIN, *TDO, *CROSS_ENTROPY)


def rows_of(task, **options):
    """(direction, source, previous output, target) of every sentence of an epoch, as symbols."""
    for batch in iterate(task, "train", **options):
        fed = batch["net_input"]
        columns = (fed["src_tokens"], fed["prev_output_tokens"], batch["target"])
        ids = zip(fed["src_lang_id"].flatten(), fed["tgt_lang_id"].flatten(), strict=True)
        for pair, *row in zip(ids, *columns, strict=True):
            names = (task.data_manager.lang_dict[int(language)] for language in pair)
            yield "-".join(names), *(words(task, tokens) for tokens in row)


def words(task, tokens):
    """The words of token ids, without padding."""
    real = tokens[tokens.ne(task.target_dictionary.pad())]
    return " ".join(task.target_dictionary[int(token)] for token in real)
