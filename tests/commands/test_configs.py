"""Every config's commands are ones that fairseq and torchrun understand."""

import re
from pathlib import Path

import pytest
from support.configs import CONFIGS, ROOT, torchrun
from support.covering import in_turn

from tdo_plugin.data.databin import DataFolder
from tdo_plugin.launch.training import Machine, train_words
from tdo_plugin.launch.training_config import read_config

MACHINES = {
    "cpu": Machine(),
    "one-gpu": Machine(gpus=1),
    "one-node": Machine(gpus=4),
    "two-nodes": Machine(gpus=4, nodes=2, rendezvous="first:29500"),
}


RECIPE = ("own-data", "quickstart")  # whose losses are the recipe's
# what a folder's configs have otherwise than their presets
OWN = {
    "two-stage-start": (  # the sizes of the toy tables
        "--tdo-layers",
        "--tdo-target-layer",
        "--tdo-model-dim",
        "--tdo-ffn-dim",
        "--tdo-heads",
        "--tdo-norm",
    ),
    "quickstart": ("--tdo-layers", "--tdo-target-layer"),  # the small model with fewer layers
    "ted19-tuned": (  # those of 1.2 billion parameters are larger than the wide preset
        "--tdo-layers",
        "--tdo-target-layer",
        "--tdo-encoder-layers",
        "--tdo-decoder-layers",
        "--tdo-ffn-dim",
        "--tdo-freeze-embeddings",
    ),
    "opus100-tables": (
        "--tdo-encoder-layers",
        "--tdo-decoder-layers",
        "--tdo-share-embeddings",
        "--tdo-decoder-attention",
        "--tdo-laln",
        "--tdo-lalt",
        "--tdo-init",
    ),
    "tpdm-tables": (
        "--tdo-encoder-layers",
        "--tdo-decoder-layers",
        "--tdo-model-dim",
        "--tdo-ffn-dim",
        "--tdo-heads",
        "--tdo-share-embeddings",
        "--tdo-position-embedding",
        "--tdo-cut-residual",
        "--tdo-tpdm-layer",
        "--tdo-tpdm-gate",
    ),
    "neurons-tables": ("--tdo-ffn-dim", "--tdo-target-attention", "--tdo-adapter-dim"),
    "tlm-tables": (
        "--tdo-layers",
        "--tdo-model-dim",
        "--tdo-ffn-dim",
        "--tdo-heads",
        "--tdo-positions",
    ),
}


def name_of(path: Path) -> str:
    return path.relative_to(ROOT / "configs").as_posix()


def encoder_tag(path: Path) -> str:
    """Whose tag stands before the source; M2M-100, and what stands for it, has the source's own."""
    return "src" if path.parts[-2:] == ("tdo-tables", "original.conf") else "tgt"


