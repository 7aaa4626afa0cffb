"""`tdo grid` on the command line: what it lists, shows, writes and refuses."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from support.grids import write_grid

from tdo_plugin.cli import main
from tdo_plugin.data.databin import DataFolder

Command = Callable[..., str]


@pytest.fixture
def grid(tmp_path: Path) -> Path:
    return write_grid(tmp_path / "grid", translate=["--beam 5"])


@pytest.fixture
def tdo(capsys: pytest.CaptureFixture[str]) -> Command:
    """Run `tdo grid`; what it says, or of a mistake the one line."""

    def run(*words: object, code: int = 0) -> str:
        assert main(["grid", *map(str, words)]) == code
        printed = capsys.readouterr()
        if code == 2:
            assert printed.err.count("\n") == 1
        return printed.err if code == 2 else printed.out

    return run


def test_the_list_has_numbers_and_who_shares(tdo: Command, grid: Path) -> None:
    assert tdo("list", grid).splitlines() == [
        "   0  baseline",
        "   1  lm-0  = ae-0",
        "   2  lm-1",
        "   3  ae-1",
        "5 cells, 4 trainings",
    ]


def test_a_dry_run_shows_commands_and_makes_nothing(
    tdo: Command, grid: Path, data: DataFolder, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    words = ("--out", out, "--cpu", "--only", "lm-1", "--dry-run", "--", "--lr", "2")
    shown = tdo("run", grid, data.root, *words).splitlines()
    folder = out / "lm-1"
    assert shown == [
        "lm-1: not begun",
        f"+ tdo train {folder}/cell.conf {data.root} --save-dir {folder}/checkpoints --cpu --lr 2",
        f"+ tdo translate {data.root} --path {folder}/checkpoints --out {folder}/output "
        "--workers 1 --cpu --pairs all --beam 5",
    ]
    assert not out.exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "`--out` must name the folder of all runs; it is missing"),
        (["--out", "O", "--onyl", "x"], "`--onyl` must be an option of tdo grid run, or stand beh"),
        (["--out", "O", "--", "--save-dir", "x"], "`--save-dir` must be left out behind --"),
        (["--out", "O", "--", "--gpus=2"], "`--gpus=2` must be left out behind --"),
        (["--out", "O", "--task", "4"], "`--task` must be from 0 to 3; it is 4"),
        (["--out", "O", "--task", "1", "--only", "lm-1"], "`--task` must be left out with --only"),
        (["--out", "O", "--only", "x"], "`--only` must name cells (tdo grid list has them); x is"),
        (["--out", "O", "--workers", "0"], "`--workers` must be at least 1; it is 0"),
        (["--out", "O", "--gpus-each", "0"], "`--gpus-each` must be at least 1; it is 0"),
        (["--out", "O", "--gpus-each", "2"], "`--gpus-each` must be at most 1; it is 2"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_wrong_option_is_one_line(
    tdo: Command, grid: Path, data: DataFolder, words: list[str], message: str
) -> None:
    assert message in tdo("run", grid, data.root, "--cpu", *words, code=2)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"translate": ["--baem 5"]}, "`translate` must be options of tdo translate: unrecognized"),
        ({"score": ["--tokenizer"]}, "`score` must be options of tdo score: argument --tokenizer"),
        ({"directions": "de-xx"}, "`directions` must be all, supervised, zero-shot or directions"),
    ],
)
def test_options_of_later_steps_are_read_before_anything_is_trained(
    tdo: Command, data: DataFolder, tmp_path: Path, changes: dict, message: str
) -> None:
    path = write_grid(tmp_path / "grid", **changes)
    out = tmp_path / "out"
    assert message in tdo("run", path, data.root, "--cpu", "--out", out, code=2)
    assert not out.exists()


def test_the_slurm_script_runs_this_grid(
    tdo: Command, grid: Path, data: DataFolder, tmp_path: Path
) -> None:
    out = tmp_path / "out dir"
    words = ("--out", out, "--gpus-each", "2", "--at-most", "3", "--sbatch=--time=9:00")
    printed = tdo("slurm", grid, data.root, *words, "--", "--lr", "2")
    script = out / "slurm.sh"
    assert printed == f"sbatch '{script}'\n"
    assert subprocess.run(["bash", "-n", script], check=False).returncode == 0
    text = script.read_text()
    for part in ("--array=0-3%3\n", "--gpus=2\n", "#SBATCH --time=9:00\n"):
        assert part in text
    command = text.splitlines()[-1]
    assert f"grid run {grid} {data.root} --out '{out}' --task \"$SLURM_ARRAY_TASK_ID\"" in command
    assert command.endswith("--workers 1 --gpus 2 --gpus-each 2 -- --lr 2")
    tdo("slurm", grid, data.root, "--out", out, "--cpu")
    assert script.read_text().endswith("--workers 1 --cpu\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--at-most", "0"], "`--at-most` must be at least 1; it is 0"),
        (["--gpus-each", "0"], "`--gpus-each` must be at least 1; it is 0"),
        (["--gpus-each", "2", "--cpu"], "`--gpus-each` must be left out with --cpu; it is 2"),
        (["--gpus", "4"], "`--gpus` must be left out of tdo grid slurm, which has --gpus-each"),
        (["--fresh"], "`--fresh` must be an option of tdo grid slurm"),
    ],
)
def test_a_wrong_option_of_slurm(
    tdo: Command, grid: Path, data: DataFolder, tmp_path: Path, words: list[str], message: str
) -> None:
    assert message in tdo("slurm", grid, data.root, "--out", tmp_path / "out", *words, code=2)


def test_collecting_wants_something_translated_and_known_axes(
    tdo: Command, grid: Path, data: DataFolder, tmp_path: Path
) -> None:
    words = ("collect", grid, data.root, "--out", tmp_path / "out")
    assert "`--out` must have a run that is translated" in tdo(*words, code=2)
    message = "`--best-by` must be of task, weight; it has mask"
    assert message in tdo(*words, "--best-by", "task,mask", code=2)


def test_a_grid_s_trainings_are_estimated(grid: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_grid(
        grid.parent,
        axes={"heads": {"2.5": ["--lr 2"], "4": []}, "drop": {"0": [], "1": ["--lr 3"]}},
        cells=None,
    )
    (grid.parent / "base.conf").write_text("--arch tdo_transformer_small\n--max-update 10\n")
    assert main(["estimate", str(grid), "--vocab-size", "50"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines[1:-1]] == [
        ["1", "small/2.5-0"],
        ["1", "small/2.5-1"],
        ["1", "small/4-0"],
    ]
    assert lines[-1].startswith("3 trainings, ")
