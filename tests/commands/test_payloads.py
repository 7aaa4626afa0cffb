"""Nothing that a checkpoint's settings say is run, imported or written to, whatever loads it.

A setting's text is replaced by code, or by a place in a folder that is a package: loading the
checkpoint must neither run the code, nor import the package, nor put anything into the folder. A
command may go on, or end with one line.
"""

import copy
import functools
import sys
from argparse import Namespace

import pytest
import torch
from support.commands import exit_code
from support.data import CROSS_ENTROPY, TAG, TRAIN, generate, kept_logging, train
from support.data import TDO as MODEL
from support.prepared import LANGUAGES, LARGER, PAIRS, TASK, prepared, trained

from tdo_compat import errors
from tdo_compat.settings import IMPORTED, WRITTEN

MULTILINGUAL = ("--task", "tdo_translation", "--langs", LANGUAGES, "--lang-pairs", PAIRS, *TAG)
DE_EN = ("--source-lang", "de", "--target-lang", "en")
BASE = ("--task", "tdo_translation", *TASK, *TAG, *TRAIN, *MODEL, *LARGER, *CROSS_ENTROPY)
# settings that are not given here, and would name what is imported or written
PLACES = (*IMPORTED, *WRITTEN)
SMALL = ("--cpu", "--beam", "1", "--max-len-b", "5")


# --- checkpoints -----------------------------------------------------------------------------


@functools.cache
def original():
    return torch.load(trained(), weights_only=False)


def groups(value):
    """All groups of settings of a checkpoint, each a dict."""
    value = vars(value) if isinstance(value, Namespace) else value
    if isinstance(value, dict):
        yield value
        for item in value.values():
            yield from groups(item)


def settings(kinds=str):
    """Names of the settings of the checkpoint that are of some kinds, each once."""
    items = [item for group in groups(original()["cfg"]) for item in group.items()]
    return sorted({key for key, value in items if isinstance(value, kinds)})


def original_value(name):
    return next((group[name] for group in groups(original()["cfg"]) if name in group), None)


def with_setting(path, name=None, value=None):
    """Write the checkpoint with this value, wherever its settings have the name as text."""
    state = {**original(), "cfg": copy.deepcopy(original()["cfg"])}
    holders = [
        group for group in groups(state["cfg"]) if isinstance(group.get(name, 0), str | None)
    ]
    for group in holders if holders or name is None else list(groups(state["cfg"]))[1:]:
        group[name] = value
    torch.save(state, path)
    return path


@pytest.fixture
def trap(tmp_path):
    """A package that says so when it is imported, and code that does."""
    folder = tmp_path / "trap"
    folder.mkdir()
    mark = tmp_path / "it-ran"
    touch = f"__import__('pathlib').Path({str(mark)!r}).touch()"
    (folder / "__init__.py").write_text(f"{touch}\n")

    class Trap:
        code = f"{touch} or True"
        place = str(folder)

        def check(self):
            assert not mark.exists()
            assert [entry.name for entry in folder.iterdir()] == ["__init__.py"]
            assert "trap" not in sys.modules

        def payloads(self, name):
            """Code; for what may name a place, that, too."""
            yield self.code
            if name == "user_dir":
                yield self.place
            elif name in PLACES or "/" in str(original_value(name)):
                yield f"{self.place}/new"

    return Trap()


# --- commands --------------------------------------------------------------------------------


def stock(name, *flags):
    """A stock command in this process, as its console script calls it."""
    from fairseq import options
    from fairseq.dataclass.utils import convert_namespace_to_omegaconf

    parser = {
        "interactive": options.get_interactive_generation_parser,
        "validate": options.get_validation_parser,
    }[name]
    program = __import__(f"fairseq_cli.{name}", fromlist=["main"])

    def parsed(**more):
        words = [str(word) for word in (prepared().root, *flags)]
        return options.parse_args_and_arch(parser(), input_args=words, **more)

    overrides = {"override_args": parsed(suppress_defaults=True)} if name == "validate" else {}
    with kept_logging():
        program.main(convert_namespace_to_omegaconf(parsed()), **overrides)


def training(path, folder, option, last_update):
    flags = (*BASE, "--max-update", last_update, "--disable-validation", "--no-save")
    train(folder / "training", *flags, option, str(path), data=prepared().root)


def interactive(path, folder):
    flags = ("--path", path, "--input", folder / "pieces.de", *SMALL)
    stock("interactive", *MULTILINGUAL, *DE_EN, *flags)


