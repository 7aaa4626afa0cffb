"""Which languages a conversation passes through after its commands."""

import pytest

from tdo_plugin.evaluation.decoding.pivot import Route, is_command


@pytest.mark.parametrize(
    ("steps", "commands", "directions"),
    [
        (("de", "fr"), [], ("de-fr",)),
        (("de", "fr"), [":en"], ("de-en",)),
        (("de", "fr"), [":fr-en"], ("fr-en",)),
        (("de", "en", "fr"), [], ("de-en", "en-fr")),
        (("de", "en", "fr"), [":en"], ("de-en",)),
        (("de", "en", "fr"), [":en", ":fr"], ("de-en", "en-fr")),
        (("de", "en", "fr"), [":en-de", ":fr-de"], ("fr-en", "en-de")),
        (("de", "en", "en"), [":fr"], ("de-en", "en-fr")),
    ],
)
def test_the_pivot_stays_apart_from_the_ends(steps, commands, directions):
    route = Route.of(steps)
    for command in commands:
        route = route.changed(command)
    assert route.directions == directions


def test_three_languages_are_refused(refused):
    with refused.raised(":de-en-fr", names=":de-en-fr has 3"):
        Route.of(("de", "fr")).changed(":de-en-fr")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        *((":en", True), (":en-fr", True), (":zh_Hans-de", True), (":de-en-fr", True)),
        *(("::en", False), (": en", False), (":", False), (":)", False), (":en fr", False)),
        *((":1", False), (":en-", False), ("en", False)),
    ],
)
def test_only_a_whole_line_is_a_command(line, expected):
    assert is_command(line) is expected
