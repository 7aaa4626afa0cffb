"""Every command that README and docs show is one: its program's own parser takes it, and more.

What trains is followed to the model's and the criterion's checks, so that options which contradict
each other are found; a file of experiments and a script are followed to the trainings that they
come to.
"""

import argparse
import contextlib
import functools
import io
import re
import runpy
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.configs import ROOT, torchrun
from support.doc_commands import DOCUMENTS, FENCE, Command, blocks, fenced, in_text
from support.prepared import prepared, trained
from support.scripts import called

from tdo_plugin.cli import COMMANDS, build_parser, main
from tdo_plugin.cli.reproduce_all import ALL
from tdo_plugin.cli.reproduce_plan import planned
from tdo_plugin.launch.training import Machine, train_words
from tdo_plugin.launch.training_config import Config, with_lines

# What a reader puts in place of a word, as one would.
PLACEHOLDERS = {
    "CONFIG": ["own-data/tdo-instrucl"],
    "FLAGS": ["--tdo-init", "identity-stage1"],
    "FLAG...": ["--max-update", "10"],
    "...": [],
    "DIR": ["."],
    "ARCHIVES": ["."],
}
# Programs that have no parser to ask, and why.
OTHERS = {
    "source": "a builtin of the shell",
    "git": "not ours",
    "mv": "not ours",
    "sbatch": "Slurm's, which no test has",
    "docker": "the weekly workflow builds and runs the image",
    "-m venv": "Python's own",
    "mkdocs": "of the extra docs; tests/repository/test_doc_links.py builds the site with it",
    "-m pytest": "its options are those of a plugin that is installed by the line before",
    "scripts/test.sh": "hands what it does not know on to pytest; test_scripts.py has its tiers",
    "scripts/setup.sh": "test_scripts.py has its options",
}
# Languages of the small data folder, for others.
KNOWN = {"es": "en", "ro": "de"}
# What stands in documents for a number or a folder.
NUMBERS = ("N", "V", "K")


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("documents")


@contextlib.contextmanager
def nothing_said() -> Iterator[io.StringIO]:
    """Catch what is printed and said."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        yield output


def filled(command: Command) -> list[str]:
    """Its words, with placeholders filled in and programs called by their names."""
    words = [filling for word in command.words for filling in PLACEHOLDERS.get(word, [word])]
    if words[0] == "bash":
        del words[0]
    if ".venv" in Path(words[0]).parts:
        words[0] = Path(words[0]).name
    return words


# --- programs ---------------------------------------------------------------------------------


tdo_parser = functools.cache(build_parser)


def read(parse: Callable[[list[str]], argparse.Namespace], words: list[str]) -> argparse.Namespace:
    """The words of a command, read.

    Raises:
        AssertionError: with what the parser complains of.
    """
    with nothing_said() as output:
        try:
            return parse(words)
        except SystemExit:
            raise AssertionError(output.getvalue().strip().split("\n")[-1]) from None


def parsed(words: list[str]) -> argparse.Namespace:
    return read(tdo_parser().parse_args, words)


def read_by(parser: argparse.ArgumentParser, words: list[str]) -> argparse.Namespace:
    """The words of a command of fairseq's, read as it reads them."""
    from fairseq import options

    return read(functools.partial(options.parse_args_and_arch, parser), words)


def tdo(words: list[str], folder: Path) -> None:
    """Hold a command of `tdo` against its parser; follow what it starts."""
    args = parsed(words)
    if args.command == "train":
        training(words, folder)
    elif args.command == "estimate":
        for config in args.configs:
            training(["train", str(config), "DATA"], folder)
    elif args.command == "describe":
        succeeds(words)
    elif args.command == "quickstart":
        assert "+ tdo train" in succeeds([*words, "--dry-run"])
    elif args.command == "translate" and args.engine == "fairseq":
        decoding(words)
    elif args.command == "reproduce" and shows_commands(args, folder):
        succeeds([*words, "--dry-run"])


def shows_commands(args: argparse.Namespace, folder: Path) -> bool:
    """Whether what `tdo reproduce` makes can be looked at: not of a reader's own file."""
    own = args.experiments.endswith(".toml") and not (folder / args.experiments).is_file()
    return not own and "--help" not in args.rest


def succeeds(words: list[str]) -> str:
    """What a command of `tdo` says in this process, which must end well."""
    with nothing_said() as output:
        code = main(words)
    assert code == 0, output.getvalue()
    return output.getvalue()


def training(words: list[str], folder: Path) -> None:
    """Follow `tdo train` on a small data folder to what it trains."""
    _, config, _, *flags = words
    flags = [flag for flag in flags if flag != "--from-text"]  # the folder here is of data
    machine = [] if {"--gpus", "--cpu"} & set(flags) else ["--cpu"]
    file = folder / config  # or a system of experiments
    where = [str(file) if file.exists() else config, str(prepared().root)]
    output = succeeds(["train", *where, *flags, *machine, "--dry-run"])
    for line in output.splitlines():
        if line.startswith("+ "):
            started = shlex.split(line.removeprefix("+ "))
            if started[0] == "torchrun":
                launched = torchrun(started)
                started = [launched.training_script, *launched.training_script_args]
            assert started[0] == "fairseq-train"
            fairseq_train(started[1:])


