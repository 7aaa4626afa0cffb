"""`tdo translate` on plain text: what is typed, what is piped, and what cannot be translated."""

import io
import os

import pytest
from support.commands import told
from support.prepared import prepared, trained

from tdo_compat.errors import CLOSED
from tdo_plugin.evaluation.decoding import plaintext, translator, worker

GERMAN = ("der kleine Hund", "das alte Haus")
LONG = "Haus " * 1100  # tokens: more than the 1024 that decoding allows


@pytest.fixture
def translate(capsys, monkeypatch):
    """`tdo translate` on the prepared folder in this process; bytes are what a pipe brings."""
    model = trained()
    capsys.readouterr()  # what training said

    def run(*words, stdin="", code=0, languages=("de", "fr")):
        stream = io.StringIO(stdin) if isinstance(stdin, str) else None
        monkeypatch.setattr("sys.stdin", stream or io.TextIOWrapper(io.BytesIO(stdin), "latin-1"))
        source, target = languages
        options = ("--cpu", "--path", model, "-s", source, "-t", target)
        printed, messages = told(capsys, "translate", prepared().root, *options, *words, code=code)
        return printed.split("\n")[:-1], messages.split("\n")[:-1]

    return run


@pytest.fixture
def no_model(monkeypatch):
    """What is refused now is refused before the model is loaded."""
    monkeypatch.setattr(worker, "load", lambda *_: pytest.fail("the model is loaded"))


def text_file(folder, *lines):
    path = folder / "in.txt"
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def test_mistakes_leave_a_conversation_as_it_was(translate):
    (first, second), _ = translate("--input", "-", stdin="\n".join(GERMAN))
    (colon,), _ = translate("--input", "-", stdin=f":{GERMAN[0]}")
    typed = (GERMAN[0], ":xx", ":de-en-fr", LONG, GERMAN[1], f":{GERMAN[0]}", f"::{GERMAN[0]}")
    printed, errors = translate("--interactive", stdin="\n".join(typed))
    assert printed == [first, second, colon, colon]
    unknown, three, long = errors
    assert "de-xx" in unknown and "not xx" in unknown
    assert ":de-en-fr has 3" in three
    assert long.startswith("error: de-fr accepts at most 1024 tokens, it has ")


def test_a_conversation_keeps_its_pivot(translate):
    (pivoted,), _ = translate("--input", "-", "--pivot", "en", stdin=GERMAN[0])
    typed = (GERMAN[0], ":en", GERMAN[0], ":fr", GERMAN[0], ":en-fr", "the dog")
    printed, _ = translate("--interactive", "--pivot", "en", stdin="\n".join(typed))
    (english,), _ = translate("--input", "-", languages=("de", "en"), stdin=GERMAN[0])
    (french,), _ = translate("--input", "-", languages=("en", "fr"), stdin="the dog")
    whole = [pivoted, "de → en", english, "de → en → fr", pivoted, "en → fr", french]
    assert printed == whole


def test_a_fault_of_one_sentence_is_one_line(translate, monkeypatch):
    whole = translator.Translator.translate_lines

    def faulty(self, direction, lines, *rest):
        if lines == ["fault"]:
            raise Exception("first\nsecond")
        return whole(self, direction, lines, *rest)

    monkeypatch.setattr(translator.Translator, "translate_lines", faulty)
    printed, errors = translate("--interactive", stdin=f"fault\n{GERMAN[0]}\n")
    assert len(printed) == 1
    assert errors == ["error: first"]
    monkeypatch.setenv("TDO_TRACEBACK", "1")
    with pytest.raises(Exception, match="first\nsecond"):
        translate("--interactive", stdin="fault\n")


def test_standard_input_is_read_as_files_are(translate, tmp_path):
    expected, _ = translate("--input", text_file(tmp_path, *GERMAN, "ein\u2028Haus", "ä ö"))
    text = "\r\n".join([*GERMAN, "ein\u2028Haus", "ä\rö"])
    assert len(expected) == 4
    for mode in (("--input", "-"), ("--interactive",)):
        assert translate(*mode, stdin=text.encode("utf-8-sig"))[0] == expected


def command():
    return ("translate", prepared().root, "--cpu", "--path", trained(), "-s", "de", "-t", "fr")


def test_standard_input_that_is_not_utf8(refused, monkeypatch):
    for mode in (("--input", "-"), ("--interactive",)):
        stream = io.TextIOWrapper(io.BytesIO("schön\n".encode("latin-1")), "latin-1")
        monkeypatch.setattr("sys.stdin", stream)
        refused(*command(), *mode, names="standard input")


def test_files_are_refused_at_once(refused, no_model, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "latin").write_bytes(b"Haus\n" * 9000 + b"sch\xf6n\n")
    refused(*command(), "--input", tmp_path / "latin", names="UTF-8")
    words = (*command(), "--input", text_file(tmp_path, *GERMAN), "--out")
    for place in ("folder", "no/such/out.txt", "in.txt/out.txt", "x" * 250):
        refused(*words, tmp_path / place, names="--out")


@pytest.mark.parametrize("mode", [("--input", "-"), ("--interactive",)], ids=" ".join)
def test_a_reader_that_is_gone_ends_it_quietly(translate, monkeypatch, mode):
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "w", encoding="utf-8") as stream:  # closing it writes what is left
        monkeypatch.setattr("sys.stdout", stream)
        assert translate(*mode, stdin="\n".join(GERMAN), code=CLOSED) == ([], [])


def test_a_failure_leaves_the_old_output(translate, tmp_path):
    output = text_file(tmp_path, "old").rename(tmp_path / "out.txt")
    source = text_file(tmp_path, *GERMAN)
    translate("--input", source, "--out", output, languages=("de", "xx"), code=2)
    assert output.read_text(encoding="utf-8") == "old\n"
    assert not list(tmp_path.glob("*.partial"))


def test_over_long_lines_leave_the_others(translate, monkeypatch, tmp_path):
    monkeypatch.setattr(plaintext, "CHUNK", 2)
    (first, second), _ = translate("--input", text_file(tmp_path, *GERMAN))
    source = text_file(tmp_path, GERMAN[0], "", LONG, GERMAN[1])
    output = tmp_path / "out.txt"
    _, messages = translate("--input", source, "--out", output, code=1)
    assert output.read_text(encoding="utf-8") == f"{first}\n\n\n{second}\n"
    (warning,) = [line for line in messages if line.startswith("warning")]
    assert warning.startswith(
        "warning: line 3 is left empty: de-fr accepts at most 1024 tokens, it "
    )


def test_chunks_are_the_whole_in_order(translate, monkeypatch, tmp_path):
    source = text_file(tmp_path, *GERMAN, "", *GERMAN)
    expected, messages = translate("--input", source)
    assert messages == []
    monkeypatch.setattr(plaintext, "CHUNK", 2)
    printed, messages = translate("--input", source)
    assert printed == expected
    assert messages == [f"{number} of 5 lines translated" for number in (2, 4, 5)]
    printed, messages = translate("--input", "-", stdin=source.read_text(encoding="utf-8"))
    assert printed == expected
    assert messages[-1] == "5 lines translated"
