"""Files of each kind that commands read, small and whole."""

import itertools
import json
import logging
import random
import shlex
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

from support.altered import (
    HERE,
    Said,
    Subject,
    altered_bytes,
    altered_json,
    altered_json_line,
    altered_lines,
    tdo,
)
from support.data import TAG, generation, kept_logging, training_arguments
from support.made import made_once
from support.prepared import prepared

from tdo_compat.errors import one_line
from tdo_plugin.data.databin import read_data_folder
from tdo_plugin.evaluation.report import heatmap
from tdo_plugin.evaluation.score_sheet import as_json
from tdo_plugin.evaluation.sheet_reading import read_sheet

DIRECTIONS = ("en-de", "de-en", "de-fr", "fr-de")

# --- configs, and files of experiments -----------------------------------------------------------

CONFIG = """# A system in small.
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
SHARED_CONFIG = """--optimizer adam
--adam-betas '(0.9, 0.98)'
--lr 5e-4
--max-tokens 2000
--update-freq 2
--sampling-method temperature
"""
EXPERIMENTS = """\
title = "Sizes of a model"

[scales.small]
help = "a small corpus"
test = "--last 1"

[corpora.text]
make = "tdo corpus --out {data}"

[flags]
task = "tdo_translation"
lr = 0.001
max-update = 90

[systems.narrow]
corpus = "text"
flags.tdo-layers = 4

[systems.wide]
base = ["narrow"]
flags.tdo-ffn-dim = 64
flags.lr = 0.0005

[tables.sizes]
title = "Widths"
directions = "en-*"

[tables.sizes.rows]
narrow = "as it was"
wide = "twice as wide"
"""


@made_once
def _settings(folder: Path) -> None:
    (folder / "system.conf").write_text(CONFIG)
    (folder / "shared.conf").write_text(SHARED_CONFIG)
    (folder / "mine.toml").write_text(EXPERIMENTS)


def _flags(folder: Path) -> Said:
    config, data = folder / "system.conf", prepared().root
    saved = ("--save-dir", folder / "out")
    return tdo(folder, ["flags", config], ["train", config, data, "--cpu", "--dry-run", *saved])


def _settings_of(path: Path) -> dict[str, list[str]]:
    """What a config comes to, read in the plainest way."""
    settings: dict[str, list[str]] = {}
    for line in path.read_text(encoding="utf-8").split("\n"):
        words = shlex.split(line, comments=True)
        if words[:1] == ["include"]:
            settings |= _settings_of(path.parent / words[1])
        elif words:
            settings[words[0]] = words[1:]
    return settings


def _flags_are_meant(folder: Path, said: Said) -> bool:
    """`tdo flags` has each flag as it stands, and so has the training but for its batches."""
    settings = _settings_of(folder / "system.conf")
    usual = {"gpus": "1", "precision": "fp32", "directions": "*"}
    about = {name: settings.pop(name, [value])[0] for name, value in usual.items()}
    *lines, _, command = said.output.splitlines()
    notes = [line for line in lines if line.startswith("# ")]
    first = itertools.takewhile(lambda line: not line.startswith("the CPU x "), lines)
    flags = [shlex.split(line) for line in first if line not in notes]
    sized = ("--max-tokens", "--update-freq")
    same = itertools.chain.from_iterable(
        (flag, *values) for flag, values in settings.items() if flag not in sized
    )
    return (
        flags == [[flag, *values] for flag, values in settings.items()]
        and notes[:2] == [f"# gpus {int(about['gpus'])}", f"# precision {about['precision']}"]
        and set(same) <= set(shlex.split(command))
    )


def _planned(folder: Path) -> Said:
    file = folder / "mine.toml"
    flags = [["flags", f"{file}/{system}"] for system in ("narrow", "wide")]
    return tdo(folder, *flags, ["reproduce", file, "--dry-run", "--out", folder / "run"])


# --- translations and scores ---------------------------------------------------------------------


@made_once
def _translated(folder: Path) -> None:
    """Hypotheses of two systems, one better than the other, as `tdo translate` leaves them."""
    drawn = random.Random(1)
    texts = {
        language: (prepared().root / "reference" / f"test.{language}").read_text().splitlines()
        for language in prepared().languages
    }
    for name, kept in (("good", 0.9), ("poor", 0.5)):
        (folder / name).mkdir()
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
def _scores(folder: Path) -> None:
    systems = (f"{name}={_translated() / name}" for name in ("good", "poor"))
    words = ["score", *systems, "--out", folder, "--metrics", "bleu,chrf,ter,off,perplexity"]
    words += ["--lid", "references", "--workers", "1", "--samples", "50", "--examples", "1"]
    result = tdo(folder, [*words, "--group", "mine=de-*"])
    assert result.code == 0, result


def _scored(folder: Path) -> Said:
    words = ["score", f"good={folder / 'good'}", "--out", folder / "of", "--samples", "0"]
    words += ["--metrics", "bleu,perplexity", "--examples", "0", "--workers", "1"]
    result = tdo(folder, words)
    written = folder / "of" / "scores.json"
    if result.code or not written.is_file():
        return result
    document = json.loads(written.read_text())
    del document["made_by"]
    return replace(result, output=json.dumps(document))


def _report(folder: Path) -> Said:
    out, page = folder / "report", folder / "page.html"
    with mock.patch.object(heatmap, "available", lambda: False):
        result = tdo(
            folder,
            ["report", folder / "scores.json", "--out", out],
            ["collect", "--report", "all", folder, "--out", page],
        )
    texts = [path.read_text() for path in (*sorted(out.glob("*")), page) if path.is_file()]
    return replace(result, output=result.output + "".join(texts))


def _scores_are_meant(folder: Path, _: Said) -> bool:
    """What is read says what the file says, and the numbers fit each other."""
    document = json.loads((folder / "scores.json").read_text())
    written = json.loads(json.dumps(as_json(read_sheet(folder / "scores.json"))))
    return _same(written, document) and _fit(written)


def _same(read: Any, stands: Any) -> bool:
    """Whether what was read is what stands there; what may be left out is empty then."""
    if isinstance(read, dict) and isinstance(stands, dict):
        left_out = (value for name, value in read.items() if name not in stands)
        return not any(left_out) and all(
            name in read and _same(read[name], value) for name, value in stands.items()
        )
    if isinstance(read, list) and isinstance(stands, list):
        return len(read) == len(stands) and all(map(_same, read, stands))
    return bool(read == stands)


def _fit(sheet: dict[str, Any]) -> bool:
    rows = [row for system in sheet["systems"] for row in system["directions"]]
    compared = [each[of] for each in sheet["comparisons"] for of in ("directions", "groups")]
    pairs = [pair for each in compared for pair in each.values()]
    scores = [row["scores"] for row in rows]
    scores += [pooled for system in sheet["systems"] for pooled in system["pooled"].values()]
    return (
        all(0 <= values.get(key, 0) <= 100 for values in scores for key in ("bleu", "chrf", "off"))
        and all(values.get("ter", 0) >= 0 and values.get("perplexity", 1) >= 1 for values in scores)
        and all(abs(sum(row["shares"].values()) - 100) < 1e-6 for row in rows if row["shares"])
        and all(
            sum(row["languages"].values()) == row["sentences"] for row in rows if row["languages"]
        )
        and all(abs(d["system"] - d["baseline"] - d["difference"]) < 1e-6 for d in pairs)
        and all(d["low"] <= d["high"] and 0 <= d["p"] <= 1 for d in pairs)
    )


# --- validation ----------------------------------------------------------------------------------


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


# --- data folders --------------------------------------------------------------------------------


def _listed(folder: Path) -> Said:
    """What is taken from a folder's lists, without looking at all of its files."""
    config = _settings() / "system.conf"
    out = folder.with_name(f"{folder.name}-out")
    words = ["score", f"good={_translated() / 'good'}", "--data", folder, "--out", out]
    result = tdo(
        folder,
        ["train", config, folder, "--cpu", "--dry-run", "--save-dir", "out"],
        [*words, "--samples", "0", "--metrics", "bleu", "--examples", "0", "--workers", "1"],
    )
    if result.code:
        return result
    sets = _loaded(folder)
    return Said(sets.code, result.output + sets.output, result.errors + sets.errors)


