"""Configs, and what an altered one means."""

import itertools
import shlex
from collections.abc import Sequence
from pathlib import Path

from support.altered.outcomes import Said, Subject, tdo
from support.altered.values import altered_lines
from support.made import made_once
from support.prepared import prepared

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


def write_configs(folder: Path) -> None:
    (folder / "system.conf").write_text(FLAGS)
    (folder / "shared.conf").write_text(SHARED)


config_folder = made_once(write_configs)


def _flags(folder: Path) -> Said:
    config, data = folder / "system.conf", prepared().root
    saved = ("--save-dir", folder / "out")
    return tdo(folder, ["flags", config], ["train", config, data, "--cpu", "--dry-run", *saved])


def config_words(path: Path, lines: Sequence[str] = ()) -> dict[str, list[str]]:
    """The settings that a config comes to, read in the plainest way."""
    settings: dict[str, list[str]] = {}
    for line in (*path.read_text(encoding="utf-8").split("\n"), *lines):
        words = shlex.split(line, comments=True)
        if words[:1] == ["include"]:
            settings |= config_words(path.parent / words[1])
        elif words:
            settings[words[0]] = words[1:]
    return settings


def _config_means(folder: Path, outcome: Said) -> bool:
    """`tdo flags` has each flag as it stands, and so has the training but for its batches."""
    settings = config_words(folder / "system.conf")
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
CONFIGS = Subject("config", config_folder, {"*.conf": altered_lines}, _flags, _config_means)
