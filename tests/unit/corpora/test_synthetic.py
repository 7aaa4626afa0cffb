"""Which synthetic pairs are left out, and why."""

import pytest

from tdo_plugin.corpora.synthetic import Translated, judged


class Letters:
    """A model whose pieces are the letters."""

    def encode(self, lines: list[str], **_: object) -> list[list[str]]:
        return [[letter for letter in line if letter != " "] for line in lines]


ROWS = {
    ("ab", "cd"): None,
    ("", "cd"): "no translation",
    (" ", "cd"): "no translation",
    ("cd", "cd"): "copies",
    ("a", "bcd"): None,
    ("a", "bcde"): "ratio",
    ("abcdefg", "xy"): "ratio",
    ("abcdef", "xy"): None,
}


@pytest.mark.parametrize("part", [1, 3, len(ROWS)])
def test_reasons(part, tmp_path):
    sources, texts = zip(*ROWS, strict=True)
    parts = []
    for begin in range(0, len(sources), part):
        parts.append(tmp_path / f"part.{begin:02}")
        parts[-1].write_text("".join(f"{source}\n" for source in sources[begin : begin + part]))
    (tmp_path / "text").write_text("".join(f"{text}\n" for text in texts))
    translated = Translated(("de", "en"), tmp_path / "text", parts, "key")
    reasons = {
        (source, text): reason for source, text, reason in judged(translated, Letters(), 3.0)
    }
    assert reasons == ROWS
    assert translated.name == "de-en"


def test_translations_must_be_of_the_text(tmp_path):
    (tmp_path / "text").write_text("a\nb\n")
    (tmp_path / "part").write_text("c\n")
    translated = Translated(("de", "en"), tmp_path / "text", [tmp_path / "part"], "key")
    with pytest.raises(ValueError, match="longer than argument"):
        list(judged(translated, Letters(), 3.0))
