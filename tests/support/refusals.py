"""One harness for mistakes: each ends in one line that names its cause.

A row is a command line and what its error must name. One line, no traceback, the exit code and that
nothing was written are checked for all. How the lines are worded is stored in `tests/wording.json`
by test and command; ``pytest --update-golden`` writes it anew, and the difference is to be read.
"""

import contextlib
import json
import re
import shlex
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest
from filelock import FileLock
from support import commands, data
from support.made import PLACE, ROOT

from tdo_compat.errors import one_line

GENERAL = {
    r"process \d+ of \S+ is": "process N of HOST is",
    rf"{PLACE}/(\w+)-[0-9a-f]{{12}}": r"MADE/\1",
    r"127\.0\.0\.1:\d+": "127.0.0.1:PORT",
    r"\b[0-9a-f]{16}\b": "DIGEST",
    r"[^\s(]+/bin/python -m pip\b": "pip",  # where the environment is not active
    # other people's words, which change with their versions
    r"\w[\w ,']*: line \d+ column \d+ \(char \d+\)": "JSON'S WORDS",
    r"(?<=Error while deserializing header: ).*": "WORDS OF SAFETENSORS",
    r"\[Errno -\d+\] .*": "WORDS OF DNS",
}
WORDING = ROOT / "tests" / "wording.json"


class Refused:
    """``refused(*words, names=...)``: a command that must be refused.

    The first word is `fairseq-train`, `fairseq-generate`, or a command of `tdo`; all run in this
    process. `fairseq-train` does what a training does before its first batch.
    """

    def __init__(self, capsys: pytest.CaptureFixture[str], folder: Path) -> None:
        self._capsys = capsys
        self._folder = folder
        self._told: dict[str, str] = {}

    def __call__(
        self,
        *words: object,
        names: object,
        code: int = 2,
        case: object = "",
        process: bool = False,
    ) -> str:
        """The line of a command.

        Args:
            words: of the command.
            names: what must be in the line.
            code: what the command must end with.
            case: what tells it from a command of the same words.
            process: whether a fairseq command is run in a process of its own.
        """
        shown = " ".join(map(str, (*words, *([f"({case})"] if case else ()))))
        return self._refused(list(map(str, words)), shown, names, code, process)

    def _refused(
        self, words: list[str], shown: str, names: object, code: int = 2, process: bool = False
    ) -> str:
        command, *rest = words
        if process:  # which leaves its log and what it was called with
            line = self._in_a_process(command.removeprefix("fairseq-"), *rest)
            return self._note(shown, line, names)
        before = sorted(self._folder.rglob("*"))
        if command.startswith("fairseq-"):
            run = _begin_training if command == "fairseq-train" else data.generate
            with self.raised(shown, names) as raised:
                run(*rest[1:], data=rest[0])
            (line,) = raised
        else:
            line = self._note(shown, self._here([command, *rest], code), names)
        assert sorted(self._folder.rglob("*")) == before
        return line

    @staticmethod
    def _in_a_process(*words: str) -> str:
        done = commands.command(*words)
        assert done.returncode > 0, f"{done.returncode} {done.stdout}"  # below 0: killed
        assert "Traceback" not in done.stderr, done.stderr
        (line,) = (line for line in done.stderr.splitlines() if line.startswith("error: "))
        return line.removeprefix("error: ")

    def _here(self, words: list[str], code: int) -> str:
        self._capsys.readouterr()
        actual = commands.exit_code(*words)
        said = self._capsys.readouterr().err
        assert actual == code, said
        assert "Traceback" not in said, said
        *earlier, line = said.splitlines()
        assert not any("error: " in other for other in earlier), said
        return line.split("error: ", 1)[-1]

    @contextlib.contextmanager
    def raised(self, by: str, names: object) -> Iterator[list[str]]:
        """What is raised inside and shown as one line, which is given on; ``by`` names the case."""
        line: list[str] = []
        with pytest.raises(Exception) as raised:
            yield line
        shown = one_line(raised.type, raised.value)
        assert shown is not None, repr(raised.value)
        line.append(self._note(by, shown, names))

    def rows(self, table: str, **places: object) -> None:
        """Several commands, one a line.

        A line that is not indented is a command. Each indented line below adds words to it, and
        after two colons says what the error must name::

            convert {model} --from m2m100 --out {out}
                --layers 3        :: --layers
                --from nllb       :: nllb

        Args:
            table: the lines; words are split as a shell does.
            places: the value of ``{name}``: a path, or a tuple of words.
        """
        command = ""
        for line in textwrap.dedent(table).strip().splitlines():
            text, _, names = line.partition(" :: ")
            row = f"{command} {text.strip()}"
            if not line.startswith(" "):
                command = row = text.strip()
            assert names or command == row, f"nothing is named: {line}"
            if names:
                words = [part for word in shlex.split(row) for part in _filled(word, places)]
                (name,) = _filled(names.strip(), places)
                self._refused(words, row, name)

    def compare(self, test: str, update: bool) -> None:
        """Check that a test's commands said what is stored, or store it."""
        if update and self._told:
            with FileLock(PLACE / "wording.lock"):
                _write({**json.loads(WORDING.read_text()), test: self._told})
        assert self._told == json.loads(WORDING.read_text()).get(test, {})

    def _note(self, by: str, line: str, names: object) -> str:
        assert "\n" not in line and line.isprintable(), line
        assert str(names) in line, line
        case = self._general(by)
        assert self._told.setdefault(case, self._general(line)) == self._general(line), case
        return line

    def _general(self, text: str) -> str:
        """Without the folders, ports and digests of this run."""
        for pattern, name in GENERAL.items():
            text = re.sub(pattern, name, text)
        for folder, name in ((self._folder, "TMP"), (data.temporary(), "TMP"), (ROOT, "ROOT")):
            text = text.replace(str(folder), name)
        return text


def forget_wording_of_lost_tests(tests: set[str], files: set[str]) -> None:
    """Of these files, and of files that are no more, keep what is of these tests."""
    with FileLock(PLACE / "wording.lock"):
        kept = {
            test: lines
            for test, lines in json.loads(WORDING.read_text()).items()
            if test in tests
            or ((file := test.partition("::")[0]) not in files and (ROOT / file).exists())
        }
        _write(kept)


def _write(wording: dict[str, dict[str, str]]) -> None:
    text = json.dumps(wording, indent=1, ensure_ascii=False, sort_keys=True)
    WORDING.write_text(text + "\n", encoding="utf-8")


def _filled(word: str, places: dict[str, object]) -> list[str]:
    whole = re.fullmatch(r"\{(\w+)\}", word)
    if whole and isinstance(value := places[whole[1]], tuple):
        return list(map(str, value))
    return [re.sub(r"\{(\w+)\}", lambda found: str(places[found[1]]), word)]


def _begin_training(*flags: str, data: str) -> None:
    from support.data import built

    task, _, _ = built(*flags, data=data)
    args = task.args
    task.load_dataset("train" if args.valid_subset == "valid" else args.valid_subset, epoch=1)
