"""Damage to binarised sets: what each check catches, and what it says."""

import functools
import hashlib
import json
import os
import random
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from fairseq.data import Dictionary
from fairseq.data.indexed_dataset import MMapIndexedDatasetBuilder, make_dataset
from support.refusals import Refused

import tdo_compat.binarised as binarised
from tdo_compat import digests
from tdo_compat.binarised import HEADER, check_side
from tdo_compat.digests import DIGESTS, DamagedData, check_folder
from tdo_compat.errors import one_line
from tdo_plugin.tasks.loading.mapped import MappedSentences

WORDS = 20
COUNT = 24  # with the four symbols of every dictionary
EN = [[4, 5, 6], [7] * 5, [], [8, 9], [10]]
DE = [[11, 12], [13] * 3, [14, 15], [16], [17, 18, 19]]


def write(path: Path, sentences: list[list[int]], dtype: type = np.uint16, end: int = 2) -> None:
    builder = MMapIndexedDatasetBuilder(f"{path}.bin", dtype=dtype)
    for sentence in sentences:
        builder.add_item(torch.tensor([*sentence, end]))
    builder.finalize(f"{path}.idx")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Both sides of a pair with their dictionaries, and the digests of all."""
    for language, sentences in (("en", EN), ("de", DE)):
        write(tmp_path / f"test.en-de.{language}", sentences)
        words = "".join(f"word{number} 1\n" for number in range(WORDS))
        (tmp_path / f"dict.{language}.txt").write_text(words)
    names = sorted(path.name for path in tmp_path.iterdir())
    checksums = {name: hashlib.sha256((tmp_path / name).read_bytes()).hexdigest() for name in names}
    (tmp_path / "prepared.json").write_text(json.dumps({DIGESTS: checksums}))
    return tmp_path


@pytest.fixture
def unmarked(folder: Path) -> Path:
    """The same, as older versions and fairseq-preprocess leave it: without digests."""
    (folder / "prepared.json").unlink()
    return folder


@functools.cache
def dictionary() -> Dictionary:
    """As it is in use: with tags behind the words."""
    symbols = Dictionary()
    for symbol in (*(f"word{number}" for number in range(WORDS)), "__tag0__", "__tag1__"):
        symbols.add_symbol(symbol)
    return symbols


def lean(prefix: Path) -> Any:
    return MappedSentences(str(prefix), dictionary())


def stock(prefix: Path) -> Any:
    return make_dataset(str(prefix), impl="mmap", dictionary=dictionary())


def change(path: Path, place: int, value: bytes) -> None:
    with path.open("r+b") as file:  # far quicker than to write it anew
        file.seek(place)
        file.write(value)


def length(number: int) -> int:
    return HEADER.size + 4 * number


def begin(number: int) -> int:
    return HEADER.size + 4 * len(EN) + 8 * number


def token(number: int, value: int) -> Callable[[Path], None]:
    return lambda side: change(Path(f"{side}.bin"), 2 * number, np.uint16(value).tobytes())


def index(place: int, value: bytes) -> Callable[[Path], None]:
    return lambda side: change(Path(f"{side}.idx"), place, value)


def cut(suffix: str, count: int) -> Callable[[Path], None]:
    return lambda side: os.truncate(f"{side}{suffix}", os.path.getsize(f"{side}{suffix}") - count)


def swap(suffix: str) -> Callable[[Path], None]:
    def exchange(side: Path) -> None:
        first, second = Path(f"{side}{suffix}"), side.with_name(f"test.en-de.de{suffix}")
        content = first.read_bytes()
        first.write_bytes(second.read_bytes())
        second.write_bytes(content)

    return exchange


def of_other_type(side: Path) -> None:
    Path(f"{side}.idx").write_bytes(Path(f"{side}.bin").read_bytes())


def longer(side: Path) -> None:
    write(side.with_name("test.en-de.de"), [*DE, [4]])


# what is seen without digests
SEEN = {
    "token beyond the dictionary": token(6, COUNT),
    "token of a tag": token(6, COUNT + 1),
    "largest token": token(0, 65535),
    "lost end": token(9, 5),
    "lost last end": token(15, 5),
    "zeros": lambda side: change(Path(f"{side}.bin"), 4, bytes(8)),
    "cut tokens": cut(".bin", 2),
    "a token too many": lambda side: change(Path(f"{side}.bin"), 32, b"\2\0"),
    "no tokens": lambda side: os.truncate(f"{side}.bin", 0),
    "no index": lambda side: os.truncate(f"{side}.idx", 0),
    "half a head": cut(".idx", 60 + 3),
    "cut index": cut(".idx", 1),
    "sentences": index(18, b"\6"),
    "no sentences": index(18, b"\0"),
    "many sentences": index(24, b"\7"),
    "magic": index(0, b"X"),
    "version": index(9, b"\7"),
    "type": index(17, b"\x63"),
    "floats": index(17, b"\6"),
    "a wider type": index(17, b"\4"),
    "length": index(length(1), b"\7"),
    "length of the last": index(length(4), b"\7"),
    "length of nothing": index(length(2), b"\0"),
    "negative length": index(length(2) + 3, b"\xff"),
    "huge length": index(length(0) + 3, b"\x7f"),
    "place": index(begin(3), b"\x15"),
    "first place": index(begin(0), b"\2"),
    "far place": index(begin(2) + 7, b"\x7f"),
    "negative place": index(begin(2) + 7, b"\xff"),
    "swapped tokens": swap(".bin"),
    "swapped indices": swap(".idx"),
    "tokens for an index": of_other_type,
    "a longer other side": longer,
}
# what only digests tell
TOLD = {
    "another word": token(1, 6),
    "a word less": lambda side: (
        change(Path(f"{side}.bin"), 4, b"\4"),
        change(Path(f"{side}.bin"), 2, b"\5"),
    ),
    "both files swapped": lambda side: [swap(suffix)(side) for suffix in (".bin", ".idx")],
    "a dictionary in another order": lambda side: side.with_name("dict.en.txt").write_text(
        "".join(f"word{number} 1\n" for number in reversed(range(WORDS)))
    ),
}


def test_damage_is_seen_where_a_set_is_opened(refused: Refused, unmarked: Path) -> None:
    whole = {path: path.read_bytes() for path in unmarked.glob("test.*")}
    side = unmarked / "test.en-de.en"
    for name, spoil in SEEN.items():
        assert len(lean(side)) == len(stock(side)) == len(EN)
        spoil(side)
        for load in (lean, stock):
            with refused.raised(name, names="of set test.en-de"):
                load(side)
        for path, content in whole.items():
            path.write_bytes(content)


@pytest.mark.parametrize("name", TOLD)
def test_digests_tell_what_nothing_else_does(name: str, refused: Refused, folder: Path) -> None:
    side = folder / "test.en-de.en"
    assert len(lean(side)) == len(stock(side)) == len(EN)
    TOLD[name](side)
    for by, look, path in (
        ("set", lean, side),
        ("set", stock, side),
        ("folder", check_folder, folder),
    ):
        with refused.raised(by, names="has changed"):
            look(path)
    (folder / "prepared.json").unlink()
    assert len(lean(side)) == len(stock(side)) == len(EN)  # an older folder goes on working
    assert check_folder(str(folder)) == 0


def each_change(path: Path, bits: Sequence[int]) -> Iterator[None]:
    """In turn each byte with some of its bits flipped, and then put back."""
    for place, byte in enumerate(path.read_bytes()):
        for flipped in bits:
            change(path, place, bytes([byte ^ flipped]))
            yield
        change(path, place, bytes([byte]))


def test_any_flipped_byte_is_seen(folder: Path) -> None:
    """Without digests of an index alone; of tokens one word may become another."""
    drawn = random.Random(1)
    side = folder / "test.en-de.en"
    for suffix in (".idx", ".bin"):
        for _ in each_change(Path(f"{side}{suffix}"), [drawn.randrange(1, 256)]):
            with pytest.raises(DamagedData):
                lean(side)
    lean(side)
    (folder / "prepared.json").unlink()
    for _ in each_change(Path(f"{side}.idx"), [1 << bit for bit in range(8)]):
        with pytest.raises(DamagedData):
            lean(side)
    lean(side)


@pytest.fixture
def large(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A side that is too large to be checked when it is opened; its second sentence has no end."""
    monkeypatch.setattr(binarised, "CHEAP", 8)
    monkeypatch.setattr(digests, "CHEAP", 8)
    side = folder / "test.en-de.en"
    token(9, 5)(side)
    return side


