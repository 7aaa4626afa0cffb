"""Text is split into sentences, and translations are joined in the same lines."""

from tdo_plugin.serve.sentence_split import joined_by_line, sentences_by_line


def test_split_and_joined():
    split = {
        "A dog. A cat runs! Two?": [["A dog.", "A cat runs!", "Two?"]],
        "He said \u201cRun now.\u201d Then he ran.": [
            ["He said \u201cRun now.\u201d", "Then he ran."]
        ],
        "Dr. Smith, z. B. Herr A. Meier.": [["Dr. Smith, z. B. Herr A. Meier."]],
        "about 3.5 metres. on and on": [["about 3.5 metres. on and on"]],
        "one\n\n two \r\nthree": [["one"], [], ["two"], ["three"]],
        "犬が走る。猫も走る\uff01「はい。」終わり": [
            ["犬が走る。", "猫も走る\uff01", "「はい。」", "終わり"]
        ],
        "هل تسمع؟ نعم أسمع.": [["هل تسمع؟", "نعم أسمع."]],
        "\u00bfQuien vive? \u00bfQuien va?": [["\u00bfQuien vive?", "\u00bfQuien va?"]],
        "": [],
        "...": [["..."]],
    }
    assert {text: sentences_by_line(text) for text in split} == split
    for lines in split.values():
        assert sentences_by_line(joined_by_line(lines)) == lines


def test_nothing_is_lost():
    text = "Wait... What? No!! \u201cYes.\u201d And (so on.) The end. 10. 20."
    (line,) = sentences_by_line(text)
    assert " ".join(line) == text


def test_empty_translations_leave_no_space():
    assert joined_by_line([["", "b", ""], [], ["c"]]) == "b\n\nc"
