"""What a message advises works when it is done.

Advice about text, checkpoints and corpora is followed where these are tested.
"""

from dataclasses import dataclass
from pathlib import Path

import pytest
from support.commands import told

from tdo_plugin.data.databin import DataFolder

CONFIG = "own-data/tdo-instrucl"
TRAIN = "train CONFIG DATA --dry-run"


@dataclass(frozen=True)
class Advice:
    """A command that is refused, what the message advises, and the command by which it is done."""

    refused: str
    said: str
    followed: tuple[str, ...]


ADVICE = (
    Advice(
        f"{TRAIN} --cpu --workers 3",
        "(use 8, or give --update-freq)",
        (f"{TRAIN} --cpu --workers 8", f"{TRAIN} --cpu --workers 3 --update-freq 1"),
    ),
    Advice(
        f"{TRAIN} --gpus 2 --workers 2",
        "(--cpu disables GPUs)",
        (f"{TRAIN} --cpu --workers 2", f"{TRAIN} --gpus 2"),
    ),
    Advice(
        f"{TRAIN} --cpu --precision fp16",
        "`--precision` must be fp32 or bf16 on the CPU",
        (f"{TRAIN} --cpu --precision bf16",),
    ),
    Advice(
        f"{TRAIN} --cpu --nodes 2",
        "`--rendezvous` must be HOST:PORT of the first machine with --nodes",
        (f"{TRAIN} --cpu --nodes 2 --rendezvous first:29500",),
    ),
    Advice(
        f"{TRAIN} --cpu --sbatch=--time=9",
        "`--sbatch` must be left out without --slurm",
        (f"{TRAIN} --cpu --sbatch=--time=9 --slurm", f"{TRAIN} --cpu"),
    ),
    Advice(
        f"{TRAIN} --slurm",
        "`--gpus` or `--cpu` must be given with --slurm",
        (f"{TRAIN} --slurm --gpus 1", f"{TRAIN} --slurm --cpu"),
    ),
    Advice(
        "train BARE DATA --dry-run --cpu",
        "`--arch` must be in the config or on the command line",
        ("train BARE DATA --dry-run --cpu --arch tdo_transformer",),
    ),
    Advice(
        "train TASKLESS DATA --dry-run --cpu",
        "`--task` must be in the config or on the command line",
        ("train TASKLESS DATA --dry-run --cpu --task tdo_translation",),
    ),
    Advice(
        "preprocess BIBLE OUT --vocab-size 60",
        "use tdo prepare --from with --split-valid N --split-test N: N sentence pairs",
        ("prepare --from BIBLE --out OUT --vocab-size 60 --split-valid 5 --split-test 5",),
    ),
    Advice(
        "preprocess BIBLE OUT --vocab-size 60 --split-valid 5 --split-test 5",
        "which tdo prepare --from can split",
        ("prepare --from BIBLE --out OUT --vocab-size 60 --split-valid 5 --split-test 5",),
    ),
    Advice(
        "describe --arch tdo_transformer --vocab-size 99 --tdo-adapter-dim 8",
        "`--num-pairs` must be given with `--tdo-adapter-dim`",
        ("describe --arch tdo_transformer --vocab-size 99 --tdo-adapter-dim 8 --num-pairs 2",),
    ),
    Advice(
        "describe --arch tdo_transformer --vocab-size 99 --tdo-laln both",
        "`--num-languages` must be given with `--tdo-laln`",
        ("describe --arch tdo_transformer --vocab-size 99 --tdo-laln both --num-languages 3",),
    ),
    Advice(
        "train IMPORTING DATA --dry-run --cpu",
        "give it on the command line, after the data folder",
        (f"{TRAIN} --cpu --user-dir FOLDER",),
    ),
    Advice(
        f"{TRAIN} --cpu --task translation_multi_simple_epoch --lang-pairs de-fr",
        "(the task tdo_translation does not require them)",
        (f"{TRAIN} --cpu --task tdo_translation --lang-pairs de-fr",),
    ),
)


@pytest.mark.parametrize("advice", ADVICE, ids=lambda advice: advice.refused)
def test_what_is_advised_works(
    advice: Advice, data: DataFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bare.conf").write_text("--task tdo_translation\n")
    (tmp_path / "taskless.conf").write_text("--arch tdo_transformer\n--max-tokens 400\n")
    (tmp_path / "bible").mkdir()
    for language in ("de", "en", "fr"):
        lines = (f"{language} {number} {number * number}\n" for number in range(50))
        (tmp_path / "bible" / f"bible.{language}").write_text("".join(lines))
    (tmp_path / "importing.conf").write_text("--user-dir folder\n")
    places = {
        **{"CONFIG": CONFIG, "DATA": data.root, "OUT": tmp_path / "out"},
        **{"BARE": tmp_path / "bare.conf", "IMPORTING": tmp_path / "importing.conf"},
        **{"FOLDER": tmp_path, "BIBLE": tmp_path / "bible"},
        "TASKLESS": tmp_path / "taskless.conf",
    }

    def words(line: str) -> list[str]:
        return [str(places.get(word, word)) for word in line.split()]

    _, errors = told(capsys, *words(advice.refused), code=2)
    assert advice.said in errors and errors.count("\n") == 1
    for line in advice.followed:
        told(capsys, *words(line))
