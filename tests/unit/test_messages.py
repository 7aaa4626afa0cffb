"""What becomes one line, and what keeps its traceback."""

from tdo_plugin.errors import UserError
from tdo_plugin_messages import one_line


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
    worker = FileNotFoundError("Caught FileNotFoundError in DataLoader worker process 0.\n...")
    assert one_line(FileNotFoundError, worker) is None
    assert one_line(OSError, OSError(9, "Bad file descriptor", 7)) is None
    assert one_line(BlockingIOError, BlockingIOError(11, "try again", "/x")) is None
    missing = FileNotFoundError("Dataset not found: test (bin)")
    assert one_line(FileNotFoundError, missing).startswith("Dataset")
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