def decoding(words: list[str]) -> None:
    """Follow `tdo translate --engine fairseq` on a small data folder to what it runs."""
    name, _, *rest = words
    small = [str(prepared().root), *rest, "--path", str(trained()), "--pairs", "all"]
    for line in succeeds([name, *small, "--dry-run"]).splitlines():
        if line.startswith("+ fairseq-generate "):
            fairseq_generate(shlex.split(line)[2:])


def fairseq_train(words: list[str], *_: object) -> None:
    """Read the words of `fairseq-train`; set up the task, check the model, build the criterion."""
    from fairseq import criterions, options, tasks

    from tdo_plugin.criterions.loss_terms import spec_of_training
    from tdo_plugin.tasks import tracking_options

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tracking_options, "PACKAGES", {})  # the tests' set-up does not have them all
        args = read_by(options.get_training_parser(), words)
        args.data = str(prepared().root)
        task = tasks.setup_task(args)
    spec_of_training(task)
    criterions.build_criterion(args, task)


def fairseq_generate(words: list[str], *_: object) -> None:
    """Read the words of `fairseq-generate` and set up its task."""
    from fairseq import options, tasks

    path_index = words.index("--path") + 1
    words = [str(prepared().root), *words[1:path_index], str(trained()), *words[path_index + 1 :]]
    args = read_by(options.get_generation_parser(), words)
    tasks.setup_task(args)


def fairseq_preprocess(words: list[str], *_: object) -> None:
    from fairseq import options

    options.get_preprocessing_parser().parse_args(words)


def python(words: list[str], folder: Path) -> None:
    """Let a benchmark, or a module of the tests, read its words, and go no further."""
    if words[0] == "-m" and f"-m {words[1]}" in OTHERS:
        return

    class Read(Exception):
        """Its words are read."""

    def parse(self: argparse.ArgumentParser, *_: object) -> None:
        argparse.ArgumentParser.parse_known_args(self, rest)
        raise Read

    runs, rest = (
        (functools.partial(runpy.run_module, words[1]), words[2:])
        if words[0] == "-m"
        else (functools.partial(runpy.run_path, str(folder / words[0])), words[1:])
    )
    with pytest.MonkeyPatch.context() as patch, pytest.raises(Read):
        patch.setattr(argparse.ArgumentParser, "parse_args", parse)
        runs(run_name="__main__")


def pip(words: list[str], folder: Path) -> None:
    """Let pip read its words; the files and extras that they name are there."""
    from pip._internal.commands import create_command

    name, *rest = words
    flags, requirements = create_command(name).parse_args(rest)
    for place in flags.constraints:
        assert (folder / place).is_file(), place
    for extra in re.findall(r"\[(\w+)\]", " ".join([*requirements, *flags.editables])):
        assert f"\n{extra} = [" in (ROOT / "pyproject.toml").read_text(), extra


PROGRAMS: dict[str, Callable[[list[str], Path], None]] = {
    "tdo": tdo,
    "fairseq-train": fairseq_train,
    "fairseq-generate": fairseq_generate,
    "fairseq-preprocess": fairseq_preprocess,
    "python": python,
    "pip": pip,
}


def through_door(name: str, *words: str) -> tuple[str, list[str]]:
    """The command of `tdo` that a script becomes; any other program as it is."""
    if not name.startswith("scripts/") or name in OTHERS or "--help" in words:
        return name, [*words]
    return "tdo", called(name.removeprefix("scripts/"), *words)


def follow(command: Command) -> None:
    """Hold a command against what it starts."""
    if "..." in command.words:  # which leaves something to the reader
        mention(command)
        return
    program = filled(command)[0]
    assert "/" not in program or (command.folder / program).is_file(), f"{program} is not there"
    name, words = through_door(*filled(command))
    if name in PROGRAMS:
        PROGRAMS[name](words, command.folder)
    elif not name.endswith(".sh"):
        assert name in OTHERS, f"{name} has no parser here"


def mention(command: Command) -> None:
    """Hold what is not a whole command against the options that its program has."""
    name, *words = filled(command)
    words = ["1" if word in NUMBERS else word.strip("[]") for word in words]
    options = [word.partition("=")[0] for word in words if word.startswith("-") and word != "--"]
    if name.endswith(".sh"):
        assert (command.folder / name).is_file(), f"{name} is not there"
        door, words = through_door(name, *words)
        if words[:1] == ["reproduce"]:
            tdo(words, command.folder)
        if door == name or words[:1] == ["reproduce"]:
            return
        name = door
    if name in COMMANDS:
        name, words = "tdo", [name, *words]
    available = set(options_of(name, words)) | {"--help"}
    if words[:1] == ["reproduce"] and not set(options) <= available:  # the experiment file's own
        tdo(words, command.folder)
        return
    assert set(options) <= available, f"no options of {name}: {sorted(set(options) - available)}"


