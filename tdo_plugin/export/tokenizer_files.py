"""A tokenizer for transformers with the ids of a model's training text.

transformers' own classes for SentencePiece and language tags accept only the languages of M2M-100
or NLLB. So this is a general tokenizer file, which transformers 4 and 5 read without code of its
own. It follows SentencePiece's rules, and was compared with SentencePiece on every code point of
Unicode and on random text. It differs in sequences of combining marks that Unicode would reorder or
compose (Arabic shadda before a vowel, Hebrew dagesh before a point, U+00C7 U+0301), in U+0344, in
Hangul letters after a syllable, and where two segmentations are equally likely. The tokenizer with
code, `tokenization_tdo.py`, calls SentencePiece instead.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tdo_plugin.data.segmentation import is_unknown_text, model_message
from tdo_plugin.errors import UserError
from tdo_plugin.export.folder_files import write_json
from tdo_plugin.export.opened_model import OpenedModel
from tdo_plugin.pretrained.hugging_face import SEGMENTATION
from tdo_plugin.runtime.files import replaced

SPECIALS = {"bos_token": "<s>", "pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
UNIGRAM, BPE = 1, 2  # model types in SentencePiece's files
NORMAL, UNKNOWN, CONTROL = 1, 2, 3  # types of pieces
MARK = "▁"
# what Python's `\s` matches, except spaces: fairseq separates tokens at these characters
WHITESPACE = "[\t-\r\x1c-\x1f\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+"


def write_tokenizer(opened: OpenedModel, folder: Path) -> None:
    """Write `tokenizer.json`, `tokenizer_config.json` and the SentencePiece model.

    A text becomes its pieces and the end symbol. Users add tags before it, whose rows are those of
    `opened.tags`: text that looks like a tag or a special symbol is text.

    Raises:
        UserError: the SentencePiece model has rules that the tokenizer cannot follow, or pieces
            that the dictionary lacks; or the dictionary has text that is no piece.
    """
    _check_entries(opened)
    with replaced(folder / SEGMENTATION) as unfinished:
        unfinished.write_bytes(opened.segmentation)
    tokenizer = build_tokenizer(opened.segmentation, opened.symbols)
    with replaced(folder / "tokenizer.json") as unfinished:
        tokenizer.save(str(unfinished))
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        **SPECIALS,
        "additional_special_tokens": list(opened.tags.values()),
        "split_special_tokens": True,  # in text, `</s>` is four pieces as in training
        "clean_up_tokenization_spaces": False,
        "model_max_length": opened.spec.max_source_positions,
        "model_input_names": ["input_ids", "attention_mask"],
    }
    write_json(folder / "tokenizer_config.json", config)


def build_tokenizer(segmentation: bytes, symbols: Sequence[str]) -> Any:
    """The tokenizer, a `tokenizers.Tokenizer`.

    Args:
        segmentation: the content of a SentencePiece model's file.
        symbols: names of the rows (V).

    Raises:
        UserError: as :func:`write_tokenizer`.
    """
    from tokenizers import AddedToken, Regex, decoders, processors

    proto = model_message(segmentation)
    scores = {
        piece.piece: piece.score for piece in proto.pieces if piece.type not in (UNKNOWN, CONTROL)
    }
    _check(proto, scores, symbols)
    rows = 1 + max(row for row, symbol in enumerate(symbols) if symbol in scores)
    # special symbols, and tags between pieces, need rows in the model, but never match text; no
    # merges of BPE lead to them
    unigram = proto.trainer_spec.model_type == UNIGRAM
    never = [symbol for symbol in symbols[:rows] if unigram and symbol not in scores]
    tokenizer = _model(proto, scores, symbols[:rows])
    tokenizer.normalizer = _normalizer(proto.normalizer_spec)
    tokenizer.pre_tokenizer = _pre_tokenizer(never)
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace(MARK, " "), decoders.Fuse(), decoders.Replace(Regex(r"\A +| +\z"), "")]
    )
    end, row = SPECIALS["eos_token"], symbols.index(SPECIALS["eos_token"])
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"$A {end}", pair=f"$A $B {end}", special_tokens=[(end, row)]
    )
    added = [symbol for symbol in symbols if symbol not in scores]
    tokenizer.add_special_tokens(
        [AddedToken(symbol, special=True, normalized=False) for symbol in added]
    )
    tokenizer.encode_special_tokens = True
    return tokenizer


def _check_entries(opened: OpenedModel) -> None:
    """SentencePiece outputs a run of unknown characters as it is; the tokenizer cannot."""
    import sentencepiece

    model = sentencepiece.SentencePieceProcessor(model_proto=opened.segmentation)
    named = {*SPECIALS.values(), *opened.tags.values()}
    text = (symbol for symbol in opened.symbols if symbol not in named)
    if (entry := next((each for each in text if is_unknown_text(model, each)), None)) is not None:
        raise UserError(
            "`--data` must have a dictionary of pieces alone, for a tokenizer of Hugging Face; it "
            f"has {entry}, whose characters the SentencePiece model does not know"
        )


def _check(proto: Any, scores: dict[str, float], symbols: Sequence[str]) -> None:
    settings = proto.normalizer_spec
    needed = {
        "a unigram or BPE model": proto.trainer_spec.model_type in (UNIGRAM, BPE),
        "pieces that are plain text": {piece.type for piece in proto.pieces}
        <= {NORMAL, UNKNOWN, CONTROL},
        "SentencePiece's usual rules for spaces": settings.add_dummy_prefix
        and settings.remove_extra_whitespaces
        and settings.escape_whitespaces
        and not proto.trainer_spec.treat_whitespace_as_suffix,
        "only pieces of the dictionary": {*scores} <= {*symbols},
    }
    if missing := [what for what, holds in needed.items() if not holds]:
        raise UserError(
            f"`--data` must have a SentencePiece model with {missing[0]}, for a tokenizer of "
            "Hugging Face; it has others"
        )


def _model(proto: Any, scores: dict[str, float], symbols: Sequence[str]) -> Any:
    """A tokenizer with SentencePiece's model; ``symbols`` are its rows."""
    from tokenizers import Tokenizer, models

    unknown = SPECIALS["unk_token"]
    if proto.trainer_spec.model_type == UNIGRAM:
        lowest = min(scores.values())  # any lower score would change that of unknown characters
        vocabulary = [(symbol, scores.get(symbol, lowest)) for symbol in symbols]
        return Tokenizer(models.Unigram(vocabulary, unk_id=symbols.index(unknown)))
    rows = {symbol: row for row, symbol in enumerate(symbols)}
    merges = [
        (-scores[piece], rows[piece], piece[:split], piece[split:])
        for piece in scores
        for split in range(1, len(piece))
        if piece[:split] in scores and piece[split:] in scores
    ]
    ranked = [(left, right) for *_, left, right in sorted(merges)]
    return Tokenizer(models.BPE(rows, ranked, unk_token=unknown, fuse_unk=True))


