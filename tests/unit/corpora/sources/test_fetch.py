"""Archives from a server that behaves badly."""

import gzip
import hashlib
import json
import os
import random
import subprocess
import sys
import textwrap
from collections.abc import Iterator
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
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(download, "PAUSE", 0.0)
    folder = tmp_path / "served"
    folder.mkdir()
    (folder / NAME).write_bytes(CONTENT)
    with serving(folder) as server:
        yield server


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def described(
    *urls: str, size: int | None = len(CONTENT), sha256: str | None = SHA256, **more: object
) -> Archive:
    facts = {"md5": None, "source": "the page of the talks", "name": NAME, **more}
    return Archive(urls=urls, bytes=size, sha256=sha256, **facts)


def unproven(*urls: str) -> Archive:
    return described(*urls, size=None, sha256=None)


def silent(line: str) -> None:
    pass


def spans(server: Server, path: str = NAME) -> list[str]:
    return [request.span for request in server.asked if request.path == f"/{path}"]


def left(cache: Path) -> list[str]:
    """What lies in the cache, but for locks."""
    return sorted(path.name for path in cache.iterdir() if path.suffix != ".lock")


def test_a_file_is_fetched_once(server: Server, cache: Path) -> None:
    archive = described(server.url(NAME))
    for _ in range(2):
        (path,) = fetch(archive, cache, {}, silent)
        assert path == cache / NAME
        assert path.read_bytes() == CONTENT
    assert server.count(NAME) == 1
    assert left(cache) == [NAME]


BAD = {
    "404": Behaviour(status=404),
    "500": Behaviour(status=500),
    "empty": Behaviour(content=b""),
    "nothing": Behaviour(cut=0),
    "cut": Behaviour(cut=1000, ranges=False),
    "page": page(),
}


@pytest.mark.parametrize("has_checksum", [True, False], ids=["known", "unknown"])
@pytest.mark.parametrize("bad", BAD)
def test_the_next_mirror_is_asked(
    server: Server, cache: Path, bad: str, has_checksum: bool
) -> None:
    (server.folder / "mirror.tgz").write_bytes(CONTENT)
    server.behaviours[f"/{NAME}"] = BAD[bad]
    archive = (described if has_checksum else unproven)(server.url(NAME), server.url("mirror.tgz"))
    (path,) = fetch(archive, cache, {}, silent)
    assert path.read_bytes() == CONTENT
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
def test_an_address_gets_several_tries(
    server: Server, cache: Path, bad: Behaviour, expected: list[str]
) -> None:
    server.behaviours[f"/{NAME}"] = bad
    (path,) = fetch(described(server.url(NAME)), cache, {}, silent)
    assert path.read_bytes() == CONTENT
    assert spans(server) == expected
    assert left(cache) == [NAME]


def test_a_server_without_ranges_starts_over(server: Server, cache: Path) -> None:
    server.behaviours[f"/{NAME}"] = Behaviour(cut=70_000, ranges=False)
    with pytest.raises(UserError, match="ended after 70,000 of 200,0"):
        fetch(described(server.url(NAME)), cache, {}, silent)
    assert not (cache / NAME).exists()
    server.behaviours[f"/{NAME}"] = Behaviour(ranges=False)
    (path,) = fetch(described(server.url(NAME)), cache, {}, silent)
    assert path.read_bytes() == CONTENT


def test_a_later_run_goes_on(server: Server, cache: Path) -> None:
    interrupt_after(server, cache, 70_000)
    lines: list[str] = []
    (path,) = fetch(unproven(server.url(NAME)), cache, {}, lines.append)
    assert path.read_bytes() == CONTENT
    assert spans(server)[-1] == "bytes=70000-"
    assert f"{server.url(NAME)}: resuming after 70.0 kB of 200.1 kB" in lines


