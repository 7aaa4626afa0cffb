"""The tokenizer of a model of tdo_plugin for Hugging Face transformers, with language tags."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar

from sentencepiece import SentencePieceProcessor
from transformers import BatchEncoding, PreTrainedTokenizerFast

Texts = str | Sequence[str]
Codes = str | Sequence[str] | None


class TdoTokenizer(PreTrainedTokenizerFast):
    """Text to token ids, each sentence with its own languages; token ids to text.

    Text becomes pieces by SentencePiece itself, as in `tdo translate`: `tokenizer.json` has all
    rows, but its rules differ from SentencePiece's for rare text. Settings are entries of
    `tokenizer_config.json`; transformers 5 reads `tokenizer.json` as it is only for classes without
    an ``__init__`` of their own.
    """

    vocab_files_names: ClassVar = {
        "tokenizer_file": "tokenizer.json",
        "segmentation_file": "sentencepiece.bpe.model",
    }
    # of the model; with `src_lang_id` or `tgt_lang_id` if it reads languages
    model_input_names: ClassVar = ["input_ids", "attention_mask"]

    @cached_property
    def segmentation(self) -> SentencePieceProcessor:
        """The SentencePiece model."""
        return SentencePieceProcessor(model_file=self.init_kwargs["segmentation_file"])

    @property
    def languages(self) -> list[str]:
        """Codes of the model's languages, in the order of language ids."""
        return list(self.init_kwargs.get("languages", ()))

    @property
    def tags(self) -> dict[str, str]:
        """The tag of each language."""
        return dict(zip(self.languages, self.init_kwargs.get("language_tags", ()), strict=True))

    @property
    def source_tag(self) -> str | None:
        """The language whose tag begins sources: `src`, `tgt`, or None for no tag."""
        return self.init_kwargs.get("source_tag")

    @property
    def target_tag(self) -> str | None:
        """The language whose tag begins targets: `src`, `tgt`, or None for no tag."""
        return self.init_kwargs.get("target_tag")

    @property
    def src_lang(self) -> str | None:
        """Language of sources, unless a call names another."""
        return self.init_kwargs.get("src_lang")

    @src_lang.setter
    def src_lang(self, code: str | None) -> None:
        self.init_kwargs["src_lang"] = code

    @property
    def tgt_lang(self) -> str | None:
        """Language of targets, unless a call names another."""
        return self.init_kwargs.get("tgt_lang")

    @tgt_lang.setter
    def tgt_lang(self, code: str | None) -> None:
        self.init_kwargs["tgt_lang"] = code

    def __call__(
        self,
        text: Texts | None = None,
        text_target: Texts | None = None,
        *,
        src_lang: Codes = None,
        tgt_lang: Codes = None,
        add_special_tokens: bool = True,
        truncation: bool | str | None = None,
        max_length: int | None = None,
        padding: bool | str = False,
        return_tensors: str | None = None,
        **kwargs: Any,
    ) -> BatchEncoding:
        """Encode sources, targets or both.

        Args:
            text: one source or several.
            text_target: as many targets; the result has them as `labels`, or as `input_ids` if
                there are no sources.
            src_lang: language of all sources, or of each; default: the tokenizer's.
            tgt_lang: language of all targets, or of each; default: the tokenizer's.
            add_special_tokens: whether to add tag and end symbol.
            truncation: whether to cut sentences to ``max_length`` tokens.
            max_length: see ``truncation`` and ``padding``; default: the model's maximum.
            padding: as in transformers.
            return_tensors: as in transformers.
            kwargs: of transformers' ``pad``.

        Returns:
            `input_ids`, `attention_mask`, and the languages' indices `src_lang_id` and
            `tgt_lang_id`, as far as the model reads them and languages are named.

        Raises:
            ValueError: a language is unknown, or must be named for its tag; ``max_length`` is below
                2.
        """
        given = text if text is not None else text_target
        if given is None:
            raise ValueError("`text` or `text_target` must be given; neither is")
        single = isinstance(given, str)
        codes = self._codes(src_lang, tgt_lang, 1 if single else len(given))
        longest = self._longest(truncation, max_length)

        def encoded(texts: Texts, side: str | None) -> Any:
            tags = [self._tag(code) for code in codes[side]] if side and add_special_tokens else []
            lines = _lines(texts, len(codes["src"]))
            rows = self._tagged(lines, tags, add_special_tokens, longest)
            return self.pad({"input_ids": rows}, padding=padding, max_length=max_length, **kwargs)

        result = encoded(given, self.target_tag if text is None else self.source_tag)
        if text is not None and text_target is not None:
            result["labels"] = encoded(text_target, self.target_tag)["input_ids"]
        result.update(self._language_ids(codes))
        if single and return_tensors is None:
            return BatchEncoding({key: value[0] for key, value in result.items()})
        return BatchEncoding(dict(result), tensor_type=return_tensors)

    def encode(self, text: str, **kwargs: Any) -> Any:
        """The ids of a source, with its tag; ``kwargs`` as for a call."""
        return self(text, **kwargs)["input_ids"]

    def _codes(self, src: Codes, tgt: Codes, count: int) -> dict[str, list[str | None]]:
        """The language of each of ``count`` sentences by side; None where none is named."""
        return {
            "src": _for_each(src or self.src_lang, count, "src_lang"),
            "tgt": _for_each(tgt or self.tgt_lang, count, "tgt_lang"),
        }

    def _longest(self, truncation: bool | str | None, max_length: int | None) -> int | None:
        """The number of tokens to which sentences are cut, with tag and end symbol."""
        if not truncation or truncation == "do_not_truncate":  # so says the pipeline
            return None
        longest: int = self.model_max_length if max_length is None else max_length
        if longest < 2:
            raise ValueError(
                f"`max_length` must be at least 2, for tag and end symbol; it is {longest}"
            )
        return longest

    def _tagged(
        self, lines: list[str], tags: list[int], special: bool, longest: int | None
    ) -> list[list[int]]:
        """The ids of each line, after its tag if there are ``tags``.

        Args:
            lines: one for each sentence.
            tags: one for each line, or none.
            special: whether to add the end symbol.
            longest: how many ids a line may have, tag and end symbol included; None: any number.
        """
        first = [[tag] for tag in tags] or [[]] * len(lines)
        last = [self.eos_token_id] if special else []
        most = None if longest is None else longest - bool(tags) - len(last)
        rows = [
            [*tag, *ids[:most], *last] for tag, ids in zip(first, self._ids(lines), strict=True)
        ]
        self._eventual_warn_about_too_long_sequence(max(rows, key=len, default=[]), longest, True)
        return rows

    def _ids(self, lines: list[str]) -> list[list[int]]:
        """The ids of each line, without tag and end symbol.

        A line break is a space. As in fairseq, white space in a piece separates two.
        """
        joined = [line.replace("\r", " ").replace("\n", " ") for line in lines]
        return [
            self.convert_tokens_to_ids(" ".join(pieces).split())
            for pieces in self.segmentation.encode(joined, out_type=str)
        ]

    def _language_ids(self, codes: dict[str, list[str | None]]) -> dict[str, list[int]]:
        """The index of each sentence's language, for the sides that the model reads."""
        order = self.languages
        return {
            f"{side}_lang_id": [order.index(self._known(code)) for code in named]
            for side, named in codes.items()
            if f"{side}_lang_id" in self.model_input_names and None not in named
        }

    def _tag(self, language: str | None) -> int:
        """The id of a language's tag."""
        tag: int = self.convert_tokens_to_ids(self.tags[self._known(language)])
        return tag

    def _known(self, language: str | None) -> str:
        if language is None or language not in self.languages:
            raise ValueError(
                "`src_lang` and `tgt_lang` must be among the model's languages, "
                f"{', '.join(self.languages)}; one is {language}"
            )
        return language

    def _decode(
        self, token_ids: int | list[int], skip_special_tokens: bool = False, **kwargs: Any
    ) -> str:
        """The text of ids, by `decode` and `batch_decode`.

        Without special tokens it is that of `tdo translate`, in which unknown pieces are `<unk>`.
        """
        ids = [token_ids] if isinstance(token_ids, int) else list(token_ids)
        if skip_special_tokens:
            hidden = {self.bos_token_id, self.pad_token_id, self.eos_token_id}
            ids = [token for token in ids if token not in hidden]
            tags = set(self.convert_tokens_to_ids(list(self.tags.values())))
            ids = ids[1:] if ids and ids[0] in tags else ids
        text: str = super()._decode(ids, **kwargs)
        return text

    def _save_pretrained(
        self, save_directory: str | os.PathLike[str], *args: Any, **kwargs: Any
    ) -> tuple[str, ...]:
        """As in transformers, with the SentencePiece model."""
        path = self.init_kwargs["segmentation_file"]
        target = os.path.join(save_directory, self.vocab_files_names["segmentation_file"])
        if not (os.path.exists(target) and os.path.samefile(path, target)):
            shutil.copyfile(path, target)
        files: tuple[str, ...] = super()._save_pretrained(save_directory, *args, **kwargs)
        return (*files, target)

    def _build_translation_inputs(
        self, raw_inputs: Any, src_lang: Codes = None, tgt_lang: Codes = None, **kwargs: Any
    ) -> BatchEncoding:
        """For transformers 4's own translation pipeline, which takes a model and a tokenizer."""
        return self(raw_inputs, src_lang=src_lang, tgt_lang=tgt_lang, **kwargs)


def _lines(texts: Texts, count: int) -> list[str]:
    """The sentences, which must be ``count``: targets stand beside sources."""
    lines = [texts] if isinstance(texts, str) else list(texts)
    if len(lines) != count:
        raise ValueError(f"`text_target` must have {count} sentences; it has {len(lines)}")
    return lines


def _for_each(codes: Codes, count: int, name: str) -> list[str | None]:
    """The language of each of ``count`` sentences."""
    if codes is None or isinstance(codes, str):
        return [codes] * count
    if len(codes) != count:
        raise ValueError(f"`{name}` must name one language or {count}; it names {len(codes)}")
    return list(codes)
