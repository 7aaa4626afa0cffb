"""The faults that measure the tests are faults, and are Python."""

import ast

import pytest
from support.mutants import ROOMS, ROOT, draw


@pytest.mark.full
def test_a_drawn_fault_changes_one_place_of_a_function() -> None:
    drawn = draw(60, seed=7)
    assert len(drawn) == 60 and {mutant.path.split("/")[1] for mutant in drawn} == set(ROOMS)
    for mutant in drawn:
        source = (ROOT / mutant.path).read_text(encoding="utf-8")
        changed = mutant.applied(source)
        assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(source)), mutant
        untouched = (source[: mutant.start], source[mutant.end :])
        assert changed.startswith(untouched[0]) and changed.endswith(untouched[1])
        assert source[: mutant.start].count("\n") == mutant.line - 1
    assert draw(60, seed=7) == drawn
