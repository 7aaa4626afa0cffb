"""`tdo prepare` on the small archives of `layouts`, from a server on this machine."""

import functools
import json
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from support import folders
from support.data import CROSS_ENTROPY, TAG, TDO, TRAIN, temporary, train
from support.layouts import CASES, Case
from support.made import made_once
from support.serving import Server, serving

from tdo_plugin.corpora.preparing import prepare
from tdo_plugin.corpora.sources import download
from tdo_plugin.data.databin import DataFolder
from tdo_plugin.launch.training import Machine, train_words
from tdo_plugin.launch.training_config import read_config
from tdo_plugin.runtime import steps
from tdo_plugin.runtime.jobs import Job
from tdo_plugin.runtime.steps import Step

UNNAMED = ("work", ".lock", "prepare.json")  # what need not be equal in equal folders


@contextmanager
def archives_of(case: Case, folder: Path) -> Iterator[tuple[Server, dict[str, Path]]]:
    """A server with a corpus' archives, and those that have no address."""
    web = folder / "web"
    archives = dict(case.write(web) or {})
    with (
        mock.patch.dict("os.environ", {"no_proxy": "127.0.0.1"}),
        mock.patch.object(download, "PAUSE", 0.0),
        serving(web) as server,
    ):
        yield server, archives


def make(case: Case, folder: Path, workers: int = 1) -> Path:
    """The data folder of a corpus, from its archives on.

    With one worker all is done in this process, several times as fast as in one for each step.
    """
    run_jobs = steps.run_jobs if workers > 1 else run_here
    with (
        archives_of(case, folder) as (server, archives),
        mock.patch.object(steps, "run_jobs", run_jobs),
    ):
        corpus, out = case.corpus(server.address), folder / "out"
        prepare(corpus, folder / "cache", archives, out, workers, False, lambda line: None)
    return out


def run_here(jobs: Iterable[tuple[Step, Job]], workers: int) -> Iterator[tuple[Step, Any]]:
    """Jobs one after the other in this process."""
    return ((step, job()) for step, job in jobs)


def prepared(case: Case) -> Path:
    """The data folder of a corpus, made once."""
    # a case is itself alone, whatever it is called; some are no usual ones
    number = CASES.index(case) if case in CASES else None
    return (_make_alone(case) if number is None else _make_known(number)) / "out"


@made_once
def _make_known(folder: Path, number: int) -> None:
    make(CASES[number], folder)


@functools.cache
def _make_alone(case: Case) -> Path:
    folder = Path(tempfile.mkdtemp(dir=temporary()))
    make(case, folder)
    return folder


def outcome(out: Path) -> dict[str, dict]:
    """What became of the rows, by split and pair, "train en-de"."""
    document = json.loads((out / "prepare.json").read_text(encoding="utf-8"))
    return {f"{rows['split']} {rows['pair']}": rows for rows in document["rows"]}


def contents(out: Path) -> dict[str, bytes]:
    """Every file of a data folder, but for records of how it was made."""
    files = folders.contents(out)
    return {name: files[name] for name in files if name.partition("/")[0] not in UNNAMED}


def is_whole(out: Path) -> bool:
    """Whether anything says that the folder is whole."""
    return any((out / name).exists() for name in ("prepare.json", "prepared.json"))


def first_update(data: DataFolder, folder: Path) -> list[dict]:
    """Train in every direction of a data folder, as `tdo train` does it, one update."""
    task = ("--task", "tdo_translation", *TAG)
    flags = (*task, *TRAIN, *TDO, *CROSS_ENTROPY, "--max-tokens", "3000")
    config = folder / "small.conf"
    config.write_text(" ".join(flags).replace(" --", "\n--"), encoding="utf-8")
    ending = ("--max-update", "1", "--no-save")
    words, _ = train_words(read_config(config), data, folder, Machine(), "fp32", ending)
    program, path, *rest = words
    assert (program, rest.pop(0)) == ("fairseq-train", "--user-dir")
    return train(folder, *rest[1:], data=path)
