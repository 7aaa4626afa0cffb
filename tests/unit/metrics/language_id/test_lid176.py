"""lid.176 is found where fasttext-langdetect keeps it, and fetched only when asked to."""

import hashlib

import pytest

from tdo_plugin.errors import UserError
from tdo_plugin.metrics.language_id import lid176
from tdo_plugin.metrics.language_id.lid176 import find_lid176


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """fasttext-langdetect's folder; the project's own is `own/tdo` beside it."""
    folder = tmp_path / "kept"
    folder.mkdir()
    monkeypatch.setenv("FTLANG_CACHE", str(folder))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "own"))
    return folder


@pytest.fixture
def server(tmp_path, monkeypatch):
    """What is to be fetched, with its checksum."""
    path = tmp_path / "server.bin"
    path.write_bytes(b"a model" * 1000)
    monkeypatch.setattr(lid176, "URL", path.as_uri())
    monkeypatch.setattr(lid176, "SHA256", hashlib.sha256(path.read_bytes()).hexdigest())
    return path


def test_the_whole_model_comes_before_the_compressed_one(kept, tmp_path, monkeypatch):
    for path in (
        kept / "lid.176.ftz",
        tmp_path / "own" / "tdo" / "lid.176.bin",
        kept / "lid.176.bin",
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        assert find_lid176() == path
    # without the variable it is among temporary files
    monkeypatch.delenv("FTLANG_CACHE")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    path = tmp_path / "tmp" / "fasttext-langdetect" / "lid.176.bin"
    path.parent.mkdir(parents=True)
    path.touch()
    assert find_lid176() == path


def test_the_model_is_fetched_once_and_not_unasked(kept, server, tmp_path, refused):
    with refused.raised("no model", names="--lid fasttext"):
        find_lid176()
    path = find_lid176(download=True)
    assert path == tmp_path / "own" / "tdo" / "lid.176.bin"
    assert path.read_bytes() == server.read_bytes()
    server.unlink()
    assert find_lid176(download=True) == path
    assert [entry.name for entry in path.parent.iterdir()] == ["lid.176.bin"]


def test_a_wrong_file_is_not_kept(kept, server, tmp_path):
    server.write_bytes(b"something else")
    with pytest.raises(UserError, match=r"`lid\.176\.bin` must have the SHA-256"):
        find_lid176(download=True)
    server.unlink()
    with pytest.raises(UserError, match=r"`--download` must be left out if file:.*it failed:"):
        find_lid176(download=True)
    assert not any((tmp_path / "own" / "tdo").iterdir())
