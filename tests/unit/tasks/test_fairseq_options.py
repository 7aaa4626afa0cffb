"""Each option of fairseq's four commands is read, or refused; and what is refused, with a line."""

import dataclasses
import functools
from argparse import Namespace

import pytest
from support.data import CROSS_ENTROPY, TAG, TASK, TDO
from support.option_reads import parsers, read_by
from support.trainings import saved

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
MISTAKES = """
train --num-shards 2                                         :: --num-shards
train --fp16 --cpu                                           :: --fp16-no-flatten-grads
train --fp16 --amp                                           :: `--fp16` and `--amp`
train --amp --cpu                                            :: --amp
train --no-reshard-after-forward                             :: --no-reshard-after-forward
train --ddp-backend slowmo                                   :: --ddp-backend
train --cpu --distributed-world-size 2                       :: --ddp-backend
train --seed 1099511627776                                   :: --seed
train --max-update 1180591620717411303424                    :: --max-update
train --log-interval 0                                       :: --log-interval
train --free-tag                                             :: --free-tag
train --adam-betas (0.9,)                                    :: two numbers such as (0.9, 0.98)
train --adam-betas 0.9                                       :: --adam-betas
train --valid-subset valid,valid                             :: valid twice
train --lang-pairs en-de,en-de                               :: --lang-pairs
generate --replace-unk                                       :: --replace-unk
generate --num-shards 2 --shard-id 2                         :: --shard-id
generate --num-shards -1                                     :: --num-shards
generate --bf16 --amp                                        :: `--bf16` and `--amp`
generate --beam 0                                            :: --beam
generate --temperature 0                                     :: --temperature
generate --temperature nan                                   :: --temperature
generate --nbest 9                                           :: `--beam` (5)
generate --sampling-topk 3                                   :: --sampling-topk
generate --sampling --beam 2                                 :: `--beam` (2)
generate --match-source-len --diverse-beam-groups 5          :: are set
generate --diverse-beam-groups 2                             :: `--beam` (5)
generate --model-overrides {'a'                              :: --model-overrides
generate --free-tag --score-reference                        :: --score-reference
interactive --batch-size 4                                   :: --buffer-size
validate --max-tokens 0                                      :: --max-tokens
"""


def test_mistakes(refused):
    for row in MISTAKES.strip().splitlines():
        words, _, names = map(str.strip, row.partition("::"))
        command, *flags = words.split()
        with refused.raised(words, names):
            parsed(command, *flags)


def test_a_model_that_translates_is_no_language_model(refused, tmp_path):
    with refused.raised("a translation model", "--lm-path"):
        parsed("generate", "--lm-path", saved(tmp_path / "m.pt"))


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
    flag = next(name for name in action.option_strings if name.startswith("--"))
    if action.nargs == 0:
        return [flag]
    if action.choices:
        return [flag, next(str(choice) for choice in action.choices if choice != action.default)]
    is_number = action.type in (int, float)
    return [flag, str((action.default or 0) + 1) if is_number else "7"]


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
        if row.when == "with `--ddp-backend fully_sharded`":
            changed.ddp_backend = "fully_sharded"
        with pytest.raises(UserError) as raised:
            fairseq_options.check_command_line(parser, changed, [flag, *value])
        line = str(raised.value)
        assert f"`{flag}`" in line and row.reason in line and "\n" not in line, line


def test_defaults_may_be_given():
    parsed("generate", "--num-shards", "1", "--ddp-backend", "pytorch_ddp", "--no-progress-bar")


def test_other_tasks_are_left_alone():
    from fairseq import options

    words = ["data", "--task", "translation", "--path", "m.pt", "--print-step"]
    assert options.parse_args_and_arch(options.get_generation_parser(), words).print_step


def test_each_option_has_one_reason_for_a_command():
    for command in ALL:
        for option, rows in refusals(command).items():
            assert len(rows) == 1 or any(row.applies for row in rows), (command, option)
    assert all(set(row.commands) <= set(ALL) and row.reason for row in REFUSALS)