def interrupt_after(server: Server, cache: Path, size: int) -> None:
    """Leave the first bytes of the file in the cache as a download that broke off."""
    server.behaviours[f"/{NAME}"] = Behaviour(cut=size, times=1)
    with pytest.raises(KeyboardInterrupt):
        fetch(unproven(server.url(NAME)), cache, {}, interrupting)
    assert (cache / f"{NAME}.partial").read_bytes() == CONTENT[:size]
    del server.behaviours[f"/{NAME}"]


def interrupting(line: str) -> None:
    if line.endswith("trying again"):
        raise KeyboardInterrupt


def test_another_edition_is_not_joined_to_the_first(server: Server, cache: Path) -> None:
    interrupt_after(server, cache, 70_000)
    assert len(OTHER) == len(CONTENT)
    (server.folder / NAME).write_bytes(OTHER)
    os.utime(server.folder / NAME, ns=(1, 1))
    (path,) = fetch(unproven(server.url(NAME)), cache, {}, silent)
    assert path.read_bytes() == OTHER
    assert spans(server) == ["", "bytes=70000-", ""]


def test_a_longer_edition_is_told_by_its_length(server: Server, cache: Path) -> None:
    server.behaviours[f"/{NAME}"] = Behaviour(cut=70_000, times=1, edition=False)
    with pytest.raises(KeyboardInterrupt):
        fetch(unproven(server.url(NAME)), cache, {}, interrupting)
    server.behaviours[f"/{NAME}"] = Behaviour(edition=False)
    longer = OTHER + bytes(100)
    (server.folder / NAME).write_bytes(longer)
    (path,) = fetch(unproven(server.url(NAME)), cache, {}, silent)
    assert path.read_bytes() == longer
    assert spans(server) == ["", "bytes=70000-", ""]


def test_a_smaller_edition_is_not_taken_for_the_end(server: Server, cache: Path) -> None:
    interrupt_after(server, cache, 70_000)
    small = gzip.compress(b"small")
    (server.folder / NAME).write_bytes(small)
    (path,) = fetch(unproven(server.url(NAME)), cache, {}, silent)
    assert path.read_bytes() == small


@pytest.mark.parametrize("has_checksum", [True, False], ids=["known", "unknown"])
def test_a_mirror_goes_on_only_where_a_checksum_proves_it(
    server: Server, cache: Path, has_checksum: bool
) -> None:
    interrupt_after(server, cache, 70_000)
    (server.folder / "mirror.tgz").write_bytes(CONTENT)
    archive = (described if has_checksum else unproven)(server.url("mirror.tgz"))
    (path,) = fetch(archive, cache, {}, silent)
    assert path.read_bytes() == CONTENT
    assert spans(server, "mirror.tgz") == ["bytes=70000-" if has_checksum else ""]


def test_halves_that_do_not_fit_are_fetched_in_one_go(server: Server, cache: Path) -> None:
    interrupt_after(server, cache, 70_000)
    partial = cache / f"{NAME}.partial"
    partial.write_bytes(b"?" + partial.read_bytes()[1:])
    (path,) = fetch(described(server.url(NAME)), cache, {}, silent)
    assert path.read_bytes() == CONTENT
    assert spans(server)[1:] == ["bytes=70000-", ""]


def test_all_of_it_came_but_it_has_not_its_name_yet(server: Server, cache: Path) -> None:
    interrupt_after(server, cache, 70_000)
    (cache / f"{NAME}.partial").write_bytes(CONTENT)
    (path,) = fetch(unproven(server.url(NAME)), cache, {}, silent)
    assert path.read_bytes() == CONTENT
    assert server.count(NAME) == 1