def test_a_large_file_is_looked_over_sentence_by_sentence(refused: Refused, large: Path) -> None:
    """But for fairseq's own loading, which reads it anyway; its digest is for `tdo inspect`."""
    token(12, COUNT)(large)
    opened = MappedSentences(str(large), dictionary())
    assert opened[0].tolist() == [*EN[0], 2]
    for by, names, look in (
        ("a lost end", "sentence 2", lambda: opened[1]),
        ("a token", "sentence 4", lambda: opened[-2]),
        ("fairseq's loading", "sentence 4", lambda: stock(large)),
        ("the digest", "has changed", lambda: check_folder(str(large.parent))),
    ):
        with refused.raised(by, names):
            look()


def test_an_index_is_looked_over_in_blocks(unmarked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binarised, "BLOCK", 2)
    side = unmarked / "test.en-de.en"
    lean(side)
    token(12, COUNT)(side)
    with pytest.raises(DamagedData, match="sentence 4: its token 24"):
        lean(side)
    index(begin(4), b"\x1b")(side)
    with pytest.raises(DamagedData, match="sentence 5: it begins at byte 27"):
        lean(side)


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.int32, np.int64, np.uint32])
def test_every_type_of_tokens(dtype: type, tmp_path: Path) -> None:
    side = tmp_path / "test.en-de.en"
    write(side, EN, dtype=dtype)
    assert [row.tolist() for row in lean(side)] == [[*row, 2] for row in EN]
    write(side, [*EN, [-1]] if np.dtype(dtype).kind == "i" else [*EN, [30]], dtype=dtype)
    with pytest.raises(DamagedData, match=r"sentence 6: its token (-1|30) is not in"):
        lean(side)


