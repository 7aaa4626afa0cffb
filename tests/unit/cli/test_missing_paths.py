"""An option of `tdo` whose file or folder to read is gone names both in one line."""

import argparse
import shlex
from collections.abc import Iterator
from pathlib import Path

from support.prepared import prepared, stock_folder, trained

from tdo_plugin.cli import build_parser

GONE = "gone/none"
READ = """
neurons allocate gone/none --out out
train own-data/tdo-instrucl folder --from-text --model-of gone/none --save-dir out
neurons draw importance gone/none --out out
neurons draw allocation gone/none --out out
preference --path gone/none --data {data} --out out
preference --path {model} --data gone/none --out out
curve training gone/none
curve sweep gone/none --x a=1 --out out
compare a=folder b=gone/none
compare --scores gone/none
compare a=folder b=folder --data gone/none
compare a=text b=text --ref gone/none -s de -t en
compare a=text b=text --ref text --src gone/none -s de -t en
compare a=text b=text --ref text -s de -t en --lid gone/none
compare a=text b=text --ref text -s de -t en --metrics bleu --group @gone/none
average --path gone/none --out out
backtranslate gone/none --path {model} --text de=text --into en --out out
backtranslate {data} --path gone/none --text de=text --into en --out out
backtranslate {data} --path {model} --text de=gone/none --into en --out out
backtranslate {data} --path {model} --text de=text --into en --out {new} --cpu --user-dir gone/none
bench --data gone/none
bench half-precision --path gone/none --data {data} --device cpu
collect --report Title gone/none tdo:1 --out out
convert gone/none --from m2m100 --to tdo_transformer --out out
convert {model} --from m2m100 --to tdo_transformer --out out --dict gone/none --spm text
convert {model} --from m2m100 --to tdo_transformer --out out --dict text --spm gone/none
curve updates a=gone/none
curve losses a=gone/none
neurons ablate --path gone/none --general 0.1 --out out
estimate gone/none
export gone/none out --to hf
export {model} out --to hf --data gone/none
export {model} out --to hf --scores gone/none
extend gone/none --path {model} --langs es --out out
extend {data} --path gone/none --langs es --out out
flags gone/none
neurons importance --path gone/none --data {data} --out out
neurons importance --path {model} --data gone/none --out out
neurons importance --path {model} --data {data} --out out --cpu --user-dir gone/none
inspect gone/none
inspect {data} --config gone/none --batches 1
monolingual gone/none --text de=text --out out
monolingual {data} --text de=gone/none --out out
prepare gone/none.json --out out
prepare multi30k --from-file gone/none --out out
prepare --from gone/none --out out
prepare --from folder --out out --model-of gone/none
prepare --adopt gone/none --spm text --out out
prepare --adopt {stock} --spm gone/none --out out
prepare --adopt {stock} --spm {data}/spm.model --out out --references gone/none
preprocess gone/none out
preprocess folder out --model-of gone/none
probe positions --path gone/none --data {data} --out out
probe positions --path {model} --data gone/none --out out
report gone/none --out out
reproduce gone/none
resume gone/none
score a=gone/none --out out
score a=folder --data gone/none --out out
score --hyp gone/none --ref text --src text -s de -t en --out out
score --hyp text --ref gone/none --src text -s de -t en --out out
score --hyp text --ref text --src gone/none -s de -t en --out out
score --hyp text --ref text --src text -s de -t en --out out --lid gone/none
score --hyp text --ref text --src text -s de -t en --out out --metrics bleu --group @gone/none
score-lm gone/none --path {model}
score-lm {data} --path gone/none
score-lm {data} --path {model} --text de=gone/none
explain gone/none -s de -t en --text eins --out out
explain {model} --data gone/none -s de -t en --text eins --out out
explain {model} --lid gone/none -s de -t en --text eins --out out
serve gone/none --port 0
serve {model} --data gone/none --port 0
serve {model} --lid gone/none --port 0
start gone/none --dry-run
start folder --filter-language gone/none --dry-run
train gone/none {data} --dry-run
train own-data/tdo-instrucl gone/none --dry-run
translate gone/none --path {model} --out out
translate {data} --path gone/none --out out
translate {data} --path {model} --pivot en --pivot-path gone/none --out out
translate {data} --path {model} -s de -t en --input gone/none --out out
translate {data} --path {model} --out {new} --cpu --user-dir gone/none
"""
# What is read after an original or a score sheet that only its own tests have:
# test_convert_refused.py and test_cells.py.
ELSEWHERE = {("convert", "extend_vocabulary"), ("report", "cells")}
# Paths that are written to, and so need not be there.
WRITTEN = {"out", "json", "output", "plot", "save_dir", "cache", "sentences", "folder"}
# Metavars of what else is no path to read, though its type is text.
METAVARS = """
A,B A,B=TAG A-B ADDRESS AXIS,... CELL,... D FORMAT GROUP HIGH,MEDIUM HOST:PORT L L,L L,L,... LANG
LANG,... M M,M N N|PAIR=N,... NAME NAME,... OPTION P P,P PAPER:TABLE PAPER[:TABLE] PATTERN RULE
SCALE SIDE[:LAYERS] SRC[,SRC...] SYSTEM SYSTEM=[LINE:]VALUE T TEXT V[,V] X decoder[:LAYERS] ...
"""
# MODEL is of BERTScore and COMET: a name as well, whose absence the score says.
NO_PATH = {*METAVARS.split(), "'--X ...'", "TABLE ...", "MODEL"}


