"""Files of each kind that commands read, small and whole, and what an altered one means."""

import itertools
import json
import logging
import random
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any
from unittest import mock

from support.altered.outcomes import HERE, Said, Subject, tdo
from support.altered.values import (
    altered_bytes,
    altered_json,
    altered_json_line,
    altered_lines,
)
from support.data import kept_logging
from support.made import made_once
from support.prepared import prepared

from tdo_compat.errors import one_line
from tdo_plugin.evaluation.report import heatmap

DIRECTIONS = ("en-de", "de-en", "de-fr", "fr-de")
# a training's flags, of which a config is made
FLAGS = """# A system in small.
gpus 2
precision bf16
include shared.conf
--task tdo_translation
--arch tdo_transformer_small
--tdo-layers 4
--tdo-target-layer 2                      # M = N
--encoder-langtok tgt
--max-update 90
"""
SHARED = """--optimizer adam
--adam-betas '(0.9, 0.98)'
--lr 5e-4
--max-tokens 2000
--update-freq 2
--sampling-method temperature
"""


# --- scores files --------------------------------------------------------------------------------


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
    from tdo_plugin.evaluation.score_sheet import as_json, read_sheet

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


# --- what a training measured ----------------------------------------------------------------


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
        ["curve", f"a={file}", "--metrics", "bleu,accuracy"],
        ["curve", f"a={file}", "--metrics", "chrf", "--group", "supervised"],
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


# --- configs ---------------------------------------------------------------------------------


def _write_configs(folder: Path) -> None:
    (folder / "system.conf").write_text(FLAGS)
    (folder / "shared.conf").write_text(SHARED)


_configs = made_once(_write_configs)


def _flags(folder: Path) -> Said:
    config, data = folder / "system.conf", prepared().root
    saved = ("--save-dir", folder / "out")
    return tdo(folder, ["flags", config], ["train", config, data, "--cpu", "--dry-run", *saved])


def _words(path: Path, lines: Sequence[str] = ()) -> dict[str, list[str]]:
    """The settings that a config comes to, read in the plainest way."""
    settings: dict[str, list[str]] = {}
    for line in (*path.read_text(encoding="utf-8").split("\n"), *lines):
        words = shlex.split(line, comments=True)
        if words[:1] == ["include"]:
            settings |= _words(path.parent / words[1])
        elif words:
            settings[words[0]] = words[1:]
    return settings


def _config_means(folder: Path, outcome: Said) -> bool:
    """`tdo flags` has each flag as it stands, and so has the training but for its batches."""
    settings = _words(folder / "system.conf")
    about = {name: settings.pop(name, [usual])[0] for name, usual in ABOUT.items()}
    *lines, _, command = outcome.output.splitlines()
    said_first = itertools.takewhile(lambda line: not line.startswith("the CPU x "), lines)
    flags = [shlex.split(line) for line in said_first if not line.startswith("# ")]
    notes = [line for line in lines if line.startswith("# ")]
    words = shlex.split(command)
    shared = [
        word
        for flag, values in settings.items()
        if flag not in ("--max-tokens", "--update-freq")
        for word in (flag, *values)
    ]
    return (
        flags == [[flag, *values] for flag, values in settings.items()]
        and notes[:2] == [f"# gpus {int(about['gpus'])}", f"# precision {about['precision']}"]
        and all(word in words for word in shared)
    )


ABOUT = {"gpus": "1", "precision": "fp32", "directions": "*"}
CONFIGS = Subject("config", _configs, {"*.conf": altered_lines}, _flags, _config_means)


# --- grids -----------------------------------------------------------------------------------


@made_once
def _grids(folder: Path) -> None:
    _write_configs(folder)
    document = {
        "title": "A grid in small",
        "base": "system.conf",
        "axes": {
            "enters": {"M0": [], "M1": ["--tdo-target-layer 1"]},
            "instrucl": {
                "no": {"drops": ["scale"]},
                "yes": ["--criterion label_smoothed_cross_entropy_instrucl"],
            },
            "scale": {"sum": ["--instrucl-scale sum"], "per-token": ["--instrucl-scale per-token"]},
        },
        "cells": {"plain": {"base": "shared.conf", "lines": ["--arch transformer"], "row": "r"}},
        "directions": "all",
        "metrics": ["bleu", "ter"],
        "groups": ["zero-shot", "all"],
        "translate": ["--beam 4"],
        "score": ["--lid references"],
        "published": "tlm:9",
        "row": "{enters}, {scale}",
        "best": {"enters": {"published": "tlm:9", "row": "{enters}"}},
    }
    (folder / "grid.json").write_text(json.dumps(document))


def _list(folder: Path) -> Said:
    """What the grid comes to; configs of cells are not printed by a dry run, so they stand here."""
    from tdo_plugin.grid.cells import cells_of
    from tdo_plugin.grid.description import read_grid

    path = folder / "grid.json"
    data = prepared().root
    outcome = tdo(
        folder,
        ["grid", "list", path],
        ["grid", "run", path, data, "--out", folder / "out", "--cpu", "--dry-run"],
    )
    if outcome.code:
        return outcome
    grid = read_grid(path)
    cells = [[cell.name, cell.row, cell.config.words()] for cell in cells_of(grid)]
    stated = {key: getattr(grid, key) for key in STATED}
    return replace(outcome, output=json.dumps([outcome.output, cells, stated], default=vars))


STATED = ("title", "directions", "metrics", "groups", "mean_over", "measure", "published", "best")


