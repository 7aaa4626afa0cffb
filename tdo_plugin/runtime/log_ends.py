"""The ends of log files, which may be long."""

from __future__ import annotations

from pathlib import Path

END = 1 << 16  # bytes at the end of a log that are read


def log_end(log: Path) -> str:
    """The end of a log; empty if the log is missing."""
    try:
        with log.open("rb") as stream:
            stream.seek(max(0, log.stat().st_size - END))
            return stream.read().decode("utf-8", "replace")
    except OSError:
        return ""


def last_line(log: Path) -> str:
    """The last non-empty line of a log."""
    lines = [line.strip() for line in log_end(log).splitlines() if line.strip()]
    return lines[-1] if lines else "the log is empty"
