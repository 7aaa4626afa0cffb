"""Files that appear only complete, and a full disk that says which of them it was."""

import errno
import resource
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tdo_compat.errors import named_when_full, one_line
from tdo_plugin.runtime.files import complete_file, replaced, write_text

LIMIT = 1 << 16


@contextmanager
def full_after(size: int) -> Iterator[None]:
    """No file may grow beyond so many bytes, as if the disk were full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def text(path: Path) -> None:
    write_text(path, ["x" * 1000] * 1000)


def picture(path: Path) -> None:
    with replaced(path) as partial:
        partial.write_bytes(b"x" * 1_000_000)


@pytest.mark.parametrize("write", [text, picture])
def test_a_full_disk_names_the_file_and_leaves_what_there_was(write, tmp_path):
    path = tmp_path / "file"
    path.write_text("before")
    with full_after(LIMIT), pytest.raises(OSError) as raised:
        write(path)
    line = one_line(type(raised.value), raised.value)
    assert line == f"{path}: File too large"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"] and path.read_text() == "before"


def test_of_several_files_the_full_one_is_named(tmp_path):
    """The first was opened first and is left last."""
    with full_after(LIMIT), pytest.raises(OSError, match=r"first'$"), ExitStack() as stack:
        first, _ = (
            stack.enter_context(complete_file(tmp_path / name)) for name in ("first", "last")
        )
        while True:
            first.write("x" * 1000)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("words", [(errno.EPIPE, "Broken pipe"), (errno.ENOSPC, "Full", "inner")])
def test_other_errors_and_known_names_stay(tmp_path, words):
    with pytest.raises(OSError) as raised, named_when_full(tmp_path):
        raise OSError(*words)
    assert str(raised.value) == str(OSError(*words))


def test_a_file_is_utf8_with_plain_ends_of_lines(tmp_path):
    write_text(tmp_path / "file", ["ä\r", ""])
    assert (tmp_path / "file").read_bytes() == "ä\r\n\n".encode()
