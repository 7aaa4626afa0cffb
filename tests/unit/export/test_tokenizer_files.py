"""The tokenizer of an export has the ids of the training text."""

import io
import random
import re
import unicodedata
from types import SimpleNamespace

import pytest
import sentencepiece
from support.exported import AWKWARD

from tdo_plugin.export.remote_code.tokenization_tdo import TdoTokenizer
from tdo_plugin.export.tokenizer_files import build_tokenizer, write_tokenizer

SPECIALS = ("<s>", "<pad>", "</s>", "<unk>")
TAGS = ("__en__", "__de__", "madeupword0000")
TEXT = (
    "a man in a naïve café reads an été </ text < unk",
    "ein Mann liest 1,000.5 % __ de en __ s> pad> </s",
    "un homme lit des Ångström fine ½ TM",
    "привет мир 日本語のテキスト 한국어 emoji 🎉",
) * 3


def segmentation(**settings):
    """A SentencePiece model of the text, which is too small for its size, and its pieces."""
    trained = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXT),
        model_writer=trained,
        hard_vocab_limit=False,
        minloglevel=2,
        **{"vocab_size": 160, "character_coverage": 0.98, **settings},
    )
    model = sentencepiece.SentencePieceProcessor(model_proto=trained.getvalue())
    pieces = [model.id_to_piece(number) for number in range(3, model.get_piece_size())]
    return trained.getvalue(), model, pieces


def in_training(model, rows, line):
    """The ids of a line as in training: SentencePiece, then fairseq's dictionary."""
    pieces = re.sub(r"\s+", " ", " ".join(model.encode(line, out_type=str))).strip().split(" ")
    return [rows.get(piece, rows["<unk>"]) for piece in pieces if piece]


def lines():
    """The awkward text, the training text, and random mixtures."""
    drawn = random.Random(1)
    characters = [each for each in "".join((*AWKWARD, *TEXT)) if not unicodedata.combining(each)]
    alphabet = [*characters, *TAGS, *SPECIALS]
    mixed = ["".join(drawn.choices(alphabet, k=drawn.randint(1, 25))) for _ in range(2000)]
    return [*AWKWARD, *TEXT, *mixed]


@pytest.mark.parametrize("normalization", ["nmt_nfkc", "nfkc", "identity"])
@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_ids_are_those_of_the_training_text(kind, normalization):
    settings = {"model_type": kind, "normalization_rule_name": normalization}
    content, model, pieces = segmentation(**settings)
    # as in training, and with tags between pieces, as after `tdo convert --extend-vocabulary`
    for symbols in ((*SPECIALS, *pieces, *TAGS), (*SPECIALS, *pieces[:90], *TAGS, *pieces[90:])):
        tokenizer = build_tokenizer(content, symbols)
        rows = {symbol: row for row, symbol in enumerate(symbols)}
        assert tokenizer.get_vocab() == rows
        for line in lines():
            ids = tokenizer.encode(line).ids
            assert ids == [*in_training(model, rows, line), rows["</s>"]], ascii(line)


@pytest.mark.parametrize("normalization", ["nmt_nfkc", "identity"])
def test_the_folders_own_tokenizer_has_them_for_any_text(normalization):
    """Also for marks, which `tokenizer.json` composes in other orders, and for ties."""
    content, model, pieces = segmentation(normalization_rule_name=normalization)
    symbols = (*SPECIALS, *pieces, *TAGS)
    rows = {symbol: row for row, symbol in enumerate(symbols)}
    names = {"unk_token": "<unk>", "eos_token": "</s>", "pad_token": "<pad>"}
    tokenizer = TdoTokenizer(tokenizer_object=build_tokenizer(content, symbols), **names)
    tokenizer.segmentation = model
    drawn = random.Random(2)
    unicode = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    marks = [each for each in unicode if unicodedata.combining(each)]
    mixed = [
        "".join(drawn.choice(drawn.choice((unicode, marks, TEXT[1]))) for _ in range(20))
        for _ in range(2000)
    ]
    text = [line for line in (*lines(), *mixed) if "\r" not in line and "\n" not in line]
    ids = tokenizer([*text, "a\r\n\nman"])["input_ids"]
    for line, row in zip([*text, "a man"], ids, strict=True):
        assert row == [*in_training(model, rows, line), rows["</s>"]], ascii(line)


def test_other_rules_are_refused(refused):
    for settings, dropped, names in (
        ({"remove_extra_whitespaces": False}, 0, "usual rules for spaces"),
        ({"user_defined_symbols": ["<x>"]}, 0, "pieces that are plain text"),
        ({"model_type": "char"}, 0, "a unigram or BPE model"),
        ({}, 1, "only pieces of the dictionary"),
    ):
        content, _, pieces = segmentation(**settings)
        with refused.raised(f"{settings}", names=names):
            build_tokenizer(content, (*SPECIALS, *pieces[dropped:], *TAGS))


def test_text_that_is_no_piece_is_refused(refused, tmp_path):
    content, model, pieces = segmentation()
    assert model.encode("☃☃", out_type=str) == ["▁", "☃☃"]  # fairseq counts it as an entry
    symbols = (*SPECIALS, *pieces, "☃☃", *TAGS)
    opened = SimpleNamespace(segmentation=content, symbols=symbols, tags={"en": TAGS[0]})
    with refused.raised("an entry for unknown characters", names="☃☃"):
        write_tokenizer(opened, tmp_path)
    assert not list(tmp_path.iterdir())
