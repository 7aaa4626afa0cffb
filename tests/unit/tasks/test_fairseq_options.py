"""Each option of fairseq's four commands is read, or refused; and what is refused, with a line."""

import dataclasses
import functools
from argparse import Namespace

import pytest
from support.data import CROSS_ENTROPY, TAG, TASK, TDO
from support.option_reads import parsers, read_by

from tdo_plugin.errors import UserError
from tdo_plugin.models.config import TdoConfig
from tdo_plugin.tasks import fairseq_options
from tdo_plugin.tasks.fairseq_options import command_of
from tdo_plugin.tasks.fairseq_refusals import ALL, REFUSALS, refusals

MODEL = {field.name for field in dataclasses.fields(TdoConfig)}  # read as a whole
BASE = {
    "train": ("--task", "tdo_translation", *TASK, *TAG, *TDO, *CROSS_ENTROPY),
    **{
        command: ("--task", "tdo_translation", *TASK, *TAG, "--path", "m.pt", "--max-tokens", "90")
        for command in ALL[1:]
    },
}
BASE["train"] += ("--optimizer", "adam", "--lr-scheduler", "inverse_sqrt")
BASE["interactive"] = BASE["interactive"][:-2]
SHARDED = ("--ddp-backend", "fully_sharded")


@functools.cache
def all_parsers():
    return parsers()


def parsed(command, *flags):
    from fairseq import options

    make = {
        "train": options.get_training_parser,
        "generate": options.get_generation_parser,
        "interactive": options.get_interactive_generation_parser,
        "validate": options.get_validation_parser,
    }
    words = ["data", *BASE[command], *flags]
    return options.parse_args_and_arch(make[command](), input_args=words)


def wrong_value(action):
    """Words that give an option a value that is not its default."""
    flag = next(name for name in action.option_strings if name.startswith("--"))
    if action.nargs == 0:
        return [flag]
    if action.choices:
        return [flag, next(str(choice) for choice in action.choices if choice != action.default)]
    if action.type is int:
        return [flag, str((action.default or 0) + 1)]
    if action.type is float:
        return [flag, str((action.default or 0) + 1)]
    return [flag, "7"]


@pytest.mark.parametrize("command", ALL)
def test_each_option_is_read_or_refused(command):
    parser = all_parsers()[command]
    assert command_of(parser) == command
    refused = refusals(command)
    ignored = {
        action.dest
        for action in parser._actions
        if action.dest not in {"help", *read_by(command), *refused, *MODEL}
    }
    assert not ignored, f"fairseq-{command} ignores {', '.join(sorted(ignored))}"
    unknown = set(refused) - {action.dest for action in parser._actions}
    assert not unknown, f"fairseq-{command} has no {', '.join(sorted(unknown))}"


@pytest.mark.parametrize("command", ALL)
def test_each_refusal_is_one_line(command):
    parser = all_parsers()[command]
    args = parsed(command)
    for option, (row, *_) in refusals(command).items():
        action = next(candidate for candidate in parser._actions if candidate.dest == option)
        flag, *value = wrong_value(action)
        changed = Namespace(**{**vars(args), option: (value or [True])[0], "cpu": True})
        if row.when == f"with `{' '.join(SHARDED)}`":
            changed.ddp_backend = SHARDED[1]
        with pytest.raises(UserError) as raised:
            fairseq_options.check_command_line(parser, changed, [flag, *value])
        line = str(raised.value)
        assert f"`{flag}`" in line and row.reason in line and "\n" not in line, line


def test_defaults_may_be_given():
    parsed("generate", "--num-shards", "1", "--ddp-backend", "pytorch_ddp", "--no-progress-bar")


