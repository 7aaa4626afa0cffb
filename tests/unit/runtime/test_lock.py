"""One run at a time writes to a folder."""

import fcntl
import threading

import pytest

from tdo_plugin.errors import UserError
from tdo_plugin.runtime.lock import LOCK, alone, is_locked


def test_two_runs_do_not_write_to_one_folder(tmp_path):
    refused = pytest.raises(UserError, match="no other run")
    with alone(tmp_path), refused, alone(tmp_path, patience=0.1):
        pass
    with alone(tmp_path):
        pass


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
    with (tmp_path / LOCK).open() as asking:
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
