"""A data folder's tables and histogram."""

from collections.abc import Iterable
from pathlib import Path

from tdo_plugin.corpora.prepared_corpus import corpus_made
from tdo_plugin.data.databin import DataFolder
from tdo_plugin.data.inventory import BOUNDS, BinarisedSet, Side
from tdo_plugin.evaluation.published.corpus_sizes import CorpusSizes
from tdo_plugin.evaluation.report.data_tables import directions_table, histogram, languages_table
from tdo_plugin.evaluation.report.table import ABSENT, Block

DATA = DataFolder(
    Path("data"),
    languages=("en", "de", "fr"),
    directions=("en-de", "de-en"),
    test_directions=("en-de", "de-fr"),
)


def counted_set(split: str, first: str, second: str, size: int, unknown: int = 0) -> BinarisedSet:
    sides = {first: Side(size, 10 * size, unknown, 20), second: Side(size, 1000 * size, 0, 30)}
    return BinarisedSet(split, (first, second), sides)


SETS = [
    counted_set("train", "en", "de", 2, unknown=3),
    counted_set("valid", "en", "de", 1),
    counted_set("test", "de", "en", 4, unknown=1),
    counted_set("test", "fr", "de", 5),
]


def shown(blocks: Iterable[Block]) -> dict[str, list[str]]:
    return {row.labels[0]: [c.text for c in row.cells] for block in blocks for row in block.rows}


def test_each_direction_has_its_own_source_and_target():
    table = directions_table(DATA, SETS)
    assert table.spans() == [("train", 3), ("valid", 3), ("test", 3)]
    absent = ["–"] * 3  # noqa: RUF001
    assert [block.title for block in table.blocks] == ["supervised", "zero-shot"]
    assert shown(table.blocks) == {
        "en-de": [*("2", "20", "2,000"), *("1", "10", "1,000"), *("4", "4,000", "40")],
        "de-en": [*("2", "2,000", "20"), *("1", "1,000", "10"), *absent],
        "de-fr": [*absent, *absent, *("5", "5,000", "50")],
    }


def test_languages_have_the_share_of_what_is_unknown():
    table = languages_table(DATA, SETS)
    assert shown(table.blocks) == {
        "en": ["2", "20", "10.0", "20", "15.000", "0", "0"],
        "de": ["2", "2,000", "1000.0", "30", "0", "0", "0.020"],
        "fr": ["0", "0", "0.0", "0", "–", "–", "0"],  # noqa: RUF001
    }


def test_a_histogram_ends_with_the_longest():
    lengths = [0] * (len(BOUNDS) + 1)
    lengths[0], lengths[2] = 1200, 300
    side = Side(1500, 0, 0, longest=25, lengths=tuple(lengths))
    assert histogram(side, 31) == [
        " 1-10  1,200  " + "█" * 17,
        "11-20      0",
        "21-30    300  " + "█" * 4,
    ]
    assert histogram(Side(), 30) == ["1-10  0"]
    very_long = Side(1, 2000, 0, 2000, (0,) * len(BOUNDS) + (1,))
    assert histogram(very_long, 40)[-1].strip().startswith(f"{BOUNDS[-1] + 1}-  1  █")


def test_a_paper_s_sizes_stand_beside_those_that_were_counted():
    plain = [column.name for column in languages_table(DATA, SETS).columns]
    table = languages_table(DATA, SETS, CorpusSizes("TDO, Table 5", {"de": 167_888}))
    columns = [column.name for column in table.columns]
    assert columns == [plain[0], "TDO, Table 5", *plain[1:]]  # behind the sentences
    cells = {language: cells[1] for language, cells in shown(table.blocks).items()}
    assert cells == {"en": ABSENT, "de": "167,888", "fr": ABSENT}


def test_a_folder_says_what_corpus_it_was_prepared_of(tmp_path):
    assert corpus_made(tmp_path) == ("", "")
    ted = '{"corpus": "ted19", "variant": "", "sample": null}'
    for content, made in ((ted, ("ted19", "")), ("[]", ("", ""))):
        (tmp_path / "prepare.json").write_text(content)
        assert corpus_made(tmp_path) == made