def _grid_means(folder: Path, outcome: Said) -> bool:
    """Each cell has the flags of its values' lines behind those of its base, and its row."""
    document = json.loads((folder / "grid.json").read_text())
    _, cells, stated = json.loads(outcome.output)
    expected = []
    for name, cell in document.get("cells", {}).items():
        base = folder / cell.get("base", document["base"])
        expected.append([name, cell.get("row", name), _flat(base, cell.get("lines", ()))])
    axes = document["axes"]
    for chosen in itertools.product(*axes.values()):
        values = dict(zip(axes, chosen, strict=True))
        parts = {axis: axes[axis][name] for axis, name in values.items()}
        of = {
            axis: part if isinstance(part, dict) else {"lines": part}
            for axis, part in parts.items()
        }
        dropped = {axis for part in of.values() for axis in part.get("drops", ())}
        lines = [
            line
            for axis, part in of.items()
            if axis not in dropped
            for line in part.get("lines", ())
        ]
        row = document.get("row", "")
        for axis, name in values.items():
            row = row.replace(f"{{{axis}}}", name)
        name = "-".join(chosen)
        expected.append([name, row or name, _flat(folder / document["base"], lines)])
    expected_settings = {
        "title": "grid",
        "directions": "all",
        "metrics": ["bleu", "ter"],
        "groups": [],
        "measure": "test",
        "mean_over": None,
        "published": None,
        "best": {},
        **{key: document[key] for key in STATED if key in document},
    }
    return cells == expected and stated == expected_settings


def _flat(base: Path, lines: Sequence[str]) -> list[str]:
    flags = {flag: words for flag, words in _words(base, lines).items() if flag not in ABOUT}
    return [word for flag, words in flags.items() for word in (flag, *words)]


GRIDS = Subject(
    "grid", _grids, {"grid.json": altered_json, "*.conf": altered_lines}, _list, _grid_means
)


# --- what `tdo translate` leaves -------------------------------------------------------------


@made_once
def _outputs(folder: Path) -> None:
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
    (usual,) = json.loads(_scored(_outputs()).output)["systems"]
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
    _outputs,
    {"good/translate.json": altered_json, "good/*-*.json": altered_json},
    _scored,
    _scored_means,
)


# --- data folders ----------------------------------------------------------------------------


def _folder() -> Path:
    return prepared().root


def _listed(folder: Path) -> Said:
    """What is taken from a folder's lists, without looking at all of its files."""
    conf = _configs() / "system.conf"
    out = folder.with_name(f"{folder.name}-out")
    words = ["score", f"good={_outputs() / 'good'}", "--data", folder, "--out", out]
    outcome = tdo(
        folder,
        ["train", conf, folder, "--cpu", "--dry-run", "--save-dir", "out"],
        [*words, "--samples", "0", "--metrics", "bleu", "--examples", "0", "--workers", "1"],
    )
    if outcome.code:
        return outcome
    sets = _loaded(folder)
    return Said(
        max(outcome.code, sets.code), outcome.output + sets.output, outcome.errors + sets.errors
    )


def _loaded(folder: Path) -> Said:
    """The sets of a data folder as trainings and translations load them, sentence by sentence."""
    output = ""
    try:
        with kept_logging():
            output = "\n".join(_sentences(folder))
    except Exception as error:
        line = one_line(type(error), error)
        if line is None:
            raise
        return Said(2, output, (f"error: {line}".replace(str(folder), HERE),))
    return Said(0, output, ())


def _sentences(folder: Path) -> Iterator[str]:
    from tdo_plugin.data.databin import read_data_folder

    data = read_data_folder(folder)
    words = [data.path, "--task", "tdo_translation", "--langs", ",".join(data.languages)]
    words += ["--encoder-langtok", "tgt", "--max-tokens", "500"]
    pairs = ("--lang-pairs", ",".join(data.directions))
    task = _task("training", [*words, *pairs, "--arch", "tdo_transformer"])
    yield " ".join(task.source_dictionary.symbols)
    for split in ("train", "valid"):
        task.load_dataset(split, epoch=1, combine=True)
        yield from _items(task.dataset(split))
    for direction in data.test_directions[::2]:  # each test set has two
        source, target = direction.split("-")
        direct = ("-s", source, "-t", target, "--path", "x")
        task = _task("generation", [*words, *pairs, *direct])
        task.load_dataset("test")
        yield from _items(task.dataset("test"))


def _task(command: str, words: Sequence[str]) -> Any:
    from fairseq import options, tasks
    from fairseq.dataclass.utils import convert_namespace_to_omegaconf

    parser = getattr(options, f"get_{command}_parser")()
    args = options.parse_args_and_arch(parser, input_args=list(words))
    logging.disable(logging.CRITICAL)
    return tasks.setup_task(convert_namespace_to_omegaconf(args).task)


def _items(dataset: Any) -> Iterator[str]:
    yield from (str(dataset[number]) for number in range(len(dataset)))


LISTED = Subject(
    "data folder's lists",
    _folder,
    {
        "prepared.json": altered_json,
        "langs.txt": altered_lines,
        "pairs.txt": altered_lines,
        "test-pairs.txt": altered_lines,
        "dict*.txt": altered_lines,
        "reference/test.*": altered_lines,
    },
    _listed,
)
INDICES = Subject("indices", _folder, {"*.idx": altered_bytes, "*.bin": altered_bytes}, _loaded)
INSPECTED = Subject(
    "inspected data folder",
    _folder,
    {
        **{"*.idx": altered_bytes, "*.bin": altered_bytes, "spm.model": altered_bytes},
        **{"prepared.json": altered_json, "*s.txt": altered_lines, "dict*.txt": altered_lines},
    },
    lambda folder: tdo(folder, ["inspect", folder]),
)

SUBJECTS = (SCORES, VALIDATIONS, CONFIGS, GRIDS, OUTPUTS, LISTED, INDICES, INSPECTED)
