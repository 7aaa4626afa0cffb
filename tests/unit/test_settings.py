"""Settings that are text: what is read, what is refused, and that fairseq reads them so."""

import importlib
from argparse import Namespace

import omegaconf
import pytest
import torch
from fairseq import checkpoint_utils, models, scoring, tasks
from fairseq.logging import meters

from tdo_compat.settings import LONGEST, SettingError, harmless, literal

VALUES = {
    "True": True,
    " 0.9": 0.9,
    "-1": -1,
    "(0.9, 0.98)": (0.9, 0.98),
    "1,2": (1, 2),
    "{'a': [1, (2,)]}": {"a": [1, (2,)]},
    "2 * (1,)": (1, 1),
    "[(9, 5, 2)] + [(9, 3)] * 2 + [(8, 2)]": [(9, 5, 2), (9, 3), (9, 3), (8, 2)],
    "1+2j": 1 + 2j,
    "None": None,
}
REFUSED = (
    "__import__('os').system('true') or True",
    "open('x', 'w')",
    "yes",
    "(lambda: 1)()",
    "[x for x in (1, 2)]",
    "2 ** 9",
    "5 * 5",
    "'a' * 9",
    "[0] * 10 ** 9",
    f"[0] * {LONGEST + 1}",
    "[[0] * 400] * 400 * 400",
    "[1] + (2,)",
    "[1] * True",
    "",
    "(" * 300,
    "-" * 90_000 + "1",
    "1" * (LONGEST + 1),
    "1\n2",
    "\0",
    "{[]: 1}",
    "f'{1}'",
)


@pytest.mark.parametrize("text", VALUES)
def test_plain_values_are_read(text):
    value = literal(text)
    assert (value, type(value)) == (VALUES[text], type(VALUES[text]))


def test_all_else_is_refused_in_one_bounded_line(refused):
    """What is no text as Python does, which fairseq's `eval_bool` answers with its default."""
    for text in REFUSED:
        with refused.raised(f"{text:.40}", names="must be a plain value") as line:
            literal(text)
        assert len(line[0]) < 200
    for value in (None, True, 3, [1]):
        with pytest.raises(TypeError):
            literal(value)


def test_fairseqs_readers_run_nothing(tmp_path):
    from fairseq import utils
    from fairseq.dataclass import utils as settings

    code = f"__import__('pathlib').Path({str(tmp_path / 'ran')!r}).touch() or True"
    readers = (utils.eval_bool, utils.eval_str_list, utils.eval_str_dict, settings.eval_str_list)
    for reader in readers:
        with pytest.raises(SettingError):
            reader(code)
    assert not [*tmp_path.iterdir()]
    assert utils.eval_bool("False") is False
    assert utils.eval_bool(True) is False  # fairseq's own: no text is its default
    assert utils.eval_str_list("1e-3, 2") == [0.001, 2.0]
    assert utils.eval_str_list("3", type=int) == [3]
    assert utils.eval_str_dict("{'a': 1}") == {"a": 1}
    assert utils.eval_str_list(None) is None


@pytest.mark.parametrize("name", ["adam", "adamax", "adafactor", "fused_lamb", "cpu_adam"])
def test_optimizers_read_their_betas_so(name):
    assert importlib.import_module(f"fairseq.optim.{name}").eval is literal


def test_a_checkpoint_names_no_code_and_no_place_to_write_to(tmp_path):
    inner = Namespace(task="x", user_dir="evil", save_dir="evil", left_pad_source="True")
    stored = omegaconf.OmegaConf.create(
        {
            "common": {"user_dir": "evil", "tensorboard_logdir": "evil", "seed": 1},
            "checkpoint": {"save_dir": "evil"},
            "model": {"_name": "x"},
            "criterion": {"_name": "sentence_ranking", "save_predictions": "evil"},
        },
        flags={"allow_objects": True},
    )
    stored.task = inner
    path = tmp_path / "checkpoint.pt"
    history = {"optimizer_name": "x", "lr_scheduler_state": {}, "num_updates": 1}
    rest = {"optimizer_history": [history], "extra_state": {"train_iterator": None}}
    torch.save({"cfg": stored, "args": None, "model": {}, **rest}, path)
    cfg = checkpoint_utils.load_checkpoint_to_cpu(str(path))["cfg"]
    assert cfg.common == {"user_dir": None, "tensorboard_logdir": None, "seed": 1}
    assert cfg.criterion == {"_name": "sentence_ranking", "save_predictions": None}
    assert cfg.checkpoint == {}
    assert vars(cfg.task) == {"task": "x", "user_dir": None, "left_pad_source": "True"}
    assert "evil" not in str(cfg)


