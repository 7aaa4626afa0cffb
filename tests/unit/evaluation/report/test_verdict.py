"""The verdict in words: which model is better where, by how much, whether it is usable."""

from dataclasses import replace

import pytest
from support.score_sheets import bleu_sheet, seeded, sheet

from tdo_plugin.evaluation.report.verdict import recommended, verdict
from tdo_plugin.evaluation.score_sheet import Comparison, Difference, ScoreSheet

TRAINED, ZERO_SHOT = ("en-de", "de-en"), ("de-fr", "fr-de")


def scores(trained: float, zero_shot: float) -> dict[str, float]:
    return {**dict.fromkeys(TRAINED, trained), **dict.fromkeys(ZERO_SHOT, zero_shot)}


def compared(p: float | None = 0.001, **systems: tuple[float, float]) -> ScoreSheet:
    """Systems by name, with the BLEU of trained and zero-shot directions; the first is baseline."""
    groups = {"supervised": TRAINED, "zero-shot": ZERO_SHOT, "all": TRAINED + ZERO_SHOT}
    base, *others = systems
    comparisons = []
    for name in others if p is not None else []:
        pairs = zip(("supervised", "zero-shot"), systems[name], systems[base], strict=True)
        tested = {group: Difference(a, b, a - b, a - b, a - b, p) for group, a, b in pairs}
        comparisons.append(Comparison(name, base, "bleu", {}, tested, {}))
    made = bleu_sheet({name: scores(*both) for name, both in systems.items()})
    return replace(made, groups=groups, comparisons=tuple(comparisons))


@pytest.mark.parametrize(
    ("made", "trained", "zero_shot"),
    [
        (
            compared(base=(30.0, 1.0), new=(28.0, 20.0)),
            "base is better by 2.0 than new: 30.0 BLEU against 28.0; significant (p = 0.001).",
            "new is better by 19.0 than base: 20.0 BLEU against 1.0; significant (p = 0.001).",
        ),
        (
            compared(p=0.3, base=(30.0, 1.0), new=(31.0, 1.04)),
            "No significant difference: 31.0 BLEU for new and 30.0 for base (p = 0.300).",
            "new and base are equal: 1.0 BLEU.",
        ),
        (
            compared(p=None, base=(30.0, 1.0), new=(31.0, 2.0)),
            "new is better by 1.0 than base: 31.0 BLEU against 30.0; not tested for significance.",
            "new is better by 1.0 than base: 2.0 BLEU against 1.0; not tested for significance.",
        ),
        (  # the best against the baseline, or if that is the best against the next
            compared(p=0.0001, base=(30.0, 1.0), old=(29.0, 7.0), new=(28.0, 8.0)),
            "base is the best of 3, better by 1.0 than old: 30.0 BLEU against 29.0; "
            "significant (p < 0.001).",
            "new is the best of 3, better by 7.0 than base: 8.0 BLEU against 1.0; "
            "significant (p < 0.001).",
        ),
        (compared(one=(30.0, 1.0)), "one has 30.0 BLEU.", "one has 1.0 BLEU."),
    ],
)
def test_which_is_better_where_and_by_how_much(made, trained, zero_shot):
    lines = dict(verdict(made))
    assert lines["Trained directions (2)"] == trained
    assert lines["Zero-shot directions (2)"] == zero_shot


@pytest.mark.parametrize(
    ("trained", "zero_shot", "said"),
    [
        (4.9, 30.0, "No: below 5 BLEU on trained directions the models are undertrained"),
        (5.0, 30.0, "Trained directions: no (5.0 BLEU). Zero-shot directions: yes, understandable"),
        (41.0, 12.0, "Trained directions: yes, good translations (41.0 BLEU). Zero-shot"),
        (55.0, 12.0, "Trained directions: yes, very good"),
    ],
)
def test_whether_it_is_usable(trained, zero_shot, said):
    text = dict(verdict(compared(base=(0.0, 0.0), new=(trained, zero_shot))))["Usable?"]
    assert text.startswith(said)
    assert ("rule of thumb" in text) != ("more updates or hours" in text)


def test_what_is_unknown_is_left_open():
    unknown = replace(compared(base=(30.0, 30.0), new=(2.0, 2.0)), groups={"all": TRAINED})
    unknown = replace(unknown, directions=TRAINED, comparisons=())
    (heading, text), (_, usable) = verdict(unknown)
    assert heading == "All directions (2)" and text.startswith("base is better by 28.0 than new")
    assert usable.startswith("All directions: yes, understandable to good translations (30.0 BLEU)")
    one = bleu_sheet({"new": {"de-pt_BR": 30.0}})
    assert verdict(one)[0] == ("German → Portuguese (pt_BR)", "new has 30.0 BLEU.")
    assert verdict(sheet(systems=(), directions=(), groups={}, comparisons=())) == []


def test_off_target_translations_and_means_over_seeds():
    few = dict(verdict(sheet(groups={"zero-shot": ("en-de",)}, directions=("en-de",))))
    assert "target language" not in few["English → German (zero-shot)"]  # 2 % and 0 %
    alone = dict(verdict(sheet()))
    assert alone["Arabic → German (zero-shot)"] == "plain has 7.2 BLEU."  # which few lacks
    lines = dict(verdict(replace(seeded(), groups={"all": ("en-ar", "en-de", "ar-en")})))
    assert "All directions (3)" not in lines  # they are four
    both = replace(seeded(), directions=("en-ar",), groups={"zero-shot": ("en-ar",)})
    (line,) = (text for heading, text in verdict(both) if heading.endswith("(zero-shot)"))
    assert line.startswith("few is better by 11.5 than plain: 31.5 BLEU against 20.0; not tested")


def test_shares_of_off_target_translations():
    first = sheet().systems[0]
    rows = tuple(replace(row, direction=f"{row.direction[:2]}-fr") for row in first.directions[3:])
    other = replace(
        first, name="other", directions=(replace(rows[0], scores={"bleu": 9, "off": 8}),)
    )
    made = sheet(
        systems=(replace(first, directions=rows), other),
        directions=("ar-fr",),
        groups={"zero-shot": ("ar-fr",)},
        comparisons=(),
    )
    assert verdict(made)[0][1].endswith(
        "Translations that are not in the target language: other 8 %, plain 50 %."
    )


@pytest.mark.parametrize(
    ("paths", "said"),
    [
        (["/runs/a/model/average.pt"], "/runs/a/model/average.pt"),
        (["/runs/a/x/1.pt", "/runs/a/y/1.pt"], "/runs/a: x/1.pt, y/1.pt"),
        ([f"/runs/{k}.pt" for k in range(6)], "/runs: 0.pt, 1.pt, 2.pt, 3.pt, 2 more"),
        (["/runs/a.pt", "b.pt"], "/runs/a.pt, b.pt"),
        ([3], None),
    ],
)
def test_where_the_models_are(paths, said):
    made = bleu_sheet({f"model {k}": scores(20.0, 1.0) for k in range(len(paths))})
    systems = tuple(
        replace(system, provenance={"checkpoints": [{"path": path}]})
        for system, path in zip(made.systems, paths, strict=True)
    )
    assert dict(verdict(replace(made, systems=systems))).get("Models") == said
    # of several folders of one system
    records = {f"folder {k}": system.provenance for k, system in enumerate(systems)}
    joined = replace(systems[0], provenance=records)
    assert dict(verdict(replace(made, systems=(joined,)))).get("Models") == said


def test_the_recommended_system_is_the_last():
    assert recommended(compared(base=(1.0, 1.0), new=(1.0, 1.0))) == "new"
