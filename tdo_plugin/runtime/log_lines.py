"""Suppresses log lines of libraries that do not help users."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_log_lines(level: int = logging.INFO) -> Iterator[None]:
    """Suppress log lines inside, such as fairseq's on import and when it loads files.

    Args:
        level: the highest level to suppress, unless a higher one is already suppressed.
    """
    before = logging.root.manager.disable
    logging.disable(max(level, before))
    try:
        yield
    finally:
        logging.disable(before)
