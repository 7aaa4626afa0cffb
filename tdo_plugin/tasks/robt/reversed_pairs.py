"""Targets as sources, and hypotheses as sources: tags, end symbols and dictionaries.

Shapes: B sentences of a batch, N of them with a back-translation, S source, T target.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from fairseq.data import Dictionary
from fairseq.data.data_utils import collate_tokens
from fairseq.data.multilingual.multilingual_utils import get_lang_tok
from torch import Tensor

from tdo_plugin.tasks.step_hooks import Sample


@dataclass(frozen=True)
class Instance:
    """A sentence to back-translate.

    Attributes:
        row: in its batch.
        words: token ids of its target, in the target dictionary.
        target: its target language.
        drawn: the language that it is translated into.
    """

    row: int
    words: tuple[int, ...]
    target: int
    drawn: int


class Sides:
    """How a task's data tag and number the two sides of a sentence pair.

    Languages are given by id. With separate dictionaries, words are mapped from target to source
    dictionary by their symbols; missing symbols become unknown, as in the authors' code.
    """

    def __init__(self, task: Any) -> None:
        manager, args = task.data_manager, task.args
        self._source, self._target = task.source_dictionary, task.target_dictionary
        self._left_pad = bool(args.left_pad_source)
        spec, target_spec = args.langtoks["main"]
        self._of_source_language = bool(spec) and spec.startswith("src")

        def tags(dictionary: Dictionary, spec: str | None) -> dict[int, int]:
            if not spec:
                return {}
            names = {
                manager.language_id(language): get_lang_tok(language, args.lang_tok_style, spec)
                for language in task.langs
            }
            return {
                number: manager.get_langtok_index(name, dictionary)
                for number, name in names.items()
            }

        self._source_tags = tags(self._source, spec)
        self._target_tags = tags(self._target, target_spec)
        tag_names = [get_lang_tok(language, args.lang_tok_style) for language in task.langs]
        special = (self._target.bos(), self._target.pad(), self._target.eos())
        self._empty = {*special, *map(self._target.index, tag_names)} - {self._target.unk()}
        same = self._source.symbols == self._target.symbols
        self._numbers = (
            None if same else [self._source.index(symbol) for symbol in self._target.symbols]
        )

    @property
    def marks(self) -> int:
        """The number of symbols of a source that are not words: its end, and its tag if any."""
        return 1 + bool(self._source_tags)

    @property
    def prefix(self) -> int:
        """The number of symbols that a target begins with: 1 for a tag, or 0."""
        return int(bool(self._target_tags))

    def words(self, target: Iterable[int]) -> tuple[int, ...]:
        """A target's token ids without padding, tag and end."""
        outside = (self._target.pad(), self._target.eos())
        return tuple(token for token in target if token not in outside)[self.prefix :]

    def is_empty(self, words: Iterable[int]) -> bool:
        """Whether there are only special symbols and tags."""
        return self._empty.issuperset(words)

    def source(self, words: Iterable[int], source: int, target: int) -> list[int]:
        """The source for translating words of the target dictionary between two languages."""
        if self._numbers is not None:
            words = (self._numbers[word] for word in words)
        tag = self._source_tags.get(source if self._of_source_language else target)
        return [*([] if tag is None else [tag]), *words, self._source.eos()]

    def begin(self, languages: Sequence[int]) -> Tensor:
        """The first symbols of targets in these languages: (N, 1), or with their tags (N, 2)."""
        begin = torch.full((len(languages), 1), self._target.eos())
        if not self._target_tags:
            return begin
        tags = torch.tensor([self._target_tags[language] for language in languages])
        return torch.cat([begin, tags[:, None]], 1)

    def fed(
        self,
        sources: Sequence[Sequence[int]],
        source: Sequence[int],
        target: Sequence[int],
        device: torch.device,
    ) -> dict[str, Tensor]:
        """Sources and their languages as a batch's ``net_input``."""
        tokens = [torch.tensor(row) for row in sources]
        fed = {
            "src_tokens": collate_tokens(tokens, self._source.pad(), left_pad=self._left_pad),
            "src_lengths": torch.tensor([len(row) for row in sources]),
            "src_lang_id": torch.tensor(source)[:, None],
            "tgt_lang_id": torch.tensor(target)[:, None],
        }
        return {name: part.to(device, non_blocking=True) for name, part in fed.items()}

    def pseudo_batch(
        self, sample: Sample, translated: Sequence[tuple[Instance, Sequence[int]]]
    ) -> Sample:
        """A batch of pairs (back-translation, target): Algorithm 1, line 8.

        Args:
            sample: the batch that the targets are from.
            translated: instances with the words of their back-translations, N of them.
        """
        ids, target = sample["id"], sample["target"]
        drawn = [instance.drawn for instance, _ in translated]
        languages = [instance.target for instance, _ in translated]
        sources = [
            self.source(words, instance.drawn, instance.target) for instance, words in translated
        ]
        rows = torch.tensor([instance.row for instance, _ in translated])
        rows = rows.to(target.device, non_blocking=True)
        chosen = target.index_select(0, rows)
        filled = chosen.ne(self._target.pad())
        # drops columns that only other, longer targets fill
        columns = filled.any(0).nonzero()[:, 0]
        previous = sample["net_input"]["prev_output_tokens"].index_select(0, rows)
        fed = self.fed(sources, drawn, languages, target.device)
        return {
            "id": ids.index_select(0, rows.to(ids.device)),
            "nsentences": len(translated),
            "ntokens": int(filled.sum()),
            "net_input": {**fed, "prev_output_tokens": previous.index_select(1, columns)},
            "target": chosen.index_select(1, columns),
        }
