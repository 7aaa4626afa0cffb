"""One run at a time writes to a folder."""

import errno
import fcntl
import os
import socket
import threading

import pytest

from tdo_plugin.errors import UserError
from tdo_plugin.runtime import lock
from tdo_plugin.runtime.lock import LOCK, alone, is_locked


def test_two_runs_do_not_write_to_one_folder(tmp_path):
    refused = pytest.raises(UserError, match="no other run")
    with alone(tmp_path), refused, alone(tmp_path, patience=0.1):
        pass
    with alone(tmp_path):
        pass


def test_nothing_is_left(tmp_path, refused):
    """Neither the lock's file, nor empty folders that it made; another's stays."""
    with pytest.raises(KeyError), alone(tmp_path / "a" / "new"):
        raise KeyError
    with alone(tmp_path / "b"):
        (tmp_path / "b" / "result").touch()
    with pytest.raises(KeyError), alone(tmp_path / "b"):
        raise KeyError
    (tmp_path / "c").mkdir()
    with alone(tmp_path / "c"):
        pass
    assert {*tmp_path.rglob("*")} == {tmp_path / name for name in ("b", "b/result", "c")}


def test_a_process_that_has_the_lock_keeps_it_afterwards(tmp_path):
    reader, writer = os.pipe()
    with alone(tmp_path):
        child = os.fork()
        if not child:
            os.close(writer)
            os.read(reader, 1)
            os._exit(0)
    with pytest.raises(UserError, match="no other run"), alone(tmp_path, patience=0):
        pass
    os.close(writer)
    os.waitpid(child, 0)
    assert not is_locked(tmp_path)


def test_a_file_system_without_locks_is_written_to_with_a_warning(tmp_path, monkeypatch, caplog):
    def lockless(stream, kind):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", lockless)
    with alone(tmp_path):
        assert f"{tmp_path / LOCK} cannot be locked" in caplog.text


def test_the_refusal_says_who_writes(tmp_path):
    me = f"process {os.getpid()} of {socket.gethostname()} is"
    with alone(tmp_path), pytest.raises(UserError, match=me), alone(tmp_path, patience=0):
        pass


def test_a_lock_that_was_removed_while_it_was_opened_does_not_count(tmp_path, monkeypatch):
    """Else two runs would hold locks on two files of one name."""
    taken = lock._taken

    def late(stream):
        monkeypatch.setattr(lock, "_taken", taken)
        (tmp_path / LOCK).unlink()
        return taken(stream)

    monkeypatch.setattr(lock, "_taken", late)
    with alone(tmp_path):
        assert is_locked(tmp_path)


def test_what_a_killed_run_leaves_behind_is_waited_for(tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    left = (out / LOCK).open("w")
    fcntl.flock(left, fcntl.LOCK_EX)
    ending = threading.Timer(0.5, left.close)
    ending.start()
    with alone(out):
        assert left.closed


def test_asking_for_a_lock_does_not_take_it(tmp_path):
    assert not is_locked(tmp_path)
    with alone(tmp_path):
        assert is_locked(tmp_path)
    with (tmp_path / LOCK).open("w") as asking:
        fcntl.flock(asking, fcntl.LOCK_SH)  # as another worker that waits for a shard
        assert not is_locked(tmp_path)


def test_preprocess_keeps_out_of_a_folder_in_the_making(tmp_path, refused):
    text, out = tmp_path / "text", tmp_path / "data"
    text.mkdir()
    for language in ("de", "en"):
        (text / f"train.de-en.{language}").write_text("a\n")
    with alone(out):
        refused("preprocess", text, out, names="no other run")
    (tmp_path / "file").touch()
    for place in (tmp_path / "file", tmp_path / "file" / "below"):
        refused("preprocess", text, place, names="DATA")
