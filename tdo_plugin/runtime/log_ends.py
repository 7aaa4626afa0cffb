"""The ends of logs, which may be long."""

from __future__ import annotations

from pathlib import Path

END = 1 << 16  # bytes of a log in which what was said last stands


def log_end(log: Path) -> str:
    """The end of a log; empty where there is none."""
    try:
        with log.open("rb") as stream:
            stream.seek(max(0, log.stat().st_size - END))
            return stream.read().decode("utf-8", "replace")
    except OSError:
        return ""


def last_line(log: Path) -> str:
    """The last line of a log that says anything."""
    lines = [line.strip() for line in log_end(log).splitlines() if line.strip()]
    return lines[-1] if lines else "it says nothing"
