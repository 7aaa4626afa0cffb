"""Systems of experiments, and what the text of a command needs of a data folder."""

import argparse
import functools
import itertools
from pathlib import Path

import pytest

from tdo_plugin.data.databin import DataFolder, read_data_folder
from tdo_plugin.experiments import library
from tdo_plugin.experiments.named_configs import FULL, named_config
from tdo_plugin.experiments.plan import Inputs, Plan
from tdo_plugin.experiments.rows import systems_of
from tdo_plugin.launch.training_config import Config

ROOT = Path(__file__).resolve().parents[2]


def is_number(text: str) -> bool:
    """Whether it is a number's."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def flat(config: Config) -> dict[str, str]:
    """All that a config says, numbers as Python has them, so that equal ones have equal texts."""
    flags = {
        flag[2:]: " ".join(repr(float(value)) if is_number(value) else value for value in values)
        for flag, values in config.flags.items()
    }
    about = {"gpus": config.gpus, "precision": config.precision, "directions": config.directions}
    return flags | {name: str(value) for name, value in about.items()}


FIND = functools.cache(library.find)  # reads a file once


def named(name: str, scale: str | None = None) -> Config:
    """The flags of a system."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(library, "find", FIND)
        return named_config(name, scale).config


@functools.cache
def systems() -> dict[str, Config]:
    """Those of the tables of all files of experiments, by name, each file at its usual scale.

    Of those that differ in numbers or directions only there is the first. A file whose usual scale
    has no tables is at its first scale.
    """
    found: dict[object, tuple[str, Config]] = {}
    for file in library.names():
        for name, config in _of_file(file):
            about = flat(config)
            texts = {key: value for key, value in about.items() if not is_number(value)}
            texts.pop("lang-pairs", None)
            kind = frozenset(about), frozenset(texts.items())
            found.setdefault(kind, (name, config))
    return dict(found.values())


def _of_file(file: str) -> list[tuple[str, Config]]:
    scales = FIND(file).scales
    for scale in (FULL, *scales):
        if scale in scales and (found := systems_at(file, scale)):
            return [(f"{file}/{name}", config) for name, config in found.items()]
    raise AssertionError(f"{file} has no systems")


def systems_at(file: str, scale: str) -> dict[str, Config]:
    """Those of a file's tables at a scale, by name."""
    plan = Plan(library.setting_of(FIND(file), scale, {}), Path("run"), Inputs({}))
    return {name: named(f"{file}/{name}", scale) for name in dict.fromkeys(systems_of(plan))}


def data_folder(root: Path) -> DataFolder:
    """A folder of three languages, without a sentence in it."""
    tests = ["-".join(pair) for pair in itertools.permutations(("en", "de", "fr"), 2)]
    for name, lines in (
        ("langs", ["en", "de", "fr"]),
        ("pairs", ["en-de", "de-en", "en-fr", "fr-en"]),
        ("test-pairs", tests),
    ):
        (root / f"{name}.txt").write_text("\n".join(lines) + "\n")
    for name in ("valid.en-de.en.idx", "valid.en-fr.en.idx"):
        (root / name).touch()
    (root / "prepared.json").write_text("{}")
    return read_data_folder(root)


def torchrun(words: list[str]) -> argparse.Namespace:
    """A command as torchrun's own parser reads it."""
    from torch.distributed.run import parse_args

    assert words[0] == "torchrun"
    return parse_args(words[1:])
