"""What becomes one line, and what keeps its traceback."""

import os
import re
from pathlib import Path

import pytest
import torch

from tdo_compat import errors
from tdo_compat.errors import CLOSED, LONGEST, bounded, lacks_memory, one_line, print_line
from tdo_plugin.cli import start_output
from tdo_plugin.errors import UserError

SPAWNED = type("ProcessRaisedException", (Exception,), {})


def line(error):
    return one_line(type(error), error)


def test_only_users_mistakes_become_one_line(monkeypatch):
    for error in (
        ValueError("a"),
        ConnectionResetError(104, "reset"),
        BrokenPipeError(32, "Broken pipe"),
        FileNotFoundError("Caught FileNotFoundError in DataLoader worker process 0.\n..."),
        OSError(9, "Bad file descriptor", 7),
        BlockingIOError(11, "try again", "/x"),
    ):
        assert line(error) is None, error
    assert line(UserError("a")) == "a"
    assert line(KeyboardInterrupt()) == "interrupted"
    place = PermissionError(13, "Permission denied", "/x")
    assert line(place) == "/x: Permission denied"
    assert line(OSError(28, "No space left")) == "No space left"
    assert line(FileNotFoundError("Dataset not found: test (bin)")).startswith("Dataset")
    backend = "AdaptiveLoss is not compatible with the PyTorch version of ..."
    assert line(Exception(backend)) == backend
    text = "Error(s) in loading state_dict for M:\n\tsize mismatch for w: a.\n\tsize mismatch for v"
    assert line(RuntimeError(text)).endswith("M: size mismatch for w: a.")
    hidden = RuntimeError("Cannot load model parameters from checkpoint x.pt; please ensure a lot")
    hidden.__context__ = UserError("the dictionary differs")
    assert line(hidden) == (
        "Cannot load model parameters from checkpoint x.pt: the dictionary differs"
    )
    text = "\n-- Process 0 terminated\nTraceback ...\ntdo_plugin.errors.UserError: a: b\n"
    assert line(SPAWNED(text)) == "a: b"
    assert line(SPAWNED(text.replace("errors.UserError", "x.Bug"))) is None
    monkeypatch.setenv("TDO_TRACEBACK", "1")  # tracebacks can be had
    assert line(UserError("a")) is None


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


def test_what_a_lack_of_memory_is() -> None:
    lacks = {
        "CUDA error: out of memory": True,
        "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`": True,
        "[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried": True,
        "mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)": False,
    }
    assert {text: lacks_memory(RuntimeError(text)) for text in lacks} == lacks
    assert all(lacks_memory(torch.OutOfMemoryError(text)) for text in lacks)


def test_a_lack_of_memory_is_one_line_wherever_it_is():
    """The model or its optimizer may be too large, before there is a batch."""
    error = torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 9 GiB\nSee the manual")
    expected = "not enough memory: CUDA out of memory. Tried to allocate 9 GiB; "
    expected += "`TDO_TRACEBACK=1` shows where"
    assert line(error) == expected
    assert line(MemoryError()).startswith("not enough memory: MemoryError;")
    assert line(OSError(12, "Cannot allocate memory")).startswith("not enough memory")
    text = f"\n-- Process 0 terminated\nTraceback ...\ntorch.OutOfMemoryError: {error}"
    text = text.partition("\nSee")[0] + "\n"
    assert line(SPAWNED(text)) == expected
    hidden = RuntimeError("Cannot load model parameters from checkpoint x.pt; please ensure that")
    hidden.__context__ = error
    assert line(hidden) == expected


def test_a_message_is_bounded_and_on_one_line():
    assert bounded("`--a` must be ü; it is 1") == "`--a` must be ü; it is 1"
    assert bounded("a\nb\x1b[31m\t\u202e\0") == "a\\nb\\x1b[31m\\t\\u202e\\x00"
    for long in ("\0" * 100_000_000, "x" * 5000, "\n" * 3000):
        text = bounded(f"`a` must be b; it is {long} (do c)")
        assert len(text) < LONGEST and text.isprintable()
        assert text.startswith("`a` must be b; it is ") and text.endswith(" (do c)")
        assert f"{len(long) + 28:,} characters in all" in text
    exact = "x" * LONGEST
    assert bounded(exact) == exact
    text = line(UserError("\r" * 10_000))  # every error is shown bounded
    assert text is not None and text.isprintable() and len(text) < LONGEST


def test_all_messages_go_through_one_function():
    root = Path(errors.__file__).parents[1]
    for path in (*root.glob("tdo_compat/*.py"), *(root / "tdo_plugin").rglob("*.py")):
        prints = re.findall(r"print\([^\n]*sys\.stderr", path.read_text(encoding="utf-8"))
        assert len(prints) == (path == Path(errors.__file__)), path


def test_control_characters_of_files_names_are_printed_escaped(capsys):
    start_output.say("a\x1b[2J\n.de")
    assert capsys.readouterr().out == "  a\\x1b[2J\\n.de\n"