@pytest.mark.parametrize(
    ("command", "flags", "line"),
    [
        ("generate", ("--constraints",), "no constrained search; it is ordered"),
        ("generate", ("--replace-unk",), "`--replace-unk` must not be set: these models keep no"),
        ("generate", ("--replace-unk", "words.txt"), "keep no attention weights"),
        ("interactive", ("--replace-unk",), "keep no attention weights"),
        ("generate", ("--print-step",), "refine a whole sentence iteratively; it is on"),
        (
            "interactive",
            ("--num-shards", "2"),
            "only fairseq-generate can process a part of its set",
        ),
        ("train", ("--num-shards", "2"), "`--num-shards` must not be set"),
        ("generate", ("--num-shards", "2", "--shard-id", "2"), "`--shard-id` must be from 0 to 1"),
        ("generate", ("--num-shards", "-1"), "`--num-shards` must be at least 1"),
        (
            "train",
            ("--fp16", "--cpu"),
            "`--fp16-no-flatten-grads` allows half precision on a CPU",
        ),
        ("train", ("--fp16", "--amp"), "must be chosen; `--fp16` and `--amp` are set"),
        ("generate", ("--bf16", "--amp"), "must be chosen; `--bf16` and `--amp` are set"),
        ("train", ("--amp", "--cpu"), "`--amp` must not be set with `--cpu`"),
        (
            "train",
            ("--no-reshard-after-forward",),
            "must not be set without `--ddp-backend fully_sharded`",
        ),
        ("train", ("--ddp-backend", "slowmo"), "must be one of c10d, pytorch_ddp, legacy_ddp"),
        (
            "train",
            ("--cpu", "--distributed-world-size", "2"),
            "`--ddp-backend` must be legacy_ddp or fully_sharded with `--cpu`",
        ),
        ("train", ("--zero-sharding", "os"), "training is data parallel only"),
        ("train", (*SHARDED, "--memory-efficient-fp16"), "kept in single precision"),
        ("train", (*SHARDED, "--amp"), "must not be set with `--ddp-backend fully_sharded`"),
        ("train", (*SHARDED, "--store-ema"), "`tdo average` averages checkpoints"),
        ("train", (*SHARDED, "--heartbeat-timeout", "9"), "it has no effect"),
        ("train", (*SHARDED, "--use-sharded-state"), "option of fairscale's sharding"),
        ("generate", ("--no-reshard-after-forward",), "only fairseq-train uses it"),
        ("train", ("--pipeline-model-parallel",), "training is data parallel only"),
        ("train", ("--seed", str(2**40)), "`--seed` must be at most 4294967295"),
        ("train", ("--max-update", str(2**70)), "`--max-update` must be at most"),
        ("train", ("--log-interval", "0"), "`--log-interval` must be at least 1; it is 0"),
        ("generate", ("--beam", "0"), "`--beam` must be at least 1; it is 0"),
        ("generate", ("--temperature", "0"), "`--temperature` must be above 0"),
        ("generate", ("--temperature", "nan"), "`--temperature` must be a number; it is nan"),
        ("generate", ("--nbest", "9"), "`--nbest` must be at most `--beam` (5); it is 9"),
        ("generate", ("--sampling-topk", "3"), "`--sampling-topk` must be used with"),
        ("generate", ("--sampling", "--beam", "2"), "`--nbest` must equal `--beam` (2)"),
        ("generate", ("--match-source-len", "--diverse-beam-groups", "5"), "are set"),
        ("generate", ("--diverse-beam-groups", "2"), "must divide `--beam` (5); it is 2"),
        ("generate", ("--model-overrides", "{'a'"), "`--model-overrides` must be a Python"),
        ("interactive", ("--batch-size", "4"), "must be at most `--buffer-size`, 1; it is 4"),
        (
            "generate",
            ("--free-tag", "--score-reference"),
            "`--free-tag` must not be set with `--score-reference`",
        ),
        ("train", ("--free-tag",), "`--free-tag` must not be set: only the searches of"),
        ("validate", ("--free-tag",), "`--free-tag` must not be set: only the searches of"),
        ("validate", ("--max-tokens", "0"), "`--max-tokens`"),
        ("generate", ("--save-dir", "x"), "only fairseq-train writes checkpoints"),
    ],
)
def test_mistakes_are_one_line(command, flags, line):
    with pytest.raises(UserError) as raised:
        parsed(command, *flags)
    assert line in str(raised.value)


def test_other_tasks_are_left_alone():
    from fairseq import options

    words = ["data", "--task", "translation", "--path", "m.pt", "--print-step"]
    assert options.parse_args_and_arch(options.get_generation_parser(), words).print_step


def test_each_option_has_one_reason_for_a_command():
    for command in ALL:
        for option, rows in refusals(command).items():
            assert len(rows) == 1 or any(row.applies for row in rows), (command, option)
    assert all(set(row.commands) <= set(ALL) and row.reason for row in REFUSALS)
