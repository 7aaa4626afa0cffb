"""The steps of a data folder: joint model, segmentation, binarised sets."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from importlib.metadata import version
from itertools import chain
from pathlib import Path

from tdo_plugin.data import joint_model
from tdo_plugin.data.binarization import binarise
from tdo_plugin.data.segmentation import Dropped, encode_test, load_model, write_dictionary
from tdo_plugin.data.set_parts import PARTS, Encoding, TextSet, joining_step, part_steps
from tdo_plugin.data.textfolder import Pair, TextFolder
from tdo_plugin.errors import UserError
from tdo_plugin.runtime.files import sha256
from tdo_plugin.runtime.steps import Facts, Step, Steps

TAKEN = ("spm.model", "spm.vocab", "dict.txt")  # files copied from another data folder


def model_step(
    sides: Sequence[Path],
    settings: joint_model.SegmentationSettings,
    lowercase: bool,
    digest: Callable[[Path], str],
) -> Step:
    """The step that trains the joint model on `sides` and writes its dictionary."""
    depends = {
        "texts": [[path.suffix, digest(path)] for path in sides],
        "settings": settings.stored(),
        "lowercase": lowercase,
        "threads": joint_model.THREADS,
        "version": version("sentencepiece"),
    }
    return Step("model", depends, partial(_train, sides, settings, lowercase))


def _train(
    sides: Sequence[Path], settings: joint_model.SegmentationSettings, lowercase: bool, folder: Path
) -> Facts:
    alphabet = joint_model.train_model(sides, folder / "spm", settings, lowercase)
    model = load_model(folder / "spm.model")
    pieces = write_dictionary(model, folder / "dict.txt")
    begun = {"alphabet": asdict(alphabet)} if alphabet else {}
    return {"pieces": pieces, "sentences": settings.sentences, **begun}


def taken_model(folder: Path, option: str = "--model-of") -> dict[str, str]:
    """Digests of a data folder's model and dictionary.

    Args:
        folder: of data.
        option: that sets it, for messages.

    Raises:
        UserError: a file is missing.
    """
    files = [folder / name for name in TAKEN]
    if missing := [path for path in files if not path.is_file()]:
        raise UserError(
            f"`{option}` must be a folder of tdo prepare, preprocess or convert; {missing[0]} is "
            "missing"
        )
    return {path.name: sha256(path) for path in files}


def taken_model_step(folder: Path) -> Step:
    """The step that copies the joint model and the dictionary of another data folder."""
    return Step("model", {"taken": taken_model(folder)}, partial(_take, folder))


def _take(source: Path, folder: Path) -> Facts:
    for name in TAKEN:
        shutil.copyfile(source / name, folder / name)
    pieces = len((folder / "dict.txt").read_text(encoding="utf-8").splitlines())
    return {"pieces": pieces, "sentences": 0}


def text_steps(folder: TextFolder, encoding: Encoding) -> list[Step]:
    """The steps that segment each side of a test set, and keep the text for scoring."""
    tests = [folder.root / f"test.{language}" for language in folder.parallel_tests]
    tests += [folder.side("test", pair, lang) for pair in folder.pair_tests for lang in pair]
    steps = []
    for path in tests:
        plain = folder.plain(path)
        depends = encoding.depends([*dict.fromkeys((path, plain))])
        steps.append(Step(f"pieces.{path.name}", depends, partial(_encode, path, plain, encoding)))
    return steps


def _encode(source: Path, plain: Path, encoding: Encoding, folder: Path) -> Facts:
    for name in ("pieces", "reference"):
        (folder / name).mkdir()
    target = folder / "pieces" / source.name
    encode_test(encoding.model, source, target, encoding.lowercase)
    shutil.copyfile(plain, folder / "reference" / source.name)
    return {}


def test_steps(
    folder: TextFolder, named: Mapping[Pair, Mapping[str, str]], encoding: Encoding
) -> list[Step]:
    """The steps that binarise the test set of each pair; `named` is from `binarization.sets_of`."""
    steps = []
    for pair, prefixes in named.items():
        if prefix := prefixes.get("test"):
            sources = [folder.root / f"{prefix}.{language}" for language in pair]
            make = partial(_binarise, pair, prefix, encoding)
            steps.append(Step(f"test.{pair[0]}-{pair[1]}", encoding.depends(sources), make))
    return steps


def _binarise(pair: Pair, prefix: str, encoding: Encoding, folder: Path) -> Facts:
    pieces, dictionary = encoding.root / "pieces" / prefix, encoding.root / "dict.txt"
    binarise("test", pair, pieces, dictionary, folder)
    return {}


def nothing_left(name: str, max_pieces: int, where: str = "") -> UserError:
    """The error of a set of which nothing is left, in all of its text or somewhere in it."""
    return UserError(
        f"`{name}` must have lines that are not empty and not longer than {max_pieces} "
        f"pieces{where}; it has none"
    )


def text_sets(
    folder: TextFolder,
    named: Mapping[Pair, Mapping[str, str]],
    valids: Mapping[Pair, tuple[Path, Path]],
) -> list[TextSet]:
    """Training and validation sets; `valids` has the text of validation sets."""
    return [
        TextSet(split, pair, valids[pair] if split == "valid" else folder.sides("train", pair))
        for pair, prefixes in named.items()
        for split in prefixes
        if split != "test"
    ]


def make_sets(
    sets: Sequence[TextSet],
    encoding: Encoding,
    shards: Sequence[str],
    steps: Steps,
    begun: Callable[[Step], object],
    emptied: Callable[[str], object] | None = None,
) -> dict[str, Dropped]:
    """Segment training and validation text and binarise it.

    Args:
        sets: of every pair.
        encoding: segmentation and dictionary.
        shards: subfolders to distribute training text over.
        steps: of the data folder.
        begun: called with each step that is run.
        emptied: called with the name of a set of which nothing is left; None: this is an error.

    Returns:
        The numbers of rows left out of each set, by its name.

    Raises:
        UserError: nothing is left of a set.
    """
    joins = [
        (
            text_set,
            partial(
                joining_step, text_set, encoding, shards if text_set.split == "train" else [""]
            ),
        )
        for text_set in sets
    ]
    parts = {
        text_set.name: part_steps(text_set, encoding)
        for text_set, join in joins
        if steps.facts(join([])) is None
    }
    facts = steps.run(chain.from_iterable(parts.values()), begun)
    facts_by_set = {name: [facts[step.name] for step in of_set] for name, of_set in parts.items()}
    for name, part_facts in facts_by_set.items():
        if not any(part["kept"] for part in part_facts):
            if emptied is None:
                raise nothing_left(name, encoding.max_pieces)
            emptied(name)

    def ended(step: Step) -> None:
        shutil.rmtree(encoding.root / PARTS / step.name)

    facts = steps.run(
        [join(facts_by_set.get(text_set.name, [])) for text_set, join in joins], begun, ended
    )
    return {text_set.name: Dropped(**facts[text_set.name]) for text_set in sets}
