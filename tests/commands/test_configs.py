"""Commands take every system of experiments as a config, and fairseq understands what follows."""

from pathlib import Path

import pytest
from support.configs import ROOT, named, systems, torchrun
from support.covering import in_turn
from support.prepared import prepared

from tdo_plugin.cli import main
from tdo_plugin.data.databin import DataFolder
from tdo_plugin.launch.training import Machine, train_words
from tdo_plugin.launch.training_config import Config

MACHINES = {
    "cpu": Machine(),
    "one-gpu": Machine(gpus=1),
    "one-node": Machine(gpus=4),
    "two-nodes": Machine(gpus=4, nodes=2, rendezvous="first:29500"),
}
# the systems that are their presets, and what they have beside them
AS_PRESETS = ("tdo/", "multi30k/", "own-data/")
BESIDE = (
    *("--tdo-source-attention", "--tdo-adaptation-dim", "--tdo-init", "--tdo-freeze-embeddings"),
    *("--tdo-stage1-ffn-dim", "--tdo-stage2-ffn-dim"),
)


AUTHORS = [("many-to-many", 8, 16384, "0.3"), ("one-to-many", 12, 32768, "0.1")]


@pytest.mark.parametrize(("corpus", "directions", "tokens", "dropout"), AUTHORS)
def test_neuron_tables_are_trained_as_the_authors_scripts_say(corpus, directions, tokens, dropout):
    """On from epoch 36 to 80, with as many tokens of each direction in an update."""

    def numbers(system: str) -> dict[str, str]:
        flags = named(f"neurons/{corpus}/{system}").flags
        return {option: values[-1] for option, values in flags.items() if values}

    for name, epochs in {
        "multilingual": 36,
        "individual+direction=it-en": 36,
        "expansion": 36,
        "adapter": 36 + 44,
        "target-specific": 36 + 44,
        "multilingual+continued": 44,
        "multilingual+te": 44,
        "expansion+av": 44,
    }.items():
        options = numbers(name)
        share = 1 if "individual" in name else directions
        size = 4 * int(options["--max-tokens"]) * int(options["--update-freq"])
        assert size == tokens * share, name
        assert "--max-update" not in options
        assert int(options["--max-epoch"]) == epochs, name
        if epochs == 44:
            assert (options["--dropout"], options["--lr"]) == (dropout, "0.0001"), name


def encoder_tag(config: Config) -> str:
    """Whose tag stands before the source."""
    (tag,) = config.flags["--encoder-langtok"]
    return tag


def test_there_are_systems_of_each_kind() -> None:
    assert len(systems()) > 100
    assert {encoder_tag(config) for config in systems().values()} == {"tgt", "src"}


@pytest.mark.full
def test_fairseq_understands_every_training_command(
    data: DataFolder, subtests: pytest.Subtests
) -> None:
    """Each on one of the machines, in turn."""
    for (name, config), machine in in_turn(systems().items(), tuple(MACHINES)):
        with subtests.test(system=name, machine=machine):
            _check_training(config, machine, data)


def _check_training(config: Config, machine: str, data: DataFolder) -> None:
    from fairseq import options

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
    trained = "en-de,en-fr" if config.directions == "en-*" else ",".join(data.directions)
    assert [args.lang_pairs] == config.flags.get("--lang-pairs", [trained])
    assert args.save_dir == "/save"
    assert args.encoder_langtok == encoder_tag(config)
    assert args.cpu == (machine == "cpu") and args.fp16 == (machine != "cpu")
    tokens = args.update_freq[0] * args.max_tokens * where.workers
    whole = config.gpus * args.max_tokens * config.integer("--update-freq", 1)
    assert extra or tokens == whole
    assert [args.criterion] == config.flags["--criterion"]
    assert [args.arch] == config.flags["--arch"]
    if args.criterion == "label_smoothed_cross_entropy_tpdm":
        assert args.tdo_tpdm_layer == args.tdo_encoder_layers // 2 + 1
    if args.criterion == "label_smoothed_cross_entropy_tlm":
        assert args.tdo_positions == "continuous"


