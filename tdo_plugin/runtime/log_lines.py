"""Log lines of libraries, held back where they say nothing to a user."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_log_lines(level: int = logging.INFO) -> Iterator[None]:
    """Hold back log lines for so long: fairseq greets whoever imports it and tells what it loads.

    Args:
        level: the highest that is held back, unless a higher one is held back already.
    """
    before = logging.root.manager.disable
    logging.disable(max(level, before))
    try:
        yield
    finally:
        logging.disable(before)
