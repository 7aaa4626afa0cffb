"""fairseq's output, back in order and joined; what is not whole is refused."""

from pathlib import Path

import pytest

from tdo_plugin.errors import UserError
from tdo_plugin.evaluation.outputs import read_hypotheses


def write(path: Path, lines: list[str]) -> Path:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_order_is_restored_and_pieces_are_joined(tmp_path: Path) -> None:
    path = write(
        tmp_path / "generate-test.txt",
        [
            "S-1\t__de__ ▁a",
            "T-1\t▁wrong",
            "H-1\t-0.5\t▁zwei ▁Wör ter .",
            "D-1\t-0.5\tD lines are not read",
            "P-1\t-0.1 -0.2",
            "H-0\t-0.5\t▁eins",
            "H-2\t-0.5\t. .",
            "Generate test with beam=4: BLEU4 = 0.0",
        ],
    )
    assert read_hypotheses(path, 3) == ["eins", "zwei Wörter.", ".."]


def test_the_first_of_several_hypotheses_is_the_best(tmp_path: Path) -> None:
    path = write(tmp_path / "g.txt", ["H-0\t-0.1\t▁best", "H-0\t-0.9\t▁second"])
    assert read_hypotheses(path, 1) == ["best"]


def test_joined_text_and_empty_hypotheses_stay(tmp_path: Path) -> None:
    path = write(tmp_path / "g.txt", ["H-0\t-0.1\ttwo words", "H-1\t-0.1\t"])
    assert read_hypotheses(path, 2) == ["two words", ""]


@pytest.mark.parametrize("count", [1, 3])
def test_a_wrong_number_of_hypotheses_is_refused(tmp_path: Path, count: int) -> None:
    path = write(tmp_path / "g.txt", ["H-0\t-0.1\t▁a", "H-1\t-0.1\t▁b"])
    with pytest.raises(UserError, match=f"must hold {count} hypotheses; it has 2"):
        read_hypotheses(path, count)


def test_a_missing_sentence_is_named(tmp_path: Path) -> None:
    path = write(tmp_path / "g.txt", ["H-0\t-0.1\t▁a", "H-2\t-0.1\t▁b"])
    with pytest.raises(UserError, match="sentence 1 is missing"):
        read_hypotheses(path, 2)


def test_a_cut_line_and_a_missing_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such file"):
        read_hypotheses(tmp_path / "none.txt", 1)
    with pytest.raises(UserError, match="H-ID"):
        read_hypotheses(write(tmp_path / "g.txt", ["H-0\t-0.1\t▁a", "H-x"]), 1)