def test_every_address_is_named_with_its_reason(server: Server, cache: Path) -> None:
    (server.folder / "other.tgz").write_bytes(OTHER)
    (server.folder / "small.tgz").write_bytes(gzip.compress(b"small"))
    server.behaviours["/page.tgz"] = page()
    server.behaviours["/busy.tgz"] = Behaviour(status=503)
    names = ("gone.tgz", "page.tgz", "busy.tgz", "other.tgz", "small.tgz")
    nobody = "http://127.0.0.1:9/x.tgz"
    with pytest.raises(UserError) as refused:
        fetch(described(*map(server.url, names), nobody), cache, {}, silent)
    text = str(refused.value)
    assert "\n" not in text
    assert text.startswith(
        f"`--from-file` must provide {NAME} ({len(CONTENT):,} bytes, SHA-256 {SHA256})"
    )
    for name, reason in (
        ("gone.tgz", "HTTP 404 Not Found"),
        ("page.tgz", 'it is a web page ("Nothing here")'),
        ("busy.tgz", "HTTP 503 Service Unavailable"),
        ("other.tgz", f"its SHA-256 is {hashlib.sha256(OTHER).hexdigest()}, not {SHA256}"),
        ("small.tgz", f"it has 25 bytes, not {len(CONTENT):,}"),
    ):
        assert f"{server.url(name)}: {reason}" in text
    assert f"{nobody}: Connection refused" in text
    assert server.count("gone.tgz") == 1
    assert server.count("busy.tgz") == download.TRIES
    assert left(cache) == []


@pytest.mark.parametrize(
    ("status", "pauses"), [(404, []), (503, [1.0, 2.0])], ids=["lasting", "passing"]
)
def test_only_what_may_pass_is_waited_for(
    server: Server,
    cache: Path,
    monkeypatch: pytest.MonkeyPatch,
    status: int,
    pauses: list[float],
) -> None:
    waited: list[float] = []
    monkeypatch.setattr(download, "PAUSE", 1.0)
    monkeypatch.setattr("time.sleep", waited.append)
    server.behaviours[f"/{NAME}"] = Behaviour(status=status)
    with pytest.raises(UserError, match=f"HTTP {status}"):
        fetch(described(server.url(NAME)), cache, {}, silent)
    assert waited == pauses


def test_an_address_that_does_not_answer_in_time(
    server: Server, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tdo_plugin.corpora.sources.web.TIMEOUT", 0.1)
    monkeypatch.setattr(download, "TRIES", 1)
    server.behaviours[f"/{NAME}"] = Behaviour(slow=0.5)
    with pytest.raises(UserError, match="no answer in time"):
        fetch(described(server.url(NAME)), cache, {}, silent)


def test_a_wrong_file_in_the_cache_is_replaced(server: Server, cache: Path) -> None:
    cache.mkdir()
    (cache / NAME).write_bytes(CONTENT[:-1])
    lines: list[str] = []
    (path,) = fetch(described(server.url(NAME)), cache, {}, lines.append)
    assert path.read_bytes() == CONTENT
    assert (
        lines[0]
        == f"{path}: it has {len(CONTENT) - 1:,} bytes, not {len(CONTENT):,}; downloading it again"
    )


def test_md5_is_compared(server: Server, cache: Path) -> None:
    url = server.url(NAME)
    with pytest.raises(UserError, match="its MD5 is"):
        fetch(described(url, size=None, sha256=None, md5="0" * 32), cache, {}, silent)
    right = hashlib.md5(CONTENT).hexdigest()
    fetch(described(url, size=None, sha256=None, md5=right), cache, {}, silent)
    assert left(cache) == [NAME]


def test_an_unknown_checksum_is_recorded_and_compared(server: Server, cache: Path) -> None:
    archive = unproven(server.url(NAME))
    lines: list[str] = []
    (path,) = fetch(archive, cache, {}, lines.append)
    record = json.loads((cache / f"{NAME}.sha256").read_text())
    assert (record["bytes"], record["sha256"]) == (len(CONTENT), SHA256)
    assert record["url"] == server.url(NAME)
    fetch(archive, cache, {}, lines.append)
    assert lines[-1] == f"{path}: SHA-256 {SHA256}, as in its first download"

    path.write_bytes(OTHER)
    fetch(archive, cache, {}, lines.append)
    assert path.read_bytes() == CONTENT
    assert lines[-1] == f"{NAME}: SHA-256 {SHA256}, as in its first download"

    path.unlink()
    (server.folder / NAME).write_bytes(OTHER)
    with pytest.raises(UserError, match=rf"its SHA-256 is .*, not {SHA256} \(without .*sha256"):
        fetch(archive, cache, {}, silent)
    assert not path.exists()


def test_a_size_that_nobody_tells(server: Server, cache: Path) -> None:
    server.behaviours[f"/{NAME}"] = Behaviour(length=False)
    (path,) = fetch(unproven(server.url(NAME)), cache, {}, silent)
    assert path.read_bytes() == CONTENT


@pytest.mark.parametrize("name", [NAME, "ted_talks.tar.gz"], ids=["name", "address"])
def test_a_file_of_ones_own_is_taken_as_it_is(
    server: Server, cache: Path, tmp_path: Path, name: str
) -> None:
    archive = described(server.url("old/ted_talks.tar.gz?download=1"))
    assert accepted_names(archive) == {NAME, "ted_talks.tar.gz"}
    user_file = tmp_path / "mine"
    user_file.write_bytes(CONTENT)
    assert fetch(archive, cache, {name: user_file, "else": tmp_path}, silent) == (user_file,)
    assert not server.asked
    assert not cache.exists()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (CONTENT[:-1], "it has"),
        (OTHER, "its SHA-256 is"),
        (b"<html><title>Sign in</title>", r'it is a web page \("Sign in"\)'),
        (b"text", r"it is not a \.gz file"),
        (b"", "it is empty"),
        (None, "No such file"),
    ],
)
def test_a_file_of_ones_own_that_is_wrong(
    server: Server, cache: Path, tmp_path: Path, content: bytes | None, reason: str
) -> None:
    user_file = tmp_path / NAME
    if content is not None:
        user_file.write_bytes(content)
    with pytest.raises(UserError, match=rf"^`--from-file` must be {NAME}.*{user_file}.*: {reason}"):
        fetch(described(server.url(NAME)), cache, {NAME: user_file}, silent)
    assert not server.asked


