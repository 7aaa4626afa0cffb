"""Archives from a server that behaves badly."""

import gzip
import hashlib
import json
import multiprocessing
import os
import random
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support.serving import Behaviour, Server, page, serving

from tdo_plugin.corpora.description.schema import Archive, Part
from tdo_plugin.corpora.sources import download
from tdo_plugin.corpora.sources.fetch import accepted_names, default_cache, fetch
from tdo_plugin.errors import UserError

NAME = "talks.tar.gz"
CONTENT = gzip.compress(random.Random(1).randbytes(200_000), mtime=0)
OTHER = gzip.compress(random.Random(2).randbytes(200_000), mtime=0)
SHA256 = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def server(tmp_path, monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(download, "PAUSE", 0.0)
    folder = tmp_path / "served"
    folder.mkdir()
    (folder / NAME).write_bytes(CONTENT)
    with serving(folder) as server:
        yield server


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "cache"


def fetched(archive: Archive, cache: Path, say: Callable[[str], object] = str) -> bytes:
    """What comes of an archive of one file."""
    (path,) = fetch(archive, cache, {}, say)
    return path.read_bytes()


def described(
    *urls: str, size: int | None = len(CONTENT), sha256: str | None = SHA256, **more: object
) -> Archive:
    facts = {"md5": None, "source": "the page of the talks", "name": NAME, **more}
    return Archive(urls=urls, bytes=size, sha256=sha256, **facts)


def unproven(*urls: str) -> Archive:
    return described(*urls, size=None, sha256=None)


def spans(server: Server, path: str = NAME) -> list[str]:
    return [request.span for request in server.asked if request.path == f"/{path}"]


def left(cache: Path) -> list[str]:
    """What lies in the cache, but for locks."""
    return sorted(path.name for path in cache.iterdir() if path.suffix != ".lock")


BAD = {
    "404": Behaviour(status=404),
    "500": Behaviour(status=500),
    "empty": Behaviour(content=b""),
    "nothing": Behaviour(cut=0),
    "cut": Behaviour(cut=1000, ranges=False),
    "page": page(),
}


@pytest.mark.parametrize("describe", [described, unproven], ids=["known", "unknown"])
@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
def test_the_next_mirror_is_asked(server, cache, bad, describe):
    (server.folder / "mirror.tgz").write_bytes(CONTENT)
    server.behaviours[f"/{NAME}"] = bad
    assert fetched(describe(server.url(NAME), server.url("mirror.tgz")), cache) == CONTENT
    assert server.count("mirror.tgz") == 1


@pytest.mark.parametrize(
    ("bad", "expected"),
    [
        (Behaviour(status=500, times=1), ["", ""]),
        (Behaviour(cut=70_000, times=1), ["", "bytes=70000-"]),
        (Behaviour(cut=70_000), ["", "bytes=70000-", "bytes=140000-"]),
        (Behaviour(cut=150_000, edition=False), ["", "bytes=150000-"]),
        (Behaviour(cut=0, times=2), ["", "", ""]),
    ],
    ids=["500", "cut", "cut-again", "no-etag", "nothing"],
)
def test_an_address_gets_several_tries(server, cache, bad, expected):
    server.behaviours[f"/{NAME}"] = bad
    assert fetched(described(server.url(NAME)), cache) == CONTENT
    assert spans(server) == expected
    assert left(cache) == [NAME]


def test_a_server_without_ranges_starts_over(server, cache):
    server.behaviours[f"/{NAME}"] = Behaviour(cut=70_000, ranges=False)
    with pytest.raises(UserError, match="ended after 70,000 of 200,0"):
        fetched(described(server.url(NAME)), cache)
    assert not (cache / NAME).exists()
    server.behaviours[f"/{NAME}"] = Behaviour(ranges=False)
    assert fetched(described(server.url(NAME)), cache) == CONTENT


def test_a_later_run_goes_on(server, cache):
    interrupt_after(server, cache, 70_000)
    lines = []
    assert fetched(unproven(server.url(NAME)), cache, lines.append) == CONTENT
    assert spans(server)[-1] == "bytes=70000-"
    assert f"{server.url(NAME)}: resuming after 70.0 kB of 200.1 kB" in lines


def interrupt_after(server: Server, cache: Path, size: int, **behaviour: bool) -> None:
    """Leave the first bytes of the file in the cache as a download that broke off."""
    server.behaviours[f"/{NAME}"] = Behaviour(cut=size, times=1, **behaviour)
    with pytest.raises(KeyboardInterrupt):
        fetch(unproven(server.url(NAME)), cache, {}, interrupting)
    assert (cache / f"{NAME}.partial").read_bytes() == CONTENT[:size]
    server.behaviours[f"/{NAME}"] = Behaviour(**behaviour)


def interrupting(line: str) -> None:
    if line.endswith("trying again"):
        raise KeyboardInterrupt


SMALL = gzip.compress(b"small")
AGAIN = ["", "bytes=70000-", ""]


@pytest.mark.parametrize(
    ("describe", "served", "partial", "behaviour", "requests"),
    [
        (unproven, OTHER, None, {}, AGAIN),  # another edition, by its date
        (unproven, OTHER + bytes(100), None, {"edition": False}, AGAIN),  # by its length
        (unproven, SMALL, None, {}, AGAIN),  # too short to be the rest
        (described, CONTENT, b"?" + CONTENT[1:70_000], {}, AGAIN),  # halves that do not fit
        (unproven, CONTENT, CONTENT, {}, [""]),  # all of it, which has not its name yet
    ],
    ids=["date", "length", "short", "halves", "whole"],
)
def test_only_the_rest_of_the_same_file_is_joined_to_the_first(
    server, cache, describe, served, partial, behaviour, requests
):
    interrupt_after(server, cache, 70_000, **behaviour)
    if served != CONTENT:
        (server.folder / NAME).write_bytes(served)
        os.utime(server.folder / NAME, ns=(1, 1))
    if partial:
        (cache / f"{NAME}.partial").write_bytes(partial)
    assert fetched(describe(server.url(NAME)), cache) == served
    assert spans(server) == requests


@pytest.mark.parametrize(("describe", "span"), [(described, "bytes=70000-"), (unproven, "")])
def test_a_mirror_goes_on_only_where_a_checksum_proves_it(server, cache, describe, span):
    interrupt_after(server, cache, 70_000)
    (server.folder / "mirror.tgz").write_bytes(CONTENT)
    assert fetched(describe(server.url("mirror.tgz")), cache) == CONTENT
    assert spans(server, "mirror.tgz") == [span]


def test_every_address_is_named_with_its_reason(server, cache):
    small = gzip.compress(b"small", mtime=0)
    (server.folder / "other.tgz").write_bytes(OTHER)
    (server.folder / "small.tgz").write_bytes(small)
    server.behaviours["/page.tgz"] = page()
    server.behaviours["/busy.tgz"] = Behaviour(status=503)
    reasons = {
        "gone.tgz": "HTTP 404 Not Found",
        "page.tgz": 'it is a web page ("Nothing here")',
        "busy.tgz": "HTTP 503 Service Unavailable",
        "other.tgz": f"its SHA-256 is {hashlib.sha256(OTHER).hexdigest()}, not {SHA256}",
        "small.tgz": f"it has {len(small)} bytes, not {len(CONTENT):,}",
    }
    nobody = "http://127.0.0.1:9/x.tgz"
    with pytest.raises(UserError) as refused:
        fetched(described(*map(server.url, reasons), nobody), cache)
    text = str(refused.value)
    facts = f"{NAME} ({len(CONTENT):,} bytes, SHA-256 {SHA256})"
    assert text.startswith(f"`--from-file` must provide {facts}")
    for name, reason in reasons.items():
        assert f"{server.url(name)}: {reason}" in text
    assert f"{nobody}: Connection refused" in text and "\n" not in text
    assert server.count("gone.tgz") == 1
    assert server.count("busy.tgz") == download.TRIES
    assert left(cache) == []


def test_every_known_checksum_is_named(cache, monkeypatch):
    monkeypatch.setattr(download, "PAUSE", 0.0)
    md5 = hashlib.md5(CONTENT).hexdigest()
    with pytest.raises(UserError, match=rf"\(200,\d+ bytes, SHA-256 {SHA256}, MD5 {md5}\)"):
        fetched(described("http://127.0.0.1:9/x.tgz", md5=md5), cache)


@pytest.mark.parametrize(("status", "pauses"), [(404, []), (503, [1.0, 2.0])])
def test_only_what_may_pass_is_waited_for(server, cache, monkeypatch, status, pauses):
    waited = []
    monkeypatch.setattr(download, "PAUSE", 1.0)
    monkeypatch.setattr("time.sleep", waited.append)
    server.behaviours[f"/{NAME}"] = Behaviour(status=status)
    with pytest.raises(UserError, match=f"HTTP {status}"):
        fetched(described(server.url(NAME)), cache)
    assert waited == pauses


def test_an_address_that_does_not_answer_in_time(server, cache, monkeypatch):
    monkeypatch.setattr("tdo_plugin.corpora.sources.web.TIMEOUT", 0.1)
    monkeypatch.setattr(download, "TRIES", 1)
    server.behaviours[f"/{NAME}"] = Behaviour(slow=0.5)
    with pytest.raises(UserError, match="no answer in time"):
        fetched(described(server.url(NAME)), cache)


def test_a_wrong_file_in_the_cache_is_replaced(server, cache):
    cache.mkdir()
    (cache / NAME).write_bytes(CONTENT[:-1])
    lines = []
    assert fetched(described(server.url(NAME)), cache, lines.append) == CONTENT
    wrong = f"it has {len(CONTENT) - 1:,} bytes, not {len(CONTENT):,}"
    assert lines[0] == f"{cache / NAME}: {wrong}; downloading it again"


def test_md5_is_compared(server, cache):
    facts = {"size": None, "sha256": None}
    with pytest.raises(UserError, match="its MD5 is"):
        fetched(described(server.url(NAME), **facts, md5="0" * 32), cache)
    fetched(described(server.url(NAME), **facts, md5=hashlib.md5(CONTENT).hexdigest()), cache)
    assert left(cache) == [NAME]


def test_an_unknown_checksum_is_recorded_and_compared(server, cache):
    archive, path, lines = unproven(server.url(NAME)), cache / NAME, []
    fetched(archive, cache, lines.append)
    record = json.loads((cache / f"{NAME}.sha256").read_text())
    assert (record["bytes"], record["sha256"]) == (len(CONTENT), SHA256)
    assert record["url"] == server.url(NAME)
    fetched(archive, cache, lines.append)
    assert lines[-1] == f"{path}: SHA-256 {SHA256}, as in its first download"

    path.write_bytes(OTHER)
    assert fetched(archive, cache, lines.append) == CONTENT
    assert lines[-1] == f"{NAME}: SHA-256 {SHA256}, as in its first download"

    path.unlink()
    (server.folder / NAME).write_bytes(OTHER)
    with pytest.raises(UserError, match=rf"its SHA-256 is .*, not {SHA256} \(without .*sha256"):
        fetched(archive, cache)
    assert not path.exists()


def test_a_size_that_nobody_tells(server, cache):
    server.behaviours[f"/{NAME}"] = Behaviour(length=False)
    assert fetched(unproven(server.url(NAME)), cache) == CONTENT


@pytest.mark.parametrize("name", [NAME, "ted_talks.tar.gz"], ids=["name", "address"])
def test_a_file_of_ones_own_is_taken_as_it_is(server, cache, tmp_path, name):
    archive = described(server.url("old/ted_talks.tar.gz?download=1"))
    assert accepted_names(archive) == {NAME, "ted_talks.tar.gz"}
    user_file = tmp_path / "mine"
    user_file.write_bytes(CONTENT)
    assert fetch(archive, cache, {name: user_file, "else": tmp_path}, str) == (user_file,)
    assert not server.asked
    assert not cache.exists()


def test_a_file_of_ones_own_that_is_wrong(server, cache, tmp_path):
    user_file = tmp_path / NAME
    for content, reason in (
        (None, "No such file"),
        (CONTENT[:-1], "it has"),
        (OTHER, "its SHA-256 is"),
        (b"<html><title>Sign in</title>", r'it is a web page \("Sign in"\)'),
        (b"text", r"it is not a \.gz file"),
        (b"", "it is empty"),
    ):
        if content is not None:
            user_file.write_bytes(content)
        with pytest.raises(UserError, match=rf"^`--from-file` must be {NAME}.*: {reason}"):
            fetch(described(server.url(NAME)), cache, {NAME: user_file}, str)
    assert not server.asked


def test_a_file_of_ones_own_without_a_known_checksum(cache, tmp_path):
    user_file, lines = tmp_path / NAME, []
    user_file.write_bytes(CONTENT)
    fetch(unproven(), cache, {NAME: user_file}, lines.append)
    facts = f"{NAME}: {user_file}, {len(CONTENT):,} bytes, SHA-256 {SHA256}"
    assert lines == [f"{facts}, no checksum is known"]


PARTS = (CONTENT[:90_000], CONTENT[90_000:])


def in_parts(server: Server, **facts: object) -> Archive:
    parts = []
    for number, content in enumerate(PARTS):
        name = f"{NAME}.0{number}"
        (server.folder / name).write_bytes(content)
        parts.append(Part(name, (server.url(name),)))
    return described(parts=tuple(parts), **facts)


def test_parts_are_fetched_one_by_one(server, cache, tmp_path):
    archive = in_parts(server)
    second, whole = tmp_path / "second", tmp_path / "whole"
    second.write_bytes(PARTS[1])
    assert fetch(archive, cache, {f"{NAME}.01": second}, str) == (cache / f"{NAME}.00", second)
    paths = fetch(archive, cache, {}, str)
    assert b"".join(path.read_bytes() for path in paths) == CONTENT
    assert [server.count(f"{NAME}.0{number}") for number in (0, 1)] == [1, 1]
    whole.write_bytes(CONTENT)
    assert fetch(archive, cache, {NAME: whole}, str) == (whole,)


def test_parts_must_fit_together_and_be_no_page(server, cache):
    with pytest.raises(UserError, match=f"^`{NAME}` must be its concatenated parts; its SHA-256"):
        fetch(in_parts(server, sha256="0" * 64), cache, {}, str)
    (cache / f"{NAME}.00").unlink()
    server.behaviours[f"/{NAME}.00"] = Behaviour(content=b"not an archive")
    with pytest.raises(UserError, match=r"it is not a \.gz file"):
        fetch(in_parts(server), cache, {}, str)


def test_names_do_not_lead_out_of_the_cache(server, cache, refused):
    for name in ("../up.tgz", "a/b.tgz", "/etc/x", "..", ""):
        with refused.raised(f"the name {name}", names="must have file names"):
            fetched(described(server.url(NAME), name=name), cache)


def test_no_address_or_no_space(server, cache, tmp_path, monkeypatch):
    with pytest.raises(UserError, match=f"^`--from-file` must provide {NAME} .*page of the talks"):
        fetched(described(), cache)
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"^`--cache` must .*file: (Not a directory|File exists)"):
        fetched(described(server.url(NAME)), tmp_path / "file")
    message = f"^`--cache` must .*{NAME}.*{cache}.*: No space left"
    with monkeypatch.context() as patch, pytest.raises(UserError, match=message):
        patch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 1000}))
        fetched(described(server.url(NAME)), cache)
    (cache / f"{NAME}.partial").unlink(missing_ok=True)
    (cache / f"{NAME}.partial").symlink_to("/dev/full")  # full in between
    with pytest.raises(UserError, match=message):
        fetched(described(server.url(NAME)), cache)
    assert not (cache / NAME).exists()


