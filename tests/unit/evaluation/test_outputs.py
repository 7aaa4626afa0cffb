"""Reading what a system translated, from `tdo translate`, fairseq-generate, or elsewhere."""

import json

import pytest

from tdo_plugin.evaluation.outputs import (
    Texts,
    directions_of,
    read_generated,
    read_summary,
    read_texts,
    write_direction,
)

TEXTS = Texts("de-fr", ("eins", "zwei"), ("un", ""), ("un", "deux"))


def test_what_is_written_is_read(tmp_path):
    write_direction(tmp_path, TEXTS, [{"id": 0}, {"id": 1}], {"sentences": 2})
    assert read_texts(tmp_path, "de-fr") == TEXTS
    assert read_summary(tmp_path, "de-fr") == {"sentences": 2}
    records = (tmp_path / "de-fr.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line) for line in records] == [{"id": 0}, {"id": 1}]
    assert directions_of(tmp_path) == ["de-fr"]


def test_a_file_of_another_tool_needs_only_hypotheses_and_references(tmp_path):
    (tmp_path / "de-fr.hyp").write_text("un\ndeux")
    (tmp_path / "de-fr.ref").write_text("un\ndeux\n")
    (tmp_path / "notes.hyp").write_text("no direction\n")
    assert directions_of(tmp_path) == ["de-fr"]
    assert read_texts(tmp_path, "de-fr") == Texts("de-fr", None, ("un", "deux"), ("un", "deux"))


def test_references_come_from_the_data_folder(data, tmp_path):
    system = tmp_path / "system"
    system.mkdir()
    (system / "de-fr.hyp").write_text("a\nb\nc\n")
    texts = read_texts(system, "de-fr", data)
    assert texts.references[0] == "le chien voit la maison blanche"
    assert texts.sources is not None and texts.sources[2] == "sie hat kein Wasser"


def test_fairseqs_output_is_sorted_and_joined(data, tmp_path):
    system = tmp_path / "system"
    (system / "de-fr").mkdir(parents=True)
    lines = (data.root / "reference" / "test.fr").read_text(encoding="utf-8").split("\n")
    output = [f"H-{n}\t-0.5\t▁{lines[n].replace(' ', ' ▁')}\n" for n in (2, 0, 1)]
    (system / "de-fr" / "generate-test.txt").write_text("".join(output), encoding="utf-8")
    assert directions_of(system) == ["de-fr"]
    texts = read_texts(system, "de-fr", data)
    assert texts.hypotheses == texts.references


def test_files_that_do_not_fit(tmp_path, refused):
    for files, names in (
        ({"hyp": "un\n"}, "de-fr.ref"),
        ({"hyp": "un\n", "ref": ""}, "de-fr.ref"),
        ({"hyp": "un\n", "ref": "un\ndeux\n"}, "the reference, 2; it has 1"),
        ({"hyp": "un\n", "ref": "un\n", "src": ""}, "de-fr.src"),
        ({"ref": "un\n"}, "fairseq-generate"),
    ):
        (folder := tmp_path / "-".join(files)).mkdir(exist_ok=True)
        for suffix, text in files.items():
            (folder / f"de-fr.{suffix}").write_text(text)
        with refused.raised(f"{files}", names=names):
            read_texts(folder, "de-fr")
    with refused.raised("no hypotheses", names="SOURCE-TARGET.hyp"):
        directions_of(tmp_path)
    path = tmp_path / "generate-test.txt"
    for lines, names in (
        ("H-0\t-1\ta\n", "2 hypotheses; it has 1, sentence 1 is missing"),
        ("H-0\t-1\ta\nH-1\t-1\tb\nH-2\t-1\tc\n", "2 hypotheses; it has 3"),
        ("H-x\t-1\ta\n", "H-ID<tab>score<tab>text"),
    ):
        path.write_text(lines, encoding="utf-8")
        with refused.raised(repr(lines), names=names):
            read_generated(path, 2)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("H-1\t-1\t▁b b\nH-0\t-2\t▁a ▁a\n", ["a a", "bb"]),
        ("H-0\t-1\ta a\nH-1\t-1\tb\n", ["a a", "b"]),
        ("S-0\tx\nH-0\t-1\t▁best\nH-0\t-2\t▁worse\nH-1\t-1\n", ["best", ""]),
    ],
)
def test_lines_of_fairseq_generate(tmp_path, text, expected):
    (tmp_path / "out").write_text(text, encoding="utf-8")
    assert read_generated(tmp_path / "out", 2) == expected
