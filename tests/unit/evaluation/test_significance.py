"""The paired bootstrap is SacreBLEU's; a group's mean varies as independent directions do."""

import numpy as np
import pytest
from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.significance import PairedTest, estimate_ci

from tdo_plugin.evaluation.score_sheet import mean
from tdo_plugin.evaluation.significance import _means, compare, resample
from tdo_plugin.metrics.sacrebleu_scores import text_metric
from tdo_plugin.metrics.statistics import Statistics, mean_of_segments

TEXT = "the a small big white dog cat bird house book sees reads likes has today now here not"
WORDS = TEXT.split()
PLAIN = {"bleu": BLEU(force=True), "chrf": CHRF(word_order=2), "ter": TER()}


def noisy(lines: list[str], share: float, seed: int) -> list[str]:
    generator = np.random.default_rng(seed)
    return [
        " ".join(generator.choice(WORDS) if generator.random() < share else word for word in words)
        for words in (line.split() for line in lines)
    ]


@pytest.fixture(scope="module")
def text():
    generator = np.random.default_rng(1)
    # an odd number of sentences, and uneven ones
    references = [" ".join(generator.choice(WORDS, size=3 + row % 13)) for row in range(81)]
    return {
        "reference": references,
        "baseline": noisy(references, 0.4, 2),
        "close": noisy(references, 0.37, 3),
        "better": noisy(references, 0.1, 4),
    }


@pytest.mark.parametrize("name", ["close", "better"])
@pytest.mark.parametrize("key", PLAIN)
def test_p_mean_and_interval_are_sacrebleus(text, key, name, monkeypatch):
    monkeypatch.delenv("SACREBLEU_SEED", raising=False)
    references = text["reference"]
    named = [(row, text[row]) for row in ("baseline", name)]
    _, table = PairedTest(named, {key: PLAIN[key]}, [references], "bs")()
    expected = next(rows for column, rows in table.items() if column != "System")
    metric = text_metric(key, "en")
    system, baseline = (metric.statistics(text[row], references) for row in (name, "baseline"))
    systems = {"en-de": system}, {"en-de": baseline}
    result = compare(name, "baseline", key, *systems, {"all": ["en-de"]})
    difference = result.directions["en-de"]
    assert difference.p == expected[1].p_value
    whole = [row.score for row in expected]
    assert [difference.baseline, difference.system] == pytest.approx(whole)
    scores = resample(baseline, system, 1000, 12345)
    for row, ours in zip(expected, scores, strict=True):
        # SacreBLEU reckons in single precision here
        assert (row.mean, row.ci) == pytest.approx(estimate_ci(ours), rel=1e-4)
    ordered = sorted(scores[1] - scores[0])
    assert (difference.low, difference.high) == (ordered[25], ordered[974])
    assert result.groups["all"] == difference


def segments(*values: float) -> Statistics:
    return mean_of_segments(np.array(values, dtype=np.float64))


def random_systems(directions: int, shift: float) -> tuple[dict[str, Statistics], ...]:
    generator = np.random.default_rng(5)
    systems: tuple[dict[str, Statistics], ...] = ({}, {})
    for number in range(directions):
        base = generator.normal(50, 10, size=60)
        for system, add in zip(systems, (shift, 0.0), strict=True):
            system[f"en-l{number}"] = segments(*(base + add + generator.normal(0, 3, size=60)))
    return systems


def test_a_groups_mean_has_the_spread_of_independent_directions():
    system, baseline = random_systems(8, shift=0.3)
    result = compare("b", "a", "comet", system, baseline, {"all": list(system)}, samples=2000)
    group = result.groups["all"]
    points = [row.difference for row in result.directions.values()]
    assert group.difference == pytest.approx(np.mean(points))
    # of a mean of segment scores the standard error is known in closed form
    errors = [
        np.std((system[row].rows - baseline[row].rows)[:, 0]) / np.sqrt(len(system[row].rows))
        for row in system
    ]
    expected = np.sqrt(np.sum(np.square(errors))) / len(errors)
    assert group.high - group.low == pytest.approx(2 * 1.96 * expected, rel=0.1)
    assert group.low < group.difference < group.high


def test_directions_of_one_test_set_are_resampled_together():
    """Two directions that are equal are one, if their sentences are the same; else two."""
    (system, baseline) = random_systems(1, shift=0.3)
    pair = [{**scores, "fr-l0": scores["en-l0"]} for scores in (system, baseline)]
    groups = {"all": ["en-l0", "fr-l0"]}
    one, two = (
        compare("b", "a", "comet", *pair, groups, samples=2000, parallel=parallel)
        for parallel in (frozenset(groups["all"]), frozenset())
    )
    assert one.groups["all"] == one.directions["en-l0"] == two.directions["en-l0"]
    spread = [group.high - group.low for group in (one.groups["all"], two.groups["all"])]
    assert spread[0] / spread[1] == pytest.approx(2**0.5, rel=0.1)