def test_no_config_is_forgotten() -> None:
    rows = {"ted19": 11, "opus100-deep": 7, "opus100-wide": 7}
    for folder, count in rows.items():
        files = [path for path in CONFIGS if path.parent.name == folder]
        assert len(files) == count, folder
        heads = {p.read_text().splitlines()[0] for p in files}
        numbers = sorted(int(re.search(r"row (\d+) of", head)[1]) for head in heads)  # type: ignore[index]
        assert numbers == list(range(1, count + 1)), folder
    assert {p.stem for p in CONFIGS if p.parent.name == "quickstart"} == {
        "prefix-decoder-only",
        "tdo-instrucl",
    }
    assert {p.stem for p in CONFIGS if p.parent.name == "multi30k"} >= {
        "transformer",
        "prefix-decoder-only",
        "tdo",
        "tdo-recipe",
        "tdo-adaptation-instrucl",
        "tdo-instrucl-recipe",
    }
    tuned = ROOT / "configs" / "ted19-tuned"
    assert {path.name: len(list(path.glob("*.conf"))) for path in tuned.iterdir()} == dict.fromkeys(
        ("m2m-418m", "nllb-600m", "m2m-1.2b"), 6
    )
    tables = ROOT / "configs" / "tdo-tables"
    # their rows are those of ted19, opus100-deep, opus100-wide and ted19-tuned
    assert {path.stem for path in tables.rglob("*.conf")} == {
        "original", "toy", "multi30k", "multi30k-paper", "small",
    }  # fmt: skip
    tables = ROOT / "configs" / "opus100-tables"
    files = {
        folder: [path.stem for path in (tables / folder).glob("*.conf")]
        for folder in ("", "one-to-many", "many-to-many", "scales")
    }
    # test_tables.py holds the rows against the paper's
    assert {name: len(stems) for name, stems in files.items()} == {
        "": 2,
        "one-to-many": 8,
        "many-to-many": 13,
        "scales": 3,
    }
    assert sum("robt" in name for name in files["many-to-many"]) == 7
    tables = ROOT / "configs" / "tpdm-tables"
    counts = {path.name: len(list(path.glob("*.conf"))) for path in tables.iterdir()}
    # test_tpdm_tables.py holds the rows against the paper's
    assert counts == {"multiun": 15, "europarl": 13, "adversary": 2, "scales": 6}
    tables = ROOT / "configs" / "neurons-tables"
    counts = {path.name: len(list(path.glob("*.conf"))) for path in tables.iterdir()}
    # those of the paper's tables 1 and 2, and a control each
    assert counts == {"many-to-many": 6, "one-to-many": 8, "scales": 4}
    tables = ROOT / "configs" / "tlm-tables"
    folders = ("", "mono", "multi", "scales")
    # test_tlm_tables.py holds the rows against the paper's
    assert {name: len(list((tables / name).glob("*.conf"))) for name in folders} == {
        "": 6,
        "mono": 5,
        "multi": 2,
        "scales": 3,
    }
    shared = {p.name for p in (ROOT / "configs" / "shared").iterdir()}
    text = "\n".join(p.read_text() for p in (ROOT / "configs").rglob("*.conf"))
    assert {name for name in shared if not re.search(rf"include \S*\b{name}", text)} == set()


@pytest.mark.parametrize(
    ("folder", "directions", "tokens", "dropout"),
    [("many-to-many", 8, 16384, "0.3"), ("one-to-many", 12, 32768, "0.1")],
)
def test_neuron_tables_are_trained_as_the_authors_scripts_say(folder, directions, tokens, dropout):
    """On from epoch 36 to 80, with as many tokens of each direction in an update."""
    paths = (ROOT / "configs" / "neurons-tables" / folder).glob("*.conf")
    flags = {path.stem: read_config(path).flags for path in paths}
    numbers = {
        name: {option: values[-1] for option, values in of_config.items() if values}
        for name, of_config in flags.items()
    }
    for name, options in numbers.items():
        share = 1 if name == "individual" else directions
        size = 4 * int(options["--max-tokens"]) * int(options["--update-freq"])
        assert size == tokens * share, name
        assert "--max-update" not in options
    epochs = {name: int(options["--max-epoch"]) for name, options in numbers.items()}
    assert (epochs["multilingual"], epochs["masked"], epochs["continued"]) == (36, 44, 44)
    assert epochs["adapter"] == epochs["target-specific"] == 36 + 44
    for name in ("masked", "continued"):
        assert (numbers[name]["--dropout"], numbers[name]["--lr"]) == (dropout, "0.0001")


def test_fairseq_understands_every_training_command(
    data: DataFolder, subtests: pytest.Subtests
) -> None:
    """Each on one of the machines, in turn."""
    for path, machine in in_turn(CONFIGS, tuple(MACHINES)):
        with subtests.test(config=name_of(path), machine=machine):
            _check_training(path, machine, data)


def has_recipe(path: Path) -> bool:
    return path.parent.name in RECIPE or path.stem.endswith("-recipe")


