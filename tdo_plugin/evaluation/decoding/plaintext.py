"""Translation of plain text: a file, standard input, or typed lines."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from tdo_compat.errors import TRACEBACK, print_line, tell
from tdo_plugin.data.textfolder import lines_of, read_lines, whole_lines
from tdo_plugin.errors import UserError
from tdo_plugin.evaluation.decoding.pivot import Route, is_command
from tdo_plugin.evaluation.decoding.worker import Work
from tdo_plugin.runtime.files import complete_file

if TYPE_CHECKING:
    from tdo_plugin.evaluation.decoding.translator import Translator
    from tdo_plugin.evaluation.decoding.translators import Translators

CHUNK = 2_000  # lines in memory at once


def translate_file(
    work: Work, device: str, steps: Sequence[str], source: str, output: Path | None
) -> int:
    """Translate every line of a file, in order, to `output` or standard output.

    The translation of a line that is too long is empty, with a warning.

    Args:
        work: the models and decoding options.
        device: such as `cpu` or `cuda:0`.
        steps: languages in order: source, optional pivot, target.
        source: the file; `-` is standard input.
        output: the file to write atomically; None is standard output.

    Returns:
        The exit code: 1 if a line was too long, else 0.

    Raises:
        UserError: a missing file, text that is not UTF-8, an output that cannot be written, or a
            language that the model does not know.
    """
    lines, total = _input(source)
    route = Route.of(steps)
    done = too_long = 0
    with _writer(output) as write:
        translators = _loaded(work, device, route)
        while chunk := list(islice(lines, CHUNK)):
            if done:
                tell(f"{done}{total} lines translated")
            for direction in route.directions:
                translator = translators.of(direction)
                long = translator.too_long(direction, chunk)
                for number, tokens in long.items():
                    reason = _too_long(translator, direction, tokens)
                    tell(f"warning: line {done + number + 1} is left empty: {reason}")
                    chunk[number] = ""
                too_long += len(long)
                chunk = [
                    hypothesis.text for hypothesis in translator.translate_lines(direction, chunk)
                ]
            for line in chunk:
                write(line)
            done += len(chunk)
        if done > CHUNK:
            tell(f"{done}{total} lines translated")
    return 1 if too_long else 0


def converse(work: Work, device: str, steps: Sequence[str]) -> int:
    """Translate typed lines one by one, until the end of input.

    A line `:xx` changes the target language to xx, `:xx-yy` both languages. If a line begins with
    two colons, the first is dropped and the rest is translated. Errors in a line are printed
    without ending the session.

    Raises:
        UserError: text that is not UTF-8, or a language that the model does not know.
    """
    lines = lines_of(_stdin(), "standard input")
    route = Route.of(steps)
    translators = _loaded(work, device, route)
    if sys.stdin.isatty():
        print_line(f"{' → '.join(route.steps)}; change languages with :xx or :xx-yy")
    for line in lines:
        text = line.strip()
        try:
            if is_command(text):
                new_route = route.changed(text)
                _check(translators, new_route)
                route = new_route
                print_line(" → ".join(route.steps))
            else:
                print_line(_sentence(translators, route, text[text.startswith("::") :]))
        except Exception as error:
            if os.environ.get(TRACEBACK) == "1" and not isinstance(error, UserError):
                raise
            tell(f"error: {str(error).partition(chr(10))[0] or type(error).__name__}")
    return 0


def _loaded(work: Work, device: str, route: Route) -> Translators:
    translators = work.load(device)
    _check(translators, route)
    return translators


def _check(translators: Translators, route: Route) -> None:
    for direction in route.directions:
        translators.of(direction).check(direction)


def _sentence(translators: Translators, route: Route, text: str) -> str:
    for direction in route.directions:
        translator = translators.of(direction)
        for tokens in translator.too_long(direction, [text]).values():
            raise UserError(_too_long(translator, direction, tokens))
        text = translator.translate_lines(direction, [text])[0].text
    return text


def _too_long(translator: Translator, direction: str, tokens: int) -> str:
    return f"{direction} accepts at most {translator.limit(direction)} tokens, it has {tokens}"


def _input(source: str) -> tuple[Iterator[str], str]:
    """The lines, and their number as the end of a progress line, if known."""
    if source == "-":
        return lines_of(_stdin(), "standard input"), ""
    path = Path(source)
    if not path.is_file():
        raise UserError(f"`--input` must be a text file; {source} is not")
    # reads the whole file, so that text that is not UTF-8 is found before hours of translation
    return read_lines(path), f" of {sum(1 for _ in read_lines(path))}"


def _stdin() -> Iterator[str]:
    if sys.stdin is None:
        raise UserError("standard input must be open; it is closed")
    if hasattr(sys.stdin, "reconfigure"):
        sys.stdin.reconfigure(encoding="utf-8", errors="strict", newline="\n")
    return whole_lines(sys.stdin, "standard input")


@contextmanager
def _writer(output: Path | None) -> Iterator[Callable[[str], None]]:
    """The function that writes each translated line.

    Raises:
        UserError: the file cannot be written.
    """
    if output is None:
        yield print_line
        return
    with ExitStack() as stack:
        try:
            if output.exists() and not output.is_file():
                raise UserError(f"`--out` must be a writable file; {output} is not")
            stream = stack.enter_context(complete_file(output))
        except OSError as error:
            raise UserError(
                f"`--out` must be a writable file; {output}: {error.strerror}"
            ) from None
        yield lambda line: print(line, file=stream)
