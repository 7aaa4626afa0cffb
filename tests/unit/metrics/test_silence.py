"""Libraries are silent for as long as asked, and change nothing for the rest of the run."""

import logging
import warnings

import pytest

from tdo_plugin.metrics.silence import quiet_libraries


def test_nothing_is_said_and_nothing_stays(caplog):
    root = logging.getLogger()
    before = list(root.handlers), root.level
    with warnings.catch_warnings(record=True) as seen, pytest.raises(ZeroDivisionError):
        warnings.simplefilter("always")
        with quiet_libraries():
            root.addHandler(logging.NullHandler())  # as logging.basicConfig does
            root.setLevel(logging.INFO)
            logging.getLogger("library").warning("news")
            warnings.warn("more news", stacklevel=1)
            raise ZeroDivisionError
    assert (list(root.handlers), root.level) == before
    assert caplog.messages == [] and seen == []
    logging.getLogger("another").warning("heard again")
    assert caplog.messages == ["heard again"]
