"""Multi30k task 1 (Elliott et al., 2016; 2017; Barrault et al., 2018) as an English-centric corpus.

31,014 image descriptions in English with German, French and Czech translations; the 2016 Flickr
test set. The files stay what upstream publishes: raw text, gzip, under upstream's names.
"""

from __future__ import annotations

import gzip
import hashlib
import itertools
import os
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

from tdo_plugin.data.segmentation import write_text
from tdo_plugin.errors import UserError

URL = "https://raw.githubusercontent.com/multi30k/dataset/master/data/task1/raw/"
HUB = "en"
OTHERS = ("de", "fr", "cs")
SPLITS = {"train": "train", "val": "valid", "test_2016_flickr": "test"}
FORMS = ("shared", "disjoint")

SHA256 = {
    "test_2016_flickr.cs.gz": "200a4a74cc9560f051924abb9803be008d1908d77f747e9141aeb86dfd2797f1",
    "test_2016_flickr.de.gz": "9204244e408ccb38d2a55cfcd344df15005fc42a07a6e55ca6c52b6ababb8cc8",
    "test_2016_flickr.en.gz": "611d361c6334bc7246101d48097c13cf5c4413c5befc793cc629934359d532d9",
    "test_2016_flickr.fr.gz": "6d326e188d259fb1d04ac19eae3af956559b3a0b93d7635e56c90987c40c8b90",
    "train.cs.gz": "a65adb8b32e3bc664f21ecba7a6e7f6950fd1f405e135f7c312faabdb6255077",
    "train.de.gz": "726e39b2fa9eb9ffb6dc763fb35a179f80fae06ffc5d28b6ace5faa883de28a6",
    "train.en.gz": "d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f",
    "train.fr.gz": "622e75069e9f4c577425c4f277116ce66e63a2401c0a2312d90073cb12379a3c",
    "val.cs.gz": "b63226e05c4bd5dd6a42897d74b86a1b9d2c31498252c572b1ea7f7996927fcc",
    "val.de.gz": "f0cba2f995189cf5770f29a8a9a537a3ad3f51657ad873405082ff6863a5e75a",
    "val.en.gz": "14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28",
    "val.fr.gz": "ca3106f1a72390591d25f6c45cb4cd39dec4cd3f123e099748a3ce5256c160e9",
}


def check(folder: Path) -> None:
    """Check that all twelve files are there and are upstream's, byte for byte.

    Raises:
        UserError: a file is missing or differs.
    """
    for name, expected in SHA256.items():
        path = folder / name
        if not path.is_file():
            raise UserError(f"`--raw` must hold {name}; {folder} does not")
        actual = hashlib.sha256(path.read_bytes()).hexdigest()
        if actual != expected:
            raise UserError(f"`{path}` must have the SHA-256 {expected}; it has {actual}")


def download(folder: Path, say: Callable[[str], None]) -> None:
    """Fetch what is missing from upstream; a file gets its name only when its checksum is right.

    Raises:
        UserError: no connection, or a file that differs from the one known here.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name, expected in SHA256.items():
        path = folder / name
        if path.is_file():
            continue
        say(f"{URL}{name}")
        try:
            with urllib.request.urlopen(URL + name, timeout=60) as answer:
                content = answer.read()
        except (urllib.error.URLError, OSError) as error:
            raise UserError(
                f"`--raw` must be a folder with Multi30k's files where they cannot be "
                f"downloaded; {URL}{name} gave: {error}"
            ) from None
        actual = hashlib.sha256(content).hexdigest()
        if actual != expected:
            raise UserError(f"`{name}` must have the SHA-256 {expected}; it has {actual}")
        partial = path.with_name(name + ".partial")
        partial.write_bytes(content)
        os.replace(partial, path)


def write_corpus(raw: Path, out: Path, form: str) -> dict[str, int]:
    """Write the text folder of one form and return the training sentences of each pair.

    `shared`: every pair has all English training sentences, so two other languages are linked
    through the same sentences. `disjoint`: sentence i goes to pair i mod 3 alone, or to that of an
    equal English sentence before it, so no English sentence is in two pairs and zero-shot
    directions have never met. Validation text is the same in both; the test set is parallel over
    the four languages.
    """
    if form not in FORMS:
        raise UserError(f"`--form` must be one of {', '.join(FORMS)}; it is {form}")
    out.mkdir(parents=True, exist_ok=True)
    text = {
        (split, language): _lines(raw / f"{split}.{language}.gz")
        for split in SPLITS
        for language in (HUB, *OTHERS)
    }
    english = text["train", HUB]
    first = {line: number for number, line in reversed([*enumerate(english)])}
    parts = [first[line] % len(OTHERS) for line in english]
    sizes = {}
    for part, other in enumerate(OTHERS):
        keep = [form == "shared" or own == part for own in parts]
        for language in (HUB, other):
            name = f"{HUB}-{other}.{language}"
            train = [*itertools.compress(text["train", language], keep)]
            write_text(out / f"train.{name}", train)
            write_text(out / f"valid.{name}", text["val", language])
            sizes[f"{HUB}-{other}"] = len(train)
    for language in (HUB, *OTHERS):
        write_text(out / f"test.{language}", text["test_2016_flickr", language])
    return sizes


def _lines(path: Path) -> list[str]:
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as stream:
        return [line.rstrip("\r\n") for line in stream]
