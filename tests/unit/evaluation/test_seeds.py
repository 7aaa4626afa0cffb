"""Systems that are trainings of one: their means."""

from dataclasses import replace

from support.score_sheets import seeded, sheet, system, trained

from tdo_plugin.evaluation.seeds import by_seed, has_seeds, over_seeds


def test_trainings_of_a_system_are_known_by_their_names():
    assert by_seed(seeded()) == {"few": ("few, seed 1", "few, seed 2"), "plain": ("plain",)}
    assert has_seeds(seeded())
    for unseeded in (sheet(), sheet(systems=(trained("few, seed 1"), system("plain")))):
        assert not has_seeds(unseeded)
        assert over_seeds(unseeded) is unseeded


def test_scores_are_means_over_seeds():
    whole = over_seeds(seeded())
    assert [scores.name for scores in whole.systems] == ["few", "plain"]
    assert whole.mean("few", "en → X", "bleu") == 30.02 + 1.5
    assert whole.mean("few", "en → X", "off") == 2.005
    assert whole.system("few").of("ar-de") is None
    assert whole.system("few").pooled == {"all": {"bleu": 21.5}, "mine": {}}
    row = whole.system("few").of("en-ar")
    assert row is not None and row.shares["target"] == 100 - 4.01
    assert whole.system("plain") == system("plain")
    assert (whole.comparisons, whole.examples) == ((), ())


def test_what_a_seed_lacks_has_no_mean():
    lame = trained("few, seed 2")
    first, *others = lame.directions
    lame = replace(lame, directions=(replace(first, scores={"off": 1.0}), *others[1:]))
    whole = over_seeds(sheet(systems=(trained("few, seed 1"), lame), comparisons=()))
    rows = {row.direction: row.scores for row in whole.system("few").directions}
    assert "en-de" not in rows
    assert rows["en-ar"] == {"off": (4.01 + 1.0) / 2}
