"""Mutants of the package: small faults, drawn at random, and which tests find them.

``python -m support.mutants --help``, from the folder ``tests``; docs/design/testing.md has what
came out.
"""

import argparse
import ast
import functools
import json
import os
import queue
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LIMIT = 2400.0  # seconds of a mutant's tests
INNER = ("tests/unit", "tests/parity", "tests/rehearsal", "tests/repository")  # without commands
ROOMS = ("modules", "criterions", "tasks", "models", "data", "evaluation")
COMPARISONS = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
    ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
}  # fmt: skip
ARITHMETIC = {
    ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*", ast.FloorDiv: "*", ast.Mod: "*",
    ast.Pow: "*", ast.BitOr: "&", ast.BitAnd: "|",
}  # fmt: skip
# ends the context of a test itself, and of a process that it starts
PHASE = re.compile(r"\|(setup|run|teardown)$| \((setup|call|teardown)\)$")


@dataclass(frozen=True)
class Mutant:
    """A place in a file, and what stands there instead.

    Attributes:
        path: of the file, below the repository's root.
        line: of the place, from 1.
        start, end: of the place in the file's text.
        kind: of the fault.
        text: what replaces the place.
    """

    path: str
    line: int
    start: int
    end: int
    kind: str
    text: str

    def applied(self, source: str) -> str:
        """The file with the fault."""
        return source[: self.start] + self.text + source[self.end :]


def mutants_of(path: Path) -> list[Mutant]:
    """All mutants of a file's functions."""
    source = path.read_text(encoding="utf-8")
    offsets = [0]
    for line in source.splitlines(keepends=True):
        offsets.append(offsets[-1] + len(line))

    def place(node: ast.AST) -> tuple[int, int]:
        lines = source.splitlines()
        column = len(lines[node.lineno - 1].encode()[: node.col_offset].decode())
        last = len(lines[node.end_lineno - 1].encode()[: node.end_col_offset].decode())
        return offsets[node.lineno - 1] + column, offsets[node.end_lineno - 1] + last

    mutants = []
    for function in ast.walk(ast.parse(source)):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for statement in function.body:
            for node, kind, text in _faults(statement):
                start, end = place(node)
                name = str(path.relative_to(ROOT))
                mutants.append(Mutant(name, node.lineno, start, end, kind, text))
    return sorted(set(mutants), key=lambda mutant: (mutant.start, mutant.kind))


def _faults(statement: ast.stmt) -> Iterator[tuple[ast.AST, str, str]]:
    """(place, kind, replacement) for every node below a statement, nested functions included."""
    annotations = {
        id(inner)
        for node in ast.walk(statement)
        for held in (getattr(node, "annotation", None), getattr(node, "returns", None))
        if held is not None
        for inner in ast.walk(held)
    }
    for node in ast.walk(statement):
        if id(node) not in annotations:
            yield from _faults_at(node)


def _faults_at(node: ast.AST) -> Iterator[tuple[ast.AST, str, str]]:
    match node:
        case ast.Compare(left=left, ops=[operation], comparators=[right]):
            replacement = COMPARISONS[type(operation)]
            yield node, "comparison", f"{ast.unparse(left)} {replacement} {ast.unparse(right)}"
        case ast.BinOp(left=left, op=operation, right=right) if type(operation) in ARITHMETIC:
            replacement = ARITHMETIC[type(operation)]
            yield node, "arithmetic", f"({ast.unparse(left)}) {replacement} ({ast.unparse(right)})"
        case ast.BoolOp(op=operation, values=values):
            word = " or " if isinstance(operation, ast.And) else " and "
            yield node, "and or", "(" + word.join(f"({ast.unparse(v)})" for v in values) + ")"
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield node, "negation", f"({ast.unparse(operand)})"
        case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
            yield test, "condition", f"(not ({ast.unparse(test)}))"
        case ast.Constant(value=bool(value)):
            yield node, "constant", str(not value)
        case ast.Constant(value=int(value) | float(value)):
            yield node, "constant", repr(value + 1)
        case ast.Return(value=ast.expr() as value) if ast.unparse(value) != "None":
            yield value, "return", "None"
        case ast.Expr(value=ast.Call()) | ast.AugAssign():
            yield node, "statement", "pass"


