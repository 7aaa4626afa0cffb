"""A prepared data folder in small."""

import json
from itertools import permutations
from pathlib import Path

import pytest

from tdo_plugin.data.databin import MARK, DataFolder, read_data_folder

TEXT = {
    "en": ["the dog sees the white house", "we read three books today", "she has no water"],
    "de": ["der Hund sieht das weiße Haus", "wir lesen heute drei Bücher", "sie hat kein Wasser"],
    "fr": ["le chien voit la maison blanche", "nous lisons trois livres", "elle n'a pas d'eau"],
}


def pieces(line: str) -> str:
    return " ".join("▁" + word for word in line.split())


@pytest.fixture
def data(tmp_path: Path) -> DataFolder:
    """English-centric in three languages; de-fr and fr-de are zero-shot."""
    root = tmp_path / "data"
    for folder in ("pieces", "reference"):
        (root / folder).mkdir(parents=True)
    for partner in ("de", "fr"):
        for language in ("en", partner):
            for split in ("train", "valid"):
                content = "".join(pieces(line) + "\n" for line in TEXT[language])
                name = f"{split}.en-{partner}.{language}"
                (root / "pieces" / name).write_text(content, encoding="utf-8")
    for language, lines in TEXT.items():
        content = "\n".join(lines) + "\n"
        (root / "reference" / f"test.{language}").write_text(content, encoding="utf-8")
    trained = ["en-de", "de-en", "en-fr", "fr-en"]
    tested = ["-".join(pair) for pair in permutations(TEXT, 2)]
    for name, lines in (("langs", TEXT), ("pairs", trained), ("test-pairs", tested)):
        (root / f"{name}.txt").write_text("\n".join(lines) + "\n")
    (root / MARK).write_text(json.dumps({}))
    return read_data_folder(root)
