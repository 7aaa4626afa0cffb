"""`benchmarks/gpu/run.sh`, rehearsed on a CPU: what would be measured where there is a GPU."""

import json
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest
from support.processes import finished, heard

SOME = "half-precision,score,exported"


def rehearsed(clone: Path, out: Path, *words: object, code: int = 0) -> str:
    """What the script prints."""
    script = clone / "benchmarks" / "gpu" / "run.sh"
    words = ("bash", script, "--device", "cpu", "--out", out, *words)
    return heard(finished(list(map(str, words)), limit=400), code)


def states(out: Path) -> dict[str, str]:
    rows = (line.split("\t") for line in (out / "parts.tsv").read_text().splitlines())
    return {name: state for name, state, *_ in rows}


def test_a_dry_run_prints_every_part_and_writes_nothing(clone: Path, tmp_path: Path) -> None:
    printed = rehearsed(clone, tmp_path / "out", "--dry-run")
    commands = [line for line in printed.splitlines() if line.startswith("+ ")]
    assert len(commands) == 17 and not (tmp_path / "out").exists()
    for word in ("bench half-precision", "first_updates.py", "--to hf", "serve_load.py"):
        assert sum(word in line for line in commands) == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--minutes", "0"], "`--minutes` must be a whole number from 1 to 99; it is 0"),
        (["--minutes"], "`--minutes` must have a value; it has none"),
        (["--data", "/"], "`--data` must be a data folder (tdo prepare); it is /"),
        (["--from", "/none"], "`--from` must be a folder; it is /none"),
        (["--parts", "score,scores"], "back_translation; it has scores"),
        (["--device", "tpu"], "`--device` must be one of cuda, cpu; it is tpu"),
        (["--all"], "unrecognized arguments: --all"),
    ],
)
def test_mistakes_are_one_line(clone: Path, tmp_path: Path, words: list[str], message: str) -> None:
    done = rehearsed(clone, tmp_path / "out", *words, code=2)
    assert message in done and not (tmp_path / "out").exists()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, -2), (signal.SIGTERM, 143)])
def test_no_process_outlives_it(clone: Path, tmp_path: Path, number: int, code: int) -> None:
    out = tmp_path / "out"
    words = ["bash", clone / "benchmarks" / "gpu" / "run.sh", "--device", "cpu", "--out", out]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as it:
        try:
            assert it.stdout and " corpus " in it.stdout.readline()
            while not running(out):
                assert it.poll() is None
            os.kill(it.pid, number)
            _, errors = it.communicate(timeout=60)
        finally:
            it.kill()
    assert it.returncode == code and errors.count("\n") == 1, errors
    assert running(out) == []


def running(out: Path) -> list[str]:
    """The `tdo` commands that write to this folder."""
    found = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = place.read_text().split("\0")
        except OSError:  # it has ended
            continue
        if "tdo_plugin" in words and any(word.startswith(str(out)) for word in words):
            found.append(" ".join(words))
    return found


@pytest.mark.full
def test_a_part_that_fails_does_not_end_the_others(clone: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    rehearsed(clone, out, "--parts", SOME)
    assert states(out) == {
        **dict.fromkeys(["text", "data", *SOME.split(",")[:1]], "done"),
        **{"score": "failed", "exported": "failed"},  # without translations, and without a folder
    }
    page = (out / "summary.md").read_text()
    assert "| score | failed |" in page and "## Half precision" in page
    (layer, *_) = json.loads((out / "half-precision.json").read_text())["layers"]
    assert f"| 1 | {layer['largest']['residual stream']:.3g} |" in page


@pytest.mark.full
def test_the_whole_rehearsal(clone: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    rehearsed(clone, out, "--minutes", "60")
    assert {name: state for name, state in states(out).items() if state != "done"} == {}
    page = (out / "summary.md").read_text()
    titles = re.findall("^## (.*)$", page, re.M)
    assert titles == [
        *("Parts", "Speed and memory", "Cost: neuron_masks", "Cost: disentangling"),
        *("Cost: back_translation", "First updates", "Half precision"),
        *("Translations of a short training", "exported", "serve"),
    ]
    difference = r"\| multi30k-shared-prefix-decoder-only \| fp32 \| 0.0e\+00 \| 2 \|"
    assert re.search(difference, page), page


def test_updates_after_an_overflow_do_not_count(tmp_path: Path) -> None:
    script = Path(__file__).parents[2] / "benchmarks" / "gpu" / "summary.py"
    folder = tmp_path / "first-updates" / "a"
    folder.mkdir(parents=True)
    (tmp_path / "parts.tsv").write_text("data\tdone\t3\t20\ttdo prepare\n")
    line = '{{"epoch": 1, "update": 0.1, "loss": "{}", "num_updates": "1"}}\n'
    (folder / "cpu.log").write_text("".join(map(line.format, ("10", "8", "6"))))
    skipped = "NOTE: gradient overflow detected, ignoring gradient\n"
    (folder / "fp16.log").write_text(line.format(10.1) + line.format(8) + skipped + line.format(9))
    subprocess.run(["python", script, tmp_path], check=True, capture_output=True)
    page = (tmp_path / "summary.md").read_text()
    assert "| a | fp16 | 1.0e-02 | 2 |" in page
    assert "| data | done | 3 of 20 s | `tdo prepare` |" in page
