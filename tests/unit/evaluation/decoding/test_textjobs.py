"""A long text in parts; the model is a stand-in."""

from types import SimpleNamespace

import pytest

from tdo_plugin.evaluation.decoding.textjobs import parts_of

LINES = ["é one", "two", "three", "four five", "long", "six", "seven"]


class Upper:
    """Translates by capital letters; says what it was asked."""

    no_text = frozenset(["<unk>"])

    def __init__(self) -> None:
        self.asked: list[tuple[str, int, int]] = []

    def of(self, direction: str) -> "Upper":
        return self

    def too_long(self, direction: str, lines: list[str], prepared: bool = False) -> dict[int, int]:
        assert prepared
        return {number: 99 for number, line in enumerate(lines) if line == "long"}

    def translate_lines(self, direction, lines, progress, prepared=False, draw=0):
        assert prepared
        self.asked.append((direction, len(lines), draw))
        pieces = [" ".join("▁" + word.upper() for word in line.split()) for line in lines]
        return [SimpleNamespace(pieces=hypothesis) for hypothesis in pieces]


@pytest.mark.parametrize("lines", [1, 3, 7, 100])
def test_the_parts_are_the_text(lines, data, tmp_path):
    text = tmp_path / "text"
    text.write_text("\n".join(LINES) + "\n", encoding="utf-8")
    model, jobs = Upper(), parts_of(text, "en-de", lines, tmp_path / "out")
    translated = []
    for job in jobs:
        assert job.target == "de" and job.counts and not job.is_whole(tmp_path)
        job.perform(model, data, tmp_path, lambda _: None)
        assert job.is_whole(tmp_path)
        written = job.place.read_text(encoding="utf-8").split("\n")[:-1]
        assert len(written) == job.sentences
        translated += written
    assert translated == ["" if line == "long" else line.upper() for line in LINES]
    parts = -(-len(LINES) // lines)
    assert [part for _, _, part in model.asked] == list(range(parts))
    assert jobs[-1].name == f"en-de part {parts}"