def validating(path, folder):
    flags = ("--path", path, "--valid-subset", "valid", "--cpu", "--max-tokens", "600")
    stock("validate", *MULTILINGUAL, *flags)


FAIRSEQ = {
    "fairseq-generate": lambda path, _: generate(
        *(*MULTILINGUAL, *DE_EN, "--path", path, *SMALL), data=prepared().root
    ),
    "fairseq-interactive": interactive,
    "fairseq-validate": validating,
    "fairseq-train --restore-file": functools.partial(
        training, option="--restore-file", last_update="151"
    ),
    "fairseq-train --finetune-from-model": functools.partial(
        training, option="--finetune-from-model", last_update="1"
    ),
}
TDO = {
    "translate": "translate {data} --path {path} --pairs de-en --out {folder}/out {small}",
    "average": "average --path {path} {trained} --out {folder}/average.pt",
    "extend": "extend {data} --path {path} --langs nl --out {folder}/extended.pt",
    "neurons ablate": "neurons ablate --path {path} --general 0.5 --out {folder}/ablated.pt",
    "convert": "convert {path} --from m2m100 --to tdo_transformer --out {folder}/new",
    "score-lm": "score-lm {data} --path {path} --pairs de-en --cpu",
    "neurons importance": "neurons importance --path {path} --data {data} --sentences 2 --cpu"
    " --out {folder}/importance.safetensors",
    "probe positions": "probe positions --path {path} --data {data} --halves --sentences 4"
    " --probes 1 --cpu --no-figures --out {folder}/probed",
    "preference": "preference --path {path} --data {data} --form sentence --sentences 4 --cpu"
    " --no-figures --out {folder}/preference",
    "backtranslate": "backtranslate {data} --path {path} --text en={folder}/text.en --into de"
    " --max-ratio 100 --out {folder}/back {small}",
}
COMMANDS = [*FAIRSEQ, *TDO]


def run(command, path, folder):
    """What a command ends with: its exit code, or none of fairseq's."""
    (folder / "pieces.de").write_text("▁ein ▁Kind\n", encoding="utf-8")
    (folder / "text.en").write_text("A child of one sees a child.\n", encoding="utf-8")
    if command in FAIRSEQ:
        FAIRSEQ[command](path, folder)
        return None
    places = {"data": prepared().root, "trained": trained(), "small": " ".join(SMALL)}
    words = TDO[command].format(path=path, folder=folder, **places)
    return exit_code(*words.split())


def loaded(name, path, folder, capsys):
    """What a command ends with: its one line, or None where it goes through."""
    try:
        code = run(name, path, folder)
    except Exception as error:
        line = errors.one_line(type(error), error)
        assert line is not None, repr(error)
        return line
    printed = capsys.readouterr().err
    assert "Traceback" not in printed
    return printed.strip().rpartition("\n")[2] if code else None


def tried(command, names, tmp_path, trap, capsys):
    for number, name in enumerate(names):
        for turn, payload in enumerate(trap.payloads(name)):
            folder = tmp_path / f"{number}-{turn}"
            folder.mkdir()
            path = with_setting(folder / "payload.pt", name, payload)
            line = loaded(command, path, folder, capsys)
            assert line is None or "\n" not in line
            trap.check()


@pytest.mark.full
@pytest.mark.parametrize("command", COMMANDS)
def test_the_command_itself_goes_through(command, tmp_path, capsys):
    """So that what follows tests what it says; some want another model, and say so."""
    line = loaded(command, with_setting(tmp_path / "as-it-was.pt"), tmp_path, capsys)
    if command not in ("neurons ablate", "convert"):
        assert line is None


@pytest.mark.long
@pytest.mark.parametrize("command", COMMANDS)
def test_nothing_of_a_setting_runs(command, tmp_path, trap, capsys):
    """Each setting that is text is tried by some command, and each command has some of them."""
    turn = COMMANDS.index(command)
    tried(command, [*settings(), *PLACES][turn :: len(COMMANDS)], tmp_path, trap, capsys)


@pytest.mark.full
@pytest.mark.parametrize("command", COMMANDS)
def test_nothing_of_any_setting_runs(command, tmp_path, trap, capsys):
    """Each setting that is text, by each command."""
    tried(command, [*settings(), *PLACES], tmp_path, trap, capsys)


@pytest.mark.full
def test_nothing_of_a_setting_that_was_not_given_runs(tmp_path, trap, capsys):
    """Settings that are empty may be text, too."""
    tried("fairseq-generate", settings(type(None)), tmp_path, trap, capsys)
