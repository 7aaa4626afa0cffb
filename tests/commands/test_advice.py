"""What a message advises works when it is done.

Advice about text, checkpoints and corpora is followed where these are tested.
"""

import shlex

from support.commands import told
from support.configs import data_folder

# Each command that is refused, what the message advises, and below it how it is done.
ADVICE = """
train CONFIG DATA --dry-run --cpu --workers 3 :: use 2, or give --update-freq
    train CONFIG DATA --dry-run --cpu --workers 2
    train CONFIG DATA --dry-run --cpu --workers 3 --update-freq 1
train CONFIG DATA --dry-run --gpus 2 --workers 2 :: --cpu disables GPUs
    train CONFIG DATA --dry-run --cpu --workers 2
    train CONFIG DATA --dry-run --gpus 2
train CONFIG DATA --dry-run --cpu --precision fp16 :: fp32 or bf16 on the CPU
    train CONFIG DATA --dry-run --cpu --precision bf16
train CONFIG DATA --dry-run --cpu --nodes 2 :: `--rendezvous` must be HOST:PORT
    train CONFIG DATA --dry-run --cpu --nodes 2 --rendezvous first:29500
train CONFIG DATA --dry-run --cpu --sbatch=--time=9 :: left out without --slurm
    train CONFIG DATA --dry-run --cpu --sbatch=--time=9 --slurm
    train CONFIG DATA --dry-run --cpu
train CONFIG DATA --dry-run --slurm :: `--gpus` or `--cpu`
    train CONFIG DATA --dry-run --slurm --gpus 1
    train CONFIG DATA --dry-run --slurm --cpu
train BARE DATA --dry-run --cpu :: `--arch` must be in the config or on the command line
    train BARE DATA --dry-run --cpu --arch tdo_transformer
train TASKLESS DATA --dry-run --cpu :: `--task` must be in the config or on the command line
    train TASKLESS DATA --dry-run --cpu --task tdo_translation
train IMPORTING DATA --dry-run --cpu :: on the command line, after the data folder
    train CONFIG DATA --dry-run --cpu --user-dir FOLDER
train CONFIG DATA --dry-run --cpu --task STOCK --lang-pairs de-fr :: task tdo_translation
    train CONFIG DATA --dry-run --cpu --task tdo_translation --lang-pairs de-fr
preprocess BIBLE OUT --vocab-size 60 :: tdo prepare --from with --split-valid N --split-test N
preprocess BIBLE OUT --vocab-size 60 --split-valid 5 --split-test 5 :: tdo prepare --from can split
    prepare --from BIBLE --out OUT --vocab-size 60 --split-valid 5 --split-test 5
describe --arch tdo_transformer --vocab-size 99 --tdo-adapter-dim 8 :: `--num-pairs` must be given
    describe --arch tdo_transformer --vocab-size 99 --tdo-adapter-dim 8 --num-pairs 2
describe --arch tdo_transformer --vocab-size 99 --tdo-laln both :: `--num-languages` must be given
    describe --arch tdo_transformer --vocab-size 99 --tdo-laln both --num-languages 3
"""


def test_what_is_advised_works(refused, tmp_path, capsys):
    (tmp_path / "bare.conf").write_text("--task tdo_translation\n")
    (tmp_path / "taskless.conf").write_text("--arch tdo_transformer\n--max-tokens 400\n")
    (tmp_path / "importing.conf").write_text("--user-dir folder\n")
    for folder in ("bible", "data"):
        (tmp_path / folder).mkdir()
    for language in ("de", "en", "fr"):
        lines = (f"{language} {number} {number * number}\n" for number in range(50))
        (tmp_path / "bible" / f"bible.{language}").write_text("".join(lines))
    places = {
        **{"CONFIG": "own-data/tdo-instrucl", "STOCK": "translation_multi_simple_epoch"},
        **{name: tmp_path / f"{name.lower()}.conf" for name in ("BARE", "TASKLESS", "IMPORTING")},
        **{name: tmp_path / name.lower() for name in ("BIBLE", "DATA", "OUT")},
        "FOLDER": tmp_path,
    }
    data_folder(places["DATA"])
    for line in ADVICE.strip().splitlines():
        command, _, advice = line.partition(" :: ")
        words = [places.get(word, word) for word in shlex.split(command)]
        if line.startswith(" "):
            told(capsys, *words)
        else:
            refused(*words, names=advice)
