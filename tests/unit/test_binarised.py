"""Damage to binarised sets: what each check catches, and what it says."""

import hashlib
import json
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from fairseq.data import Dictionary
from fairseq.data.indexed_dataset import MMapIndexedDatasetBuilder, make_dataset

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
    names = [path.name for path in tmp_path.iterdir()]
    checksums = {name: hashlib.sha256((tmp_path / name).read_bytes()).hexdigest() for name in names}
    (tmp_path / "prepared.json").write_text(json.dumps({DIGESTS: checksums}))
    return tmp_path


@pytest.fixture
def unmarked(folder: Path) -> Path:
    """The same, as older versions and fairseq-preprocess leave it: without digests."""
    (folder / "prepared.json").unlink()
    return folder


def dictionary(tags: int = 2) -> Dictionary:
    """As it is in use: with tags behind the words."""
    symbols = Dictionary()
    for number in range(WORDS):
        symbols.add_symbol(f"word{number}")
    for number in range(tags):
        symbols.add_symbol(f"__tag{number}__")
    return symbols


def lean(prefix: Path) -> object:
    return MappedSentences(str(prefix), dictionary())


def stock(prefix: Path) -> object:
    return make_dataset(str(prefix), impl="mmap", dictionary=dictionary())


def change(path: Path, place: int, value: bytes) -> None:
    content = bytearray(path.read_bytes())
    content[place : place + len(value)] = value
    path.write_bytes(content)


def length(number: int) -> int:
    """Where the index has a sentence's length."""
    return HEADER.size + 4 * number


def begin(number: int) -> int:
    """Where it has its place."""
    return HEADER.size + 4 * len(EN) + 8 * number


def token(number: int, value: int) -> Callable[[Path], None]:
    return lambda side: change(Path(f"{side}.bin"), 2 * number, np.uint16(value).tobytes())


def index(place: int, value: bytes) -> Callable[[Path], None]:
    return lambda side: change(Path(f"{side}.idx"), place, value)


def cut(suffix: str, count: int) -> Callable[[Path], None]:
    return lambda side: os.truncate(f"{side}{suffix}", os.path.getsize(f"{side}{suffix}") - count)


def emptied(suffix: str) -> Callable[[Path], None]:
    return lambda side: os.truncate(f"{side}{suffix}", 0)


def swap(suffix: str) -> Callable[[Path], None]:
    """With the other side's."""

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


