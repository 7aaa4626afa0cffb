"""The commands that the documents show, as the shell reads them.

Each block is given to bash, in which every program is a function that notes its words, so loops,
arrays, continued lines, comments and settings before a command are what they are to a user.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from support.configs import ROOT
from support.processes import finished

DOCUMENTS = (
    ROOT / "README.md",
    ROOT / "configs" / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
)
FENCE = re.compile(r"^```(\w*)\n(.*?\n)```$", re.MULTILINE | re.DOTALL)
# programs that are words of a command line in running text
PROGRAM = re.compile(r"`((?:tdo|fairseq-\w+|bash|scripts/\S+\.sh) [^`]+)`")
NOTES = """
note() { printf '%s\\0' "$#" "$@" >>"$NOTED"; }
command_not_found_handle() { note "${BASH_LINENO[0]}" "$PWD" "$@"; }
source() { note "${BASH_LINENO[0]}" "$PWD" source "$@"; }
"""
LEADING = re.compile(r"[\w.-]*(?:/[\w.-]+)+")  # a program that is called by its place


@dataclass(frozen=True)
class Command:
    """One command: its words, the folder that it is given in, and where it stands."""

    place: str
    folder: Path
    words: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.place}: {' '.join(self.words)}"


def blocks(document: Path) -> Iterator[tuple[int, str, str]]:
    """Line, language and text of each fenced block of a document."""
    text = document.read_text(encoding="utf-8")
    for block in FENCE.finditer(text):
        yield text.count("\n", 0, block.start(2)) + 1, block[1], block[2]


def read_block(text: str, document: Path, first: int, scratch: Path) -> list[Command]:
    """The commands of a document's shell text, from this line on, in the order of their calls.

    bash must understand it.
    """
    where = document.relative_to(ROOT).as_posix()
    root, noted, notes = scratch / "root", scratch / "noted", scratch / "notes.sh"
    if not root.exists():
        root.mkdir()
        for path in ROOT.iterdir():
            (root / path.name).symlink_to(path)
    noted.write_bytes(b"")
    named = sorted(set(LEADING.findall(text)))
    functions = [f'{name}() {{ note "${{BASH_LINENO[0]}}" "$PWD" {name} "$@"; }}' for name in named]
    notes.write_text("\n".join([NOTES, *functions, ""]))
    environment = {"BASH_ENV": str(notes), "NOTED": str(noted), "PATH": "/nowhere"}
    done = finished(["/bin/bash", "-eu", "-c", text], cwd=root, env=environment, limit=60)
    assert done.returncode == 0 and not done.stderr, f"{where}:{first}: {done.stderr}"
    fields = iter(noted.read_text().split("\0")[:-1])
    commands = []
    for count in fields:
        line, folder, *words = (next(fields) for _ in range(int(count)))
        inside = ROOT / Path(folder).relative_to(root)
        commands.append(Command(f"{where}:{first + int(line) - 1}", inside, tuple(words)))
    return commands


def fenced(scratch: Path) -> list[Command]:
    """The commands of all documents' blocks."""
    commands = []
    for document in DOCUMENTS:
        for first, language, text in blocks(document):
            if language == "bash":
                commands += read_block(text, document, first, scratch)
    return commands


def in_text(scratch: Path) -> list[Command]:
    """The commands that stand in running text."""
    commands = []
    for document in DOCUMENTS:
        text = document.read_text(encoding="utf-8")
        text = FENCE.sub(lambda block: "\n" * block[0].count("\n"), text)
        for match in PROGRAM.finditer(text):
            number = text.count("\n", 0, match.start()) + 1
            commands += read_block(match[1].replace("\n", " "), document, number, scratch)
    return commands
