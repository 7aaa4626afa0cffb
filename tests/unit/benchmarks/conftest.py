"""Fixtures that several files share."""

from types import ModuleType

import pytest


@pytest.fixture(scope="module")
def running() -> ModuleType:
    """`speed.running`, which logs when it is imported."""
    from support.data import kept_logging

    with kept_logging():
        from speed import running
    return running
