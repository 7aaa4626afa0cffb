"""BPE whose size is a number of merges, as Sennrich et al. (2016) count them."""

import json
import random
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tdo_plugin.cli import main
from tdo_plugin.data import segmentation as sp
from tdo_plugin.data.databin import MARK
from tdo_plugin.data.joint_model import META_PIECES, Alphabet, SegmentationSettings, train_model
from tdo_plugin.data.textfolder import read_lines
from tdo_plugin.errors import UserError


def text(seed: int = 1) -> list[str]:
    """Words of letters of two scripts, digits and a hyphen, some of which are frequent."""
    drawn = random.Random(seed)
    words = ["".join(drawn.choices("abcdeжд12-", k=drawn.randint(2, 6))) for _ in range(60)]
    weights = [1 / rank for rank in range(1, len(words) + 1)]
    return [" ".join(drawn.choices(words, weights, k=8)) for _ in range(400)]


def learn(folder: Path, lines: list[str], **settings: Any) -> Alphabet | None:
    (folder / "text").write_text("\n".join(lines) + "\n", encoding="utf-8")
    chosen = SegmentationSettings(model_type="bpe", normalization="identity", **settings)
    return train_model([folder / "text"], folder / "spm", chosen)


def pieces_of(folder: Path) -> list[str]:
    model = sp.load_model(folder / "spm.model")
    return [model.id_to_piece(index) for index in range(META_PIECES, model.get_piece_size())]


def initials_of(lines: list[str]) -> set[str]:
    return {word[0] for line in lines for word in line.split()}


def merged(lines: list[str], operations: int) -> list[str]:
    """What the algorithm of Sennrich et al. merges, in order.

    Words begin with ▁. Among equally frequent pairs SentencePiece takes the shortest result, then
    the first by the alphabet; a result that a former merge made too is no operation of its own.
    """
    words = Counter(f"▁{word}" for line in lines for word in line.split())
    symbols = {word: tuple(word) for word in words}
    made: list[str] = []
    while len(made) < operations:
        frequency: Counter[tuple[str, str]] = Counter()
        for word, count in words.items():
            for pair in pairwise(symbols[word]):
                frequency[pair] += count
        pair = min(frequency, key=lambda p: (-frequency[p], len("".join(p)), "".join(p)))
        for word, parts in symbols.items():
            joined: list[str] = []
            for part in parts:
                if joined and (joined[-1], part) == pair:
                    joined[-1] += part
                else:
                    joined.append(part)
            symbols[word] = tuple(joined)
        if "".join(pair) not in made:
            made.append("".join(pair))
    return made


@pytest.mark.parametrize("operations", [1, 25, 60])
def test_the_vocabulary_is_the_operations_and_the_alphabet(tmp_path, operations):
    alphabet = learn(tmp_path, text(), bpe_operations=operations)
    pieces = pieces_of(tmp_path)
    characters, initials = {*"".join(text()).replace(" ", "▁")}, initials_of(text())
    assert alphabet == Alphabet(len(characters), len(initials))
    assert len(pieces) == operations + len(characters) + len(initials)
    assert {piece for piece in pieces if len(piece) == 1} == characters
    # as many characters end words as begin them here, so it is the size of Sennrich et al.'s code
    mark = 1  # SentencePiece's is a piece of its own
    assert len(pieces) == len(symbols_of_sennrich_et_al(text())) + operations + mark


def symbols_of_sennrich_et_al(lines: list[str]) -> set[str]:
    """Their words are tuples of characters, the last of which has the mark of a word's end."""
    words = {word for line in lines for word in line.split()}
    within = {character for word in words for character in word[:-1]}
    return within | {f"{word[-1]}</w>" for word in words}


def test_what_is_merged_is_what_sennrich_et_al_merge(tmp_path):
    learn(tmp_path, text(), bpe_operations=60)
    merges = 60 + len(initials_of(text()))
    pieces = pieces_of(tmp_path)[:merges]
    assert pieces == merged(text(), merges)
    # pieces that a model of so many entries does not have: two scripts, letters with digits
    learn(tmp_path, text(), vocab_size=META_PIECES + len(pieces_of(tmp_path)))
    assert not {*pieces} <= {*pieces_of(tmp_path)}


