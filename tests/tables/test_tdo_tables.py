"""The scripts of the TDO paper's tables and figures: rows, sizes, variants, originals."""

import os
import re
from pathlib import Path

import pytest
from support.configs import ROOT
from support.covering import mostly_full
from support.scripts import FIGURES, TABLES, dry_run, script, shown, trained

from tdo_plugin.evaluation.published import published
from tdo_plugin.evaluation.published.corpus_sizes import COUNTED
from tdo_plugin.launch.training_config import read_config

SCRIPTS = sorted(path.name for folder in (TABLES, FIGURES) for path in folder.glob("tdo_*.sh"))


def value(words: list[str], flag: str) -> str:
    return words[words.index(flag) + 1]


def named(commands: list[list[str]], command: str) -> list[list[str]]:
    return [words for words in commands if words[0] == command]


def scored(commands: list[list[str]]) -> dict[str, str]:
    """The folder of hypotheses by the system's name, of all `tdo score`."""
    folders: dict[str, str] = {}
    for words in named(commands, "score"):
        folders |= dict(word.rsplit("=", 1) for word in words[1 : words.index("--data")])
    return folders


def places(sweep: list[str]) -> dict[str, str]:
    """Of `tdo analyze sweep`: where each system stands."""
    end = next(i for i, word in enumerate(sweep) if i > sweep.index("--x") and word[:2] == "--")
    return dict(word.rsplit("=", 1) for word in sweep[sweep.index("--x") + 1 : end])


def test_there_is_a_script_for_each_table_and_figure() -> None:
    data = {reference.partition(":")[2] for reference in COUNTED.values()}  # `tdo inspect` has them
    numbers = {table.table for table in published("tdo").tables} - data
    tables = [f"tdo_table{number}.sh" for number in sorted(numbers)]
    figures = [f"tdo_figure{number}.sh" for number in (1, 4, 5, 6, 7)]
    assert sorted([*figures, *tables]) == SCRIPTS


@pytest.mark.full
@pytest.mark.parametrize("number", ["1", "2", "3", "4"])
def test_rows_are_those_of_the_paper_in_its_order(clone: Path, number: str) -> None:
    table = next(entry for entry in published("tdo").tables if entry.table == number)
    commands = shown(clone, f"tdo_table{number}.sh", "full")
    forms = re.compile(r", (paper's|authors') form$")
    assert [*dict.fromkeys(forms.sub("", name) for name in scored(commands))] == [
        row.name for row in table.rows
    ]
    assert {name for name in scored(commands) if forms.search(name)} == {
        f"{row.name}, {form} form"
        for row in table.rows
        if "InstruCL" in row.system
        for form in ("paper's", "authors'")
    }
    (report,) = named(commands, "report")
    assert report[-1] == f"tdo:{number}"
    for words in named(commands, "score"):
        assert value(words, "--protocol") == "tdo"
        # each block is compared with its own first row
        assert words[1].startswith(value(words, "--baseline") + "=")
    for flags in trained(clone, commands).values():
        assert "--max-update" not in flags or "opus100" in flags["config"]


@pytest.mark.full
def test_a_system_is_the_same_in_all_tables_and_figures(clone: Path) -> None:
    """Scripts share the run folder: a row of several is trained once."""
    systems: dict[str, dict[str, str]] = {}
    for name in SCRIPTS:
        for system, flags in trained(clone, shown(clone, name)).items():
            assert systems.setdefault(system, flags) == flags, f"{system} of {name}"
            assert flags["--max-update"] == "3000"
    variants = {name.split("@")[1] for name in systems if "@" in name}
    # M in two corpora, layers of InstruCL (one of them 1.5N), N and 1.5N of it, sizes, strategies
    assert len(variants) == 4 + 6 + 4 + 2 + 4 + 4


@pytest.mark.full
def test_no_two_systems_are_the_same(clone: Path) -> None:
    """At the paper's sizes; of fewer layers two shares may be one layer."""
    folders: dict[tuple[str, ...], str] = {}
    for name in SCRIPTS:
        for words in named(shown(clone, name, "full"), "train"):
            folder = value(words, "--save-dir")
            flags = tuple(word for word in words if word != folder)
            assert folders.setdefault(flags, folder) == folder


