"""Collect the results of `benchmarks/gpu/run.sh` in summary.md, as rows for the documents.

    python benchmarks/gpu/summary.py OUT

What a part that was cut off had measured is included.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

LOGGED = re.compile(r'^\{"epoch": .*"update": .*\}$', re.M)  # an update in fairseq's JSON format
OVERFLOW = "gradient overflow"  # later updates see other batches
COSTS = ("neuron_masks", "disentangling", "back_translation")


def summary(out: Path) -> Iterator[str]:
    """The lines of the page."""
    yield "# Measured by benchmarks/gpu/run.sh"
    yield from _parts(out)
    yield from _speed(_read(out / "speed.json") or [])
    for name in COSTS:
        yield from _cost(name, _read(out / f"{name}.json") or [])
    yield from _first_updates(out / "first-updates")
    yield from _half_precision(_read(out / "half-precision.json"))
    yield from _scores(_read(out / "scores" / "scores.json"))
    yield from _printed(out)


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None


def _table(title: str, head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    """A section with a table; nothing without rows."""
    if rows:
        yield from ("", f"## {title}", "", f"| {' | '.join(head)} |", f"|{'---|' * len(head)}")
        yield from (f"| {' | '.join(row)} |" for row in rows)


def _parts(out: Path) -> Iterator[str]:
    rows = [
        (name, state, f"{took} of {limit} s", f"`{command}`")
        for line in (out / "parts.tsv").read_text(encoding="utf-8").splitlines()
        for name, state, took, limit, command in [line.split("\t")]
    ]
    yield from _table("Parts", ("part", "state", "time", "command"), rows)


def _speed(rows: list[dict[str, Any]]) -> Iterator[str]:
    shown = []
    for row in rows:
        settings = row["settings"]
        cost, base = (f"{settings[key]:.3g}" for key in ("cost", "baseline_cost"))
        shown.append(
            (row["title"], row["baseline"], _ratio(row), f"{cost}, {base} {settings['unit']}")
        )
    if rows:
        facts = rows[0]["settings"]
        yield ""
        yield ", ".join(str(facts[key]) for key in ("hardware", "precision", "torch", "text"))
    yield from _table("Speed and memory", ("what", "against", "ratio", "ours, baseline"), shown)


def _ratio(row: dict[str, Any]) -> str:
    least, most = row["spread"]
    return f"{row['ratio']:.2f} ({least:.2f} to {most:.2f})"


def _cost(name: str, rows: list[dict[str, Any]]) -> Iterator[str]:
    shown = []
    for row in rows:
        shown.append((row["system"], _ratio(row), f"{row['settings']['baseline_cost']:.3g} s"))
    yield from _table(f"Cost: {name}", ("an update with", "ratio", "plain"), shown)


def _first_updates(folder: Path) -> Iterator[str]:
    rows = []
    for system in sorted(folder.glob("*/")):
        exact = losses(system / "cpu.log")
        for log in sorted(system.glob("*.log")):
            if log.stem != "cpu" and exact:
                pairs = list(zip(losses(log), exact, strict=False))
                worst = max((abs(loss - base) / base for loss, base in pairs), default=0)
                rows.append((system.name, log.stem, f"{worst:.1e}", str(len(pairs))))
    head = ("system", "precision", "largest difference from a CPU in fp32", "updates")
    yield from _table("First updates", head, rows)


def losses(log: Path) -> list[float]:
    """The loss of each update in a log, as far as all batches were those of the CPU."""
    if not log.is_file():
        return []
    text = log.read_text(encoding="utf-8").partition(OVERFLOW)[0]
    return [float(json.loads(match[0])["loss"]) for match in LOGGED.finditer(text)]


def _half_precision(numbers: dict[str, Any] | None) -> Iterator[str]:
    rows = [
        (
            layer["layer"],
            *(f"{value:.3g}" for value in layer["largest"].values()),
            *(f"{100 * value:.2g} %" for value in layer["state_errors"].values()),
        )
        for layer in (numbers or {"layers": []})["layers"]
        if layer["largest"]
    ]
    head = ("layer", "residual stream", "FFN", "scores", "output fp16", "output bf16")
    yield from _table("Half precision", head, rows)


def _scores(sheet: dict[str, Any] | None) -> Iterator[str]:
    rows = [
        (system["name"], way["direction"], f"{way['scores']['bleu']:.2f}")
        for system in (sheet or {"systems": []})["systems"]
        for way in system["directions"]
    ]
    yield from _table("Translations of a short training", ("precision", "direction", "BLEU"), rows)


def _printed(out: Path) -> Iterator[str]:
    """What the other parts printed."""
    for name in ("exported", "serve"):
        path = out / f"{name}.log"
        if path.is_file():
            yield from ("", f"## {name}", "", "```text", *path.read_text().splitlines(), "```")


def main() -> None:
    """Write the page, print the table of parts, and its place."""
    out = Path(sys.argv[1])
    (out / "summary.md").write_text("\n".join(summary(out)) + "\n", encoding="utf-8")
    print(*_parts(out), "", out / "summary.md", sep="\n")


if __name__ == "__main__":
    main()
