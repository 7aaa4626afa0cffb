"""The generated pages of docs/reference are those of today's declarations."""

import argparse
import re
from collections.abc import Iterator

import pytest

from tdo_plugin.cli import build_parser
from tdo_plugin.cli.model_help import option_sections
from tdo_plugin.models.config import TdoConfig
from tdo_plugin.reference import FOLDER, PAGES


@pytest.mark.parametrize("name", PAGES)
def test_each_page_is_up_to_date(name):
    page = (FOLDER / name).read_text(encoding="utf-8")
    assert page == PAGES[name](), "run `python -m tdo_plugin.reference` and commit what it wrote"


def test_every_model_option_has_a_row():
    names = set(TdoConfig.__dataclass_fields__) - {"_name"}
    flags = {"--" + name.replace("_", "-") for name in names}
    page = (FOLDER / "model-options.md").read_text(encoding="utf-8")
    assert len(flags) > 25
    assert {flag for flag in flags if f"| `{flag}` |" not in page} == set()


def declared(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """The options of a command, or of all that it has."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from declared(command)
        else:
            yield action


def test_a_number_that_the_help_calls_the_default_is_it():
    trainings = (action for _, actions in option_sections() for action in actions)
    said = [
        (action.option_strings, float(number[1].replace("_", "")), action.default)
        for action in (*declared(build_parser()), *trainings)
        if type(action.default) in (int, float)
        and (number := re.search(r"default:? (-?[\d._e-]*\d)", action.help or ""))
    ]
    assert len(said) > 60
    assert [entry for entry in said if entry[1] != entry[2]] == []
