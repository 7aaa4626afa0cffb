"""What a training measured, and what an altered line of it means."""

import itertools
import json
import random
from pathlib import Path
from statistics import fmean
from typing import Any

from support.altered.outcomes import Said, Subject, tdo
from support.altered.translations import DIRECTIONS
from support.altered.values import altered_json_line
from support.made import made_once


@made_once
def _validations(folder: Path) -> None:
    drawn = random.Random(1)
    with (folder / "validation.jsonl").open("w") as stream:
        for update, direction in itertools.product((100, 200, 300), DIRECTIONS):
            group = "supervised" if "en" in direction else "zero_shot"
            line: dict[str, Any] = {"update": update, "direction": direction, "group": group}
            line |= {"sentences": 6, "bleu": round(drawn.uniform(1, 50), 2)}
            line |= {"chrf": round(drawn.uniform(1, 60), 2), "off": round(drawn.uniform(0, 9), 2)}
            stream.write(json.dumps({**line, "examples": [{"source": "a", "hypothesis": "b"}]}))
            stream.write("\n")


def _curve(folder: Path) -> Said:
    file = folder / "validation.jsonl"
    return tdo(
        folder,
        ["curve", "updates", f"a={file}", "--metrics", "bleu,accuracy"],
        ["curve", "updates", f"a={file}", "--metrics", "chrf", "--group", "supervised"],
    )


def _curve_means(folder: Path, outcome: Said) -> bool:
    """Each line is the mean over both directions of the group, of the later lines."""
    rows: dict[Any, Any] = {}
    for text in (folder / "validation.jsonl").read_text().splitlines():
        line = json.loads(text)
        rows[line["group"], line["update"], line["direction"]] = line
    expected = []
    for group, keys in (("zero_shot", ("bleu", "off")), ("supervised", ("chrf",))):
        for update in (100, 200, 300):
            both = [row for (g, u, _), row in rows.items() if (g, u) == (group, update)]
            if len(both) != 2:
                return False
            means = [fmean(100 - row[k] if k == "off" else row[k] for row in both) for k in keys]
            if not all(0 <= row[k] <= 100 for row in both for k in keys):
                return False
            expected.append(["a", str(update), *(f"{mean:.1f}" for mean in means)])
    lines = [line.split() for line in outcome.output.splitlines()]
    return [line for line in lines if line[0] == "a"] == expected


VALIDATIONS = Subject(
    "validation.jsonl", _validations, {"*.jsonl": altered_json_line}, _curve, _curve_means
)
