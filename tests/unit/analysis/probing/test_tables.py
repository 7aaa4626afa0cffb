"""Rows and pictures, from outcomes made by hand."""

from pathlib import Path

import torch

from tdo_plugin.analysis.probing import probing_figures, probing_tables
from tdo_plugin.analysis.probing.probing_results import CheckpointOutcome, LayerOutcome, TestTokens
from tdo_plugin.analysis.probing.states import TokenStates

SYMBOLS = ["<s>", "<pad>", "</s>", "<unk>", "▁Der", "▁он", "7", ".", "▁die", "__de__"]
TYPES = torch.tensor([False] * 4 + [True] * 5 + [False])
# two sentences of de-ru and one of ru-de
TOKENS = torch.tensor([4, 6, 7, 4, 7, 5, 7])
POSITIONS = torch.tensor([0, 1, 2, 0, 1, 0, 1])
DIRECTIONS = torch.tensor([0, 0, 0, 0, 0, 1, 1])
LINES = torch.tensor([0, 0, 0, 1, 1, 0, 0])


def token_states(kept=slice(None)):
    return TokenStates(TOKENS[kept].clone(), POSITIONS[kept], LINES[kept], DIRECTIONS[kept], {})


def checkpoint(updates, layer, *rights):
    """One whose layers from 1 on have these tokens right."""
    layers = {
        number: LayerOutcome((sum(right) / 7,), torch.tensor(right).double())
        for number, right in enumerate(rights, start=1)
    }
    return CheckpointOutcome(Path("x.pt"), updates, layer, layers)


# the second sentence is all that probes are trained on, so position 2 is beyond
TEST = TestTokens(token_states(slice(3, 5)), token_states(), SYMBOLS, TYPES, ["de-ru", "ru-de"])
MODELS = {
    "rc": [checkpoint(9, 1, [1, 0, 0, 0, 0, 1, 0])],
    "tpdm": [checkpoint(5, 2, [0] * 7, [1] * 7), checkpoint(9, 2, [0] * 7, [1, 1, 0, 1, 0, 0, 1])],
}


def test_over_updates_the_layer_of_the_model_counts():
    table = probing_tables.updates(MODELS)
    assert table.head == ("model", "updates", "layer", "accuracy", "least", "most")
    rc, tpdm = [round(100 * share, 4) for share in (2 / 7, 4 / 7)]
    assert table.rows == (
        ("rc", 9, 1, rc, rc, rc),
        ("tpdm", 5, 2, 100, 100, 100),
        ("tpdm", 9, 2, tpdm, tpdm, tpdm),
    )
    assert [row[:4] for row in probing_tables.layers(MODELS).rows] == [
        ("rc", 9, 1, rc),
        ("tpdm", 9, 1, 0),
        ("tpdm", 9, 2, tpdm),
    ]


def test_classes_by_hand():
    """Beside them the guess: Der at 0, the stop at 1, what is not known at 0."""
    rows = {row[1]: row[2:] for row in probing_tables.classes(MODELS, TEST).rows}
    third = round(100 / 3, 4)
    assert rows["all"] == (7, round(200 / 7, 4), round(400 / 7, 4), round(500 / 7, 4))
    assert rows["capital"] == (2, 50, 100, 100)
    assert rows["number"] == (1, 0, 100, 0)
    assert rows["punctuation"] == (3, 0, third, round(200 / 3, 4))
    assert rows["de"] == (5, 20, 60, 60)
    assert rows["ru"] == (2, 50, 50, 100)
    assert rows["Latin"] == rows["capital"]
    assert rows["Cyrillic"] == (1, 100, 0, 100)
    assert TEST.beyond == 1 and TEST.trained_positions == 2


def test_one_script_is_no_class():
    only = token_states(slice(0, 5))
    groups = TestTokens(only, only, SYMBOLS, TYPES, ["de-ru"]).groups
    assert set(groups) == {"kind", "language"} and set(groups["language"]) == {"de"}
    # models must read the same tokens
    assert TEST.same_as(token_states())
    assert not TEST.same_as(token_states(slice(1, None)))


def test_table_4_by_hand():
    """With TPDM rise Der (1/2 to 1), 7 (0 to 1) and the stop (0 to 1/3); он falls."""
    table = probing_tables.type_shares(MODELS, "rc", TEST)
    names = ("capital", "number", "punctuation", "Latin", "Cyrillic")
    assert table.head == ("among", "types", *names)
    third = round(100 / 3, 4)
    assert table.rows == (
        ("vocabulary", 5, 20, 20, 20, 40, 20),
        ("tested", 4, 25, 25, 25, 25, 25),
        ("tpdm > rc", 3, third, third, third, third, 0),
    )
    against_tpdm = probing_tables.type_shares(MODELS, "tpdm", TEST)
    assert against_tpdm.rows[2] == ("rc > tpdm", 1, 0, 0, 0, 0, 100)


def test_unknown_words_are_tokens_of_no_class_and_no_types():
    """`<unk>` looks Latin."""
    fit, unknown = token_states(), token_states()
    unknown.tokens[0] = 3
    test = TestTokens(fit, unknown, SYMBOLS, TYPES, ["de-ru", "ru-de"])
    members = test.groups["script"]["Latin"]
    assert members.tolist() == [False, False, False, True, False, False, False]
    assert probing_tables.classes(MODELS, test).rows[0][2] == 7
    assert int(test.tested_types.sum()) == 4
    gained = {"none": [checkpoint(9, 1, [0] * 7)], "all": [checkpoint(9, 1, [1] * 7)]}
    assert probing_tables.type_shares(gained, "none", test).rows[2][1] == 4
    assert "<unk>" not in [row[0] for row in probing_tables.types(MODELS, test).rows]


def test_types_stand_by_frequency():
    rows = probing_tables.types(MODELS, TEST).rows
    assert [row[:4] for row in rows] == [
        (".", 3, "punctuation", ""),
        ("▁Der", 2, "capital", "Latin"),
        ("▁он", 1, "", "Cyrillic"),
        ("7", 1, "number", ""),
    ]
    assert rows[1][4:] == (50, 100)


def test_pictures_name_what_they_show_and_equal_numbers_make_equal_files(tmp_path):
    bars = {"_rc": {"capital": 1.0, "de": 2.0}, "a$b$": {"capital": 3.0, "de": 4.0}}
    overall, guess, groups = {"_rc": 1.5, "a$b$": 3.5}, bars["_rc"], [["capital"], ["de"]]
    first, second, third = (tmp_path / f"{name}.svg" for name in "abc")
    for path in (first, second):
        probing_figures.draw_classes(bars, overall, guess, groups, "title", [path])
    drawn = first.read_text(encoding="utf-8")
    legend = (probing_figures.GUESS, probing_figures.OVERALL, probing_figures.ACCURACY)
    assert all(text in drawn for text in (">capital<", ">de<", "_rc<", ">a$b$<", *legend))
    assert first.read_bytes() == second.read_bytes()
    lines, paths = {"one": [(1, 20.0), (2, 30.0)], "two": [(1, 5.0)]}, [third, tmp_path / "c.png"]
    probing_figures.draw_lines(lines, 7.5, "updates", "title", paths)
    drawn = third.read_text(encoding="utf-8")
    assert all(f">{text}<" in drawn for text in ("one", "two", "updates", "title"))
    assert paths[1].read_bytes().startswith(b"\x89PNG")
