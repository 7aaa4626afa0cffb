"""What `tdo translate` leaves, and what an altered record of it means."""

import json
import random
from dataclasses import replace
from pathlib import Path

from support.altered.outcomes import Said, Subject, tdo
from support.altered.values import altered_json
from support.made import made_once
from support.prepared import prepared

DIRECTIONS = ("en-de", "de-en", "de-fr", "fr-de")


def write_systems(folder: Path) -> None:
    """Hypotheses of two systems, one better than the other, as `tdo translate` leaves them."""
    drawn = random.Random(1)
    texts = {
        language: (prepared().root / "reference" / f"test.{language}").read_text().splitlines()
        for language in prepared().languages
    }
    for name, kept in (("good", 0.9), ("poor", 0.5)):
        (folder / name).mkdir(parents=True)
        how = {"checkpoints": ["m.pt"], "beam": 4, "form": {"casing": "cased"}}
        (folder / name / "translate.json").write_text(json.dumps(how))
        for direction in DIRECTIONS:
            source, target = direction.split("-")
            lines = [
                " ".join(word for word in line.split() if drawn.random() < kept) or "?"
                for line in texts[target]
            ]
            sides = {"src": texts[source], "ref": texts[target], "hyp": lines}
            for suffix, side in sides.items():
                (folder / name / f"{direction}.{suffix}").write_text("\n".join(side) + "\n")
            records = "".join(f'{{"id": {n}, "score": -0.5}}\n' for n in range(len(lines)))
            (folder / name / f"{direction}.jsonl").write_text(records)
            summary = {"key": "x", "sentences": len(lines), "seconds": 1.5, "perplexity": 5.25}
            (folder / name / f"{direction}.json").write_text(json.dumps(summary))


@made_once
def translated(folder: Path) -> None:
    write_systems(folder)


def _scored(folder: Path) -> Said:
    words = ["score", f"good={folder / 'good'}", "--out", folder / "of", "--samples", "0"]
    words += ["--metrics", "bleu,perplexity", "--examples", "0", "--workers", "1"]
    outcome = tdo(folder, words)
    written = folder / "of" / "scores.json"
    if outcome.code or not written.is_file():
        return outcome
    document = json.loads(written.read_text())
    del document["made_by"]
    return replace(outcome, output=json.dumps(document))


def _scored_means(folder: Path, outcome: Said) -> bool:
    """Provenance and perplexities are those of the files, and all else is as it was."""
    (system,) = json.loads(outcome.output)["systems"]
    (usual,) = json.loads(_scored(translated()).output)["systems"]
    rows = {row["direction"]: row["scores"] for row in system["directions"]}
    before = {row["direction"]: row["scores"] for row in usual["directions"]}
    for direction, scores in before.items():
        summary = json.loads((folder / "good" / f"{direction}.json").read_text())
        scores.pop("perplexity")
        if summary.get("perplexity") is not None:
            scores["perplexity"] = summary["perplexity"]
            if summary["perplexity"] < 1:
                return False
    form = json.loads((folder / "good" / "translate.json").read_text()).get("form", {})
    return (
        system["provenance"] == json.loads((folder / "good" / "translate.json").read_text())
        and (rows == before or form.get("casing") == "lowercased")
        and form.get("casing", "cased") in ("cased", "lowercased", "truecased")
    )


OUTPUTS = Subject(
    "translate.json",
    translated,
    {"good/translate.json": altered_json, "good/*-*.json": altered_json},
    _scored,
    _scored_means,
)
