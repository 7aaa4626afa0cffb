"""The examples of the page on tests of commands pass."""

import inspect
import re

import pytest
from support.made import ROOT

PAGE = ROOT / "docs" / "design" / "command-tests.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("example", EXAMPLES, ids=range(len(EXAMPLES)))
def test_an_example(example: str, request: pytest.FixtureRequest) -> None:
    scope: dict = {}
    exec(example, scope)
    (test,) = (value for name, value in scope.items() if name.startswith("test_"))
    test(**{name: request.getfixturevalue(name) for name in inspect.signature(test).parameters})
