"""`tdo prepare` with bad hosts, bad text, no space and kills: one line, and nothing half-made."""

import json
import os
import re
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
from support.corpora import archives_of, contents, is_whole, prepared
from support.covering import mostly_full
from support.layouts import Case, iwslt, multi30k, ted
from support.layouts.case import served
from support.layouts.packing import put, tar
from support.own_text import SMALL, write_own
from support.serving import Behaviour, Server, page

from tdo_plugin.cli import main
from tdo_plugin.corpora.preparing import prepare
from tdo_plugin.data import binarization
from tdo_plugin.errors import UserError
from tdo_plugin.runtime.files import _Written

PIECES = ("--vocab-size", "600", "--workers", "1")


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """The one line in which `tdo prepare` ends."""

    def run(*words: object) -> str:
        assert main(["prepare", *map(str, words)]) == 2
        lines = capsys.readouterr().err.splitlines()
        assert "Traceback" not in "\n".join(lines)
        assert [line for line in lines if "error: " in line] == lines[-1:], lines
        return lines[-1].removeprefix("tdo prepare: error: ")

    return run


def described(case: Case, server: Server, folder: Path, **facts: object) -> Path:
    """A description of one's own with its archives at the server."""
    document = served(case.name, server.address)
    for archive in document["archives"].values():
        archive.update(facts)
    path = folder / "mine.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


# --- hosts -----------------------------------------------------------------------------------


def test_mirrors_that_fail(tmp_path: Path) -> None:
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


def test_a_download_that_is_cut_off_goes_on(tmp_path: Path) -> None:
    case = iwslt.IWSLT14
    with archives_of(case, tmp_path) as (server, files):
        server.behaviours[f"/{iwslt.ARCHIVE_2014}"] = Behaviour(cut=6000, times=1)
        corpus, out = case.corpus(server.address), tmp_path / "out"
        prepare(corpus, tmp_path / "cache", files, out, 1, False, print)
        assert [request.span for request in server.asked] == ["", "bytes=6000-"]
    assert contents(out) == contents(prepared(case))


@pytest.mark.parametrize("facts", [{"sha256": "0" * 64}, {"md5": "0" * 32}], ids=["sha256", "md5"])
def test_a_wrong_checksum(facts: dict, tmp_path: Path, refused: Callable[..., str]) -> None:
    with archives_of(iwslt.IWSLT14, tmp_path) as (server, _):
        mine = described(iwslt.IWSLT14, server, tmp_path, **facts)
        line = refused(mine, "--out", tmp_path / "out", "--cache", tmp_path / "cache", *PIECES)
    assert re.search(r"`--from-file` must provide iwslt14.de-en.tgz .* not 0{32}", line)
    assert not (tmp_path / "cache" / "iwslt14.de-en.tgz").exists()
    assert not is_whole(tmp_path / "out")


def test_an_archive_that_is_cut_off(tmp_path: Path) -> None:
    with archives_of(iwslt.IWSLT14, tmp_path) as (server, files):
        path = server.folder / iwslt.ARCHIVE_2014
        path.write_bytes(path.read_bytes()[:-5000])
        raises_before(iwslt.IWSLT14, server, files, tmp_path, "iwslt14.de-en.tgz")


def test_an_archive_without_one_of_its_texts(tmp_path: Path) -> None:
    with archives_of(iwslt.TST2010, tmp_path) as (server, files):
        lost = f"{iwslt.FOLDER}/train.tags.it-ro.ro"
        repack(server.folder / iwslt.ARCHIVE_2017, lambda name, _: name != lost)
        raises_before(iwslt.TST2010, server, files, tmp_path, f"must have a file {lost}")


def test_a_table_without_one_of_the_languages(tmp_path: Path) -> None:
    with archives_of(ted.FEW_LANGUAGES, tmp_path) as (server, files):

        def rename(name: str, content: bytes) -> bytes:
            return content.replace(b"\the\t", b"\tiw\t") if "train" in name else content

        repack(server.folder / ted.ADDRESS, rename)
        raises_before(ted.FEW_LANGUAGES, server, files, tmp_path, r"line 1 must name he; it names")


