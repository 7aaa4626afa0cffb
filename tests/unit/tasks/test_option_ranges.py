"""Every number that fairseq reads has a range, and what is outside is refused in one line."""

import math

import pytest
from fairseq import options
from fairseq.registry import REGISTRIES
from support.data import TAG, TASK, TDO

from tdo_plugin.models.config import TdoConfig
from tdo_plugin.tasks.fairseq_refusals import ALL, refusals
from tdo_plugin.tasks.option_ranges import LARGEST, RANGES, Range, out_of_range

OURS = ("tdo_", "eval_", "instrucl_", "lexical_", "reconstruction_", "robt_", "source_noise_")
OURS += ("tpdm_", "monolingual_", "back_translated_")
TOGETHER = {"num_shards", "shard_id"}  # the limit of one is the other
BASE = ["data", "--task", "tdo_translation", *TASK, *TAG]


def numeric(parser):
    """The options of a parser whose values are numbers, or text that is read as numbers."""
    for action in parser._actions:
        default = action.default
        is_number = action.type in (int, float) or isinstance(default, int | float)
        if (is_number and not isinstance(default, bool)) or str(default)[:1] in ("(", "["):
            yield action.dest


def parsers():
    """Each command's, and the trainings' with each optimizer and scheduler that works here."""
    yield "generate", options.get_generation_parser(), ["--path", "m.pt"]
    yield "interactive", options.get_generation_parser(interactive=True), ["--path", "m.pt"]
    yield "validate", options.get_validation_parser(), ["--path", "m.pt"]
    for option in ("optimizer", "lr_scheduler"):
        for name in REGISTRIES[option]["registry"]:
            flags = [*TDO, f"--{option.replace('_', '-')}", name]
            yield "train", options.get_training_parser(), flags


def test_each_number_of_fairseq_has_a_range():
    lacking = set()
    always = {name for name in refusals("train") if all(name in refusals(c) for c in ALL)}
    for command, parser, flags in parsers():
        try:
            options.parse_args_and_arch(parser, [*BASE, *flags])
        except (SystemExit, ValueError):
            continue  # needs an option of its own, or a library
        lacking |= {
            name
            for name in numeric(parser)
            if not name.startswith(OURS)
            and name not in {*RANGES, *always, *refusals(command), *TOGETHER}
        }
    assert not lacking - set(vars(TdoConfig()))


@pytest.mark.parametrize(
    ("option", "values"),
    [
        ("lr", ([-1.0], [0.1, math.nan], [math.inf])),
        ("label_smoothing", (2.0, -1.0, 1.0)),
        ("update_freq", ([0],)),
        ("adam_betas", ("(0.9, 1.5)", "(-1, 0.9)")),
        ("clip_norm", (-1.0, math.inf)),
        ("seed", (-1, 2**32)),
        ("max_update", (LARGEST + 1,)),
        ("patience", (-2,)),
        ("lenpen", (math.nan, math.inf, 1000)),
        ("update_freq", ([1.5],)),
        ("max_update", (10**400,)),
        ("total_num_update", (0,)),
        ("sampling_temperature", (1e-300,)),
        ("sampling_topp", (1.5,)),
        ("temperature", (0,)),
    ],
)
def test_what_is_outside(option, values):
    for value in values:
        (problem,) = out_of_range(option, "`--x`", value)
        assert problem.startswith("`--x` must be ") and problem.count(";") == 1


def test_what_is_inside():
    for option, value in (
        ("lr", [0.1, 0]), ("label_smoothing", 0.1), ("adam_betas", "(0.9, 0.98)"), ("seed", 0),
        ("adam_betas", "(0.9,"), ("patience", -1), ("unknown", -5), ("lr", None), ("beam", True),
    ):  # fmt: skip
        assert not [*out_of_range(option, "`--x`", value)]


@pytest.mark.parametrize(
    ("of", "text"),
    [
        (Range(), "a finite number"),
        (Range(1), "at least 1"),
        (Range(0, above=True), "above 0"),
        (Range(0, 1, above=True, below=True), "above 0 and below 1"),
        (Range(0, 1, below=True), "at least 0 and below 1"),
        (Range(0, 1), "from 0 to 1"),
    ],
)
def test_a_range_in_words(of, text):
    assert str(of) == text
