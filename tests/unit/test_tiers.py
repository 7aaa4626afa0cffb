"""The quick tier stays quick."""

from pathlib import Path

TESTS = Path(__file__).parents[1]
MOST = 11


def test_few_tests_are_long() -> None:
    """A mark moves a test's seconds to everybody: one for a mechanism, the rest to the full one."""
    marks = sum(path.read_text().count("mark.long") for path in TESTS.rglob("test_*.py"))
    assert marks - 1 <= MOST  # but for this line's