def test_a_file_of_ones_own_without_a_known_checksum(cache: Path, tmp_path: Path) -> None:
    user_file = tmp_path / NAME
    user_file.write_bytes(CONTENT)
    lines: list[str] = []
    fetch(unproven(), cache, {NAME: user_file}, lines.append)
    facts = f"{NAME}: {user_file}, {len(CONTENT):,} bytes, SHA-256 {SHA256}"
    assert lines == [f"{facts}, no checksum is known"]


def test_no_address_and_no_file(cache: Path) -> None:
    with pytest.raises(
        UserError, match=rf"^`--from-file` must provide {NAME} .*the page of the talks"
    ):
        fetch(described(), cache, {}, silent)


PARTS = (CONTENT[:90_000], CONTENT[90_000:])


def in_parts(server: Server, **facts: object) -> Archive:
    parts = []
    for number, content in enumerate(PARTS):
        name = f"{NAME}.0{number}"
        (server.folder / name).write_bytes(content)
        parts.append(Part(name, (server.url(name),)))
    return described(parts=tuple(parts), **facts)


def test_parts_are_fetched_one_by_one(server: Server, cache: Path, tmp_path: Path) -> None:
    archive = in_parts(server)
    second = tmp_path / "second"
    second.write_bytes(PARTS[1])
    assert fetch(archive, cache, {f"{NAME}.01": second}, silent) == (cache / f"{NAME}.00", second)
    paths = fetch(archive, cache, {}, silent)
    assert b"".join(path.read_bytes() for path in paths) == CONTENT
    assert [server.count(f"{NAME}.0{number}") for number in (0, 1)] == [1, 1]

    whole = tmp_path / "whole"
    whole.write_bytes(CONTENT)
    assert fetch(archive, cache, {NAME: whole}, silent) == (whole,)


def test_parts_must_fit_together(server: Server, cache: Path) -> None:
    with pytest.raises(UserError, match=f"^`{NAME}` must be its concatenated parts; its SHA-256"):
        fetch(in_parts(server, sha256="0" * 64), cache, {}, silent)


