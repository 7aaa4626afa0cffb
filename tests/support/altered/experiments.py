"""Files of experiments, and what an altered one means."""

import shlex
import sys
from pathlib import Path

from support.altered.outcomes import Said, Subject, tdo
from support.altered.values import altered_lines
from support.made import made_once

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TEXT = """\
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
SYSTEMS = ("narrow", "wide")


@made_once
def _file(folder: Path) -> None:
    (folder / "mine.toml").write_text(TEXT)


def _run(folder: Path) -> Said:
    file = folder / "mine.toml"
    flags = [["flags", f"{file}/{system}"] for system in SYSTEMS]
    return tdo(folder, *flags, ["reproduce", file, "--dry-run", "--out", folder / "run"])


def _means(folder: Path, outcome: Said) -> bool:
    """Each system has its flags behind its base's, behind the file's; tables have their rows."""
    document = tomllib.loads((folder / "mine.toml").read_text(encoding="utf-8"))
    shown: list[str] = []
    for name in SYSTEMS:
        described = [
            document["systems"][base] for base in document["systems"][name].get("base", ())
        ]
        (scale,) = document["scales"].values()
        flags: dict[str, object] = {}
        for part in (document, *described, document["systems"][name], scale):
            flags |= part.get("flags", {})
        about = {key: flags.pop(key, usual) for key, usual in ABOUT.items()}
        shown += [f"# {key} {value}" for key, value in about.items() if key != "directions"]
        shown += [f"--{key} {_word(value)}".rstrip() for key, value in flags.items()]
    for name, table in document.get("tables", {}).items():
        shown.append(f"# {name}: {table.get('title', '')}")
        shown += [f"#   {row}: {label}" for row, label in table.get("rows", {}).items()]
    directions = {table.get("directions", "all") for table in document.get("tables", {}).values()}
    commands = [shlex.split(line) for line in outcome.output.splitlines() if line[:2] == "+ "]
    translated = {
        words[words.index("--pairs") + 1] for words in commands if words[2] == "translate"
    }
    lines = outcome.output.splitlines()
    return all(line in lines for line in shown) and translated == directions


ABOUT = {"gpus": 1, "precision": "fp32", "directions": "*"}


def _word(value: object) -> str:
    if value is True:
        return ""
    return shlex.quote(",".join(map(str, value)) if isinstance(value, list) else str(value))


EXPERIMENTS = Subject("experiments", _file, {"*.toml": altered_lines}, _run, _means)
