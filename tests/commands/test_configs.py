"""The commands of every system of experiments are ones that fairseq and torchrun understand."""

from pathlib import Path

import pytest
from support.configs import named, systems, torchrun
from support.covering import in_turn

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
