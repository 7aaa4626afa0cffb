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
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
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

    found = []
    for function in ast.walk(ast.parse(source)):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for statement in function.body:
            for node, kind, text in _faults(statement):
                start, end = place(node)
                name = str(path.relative_to(ROOT))
                found.append(Mutant(name, node.lineno, start, end, kind, text))
    return sorted(set(found), key=lambda mutant: (mutant.start, mutant.kind))


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
            other = COMPARISONS[type(operation)]
            yield node, "comparison", f"{ast.unparse(left)} {other} {ast.unparse(right)}"
        case ast.BinOp(left=left, op=operation, right=right) if type(operation) in ARITHMETIC:
            other = ARITHMETIC[type(operation)]
            yield node, "arithmetic", f"({ast.unparse(left)}) {other} ({ast.unparse(right)})"
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


def draw(count: int, seed: int) -> list[Mutant]:
    """Mutants, as many of each room, in which each is as likely."""
    drawn, draws = [], random.Random(seed)
    for room in ROOMS:
        files = sorted((ROOT / "tdo_plugin" / room).rglob("*.py"))
        everything = [mutant for path in files for mutant in mutants_of(path)]
        drawn += draws.sample(everything, count // len(ROOMS))
    return drawn


class Coverage:
    """Which tests run a line of the package, by the data file of a tier's coverage."""

    def __init__(self, data: Path) -> None:
        import coverage  # which no test needs

        self._data = coverage.CoverageData(str(data.resolve(strict=True)))
        self._data.read()
        self._lines = functools.cache(self._data.contexts_by_lineno)

    def tests(self, mutant: Mutant) -> list[str]:
        """Of the line that a mutant is in; of its whole file where the line is run by an import."""
        lines = self._lines(str(ROOT / mutant.path))
        contexts = set(lines.get(mutant.line, []))
        if "" in contexts:
            contexts.update(*lines.values())
        return sorted({PHASE.sub("", one) for one in contexts} - {""})


class Workshop:
    """A clone of the repository in which one mutant at a time stands while tests run.

    Args:
        root: its folder, made by this.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._unfit: set[str] = set()  # tests that fail here without a fault
        subprocess.run(["git", "clone", "--quiet", "--shared", ROOT, root], check=True)

    def kills(self, mutant: Mutant, tests: list[str]) -> bool:
        """Whether one of the tests fails, or hangs, with the mutant and not without it."""
        parts = [name for name in tests if name.startswith(("tests/unit", "tests/parity"))]
        others = sorted(set(tests) - set(parts))  # which take longer
        return self._kill(mutant, parts) or self._kill(mutant, others)

    def _kill(self, mutant: Mutant, tests: list[str]) -> bool:
        path = self._root / mutant.path
        source = path.read_text(encoding="utf-8")
        while left := [name for name in tests if name not in self._unfit]:
            path.write_text(mutant.applied(source), encoding="utf-8")
            (self._root / "chosen.txt").write_text("\n".join(left))
            try:
                if self._pytest("@chosen.txt") == pytest.ExitCode.OK:
                    return False
            finally:
                path.write_text(source, encoding="utf-8")
            again = self._pytest("--last-failed", "--last-failed-no-failures=none")
            # no tests: pytest was killed, and could not write which had failed
            if again in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
                return True
            cache = self._root / ".pytest_cache" / "v" / "cache" / "lastfailed"
            failed = set(json.loads(cache.read_text()))
            assert failed <= set(left), failed
            self._unfit |= failed
        return False

    def _pytest(self, *arguments: str) -> int:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "--exitfirst", *arguments],
            cwd=self._root,
            env={**os.environ, "PYTHONPATH": str(self._root)},
            stdin=subprocess.DEVNULL,
            stdout=(self._root / "output.txt").open("w"),
            stderr=subprocess.STDOUT,
            check=False,
        )
        return done.returncode


def judge(mutant: Mutant, shop: Workshop, quick: Coverage, full: Coverage) -> dict[str, object]:
    """Which tier kills a mutant; of the full one what it has beside the quick one is asked."""
    tests = quick.tests(mutant)
    began = time.monotonic()
    killed = "quick" if shop.kills(mutant, tests) else ""
    if not killed:
        killed = "full" if shop.kills(mutant, sorted({*full.tests(mutant)} - {*tests})) else ""
    seconds = round(time.monotonic() - began)
    return {**asdict(mutant), "killed": killed, "tests": len(tests), "seconds": seconds}


def main() -> None:
    """Draw mutants, judge those that are not judged yet, and say what came out."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", type=Path, required=True, help="coverage of the quick tier")
    parser.add_argument("--full", type=Path, required=True, help="coverage of the full tier")
    parser.add_argument("--count", type=int, default=120)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True, help="results, a JSON object a line")
    args = parser.parse_args()
    done = [json.loads(line) for line in args.out.open()] if args.out.exists() else []
    known = {(row["path"], row["start"], row["kind"]) for row in done}
    drawn = draw(args.count, args.seed)
    left = [one for one in drawn if (one.path, one.start, one.kind) not in known]
    quick, full = Coverage(args.quick), Coverage(args.full)
    shops: queue.Queue[Workshop] = queue.Queue()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        for number in range(os.cpu_count() or 1):
            shops.put(Workshop(Path(folder) / str(number)))

        def work(mutant: Mutant) -> dict[str, object]:
            shop = shops.get()
            try:
                return judge(mutant, shop, quick, full)
            finally:
                shops.put(shop)

        for finished in as_completed([pool.submit(work, mutant) for mutant in left]):
            row = finished.result()
            with args.out.open("a") as file:
                print(json.dumps(row), file=file)
            print(row["killed"] or "nobody", row["path"], row["line"], row["kind"], flush=True)
    rows = [json.loads(line) for line in args.out.open()]
    by_tier = Counter(row["killed"] for row in rows)
    killed = by_tier["quick"] + by_tier["full"]
    print(f"{len(rows)} mutants, {killed} killed, {by_tier['quick']} of them by the quick tier")


if __name__ == "__main__":
    main()