def test_systems_agree_with_their_architecture(data: DataFolder, subtests: pytest.Subtests) -> None:
    """The numbers that a system spells out are those of the preset that it names."""
    for name, config in systems().items():
        if name.startswith(AS_PRESETS):
            with subtests.test(system=name):
                _check_preset(config, data)


def _check_preset(config: Config, data: DataFolder) -> None:
    from fairseq import options

    words, _ = train_words(config, data, Path("/save"), Machine(), "fp32", [])
    arguments = words[1:]
    args = options.parse_args_and_arch(options.get_training_parser(), arguments)
    kept, skip = [], False
    for word in arguments:
        if word.startswith("--"):
            skip = word.startswith("--tdo-") and word not in BESIDE
        if not skip:
            kept.append(word)
    preset = options.parse_args_and_arch(options.get_training_parser(), kept)
    keys = {key for key in vars(args) if key.startswith("tdo_")}
    assert {key: getattr(args, key) for key in keys} == {key: getattr(preset, key) for key in keys}


# --- commands that take one ------------------------------------------------------------------


def flags(capsys, *words):
    assert main(["flags", *words]) == 0
    return set(capsys.readouterr().out.splitlines())


def test_the_flags_of_a_system(capsys):
    shown = flags(capsys, "quickstart/tdo-instrucl+M=1", "--scale", "smoke")
    assert {"# gpus 1", "--tdo-target-layer 1", "--instrucl-temperature 0.1"} <= shown


def test_it_is_trained_and_inspected_with(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = str(prepared().root)
    words = [data, "--cpu", "--dry-run", "--scale", "toy"]
    assert main(["train", "quickstart/tdo-instrucl", *words, "--lr", "0.5"]) == 0
    command = capsys.readouterr().out.splitlines()[-1]
    assert command.endswith("--lr 0.5") and "--instrucl-weight 0.3" in command
    assert f"--save-dir {tmp_path}/checkpoints/quickstart-tdo-instrucl " in command
    assert main(["inspect", data, "--config", "quickstart/tdo", "--batches", "1"]) == 0


def test_under_slurm_the_system_has_its_place_and_its_scale(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT / "configs" / "experiments")
    words = ["--slurm", "--cpu", "--dry-run", "--save-dir", str(tmp_path)]
    assert main(["train", "quickstart.toml/tdo", str(prepared().root), *words]) == 0
    script = capsys.readouterr().out
    assert f"train {ROOT}/configs/experiments/quickstart.toml/tdo " in script
    assert "--scale toy" in script and "#SBATCH --job-name=quickstart-tdo\n" in script


def test_what_only_a_run_makes_is_to_be_given(capsys):
    name = "tdo/m2m-418m/tdo+adaptation"
    why = "has {made.converted}/model.pt, which tdo reproduce tdo makes"
    assert f"# --finetune-from-model must be given: it {why}" in flags(capsys, name)
    for system in (name, "neurons/many-to-many/multilingual+continued"):
        words = ["train", system, str(prepared().root), "--cpu", "--dry-run"]
        assert main([*words, "--finetune-from-model=model.pt"]) == 0
    assert main(["estimate", name]) == 0
    assert f" {name} " in capsys.readouterr().out


def test_what_is_refused(refused):
    refused.rows(
        """
        train tdo/m2m-418m/tdo+adaptation {data} --cpu --dry-run :: --finetune-from-model
        train neurons/many-to-many/multilingual+continued {data} --cpu --dry-run
            --restore-file model.pt         :: --finetune-from-model
        flags quickstart/x                  :: x
        train quickstart/x data --cpu       :: x
        estimate quickstart/x               :: x
        """,
        data=prepared().root,
    )


def test_estimates_know_what_the_corpus_says(capsys):
    assert main(["estimate", "neurons/many-to-many/multilingual"]) == 0
    words = capsys.readouterr().out.splitlines()[1].split()
    assert words == ["1", "neurons/many-to-many/multilingual", "64.7M", "15,636", "0.8", "2.4"]
    assert main(["estimate", "neurons/many-to-many/multilingual", "--vocab-size", "64000"]) == 0
    assert " 76.9M " in capsys.readouterr().out
