"""`tdo prepare` with bad hosts, bad text, no space and kills: one line, and nothing half-made."""

import json
import os
import re
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NoReturn
from unittest import mock

import pytest
from support.commands import told
from support.corpora import archives_of, contents, is_whole, prepared
from support.covering import mostly_full
from support.data import temporary
from support.layouts import Case, iwslt
from support.layouts.case import served
from support.own_folders import SMALL, write_own
from support.serving import Behaviour, Server

from tdo_plugin.cli import main
from tdo_plugin.corpora.preparing import prepare
from tdo_plugin.data import binarization
from tdo_plugin.runtime.files import _Written

PIECES = ("--vocab-size", "600", "--workers", "1")


def described(case: Case, server: Server, folder: Path) -> Path:
    """A description of one's own with its archives at the server."""
    path = folder / "mine.json"
    path.write_text(json.dumps(served(case.name, server.address)), encoding="utf-8")
    return path


# --- hosts -----------------------------------------------------------------------------------


def test_a_download_that_is_cut_off_goes_on(tmp_path):
    case = iwslt.IWSLT14
    with archives_of(case, tmp_path) as (server, files):
        server.behaviours[f"/{iwslt.ARCHIVE_2014}"] = Behaviour(cut=6000, times=1)
        corpus, out = case.corpus(server.address), tmp_path / "out"
        prepare(corpus, tmp_path / "cache", files, out, 1, False, print)
        assert [request.span for request in server.asked] == ["", "bytes=6000-"]
    assert contents(out) == contents(prepared(case))


@pytest.fixture
def elsewhere(request) -> Path:
    """A new folder that may keep what a refused run has made, for the next to use."""
    folder = temporary() / request.function.__name__
    shutil.rmtree(folder, ignore_errors=True)
    return folder


# --- text of one's own -----------------------------------------------------------------------


def _shorten(text: Path) -> None:
    path = text / "train.en-de.de"
    path.write_bytes(path.read_bytes().rpartition(b"\n")[0].rpartition(b"\n")[0] + b"\n")


def _widen(text: Path) -> None:
    path = text / "train.tsv"
    lines = path.read_text(encoding="utf-8").split("\n")
    lines[4] += "\tmore"
    path.write_text("\n".join(lines), encoding="utf-8")


def _empty(text: Path) -> None:
    (text / "train.en-de.de").write_text("\n" * 60)


BAD_TEXT: dict[str, tuple[str, Callable[[Path], object], str]] = {
    "unequal sides": ("pairs", _shorten, "train.en-de.de"),
    "one side": ("pairs", lambda text: (text / "valid.en-de.de").unlink(), "both sides"),
    "a wide row": ("table", _widen, "train.tsv` line 5"),
    "nothing left": ("pairs", _empty, "`en-de`"),
}


def test_bad_text(tmp_path, elsewhere, refused):
    for name, (form, spoil, names) in BAD_TEXT.items():
        text, out = write_own(tmp_path / name, form), elsewhere / name
        spoil(text)
        words = ("prepare", "--from", text, "--hub", "en", "--out", out, *SMALL)
        refused(*words, names=names)
        assert not is_whole(out)


@pytest.mark.full
def test_mended_text_goes_on(tmp_path, elsewhere, refused):
    text, out = write_own(tmp_path / "text", "pairs"), elsewhere / "out"
    words = ("prepare", "--from", text, "--hub", "en", *SMALL, "--out")
    assert main([*map(str, words), str(tmp_path / "right")]) == 0
    whole = (text / "train.en-de.de").read_bytes()
    _shorten(text)
    refused(*words, out, names="train.en-de.de")
    (text / "train.en-de.de").write_bytes(whole)
    assert main([*map(str, words), str(out)]) == 0
    assert contents(out) == contents(tmp_path / "right")


@pytest.mark.full
def test_a_folder_made_with_other_settings(tmp_path, refused):
    text, out = write_own(tmp_path / "text", "table"), tmp_path / "out"
    words = ("prepare", "--from", text, "--out", out, "--workers", "1", "--vocab-size")
    assert main([*map(str, (*words, 300))]) == 0
    before = contents(out)
    refused(*words, 280, names="--fresh")
    path = text / "test.tsv"
    path.write_bytes(path.read_bytes().replace(b"600", b"006"))  # other text of the same size
    refused(*words, 300, names="--fresh")
    assert contents(out) == before
    assert is_whole(out)
    assert main([*map(str, (*words, 280, "--fresh"))]) == 0
    assert contents(out).keys() == before.keys()
    assert contents(out)["dict.txt"] != before["dict.txt"]