def command_of(parser: argparse.ArgumentParser, words: list[str]) -> list[str]:
    """The first words, as far as they name commands."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction) and words[0] in action.choices:
            return [words[0], *command_of(action.choices[words[0]], words[1:])]
    return []


def named() -> Iterator[tuple[str, str]]:
    """The command and the option or argument of each line that names what is gone."""
    parser = build_parser()
    for line in READ.strip().splitlines():
        words = shlex.split(line)
        given = vars(parser.parse_args(words)).items()
        (option,) = (name for name, value in given if GONE in str(value))
        if option == "rest":  # is parsed later
            option = words[words.index(GONE) - 1].removeprefix("--").replace("-", "_")
        yield " ".join(command_of(parser, words)), option


TESTED = set(named())


def read_paths(
    parser: argparse.ArgumentParser, command: tuple[str, ...] = ()
) -> Iterator[tuple[str, str]]:
    """What may name a file or folder to read, of a parser and those below."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, below in action.choices.items():
                yield from read_paths(below, (*command, name))
        elif action.type is Path:
            if action.dest not in WRITTEN or (" ".join(command), action.dest) in TESTED:
                yield " ".join(command), action.dest
        elif action.type is None and action.nargs != 0 and not action.choices:
            metavar = action.metavar if isinstance(action.metavar, str) else None
            listed = (" ".join(command), action.dest) in TESTED
            if action.metavar and (listed or metavar not in NO_PATH):
                yield " ".join(command), action.dest


def test_no_path_is_forgotten():
    assert set(read_paths(build_parser())) == TESTED | ELSEWHERE


def test_a_path_that_is_gone_is_named(refused, tmp_path, tmp_path_factory, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text").write_text("eins zwei\n")
    (tmp_path / "folder").mkdir()
    for name in ("train.de-en.de", "train.de-en.en", "de-en.hyp"):
        (tmp_path / "folder" / name).write_text("one\n")
    rows = "\n".join(f"{line} :: {GONE}" for line in READ.strip().splitlines())
    begun = tmp_path_factory.mktemp("begun")  # is written to before --user-dir is looked at
    stock = stock_folder(begun / "bin")
    refused.rows(rows, data=prepared().root, model=trained(), new=begun / "new", stock=stock)
