"""Plain text in, plain text out: a file, standard input, or a conversation."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from tdo_plugin.data.databin import DataFolder
from tdo_plugin.data.segmentation import write_text
from tdo_plugin.data.textfolder import read_lines
from tdo_plugin.errors import UserError
from tdo_plugin.evaluation.decoding.options import DecodingOptions
from tdo_plugin.evaluation.decoding.pool import Work, load


def translate_file(
    options: DecodingOptions,
    data: DataFolder,
    device: str,
    steps: Sequence[str],
    user_dir: Path | None,
    source: str,
    output: Path | None,
) -> int:
    """Translate every line of a file, in order, into `output` or to standard output.

    Args:
        options: how to decode.
        data: the folder with the segmentation.
        device: `cpu` or `cuda`.
        steps: languages in order: source, perhaps a pivot, target.
        user_dir: a package to import too.
        source: the file; `-` is standard input.
        output: the file to write, which appears only complete; None is standard output.

    Raises:
        UserError: no such file, a language that the model does not know, a line that is too long.
    """
    if source == "-":
        lines = [line.rstrip("\r\n") for line in sys.stdin]
    elif Path(source).is_file():
        lines = list(read_lines(Path(source)))
    else:
        raise UserError(f"`--input` must be a text file; {source} is none")
    translator = load(Work(options, data, data.root, user_dir), device)
    for pair in pairwise(steps):
        found = translator.translate_lines("-".join(pair), lines)
        lines = [one.text for one in found]
    if output is None:
        sys.stdout.writelines(f"{line}\n" for line in lines)
    else:
        write_text(output, lines)
    return 0


def converse(
    options: DecodingOptions,
    data: DataFolder,
    device: str,
    steps: Sequence[str],
    user_dir: Path | None,
) -> int:
    """Translate what is typed, line by line, until the end of input.

    A line `:xx` changes the target language to xx, `:xx-yy` both languages. A mistake is answered
    and the conversation goes on.
    """
    translator = load(Work(options, data, data.root, user_dir), device)
    route = list(steps)
    for pair in pairwise(route):
        translator.check("-".join(pair))
    if sys.stdin.isatty():
        print(f"{' → '.join(route)}; :xx or :xx-yy changes the languages", flush=True)
    for line in sys.stdin:
        text = line.strip()
        try:
            if text.startswith(":"):
                route = _change(route, text[1:])
                for pair in pairwise(route):
                    translator.check("-".join(pair))
                print(" → ".join(route), flush=True)
                continue
            for pair in pairwise(route):
                text = translator.translate_lines("-".join(pair), [text])[0].text
            print(text, flush=True)
        except UserError as error:
            print(f"error: {error}", file=sys.stderr, flush=True)
    return 0


def _change(route: Sequence[str], wanted: str) -> list[str]:
    """The route with its target, or its source and target, replaced."""
    source, mark, target = wanted.partition("-")
    ends = (source, target) if mark else (route[0], source)
    return [ends[0], *(one for one in route[1:-1] if one not in ends), ends[1]]