def test_a_checkpoint_asks_for_no_function(refused):
    for text in ("${oc.env:HOME}", "a${now:%Y}", "${ oc.decode:${a.b}}"):
        with refused.raised(text, names="`key` of a checkpoint"):
            harmless({"cfg": {"part": {"key": [text]}}})
    assert harmless({"cfg": {"part": {"key": "${common.seed}"}}})


def test_a_refused_setting_of_a_checkpoint_is_named(refused):
    harmless({"cfg": {"task": {"left_pad_source": "exit()"}}})
    with refused.raised("of a checkpoint", names="`left_pad_source` of a checkpoint"):
        literal("exit()")
    harmless({"cfg": {}})
    with refused.raised("of none", names="a setting"):
        literal("exit()")


def test_what_is_no_checkpoint_is_left_alone():
    for value in (None, [1], {"cfg": None, "args": None}, {}):
        assert harmless(value) == value
    loop = {"a": 1}
    loop["loop"] = loop
    assert harmless({"cfg": loop})["cfg"]["a"] == 1


def test_meters_are_fairseqs_own():
    restored = meters.MetersDict()
    restored.load_state_dict([(1, "loss", "SumMeter", {"sum": 3})])
    assert restored["loss"].sum == 3
    for name in ("TimeMeter.__init__", "OrderedDict", "eval", "time", 3, None):
        with pytest.raises(SettingError, match="a checkpoint's meters must be of fairseq's types"):
            restored.load_state_dict([(1, "loss", name, {})])


@pytest.mark.parametrize(
    "state",
    [
        (790, "wall", "AverageMeter", {"val": 1, "sum": 1, "count": 1, "round": 1}),
        (10, "loss", "StopwatchMeter", {"sum": 1, "n": 1, "round": 1}),
        (10, "loss", "AverageMeter", {"val": 1, "sum": "x", "count": 1, "round": 1}),
        (10, "loss", "AverageMeter", {"val": 1, "sum": 1, "count": 10**400, "round": 1}),
        (90, "wps", "TimeMeter", {"init": None, "n": 1, "round": 1}),
        (90, "wps", "TimeMeter", 3),
    ],
)
def test_meters_are_those_of_a_training(state):
    with pytest.raises(SettingError, match=f"meter {state[1]} must be that of a training"):
        meters.MetersDict().load_state_dict([state])


def test_no_code_of_a_hub():
    module = importlib.import_module("fairseq.models.speech_to_text.hub_interface")
    with pytest.raises(SettingError, match="`tts_model_id` must not be loaded"):
        module.torch.hub.load("who/what", "model", verbose=False)
    assert module.torch.zeros is torch.zeros


def test_a_fasta_file_has_any_name(tmp_path, monkeypatch):
    from fairseq.data import fasta_dataset

    commands = []
    monkeypatch.setattr(
        fasta_dataset.subprocess,
        "check_output",
        lambda command, shell: commands.append(command) or b"0",
    )
    fasta_dataset.FastaDataset(f"{tmp_path}/a; touch b #")
    assert f"'{tmp_path}/a; touch b #'.fasta" in commands[0]


def test_parts_that_nothing_registers(refused):
    for names, build, cfg in (
        ("`task`", tasks.setup_task, Namespace(task="x\n")),
        ("`task`", tasks.setup_task, Namespace(_name="x")),
        ("`arch`", models.build_model, Namespace(arch="{}")),
        ("`scoring`", scoring.build_scorer, "eval"),
    ):
        with refused.raised(str(cfg), names):
            build(cfg, None)