def draw(count: int, seed: int, rooms: Sequence[str] = ROOMS) -> list[Mutant]:
    """Mutants, as many of each room, in which each is as likely."""
    drawn, draws = [], random.Random(seed)
    for room in rooms:
        files = sorted((ROOT / "tdo_plugin" / room).rglob("*.py"))
        everything = [mutant for path in files for mutant in mutants_of(path)]
        drawn += draws.sample(everything, count // len(rooms))
    return drawn


def own_tests(mutant: Mutant) -> str:
    """The folder of the tests of a mutant's folder."""
    return "tests/unit/" + mutant.path.partition("/")[2].rpartition("/")[0] + "/"


class Coverage:
    """Which tests run a line of the package, by the data file of a tier's coverage."""

    def __init__(self, data: Path) -> None:
        import coverage  # which no test needs

        self._data = coverage.CoverageData(str(data.resolve(strict=True)))
        self._data.read()
        self._lines = functools.cache(self._data.contexts_by_lineno)
        self._measured = self._data.measured_contexts()

    def tests(self, mutant: Mutant) -> set[str]:
        """Of the line that a mutant is in; of its whole file where the line is run by an import.

        Also all tests of its folder, since of a value that is kept only the first that asked for it
        is known.
        """
        lines = self._lines(str(ROOT / mutant.path))
        contexts = set(lines.get(mutant.line, []))
        if "" in contexts:
            contexts.update(*lines.values())
        contexts.update(name for name in self._measured if name.startswith(own_tests(mutant)))
        return {PHASE.sub("", context) for context in contexts} - {""}


class Workshop:
    """A clone of the repository in which one mutant at a time stands while tests run.

    Args:
        root: its folder, made by this.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._cache = root / ".pytest_cache" / "v" / "cache" / "lastfailed"
        self._unfit: set[str] = set()  # tests that fail here without a fault
        subprocess.run(["git", "clone", "--quiet", "--shared", ROOT, root], check=True)

    def kills(self, mutant: Mutant, tests: set[str]) -> bool:
        """Whether one of the tests fails, or hangs, with the mutant and not without it.

        The file's own tests come first, and those that start commands last: they take longest.
        """
        near = {name for name in tests if name.startswith(own_tests(mutant))}
        parts = {name for name in tests if name.startswith(INNER)} - near
        return any(self._kill(mutant, some) for some in (near, parts, tests - near - parts))

    def _kill(self, mutant: Mutant, tests: set[str]) -> bool:
        path = self._root / mutant.path
        source = path.read_text(encoding="utf-8")
        while left := sorted(tests - self._unfit):
            path.write_text(mutant.applied(source), encoding="utf-8")
            (self._root / "chosen.txt").write_text("\n".join(left))
            try:
                code = self._pytest("@chosen.txt")
            finally:
                path.write_text(source, encoding="utf-8")
            if code == pytest.ExitCode.OK:
                return False
            if code in (pytest.ExitCode.INTERRUPTED, pytest.ExitCode.USAGE_ERROR):
                # a test's file cannot be imported, or the test is not there
                self._cache.unlink(missing_ok=True)
                there = self._pytest("--collect-only", "@chosen.txt") == pytest.ExitCode.OK
                assert there, "the coverage is of other tests"
                return True
            again = self._pytest("--last-failed", "--last-failed-no-failures=none")
            # no tests: pytest was killed, and could not write which had failed
            if again in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
                return True
            failed = set(json.loads(self._cache.read_text()))
            assert failed <= set(left), failed
            self._unfit |= failed
        return False

    def _pytest(self, *arguments: str) -> int:
        with (self._root / "output.txt").open("w") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "pytest", "--exitfirst", *arguments],
                cwd=self._root,
                env={**os.environ, "PYTHONPATH": str(self._root)},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            return process.wait(LIMIT)
        except subprocess.TimeoutExpired:  # a fault may keep Python itself from ending
            os.killpg(process.pid, signal.SIGKILL)
            return process.wait()


class Judgement:
    """Which mutants a tier's tests find; of the full tier, those that the quick one has not found.

    Args:
        out: a file of what is known already and is found out, a JSON object a line.
        folder: for clones of the repository.
    """

    def __init__(self, out: Path, folder: Path) -> None:
        self._out = out
        self._known: dict[tuple[str, Mutant], bool] = {}
        for line in out.read_text().splitlines() if out.exists() else []:
            row = json.loads(line)
            self._known[row["tier"], Mutant(**row["mutant"])] = row["killed"]
        self._workers = os.cpu_count() or 1
        self._shops: queue.Queue[Workshop] = queue.Queue()
        for number in range(self._workers):
            self._shops.put(Workshop(folder / str(number)))

    def killed(self, tier: str, mutants: list[Mutant], tests: Callable[[Mutant], set[str]]) -> int:
        """How many of the mutants the tests find, which are those of a tier.

        Args:
            tier: its name.
            mutants: some.
            tests: that a mutant is to be found by.
        """
        left = [mutant for mutant in mutants if (tier, mutant) not in self._known]
        with ThreadPoolExecutor(self._workers) as pool:
            waiting = [pool.submit(self._judge, tier, mutant, tests(mutant)) for mutant in left]
            for finished in as_completed(waiting):
                finished.result()
        return len(mutants) - len(self.survivors(tier, mutants))

    def survivors(self, tier: str, mutants: list[Mutant]) -> list[Mutant]:
        """Those that a tier did not find."""
        return [mutant for mutant in mutants if not self._known[tier, mutant]]

    def _judge(self, tier: str, mutant: Mutant, tests: set[str]) -> None:
        shop, began = self._shops.get(), time.monotonic()
        try:
            killed = shop.kills(mutant, tests)
        finally:
            self._shops.put(shop)
        self._known[tier, mutant] = killed
        row = {"tier": tier, "killed": killed, "tests": len(tests)}
        row |= {"seconds": round(time.monotonic() - began), "mutant": asdict(mutant)}
        with self._out.open("a") as file:
            print(json.dumps(row), file=file)
        verdict = "finds" if killed else "does not find"
        print(f"{tier} {verdict} {mutant.path}:{mutant.line} {mutant.kind}", flush=True)


def main() -> None:
    """Draw mutants, judge those that are not judged yet, and say what came out."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", type=Path, required=True, help="coverage of the quick tier")
    parser.add_argument("--full", type=Path, help="coverage of the full tier, for what is left")
    parser.add_argument("--count", type=int, default=120)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rooms", nargs="+", default=ROOMS, help="folders of the package")
    parser.add_argument("--out", type=Path, required=True, help="results, a JSON object a line")
    args = parser.parse_args()
    mutants = draw(args.count, args.seed, args.rooms)
    quick = Coverage(args.quick)
    with tempfile.TemporaryDirectory() as folder:
        judgement = Judgement(args.out, Path(folder))
        found = judgement.killed("quick", mutants, quick.tests)
        print(f"the quick tier finds {found} of {len(mutants)} mutants")
        if args.full:
            full = Coverage(args.full)
            left = judgement.survivors("quick", mutants)
            more = {mutant: full.tests(mutant) - quick.tests(mutant) for mutant in left}
            left.sort(key=lambda mutant: len(more[mutant]))
            print(f"the full one finds {judgement.killed('full', left, more.__getitem__)} more")


if __name__ == "__main__":
    main()
