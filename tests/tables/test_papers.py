"""What is particular to the tables of one paper: losses, originals, masks, pivots, pictures.

What flags a system has at full size is held by test_golden.py.
"""

from itertools import pairwise
from pathlib import Path

import pytest
from support.papers import flags, places, plan, planned, steps, trained, value, words

# --------------------------------------------------------------------------------- TDO, InstruCL

FLAGS = ("instrucl-temperature", "instrucl-scale", "loss-terms", "lexical-updates")
NONE, PAPER, AUTHORS = (None,) * 4, ("1", "sum", None, None), ("1", "per-token", None, None)
SHARP, BEGUN = ("0.1", "per-token", None, None), (None, None, "lexical", "1000")
BOTH = ("0.1", "per-token", "instrucl,lexical", "1000")
LATER = (*BEGUN[:3], "10000"), (*BOTH[:3], "10000")
LOSSES = {  # of a one-stage and a two-stage model, each without and with InstruCL
    ("toy", ""): (NONE, SHARP, BEGUN, BOTH),
    ("multi30k", ""): (NONE, SHARP, BEGUN, BOTH),
    ("full", ""): (NONE, PAPER, NONE, PAPER),
    ("toy", "paper"): (NONE, PAPER, NONE, PAPER),
    ("toy", "authors"): (NONE, AUTHORS, NONE, AUTHORS),
    ("full", "authors"): (NONE, AUTHORS, NONE, AUTHORS),
    ("full", "recipe"): (NONE, SHARP, *LATER),
}


@pytest.mark.parametrize(("scale", "losses"), LOSSES)
def test_losses_follow_the_scale_and_the_option(scale: str, losses: str) -> None:
    made = plan("tdo", scale, **({"losses": losses} if losses else {}))
    names = ("prefix-decoder-only", "prefix-decoder-only+instrucl")
    names += ("tdo-prefix", "tdo-prefix+instrucl")
    found = tuple(tuple(map(flags(made, f"ted19/{name}").get, FLAGS)) for name in names)
    assert found == LOSSES[scale, losses]


@pytest.mark.parametrize("scale", ["toy", "smoke", "multi30k", "full"])
@pytest.mark.parametrize(
    ("paper", "table", "ours"),
    [
        ("tdo", "table1", {"lexical-updates": None, "instrucl-temperature": "0.1"}),
        ("tdo", "figure5", {"lexical-updates": None}),
        ("tdo", "table2", {"instrucl-temperature": "0.1"}),
        ("tpdm", "table1", {"tpdm-disentangle-weight": "0.1"}),
        ("tpdm", "table2", {"tpdm-disentangle-weight": "0.1"}),
    ],
)
def test_rows_that_are_not_the_paper_s_say_so(paper, table, ours, scale: str) -> None:
    """A row is marked exactly if its training has a flag of the recipe."""
    made = planned(paper, table, scale)
    marked = {}
    for row in made.rows:
        found = flags(made.plan, row.systems[0])
        recipe = any(flag in found and value in (None, found[flag]) for flag, value in ours.items())
        marked[row.label] = (recipe, row.label.endswith(" (recipe)"))
    assert all(recipe == says for recipe, says in marked.values()), marked
    assert any(recipe for recipe, _ in marked.values()) == (scale != "full")


