"""Progress on a terminal and elsewhere."""

import io

import pytest

from tdo_plugin.evaluation.decoding.decoding_jobs import Job
from tdo_plugin.evaluation.decoding.pool import Event
from tdo_plugin.evaluation.decoding.progress import ProgressDisplay


@pytest.mark.parametrize("terminal", [False, True])
def test_what_is_shown(terminal):
    stream = io.StringIO()
    stream.isatty = lambda: terminal
    first, second = Job("de-fr", 100), Job("fr-de", 50)
    display = ProgressDisplay([first, second], stream)
    display.show(Event("ready", first))
    display.show(Event("sentences", first, sentences=100))
    display.show(Event("done", first))
    display.show(Event("failed", second, text="no such language"))
    display.close()
    shown = stream.getvalue()
    assert "fr-de: error: no such language" in shown
    if terminal:
        assert "2 of 2 directions" in shown and "150/150" in shown
    else:
        lines = shown.splitlines()
        assert len(lines) == 2
        assert lines[0].startswith("de-fr: 100 sentences; 1 of 2 directions, ")
        assert lines[0].endswith(" left")
