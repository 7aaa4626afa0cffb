"""Each option that a message or a help text of this package names is one that a command has."""

import argparse
import re
from pathlib import Path

from fairseq import options
from fairseq.criterions import CRITERION_REGISTRY
from fairseq.models import MODEL_REGISTRY
from fairseq.optim import OPTIMIZER_REGISTRY
from fairseq.optim.lr_scheduler import LR_SCHEDULER_REGISTRY
from fairseq.tasks import TASK_REGISTRY
from support.option_reads import strings_of

from tdo_plugin.cli import build_parser
from tdo_plugin.launch.parser import RENAMED

ROOT = Path(__file__).parents[2]
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*[a-z0-9]")
OTHERS = {
    "docker": "--build-arg --tag",
    "git": "--porcelain --untracked-files",
    "pip": "--force-reinstall --hash --no-cache-dir --no-deps",
    "sacrebleu": "--tokenize",
    "sbatch, squeue and srun": "--format --gpus-per-node --job-name --kill-on-bad-exit "
    "--noheader --output --ntasks-per-node --open-mode --parsable --requeue --signal --time --user",
    "torchrun": "--nnodes --nproc-per-node --rdzv-backend --rdzv-endpoint --rdzv-id --standalone",
    # options whose names are put together, and an example of a form
    "beginnings": "--flag --lexical --max --num --reconstruction --reset --tdo",
}


def named():
    """Options by the files whose strings name them, docstrings aside."""
    for path in (*(ROOT / "tdo_plugin").rglob("*.py"), *ROOT.glob("tdo_compat/*.py")):
        for text in strings_of(path):
            yield from ((option, path.name) for option in OPTION.findall(text))


def of_parser(parser):
    for action in parser._actions:
        yield from action.option_strings
        if isinstance(action, argparse._SubParsersAction):
            for choice in action.choices.values():
                yield from of_parser(choice)


def known():
    yield from of_parser(build_parser())
    yield from RENAMED
    for make in (
        options.get_preprocessing_parser,
        options.get_training_parser,
        options.get_generation_parser,
        options.get_interactive_generation_parser,
        options.get_validation_parser,
    ):
        yield from of_parser(make())
    for registry in (
        TASK_REGISTRY,
        MODEL_REGISTRY,
        CRITERION_REGISTRY,
        OPTIMIZER_REGISTRY,
        LR_SCHEDULER_REGISTRY,
    ):
        for part in registry.values():
            parser = argparse.ArgumentParser(conflict_handler="resolve", add_help=False)
            part.add_args(parser)
            yield from of_parser(parser)


def test_named_options_are_there():
    other_options = {option for line in OTHERS.values() for option in line.split()}
    mentioned, existing = list(named()), {*known(), *other_options}
    assert len({option for option, _ in mentioned}) > 200
    assert {(option, file) for option, file in mentioned if option not in existing} == set()
    assert other_options <= {option for option, _ in mentioned}
