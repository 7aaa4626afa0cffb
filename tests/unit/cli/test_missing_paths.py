"""An option of `tdo` whose file or folder to read is gone names both in one line."""

import argparse
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.commands import told
from support.prepared import prepared, trained

from tdo_plugin.cli import build_parser

GONE = "gone/none"
CONFIG = "own-data/tdo-instrucl"
COMPARED = "compare a=TEXT b=TEXT --ref TEXT -s de -t en"
SCORED = "score --hyp TEXT --ref TEXT --src TEXT -s de -t en --out OUT"
FAIRSEQ = "convert MODEL --from m2m100 --to tdo_transformer --out OUT"
# (command, option or argument) -> a command line in which it is GONE
READ = {
    ("neurons allocate", "file"): "neurons allocate GONE --out OUT",
    ("train", "model_of"): f"train {CONFIG} FOLDER --from-text --model-of GONE --save-dir OUT",
    ("neurons draw importance", "file"): "neurons draw importance GONE --out OUT",
    ("neurons draw allocation", "file"): "neurons draw allocation GONE --out OUT",
    ("preference", "path"): "preference --path GONE --data DATA --out OUT",
    ("preference", "data"): "preference --path MODEL --data GONE --out OUT",
    ("curve training", "folders"): "curve training GONE",
    ("curve sweep", "scores"): "curve sweep GONE --x a=1 --out OUT",
    ("compare", "systems"): "compare a=FOLDER b=GONE",
    ("compare", "scores"): "compare --scores GONE",
    ("compare", "data"): "compare a=FOLDER b=FOLDER --data GONE",
    ("compare", "ref"): "compare a=TEXT b=TEXT --ref GONE -s de -t en",
    ("compare", "src"): "compare a=TEXT b=TEXT --ref TEXT --src GONE -s de -t en",
    ("compare", "lid"): f"{COMPARED} --lid GONE",
    ("compare", "group"): f"{COMPARED} --metrics bleu --group @GONE",
    ("average", "inputs"): "average --inputs GONE --output OUT",
    ("backtranslate", "data"): "backtranslate GONE --path MODEL --text de=TEXT --into en --out OUT",
    ("backtranslate", "path"): "backtranslate DATA --path GONE --text de=TEXT --into en --out OUT",
    ("backtranslate", "text"): "backtranslate DATA --path MODEL --text de=GONE --into en --out OUT",
    ("backtranslate", "user_dir"): (
        "backtranslate DATA --path MODEL --text de=TEXT --into en --out OUT --cpu --user-dir GONE"
    ),
    ("bench", "data"): "bench --data GONE",
    ("bench", "path"): "bench half-precision --path GONE --data DATA --device cpu",
    ("collect", "report"): "collect --report Title GONE tdo:1 --out OUT",
    ("convert", "original"): "convert GONE --from m2m100 --to tdo_transformer --out OUT",
    ("convert", "dict"): f"{FAIRSEQ} --dict GONE --spm TEXT",
    ("convert", "spm"): f"{FAIRSEQ} --dict TEXT --spm GONE",
    ("curve updates", "trainings"): "curve updates a=GONE",
    ("curve losses", "trainings"): "curve losses a=GONE",
    ("neurons ablate", "path"): "neurons ablate --path GONE --general 0.1 --output OUT",
    ("estimate", "configs"): "estimate GONE",
    ("export", "checkpoint"): "export GONE OUT --to hf",
    ("export", "data"): "export MODEL OUT --to hf --data GONE",
    ("export", "scores"): "export MODEL OUT --to hf --scores GONE",
    ("extend", "data"): "extend GONE --path MODEL --languages es --output OUT",
    ("extend", "path"): "extend DATA --path GONE --languages es --output OUT",
    ("flags", "config"): "flags GONE",
    ("neurons importance", "path"): "neurons importance --path GONE --data DATA --out OUT",
    ("neurons importance", "data"): "neurons importance --path MODEL --data GONE --out OUT",
    (
        "neurons importance",
        "user_dir",
    ): "neurons importance --path MODEL --data DATA --out OUT --cpu --user-dir GONE",
    ("inspect", "data"): "inspect GONE",
    ("inspect", "config"): "inspect DATA --config GONE --batches 1",
    ("monolingual", "data"): "monolingual GONE --text de=TEXT --out OUT",
    ("monolingual", "text"): "monolingual DATA --text de=GONE --out OUT",
    ("prepare", "name"): "prepare GONE.json --out OUT",
    ("prepare", "from_file"): "prepare multi30k --from-file GONE --out OUT",
    ("prepare", "own"): "prepare --from GONE --out OUT",
    ("prepare", "model_of"): "prepare --from FOLDER --out OUT --model-of GONE",
    ("preprocess", "text"): "preprocess GONE OUT",
    ("preprocess", "model_of"): "preprocess FOLDER OUT --model-of GONE",
    ("probe positions", "path"): "probe positions --path GONE --data DATA --out OUT",
    ("probe positions", "data"): "probe positions --path MODEL --data GONE --out OUT",
    ("report", "scores"): "report GONE --out OUT",
    ("reproduce", "experiments"): "reproduce GONE",
    ("resume", "folder"): "resume GONE",
    ("score", "systems"): "score a=GONE --out OUT",
    ("score", "data"): "score a=FOLDER --data GONE --out OUT",
    ("score", "hyp"): SCORED.replace("--hyp TEXT", "--hyp GONE"),
    ("score", "ref"): SCORED.replace("--ref TEXT", "--ref GONE"),
    ("score", "src"): SCORED.replace("--src TEXT", "--src GONE"),
    ("score", "lid"): f"{SCORED} --lid GONE",
    ("score", "group"): f"{SCORED} --metrics bleu --group @GONE",
    ("score-lm", "data"): "score-lm GONE --path MODEL",
    ("score-lm", "path"): "score-lm DATA --path GONE",
    ("score-lm", "text"): "score-lm DATA --path MODEL --text de=GONE",
    ("explain", "models"): "explain GONE -s de -t en --text eins --out OUT",
    ("explain", "data"): "explain MODEL --data GONE -s de -t en --text eins --out OUT",
    ("explain", "lid"): "explain MODEL --lid GONE -s de -t en --text eins --out OUT",
    ("serve", "models"): "serve GONE --port 0",
    ("serve", "data"): "serve MODEL --data GONE --port 0",
    ("serve", "lid"): "serve MODEL --lid GONE --port 0",
    ("start", "folder"): "start GONE --dry-run",
    ("start", "filter_language"): "start FOLDER --filter-language GONE --dry-run",
    ("train", "config"): "train GONE DATA --dry-run",
    ("train", "data"): "train CONFIG GONE --dry-run",
    ("translate", "data"): "translate GONE --path MODEL --out OUT",
    ("translate", "path"): "translate DATA --path GONE --out OUT",
    ("translate", "pivot_path"): (
        "translate DATA --path MODEL --pivot en --pivot-path GONE --out OUT"
    ),
    ("translate", "input"): "translate DATA --path MODEL -s de -t en --input GONE --output OUT",
    ("translate", "user_dir"): "translate DATA --path MODEL --out OUT --cpu --user-dir GONE",
}
# What is read after an original or a score sheet that only its own tests have:
# test_convert_refused.py and test_cells.py.
ELSEWHERE = {("convert", "extend_vocabulary"), ("report", "cells")}
# Paths that are written to, and so need not be there.
WRITTEN = {"out", "json", "output", "plot", "save_dir", "cache", "sentences"}
# What else is no path to read, though its type is text: told apart by their metavars.
NO_PATH = {
    *(
        "P",
        "P,P",
        "L",
        "L,L",
        "L,L,...",
        "LANG",
        "LANG,...",
        "D",
        "M",
        "M,M",
        "N",
        "N|PAIR=N,...",
        "T",
        "V[,V]",
        "X",
    ),
    *(
        "A-B",
        "A,B",
        "A,B=TAG",
        "SRC[,SRC...]",
        "NAME",
        "TEXT",
        "SYSTEM",
        "GROUP",
        "PATTERN",
        "RULE",
    ),
    *(
        "SIDE[:LAYERS]",
        "decoder[:LAYERS]",
        "CELL,...",
        "AXIS,...",
        "OPTION",
        "HOST:PORT",
        "ADDRESS",
        "'--X ...'",
    ),
    *(
        "SCALE",
        "NAME,...",
        "TABLE ...",
        "PAPER:TABLE",
        "PAPER[:TABLE]",
        "HIGH,MEDIUM",
        "SYSTEM=[LINE:]VALUE",
        "...",
    ),
    *("MODEL",),  # of BERTScore and COMET: a name as well, whose absence the score says
}


