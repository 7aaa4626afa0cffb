"""Long text in parts, each translated by any idle worker and written when complete.

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
    """A part of a text for one worker; source and translation are in the model's text form.

    Attributes:
        direction: such as `de-en`.
        text: the file.
        part: the part's number, from 0; also used as its seed for sampling.
        start: byte offset of the part.
        sentences: number of lines.
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
        """The name in the progress display."""
        return f"{self.direction} part {self.part + 1}"

    @property
    def target(self) -> str:
        """The language of the output."""
        return self.direction.split("-")[1]

    @property
    def counts(self) -> bool:
        """Always true: every part counts."""
        return True

    def is_whole(self, out: Path) -> bool:
        """Whether the output exists."""
        return self.place.is_file()

    def perform(
        self, translators: Translators, data: DataFolder, out: Path, progress: Callable[[int], None]
    ) -> None:
        """Translate; too long lines, and translations with non-text symbols, become empty.

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
        no_text = translator.no_text  # would be segmented as ordinary text later
        pieces = (
            "" if no_text.intersection(hypothesis.pieces.split()) else hypothesis.pieces
            for hypothesis in hypotheses
        )
        self.place.parent.mkdir(parents=True, exist_ok=True)
        write_text(self.place, map(join_pieces, pieces))


def parts_of(text: Path, direction: str, lines: int, folder: Path) -> list[TextJob]:
    """The jobs that translate a text.

    Args:
        text: the file, in the model's text form, without empty lines.
        direction: the direction.
        lines: maximum lines per part.
        folder: the output folder.
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