def test_shards_are_known_to_the_folder_above(folder: Path) -> None:
    shard = folder / "shard2"
    shard.mkdir()
    for path in folder.glob("*.*"):
        if path.suffix in (".idx", ".bin", ".txt"):
            shutil.copyfile(path, shard / path.name)
    recorded = json.loads((folder / "prepared.json").read_text())[DIGESTS]
    content = {
        DIGESTS: {**recorded, **{f"shard2/{name}": digest for name, digest in recorded.items()}}
    }
    (folder / "prepared.json").write_text(json.dumps(content))
    lean(shard / "test.en-de.en")
    TOLD["another word"](shard / "test.en-de.en")
    with pytest.raises(DamagedData, match=r"shard2/test\.en-de\.en\.bin .* it has changed"):
        lean(shard / "test.en-de.en")


def test_a_damaged_mark_and_a_missing_file(refused: Refused, folder: Path) -> None:
    (folder / "test.en-de.de.bin").unlink()
    with refused.raised("a missing file", names="test.en-de.de.bin"):
        check_folder(str(folder))
    for content in (b"", b"[]", b"{", b"\xff", b'{"digests": 1}'):
        (folder / "prepared.json").write_bytes(content)
        with refused.raised(str(content), names="prepared.json"):
            lean(folder / "test.en-de.en")


@pytest.mark.parametrize("impl", [None, "cached", "lazy"])
def test_a_kind_that_is_not_the_files(impl: str | None, unmarked: Path) -> None:
    side = str(unmarked / "test.en-de.en")
    with pytest.raises(DamagedData, match=r"`--dataset-impl` must be mmap for .*; it is"):
        make_dataset(side, impl=impl)
    Path(f"{side}.idx").write_bytes(b"")
    with pytest.raises(DamagedData, match="it is empty"):
        make_dataset(side, impl=impl)


def test_text_of_one_language_has_no_other_side(unmarked: Path) -> None:
    shutil.copyfile(unmarked / "dict.en.txt", unmarked / "dict.fr.txt")
    write(unmarked / "train.fr-fr.fr", EN)
    lean(unmarked / "train.fr-fr.fr")


def test_a_set_of_no_sentences(unmarked: Path) -> None:
    """Both loadings can tell; fairseq cannot map a file without a byte."""
    for language in ("en", "de"):
        write(unmarked / f"test.en-de.{language}", [])
    assert len(lean(unmarked / "test.en-de.en")) == 0
    with pytest.raises(DamagedData, match="it is empty"):
        stock(unmarked / "test.en-de.en")


def test_without_a_dictionary_tokens_are_not_looked_at(tmp_path: Path) -> None:
    """As fairseq opens alignments, which have no end."""
    write(tmp_path / "train.align.en-de", EN, end=9)
    assert len(check_side(str(tmp_path / "train.align.en-de")).sizes) == len(EN)


def test_a_loaders_process_says_it_in_one_line(large: Path) -> None:
    """torch hands on what a process raised as text, with a traceback inside."""
    loader = torch.utils.data.DataLoader(
        lean(large), num_workers=1, batch_size=None, multiprocessing_context="fork"
    )
    with pytest.raises(DamagedData) as raised:
        list(loader)
    assert one_line(type(raised.value), raised.value) == (
        f"`data` must have intact files; {large}.bin of set test.en-de is damaged: sentence 2: its "
        "end symbol is missing"
    )