@pytest.mark.parametrize("scale", ["toy", "multi30k", "multi30k-paper"])
def test_table_4_compares_with_as_many_parameters_elsewhere(scale: str) -> None:
    systems = trained(planned("tdo", "table4", scale))
    plain = systems.pop("ted19/tdo-prefix+adaptation")
    ffn, layers = int(plain["tdo-ffn-dim"]), int(plain["tdo-layers"])
    # 32 more of 512 in twelve layers, 64 in six
    wider = int(systems.pop("ted19/tdo-prefix+d-544")["tdo-model-dim"])
    assert wider == int(plain["tdo-model-dim"]) * (1 + 32 / 512 * 12 / layers)
    # how many inner neurons more, of which the feed-forward networks of two modules have 2 * ffn
    where = {
        "ffn-2432": ("tdo-ffn-dim", layers),
        "stage-2-ffn-2816": ("tdo-stage2-ffn-dim", layers // 2),
        "stage-1-ffn-2816": ("tdo-stage1-ffn-dim", layers // 2),
    }
    assert systems.keys() == {f"ted19/tdo-prefix+{variant}" for variant in where}
    for variant, (flag, enlarged) in where.items():
        more = enlarged * (int(systems[f"ted19/tdo-prefix+{variant}"][flag]) - ffn)
        assert 2 * ffn <= more <= 2.5 * ffn, variant


def test_multi30k_has_the_sizes_of_the_paper_where_they_are_asked_for() -> None:
    full, same = plan("tdo", "full"), planned("tdo", "table1", "multi30k-paper")
    systems = trained(same)
    assert len(systems) == 11 + 2 * 7
    for name, found in systems.items():
        sizes = {flag for flag in found if flag.endswith(("dim", "layers", "layer", "heads"))}
        assert {flag: flags(full, name)[flag] for flag in sizes} == {f: found[f] for f in sizes}
    original = trained(planned("tdo", "table2", "multi30k-paper"))["original"]
    assert (original["encoder-layers"], original["encoder-embed-dim"]) == ("12", "512")


@pytest.mark.parametrize("scale", ["toy", "multi30k", "full"])
def test_table_2_begins_with_what_is_converted(scale: str) -> None:
    layers = "decoder" if scale == "full" else "decoder:1-3"
    table = planned("tdo", "table2", scale, encoder=layers)
    systems = trained(table)
    original = systems.pop("original", None)
    assert len(systems) == (18 + 6 if scale == "full" else 6)
    conversions = {value(command, "--out"): command for command in words(table, "made")}
    for name, found in systems.items():
        start = found["finetune-from-model"].removeprefix("made ").removesuffix("/model.pt")
        command = conversions[start]
        kind = "encoder-decoder" if "encoder-decoder" in name else "prefix-decoder-only"
        kind = "transformer" if "/tdo" in name else kind
        assert value(command, "--to") == f"tdo_{kind.replace('-', '_')}"
        assert (f"--encoder={layers}" in command) == (kind == "encoder-decoder")
        small = kind == "transformer" and "adaptation" not in name
        assert ("--adaptation-dim=0" in command) == small
        half = "3" if scale != "full" else "12" if name.startswith("m2m-1.2b") else "6"
        assert value(command, "--layers") == half
        assert value(command, "--from") == ("nllb" if name.startswith("nllb") else "m2m100")
        if original is None:
            assert command[1].startswith("/given/originals/")
            continue
        assert command[1] == "original/checkpoints/checkpoint_last.pt"
        for side in ("encoder", "decoder"):
            assert original[f"{side}-layers"] == "6"
            assert original[f"{side}-embed-dim"] == found["tdo-model-dim"]
            assert original[f"{side}-ffn-embed-dim"] == found["tdo-ffn-dim"]
            assert original[f"{side}-attention-heads"] == found["tdo-heads"]


@pytest.mark.full
def test_figures_of_the_tdo_paper_have_a_place_for_every_system() -> None:
    m = words(planned("tdo", "figure5"), "drawing")
    assert [[*places(sweep).values()] for sweep in m] == [
        ["1", "3", "5", "6", "7", "9", "11"],  # the authors' presets
        ["3", "6", "9", "12", "15", "18", "21"],
    ]
    layers = words(planned("tdo", "figure6"), "drawing")
    # the paper's own first, which is table 3's; in both forms
    assert [[*places(sweep).values()] for sweep in layers] == [
        ["9", "2", "4", "6", "8", "10", "12"]
    ] * 4
    assert [value(sweep, "--out") for sweep in layers] == [
        f"report/figure6/ted19-{system}-{form}"
        for system in ("prefix-decoder-only", "tdo-prefix")
        for form in ("paper", "authors")
    ]
    few = words(planned("tdo", "figure6", "toy"), "drawing")
    assert [sorted(places(sweep).values()) for sweep in few] == [list("123456")] * 2
    for sweep in (*m, *layers):
        assert "--ratio" in sweep and value(sweep, "--baseline") not in places(sweep)
        assert sweep[sweep.index("--group") + 1 :] == ["supervised", "zero-shot"]
    (bars,) = words(planned("tdo", "figure7"), "drawing")
    assert {place.split(":")[1] for place in places(bars).values()} == {
        f"strategy {number}" for number in range(1, 6)
    }
    assert len(places(bars)) == 15
    for number, models in ((1, 3), (4, 5 + 2)):
        drawn = words(planned("tdo", f"figure{number}"), "drawing")
        (preference,) = (command for command in drawn if command[0] == "preference")
        assert "--langs=ar,he,zh,hr,vi,ja" in preference
        assert sum(word.endswith("/average.pt") for word in preference) == models


# --------------------------------------------------------------------------------------- OPUS-100


def test_robt_goes_on_with_its_row() -> None:
    table = planned("opus100", "table7", "toy")
    row = "many-to-many/6-layers+matt+laln+lalt"
    systems = trained(table)
    assert list(systems) == [row, f"{row}+robt", f"{row}+robt+among-6"]
    plain, *later = steps(table, "training")
    assert not plain.start
    for step in later:
        assert step.start == ("--restore-file", str(plain.resumes))
        assert step.updates > plain.updates
    only = [found.get("robt-languages") for found in systems.values()]
    assert only == [None, None, "de,fr,es"]


def test_figure_1_of_opus100_is_behind_what_robt_goes_on_with() -> None:
    """At full, where nothing was measured before, of ROBT alone."""
    for scale, before in (
        ("toy", "many-to-many/6-layers/checkpoints/validation.jsonl:"),
        ("full", ""),
    ):
        (curve,) = words(planned("opus100", "figure1", scale), "drawing")
        assert curve[2] == (
            f"6 layers, ROBT={before}many-to-many/6-layers+robt/checkpoints/validation.jsonl"
        )


def test_bilingual_models_translate_their_directions_and_pivot() -> None:
    table = planned("opus100", "table6", rows=["pivot"])
    names = set(trained(table))
    assert len(names) == 12
    assert {f"bilingual/6-layers+direction={pair}" for pair in ("ar-en", "en-zh")} < names
    (command,) = (command for command in words(table, "translation") if "ar-zh" in command)
    assert value(command, "--pivot") == "en"
    paths = [value(command, option) for option in ("--path", "--pivot-path")]
    assert paths == [f"bilingual/6-layers+direction={p}/average.pt" for p in ("ar-en", "en-zh")]
    (score,) = words(planned("opus100", "table2"), "scores")
    groups = [b.partition("=")[0] for a, b in pairwise(score) if a == "--group"]
    assert groups == ["en → de, zh, br, te", "de, zh, br, te → en"]


# ------------------------------------------------------------------------------------------- TPDM


def test_pivots_are_a_row_s_model_taken_twice() -> None:
    table = planned("tpdm", "table1", rows=["europarl/piv-m-base", "multiun/base"], seeds=2)
    assert list(trained(table)) == [
        *("multiun/base", "multiun/base+seed=2", "europarl/base", "europarl/base+seed=2"),
    ]
    outs = {value(command, "--out"): command for command in words(table, "translation")}
    pivot = outs["europarl/piv-m-base+seed=2/output"]
    assert value(pivot, "--path") == "europarl/base+seed=2/average.pt"
    assert value(pivot, "--pivot") == "en"
    # each corpus has its data and its sheet
    data = {value(sheet, "--out"): value(sheet, "--data") for sheet in words(table, "scores")}
    assert data == {f"report/table1/{name}": f"{name}/data" for name in ("multiun", "europarl")}


def test_probes_and_times_of_the_tpdm_paper() -> None:
    probes = words(planned("tpdm", "table4", seeds=2), "drawing")
    probes = [command for command in probes if command[0] == "probe"]
    for command, end in zip(probes, ("", "+seed=2"), strict=True):
        assert [word for word in command if "=multiun" in word] == [
            f"{kind.upper()}=multiun/base+{kind}{end}/average.pt" for kind in ("rc", "tpdm")
        ]
        assert value(command, "--out") == f"report/table4/probe{end}"
    for name, count in (("figure1", 4), ("adversary", 6)):
        curve, probe = sorted(words(planned("tpdm", name, "toy"), "drawing"))
        assert sum(word.endswith("validation.jsonl") for word in curve) == count
        assert sum("=multiun" in word for word in probe) == count
        assert ("--layers" in probe) == (name == "adversary")
    times = words(planned("tpdm", "table8"), "drawing")
    assert [value(command, "--size") for command in times] == ["small", "base"]
    for command in times:
        assert value(command, "--batch-tokens") == "8000"
        assert value(command, "--vocabulary") == "49320"


# ------------------------------------------------------------------------------ neuron allocation


def test_neurons_are_measured_where_a_model_was_tested_and_trained_on_from_there() -> None:
    rows = ["one-to-many/multilingual+te", "one-to-many/expansion+te"]
    table = planned("neurons", "table2", "toy", rows, seeds=2)
    masks = {value(c, "--out"): c for c in words(table, "made") if c[1] == "allocate"}
    measured = {value(c, "--out"): c for c in words(table, "made") if c[1] == "importance"}
    assert len(masks) == len(measured) == 4
    trainings = {step.name: step for step in steps(table, "training")}
    for name in rows:
        for seed, end in ((1, ""), (2, "+seed=2")):
            step = trainings[f"{name}{end}/training"]
            option, checkpoint = step.start
            before = name.removesuffix("+te") + end
            assert option == "--finetune-from-model"
            assert checkpoint.endswith(f"/{before}/average.pt")
            model = name.removesuffix("+te").split("/")[1]
            stem = f"one-to-many/neurons/{model}-{seed}/taylor"
            found = flags(table.plan, f"{name}{end}")
            assert found["tdo-neuron-masks"] == f"made {stem}-0.9-0.7-pair.masks"
            assert found.get("seed") == str(seed)
            allocated = masks[f"{stem}-0.9-0.7-pair.masks"]
            assert allocated[2] == f"{stem}.importance"
            assert (value(allocated, "--general"), value(allocated, "--threshold")) == (
                "0.9",
                "0.7",
            )
            importance = measured[f"{stem}.importance"]
            assert value(importance, "--path") == f"{before}/average.pt"
            assert value(importance, "--pairs") == "en-de,en-fr,en-es,en-ru,en-ja,en-tr"


def test_neurons_are_measured_after_the_relu_or_before_it() -> None:
    """Of AV alone; nothing else is trained anew for it."""
    keys, labels, sides = {}, {}, {}
    for inner in ("after", "before"):
        table = planned("neurons", "table1", "toy", inner=inner)
        graph = table.plan.graph
        keys[inner] = {graph.key(step.name) for step in steps(table, "training")}
        labels[inner] = [row.label for row in table.rows][-2:]
        made = (c for c in words(table, "made") if c[1] == "importance")
        sides[inner] = {value(c, "--method"): value(c, "--inner") for c in made}
    assert len(keys["after"] - keys["before"]) == len(keys["before"] - keys["after"]) == 1
    assert sides["after"] == {"absolute": "after", "taylor": "after"}
    assert sides["before"] == {"absolute": "before", "taylor": "after"}
    assert labels["after"] == ["like neurons, AV", "like neurons, TE"]
    assert labels["before"] == ["like neurons, AV before the ReLU", "like neurons, TE"]


def test_the_plain_model_is_trained_on_for_as_many_updates() -> None:
    systems = trained(planned("neurons", "table1", "toy"))
    base = "many-to-many/multilingual"
    masked, plain = systems[f"{base}+te"], systems[f"{base}+continued"]
    assert {key for key in masked if masked[key] != plain.get(key)} == {"tdo-neuron-masks"}
    updates = {name: int(found["max-update"]) for name, found in systems.items()}
    both = updates[base] + updates[f"{base}+continued"]
    assert both == updates["many-to-many/target-specific"] == updates["many-to-many/adapter"]
    pairs = [found["lang-pairs"] for name, found in systems.items() if "individual" in name]
    assert pairs == [
        f"{a}-{b}" for x in ("de", "fr", "es", "ru") for a, b in (("en", x), (x, "en"))
    ]


def test_figures_of_the_neuron_paper_have_a_place_for_every_system() -> None:
    for number, label, rows in ((4, "k", 19), (5, "ablated", 5), (6, "neurons allocated by", 5)):
        table = planned("neurons", f"figure{number}")
        ((*sweep,),) = words(table, "drawing")
        labels = {row.label for row in table.rows}
        assert value(sweep, "--x-label") == label and len(labels) == rows
        assert set(places(sweep)) == labels - {value(sweep, "--baseline")}
        assert len(places(sweep)) == rows - 1


def test_ablations_are_those_of_the_paper() -> None:
    table = planned("neurons", "figure5", seeds=2)
    made = [c for c in words(table, "made") if c[1] == "ablate"]
    ablated = [" ".join(c[c.index("--seed") + 2 : -1]) for c in made]
    assert all(c[-1] == "--fresh" for c in made)  # a file of before that was not noted
    pairs = ("it-en", "ro-it", "en-ro")
    expected = ["--general 0.2", *(f"--specific 0.5 --pair {pair}" for pair in pairs)]
    assert sorted(ablated) == sorted(2 * expected)
    outs = {value(c, "--out") for c in made}
    paths = {value(c, "--path") for c in words(table, "translation")}
    assert outs < paths and len(paths - outs) == 2
    assert {Path(out).parent.name for out in outs} == {"multilingual-1", "multilingual-2"}
