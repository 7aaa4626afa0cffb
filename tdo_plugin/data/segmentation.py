"""Segmentation of text by SentencePiece, and the dictionary of a model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tdo_plugin.data.textfolder import read_lines
from tdo_plugin.errors import UserError
from tdo_plugin.runtime.files import complete_file, write_text

if TYPE_CHECKING:
    from sentencepiece import SentencePieceProcessor

CHUNK = 20_000  # lines in memory at a time
MARK = "▁"  # SentencePiece's word-start mark


def text_lines(path: Path, lowercase: bool, start: int = 0) -> Iterator[str]:
    return (line.lower() if lowercase else line for line in read_lines(path, start))


def load_model(path: Path) -> SentencePieceProcessor:
    """Open a SentencePiece model.

    Raises:
        UserError: the file is missing, or is not such a model.
    """
    import sentencepiece

    try:
        return sentencepiece.SentencePieceProcessor(model_file=str(path))
    except (RuntimeError, OSError):
        what = "not" if path.is_file() else "missing"
        raise UserError(f"`{path}` must be a SentencePiece model; it is {what}") from None


def model_message(content: bytes) -> Any:
    """The protobuf message that the file of a SentencePiece model consists of."""
    from sentencepiece import sentencepiece_model_pb2 as messages

    message = messages.ModelProto()  # type: ignore[attr-defined]  # made when it is imported
    message.ParseFromString(content)
    return message


def join_pieces(text: str) -> str:
    """Plain text from space-separated SentencePiece pieces."""
    return text.replace(" ", "").replace(MARK, " ").strip()


def decoded(model: SentencePieceProcessor, pieces: Sequence[str]) -> str:
    """Plain text from a model's pieces, with bytes put together; `<unk>` is `<<unk>>`, as in
    fairseq's references, so that no hypothesis has it.
    """
    known = ["<<unk>>" if piece == "<unk>" else piece for piece in pieces]
    return str(model.decode(known)).replace(MARK, " ").strip()


def vocabulary_lines(model: SentencePieceProcessor) -> list[str]:
    """The lines of a model's `.vocab`: pieces and their scores."""
    ids = range(model.get_piece_size())
    return [f"{model.id_to_piece(index)}\t{model.get_score(index):g}" for index in ids]


def is_unknown_text(model: SentencePieceProcessor, piece: str) -> bool:
    """Whether a model outputs this text as it is because it knows none of the characters."""
    if not model.is_unknown(model.piece_to_id(piece)):
        return False
    return model.encode(piece, out_type=str) in ([piece], [MARK, piece])


def write_dictionary(model: SentencePieceProcessor, path: Path) -> int:
    """Write the fairseq dictionary of a model and return its number of entries.

    SentencePiece's first three pieces are omitted, since fairseq adds `<s>`, `<pad>`, `</s>` and
    `<unk>` itself. The counts that fairseq's format requires have no effect and are 1.
    """
    pieces = [
        model.id_to_piece(index)
        for index in range(model.get_piece_size())
        if not (model.is_control(index) or model.is_unknown(index))
    ]
    write_text(path, (f"{piece} 1" for piece in pieces))
    return len(pieces)


@dataclass
class Dropped:
    """Rows left out of training or validation text, by reason, and rows kept."""

    empty: int = 0
    long: int = 0
    kept: int = 0

    def __add__(self, other: Dropped) -> Dropped:
        return Dropped(self.empty + other.empty, self.long + other.long, self.kept + other.kept)


def encode_sides(
    model: SentencePieceProcessor,
    sources: Sequence[Path],
    targets: Sequence[Path],
    max_pieces: int,
    lowercase: bool = False,
    starts: Sequence[int] | None = None,
    most: int | None = None,
) -> Dropped:
    """Segment all sides of a training or validation set, or a part of it.

    Rows with an empty side, or with a side of more than `max_pieces` pieces, are left out. The
    part starts at byte `starts` of the sources and has at most `most` lines.
    """
    dropped = Dropped()
    with ExitStack() as stack:
        outputs = [stack.enter_context(complete_file(path)) for path in targets]
        begins = starts or [0] * len(sources)
        sides = [text_lines(path, lowercase, at) for path, at in zip(sources, begins, strict=True)]
        rows = islice(zip(*sides, strict=True), most)
        while chunk := list(islice(rows, CHUNK)):
            cut = [
                model.encode(list(side), out_type=str, num_threads=1)
                for side in zip(*chunk, strict=True)
            ]
            for row in zip(*cut, strict=True):
                if not all(row):
                    dropped.empty += 1
                elif max(map(len, row)) > max_pieces:
                    dropped.long += 1
                else:
                    dropped.kept += 1
                    for pieces, output in zip(row, outputs, strict=True):
                        output.write(" ".join(pieces) + "\n")
    return dropped


def encode_test(
    model: SentencePieceProcessor,
    source: Path,
    target: Path,
    lowercase: bool = False,
) -> None:
    """Segment a test side, line for line.

    No line is left out, since references must stay aligned: neither long lines (decoding has limits
    of its own) nor lines whose characters the model does not know, which have no pieces.
    """
    with complete_file(target) as stream:
        lines = text_lines(source, lowercase)
        while chunk := list(islice(lines, CHUNK)):
            for pieces in model.encode(chunk, out_type=str, num_threads=1):
                stream.write(" ".join(pieces) + "\n")