def _loaded(folder: Path) -> Said:
    """The sets of a data folder as trainings and translations load them, sentence by sentence."""
    try:
        with kept_logging():
            return Said(0, "\n".join(_sentences(folder)), ())
    except Exception as error:
        line = one_line(type(error), error)
        if line is None:
            raise
        return Said(2, "", (f"error: {line}".replace(str(folder), HERE),))


def _sentences(folder: Path) -> Iterator[str]:
    from fairseq import tasks

    logging.disable(logging.CRITICAL)
    data = read_data_folder(folder)
    flags = ["--task", "tdo_translation", *TAG, "--max-tokens", "500"]
    flags += ["--langs", ",".join(data.languages), "--lang-pairs", ",".join(data.directions)]
    arguments = training_arguments(*flags, "--arch", "tdo_transformer", data=data.path)
    task = tasks.setup_task(arguments)
    yield " ".join(task.source_dictionary.symbols)
    for split in ("train", "valid"):
        task.load_dataset(split, epoch=1, combine=True)
        yield from _items(task.dataset(split))
    for direction in data.test_directions[::2]:  # each test set has two
        source, target = direction.split("-")
        _, task = generation(*flags, "-s", source, "-t", target, data=data.path)
        task.load_dataset("test")
        yield from _items(task.dataset("test"))


def _items(dataset: Any) -> Iterator[str]:
    yield from (str(dataset[number]) for number in range(len(dataset)))


def _is_another(_folder: Path, _said: Said) -> bool:
    """Most values may be others, such as a learning rate: what is said is not looked at."""
    return True


FOLDER = {"make": lambda: prepared().root}
LISTS = {
    **{"prepared.json": altered_json, "langs.txt": altered_lines},
    **{"*pairs.txt": altered_lines, "dict*.txt": altered_lines},
}
SETS = {"*.idx": altered_bytes, "*.bin": altered_bytes}
SUBJECTS = (
    Subject("scores", _scores, {"scores.json": altered_json}, _report, _scores_are_meant),
    Subject("validations", _validations, {"*.jsonl": altered_json_line}, _curve, _is_another),
    Subject("configs", _settings, {"*.conf": altered_lines}, _flags, _flags_are_meant),
    Subject("experiments", _settings, {"*.toml": altered_lines}, _planned, _is_another),
    Subject("translations", _translated, {"good/*.json": altered_json}, _scored, _is_another),
    Subject("lists of a data folder", alter=LISTS, run=_listed, **FOLDER),
    Subject("sets of a data folder", alter=SETS, run=_loaded, **FOLDER),
    Subject(
        "inspected data folder",
        alter={
            **{"prepared.json": altered_json, "spm.model": altered_bytes},
            **{"reference/test.*": altered_lines, **LISTS, **SETS},
        },
        run=lambda folder: tdo(folder, ["inspect", folder]),
        **FOLDER,
    ),
)