def raises_before(case: Case, server: Server, files: dict, folder: Path, reason: str) -> None:
    """Nothing is made but a line."""
    with pytest.raises(UserError, match=reason) as raised:
        prepare(
            case.corpus(server.address), folder / "cache", files, folder / "out", 1, False, print
        )
    assert "\n" not in str(raised.value)
    assert not is_whole(folder / "out")


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


BAD_TEXT = {
    "unequal sides": (
        "pairs",
        _shorten,
        r"train.en-de.de` must have as many sentences as .* \(60\)",
    ),
    "not UTF-8": ("pairs", _spoil, "train.en-fr.fr` line 3 must be UTF-8 text"),
    "one side": ("pairs", lambda text: (text / "valid.en-de.de").unlink(), "must have both sides"),
    "a wide row": ("table", _widen, "train.tsv` line 5 must have the header's 3 columns"),
    "half a file": ("gzip", _cut, "train.de.gz` must be complete"),
    "nothing left": ("pairs", _empty, "`en-de` must have train text; nothing is left"),
    "no train": ("gzip", lambda text: [*map(Path.unlink, text.glob("train*"))], "must have train"),
}


@pytest.mark.parametrize("name", BAD_TEXT)
def test_bad_text(name: str, tmp_path: Path, refused: Callable[..., str]) -> None:
    form, spoil, reason = BAD_TEXT[name]
    text, out = write_own(tmp_path / "text", form), tmp_path / "out"
    spoil(text)
    line = refused("--from", text, "--centre", "en", "--out", out, *SMALL)
    assert re.search(reason, line), line
    assert not is_whole(out)


def test_a_centre_that_the_text_lacks(tmp_path: Path, refused: Callable[..., str]) -> None:
    text = write_own(tmp_path / "text", "table")
    line = refused("--from", text, "--centre", "it", "--out", tmp_path / "out", *SMALL)
    assert line == "`--centre` must be one of en, de, fr; it is it"


def test_mended_text_goes_on(tmp_path: Path, refused: Callable[..., str]) -> None:
    text, out = write_own(tmp_path / "text", "pairs"), tmp_path / "out"
    words = ("--from", text, "--centre", "en", *SMALL, "--out")
    assert main(["prepare", *map(str, words), str(tmp_path / "right")]) == 0
    whole = (text / "train.en-de.de").read_bytes()
    _shorten(text)
    refused(*words, out)
    (text / "train.en-de.de").write_bytes(whole)
    assert main(["prepare", *map(str, words), str(out)]) == 0
    assert contents(out) == contents(tmp_path / "right")


def test_a_folder_made_with_other_settings(tmp_path: Path, refused: Callable[..., str]) -> None:
    text, out = write_own(tmp_path / "text", "table"), tmp_path / "out"
    words = ("--from", text, "--out", out, "--workers", "1", "--vocab-size")
    assert main(["prepare", *map(str, (*words, 300))]) == 0
    before = contents(out)
    refusal = "`--out` must be a new folder, or `--fresh` given;"
    assert refused(*words, 280).startswith(refusal)
    path = text / "test.tsv"
    path.write_bytes(path.read_bytes().replace(b"600", b"006"))  # other text of the same size
    assert refused(*words, 300).startswith(refusal)
    assert contents(out) == before
    assert is_whole(out)
    assert main(["prepare", *map(str, (*words, 280, "--fresh"))]) == 0
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
def test_no_space_left(name: str, tmp_path: Path, refused: Callable[..., str]) -> None:
    with archives_of(iwslt.IWSLT14, tmp_path) as (server, _):
        words = (described(iwslt.IWSLT14, server, tmp_path), "--out", tmp_path / "out")
        words = (*words, "--cache", tmp_path / "cache", *PIECES)
        with no_space_for(FULL[name]):
            assert "No space left on device" in refused(*words)
        assert not (tmp_path / "out" / "prepare.json").exists()
        assert main(["prepare", *map(str, words)]) == 0
    assert contents(tmp_path / "out") == contents(prepared(iwslt.IWSLT14))


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
def test_a_run_that_is_killed_again_and_again(places: tuple[str, ...], tmp_path: Path) -> None:
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
