"""Numbers of every option of every sub-command, by one rule."""

import argparse

import pytest
from support.commands import exit_code

from tdo_plugin import cli
from tdo_plugin.costs.model_description import SPECIAL_SYMBOLS, add_model_options
from tdo_plugin.launch.parser import LARGEST, SEEDS, Parser, at_least, seed


def commands():
    (choices,) = (
        action.choices
        for action in cli.build_parser()._actions
        if isinstance(action, argparse._SubParsersAction)
    )
    add_model_options(choices["describe"])  # which it reads when it parses
    return choices


COMMANDS = commands()


def numbers(*kinds):
    """(command, parser, option) of each option of a kind."""
    return [
        (name, parser, action)
        for name, parser in COMMANDS.items()
        for action in parser._actions
        if action.type in kinds
    ]


WHOLE = numbers(int, seed, *map(at_least, (0, 1, SPECIAL_SYMBOLS)))
REAL = numbers(float)


def complaint(parser, action, text, capsys):
    with pytest.raises(SystemExit) as end:
        argparse.ArgumentParser.parse_known_args(parser, [f"{action.option_strings[-1]}={text}"])
    assert end.value.code == 2
    line = capsys.readouterr().err.splitlines()[-1]
    assert action.option_strings[-1] in line and len(line) < 5000, line
    return line


def test_all_options_are_there():
    assert len(WHOLE) > 80 and len(REAL) > 15
    assert {"describe", "score", "train", "convert"} <= {name for name, _, _ in WHOLE}


def test_whole_numbers_have_limits(capsys):
    for _, parser, action in WHOLE:
        limit = SEEDS if action.type is seed else LARGEST + 1
        texts = (limit, 2**64, "9" * 5000, "-" + "9" * 30, "1.5", "x", "\uff11", "1_0", "")
        for text in texts:
            line = complaint(parser, action, text, capsys)
            assert "must be a whole number from " in line


def test_numbers_are_numbers(capsys):
    for _, parser, action in REAL:
        for text in ("x", "", "1,5", "0x10", "\x1b[31m"):
            line = complaint(parser, action, text, capsys)
            assert "must be a number; it is" in line and line.isprintable()


@pytest.mark.parametrize("number", [None, "+"])
def test_an_option_without_a_value(number, capsys):
    parser = Parser(prog="tdo x")
    parser.add_argument("--a", nargs=number)
    with pytest.raises(SystemExit):
        parser.parse_args(["--a"])
    assert capsys.readouterr().err == "tdo x: error: `--a` must have a value; it has none\n"


def test_the_largest_numbers_are_read():
    parser = Parser()
    parser.add_argument("--a", type=int)
    parser.add_argument("--b", type=seed)
    parser.add_argument("--c", type=float)
    args = parser.parse_args([f"--a={LARGEST}", f"--b={SEEDS - 1}", "--c=1e-3"])
    assert (args.a, args.b, args.c) == (LARGEST, SEEDS - 1, 1e-3)


def test_a_vocabulary_of_the_largest_size_is_described(capsys):
    words = ("describe", "--arch", "tdo_transformer", "--json", "--vocab-size", LARGEST)
    for flags in ((), ("--tdo-model-dim", LARGEST, "--tdo-heads", "1")):
        assert exit_code(*words, *flags) in (0, 2)
        output = capsys.readouterr()
        assert output.out or output.err.count("\n") == 1
