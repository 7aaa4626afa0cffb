"""Truecasing: known text comes out as Moses's Perl scripts give it."""

from pathlib import Path

import pytest

from tdo_plugin.metrics.truecasing import train_truecaser, truecase

TRAIN = """\
The dog sees the House . The House
&quot; The dog &quot; said Anna , and THE house : The end
[ ' Anna sees the dog ! &quot; Dog
( 12 ) Anna @-@ Maria

"""
MODEL = """\
&quot; (1/1)
and (1/1)
Anna (2/2)
dog (3/4) Dog (1)
end (1/1)
House (2/3) house (1)
Maria (1/1)
said (1/1)
sees (2/2)
the (2/3) THE (1)
"""
LINES = {
    "The Dog said THE house . Dog House ANNA": "the Dog said THE house . dog House Anna",
    "&quot; ANNA &quot; sees : MARIA or Unknown": "&quot; Anna &quot; sees : Maria or Unknown",
    "[ THE &apos; House said : : the": "[ the &apos; House said : : the",
    "( 12 )  Anna": "( 12 ) Anna",
    "": "",
}


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def model(tmp_path):
    train_truecaser([write(tmp_path / "text", TRAIN)], tmp_path / "truecase.en")
    return tmp_path / "truecase.en"


def test_the_model_is_that_of_moses(model):
    assert model.read_text(encoding="utf-8") == MODEL
    assert sorted(path.name for path in model.parent.iterdir()) == ["text", "truecase.en"]


def test_lines_are_cased_as_by_moses(model):
    assert truecase(LINES, model) == list(LINES.values())


def test_the_model_does_not_depend_on_the_order_of_the_text(tmp_path):
    halves = [write(tmp_path / "a", "- AA aa aa\n"), write(tmp_path / "b", "- bb Bb AA\n")]
    train_truecaser(halves, tmp_path / "one")
    train_truecaser(reversed(halves), tmp_path / "other")
    assert (tmp_path / "one").read_text() == "aa (2/4) AA (2)\nbb (1/2) Bb (1)\n"
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()


def test_a_model_that_was_trained_anew_is_read_anew(model):
    assert truecase(["Dog"], model) == ["dog"]
    train_truecaser([write(model.parent / "text", "a Dog\n")], model)
    assert truecase(["dog"], model) == ["Dog"]


def test_an_interrupted_training_leaves_no_model(tmp_path, refused):
    (tmp_path / "text").write_bytes(b"the dog\n\xff\n")
    with refused.raised("no text", names="UTF-8"):
        train_truecaser([tmp_path / "text"], tmp_path / "truecase.en")
    with refused.raised("no model", names="it does not exist"):
        truecase(["The"], tmp_path / "truecase.en")