def test_a_cache_that_is_only_read(server, cache):
    archive = described(server.url(NAME))
    fetched(archive, cache)
    next(cache.glob(".*.lock")).unlink()
    cache.chmod(0o555)
    try:
        assert fetched(archive, cache) == CONTENT
        assert left(cache) == [NAME]
    finally:
        cache.chmod(0o755)
    assert not [*cache.glob(".*.lock")]


def test_two_processes_fetch_once(server, cache):
    server.behaviours[f"/{NAME}"] = Behaviour(slow=0.1)
    request = (described(server.url(NAME)), cache, {}, str)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.starmap(fetch, [request] * 2) == [(cache / NAME,)] * 2
    assert server.count(NAME) == 1
    assert (cache / NAME).read_bytes() == CONTENT


@pytest.mark.parametrize("terminal", [False, True])
def test_progress_is_lines_or_a_terminal_s_bar(server, cache, monkeypatch, capsys, terminal):
    monkeypatch.setattr(download, "LINE_EVERY", 0.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    lines = []
    fetched(described(server.url(NAME)), cache, lines.append)
    assert lines[0] == f"{server.url(NAME)} (200.1 kB)"
    assert (lines[-1] == f"{NAME}: 200.1 kB of 200.1 kB") == (len(lines) > 1) == (not terminal)
    assert (NAME in capsys.readouterr().err) == terminal


def test_the_cache_of_choice(monkeypatch, tmp_path):
    monkeypatch.setenv("TDO_CACHE", str(tmp_path))
    assert default_cache() == tmp_path
    monkeypatch.delenv("TDO_CACHE")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_cache() == tmp_path / ".cache/tdo_plugin/corpora"