# what is seen without digests: what was done, and what is said
SEEN = {
    "token beyond the dictionary": (token(6, COUNT), "bin .* sentence 2: its token 24 is not in"),
    "token of a tag": (token(6, COUNT + 1), "sentence 2: its token 25 is not in the dictionary of"),
    "largest token": (token(0, 65535), "sentence 1: its token 65535 is not in"),
    "lost end": (token(9, 5), "bin .* sentence 2: its end symbol is missing"),
    "lost last end": (token(15, 5), "sentence 5: its end symbol is missing"),
    "zeros": (lambda side: change(Path(f"{side}.bin"), 4, bytes(8)), "sentence 1: its end symbol"),
    "cut tokens": (cut(".bin", 2), "bin .* it has 30 bytes, but 32 by its index"),
    "a token too many": (
        lambda side: Path(f"{side}.bin").write_bytes(Path(f"{side}.bin").read_bytes() + b"\2\0"),
        "bin .* it has 34 bytes, but 32 by its index",
    ),
    "no tokens": (emptied(".bin"), "bin .* it has 0 bytes, but 32 by its index"),
    "no index": (emptied(".idx"), "idx .* it is empty"),
    "half a head": (cut(".idx", 60 + 3), "idx .* not an index|idx .* bytes, its header alone 26"),
    "cut index": (cut(".idx", 1), "idx .* it has 85 bytes, but 86 for its 5 sentences"),
    "sentences": (index(18, b"\6"), "idx .* it has 86 bytes, but 98 for its 6 sentences"),
    "no sentences": (index(18, b"\0"), "idx .* it has 86 bytes, but 26 for its 0 sentences"),
    "many sentences": (
        index(24, b"\7"),
        "idx .* it has 86 bytes, but [0-9]+ for its [0-9]+ sentences",
    ),
    "magic": (index(0, b"X"), "idx .* it is not an index of fairseq"),
    "version": (index(9, b"\7"), "idx .* it is not an index of fairseq"),
    "type": (index(17, b"\x63"), "idx .* it is not an index of fairseq"),
    "floats": (index(17, b"\6"), "idx .* it is not an index of fairseq"),
    "a wider type": (index(17, b"\4"), "idx .* sentence 2: it begins at byte 8, .* ends at 16"),
    "length": (index(length(1), b"\7"), "sentence 3: it begins at byte 20, .* ends at 22"),
    "length of the last": (index(length(4), b"\7"), "bin .* it has 32 bytes, but 42 by its index"),
    "length of nothing": (index(length(2), b"\0"), "sentence 3: its length is 0"),
    "negative length": (index(length(2) + 3, b"\xff"), "sentence 3: its length is -16777215"),
    "huge length": (
        index(length(0) + 3, b"\x7f"),
        "sentence 2: it begins at byte 8, the previous one",
    ),
    "place": (index(begin(3), b"\x15"), "sentence 4: it begins at byte 21, .* ends at 22"),
    "first place": (index(begin(0), b"\2"), "sentence 1: it begins at byte 2, .* ends at 0"),
    "far place": (index(begin(2) + 7, b"\x7f"), "sentence 3: it begins at byte 9151"),
    "negative place": (index(begin(2) + 7, b"\xff"), "sentence 3: it begins at byte -7205"),
    "swapped tokens": (swap(".bin"), "test.en-de.en.bin .*"),
    "swapped indices": (swap(".idx"), "test.en-de.en.bin .*"),
    "tokens for an index": (of_other_type, "idx .* it is not an index of fairseq"),
    "a longer other side": (longer, "en.idx .* it has 5 sentences, .*test.en-de.de.idx 6"),
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


@pytest.mark.parametrize("load", [lean, stock])
@pytest.mark.parametrize("name", SEEN)
def test_damage_is_seen_where_a_set_is_opened(
    name: str, load: Callable[[Path], object], unmarked: Path
) -> None:
    side = unmarked / "test.en-de.en"
    load(side)
    spoil, says = SEEN[name]
    spoil(side)
    with pytest.raises(DamagedData, match=rf"`data` must have intact files; .*{says}") as raised:
        load(side)
    assert str(unmarked) in str(raised.value) and "of set test.en-de" in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("load", [lean, stock])
@pytest.mark.parametrize("name", TOLD)
def test_digests_tell_what_nothing_else_does(
    name: str, load: Callable[[Path], object], folder: Path
) -> None:
    side = folder / "test.en-de.en"
    load(side)
    TOLD[name](side)
    message = "is damaged: it has changed since the folder was made"
    for look in (lambda: load(side), lambda: check_folder(str(folder))):
        with pytest.raises(DamagedData, match=message):
            look()
    (folder / "prepared.json").unlink()
    load(side)  # an older folder goes on working
    assert check_folder(str(folder)) == 0


def test_any_flipped_byte_is_seen(folder: Path) -> None:
    drawn = random.Random(1)
    side = folder / "test.en-de.en"
    for suffix in (".idx", ".bin"):
        path = Path(f"{side}{suffix}")
        whole = path.read_bytes()
        for place in range(len(whole)):
            change(path, place, bytes([whole[place] ^ drawn.randrange(1, 256)]))
            with pytest.raises(DamagedData):
                lean(side)
            path.write_bytes(whole)
    lean(side)


def test_an_index_without_digests_has_no_byte_to_spare(unmarked: Path) -> None:
    """Unlike tokens, where one word may become another."""
    path = unmarked / "test.en-de.en.idx"
    whole = path.read_bytes()
    for place in range(len(whole)):
        for bit in range(8):
            change(path, place, bytes([whole[place] ^ 1 << bit]))
            with pytest.raises(DamagedData):
                lean(unmarked / "test.en-de.en")
            path.write_bytes(whole)


@pytest.fixture
def large(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A side that is too large to be checked when it is opened; its second sentence has no end."""
    monkeypatch.setattr(binarised, "CHEAP", 8)
    monkeypatch.setattr(digests, "CHEAP", 8)
    side = folder / "test.en-de.en"
    token(9, 5)(side)
    return side


def test_a_large_file_is_looked_over_sentence_by_sentence(large: Path) -> None:
    """But for fairseq's own loading, which reads it anyway; its digest is for `tdo inspect`."""
    token(12, COUNT)(large)
    opened = MappedSentences(str(large), dictionary())
    assert opened[0].tolist() == [*EN[0], 2]
    for number, says in ((1, "sentence 2: its end symbol"), (-2, "sentence 4: its token 24")):
        with pytest.raises(DamagedData, match=says):
            opened[number]
    with pytest.raises(DamagedData, match="sentence 4: its token 24"):
        stock(large)
    with pytest.raises(DamagedData, match="it has changed"):
        check_folder(str(large.parent))


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


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b"\xff", b'{"digests": 1}'])
def test_a_damaged_mark_is_named(content: bytes, folder: Path) -> None:
    (folder / "prepared.json").write_bytes(content)
    with pytest.raises(DamagedData, match=r"prepared\.json is damaged"):
        lean(folder / "test.en-de.en")


def test_what_is_missing_is_named(folder: Path) -> None:
    (folder / "test.en-de.de.bin").unlink()
    with pytest.raises(DamagedData, match=r"test\.en-de\.de\.bin is missing"):
        check_folder(str(folder))


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
