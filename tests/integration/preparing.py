"""`tdo prepare` on the small archives of `layouts`, from a server on this machine."""

import functools
import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

from integration.data import CROSS_ENTROPY, TAG, TDO, TRAIN, temporary, train
from integration.layouts import Case
from unit.corpora.serving import Server, serving

from tdo_plugin.corpora.preparing import prepare
from tdo_plugin.corpora.sources import download
from tdo_plugin.data.databin import DataFolder, read_data_folder

UNNAMED = ("work", ".prepare.lock", "prepare.json")  # what need not be equal in equal folders


@contextmanager
def archives_of(case: Case, folder: Path) -> Iterator[tuple[Server, dict[str, Path]]]:
    """A server with a corpus' archives, and those that have no address."""
    web = folder / "web"
    own = dict(case.write(web) or {})
    with (
        mock.patch.dict("os.environ", {"no_proxy": "127.0.0.1"}),
        mock.patch.object(download, "PAUSE", 0.0),
        serving(web) as server,
    ):
        yield server, own


def make(case: Case, folder: Path, workers: int = 1) -> Path:
    """The data folder of a corpus, from its archives on."""
    with archives_of(case, folder) as (server, own):
        corpus, out = case.corpus(server.address), folder / "out"
        prepare(corpus, folder / "cache", own, out, workers, False, lambda line: None)
    return out


@functools.cache
def prepared(case: Case) -> Path:
    """The data folder of a corpus, made once."""
    return make(case, Path(tempfile.mkdtemp(dir=temporary())))


def outcome(out: Path) -> dict[str, dict]:
    """What became of the rows, by split and pair, "train en-de"."""
    document = json.loads((out / "prepare.json").read_text(encoding="utf-8"))
    return {f"{rows['split']} {rows['pair']}": rows for rows in document["rows"]}


def contents(out: Path) -> dict[str, bytes]:
    """Every file of a data folder, but for records of how it was made."""
    names = {path.relative_to(out): path for path in sorted(out.rglob("*")) if path.is_file()}
    return {str(name): p.read_bytes() for name, p in names.items() if name.parts[0] not in UNNAMED}


def is_whole(out: Path) -> bool:
    """Whether anything says that the folder is whole."""
    return any((out / name).exists() for name in ("prepare.json", "prepared.json"))


def first_update(data: DataFolder, save_dir: Path) -> list[dict]:
    """Train in every direction of a data folder, one update."""
    directions = ("--langs", ",".join(data.languages), "--lang-pairs", ",".join(data.directions))
    ending = ("--max-tokens", "3000", "--max-update", "1", "--no-save")
    flags = ("--task", "tdo_translation", *directions, *TAG, *TRAIN, *TDO, *CROSS_ENTROPY, *ending)
    return train(save_dir, *flags, data=data.root)


def opened(out: Path) -> DataFolder:
    """The data folder, as commands open it."""
    return read_data_folder(out)