@pytest.mark.full
def test_variants_change_what_their_names_say(clone: Path) -> None:
    full = trained(clone, shown(clone, "tdo_table4.sh", "full"))
    sizes = {name.partition("@")[2]: flags for name, flags in full.items()}
    assert sizes["d-544"]["--tdo-model-dim"] == "544"
    assert sizes["ffn-2432"]["--tdo-ffn-dim"] == "2432"
    assert sizes["stage-2-ffn-2816"]["--tdo-stage2-ffn-dim"] == "2816"
    assert sizes["stage-1-ffn-2816"]["--tdo-stage1-ffn-dim"] == "2816"
    half = trained(clone, shown(clone, "tdo_table3.sh", "full"))
    layers = {
        name: flags["--instrucl-layer"]
        for name, flags in half.items()
        if "@" in name and flags["--criterion"].endswith("instrucl")
    }
    assert len(layers) == 2 * 12  # in both forms
    expected = {"ted19": ("6", "9"), "opus100-deep": ("12", "18"), "opus100-wide": ("6", "9")}
    for name, layer in layers.items():
        later = name.removesuffix("-authors").endswith("1.5n")
        assert layer == expected[name.split("/")[0]][later], name
    strategies = {
        value(words, "--save-dir").split("@strategy-")[-1][0]: words
        for words in named(shown(clone, "tdo_figure7.sh", "full"), "train")
    }
    for number in ("2", "3"):
        assert value(strategies[number], "--langtoks") == '{"main": (None, "tgt")}'
    replaced = {key for key, words in strategies.items() if "--lang-tok-replacing-bos-eos" in words}
    assert replaced == {"3"}
    assert {key for key, words in strategies.items() if "--decoder-langtok" in words} == {"4", "5"}
    assert value(strategies["5"], "--encoder-langtok") == "src"


@pytest.mark.full
def test_multi30k_has_the_sizes_of_the_paper_where_they_are_asked_for(clone: Path) -> None:
    layers = ("--tdo-layers", "--tdo-target-layer", "--tdo-encoder-layers", "--tdo-decoder-layers")
    sizes = (
        "--tdo-model-dim",
        "--tdo-ffn-dim",
        "--tdo-heads",
        "--tdo-adaptation-dim",
        "--instrucl-layer",
        *layers,
    )
    systems = trained(clone, shown(clone, "tdo_table1.sh", "multi30k", "--size", "paper"))
    assert len(systems) == 11 + 2 * 7
    for name, flags in systems.items():
        config = read_config(ROOT / "configs" / flags["config"]).flags
        expected = {flag: config[flag][0] for flag in sizes if config.get(flag, ["0"]) != ["0"]}
        assert expected == {flag: flags[flag] for flag in expected}, name
    small = trained(clone, shown(clone, "tdo_table1.sh", "multi30k"))
    assert {flags["--tdo-model-dim"] for flags in small.values()} == {"128", "192"}
    # what it begins with has them, too
    original = trained(clone, shown(clone, "tdo_table2.sh", "multi30k", "--size", "paper"))
    assert original["m2m-418m/original"]["--encoder-layers"] == "12"
    assert original["m2m-418m/original"]["--encoder-embed-dim"] == "512"