def _check_training(path: Path, machine: str, data: DataFolder) -> None:
    from fairseq import options

    config = read_config(path)
    where = MACHINES[machine]
    extra = ["--update-freq", "1"] if where.workers > config.gpus else []
    words, _ = train_words(config, data, Path("/save"), where, "fp16", extra)
    program = words.index("fairseq-train")
    if program:
        launcher = torchrun(words[: program + 1])
        assert launcher.training_script == "fairseq-train"
        assert launcher.nnodes.split(":")[-1] == str(where.nodes)
        assert launcher.nproc_per_node == str(where.gpus)
    arguments = words[program + 1 :]
    args = options.parse_args_and_arch(options.get_training_parser(), arguments)
    one_way = path.parent.name == "one-to-many"
    assert args.lang_pairs == ("en-de,en-fr" if one_way else ",".join(data.directions))
    assert args.save_dir == "/save"
    assert args.encoder_langtok == encoder_tag(path)
    assert args.cpu == (machine == "cpu") and args.fp16 == (machine != "cpu")
    tokens = args.update_freq[0] * args.max_tokens * where.workers
    whole = config.gpus * args.max_tokens * config.integer("--update-freq", 1)
    assert extra or tokens == whole
    recipe = has_recipe(path)
    if args.arch.startswith("tdo_transformer") and recipe:
        assert args.tdo_init == "identity-stage1"
    if "instrucl" in path.stem:
        authors = recipe or "authors" in path.stem
        form = ("tag-share", "per-token") if authors else ("none", "sum")
        assert (args.instrucl_weighting, args.instrucl_scale) == form
        assert args.instrucl_temperature == (0.1 if recipe else 1)
        assert args.instrucl_weight == (0.3 if recipe else 1)
        if recipe:
            assert args.criterion == "label_smoothed_cross_entropy_terms"
            assert args.loss_terms == "instrucl,lexical"
        else:
            assert args.criterion == "label_smoothed_cross_entropy_instrucl"
    elif "tpdm" in path.stem or "adversary" in name_of(path):
        assert args.criterion == "label_smoothed_cross_entropy_tpdm"
        gate = "relaxed-bernoulli" if "gtpdm" in path.stem else "none"
        layer = args.tdo_encoder_layers // 2 + 1
        assert (args.tdo_tpdm_layer, args.tdo_tpdm_gate) == (layer, gate)
    elif args.criterion == "label_smoothed_cross_entropy_tlm":
        assert "tlm-tables" in path.parts and args.tdo_positions == "continuous"
        assert (args.source_noise == "bert") == (path.stem != "tlm")  # grid.json's cells say it
    elif encoder_tag(path) == "src":
        assert (args.arch, args.criterion) == ("transformer", "label_smoothed_cross_entropy")
    else:
        terms = "lexical" if recipe and "tdo" in path.stem else ""
        assert (args.criterion, args.loss_terms) == ("label_smoothed_cross_entropy_terms", terms)


def test_configs_agree_with_their_architecture(data: DataFolder, subtests: pytest.Subtests) -> None:
    """The numbers that a config spells out are those of the preset that it names."""
    for path in CONFIGS:
        with subtests.test(config=name_of(path)):
            _check_preset(path, data)


def _check_preset(path: Path, data: DataFolder) -> None:
    from fairseq import options

    config = read_config(path)
    words, _ = train_words(config, data, Path("/save"), Machine(), "fp32", [])
    arguments = words[1:]
    args = options.parse_args_and_arch(options.get_training_parser(), arguments)
    if not args.arch.startswith("tdo_"):
        return
    overrides = OWN.get(path.relative_to(ROOT / "configs").parts[0], ())
    start = ("--tdo-init",) if has_recipe(path) else ()  # whose value _check_training knows
    kept, skip = [], False
    for word in arguments:
        if word.startswith("--"):
            skip = word.startswith("--tdo-") and word not in (
                "--tdo-source-attention", "--tdo-adaptation-dim", *overrides, *start,
            )  # fmt: skip
        if not skip:
            kept.append(word)
    preset = options.parse_args_and_arch(options.get_training_parser(), kept)
    named = {key for key in vars(args) if key.startswith("tdo_")}
    assert {key: getattr(args, key) for key in named} == {
        key: getattr(preset, key) for key in named
    }
