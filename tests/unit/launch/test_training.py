"""Commands for one worker and many: the batch of an update stays the config's."""

from dataclasses import replace
from pathlib import Path

from tdo_plugin.data.databin import DataFolder
from tdo_plugin.launch.training import Machine, train_words
from tdo_plugin.launch.training import last_value as value
from tdo_plugin.launch.training_config import Config

DATA = DataFolder(Path("/d"), ("en", "de"), ("en-de", "de-en"), ("en-de",), ("shard2",))
TASK = {"--task": ["tdo_translation"]}
FLAGS = {
    **TASK,
    **{"--arch": ["tdo_transformer"], "--max-tokens": ["4000"], "--update-freq": ["16"]},
}
CONFIG = Config(FLAGS, gpus=8)


def words(machine: Machine, *extra: str, precision: str = "fp16") -> list[str]:
    return train_words(CONFIG, DATA, Path("/s"), machine, precision, extra)[0]


def test_updates_see_as_many_tokens():
    for machine, extra, expected in (
        (Machine(gpus=8), (), "16"),
        (Machine(gpus=1), (), "128"),
        (Machine(gpus=0), (), "128"),
        (Machine(gpus=4, nodes=4, rendezvous="h:1"), (), "8"),
        (Machine(processes=2, nodes=2, rendezvous="h:1"), (), "32"),
        (Machine(gpus=8), ("--max-tokens", "2000"), "32"),
        (Machine(gpus=8), ("--max-tokens=8000",), "8"),
        (Machine(gpus=3), ("--update-freq", "5"), "5"),
    ):
        assert value(words(machine, *extra), "--update-freq") == expected, machine


def test_more_workers_than_batches_get_smaller_ones(refused):
    """As long as the longest sentence, of 1,024 tokens, fits."""
    few = replace(CONFIG, gpus=1, flags={**FLAGS, "--update-freq": ["8"]})
    for gpus, tokens in ((8, "4000"), (16, "2000")):
        command, note = train_words(few, DATA, Path("/s"), Machine(gpus=gpus), "fp16")
        assert (value(command, "--max-tokens"), value(command, "--update-freq")) == (
            tokens,
            "1",
        )
        assert note.endswith("= 32000 tokens per update (the config's total)")
    with refused.raised("too many GPUs", names="batches of 4000"):
        train_words(few, DATA, Path("/s"), Machine(gpus=32), "fp16")
    short = {**few.flags, "--max-source-positions": ["256"], "--max-target-positions": ["256"]}
    command, _ = train_words(replace(few, flags=short), DATA, Path("/s"), Machine(gpus=32), "fp16")
    assert value(command, "--max-tokens") == "1000"


def test_the_machine_decides_the_launcher():
    assert words(Machine(gpus=0))[0] == "fairseq-train"
    for precision, flags in (("fp32", set()), ("bf16", {"--bf16"})):
        alone = words(Machine(gpus=0), precision=precision)
        assert "--cpu" in alone and {"--fp16", "--bf16"} & {*alone} == flags
        assert value(alone, "--num-workers") == "0"
    own = words(Machine(gpus=0), "--num-workers", "2")
    assert own.count("--num-workers") == 1 and value(own, "--num-workers") == "2"
    single = words(Machine(gpus=1))
    assert "--num-workers" not in single
    assert single[0] == "fairseq-train" and value(single, "--distributed-world-size") == "1"
    assert words(Machine(gpus=2))[:5] == [
        "torchrun", "--standalone", "--nproc-per-node", "2", "fairseq-train",
    ]  # fmt: skip
    many = words(Machine(gpus=2, nodes=4, rendezvous="host:29500"), precision="bf16")
    assert value(many, "--rdzv-endpoint") == "host:29500" and value(many, "--nnodes") == "4"
    assert "--bf16" in many and "--distributed-world-size" not in many
    assert Path(value(many, "--user-dir")).is_absolute()
    assert value(many, "--lang-pairs") == "en-de,de-en"
    assert many[many.index("fairseq-train") + 1] == "/d:/d/shard2"


def test_processes_of_the_cpu_talk_through_gloo():
    many = words(Machine(processes=3, nodes=2, rendezvous="host:1"), "--update-freq", "1")
    assert many[0] == "torchrun" and value(many, "--nproc-per-node") == "3"
    assert value(many, "--distributed-backend") == "gloo" and "--cpu" in many
    assert value(many, "--ddp-backend") == "legacy_ddp"
    sharded = words(Machine(processes=4), "--ddp-backend", "fully_sharded")
    assert sharded.count("--ddp-backend") == 1 and "gloo" in sharded
    assert "--distributed-world-size" not in many
    one_each = words(Machine(nodes=2, rendezvous="host:1"))
    assert value(one_each, "--nproc-per-node") == "1" and "gloo" in one_each
    assert "gloo" not in words(Machine())


def test_a_config_may_train_some_directions(refused):
    data = replace(DATA, directions=("en-de", "de-en", "en-fr", "fr-en"))

    def pairs(directions: str) -> str:
        config = replace(CONFIG, directions=directions)
        return value(train_words(config, data, Path("/s"), Machine(), "fp32")[0], "--lang-pairs")

    assert pairs("*") == "en-de,de-en,en-fr,fr-en"
    assert pairs("fr-en,en-*") == "en-de,en-fr,fr-en"
    with refused.raised("a direction that is not there", names="de-fr"):
        pairs("de-fr")


def test_a_folder_without_validation_sets_is_trained_without(tmp_path):
    data = replace(DATA, root=tmp_path)
    (tmp_path / "valid.de-fr.de.idx").touch()  # of a pair that is not trained
    for validated in (False, True):
        command, _ = train_words(CONFIG, data, tmp_path, Machine(), "fp32")
        assert ("--disable-validation" in command) == (not validated)
        (tmp_path / "valid.en-de.en.idx").touch()


def test_a_task_that_needs_all_validation_sets_gets_them_or_a_line(tmp_path, refused):
    data = replace(DATA, root=tmp_path, directions=("en-de", "de-en", "en-fr"))
    (tmp_path / "valid.de-en.de.idx").touch()  # named the other way round
    flags = {**CONFIG.flags, "--task": ["translation_multi_simple_epoch"]}
    stock = replace(CONFIG, flags=flags)
    with refused.raised("a pair without a validation set", names="en-fr has none"):
        train_words(stock, data, tmp_path, Machine(), "fp32")
    for extra in ("--task tdo_translation", "--lang-pairs en-de", "--valid-subset test"):
        train_words(stock, data, tmp_path, Machine(), "fp32", extra.split())
    (tmp_path / "valid.en-fr.en.idx").touch()
    train_words(stock, data, tmp_path, Machine(), "fp32")


def test_what_is_refused(refused):
    """And what tests/commands/test_advice.py has."""
    with refused.raised("a batch that does not divide", names="512000 tokens"):
        words(Machine(gpus=3))
    with refused.raised("a negative batch", names="--max-tokens"):
        words(Machine(gpus=1), "--max-tokens", "-5")
    for machine in (Machine(gpus=-1), Machine(gpus=1, nodes=0), Machine(processes=0)):
        with refused.raised(str(machine), names="must be"):
            words(machine)
    bare = Config({**TASK, "--max-tokens": ["4000"]})
    train_words(bare, DATA, Path("/s"), Machine(), "fp32", ["--arch", "tdo_transformer"])