@pytest.mark.full
@pytest.mark.parametrize("words", [["toy"], ["multi30k"], ["multi30k", "--size", "paper"]])
def test_table_4_compares_with_as_many_parameters_elsewhere(clone: Path, words: list[str]) -> None:
    systems = trained(clone, shown(clone, "tdo_table4.sh", *words))
    plain = systems.pop("ted19/tdo-prefix-adaptation")
    ffn, layers = int(plain["--tdo-ffn-dim"]), int(plain["--tdo-layers"])
    # 32 more of 512 in twelve layers, 64 in six
    wider = int(systems.pop("ted19/tdo-prefix@d-544")["--tdo-model-dim"])
    assert wider == int(plain["--tdo-model-dim"]) * (1 + 32 / 512 * 12 / layers)
    # how many inner neurons more, of which the feed-forward networks of two modules have 2 * ffn
    where = {
        "ffn-2432": ("--tdo-ffn-dim", layers),
        "stage-2-ffn-2816": ("--tdo-stage2-ffn-dim", layers // 2),
        "stage-1-ffn-2816": ("--tdo-stage1-ffn-dim", layers // 2),
    }
    assert systems.keys() == {f"ted19/tdo-prefix@{variant}" for variant in where}
    for variant, (flag, enlarged) in where.items():
        more = enlarged * (int(systems[f"ted19/tdo-prefix@{variant}"][flag]) - ffn)
        assert 2 * ffn <= more <= 2.5 * ffn, variant


@pytest.mark.full
def test_figures_have_a_place_for_every_system(clone: Path) -> None:
    m = named(shown(clone, "tdo_figure5.sh", "full"), "analyze")
    assert [[*places(words).values()] for words in m] == [
        ["1", "3", "5", "6", "7", "9", "11"],  # the authors' presets
        ["3", "6", "9", "12", "15", "18", "21"],
    ]
    layers = named(shown(clone, "tdo_figure6.sh", "full"), "analyze")
    twelve = ["9", "2", "4", "6", "8", "10", "12"]  # the paper's own first, which is table 3's
    assert [[*places(words).values()] for words in layers] == [twelve] * 4  # in both forms
    outs = [value(words, "--out").split("/")[-1] for words in layers]
    assert outs == [
        f"ted19-{system}{form}"
        for system in ("prefix-decoder-only", "tdo-prefix")
        for form in ("", "-authors")
    ]
    few = named(shown(clone, "tdo_figure6.sh", "toy"), "analyze")
    assert [sorted(places(words).values()) for words in few] == [list("123456")] * 2
    for words in (*m, *layers):
        assert "--ratio" in words and value(words, "--baseline") not in places(words)
        assert words[words.index("--group") + 1 :] == ["supervised", "zero-shot"]
    (bars,) = named(shown(clone, "tdo_figure7.sh", "full"), "analyze")
    assert len(places(bars)) == 15
    assert {place.split(":")[1] for place in places(bars).values()} == {
        f"strategy {number}" for number in range(1, 6)
    }
    for number, models in (("1", 3), ("4", 5 + 2)):
        commands = shown(clone, f"tdo_figure{number}.sh", "full")
        preference = next(words for words in named(commands, "analyze") if words[1] == "preference")
        assert value(preference, "--languages") == "ar,he,zh,hr,vi,ja"
        paths = preference[preference.index("--path") + 1 : preference.index("--languages")]
        assert len(paths) == models == len(scored(commands))
        folders = {path.rsplit("=", 1)[1].removesuffix("/average.pt") for path in paths}
        assert folders == {path.removesuffix("/output") for path in scored(commands).values()}


@pytest.mark.full
def test_seeds_and_the_authors_form_are_trainings_of_their_own(clone: Path) -> None:
    rows = ("--rows", "ted19/tdo-prefix,ted19/tdo-prefix-instrucl")
    commands = shown(clone, "tdo_table1.sh", "--seeds", 2, "--losses", "authors", *rows)
    seeds = {name: flags.get("--seed") for name, flags in trained(clone, commands).items()}
    plain, contrasted = "ted19/tdo-prefix", "ted19/tdo-prefix-instrucl"
    assert seeds == {
        plain: None,
        f"{plain}-seed-2": "2",
        contrasted: None,
        f"{contrasted}-seed-2": "2",
    }
    for name, flags in trained(clone, commands).items():
        assert (flags.get("--instrucl-weighting") == "tag-share") == ("instrucl" in name)
        assert (flags.get("--instrucl-scale") == "per-token") == ("instrucl" in name)


FLAGS = ("--instrucl-temperature", "--instrucl-scale", "--loss-terms", "--lexical-updates")
NONE, PAPER, AUTHORS = (None,) * 4, ("1.0", "sum", None, None), ("1.0", "per-token", None, None)
SHARP, BEGUN = ("0.1", "per-token", None, None), (None, None, "lexical", "1000")
BOTH = ("0.1", "per-token", "instrucl,lexical", "1000")
BEGUN_LATER, BOTH_LATER = (*BEGUN[:3], "10000"), (*BOTH[:3], "10000")
ROWS = (
    "prefix-decoder-only",
    "prefix-decoder-only@instrucl-n",
    "tdo-prefix",
    "tdo-prefix@instrucl-n",
)
FOUND = {  # of those rows
    "toy": (NONE, SHARP, BEGUN, BOTH),
    "multi30k": (NONE, SHARP, BEGUN, BOTH),
    "full": (NONE, PAPER, NONE, PAPER),
    "toy --losses paper": (NONE, PAPER, NONE, PAPER),
    "toy --losses authors": (NONE, AUTHORS, NONE, AUTHORS),
}


@pytest.mark.parametrize("words", mostly_full(FOUND, quick=2))
def test_small_scales_have_the_recipe_s_losses_and_the_full_one_the_paper_s(
    clone: Path, words: str
) -> None:
    rows = ",".join(f"ted19/{row}" for row in ROWS)
    commands = shown(clone, "tdo_table3.sh", *words.split(), "--rows", rows)
    systems = trained(clone, commands)
    assert tuple(tuple(map(systems[f"ted19/{row}"].get, FLAGS)) for row in ROWS) == FOUND[words]


FORMS = {  # of three rows at the scale full
    "": {
        "tdo-prefix": NONE,
        "tdo-prefix@instrucl-n": PAPER,
        "tdo-prefix@instrucl-n-authors": AUTHORS,
        "tdo-prefix-instrucl": PAPER,
        "tdo-prefix-instrucl-authors": AUTHORS,
    },
    "--losses paper": {
        "tdo-prefix": NONE,
        "tdo-prefix@instrucl-n": PAPER,
        "tdo-prefix-instrucl": PAPER,
    },
    "--losses authors": {
        "tdo-prefix": NONE,
        "tdo-prefix@instrucl-n-authors": AUTHORS,
        "tdo-prefix-instrucl-authors": AUTHORS,
    },
    "--losses recipe": {
        "tdo-prefix-recipe": BEGUN_LATER,
        "tdo-prefix@instrucl-n-recipe": BOTH_LATER,
        "tdo-prefix-instrucl-recipe": BOTH_LATER,
    },
}


def form_of(training: dict[str, str]) -> tuple[str | None, ...]:
    """The values of `FLAGS`, behind the command's config or in it."""
    config = read_config(ROOT / "configs" / training["config"]).flags
    return tuple(training.get(flag) or next(iter(config.get(flag, [])), None) for flag in FLAGS)


SAYS = {"authors": ", authors' form", "recipe": ", recipe", "": ", paper's form"}


@pytest.mark.parametrize("words", mostly_full(FORMS, quick=2))
def test_at_full_a_row_s_folder_and_name_say_by_which_losses_it_is_trained(
    clone: Path, words: str
) -> None:
    """So that the training of one form is never taken for that of another."""
    rows = ("--rows", "ted19/tdo-prefix*")
    commands = shown(clone, "tdo_table3.sh", "full", *rows, *words.split())
    systems = trained(clone, commands)
    assert {name: form_of(flags) for name, flags in systems.items()} == {
        f"ted19/{row}": flags for row, flags in FORMS[words].items()
    }
    for name, row in zip(scored(commands), FORMS[words], strict=True):
        says = SAYS[row.rsplit("-", 1)[-1] if row.endswith(("-authors", "-recipe")) else ""]
        assert name.endswith(says) == (FORMS[words][row] != NONE), name


def test_a_form_is_a_row_that_can_be_asked_for(clone: Path) -> None:
    row = "ted19/tdo-prefix-instrucl-authors"
    (flags,) = trained(clone, shown(clone, "tdo_table3.sh", "full", "--rows", row)).values()
    assert tuple(map(flags.get, FLAGS)) == AUTHORS


@pytest.mark.parametrize("reads", [True, False], ids=["usable", "unusable"])
def test_the_full_scale_says_which_detector_it_takes(
    clone: Path, tmp_path: Path, reads: bool
) -> None:
    """The paper's, where it is on the machine and can be used; else it is said why it is not."""
    model = tmp_path / "lid.176.ftz"
    model.write_text("a model")
    stub = ["class Model:", "    def predict(self, *_, **__): return ['__label__en'], [1.0]"]
    load = "Model()" if reads else "(_ for _ in ()).throw(ValueError('no model'))"
    (tmp_path / "fasttext.py").write_text("\n".join([*stub, f"load_model = lambda path: {load}"]))
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    variables = {"PYTHONPATH": path, "FTLANG_CACHE": tmp_path, "CUDA_VISIBLE_DEVICES": ""}
    text = script(clone, "tdo_table4.sh", "full", "--dry-run", **variables).stdout
    (said,) = re.findall(r"^off-target shares: (.*)", text, re.MULTILINE)
    detectors = set(re.findall(r" --lid (\S+)$", text, re.MULTILINE))
    if reads:
        assert said == f"{model}, the paper's detector"
        assert detectors == {str(model)}  # the last one of a command counts
    else:
        assert said.startswith("a classifier trained on the corpus (") and "no model" in said
        assert detectors == {"corpus"}


def test_what_is_pre_trained_has_begun(clone: Path) -> None:
    commands = shown(clone, "tdo_table2.sh", "toy", "--rows", "m2m-418m/tdo-instrucl")
    (flags,) = (flags for name, flags in trained(clone, commands).items() if "tdo" in name)
    assert tuple(map(flags.get, FLAGS)) == SHARP


@pytest.mark.full
@pytest.mark.parametrize("scale", ["toy", "multi30k", "full"])
def test_table_2_begins_with_what_is_converted(clone: Path, scale: str) -> None:
    layers = "decoder" if scale == "full" else "decoder:1-3"
    commands = shown(clone, "tdo_table2.sh", scale, "--encoder", layers)
    order = [
        words[0] for words in commands if words[0] in ("train", "convert", "preprocess", "prepare")
    ]
    systems = trained(clone, commands)
    conversions = {value(words, "--out"): words for words in named(commands, "convert")}
    tuned = {name: flags for name, flags in systems.items() if "original" not in name}
    assert len(tuned) == (18 + 6 if scale == "full" else 6)
    for name, flags in tuned.items():
        start = flags["--finetune-from-model"]
        conversion = conversions[start.removesuffix("/model.pt")]
        assert ("--encoder" in conversion) == name.endswith("encoder-decoder")
        whole = "tdo_encoder_decoder" if name.endswith("encoder-decoder") else None
        whole = whole or (
            "tdo_prefix_decoder_only" if "decoder-only" in name else "tdo_transformer"
        )
        assert value(conversion, "--to") == whole
        assert ("--adaptation-dim" in conversion) == (
            whole == "tdo_transformer" and "adapt" not in name
        )
        half = "3" if scale != "full" else "12" if name.startswith("m2m-1.2b") else "6"
        assert value(conversion, "--layers") == half
    if scale != "full":
        prepared = "preprocess" if scale == "toy" else "prepare"
        assert order[:3] == [prepared, "train", "convert"] and order[-1] == "train"
        original = systems["m2m-418m/original"]
        for side in ("--encoder", "--decoder"):
            assert original[f"{side}-layers"] == "6"
            for of_original, of_others in (
                ("-embed-dim", "--tdo-model-dim"),
                ("-ffn-embed-dim", "--tdo-ffn-dim"),
                ("-attention-heads", "--tdo-heads"),
            ):
                sizes = {flags[of_others] for flags in tuned.values()}
                assert sizes == {original[side + of_original]}
    assert all(
        words[words.index("--from") + 1] in ("m2m100", "nllb") for words in conversions.values()
    )


@pytest.mark.full
def test_what_is_run_and_its_hours_are_said_first(clone: Path) -> None:
    lines = dry_run("tdo_table2.sh", "full", "--originals", "/").splitlines()
    assert lines[0].startswith("off-target shares: ")
    assert lines[1].startswith("to train: m2m-418m/encoder-decoder ")
    hours = [re.match(r"(\d+) trainings, .* GPU hours: an estimate", line) for line in lines]
    assert [match[1] for match in hours if match] == ["16", "8"]  # by dictionary
    counted = {line.split()[1]: line.split()[2] for line in lines if re.match(r" +1 ", line)}
    # as appendix H of the paper
    assert counted["m2m-418m/tdo"] == "282.3M" and counted["nllb-600m/tdo"] == "413.5M"
    # a variant has its own
    lines = dry_run("tdo_table4.sh", "full").splitlines()
    assert any("tdo-prefix@d-544" in line and " 68.2M" in line for line in lines)


@pytest.mark.full
@pytest.mark.parametrize("words", [["toy"], ["multi30k"], ["multi30k", "--updates", "500"]])
def test_the_last_update_is_a_candidate(clone: Path, words: list[str]) -> None:
    for flags in trained(clone, shown(clone, "tdo_figure4.sh", *words)).values():
        updates = int(flags["--max-update"])
        assert "--updates" not in words or updates == 500
        assert updates % int(flags["--save-interval-updates"]) == 0


@pytest.mark.parametrize("name", SCRIPTS)
def test_help_explains_the_script_and_its_options(clone: Path, name: str) -> None:
    output = script(clone, name, "--help").stdout
    folder = "figures" if "figure" in name else "tables"
    for text in (f"scripts/{folder}/{name}", "multi30k", "--smoke", "--losses", "Qu et al."):
        assert text in output
    assert "set -euo" not in output


@pytest.mark.parametrize(
    ("name", "words", "message"),
    [
        ("table2", ["full"], "`--originals` must be a folder with m2m-418m; it is left out"),
        ("table1", ["big"], "the scale must be toy, multi30k or full; it is big"),
        ("table1", ["--form", "third"], "`--form` must be shared or disjoint; it is third"),
        ("table1", ["multi30k", "--size", "big"], "`--size` must be small or paper; it is big"),
        ("table1", ["--size", "paper"], "must come with the scale multi30k; it is toy"),
        (
            "figure4",
            ["full", "--form", "disjoint"],
            "must come with the scale multi30k; it is full",
        ),
        ("table1", ["--losses", "none"], "must be paper, authors or recipe; it is none"),
        ("table1", ["--updates", "150"], "`--updates` must be a multiple of 250; it is 150"),
        ("table1", ["--rows", "ted19/tdo"], "ted19/tdo is none of them"),
        ("table2", ["--originals", "/no/such"], "`--originals` must be a folder with pre-trained"),
        ("table2", ["--originals", "/"], "must come with the scale full; it is toy"),
        ("table1", ["full", "--originals", "/"], "must come with rows of pre-trained models"),
        ("table2", ["--encoder", "first"], "`--encoder` must be encoder or decoder, or layers"),
        (
            "table2",
            ["--encoder", "decoder:1-2,4-5"],
            "must name 3 layers, as many as the stack has; it names 4 (m2m-",
        ),
        ("table2", ["--encoder", "decoder:3-1"], "`--encoder` must be encoder or decoder, or lay"),
        ("table2", ["--encoder", "decoder:0-2"], "`--encoder` must be encoder or decoder, or lay"),
        ("table2", ["--encoder", "decoder:5-7"], "`--encoder` must name layers up to 6, as many"),
        ("table1", ["--encoder", "decoder"], "`--encoder` must come with encoder-decoders that"),
        (
            "table1",
            ["--losses", "authors", "--rows", "ted19/tdo-prefix"],
            "`--losses authors` must come with rows that have InstruCL",
        ),
        (
            "table1",
            ["full", "--losses", "paper", "--rows", "ted19/tdo-prefix"],
            "`--losses paper` must come with rows that have InstruCL",
        ),
        (
            "table1",
            ["full", "--losses", "paper", "--rows", "ted19/tdo-prefix-instrucl-authors"],
            "ted19/tdo-prefix-instrucl-authors is none of them",
        ),
        (
            "table2",
            ["--losses", "recipe", "--rows", "m2m-418m/tdo-adaptation"],
            "`--losses` must come with rows that have InstruCL, or two stages from scratch",
        ),
        ("table1", ["--out", "--fresh"], "must be followed by its value; --fresh follows it"),
        ("table2", ["--rows", "nllb-600m/tdo"], "`--rows` must be of m2m-418m at the scale toy"),
        ("figure5", ["--fast"], "`--fast` is not an option of this script"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_input_is_one_line(clone: Path, name: str, words: list[str], message: str) -> None:
    result = script(clone, f"tdo_{name}.sh", *words, code=1)
    assert message in result.stderr and result.stderr.count("\n") == 1
    assert not (clone / "runs").exists()