def options_of(name: str, words: list[str]) -> Iterator[str]:
    """The options that a program takes with these words."""
    from fairseq import options
    from fairseq.criterions import CRITERION_REGISTRY
    from fairseq.models import MODEL_REGISTRY

    if name.startswith("fairseq-"):
        parser = getattr(options, f"get_{STOCK[name]}_parser")()
        if name == "fairseq-train":  # what --arch and --criterion bring
            MODEL_REGISTRY["tdo_transformer"].add_args(parser)
            CRITERION_REGISTRY["label_smoothed_cross_entropy_terms"].add_args(parser)
        yield from parser._option_string_actions
        return
    parser = tdo_parser()
    for word in words:
        subparsers = [
            action for action in parser._actions if isinstance(action, argparse._SubParsersAction)
        ]
        if not subparsers or word.startswith("-"):
            break
        assert word in subparsers[0].choices, f"{word} is no command of tdo"
        parser = subparsers[0].choices[word]
    yield from parser._option_string_actions
    if words[:1] in (["train"], ["describe"]):
        yield from options_of("fairseq-train", [])


STOCK = {
    "fairseq-train": "training",
    "fairseq-generate": "generation",
    "fairseq-interactive": "interactive_generation",
    "fairseq-validate": "validation",
    "fairseq-preprocess": "preprocessing",
}


# --- tests ------------------------------------------------------------------------------------


@pytest.mark.long
def test_the_fenced_commands(scratch: Path, subtests: pytest.Subtests) -> None:
    commands = fenced(scratch)
    assert len(commands) > 80
    for command in commands:
        with subtests.test(command=str(command)):
            follow(command)


def test_the_examples_of_help(subtests: pytest.Subtests) -> None:
    examples = set(examples_of(tdo_parser()))
    assert len(examples) > 25
    for example in sorted(examples):
        with subtests.test(command=example):
            follow(Command("tdo --help", ROOT, tuple(shlex.split(example))))


def examples_of(parser: argparse.ArgumentParser) -> Iterator[str]:
    """The examples of a parser's commands, and of theirs."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from map(str.strip, str(command.epilog).splitlines()[1:])
                yield from examples_of(command)


def test_commands_stand_in_fences_that_are_read() -> None:
    for document in DOCUMENTS:
        for line, language, text in blocks(document):
            if language != "bash":
                assert not re.search(r"^(tdo|fairseq-\w+|bash|python) ", text, re.M), line
        text = FENCE.sub("", document.read_text(encoding="utf-8"))
        assert not re.search(r"^    (tdo|fairseq-\w+|bash|python) ", text, re.M), document


@pytest.mark.full
def test_the_commands_in_running_text(scratch: Path, subtests: pytest.Subtests) -> None:
    for command in in_text(scratch):
        with subtests.test(command=str(command)):
            mention(command)


@pytest.mark.parametrize("every", [20, pytest.param(1, marks=pytest.mark.full)])
def test_the_trainings_of_experiments(every: int, scratch: Path, subtests: pytest.Subtests) -> None:
    """Of all rows, or of some commands; of rows that differ in their seed only, the first."""
    found = 0
    commands = [*fenced(scratch), *in_text(scratch)]
    doors = [(command, *through_door(*filled(command))) for command in commands]
    chosen = [
        (command, words)
        for command, name, words in doors
        if name == "tdo" and words[:1] == ["reproduce"] and len(words) > 2 and ALL not in words
    ]
    for command, words in chosen[::every]:
        args = parsed([*words, "--dry-run"])
        if words[1] == "FILE" or not shows_commands(args, command.folder):
            continue
        for training, config in first_seeds(trainings_of(args)).items():
            found += 1
            with subtests.test(command=str(command), training=training):
                config.directions = "*"  # those of the small data folder
                stock, _ = train_words(config, prepared(), scratch, Machine(), "fp32")
                fairseq_train(stock[1:])
    assert found > 100 / every


def trainings_of(args: argparse.Namespace) -> dict[str, Config]:
    """What a command of `tdo reproduce` trains, by step."""
    plan, _ = planned(args)
    files = [(step, file) for step in plan.graph if step.kind == "training" for file in step.files]
    return {
        step.name: with_lines(
            Config(),
            re.sub(r"\b(es|ro)\b", lambda code: KNOWN[code[0]], step.files[file]).splitlines(),
            file,
            step.name,
        )
        for step, file in files
    }


def first_seeds(configs: dict[str, Config]) -> dict[str, Config]:
    """The first of all trainings that differ in their seed only."""
    first: dict[str, tuple[str, Config]] = {}
    for name, config in configs.items():
        lines = [line for line in config.lines() if not line.startswith("--seed ")]
        first.setdefault("\n".join(lines), (name, config))
    return dict(first.values())
