"""Data folders, and what is taken from an altered one."""

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from support.altered.configs import config_folder
from support.altered.outcomes import HERE, Said, Subject, tdo
from support.altered.translations import translated
from support.altered.values import altered_bytes, altered_json, altered_lines
from support.data import kept_logging
from support.prepared import prepared

from tdo_compat.errors import one_line


def _folder() -> Path:
    return prepared().root


def _listed(folder: Path) -> Said:
    """What is taken from a folder's lists, without looking at all of its files."""
    conf = config_folder() / "system.conf"
    out = folder.with_name(f"{folder.name}-out")
    words = ["score", f"good={translated() / 'good'}", "--data", folder, "--out", out]
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
