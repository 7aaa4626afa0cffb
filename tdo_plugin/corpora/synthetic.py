"""Sentence pairs with synthetic sources: filters translations for use as training data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tdo_plugin.corpora.pair_rows import in_chunks
from tdo_plugin.corpora.single_language_text import line_of
from tdo_plugin.data.auxiliary_folder import FurtherFolder, make_further
from tdo_plugin.data.segmentation import load_model
from tdo_plugin.data.set_parts import TextSet
from tdo_plugin.data.textfolder import read_lines
from tdo_plugin.errors import UserError
from tdo_plugin.runtime.files import complete_file
from tdo_plugin.runtime.steps import Facts, Step, Steps

if TYPE_CHECKING:
    from sentencepiece import SentencePieceProcessor

REASONS = ("no translation", "copies", "ratio")
Say = Callable[[str], object]


@dataclass(frozen=True)
class Translated:
    """A text and its translations.

    Attributes:
        pair: languages of the synthetic source and of the text.
        text: the true target, in the model's form.
        parts: files of its translations, to be concatenated, line for line.
        key: digest of everything that these depend on.
    """

    pair: tuple[str, str]
    text: Path
    parts: Sequence[Path]
    key: str

    @property
    def name(self) -> str:
        """`de-en`, the direction that is trained on it."""
        return "-".join(self.pair)


def make_synthetic(
    folder: FurtherFolder,
    model_of: Path,
    texts: Sequence[Translated],
    max_ratio: float,
    max_pieces: int,
    workers: int,
    say: Say,
) -> dict[str, Any]:
    """Filter pairs and binarise them.

    Args:
        folder: to write to.
        model_of: the data folder that provides model and dictionary.
        texts: with their translations.
        max_ratio: maximum ratio of the numbers of pieces of the longer and the shorter side.
        max_pieces: pairs with a longer side are left out.
        workers: processes at a time.
        say: gets a line for each direction.

    Returns:
        The outcome for `FurtherFolder.finish`.

    Raises:
        UserError: nothing is left of a direction.
    """
    with Steps(folder.root, workers, "pairs") as steps:
        direction_steps = {
            translated.name: Step(
                f"pairs.{translated.name}",
                {"key": translated.key, "max_ratio": max_ratio},
                partial(_write, translated, model_of, max_ratio),
            )
            for translated in texts
        }
        step_facts = steps.run(direction_steps.values())
        steps.forget(*(step.name for step in direction_steps.values()))
    facts = {name: step_facts[step.name] for name, step in direction_steps.items()}
    for name, direction_facts in facts.items():
        if not direction_facts["kept"]:
            raise UserError(
                f"`--text` must leave a pair of {name}; {line_of(name, direction_facts)}"
            )
    sets = [
        TextSet(
            "train",
            translated.pair,
            [_place(folder.root, translated, side) for side in translated.pair],
        )
        for translated in texts
    ]
    dropped = make_further(folder, model_of, sets, max_pieces, workers)
    for translated, of_set in zip(texts, sets, strict=True):
        left, direction_facts = dropped[of_set.name], facts[translated.name]
        direction_facts["taken"] |= {"without pieces": left.empty, "too long": left.long}
        direction_facts["kept"] = left.kept
        say(line_of(translated.name, direction_facts))
    return {
        "sets": {name: direction_facts["kept"] for name, direction_facts in facts.items()},
        "lines": facts,
    }


def _place(out: Path, translated: Translated, language: str) -> Path:
    return out / "work" / "pairs.text" / f"{translated.name}.{language}"


def _write(translated: Translated, model_of: Path, max_ratio: float, folder: Path) -> Facts:
    targets = [_place(folder, translated, language) for language in translated.pair]
    targets[0].parent.mkdir(parents=True)
    model = load_model(model_of / "spm.model")
    taken = Counter(dict.fromkeys(REASONS, 0))
    kept = 0
    with complete_file(targets[0]) as sources, complete_file(targets[1]) as texts:
        for source, text, reason in judged(translated, model, max_ratio):
            if reason is not None:
                taken[reason] += 1
                continue
            kept += 1
            sources.write(f"{source}\n")
            texts.write(f"{text}\n")
    return {"read": kept + taken.total(), "kept": kept, "taken": dict(taken)}


def judged(
    translated: Translated, model: SentencePieceProcessor, max_ratio: float
) -> Iterator[tuple[str, str, str | None]]:
    """Each synthetic source with its text, and the reason to leave it out, or None."""
    translations = chain.from_iterable(map(read_lines, translated.parts))
    for chunk in in_chunks(zip(translations, read_lines(translated.text), strict=True)):
        sides = [list(side) for side in zip(*chunk, strict=True)]
        pieces = [model.encode(side, out_type=int, num_threads=1) for side in sides]
        for (source, text), *sizes in zip(chunk, *(map(len, side) for side in pieces), strict=True):
            yield source, text, _reason(source, text, sizes, max_ratio)


def _reason(source: str, text: str, sizes: Sequence[int], max_ratio: float) -> str | None:
    if not min(sizes):
        return "no translation"
    if source == text:
        return "copies"
    return "ratio" if max(sizes) > max_ratio * min(sizes) else None
