"""The numbers as CSV and JSON equal the sheet's."""

import json

import pytest
from support.commands import csv_rows
from support.score_sheets import SCORES, sheet

from tdo_plugin.evaluation.report.published_comparison import beside
from tdo_plugin.evaluation.report.report_files import slugs, write_csv, write_json, write_matrix


def test_csv_has_every_mean_and_score(tmp_path):
    score_sheet = sheet()
    write_csv(tmp_path / "r.csv", score_sheet, [])
    rows = csv_rows(tmp_path / "r.csv")
    written = {(r["system"], r["scope"], r["of"], r["metric"]): float(r["value"]) for r in rows}
    assert len(written) == len(rows)
    for direction, systems in SCORES.items():
        for name, values in systems.items():
            for metric, value in zip(("bleu", "off", "perplexity"), values, strict=True):
                assert written.pop((name, "direction", direction, metric)) == value
    assert written.pop(("few", "pooled", "all", "bleu")) == 21.5
    assert written.pop(("plain", "pooled", "all", "bleu")) == 21.5
    for (name, scope, group, metric), value in written.items():
        assert scope == "group" and value == score_sheet.mean(name, group, metric)
    assert len(written) == 3 * (5 + 4)  # `few` has no zero-shot direction


def test_csv_has_differences_where_they_were_tested(tmp_path):
    write_csv(tmp_path / "r.csv", sheet(), [])
    rows = [row for row in csv_rows(tmp_path / "r.csv") if row["p"]]
    assert {row["system"] for row in rows} == {"few"}
    assert [(row["scope"], row["of"]) for row in rows] == [
        *(("group", "en → X"), ("group", "X → en"), ("direction", "en-ar"), ("direction", "ar-en"))
    ]
    first = [rows[0][key] for key in ("baseline", "difference", "low", "high", "p")]
    assert first == ["plain", "15.02", "10.0", "20.0", "0.0004"]


def test_published_figures_name_their_table(tmp_path):
    write_csv(tmp_path / "r.csv", sheet(), beside("tdo:1", sheet()))
    rows = [row for row in csv_rows(tmp_path / "r.csv") if row["source"] == "tdo:1"]
    keys = ("system", "scope", "of", "metric", "value")
    expected = ["TED-19, N=6, d=512: encoder-decoder", "group", "zero-shot", "off", "3.82"]
    assert expected in [[row[key] for key in keys] for row in rows]
    assert {row["metric"] for row in rows} == {"bleu", "off"}  # what the sheet has too


def test_a_matrix_is_blank_where_a_direction_is_missing(tmp_path):
    write_matrix(tmp_path / "m.csv", sheet(), "few", "bleu")
    assert (tmp_path / "m.csv").read_text().splitlines() == [
        "source,en,ar,de",
        "en,,30.04,30.0",
        "ar,39.99,,",
        "de,,,",
    ]


def test_json_has_sheet_means_and_published_rows(tmp_path):
    score_sheet = sheet()
    write_json(tmp_path / "r.json", score_sheet, beside("tdo:1", score_sheet))
    content = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    assert content["means"]["plain"]["mine"]["bleu"] == score_sheet.mean("plain", "mine", "bleu")
    assert content["systems"][0]["provenance"]["checkpoint"] == {"sha256": "9f<2>c"}
    assert content["published"][0]["key"] == "tdo:1"


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["TDO + CL", "a/b", "模型"], ["TDO_+_CL", "a_b", "模型"]),
        (["a b", "a/b", "A_b"], ["a_b", "a_b-2", "A_b-3"]),
        (["..", "/"], ["system", "system-2"]),
    ],
)
def test_slugs_are_file_names_and_differ(names, expected):
    assert [*slugs(names).values()] == expected
