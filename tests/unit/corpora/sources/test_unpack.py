"""Archives of every kind, whole, damaged and hostile."""

import bz2
import gzip
import io
import lzma
import os
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from support.folders import files_of

from tdo_compat.settings import shown
from tdo_plugin.corpora.description.schema import Archive
from tdo_plugin.corpora.sources import unpack as unpacking
from tdo_plugin.corpora.sources.archives import open_joined
from tdo_plugin.corpora.sources.unpack import unpack
from tdo_plugin.errors import UserError

TEXTS = {
    "de-en/train.de": "Straße\n" * 5000,
    "de-en/train.en": "street\n" * 5000,
    "de-en/deep/train.en": "deep\n",
    "read.me": "text\n",
}


def tar(texts: Mapping[str, str | bytes]) -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        for name, text in texts.items():
            data = text if isinstance(text, bytes) else text.encode()
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return content.getvalue()


def zipped(texts: Mapping[str, str | bytes]) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("de-en/", "")
        for name, text in texts.items():
            archive.writestr(name, text)
    return content.getvalue()


def tgz(texts: Mapping[str, str | bytes]) -> bytes:
    return gzip.compress(tar(texts), mtime=0)


KINDS: dict[str, Callable[[Mapping[str, str | bytes]], bytes]] = {
    "tar": tar,
    "gz": tgz,
    "bz2": lambda texts: bz2.compress(tar(texts)),
    "xz": lambda texts: lzma.compress(tar(texts)),
    "zip": zipped,
}


def described(name: str = "talks.archive") -> Archive:
    return Archive(name, (), None, None, None, "")


