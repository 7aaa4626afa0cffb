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
def test_the_vocabulary_is_the_operations_and_the_alphabet(tmp_path: Path, operations: int) -> None:
    alphabet = learn(tmp_path, text(), bpe_operations=operations)
    pieces = pieces_of(tmp_path)
    characters, initials = {*"".join(text()).replace(" ", "▁")}, initials_of(text())
    assert alphabet == Alphabet(len(characters), len(initials))
    assert len(pieces) == operations + len(characters) + len(initials)
    assert {piece for piece in pieces if len(piece) == 1} == characters


def symbols_of_sennrich_et_al(lines: list[str]) -> set[str]:
    """Their words are tuples of characters, the last of which has the mark of a word's end."""
    words = {word for line in lines for word in line.split()}
    within = {character for word in words for character in word[:-1]}
    return within | {f"{word[-1]}</w>" for word in words}


def test_as_many_characters_begin_words_as_end_them_in_this_text(tmp_path: Path) -> None:
    """So that there are as many entries as by the code of Sennrich et al."""
    learn(tmp_path, text(), bpe_operations=60)
    mark = 1  # SentencePiece's is a piece of its own
    assert len(pieces_of(tmp_path)) == len(symbols_of_sennrich_et_al(text())) + 60 + mark


def test_elsewhere_the_alphabet_has_another_size(tmp_path: Path) -> None:
    lines = ["abc abd aabe"] * 20
    assert learn(tmp_path, lines, bpe_operations=2) == Alphabet(len("abcde▁"), len("a"))
    assert len(pieces_of(tmp_path)) == 2 + len("abcde▁") + len("a")
    assert symbols_of_sennrich_et_al(lines) == {"a", "b", "c</w>", "d</w>", "e</w>"}


def test_what_is_merged_is_what_sennrich_et_al_merge(tmp_path: Path) -> None:
    learn(tmp_path, text(), bpe_operations=60)
    merges = 60 + len(initials_of(text()))
    pieces = pieces_of(tmp_path)[:merges]
    assert pieces == merged(text(), merges)
    # pieces that a model of so many entries does not have: two scripts, letters with digits
    learn(tmp_path, text(), vocab_size=META_PIECES + len(pieces_of(tmp_path)))
    assert not {*pieces} <= {*pieces_of(tmp_path)}


def test_long_words_are_merged_whole(tmp_path: Path) -> None:
    word = "abcdefghijklmnopqrstuvwxyz"
    learn(tmp_path, [word] * 50, bpe_operations=25)
    assert f"▁{word}" in pieces_of(tmp_path)


@pytest.mark.parametrize(("coverage", "rare"), [(1.0, True), (0.99, False)])
def test_characters_are_those_that_are_covered(tmp_path: Path, coverage: float, rare: bool) -> None:
    lines = [*text(), "ю"]
    learn(tmp_path, lines, bpe_operations=20, character_coverage=coverage)
    pieces = pieces_of(tmp_path)
    assert ("ю" in pieces) == rare
    initials = initials_of(lines) & {*pieces}
    assert sum(len(piece) > 1 for piece in pieces) == 20 + len(initials)


def test_characters_are_counted_as_the_text_is_normalized_and_lowercased(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("\uff21B ab Ab\n" * 9, encoding="utf-8")
    settings = SegmentationSettings(model_type="bpe", bpe_operations=1)
    alphabet = train_model([tmp_path / "text"], tmp_path / "spm", settings, lowercase=True)
    assert alphabet == Alphabet(characters=3, initials=1)
    assert sorted(pieces_of(tmp_path)) == ["a", "ab", "b", "▁", "▁ab"]


def test_a_drawn_text_is_the_same_both_times(tmp_path: Path) -> None:
    characters = [chr(0x4E00 + index) for index in range(300)]
    lines = [f"{character} ab ab" for character in characters]
    alphabet = learn(tmp_path, lines, bpe_operations=3, sentences=100)
    assert alphabet == Alphabet(100 + len("ab▁"), 100 + len("a"))
    assert sum(piece in characters for piece in pieces_of(tmp_path)) == 100


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "exactly one of `--vocab-size` and `--bpe-operations` must be set"),
        ({"vocab_size": 5, "bpe_operations": 5}, "must be set; they are 5 and 5"),
        ({"bpe_operations": 5}, "`--model-type` must be bpe if the size is in BPE operations"),
    ],
)
def test_sizes_that_contradict(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        SegmentationSettings(**settings)


def test_too_many_operations_are_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="`--bpe-operations` must suit the text") as error:
        learn(tmp_path, text(), bpe_operations=10**12)
    assert "\n" not in str(error.value)


def test_records_of_other_sizes_stay_what_they_were() -> None:
    assert "bpe_operations" not in SegmentationSettings(80).stored()
    assert SegmentationSettings(model_type="bpe", bpe_operations=8).stored() == {
        **SegmentationSettings(80, "bpe").stored(),
        "vocab_size": 0,
        "bpe_operations": 8,
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "text"
    path.mkdir()
    for split in ("train", "valid", "test"):
        for seed, language in enumerate(("en", "de"), 1):
            lines = "\n".join(text(seed)[:100]) + "\n"
            (path / f"{split}.en-de.{language}").write_text(lines, encoding="utf-8")
    return path


def test_preprocess_says_what_came_out(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["preprocess", str(folder), str(tmp_path / "data"), "--model-type", "bpe"]
    assert main([*words, "--bpe-operations", "30"]) == 0
    said = capsys.readouterr().out
    entries = len(list(read_lines(tmp_path / "data" / "dict.txt")))
    assert f"{entries} pieces: 30 BPE operations, " in said
    record = json.loads((tmp_path / "data" / MARK).read_text(encoding="utf-8"))["segmentation"]
    assert (record["vocab_size"], record["bpe_operations"]) == (0, 30)
    assert main([*words, "--bpe-operations", "30"]) == 0
    assert "is already complete" in capsys.readouterr().out
    assert main([*words, "--bpe-operations", "31"]) == 2
    assert "with other settings" in capsys.readouterr().err
    assert main([*words, "--bpe-operations", "5000", "--fresh"]) == 0
    assert "(5,000 are more than the text has)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--bpe-operations", "0"], "`--bpe-operations` must be at least 1; it is 0"),
        (["--bpe-operations", "9"], "`--model-type` must be bpe if the size is in BPE operations"),
        (
            ["--bpe-operations", "9", "--vocab-size", "8", "--model-type", "bpe"],
            "`--bpe-operations` must be set; they are 8 and 9",
        ),
    ],
)
def test_preprocess_refuses_in_one_line(
    folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    message: str,
) -> None:
    assert main(["preprocess", str(folder), str(tmp_path / "data"), *words]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1
    assert not (tmp_path / "data").exists()