def test_a_page_is_no_first_part(server: Server, cache: Path) -> None:
    archive = in_parts(server)
    server.behaviours[f"/{NAME}.00"] = Behaviour(content=b"not an archive")
    with pytest.raises(UserError, match=r"it is not a \.gz file"):
        fetch(archive, cache, {}, silent)


@pytest.mark.parametrize("name", ["../up.tgz", "a/b.tgz", "/etc/x", "..", ""])
def test_names_do_not_lead_out_of_the_cache(server: Server, cache: Path, name: str) -> None:
    with pytest.raises(UserError, match="must have file names"):
        fetch(described(server.url(NAME), name=name), cache, {}, silent)


def test_no_space_for_what_is_to_come(
    server: Server, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = type("Usage", (), {"free": 1000})
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage)
    with pytest.raises(UserError, match=f"^`--cache` must .*{NAME}.*{cache}.*: No space left"):
        fetch(described(server.url(NAME)), cache, {}, silent)
    assert not (cache / NAME).exists()


def test_the_disk_is_full_in_between(server: Server, cache: Path) -> None:
    cache.mkdir()
    (cache / f"{NAME}.partial").symlink_to("/dev/full")
    with pytest.raises(UserError, match=f"^`--cache` must .*{NAME}.*{cache}.*: No space left"):
        fetch(described(server.url(NAME)), cache, {}, silent)
    assert not (cache / NAME).exists()


def test_a_cache_that_cannot_be_written(server: Server, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"^`--cache` must .*file: (Not a directory|File exists)"):
        fetch(described(server.url(NAME)), tmp_path / "file", {}, silent)


def test_a_cache_that_is_only_read(server: Server, cache: Path) -> None:
    archive = described(server.url(NAME))
    fetch(archive, cache, {}, silent)
    next(cache.glob(".*.lock")).unlink()
    cache.chmod(0o555)
    try:
        assert fetch(archive, cache, {}, silent) == (cache / NAME,)
        assert left(cache) == [NAME]
    finally:
        cache.chmod(0o755)
    assert not [*cache.glob(".*.lock")]


def test_two_processes_fetch_once(server: Server, cache: Path) -> None:
    server.behaviours[f"/{NAME}"] = Behaviour(slow=0.1)
    code = textwrap.dedent(
        f"""
        from pathlib import Path
        from tdo_plugin.corpora.sources.fetch import fetch
        from tdo_plugin.corpora.description.schema import Archive
        archive = Archive({NAME!r}, ({server.url(NAME)!r},), {len(CONTENT)}, {SHA256!r}, None, "")
        print(*fetch(archive, Path({str(cache)!r}), {{}}, print), sep="\\n")
        """
    )
    command = [sys.executable, "-c", code]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    texts = [process.communicate(timeout=60)[0] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert all(text.splitlines()[-1] == str(cache / NAME) for text in texts)
    assert server.count(NAME) == 1
    assert (cache / NAME).read_bytes() == CONTENT


def test_without_a_terminal_progress_is_lines(
    server: Server, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download, "LINE_EVERY", 0.0)
    lines: list[str] = []
    fetch(described(server.url(NAME)), cache, {}, lines.append)
    assert lines[0] == f"{server.url(NAME)} (200.1 kB)"
    assert lines[-1] == f"{NAME}: 200.1 kB of 200.1 kB"


def test_a_terminal_gets_a_bar(
    server: Server, cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    lines: list[str] = []
    fetch(described(server.url(NAME)), cache, {}, lines.append)
    assert lines == [f"{server.url(NAME)} (200.1 kB)"]
    assert NAME in capsys.readouterr().err


def test_the_cache_of_choice(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TDO_CACHE", str(tmp_path))
    assert default_cache() == tmp_path
    monkeypatch.delenv("TDO_CACHE")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_cache() == tmp_path / ".cache/tdo_plugin/corpora"