def test_long_words_are_merged_whole(tmp_path):
    word = "abcdefghijklmnopqrstuvwxyz"
    learn(tmp_path, [word] * 50, bpe_operations=25)
    assert f"▁{word}" in pieces_of(tmp_path)


@pytest.mark.parametrize(("coverage", "rare"), [(1.0, True), (0.99, False)])
def test_characters_are_those_that_are_covered(tmp_path, coverage, rare):
    lines = [*text(), "ю"]
    learn(tmp_path, lines, bpe_operations=20, character_coverage=coverage)
    pieces = pieces_of(tmp_path)
    assert ("ю" in pieces) == rare
    initials = initials_of(lines) & {*pieces}
    assert sum(len(piece) > 1 for piece in pieces) == 20 + len(initials)


def test_characters_are_counted_as_the_text_is_normalized_and_lowercased(tmp_path):
    (tmp_path / "text").write_text("\uff21B ab Ab\n" * 9, encoding="utf-8")
    settings = SegmentationSettings(model_type="bpe", bpe_operations=1)
    alphabet = train_model([tmp_path / "text"], tmp_path / "spm", settings, lowercase=True)
    assert alphabet == Alphabet(characters=3, initials=1)
    assert sorted(pieces_of(tmp_path)) == ["a", "ab", "b", "▁", "▁ab"]


def test_a_drawn_text_is_the_same_both_times(tmp_path):
    characters = [chr(0x4E00 + index) for index in range(300)]
    lines = [f"{character} ab ab" for character in characters]
    alphabet = learn(tmp_path, lines, bpe_operations=3, sentences=100)
    assert alphabet == Alphabet(100 + len("ab▁"), 100 + len("a"))
    assert sum(piece in characters for piece in pieces_of(tmp_path)) == 100


def test_a_size_must_be_given(refused):
    with refused.raised("no size", names="--vocab-size"):
        SegmentationSettings()


def test_too_many_operations(tmp_path):
    with pytest.raises(UserError, match="`--bpe-operations` must suit the text"):
        learn(tmp_path, text(), bpe_operations=10**12)


def test_records_of_other_sizes_stay_what_they_were():
    assert "bpe_operations" not in SegmentationSettings(80).stored()
    assert SegmentationSettings(model_type="bpe", bpe_operations=8).stored() == {
        **SegmentationSettings(80, "bpe").stored(),
        "vocab_size": 0,
        "bpe_operations": 8,
    }


def test_preprocess_says_what_came_out(tmp_path, capsys, refused):
    folder, data = tmp_path / "text", tmp_path / "data"
    folder.mkdir()
    for split in ("train", "valid", "test"):
        for seed, language in enumerate(("en", "de"), 1):
            lines = "\n".join(text(seed)[:100]) + "\n"
            (folder / f"{split}.en-de.{language}").write_text(lines, encoding="utf-8")
    refused.rows(
        """
        preprocess {text} {data}
            --bpe-operations 0                                    :: --bpe-operations
            --bpe-operations 9                                    :: --model-type
            --bpe-operations 9 --vocab-size 8 --model-type bpe    :: --bpe-operations
        """,
        text=folder,
        data=data,
    )
    words = ["preprocess", str(folder), str(data), "--model-type", "bpe", "--bpe-operations"]
    assert main([*words, "30"]) == 0
    entries = len(list(read_lines(data / "dict.txt")))
    assert f"{entries} pieces: 30 BPE operations, " in capsys.readouterr().out
    record = json.loads((data / MARK).read_text(encoding="utf-8"))["segmentation"]
    assert (record["vocab_size"], record["bpe_operations"]) == (0, 30)
    assert main([*words, "30"]) == 0
    assert "is already complete" in capsys.readouterr().out
    refused(*words, 31, names="settings")
    assert main([*words, "5000", "--fresh"]) == 0
    assert "(5,000 are more than the text has)" in capsys.readouterr().out
