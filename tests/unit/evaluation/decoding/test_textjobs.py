"""A part of a long text; tests/commands/test_backtranslate.py has what becomes of all parts."""

from types import SimpleNamespace

from tdo_plugin.evaluation.decoding.textjobs import parts_of


def test_a_line_that_is_too_long_is_not_translated(data, tmp_path):
    text, asked = tmp_path / "text", []
    text.write_text("one\nlong\ntwo\n")

    def translate_lines(direction, lines, progress, prepared, draw):
        asked.append((direction, lines, prepared, draw))
        return [SimpleNamespace(pieces=line and f"▁{line}") for line in lines]

    translator = SimpleNamespace(
        no_text=frozenset(),
        too_long=lambda direction, lines, prepared: {1: 99},
        translate_lines=translate_lines,
    )
    (job,) = parts_of(text, "en-de", 3, tmp_path / "out")
    assert job.target == "de" and not job.is_whole(tmp_path)
    job.perform(SimpleNamespace(of=lambda direction: translator), data, tmp_path, lambda _: None)
    assert asked == [("en-de", ["one", "", "two"], True, 0)]
    assert job.is_whole(tmp_path) and job.place.read_text() == "one\n\ntwo\n"