def stored(folder: Path, content: bytes, parts: int = 1) -> list[Path]:
    length = -(-len(content) // parts)
    paths = [folder / f"stored.{number}" for number in range(parts)]
    for number, path in enumerate(paths):
        path.write_bytes(content[number * length : (number + 1) * length])
    return paths


def below(folder: Path) -> list[str]:
    """All files but the record."""
    files = files_of(folder).items()
    return sorted(name for name, path in files if path.name != unpacking.RECORD)


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("parts", [1, 3])
def test_wanted_members_come_out(tmp_path, out, kind, parts):
    files = stored(tmp_path, KINDS[kind](TEXTS), parts)
    members = ["de-en/train.de", "de-en/train.en"]
    assert unpack(described(), files, members, out) == {name: (out / name,) for name in members}
    assert [(out / name).read_text() for name in members] == [TEXTS[name] for name in members]
    assert below(out) == members


@pytest.mark.parametrize("dot", ["", "./"])
@pytest.mark.parametrize(
    ("member", "expected"),
    [
        ("de-en/train.*", ["de-en/train.de", "de-en/train.en"]),
        ("de-en/*.en", ["de-en/train.en"]),
        ("*/*/train.e[mn]", ["de-en/deep/train.en"]),
        ("*", ["read.me"]),
    ],
)
def test_globs_stay_within_a_folder(tmp_path, out, member, expected, dot):
    backwards = {dot + name: text for name, text in reversed(TEXTS.items())}
    unpacked = unpack(described(), stored(tmp_path, tgz(backwards)), [member, "read.me"], out)
    assert unpacked[member] == tuple(out / name for name in expected)
    assert unpacked["read.me"] == (out / "read.me",)
    assert below(out) == sorted({*expected, "read.me"})


@pytest.mark.parametrize("outer", KINDS)
@pytest.mark.parametrize("inner", ["gz", "zip"])
def test_archives_within_archives(tmp_path, out, outer, inner):
    content = {
        "texts/it.tgz": KINDS[inner]({"a.it": "sì\n", "b.it": "no\n"}),
        "texts/nl.tgz": KINDS[inner]({"a.nl": "ja\n"}),
        "a.it": "outside\n",
    }
    expected = {
        "texts/it.tgz!a.it": ["sì\n"],
        "texts/*.tgz!?.*": ["sì\n", "no\n", "ja\n"],
        "a.it": ["outside\n"],
    }
    unpacked = unpack(described(), stored(tmp_path, KINDS[outer](content)), [*expected], out)
    texts = {name: [path.read_text() for path in paths] for name, paths in unpacked.items()}
    assert texts == expected
    inside = ["texts/it.tgz!/a.it", "texts/it.tgz!/b.it", "texts/nl.tgz!/a.nl"]
    assert below(out) == ["a.it", *inside]


def test_parts_are_closed_with_the_whole(tmp_path):
    with open_joined(stored(tmp_path, b"text\n", parts=2)) as stream:
        whole = stream.raw
        assert stream.read() == b"text\n" and not whole.closed
    assert whole.closed and all(part.closed for part in whole._streams)


def test_a_file_that_is_the_text_itself_is_not_copied_but_put_together(tmp_path, out):
    (path,) = stored(tmp_path, b"text\n")
    assert unpack(described(), [path], [""], out) == {"": (path,)}
    assert not out.exists()
    content = gzip.compress(b"text\n" * 100, mtime=0)
    unpacked = unpack(described("text.gz"), stored(tmp_path, content, parts=3), [""], out)
    assert unpacked == {"": (out / "text.gz",)}
    assert (out / "text.gz").read_bytes() == content


@pytest.mark.parametrize("kind", ["gz", "zip"])
@pytest.mark.parametrize("name", ["../up.txt", "a/../../up.txt", "{above}/up.txt", ".."])
def test_nothing_is_written_outside(tmp_path, out, kind, name):
    name = name.format(above=tmp_path)
    files = stored(tmp_path, KINDS[kind]({name: "bad\n", "good.txt": "good\n"}))
    before = {*tmp_path.rglob("*")}
    for member in (name, f"../{name}", "../*", "a/../../*", "/*"):
        with pytest.raises(UserError, match=r"must have a file .*it has good\.txt"):
            unpack(described(), files, [member], out)
    messages = []
    unpack(described(), files, ["*"], out, messages.append)
    assert below(out) == ["good.txt"]
    where = "that are links or lead out of the folder"
    assert messages == [f"{described().name}: left out 1 {where}: {shown(name)}"]
    assert {*tmp_path.rglob("*")} - before == {out, out / "good.txt", out / unpacking.RECORD}


def test_where_all_lead_outside_the_message_says_so(tmp_path, out, refused):
    names = ["../up.txt", "/root.txt", "a/../../b.txt", "../last\n.txt"]
    for kind in ("gz", "zip"):
        files = stored(tmp_path, KINDS[kind](dict.fromkeys(names, "bad\n")))
        with refused.raised("all outside", names=": ../up.txt, /root.txt, a/../../b.txt, ..."):
            unpack(described(), files, ["up.txt"], out)


def test_links_and_devices_are_left_alone(tmp_path, out, refused):
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as archive:
        for name, kind in (
            ("link", tarfile.SYMTYPE),
            ("hard", tarfile.LNKTYPE),
            ("pipe", tarfile.FIFOTYPE),
            ("empty", tarfile.REGTYPE),
        ):
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, "/etc/passwd"
            archive.addfile(member)
    files = stored(tmp_path, content.getvalue())
    unpack(described(), files, ["*"], out)
    assert below(out) == ["empty"]
    with refused.raised("a link", names="must have a file link"):
        unpack(described(), files, ["link"], out)


def test_links_in_a_zip_are_left_alone(tmp_path, out, refused):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        link = zipfile.ZipInfo("link")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc/passwd")
    with refused.raised("only a link", names=": link (a link)"):
        unpack(described(), stored(tmp_path, content.getvalue()), ["link"], out)


def test_what_is_not_there(tmp_path, out, refused):
    files = stored(tmp_path, tgz({**TEXTS, "in.tgz": tgz({"a.en": "street\n"})}))
    for member, names in (
        ("de-en/train.fr", "`talks` must have a file de-en/train.fr"),
        ("zzz", "`talks` must have a file zzz"),
        ("gone.tgz!x", "`talks` must have a file gone.tgz"),
        ("in.tgz!b.en", "`talks!in.tgz` must have a file b.en"),
    ):
        with refused.raised(member, names=names):
            unpack(described("talks"), files, ["read.me", member], out)


def in_two(whole: bytes) -> bytes:
    """A plain tar that was cut before its second member."""
    with tarfile.open(fileobj=io.BytesIO(whole)) as archive:
        return whole[: archive.getmembers()[1].offset]


@pytest.mark.parametrize(
    "pack", [bytes, gzip.compress, bz2.compress, lzma.compress], ids=["plain", "gz", "bz2", "xz"]
)
def test_a_tar_without_its_end_is_not_whole(tmp_path, out, pack):
    """Cut between members, with another member's header damaged, or with another one behind it."""
    whole = tar({"a.txt": b"1\n", "b.txt": b"2\n"})
    second = len(in_two(whole))
    for case, content in {
        "cut": in_two(whole),
        "in the header": whole[: second + 100],
        "damaged": whole[:second] + b"\xff" * 512 + whole[second + 512 :],
        "two": whole + tar({"c.txt": b"3\n"}),
    }.items():
        with pytest.raises(UserError, match="must be a complete tar or zip archive"):
            unpack(described(), stored(tmp_path, pack(content)), ["a.txt"], out / case)
    blocks = pack(whole.rstrip(b"\0") + bytes(2048))  # some programs write no more than two
    assert unpack(described(), stored(tmp_path, blocks), ["b.txt"], out / "short")


def test_archives_that_could_be_read_in_two_ways(tmp_path, out):
    twice = tar({"a.txt": b"1\n"})[:1024] + tar({"./a.txt": b"2\n"})
    one, other = (io.BytesIO() for _ in range(2))
    for stream, name in ((one, "a.txt"), (other, "b.txt")):
        with zipfile.ZipFile(stream, "w") as archive:
            archive.writestr(name, "1\n")
    nul = io.BytesIO()
    with tarfile.open(fileobj=nul, mode="w", format=tarfile.PAX_FORMAT) as archive:
        member = tarfile.TarInfo("a.txt")
        member.pax_headers = {"path": "a\0.txt"}
        archive.addfile(member)
    for case, (content, match) in {
        "tar": (twice, "more than one a.txt"),
        "two zips": (one.getvalue() + other.getvalue(), "begins with something else"),
        "NUL": (nul.getvalue(), "must be a complete"),
    }.items():
        with pytest.raises(UserError, match=match):
            unpack(described(), stored(tmp_path, content), ["*"], out / case)


def test_a_zip_with_a_name_twice(tmp_path, out):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive, pytest.warns(UserWarning, match="Duplicate"):
        for content in ("1\n", "2\n"):
            archive.writestr("a.txt", content)
    with pytest.raises(UserError, match=r"more than one a\.txt"):
        unpack(described(), stored(tmp_path, packed.getvalue()), ["a.txt"], out)


def test_what_zstandard_packed_is_named(tmp_path, out):
    with pytest.raises(UserError, match="zstd -d"):
        unpack(described(), stored(tmp_path, b"\x28\xb5\x2f\xfd" + bytes(100)), ["a.txt"], out)


CUTS = [(kind, keep) for kind in KINDS for keep in (0.1, 0.94, 0.99999)]
CUTS.remove(("tar", 0.99999))  # a plain tar ends in zeros that nobody misses


@pytest.mark.parametrize(("kind", "keep"), CUTS)
def test_damage_is_told_in_one_line(tmp_path, out, kind, keep):
    content = KINDS[kind]({"random.txt": os.urandom(100_000), "last.txt": os.urandom(50_000)})
    files = stored(tmp_path, content[: int(len(content) * keep)])
    message = r"^`talks` must be a complete tar or zip .* gave: .[^\n]*$"
    with pytest.raises(UserError, match=message):
        unpack(described("talks"), files, ["*.txt"], out)
    assert not (out / unpacking.RECORD).exists()
    assert not [*out.rglob("*.partial")]


@pytest.mark.parametrize("where", [20_000, -8], ids=["middle", "checksum"])
def test_a_wrong_byte_is_told(tmp_path, out, where):
    # of a length whose last block is a whole one, so that the end is not read by the way
    content = bytearray(gzip.compress(tar({"a.txt": bytes(50_000)}).ljust(2 << 20, b"\0"), 0))
    content[where] ^= 1
    with pytest.raises(UserError, match=r"must be a complete tar or zip archive.*CRC"):
        unpack(described(), stored(tmp_path, bytes(content)), ["a.txt"], out)


@pytest.mark.parametrize(
    "content", [b"", b"just text\n" * 100, gzip.compress(b"text\n", mtime=0), b"PK text"]
)
def test_what_is_no_archive(tmp_path, out, content):
    with pytest.raises(UserError, match="`talks` must be a complete tar or zip archive"):
        unpack(described("talks"), stored(tmp_path, content), ["a.txt"], out)


@pytest.fixture
def passes(monkeypatch):
    """Gets something for every pass over an archive."""
    counted, entries = [], unpacking.entries

    def counting(stream, left_out):
        counted.append(stream)
        return entries(stream, left_out)

    monkeypatch.setattr(unpacking, "entries", counting)
    return counted


def test_a_second_call_does_nothing(tmp_path, out, passes):
    files = stored(tmp_path, tgz(TEXTS))
    first = unpack(described(), files, ["de-en/*.en", "read.me"], out)
    assert unpack(described(), files, ["read.me", "de-en/*.en"], out) == first
    assert len(passes) == 1
    os.utime(out / "read.me", (1, 1))
    unpack(described(), files, ["de-en/train.de", "read.me"], out)
    assert len(passes) == 2
    assert (out / "read.me").stat().st_mtime == 1
    assert unpack(described(), files, ["de-en/*.en"], out)["de-en/*.en"] == first["de-en/*.en"]
    assert len(passes) == 2


@pytest.mark.parametrize("what", ["cut", "gone", "record", "archive"])
def test_what_is_not_as_it_was_is_unpacked_again(tmp_path, out, passes, what):
    files = stored(tmp_path, tar(TEXTS))
    before, expected = files[0].stat(), TEXTS["read.me"]
    unpack(described(), files, ["read.me"], out)
    if what == "cut":
        (out / "read.me").write_text("t")
    elif what == "gone":
        (out / "read.me").unlink()
    elif what == "record":
        (out / unpacking.RECORD).write_text("[")
    else:
        expected = "changed\n"
        stored(tmp_path, tar({**TEXTS, "read.me": expected}))
        os.utime(files[0], ns=(0, before.st_mtime_ns + 1))
        assert files[0].stat().st_size == before.st_size
    unpack(described(), files, ["read.me"], out)
    assert len(passes) == 2
    assert (out / "read.me").read_text() == expected


def test_an_interruption_leaves_nothing_that_looks_whole(tmp_path, out, monkeypatch):
    files = stored(tmp_path, tgz(TEXTS))

    def interrupted(content: io.BufferedIOBase, target: io.BufferedIOBase, _: int) -> None:
        target.write(content.read(100))
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("shutil.copyfileobj", interrupted)
        with pytest.raises(KeyboardInterrupt):
            unpack(described(), files, ["de-en/train.de"], out)
    assert below(out) == []
    (path,) = unpack(described(), files, ["de-en/train.de"], out)["de-en/train.de"]
    assert path.read_text() == TEXTS["de-en/train.de"]


def test_what_cannot_be_written(tmp_path, out, refused):
    files = stored(tmp_path, tgz(TEXTS))
    (tmp_path / "file").write_text("")
    with refused.raised("a file in the way", names="--out"):
        unpack(described("talks"), files, ["read.me"], tmp_path / "file")
    out.mkdir()
    (out / "read.me.partial").symlink_to("/dev/full")
    with refused.raised("no space left", names="No space left on device"):
        unpack(described(), files, ["read.me"], out)
    assert below(out) == []
