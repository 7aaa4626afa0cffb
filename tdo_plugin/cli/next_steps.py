"""What to do with the models of a finished run: a line for each way out."""

from __future__ import annotations

import shlex
from pathlib import Path

from tdo_compat.errors import print_line
from tdo_plugin.evaluation.decoding.decoded_checkpoints import AVERAGE, system_of
from tdo_plugin.start.choices import ENCODER_DECODER


def show_next(run: Path, source: str, target: str) -> None:
    """Print the lines that translate with, serve and export a run's recommended model.

    Args:
        run: its folder.
        source: language to translate from.
        target: language to translate into.
    """
    place = short(run)
    print_line(f"The recommended model is {system_of(run).name}. Copy a line to use it:")
    pair = ("-s", source, "-t", target)
    what = "type sentences (a file: --input FILE --out FILE)"
    _line(what, "translate", "--path", place, *pair, "--interactive")
    _line("a page in the browser", "serve", place)
    _line("for transformers", "export", place, "--to", "hf", "--out", f"{run.name}-hf")
    if (run / ENCODER_DECODER / AVERAGE).is_file():
        words = ("--to", "ctranslate2", "--out", f"{run.name}-ctranslate2")
        _line("for CTranslate2", "export", place / ENCODER_DECODER, *words)


def short(path: Path) -> Path:
    """A path from the current folder on, if it is below."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def _line(what: str, *words: str | Path) -> None:
    print_line(f"  {shlex.join(['tdo', *map(str, words)])}  # {what}")
