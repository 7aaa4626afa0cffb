"""Each place where a value of a file could become code, a program or a place is written down."""

import importlib.util
import re
from pathlib import Path

from support.file_values import KINDS, found

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/design/untrusted-files.md"


def listed():
    """The page's rows: (kind, file) of each file that a table names under a kind's heading."""
    for part in PAGE.read_text("utf-8").split("\n## ")[1:]:
        kind, _, text = part.partition("\n")
        for row in re.findall(r"^\| (`.*?`) \|", text, re.MULTILINE):
            yield from ((kind.lower(), path) for path in re.findall(r"`([^`]+)`", row))


def in_source():
    fairseq = Path(importlib.util.find_spec("fairseq").origin).parent
    yield from found(fairseq, but=fairseq / "examples")
    yield from found(fairseq.with_name("fairseq_cli"))
    # what this package writes is tried by the payload tests, and chosen by its own command line
    package_calls = [*found(ROOT / "tdo_plugin"), *found(ROOT / "tdo_compat")]
    yield from (call for call in package_calls if call[0] != "file writes")


def test_the_page_lists_each_call_of_both_packages():
    rows, calls = set(listed()), set(in_source())
    assert calls - rows == set(), "not in the page"
    assert rows - calls == set(), "no longer in the source"
    assert {kind for kind, _ in rows} == KINDS.keys()
