"""`tdo prepare` with bad hosts, bad text, no space and kills: one line, and nothing half-made."""

import json
import os
import re
import shutil
import signal
import sys
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NoReturn
from unittest import mock

import pytest
from support.commands import told
from support.corpora import archives_of, contents, is_whole, prepared
from support.covering import mostly_full
from support.data import temporary
from support.layouts import Case, iwslt, multi30k, ted
from support.layouts.case import served
from support.layouts.packing import put, tar
from support.own_text import SMALL, write_own
from support.serving import Behaviour, Server, page

from tdo_plugin.cli import main
from tdo_plugin.corpora.description import load
from tdo_plugin.corpora.preparing import prepare
from tdo_plugin.data import binarization
from tdo_plugin.errors import UserError
from tdo_plugin.runtime.files import _Written

PIECES = ("--vocab-size", "600", "--workers", "1")


def described(case: Case, server: Server, folder: Path, **facts: object) -> Path:
    """A description of one's own with its archives at the server."""
    document = served(case.name, server.address)
    for archive in document["archives"].values():
        archive.update(facts)
    path = folder / "mine.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


# --- hosts -----------------------------------------------------------------------------------


def test_mirrors_that_fail(tmp_path):
    case, messages = multi30k.SHARED, []
    with archives_of(case, tmp_path) as (server, files):
        mirror = multi30k.FOLDER.replace(multi30k.COMMIT, "master")
        for path in (server.folder / multi30k.FOLDER).iterdir():
            put(server.folder, f"{mirror}/{path.name}", path.read_bytes())
        bad = {
            "train.de.gz": Behaviour(status=404),
            "val.fr.gz": Behaviour(status=503),
            "test_2016_flickr.cs.gz": page(),
            "train.en.gz": Behaviour(cut=100, ranges=False),
        }
        for name, behaviour in bad.items():
            server.behaviours[f"/{multi30k.FOLDER}/{name}"] = behaviour
        corpus, out = case.corpus(server.address), tmp_path / "out"
        prepare(corpus, tmp_path / "cache", files, out, 1, False, messages.append)
        from_the_other = {
            Path(request.path).name
            for request in server.asked
            if request.path.startswith(f"/{mirror}/")
        }
    assert from_the_other == set(bad)
    assert contents(out) == contents(prepared(case))
    assert any("404" in line for line in messages)


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


@pytest.mark.parametrize("facts", [{"sha256": "0" * 64}, {"md5": "0" * 32}], ids=["sha256", "md5"])
def test_a_wrong_checksum(facts, tmp_path):
    out, cache = tmp_path / "out", tmp_path / "cache"
    with archives_of(iwslt.IWSLT14, tmp_path) as (server, _):
        mine = load(str(described(iwslt.IWSLT14, server, tmp_path, **facts)))
        with pytest.raises(UserError, match=r"`--from-file` must provide iwslt14.* not 0{32}"):
            prepare(mine, cache, {}, out, 1, False, print)
    assert not (cache / "iwslt14.de-en.tgz").exists()
    assert not is_whole(out)


def _shorten_archive(web: Path) -> None:
    path = web / iwslt.ARCHIVE_2014
    path.write_bytes(path.read_bytes()[:-5000])


LOST = f"{iwslt.FOLDER}/train.tags.it-ro.ro"


def _lose_text(web: Path) -> None:
    repack(web / iwslt.ARCHIVE_2017, lambda name, _: name != LOST)


def _rename_language(web: Path) -> None:
    def rename(name: str, content: bytes) -> bytes:
        return content.replace(b"\the\t", b"\tiw\t") if "train" in name else content

    repack(web / ted.ADDRESS, rename)


@pytest.mark.parametrize(
    ("case", "spoil", "names"),
    [
        (iwslt.IWSLT14, _shorten_archive, "iwslt14.de-en.tgz"),
        (iwslt.TST2010, _lose_text, LOST),
        (ted.FEW_LANGUAGES, _rename_language, "line 1 must name he"),
    ],
    ids=["cut off", "without a text", "without a language"],
)
def test_a_bad_archive(case, spoil, names, tmp_path, refused):
    out = tmp_path / "out"
    with archives_of(case, tmp_path) as (server, files):
        spoil(server.folder)
        with refused.raised(spoil.__name__, names):
            prepare(case.corpus(server.address), tmp_path / "cache", files, out, 1, False, print)
    assert not is_whole(out)