# --- no space --------------------------------------------------------------------------------

FULL = {  # how the path of a file ends that is being written
    "cleaned text": "work/tokens/train.de-en.de.partial",
    "segmented": "/pieces.de.partial",
    "the data folder": "out/langs.txt.partial",
    "the last file": "out/prepare.json.partial",
}


@contextmanager
def no_space_for(ending: str) -> Iterator[None]:
    """A file whose path ends so is on a device that is always full."""

    def redirected(original: Any, place: int) -> Any:
        def opened(*args: Any, **kwargs: Any) -> Any:
            full = str(args[place]).endswith(ending)
            path = Path("/dev/full") if full else args[place]
            return original(*args[:place], path, *args[place + 1 :], **kwargs)

        return opened

    with (
        mock.patch.object(Path, "open", redirected(Path.open, 0)),
        mock.patch.object(_Written, "__init__", redirected(_Written.__init__, 1)),
    ):
        yield


@pytest.mark.parametrize("name", mostly_full(FULL))
def test_no_space_left(name, tmp_path, capsys):
    out = tmp_path / "out"
    with archives_of(iwslt.IWSLT14, tmp_path) as (server, _):
        mine = described(iwslt.IWSLT14, server, tmp_path)
        (tmp_path / "cache").mkdir()
        words = ("prepare", mine, "--out", out, "--cache", tmp_path / "cache", *PIECES)
        with no_space_for(FULL[name]):
            _, errors = told(capsys, *words, code=2)
        assert "No space left on device" in errors.splitlines()[-1] and "Traceback" not in errors
        assert not (out / "prepare.json").exists()
        assert main([*map(str, words)]) == 0
    assert contents(out) == contents(prepared(iwslt.IWSLT14))


# --- kills -----------------------------------------------------------------------------------

PLACES = (
    r"/work/raw/.*/train\.tags\.it-ro\.ro$",
    r"/work/splits/train\.nl-en\.json$",  # the files are there, their record is not
    r"/spm\.model$",
    r"/work/parts/train\.it-ro/00000/pieces\.ro$",
    r"/prepare\.json$",
)


def run_until(place: str | None, *words: object) -> int | None:
    """The exit code of a run in a forked process, which inherits what is imported here.

    It is killed with all its processes where a file is about to get a certain name, if any.
    """
    process = get_context("fork").Process(target=killed_at, args=(place or "(?!)", words))
    process.start()
    process.join()
    assert process.exitcode in (0, -signal.SIGKILL)
    return process.exitcode


def killed_at(pattern: str, words: tuple[object, ...]) -> NoReturn:
    replace = os.replace

    def killed(source: Path, target: Path) -> None:
        if re.search(pattern, str(target)):
            os.killpg(0, signal.SIGKILL)
        replace(source, target)

    os.setsid()
    os.replace = killed
    sys.exit(main(["prepare", *map(str, words)]))


@pytest.mark.full
@pytest.mark.parametrize(("places",), [(PLACES[3:],), (PLACES,)], ids=len)
def test_a_run_that_is_killed_again_and_again(places, tmp_path):
    out = tmp_path / "out"
    binarization.load()  # once, for all runs
    with archives_of(iwslt.TST2010, tmp_path) as (server, _):
        mine = described(iwslt.TST2010, server, tmp_path)
        (tmp_path / "cache").mkdir()
        words = (mine, "--cache", tmp_path / "cache", "--variant", "tst2010", "--out", out)
        words = (*words, "--vocab-size", "600", "--workers", "2")
        for place in places:
            assert run_until(place, *words) == -signal.SIGKILL, place
            assert not (out / "prepare.json").exists()
            assert (out / "prepared.json").exists() == (place == PLACES[-1])
        assert run_until(None, *words) == 0
    assert contents(out) == contents(prepared(iwslt.TST2010))
    assert not [*out.rglob("*.partial"), *out.glob("work/*scratch*"), *out.glob("work/parts")]
    assert not [*(tmp_path / "cache").glob("*.partial")]
