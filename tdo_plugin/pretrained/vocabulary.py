"""Adds entries to a pre-trained model: pieces and tags of new languages after the existing ones.

Shapes: V entries of the dictionary, D model width.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor

from tdo_plugin.data.joint_model import SegmentationSettings, train_model
from tdo_plugin.data.segmentation import model_message
from tdo_plugin.errors import UserError
from tdo_plugin.pretrained.original import Original, tag

UNIGRAM, BPE = 1, 2  # model types in SentencePiece's files
KINDS = {UNIGRAM: "unigram", BPE: "bpe"}
NORMAL = 1  # the type of an ordinary piece
NORMALIZATIONS = ("nmt_nfkc", "nfkc", "identity")


@dataclass(frozen=True)
class Extension:
    """The entries to add.

    Attributes:
        languages: that the original does not have.
        like: a language of the original whose tag initialises the new tags; None: the mean of all.
        texts: plain text of the new languages, a sentence per line; empty: no new pieces.
        pieces: size of a SentencePiece model of these texts, from which new pieces are taken.
        seed: for sampling sentences if the texts are large.
    """

    languages: Sequence[str]
    like: str | None = None
    texts: Sequence[Path] = ()
    pieces: int = 8000
    seed: int = 1


def extended(original: Original, extension: Extension) -> Original:
    """The original with tags, then pieces, after its last row; existing rows are unchanged.

    A new piece's embedding is the mean of the embeddings of its old segmentation.

    Raises:
        UserError: a language already exists; the language for initialisation does not; texts are
            unreadable, or too small for so many pieces.
    """
    if taken := [language for language in extension.languages if language in original.tags]:
        raise UserError(f"`--new-langs` must be new; {original.path} already has {taken[0]}")
    if missing := [path for path in extension.texts if not path.is_file()]:
        raise UserError(f"`--extend-vocabulary` must be text files; {missing[0]} is not a file")
    if extension.like is not None and extension.like not in original.tags:
        raise UserError(
            f"`--like` must be a language of {original.path}; it does not have {extension.like}"
        )
    table = original.parameters["embeddings"]
    like = [original.tags[extension.like]] if extension.like else [*original.tags.values()]
    rows = [_mean(table, like)] * len(extension.languages)
    segmentation = original.segmentation
    pieces: Sequence[str] = []
    if extension.texts:
        segmentation, pieces = _segmentation(original, extension)
        rows += _rows(original, table, pieces)
    first = len(original.symbols)
    tags = {language: first + number for number, language in enumerate(extension.languages)}
    symbols = [*original.symbols, *map(tag, extension.languages), *pieces]
    grown = torch.cat([table, torch.stack(rows)]) if rows else table
    remarks = [
        f"{len(tags)} tags and {len(pieces)} pieces are new, from row {first} on: tags start as "
        f"{extension.like or 'the mean of all'}, pieces as the mean of their old segmentation"
    ]
    return replace(
        original,
        symbols=symbols,
        tags={**original.tags, **tags},
        parameters={**original.parameters, "embeddings": grown},
        segmentation=segmentation,
        remarks=[*original.remarks, *remarks],
    )


def _segmentation(original: Original, extension: Extension) -> tuple[bytes, list[str]]:
    """The original's SentencePiece model with new pieces appended, and these pieces."""
    proto = model_message(original.segmentation)
    with tempfile.TemporaryDirectory() as folder:
        normalization = proto.normalizer_spec.name
        settings = SegmentationSettings(
            extension.pieces,
            KINDS.get(proto.trainer_spec.model_type, "unigram"),
            normalization=normalization if normalization in NORMALIZATIONS else "nmt_nfkc",
            seed=extension.seed,
        )
        try:
            train_model(extension.texts, Path(folder, "spm"), settings)
        except UserError as error:
            # the message names the option for the size of a whole vocabulary
            raise UserError(str(error).replace("--vocab-size", "--new-pieces")) from None
        trained = model_message(Path(folder, "spm.model").read_bytes())
    existing = {piece.piece for piece in proto.pieces} | {*original.symbols}
    lowest = min(piece.score for piece in proto.pieces)
    added = []
    for piece in trained.pieces:
        if piece.type == NORMAL and piece.piece not in existing:
            added.append(piece.piece)
            new = proto.pieces.add()
            new.piece = piece.piece
            # BPE merges in the order of scores: new pieces after all old ones
            merged = proto.trainer_spec.model_type == BPE
            new.score = piece.score + (lowest - 1 if merged else 0)
    proto.trainer_spec.vocab_size = len(proto.pieces)
    return proto.SerializeToString(), added


def _rows(original: Original, table: Tensor, pieces: Sequence[str]) -> list[Tensor]:
    """The new pieces' embeddings, (D,) each."""
    import sentencepiece

    model = sentencepiece.SentencePieceProcessor(model_proto=original.segmentation)
    numbers = {symbol: row for row, symbol in enumerate(original.symbols)}
    words = [row for symbol, row in numbers.items() if row > 3 and model.piece_to_id(symbol)]
    anything = _mean(table, words)
    embeddings = []
    for piece in pieces:
        cut = model.encode(piece.replace("▁", " "), out_type=str)
        if not piece.startswith("▁") and cut[:1] == ["▁"]:
            cut = cut[1:]  # the word-start mark before every text
        parts = [numbers[part] for part in cut if part in numbers]
        embeddings.append(_mean(table, parts) if parts else anything)
    return embeddings


def _mean(table: Tensor, rows: Sequence[int]) -> Tensor:
    return table[list(rows)].double().mean(0).to(table.dtype)