def repack(path: Path, changed: Callable[[str, bytes], bytes | bool]) -> None:
    """Change the texts of an archive: other bytes, False to leave one out, True to keep it."""
    members = {}
    with tarfile.open(fileobj=BytesIO(path.read_bytes())) as archive:
        for entry in archive:
            stream = archive.extractfile(entry)
            if stream is not None:
                content = stream.read()
                result = changed(entry.name, content)
                if result is not False:
                    members[entry.name] = content if result is True else result
    path.write_bytes(tar(members))


# --- text of one's own -----------------------------------------------------------------------


def _shorten(text: Path) -> None:
    path = text / "train.en-de.de"
    path.write_bytes(path.read_bytes().rpartition(b"\n")[0].rpartition(b"\n")[0] + b"\n")


def _spoil(text: Path) -> None:
    path = text / "train.en-fr.fr"
    lines = path.read_bytes().split(b"\n")
    lines[2] = b"caf\xe9 17"
    path.write_bytes(b"\n".join(lines))


def _widen(text: Path) -> None:
    path = text / "train.tsv"
    lines = path.read_text(encoding="utf-8").split("\n")
    lines[4] += "\tmore"
    path.write_text("\n".join(lines), encoding="utf-8")


def _cut(text: Path) -> None:
    path = text / "train.de.gz"
    path.write_bytes(path.read_bytes()[:-20])


def _empty(text: Path) -> None:
    (text / "train.en-de.de").write_text("\n" * 60)


BAD_TEXT: dict[str, tuple[str, Callable[[Path], object], str]] = {
    "unequal sides": ("pairs", _shorten, "train.en-de.de"),
    "not UTF-8": ("pairs", _spoil, "train.en-fr.fr` line 3"),
    "one side": ("pairs", lambda text: (text / "valid.en-de.de").unlink(), "both sides"),
    "a wide row": ("table", _widen, "train.tsv` line 5"),
    "half a file": ("gzip", _cut, "train.de.gz"),
    "nothing left": ("pairs", _empty, "`en-de`"),
    "no train": ("gzip", lambda text: [*map(Path.unlink, text.glob("train*"))], "train"),
    "a centre that it lacks": ("pairs", lambda text: None, "en, de, fr; it is it"),
}


def test_bad_text(tmp_path, elsewhere, refused):
    for name, (form, spoil, names) in BAD_TEXT.items():
        text, out = write_own(tmp_path / name, form), elsewhere / name
        spoil(text)
        centre = "it" if "centre" in name else "en"
        words = ("prepare", "--from", text, "--centre", centre, "--out", out, *SMALL)
        refused(*words, names=names)
        assert not is_whole(out)


def test_mended_text_goes_on(tmp_path, elsewhere, refused):
    text, out = write_own(tmp_path / "text", "pairs"), elsewhere / "out"
    words = ("prepare", "--from", text, "--centre", "en", *SMALL, "--out")
    assert main([*map(str, words), str(tmp_path / "right")]) == 0
    whole = (text / "train.en-de.de").read_bytes()
    _shorten(text)
    refused(*words, out, names="train.en-de.de")
    (text / "train.en-de.de").write_bytes(whole)
    assert main([*map(str, words), str(out)]) == 0
    assert contents(out) == contents(tmp_path / "right")


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
    "a download": "cache/iwslt14.de-en.tgz.partial",
    "an archive's text": "work/raw/iwslt14.de-en.tgz/de-en/train.tags.de-en.de.partial",
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


@pytest.mark.parametrize("name", FULL)
def test_no_space_left(name, tmp_path, capsys):
    out = tmp_path / "out"
    with archives_of(iwslt.IWSLT14, tmp_path) as (server, _):
        mine = described(iwslt.IWSLT14, server, tmp_path)
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


@pytest.mark.parametrize(("places",), mostly_full([(PLACES[3:],), (PLACES,)]), ids=len)
def test_a_run_that_is_killed_again_and_again(places, tmp_path):
    out = tmp_path / "out"
    binarization.load()  # once, for all runs
    with archives_of(iwslt.TST2010, tmp_path) as (server, _):
        mine = described(iwslt.TST2010, server, tmp_path)
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
