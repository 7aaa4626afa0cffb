"""Mutants of the package: small faults, drawn at random, and which tests find them.

``python -m support.mutants --help``, from the folder ``tests``; docs/design/testing.md has what
came out.
"""

import argparse
import ast
import json
import os
import queue
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIMIT = 1800.0  # seconds of a mutant's tests
ROOMS = ("modules", "criterions", "tasks", "models", "data", "evaluation")
COMPARISONS = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
    ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
}  # fmt: skip
ARITHMETIC = {
    ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*", ast.FloorDiv: "*", ast.Mod: "*",
    ast.Pow: "*", ast.BitOr: "&", ast.BitAnd: "|",
}  # fmt: skip
Lines = dict[tuple[str, int], list[str]]  # the tests that run a line of a file


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


def tests_by_line(report: Path) -> Lines:
    """The tests that run each line of the package, by ``coverage json --show-contexts``."""
    found = {}
    for path, file in json.loads(report.read_text())["files"].items():
        for line, contexts in file["contexts"].items():
            # of a process that a test starts, and of the test itself
            names = {one.split(" (")[0].split("|")[0] for one in contexts}
            found[path, int(line)] = sorted(names - {""}, key=_cost)
    return found


def _cost(name: str) -> tuple[int, str]:
    """Tests of parts first, which take less time."""
    kinds = ("tests/unit", "tests/parity", "tests/commands", "tests/tables")
    return next(number for number, kind in enumerate(kinds) if name.startswith(kind)), name


class Workshop:
    """A copy of the repository in which one mutant at a time stands while tests run."""

    def __init__(self, root: Path) -> None:
        self._root = root
        for pattern in (
            "tdo_plugin*",
            "tests",
            "scripts",
            "configs",
            "benchmarks",
            "*.toml",
            "docs",
        ):
            for path in ROOT.glob(pattern):
                copy = shutil.copytree if path.is_dir() else shutil.copy
                copy(path, root / path.name)

    def kills(self, mutant: Mutant, tests: list[str]) -> bool:
        """Whether one of the tests fails, or hangs."""
        if not tests:
            return False
        path = self._root / mutant.path
        source = path.read_text(encoding="utf-8")
        path.write_text(mutant.applied(source), encoding="utf-8")
        (self._root / "chosen.txt").write_text("\n".join(tests))
        command = [sys.executable, "-m", "pytest", "-x", "-q", "@chosen.txt"]
        environment = {**os.environ, "PYTHONPATH": str(self._root)}
        try:
            done = subprocess.run(
                command,
                cwd=self._root,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=LIMIT,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return True
        finally:
            path.write_text(source, encoding="utf-8")
        return done.returncode != 0


def judge(mutant: Mutant, shop: Workshop, quick: Lines, full: Lines) -> dict[str, object]:
    """Which tier kills a mutant; of the full one what it has beside the quick one is asked."""
    place = mutant.path, mutant.line
    tests = quick.get(place, [])
    began = time.monotonic()
    killed = "quick" if shop.kills(mutant, tests) else ""
    if not killed:
        more = [name for name in full.get(place, []) if name not in set(tests)]
        killed = "full" if shop.kills(mutant, more) else ""
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
    quick, full = tests_by_line(args.quick), tests_by_line(args.full)
    shops: queue.Queue[Workshop] = queue.Queue()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        for number in range(os.cpu_count() or 1):
            (Path(folder) / str(number)).mkdir()
            shops.put(Workshop(Path(folder) / str(number)))

        def work(mutant: Mutant) -> dict[str, object]:
            shop = shops.get()
            try:
                return judge(mutant, shop, quick, full)
            finally:
                shops.put(shop)

        for row in pool.map(work, left):
            with args.out.open("a") as file:
                print(json.dumps(row), file=file)
            print(row["killed"] or "nobody", row["path"], row["line"], row["kind"], flush=True)
    rows = [json.loads(line) for line in args.out.open()]
    by_tier = Counter(row["killed"] for row in rows)
    killed = by_tier["quick"] + by_tier["full"]
    print(f"{len(rows)} mutants, {killed} killed, {by_tier['quick']} of them by the quick tier")


if __name__ == "__main__":
    main()
