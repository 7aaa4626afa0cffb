"""The measurement on a GPU: which parts it has, and how they end."""

import shlex

import first_updates
import measure
from parts import Part, planned


def test_outcomes_of_parts(tmp_path, capfd):
    well = Part("well", 60, ["echo", "a b"])
    badly = Part("badly", 60, ["sh", "-c", "echo why >&2; exit 3"])
    measure.measure([well, badly, Part("long", 0.2, ["sleep", "100"])], tmp_path, 60)
    late = Part("late", 60, ["touch", str(tmp_path / "made")])
    measure.measure([Part("slow", 60, ["sleep", "100"]), late], tmp_path, 0.3)
    lines = (tmp_path / "parts.tsv").read_text("utf-8").splitlines()
    assert [line.split("\t")[:2] for line in lines] == [
        *(["well", "done"], ["badly", "failed"], ["long", "cut off"]),
        *(["slow", "cut off"], ["late", "skipped"]),
    ]
    assert lines[0].split("\t")[2:] == ["0", "60", "echo 'a b'"]
    logs = [(tmp_path / f"{name}.log").read_text() for name in ("well", "badly", "long")]
    assert logs == ["a b\n", "why\n", ""] and not (tmp_path / "made").exists()
    said = capfd.readouterr().out.splitlines()
    assert said[:2] == ["+ echo 'a b'", "well: done after 0 s"]


def test_the_direction_is_read_when_the_data_are_made(tmp_path):
    args = measure.options(["--out", str(tmp_path / "out"), "--minutes=7"])
    parts = planned(args)
    assert [next(parts).name for _ in range(2)] == ["text", "data"]
    (tmp_path / "out" / "data").mkdir(parents=True)
    (tmp_path / "out" / "data" / "test-pairs.txt").write_text("fr-cs\nde-en\n")
    later = {part.name: part for part in parts}
    commands = {name: shlex.join(part.command) for name, part in later.items()}
    assert later["serve"].limit == 25 * 7 // 10
    assert f"{args.out}/translated-fp32/fr-cs.src --source fr" in commands["serve"]
    for precision in ("fp32", "fp16", "bf16"):
        assert f"--precision {precision} --gpus 1" in commands[f"translate-{precision}"]
        assert f" {precision}={args.out}/translated-{precision} " in commands["score"]
    assert "{" not in "".join(commands.values())


def test_a_training_that_fails_does_not_end_the_others(monkeypatch, tmp_path, capsys):
    bad, good = tmp_path / "a" / "bad.txt", tmp_path / "b" / "good.txt"
    commands = [(["sh", "-c", "echo why; exit 3"], bad), (["echo", "well"], good)]
    monkeypatch.setattr(first_updates, "trainings", lambda args: commands)
    monkeypatch.setattr("sys.argv", ["first_updates.py", "DATA", "OUT"])
    assert first_updates.main() == 1
    assert good.read_text() == "well\n"
    assert capsys.readouterr().out == f"{bad}: ended with 3: why\n"
