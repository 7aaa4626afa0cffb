"""Scores files, and what an altered one means."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

from support.altered.outcomes import Said, Subject, tdo
from support.altered.translations import write_systems
from support.altered.values import altered_json
from support.made import made_once

from tdo_plugin.evaluation.report import heatmap


@made_once
def _systems(folder: Path) -> None:
    write_systems(folder)
    words = ["score", f"good={folder / 'good'}", f"poor={folder / 'poor'}", "--out", folder / "of"]
    words += ["--metrics", "bleu,chrf,ter,off,perplexity", "--lid", "references"]
    words += ["--workers", "1", "--samples", "50", "--examples", "1", "--group", "mine=de-*"]
    outcome = tdo(folder, words)
    assert outcome.code == 0, outcome


@made_once
def _scores(folder: Path) -> None:
    document = json.loads((_systems() / "of" / "scores.json").read_text())
    document["made_by"] = {"command": "tdo score", "commit": None}  # whatever place this is
    (folder / "scores.json").write_text(json.dumps(document, ensure_ascii=False))


def _report(folder: Path) -> Said:
    out, page = folder / "report", folder / "page.html"
    with mock.patch.object(heatmap, "available", lambda: False):
        outcome = tdo(
            folder,
            ["report", folder / "scores.json", "--out", out],
            ["collect", "--report", "all", folder, "--out", page],
        )
    texts = [path.read_text() for path in (*sorted(out.glob("*")), page) if path.is_file()]
    return replace(outcome, output=outcome.output + "".join(texts))


def _scores_mean(folder: Path, outcome: Said) -> bool:
    """What is read says what the file says, and the numbers fit each other."""
    from tdo_plugin.evaluation.score_sheet import as_json
    from tdo_plugin.evaluation.sheet_reading import read_sheet

    document = json.loads((folder / "scores.json").read_text())
    written = json.loads(json.dumps(as_json(read_sheet(folder / "scores.json"))))
    # what has a default may be left out
    left_out = {name: written.pop(name) for name in set(written) - set(document)}
    return written == document and not any(left_out.values()) and _fits(document)


def _fits(sheet: dict[str, Any]) -> bool:
    rows = [row for system in sheet["systems"] for row in system["directions"]]
    pairs = [difference for each in sheet["comparisons"] for difference in _differences(each)]
    scores = [row["scores"] for row in rows]
    scores += [pooled for system in sheet["systems"] for pooled in system["pooled"].values()]
    return (
        all(0 <= values.get(key, 0) <= 100 for values in scores for key in ("bleu", "chrf", "off"))
        and all(values.get("ter", 0) >= 0 and values.get("perplexity", 1) >= 1 for values in scores)
        and all(abs(sum(row["shares"].values()) - 100) < 1e-6 for row in rows if row["shares"])
        and all(sum(row["languages"].values()) == row["sentences"] for row in rows)
        and all(abs(d["system"] - d["baseline"] - d["difference"]) < 1e-6 for d in pairs)
        and all(d["low"] <= d["high"] and 0 <= d["p"] <= 1 for d in pairs)
    )


def _differences(comparison: dict[str, Any]) -> list[dict[str, float]]:
    return [*comparison["directions"].values(), *comparison["groups"].values()]


SCORES = Subject("scores.json", _scores, {"scores.json": altered_json}, _report, _scores_mean)
