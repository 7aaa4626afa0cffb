"""Long text in parts, each translated by whichever worker is free, and written when it is whole.

OUT/work/decoded/KEY/de-en.00003    part 3 of German text in English, line for line
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from tdo_plugin.data.databin import DataFolder
from tdo_plugin.data.segmentation import join_pieces
from tdo_plugin.data.textfolder import count_lines, line_starts, read_lines
from tdo_plugin.runtime.files import write_text

if TYPE_CHECKING:
    from tdo_plugin.evaluation.decoding.translators import Translators


@dataclass(frozen=True)
class TextJob:
    """A part of a text for one worker; the text and what it becomes are in the model's form.

    Attributes:
        direction: such as `de-en`.
        text: the file.
        part: its number, from 0; also what makes its draws others than those of other parts.
        start: where it begins, in bytes.
        sentences: lines that it has.
        place: the file to write.
    """

    direction: str
    text: Path
    part: int
    start: int
    sentences: int
    place: Path

    @property
    def name(self) -> str:
        """What progress calls it."""
        return f"{self.direction} part {self.part + 1}"

    @property
    def target(self) -> str:
        """The language that it puts out."""
        return self.direction.split("-")[1]

    @property
    def counts(self) -> bool:
        """Every part does."""
        return True

    def is_whole(self, out: Path) -> bool:
        """Whether it is done."""
        return self.place.is_file()

    def perform(
        self, translators: Translators, data: DataFolder, out: Path, progress: Callable[[int], None]
    ) -> None:
        """Translate; an empty line stands for one too long for the model, or with no text alone.

        Raises:
            UserError: the model does not know the languages.
        """
        translator = translators.of(self.direction)
        lines = list(islice(read_lines(self.text, self.start), self.sentences))
        for number in translator.too_long(self.direction, lines, prepared=True):
            lines[number] = ""
        hypotheses = translator.translate_lines(
            self.direction, lines, progress, prepared=True, draw=self.part
        )
        no_text = translator.no_text  # which would be read as text again, letter by letter
        pieces = (
            "" if no_text.intersection(hypothesis.pieces.split()) else hypothesis.pieces
            for hypothesis in hypotheses
        )
        self.place.parent.mkdir(parents=True, exist_ok=True)
        write_text(self.place, map(join_pieces, pieces))


def parts_of(text: Path, direction: str, lines: int, folder: Path) -> list[TextJob]:
    """The jobs that translate a text.

    Args:
        text: in the form that the model knows, without empty lines.
        direction: to translate.
        lines: of a part at most.
        folder: for what they write.
    """
    total = count_lines(text)
    return [
        TextJob(
            direction,
            text,
            part,
            start,
            min(lines, total - part * lines),
            folder / f"{direction}.{part:05}",
        )
        for part, start in enumerate(line_starts(text, lines))
    ]
