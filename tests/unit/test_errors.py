"""What becomes one line, and what keeps its traceback."""

import os
import re
from pathlib import Path

import pytest
import torch

from tdo_compat import errors
from tdo_compat.errors import CLOSED, LONGEST, bounded, lacks_memory, one_line, print_line
from tdo_plugin.errors import UserError


def test_tracebacks_can_be_had(monkeypatch):
    monkeypatch.setenv("TDO_TRACEBACK", "1")
    assert one_line(UserError, UserError("a")) is None


def test_only_users_mistakes_become_one_line():
    assert one_line(UserError, UserError("a")) == "a"
    assert one_line(ValueError, ValueError("a")) is None
    assert one_line(KeyboardInterrupt, KeyboardInterrupt()) == "interrupted"
    place = PermissionError(13, "Permission denied", "/x")
    assert one_line(PermissionError, place) == "[Errno 13] Permission denied: '/x'"
    assert one_line(OSError, OSError(28, "No space left")) == "[Errno 28] No space left"
    assert one_line(ConnectionError, ConnectionResetError(104, "reset")) is None
    assert one_line(BrokenPipeError, BrokenPipeError(32, "Broken pipe")) is None
    worker = FileNotFoundError("Caught FileNotFoundError in DataLoader worker process 0.\n...")
    assert one_line(FileNotFoundError, worker) is None
    assert one_line(OSError, OSError(9, "Bad file descriptor", 7)) is None
    assert one_line(BlockingIOError, BlockingIOError(11, "try again", "/x")) is None
    missing = FileNotFoundError("Dataset not found: test (bin)")
    assert one_line(FileNotFoundError, missing).startswith("Dataset")
    backend = "AdaptiveLoss is not compatible with the PyTorch version of ..."
    assert one_line(Exception, Exception(backend)) == backend
    text = "Error(s) in loading state_dict for M:\n\tsize mismatch for w: a.\n\tsize mismatch for v"
    assert one_line(RuntimeError, RuntimeError(text)).endswith("M: size mismatch for w: a.")
    hidden = RuntimeError("Cannot load model parameters from checkpoint x.pt; please ensure a lot")
    hidden.__context__ = UserError("the dictionary differs")
    expected = "Cannot load model parameters from checkpoint x.pt: the dictionary differs"
    assert one_line(RuntimeError, hidden) == expected
    spawned = type("ProcessRaisedException", (Exception,), {})
    text = "\n-- Process 0 terminated\nTraceback ...\ntdo_plugin.errors.UserError: a: b\n"
    assert one_line(spawned, spawned(text)) == "a: b"
    assert one_line(spawned, spawned(text.replace("errors.UserError", "x.Bug"))) is None


def test_a_gone_reader_ends_the_program_without_a_word(monkeypatch):
    reader, writer = os.pipe()
    with open(writer, "w", encoding="utf-8") as stream:
        monkeypatch.setattr("sys.stdout", stream)
        print_line("a")
        assert os.read(reader, 9) == b"a\n"
        os.close(reader)
        with pytest.raises(SystemExit) as ended:
            print_line("b")
        stream.write("what Python still has to write when it ends")
    assert ended.value.code == CLOSED


@pytest.mark.parametrize(
    ("text", "lacks"),
    [
        ("CUDA error: out of memory", True),
        ("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`", True),
        ("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried", True),
        ("mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)", False),
    ],
)
def test_what_a_lack_of_memory_is(text: str, lacks: bool) -> None:
    assert lacks_memory(RuntimeError(text)) == lacks
    assert lacks_memory(torch.OutOfMemoryError(text))


def test_a_lack_of_memory_is_one_line_wherever_it_is():
    """The model or its optimizer may be too large, before there is a batch."""
    error = torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 9 GiB\nSee the manual")
    expected = "not enough memory: CUDA out of memory. Tried to allocate 9 GiB; "
    assert one_line(type(error), error) == expected + "`TDO_TRACEBACK=1` shows where"
    assert one_line(MemoryError, MemoryError()).startswith("not enough memory: MemoryError;")
    assert one_line(OSError, OSError(12, "Cannot allocate memory")).startswith("not enough memory")
    spawned = type("ProcessRaisedException", (Exception,), {})
    text = f"\n-- Process 0 terminated\nTraceback ...\ntorch.OutOfMemoryError: {error}"
    text = text.partition("\nSee")[0] + "\n"
    assert one_line(spawned, spawned(text)) == expected + "`TDO_TRACEBACK=1` shows where"
    hidden = RuntimeError("Cannot load model parameters from checkpoint x.pt; please ensure that")
    hidden.__context__ = error
    assert one_line(RuntimeError, hidden) == expected + "`TDO_TRACEBACK=1` shows where"


def test_a_message_is_bounded_and_on_one_line():
    assert bounded("`--a` must be ü; it is 1") == "`--a` must be ü; it is 1"
    assert bounded("a\nb\x1b[31m\t\u202e\0") == "a\\nb\\x1b[31m\\t\\u202e\\x00"
    for long in ("\0" * 100_000_000, "x" * 5000, "\n" * 3000):
        line = bounded(f"`a` must be b; it is {long} (do c)")
        assert len(line) < LONGEST and line.isprintable()
        assert line.startswith("`a` must be b; it is ") and line.endswith(" (do c)")
        assert f"{len(long) + 28:,} characters in all" in line
    exact = "x" * LONGEST
    assert bounded(exact) == exact


def test_every_error_is_shown_bounded():
    text = one_line(UserError, UserError("\r" * 10_000))
    assert text is not None and text.isprintable() and len(text) < LONGEST


def test_all_messages_go_through_one_function():
    root = Path(errors.__file__).parents[1]
    for path in (*root.glob("tdo_compat/*.py"), *(root / "tdo_plugin").rglob("*.py")):
        prints = re.findall(r"print\([^\n]*sys\.stderr", path.read_text(encoding="utf-8"))
        assert len(prints) == (path == Path(errors.__file__)), path
