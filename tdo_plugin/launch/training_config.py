"""Config files: a system's `fairseq-train` flags, one per line (docs/reproduce/experiments.md)."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from tdo_compat.settings import shown
from tdo_plugin.errors import UserError
from tdo_plugin.names import on_one_line

PRECISIONS = ("fp32", "fp16", "bf16")
IMPORTING = "--user-dir"  # imports code, so only allowed on the command line


@dataclass
class Config:
    """A resolved config.

    Attributes:
        flags: fairseq-train flags with their values.
        gpus: number of GPUs for which `--max-tokens` and `--update-freq` are given.
        precision: number format on GPUs.
        directions: patterns of the data folder's directions to train.
    """

    flags: dict[str, list[str]] = field(default_factory=dict)
    gpus: int = 1
    precision: str = "fp32"
    directions: str = "*"

    def words(self) -> list[str]:
        """The flags as words of a command."""
        return [word for flag, values in self.flags.items() for word in (flag, *values)]

    def lines(self) -> list[str]:
        """The lines of a config file with this config."""
        about = {"gpus": str(self.gpus), "precision": self.precision, "directions": self.directions}
        settings = [shlex.join(pair) for pair in about.items()]
        return settings + [shlex.join([flag, *values]) for flag, values in self.flags.items()]

    def integer(self, flag: str, default: int) -> int:
        """The value of a flag that must be a positive whole number."""
        return positive(flag, (self.flags.get(flag) or [str(default)])[0])


def positive(option: str, text: str) -> int:
    """Parse a positive whole number.

    Raises:
        UserError: the text is not a positive whole number.
    """
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise UserError(f"`{option}` must be a whole number above 0; it is {text}")
    return int(text)


def read_config(path: Path) -> Config:
    """Read a config with all included files.

    Raises:
        UserError: a missing file, a cycle of includes, or an invalid line.
    """
    config = Config()
    _read(path, config, ())
    return config


def with_lines(config: Config, lines: Iterable[str], place: Path, where: str) -> Config:
    """A copy of the config with further lines, as in a config file.

    Args:
        config: the config, which is not modified.
        lines: lines in the format of config files.
        place: the file of the lines; included files are relative to its folder.
        where: the place of the lines, for messages.

    Raises:
        UserError: see `read_config`.
    """
    longer = replace(config, flags=dict(config.flags))
    for line in lines:
        _take(line, where, longer, place, (place.resolve(),))
    return longer


def _read(path: Path, config: Config, above: tuple[Path, ...]) -> None:
    place = path.resolve()
    if place in above:
        circle = " → ".join(p.name for p in (*above[above.index(place) :], place))
        raise UserError(f"`include` must not form a cycle; {circle} does")
    if not path.is_file():
        option = f"`include` in {above[-1].name}" if above else "`CONFIG`"
        raise UserError(f"{option} must be an existing file; {path} is not one")
    for number, line in enumerate(_text(path).split("\n"), 1):
        _take(line, f"`{path.name}` line {number}", config, path, (*above, place))


def _text(path: Path) -> str:
    """The text of a config file, which must be UTF-8."""
    content = path.read_bytes()
    try:
        return content.decode().removeprefix("\ufeff")  # written by editors on Windows
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UserError(
            f"`{path.name}` must be UTF-8; its byte {error.start + 1}, in line {line}, is "
            f"0x{content[error.start]:02x}"
        ) from None


def _take(line: str, where: str, config: Config, path: Path, above: tuple[Path, ...]) -> None:
    """Apply a line of the file `path` to a config."""
    line = line.removesuffix("\r")
    if not on_one_line(line.replace("\t", " ")):
        raise UserError(f"{where} must be without control characters; it is {shown(line)}")
    try:
        words = shlex.split(line, comments=True)
    except ValueError as error:
        raise UserError(f"{where} must be well-formed; {error}") from None
    if not words:
        return
    if any(word.partition("=")[0] == IMPORTING for word in words):
        raise UserError(
            f"{where} must be without `{IMPORTING}`, which imports code (give it on the command "
            f"line, after the data folder); it is {shown(line.strip())}"
        )
    key, values = words[0], words[1:]
    if key.startswith("--"):
        config.flags[key] = values
    elif key == "include" and len(values) == 1:
        _read(path.parent / values[0], config, above)
    elif key == "gpus" and len(values) == 1:
        config.gpus = positive("gpus", values[0])
    elif key == "precision" and len(values) == 1 and values[0] in PRECISIONS:
        config.precision = values[0]
    elif key == "directions" and len(values) == 1:
        config.directions = values[0]
    else:
        raise UserError(
            f"{where} must be a --flag, include FILE, gpus N, precision "
            f"{'|'.join(PRECISIONS)} or directions PATTERN,...; it is {line.strip()}"
        )