def read_paths(
    parser: argparse.ArgumentParser, command: tuple[str, ...] = ()
) -> Iterator[tuple[str, str]]:
    """What may name a file or folder to read, of a parser and those below."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, below in action.choices.items():
                yield from read_paths(below, (*command, name))
        elif action.type is Path:
            if action.dest not in WRITTEN or (command, action.dest) in READ:
                yield " ".join(command), action.dest
        elif action.type is None and action.nargs != 0 and not action.choices:
            metavar = action.metavar if isinstance(action.metavar, str) else None
            listed = (" ".join(command), action.dest) in READ
            if action.metavar and (listed or metavar not in NO_PATH):
                yield " ".join(command), action.dest


def test_no_path_is_forgotten() -> None:
    assert set(read_paths(build_parser())) == set(READ) | ELSEWHERE


@pytest.mark.parametrize("case", READ, ids=" ".join)
def test_a_path_that_is_gone_is_named(
    case: tuple[str, str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text").write_text("eins zwei\n")
    (tmp_path / "folder").mkdir()
    for name, line in (
        ("train.de-en.de", "eins\n"),
        ("train.de-en.en", "one\n"),
        ("de-en.hyp", "one\n"),
    ):
        (tmp_path / "folder" / name).write_text(line)
    places = {
        **{"GONE": GONE, "TEXT": "text", "FOLDER": "folder", "OUT": "out", "CONFIG": CONFIG},
        **{"DATA": prepared().root, "MODEL": trained()},
    }
    line = READ[case]
    for word, place in places.items():
        line = line.replace(word, str(place))
    _, errors = told(capsys, *line.split(), code=2)
    messages = [text for text in errors.splitlines() if "error: " in text]
    assert len(messages) == 1 and GONE in messages[0] and "Traceback" not in errors
    assert "`" in messages[0] and "must" in messages[0]
