"""Patches of the command line: what fairseq's options mean, and what is said of wrong ones."""

from __future__ import annotations

import sys

from tdo_compat import hooks
from tdo_compat.registry import overlay, patch, version

TYPE_CHECKING = False  # that of typing, which is not imported at each start of Python
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable, Sequence
    from typing import Any


class UserDirError(FileNotFoundError):
    """``--user-dir`` leads nowhere, or to a second package of a name."""

    one_line = True


@patch(
    "user-dir-by-name",
    "--user-dir tdo_plugin, from another folder, does not find an editable install",
    "fairseq 0.12.2",
    lambda: True,
    "fairseq.utils",
)
def _user_dir_by_name(module: Any) -> None:
    """Where fairseq finds no folder, take the installed package of that name."""
    original = module.import_user_module

    def import_user_module(args: Any) -> Any:
        import argparse
        import importlib.util
        import os

        try:
            return original(args)
        except FileNotFoundError:
            folder = str(args.user_dir)
            if os.path.exists(folder):  # found; the plugin itself misses a file
                raise
        except ImportError as error:
            if "not globally unique" not in str(error):
                raise
            name = os.path.basename(os.path.abspath(args.user_dir))
            imported_from = next(
                iter(getattr(sys.modules.get(name), "__path__", [])), "another one"
            )
            raise UserDirError(
                f"`--user-dir` must be the {name} that is imported already, {imported_from}; it is "
                f"{args.user_dir}"
            ) from None
        spec = importlib.util.find_spec(folder) if folder.isidentifier() else None
        folders = list(spec.submodule_search_locations or ()) if spec else []
        if not folders:
            raise UserDirError(
                f"`--user-dir` must be a folder or an installed package; {folder} is neither"
            )
        return original(argparse.Namespace(user_dir=folders[0]))

    module.import_user_module = import_user_module


# --- what was parsed -------------------------------------------------------------------------


class ParsedCommand:
    """A command line right after fairseq parsed it.

    Attributes:
        parser: what parsed it.
        options: the values, a namespace that may be changed.
        words: as they were given to fairseq; None for those of the process.
        only_said: whether options that were not said have no value: fairseq reads them so, to see
            what may override a checkpoint's, and has read them with their usual values before.
    """

    def __init__(
        self,
        parser: ArgumentParser,
        options: Namespace,
        words: Sequence[str] | None,
        only_said: bool,
    ) -> None:
        self.parser, self.options, self.words, self.only_said = parser, options, words, only_said

    @property
    def said(self) -> list[str]:
        """The words, also those of the process."""
        return sys.argv[1:] if self.words is None else [str(word) for word in self.words]


def _after_parsing(module: Any, look: Callable[[ParsedCommand], None]) -> None:
    """Let ``look(command)`` see each command line that ``fairseq.options`` parses."""
    original = module.parse_args_and_arch

    def parse_args_and_arch(
        parser: ArgumentParser, input_args: Any = None, *args: Any, **kwargs: Any
    ) -> Any:
        result = original(parser, input_args, *args, **kwargs)
        options = result[0] if isinstance(result, tuple) else result
        look(ParsedCommand(parser, options, input_args, kwargs.get("suppress_defaults", False)))
        return result

    module.parse_args_and_arch = parse_args_and_arch


@patch(
    "complaints-in-one-line",
    "what is wrong with a command line stands behind a hundred lines of usage, or is a traceback",
    "fairseq 0.12.2",
    lambda: True,
    "fairseq.options",
)
def _complain_in_one_line(module: Any) -> None:
    from tdo_compat.errors import OneLineParser

    module.argparse = overlay(module.argparse, ArgumentParser=OneLineParser)
    original = module.parse_args_and_arch

    def parse_args_and_arch(parser: ArgumentParser, *args: Any, **kwargs: Any) -> Any:
        try:
            return original(parser, *args, **kwargs)
        except RuntimeError as error:
            if str(error):
                raise
            parser.error(
                "`--arch` must be given, a model of fairseq's or of `--user-dir`; it is not"
            )
        except ValueError as error:
            if "Cannot combine --fp16 and --tpu" not in str(error):
                raise
            parser.error("one precision must be chosen; `--fp16` comes with another")

    module.parse_args_and_arch = parse_args_and_arch


@patch(
    "bf16-is-not-tpu",
    "--bf16 switches TPU mode on",
    "fairseq 0.12.2 without torch_xla",
    lambda: __import__("importlib.util").util.find_spec("torch_xla") is None,
    "fairseq.options",
)
def _bf16_without_tpu(module: Any) -> None:
    def switch_off(command: ParsedCommand) -> None:
        if getattr(command.options, "bf16", False) and "--tpu" not in command.said:
            command.options.tpu = False

    _after_parsing(module, switch_off)


@patch(
    "given-paths",
    "--restore-file with a typing mistake trains from nothing, other paths end in tracebacks",
    "fairseq 0.12.2",
    lambda: True,
    "fairseq.options",
)
def _check_given_paths(module: Any) -> None:
    from tdo_compat.paths import check_paths

    def check(command: ParsedCommand) -> None:
        if command.words is None:  # a command begins; others may be read only to look at them
            check_paths(command.options)

    _after_parsing(module, check)


@patch(
    "options-of-checkpoints",
    "what a checkpoint's text passed through in training must be said again wherever it is used, "
    "and nothing notices what is left out",
    "fairseq 0.12.2",
    lambda: True,
    "fairseq.options",
)
def _options_of_checkpoints(module: Any) -> None:
    def complete(command: ParsedCommand) -> None:
        if hooks.complete_options is not None and not command.only_said:
            hooks.complete_options(command.options, command.parser, command.words)

    _after_parsing(module, complete)


@patch(
    "options-that-are-read",
    "options that nothing reads, or that a task cannot honour, are ignored in silence",
    "fairseq 0.12.2",
    lambda: True,
    "fairseq.options",
)
def _refuse_options(module: Any) -> None:
    """Let the task look at the command line, if it wants to."""

    def check(command: ParsedCommand) -> None:
        tasks = getattr(sys.modules.get("fairseq.tasks"), "TASK_REGISTRY", {})
        task: Any = tasks.get(getattr(command.options, "task", None))
        if hasattr(task, "check_command_line") and not command.only_said:
            task.check_command_line(command.parser, command.options, command.said)

    _after_parsing(module, check)


# --- fairseq's settings made of it -----------------------------------------------------------


@patch(
    "quick-settings",
    "hydra takes 0.3 to 0.4 seconds of every start to compose the settings",
    "fairseq 0.12.2",
    lambda: True,
    "fairseq.dataclass.utils",
)
def _compose_quickly(module: Any) -> None:
    from tdo_compat.composing import with_less_hydra

    # it must be fairseq's own function, so this patch comes before others of it
    convert = with_less_hydra(module.convert_namespace_to_omegaconf)
    module.convert_namespace_to_omegaconf = convert


@patch(
    "hydra-warnings",
    "hydra warns of all the deprecated things that fairseq does with it",
    "hydra 1.1",
    lambda: version("hydra") >= (1, 1),
    "fairseq.dataclass.utils",
)
def _quiet_hydra(module: Any) -> None:
    import warnings

    original = module.convert_namespace_to_omegaconf

    def convert_namespace_to_omegaconf(args: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return original(args)

    module.convert_namespace_to_omegaconf = convert_namespace_to_omegaconf
