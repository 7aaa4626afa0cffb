"""A scores.json in which one value is wrong: one line, or the same report as without."""

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from support.score_sheets import sheet

from tdo_plugin.errors import UserError
from tdo_plugin.evaluation.report import report_tables
from tdo_plugin.evaluation.report.text_tables import terminal
from tdo_plugin.evaluation.score_sheet import as_json
from tdo_plugin.evaluation.sheet_reading import read_sheet

WRONG = (None, True, -1, 2**70, 1e300, float("nan"), "", "x", "\x1b[31m", [], [1], {}, {"x": 1})


def places(value: Any, above: tuple = ()) -> list[tuple]:
    """The way to each value of a document."""
    if not isinstance(value, dict | list):
        return [above]
    items = value.items() if isinstance(value, dict) else enumerate(value)
    return [above, *(way for key, item in items for way in places(item, (*above, key)))]


def mutants(some: slice) -> Iterator[tuple[tuple, Any, Any]]:
    document = json.loads(json.dumps(as_json(sheet())))
    for way in places(document)[1:][some]:
        for wrong in WRONG:
            changed = copy.deepcopy(document)
            holder = changed
            for key in way[:-1]:
                holder = holder[key]
            if type(holder[way[-1]]) is not type(wrong) or holder[way[-1]] != wrong:
                holder[way[-1]] = wrong
                yield way, wrong, changed


@pytest.mark.parametrize(
    ("some", "least"),
    [(slice(0, None, 4), 500), pytest.param(slice(None), 2000, marks=pytest.mark.full)],
)
def test_each_value_replaced_is_refused_or_harmless(tmp_path, some, least):
    path = tmp_path / "scores.json"
    counts = {"refused": 0, "read": 0}
    for way, wrong, changed in mutants(some):
        path.write_text(json.dumps(changed), encoding="utf-8")
        try:
            read = read_sheet(path)
        except UserError as error:
            counts["refused"] += 1
            assert str(error).startswith(
                ("`SCORES` must be a scores.json of tdo score", "`scores.json` must have ")
            ), (way, wrong)
            continue
        counts["read"] += 1
        terminal(report_tables.summary(read), 100, False)
        # what is read is as it stands there
        assert json.loads(json.dumps(as_json(read)))["means"] == changed["means"], (way, wrong)
    assert counts["refused"] > least and counts["read"] > 0, counts


def test_other_documents_are_refused(tmp_path, refused):
    path = tmp_path / "scores.json"
    texts = ("", "[", "[1]", "null", "{}", '{"format": 1}', '{"format": 99}', "[" * 100_000)
    for text in (*texts, '{"format": 1, "means": {}}'):
        path.write_text(text)
        with refused.raised(text[:30], names="scores.json of tdo score"):
            read_sheet(path)
    with refused.raised("no file", names="No such file"):
        read_sheet(tmp_path / "none.json")
