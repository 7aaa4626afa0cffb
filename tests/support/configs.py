"""All configs, and what the text of a command needs of a data folder."""

import argparse
import itertools
from pathlib import Path

from tdo_plugin.data.databin import DataFolder, read_data_folder

ROOT = Path(__file__).resolve().parents[2]
CONFIGS = sorted(
    # what systems share, and what replaces flags of a system, is none
    path
    for path in (ROOT / "configs").rglob("*.conf")
    if path.parent.name not in ("shared", "scales")
)


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