def _normalizer(settings: Any) -> Any:
    """SentencePiece's normalization of characters and spaces."""
    from tokenizers import Regex, normalizers

    table = settings.precompiled_charsmap
    # `Precompiled` drops marks after characters that it replaces; composed text has no such marks
    composed = [normalizers.NFKC()] if "nfkc" in settings.name else []
    return normalizers.Sequence(
        [
            *([*composed, normalizers.Precompiled(table)] if table else []),
            normalizers.Replace(Regex(r"\A +| +\z"), ""),
            normalizers.Replace(Regex(" {2,}"), " "),
            normalizers.Replace(" ", MARK),
            normalizers.Replace(Regex(rf"{MARK}+\z"), ""),
            # the next step adds the mark of the first word unless the text begins with one
            normalizers.Replace(Regex(rf"\A{MARK}"), MARK * 2),
        ]
    )


def _pre_tokenizer(never: Sequence[str]) -> Any:
    """Adds the mark of the first word; no piece crosses the boundaries that it sets.

    Args:
        never: names of rows that no text may match: their last character is cut off.
    """
    from tokenizers import Regex, pre_tokenizers

    cuts = "|".join(f"(?<={re.escape(name[:-1])})(?={re.escape(name[-1])})" for name in never)
    cut = [pre_tokenizers.Split(Regex(cuts), "isolated")] if cuts else []
    return pre_tokenizers.Sequence(
        [
            pre_tokenizers.Metaspace(replacement=MARK, prepend_scheme="always", split=False),
            pre_tokenizers.Split(Regex(WHITESPACE), "removed"),
            *cut,
        ]
    )