def test_groups_do_not_depend_on_the_order_or_the_number_of_directions():
    system, baseline = random_systems(4, shift=0.5)
    first, *rest = system
    groups = {"some": [first, rest[0]]}
    backwards = {"some": [rest[0], first]}
    whole = compare("b", "a", "comet", system, baseline, groups, samples=100)
    fewer = {row: system[row] for row in (rest[0], first)}
    part = compare("b", "a", "comet", fewer, baseline, backwards, samples=100)
    assert vars(whole.groups["some"]) == pytest.approx(vars(part.groups["some"]))


def test_means_leave_zeros_out_where_asked():
    # without any variance within a direction, every resample is the test set's own scores
    system = {"a-b": segments(0, 0), "a-c": segments(20, 20)}
    baseline = {"a-b": segments(6, 6), "a-c": segments(4, 4)}
    groups = {"all": list(system), "zero": ["a-b"]}
    for skip, expected in ((False, (10, 5, 5)), (True, (20, 5, 15))):
        result = compare("b", "a", "bleu", system, baseline, groups, samples=50, skip_zeros=skip)
        group, zero = result.groups["all"], result.groups["zero"]
        assert (group.system, group.baseline, group.difference) == expected
        assert (group.low, group.high) == (group.difference, group.difference)
        assert (zero.system, zero.baseline, zero.low) == (0, 6, -6)


@pytest.mark.parametrize("skip", [False, True])
def test_means_of_resamples_are_those_of_the_sheet(skip):
    scores = np.random.default_rng(1).integers(0, 3, size=(4, 2, 50)).astype(np.float64)
    assert (scores.sum(axis=0) == 0).any()
    expected = [[mean(list(column), skip) for column in side.T] for side in scores.swapaxes(0, 1)]
    assert _means(scores, skip) == pytest.approx(np.array(expected))


def test_identical_systems_do_not_differ_and_a_much_better_one_does(text):
    metric = text_metric("bleu", "en")
    same, better = (
        metric.statistics(text[row], text["reference"]) for row in ("baseline", "better")
    )
    alike = compare("a", "a", "bleu", {"x-en": same}, {"x-en": same}, {"all": ["x-en"]})
    for row in (alike.directions["x-en"], alike.groups["all"]):
        assert (row.difference, row.low, row.high, row.p) == (0, 0, 0, 1)
    assert alike.win_ratio["all"] == 0
    apart = compare("b", "a", "bleu", {"x-en": better}, {"x-en": same}, {"all": ["x-en"]})
    row = apart.directions["x-en"]
    assert row.p < 0.01
    assert 0 < row.low < row.difference < row.high
    assert apart.win_ratio["all"] == 100


@pytest.mark.parametrize("sentences", [1, 7])
def test_a_difference_that_does_not_vary_says_nothing(sentences):
    # of 7 equal sentences the sums of 0.1 and 63.7 differ in their last digits
    system, baseline = ({"a-b": segments(*[score] * sentences)} for score in (63.7, 0.1))
    result = compare("b", "a", "comet", system, baseline, {"all": ["a-b"]}, samples=100)
    for row in (result.directions["a-b"], result.groups["all"]):
        assert [row.low, row.difference, row.high] == pytest.approx([63.6] * 3)
        assert row.p == 1
    metric = text_metric("bleu", "en")
    better, worse = (
        {"a-b": metric.statistics([line], ["the dog sees a big cat"])}
        for line in ("the dog sees a big cat", "the dog sees the small cat")
    )
    row = compare("b", "a", "bleu", better, worse, {}).directions["a-b"]
    assert row.difference > 50 and row.p == 1


def test_a_difference_that_seldom_varies_says_something():
    """Where most resamples are alike, also the two with the least difference."""
    system, baseline = ({"a-b": segments(*scores)} for scores in ((5, *[0] * 400), [0] * 401))
    row = compare("b", "a", "comet", system, baseline, {}, samples=20).directions["a-b"]
    assert row.low == 0 < row.high and row.p < 1


def test_only_shared_directions_count():
    system = {"a-b": segments(1, 2), "b-a": segments(3, 4)}
    baseline = {"b-a": segments(4, 5), "c-a": segments(4, 5)}
    groups = {"all": ["a-b", "b-a", "c-a"], "none": ["a-b"]}
    result = compare("b", "a", "ter", system, baseline, groups, samples=10)
    assert list(result.directions) == ["b-a"]
    assert list(result.groups) == list(result.win_ratio) == ["all"]
    assert result.win_ratio["all"] == 100  # of TER, less is better
    assert result.groups["all"].difference == -1


def test_different_test_sets_cannot_be_compared():
    with pytest.raises(ValueError, match="2 sentences against 3"):
        compare("b", "a", "ter", {"a-b": segments(1, 2)}, {"a-b": segments(1, 2, 3)}, {})
