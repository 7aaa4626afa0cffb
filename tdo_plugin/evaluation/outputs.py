"""What `fairseq-generate` wrote, back in the order of the test set and as plain text."""

from __future__ import annotations

from pathlib import Path

from tdo_plugin.data.textfolder import read_lines
from tdo_plugin.errors import UserError


def read_hypotheses(path: Path, count: int) -> list[str]:
    """The best hypothesis of every test sentence, in order, SentencePiece undone.

    Of fairseq's lines, `H-ID<tab>score<tab>pieces` count; with `--nbest` the first of each ID,
    which is the best. A file without any piece that begins a word was joined already
    (`--remove-bpe`) and stays as it is.

    Args:
        path: a `generate-*.txt`.
        count: sentences in the test set.

    Raises:
        UserError: no such file, or not one hypothesis for each of `count` sentences.
    """
    if not path.is_file():
        raise UserError(f"`{path}` must be the output of fairseq-generate; there is no such file")
    found: dict[int, str] = {}
    for line in read_lines(path):
        if not line.startswith("H-"):
            continue
        fields = line.split("\t", 2)
        number = fields[0][2:]
        if len(fields) < 2 or not number.isdigit():
            raise UserError(f"`{path}` must hold H-ID<tab>score<tab>text; it has: {line[:60]}")
        found.setdefault(int(number), fields[2] if len(fields) > 2 else "")
    missing = next((number for number in range(count) if number not in found), None)
    if missing is not None or len(found) != count:
        detail = f", sentence {missing} is missing" if missing is not None else ""
        raise UserError(f"`{path}` must hold {count} hypotheses; it has {len(found)}{detail}")
    texts = [found[number] for number in range(count)]
    in_pieces = any("▁" in text for text in texts)
    return [join_pieces(text) if in_pieces else text.strip() for text in texts]


def join_pieces(text: str) -> str:
    """SentencePiece's pieces as plain text."""
    return text.replace(" ", "").replace("▁", " ").strip()
