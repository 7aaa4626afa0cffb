"""What the benchmark of `tdo prepare` compares with, and how it measures memory; no times."""

import subprocess
import sys
from pathlib import Path

import prepare_corpus as benchmark

GREEDY = "import sys; room = bytearray(64 << 20); print(flush=True); sys.stdin.read()"


def test_the_tools_clean_as_the_rules_say(tmp_path: Path) -> None:
    text = benchmark.generate(tmp_path, 2100)
    sides = [text / f"train.en-de.{language}" for language in ("en", "de")]
    rows = list(zip(*(path.read_text("utf-8").split("\n") for path in sides), strict=True))[:-1]
    assert len(rows) == 2100 + 42 and len(set(rows)) == 2100
    assert sum(not german for _, german in rows) == 3
    held_out = [(text / f"{name}").read_text("utf-8").split("\n")[0] for name in
                ("valid.en-de.en", "valid.en-de.de", "test.en", "test.de")]  # fmt: skip
    more = [held_out[:2], held_out[2:], held_out[::2], ("a\x07b", "c"), ("a", "b\ufffd"), ("é", "")]
    for number, path in enumerate(sides):
        with path.open("a", encoding="utf-8") as stream:
            stream.write("".join(f"{row[number]}\n" for row in more))
    (tmp_path / "out").mkdir()
    benchmark.run(benchmark.CLEAN.format(text, tmp_path / "out"))
    kept = [row for row in dict.fromkeys(rows) if row[1]] + [tuple(held_out[::2])]
    written = [(tmp_path / "out" / f"train.{side}").read_text("utf-8") for side in ("en", "de")]
    assert written == ["".join(f"{row[number]}\n" for row in kept) for number in (0, 1)]


def test_memory_is_that_of_all_processes_below() -> None:
    before = benchmark.memory()
    command = ["bash", "-c", f"{sys.executable} -c '{GREEDY}'; true"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, **pipes) as process:
        process.stdout.readline()
        assert 64 < benchmark.memory() - before < 100
        process.stdin.close()
