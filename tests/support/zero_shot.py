"""Tiny binarised data that have a validation set of a pair without training text, too."""

import random
import shutil
from pathlib import Path

from support.data import (
    NUMBERS,
    TAG,
    TASK,
    TRAIN,
    databin,
    preprocess,
    preprocess_flags,
)
from support.made import made_once

VALIDATED = ("--task", "tdo_translation", *TASK, *TAG, *TRAIN)
DIRECTIONS = ("en-de", "de-en", "en-fr", "fr-en", "en-es", "es-en", "de-fr", "fr-de")


def databin_zero_shot() -> Path:
    """As :func:`databin`, with nine validation sentences of de-fr."""
    return _corpus() / "databin"


@made_once
def _corpus(folder: Path) -> None:
    text, out = folder / "text", folder / "databin"
    shutil.copytree(databin(), out)
    shutil.copytree(databin().parent / "text", text)
    drawn = random.Random(5)
    rows = [drawn.choices(range(7), k=drawn.randint(1, 6)) for _ in range(9)]
    for language in ("de", "fr"):
        words = NUMBERS[language].split()
        lines = [" ".join(words[number] for number in row) for row in rows]
        path = text / f"valid.de-fr.{language}"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    preprocess(out, *preprocess_flags(text, "de-fr", ("valid",)))
