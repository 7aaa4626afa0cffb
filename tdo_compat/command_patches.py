"""Patches of the command line: the meaning of fairseq's options, and messages on wrong ones."""

from __future__ import annotations

import sys

from tdo_compat import hooks
from tdo_compat.registry import overlay, patch, version

TYPE_CHECKING = False  # typing's constant, without importing typing at each start of Python
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any


class UserDirError(FileNotFoundError):
    """``--user-dir`` does not exist, or is a second package with the same name."""

    one_line = True


@patch(
    "user-dir-by-name",
    "--user-dir tdo_plugin does not find an editable install from another folder",
    "fairseq.utils",
)
def _user_dir_by_name(module: Any) -> None:
    """Where fairseq finds no folder, use the installed package of that name."""
    original = module.import_user_module

    def import_user_module(args: Any) -> Any:
        import argparse
        import importlib.util
        import os

        try:
            return original(args)
        except FileNotFoundError:
            folder = str(args.user_dir)
            if os.path.exists(folder):  # found, but the plugin itself lacks a file
                raise
        except ImportError as error:
            if "not globally unique" not in str(error):
                raise
            name = os.path.basename(os.path.abspath(args.user_dir))
            imported_from = next(
                iter(getattr(sys.modules.get(name), "__path__", [])), "another one"
            )
            raise UserDirError(
                f"`--user-dir` must be the {name} that is already imported, {imported_from}; it is "
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
        parser: of the command line.
        options: the values, a namespace that may be changed.
        words: as passed to fairseq; None for those of the process.
        only_said: whether options that were not given have no value: fairseq also parses in this
            way, after a first parse with defaults, to see what may override a checkpoint's options.
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
        """The words, or those of the process."""
        return sys.argv[1:] if self.words is None else [str(word) for word in self.words]


def _after_parsing(module: Any, look: Callable[[ParsedCommand], None]) -> None:
    """Call ``look(command)`` for each command line that ``fairseq.options`` parses."""
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
    "errors of a command line follow a hundred lines of usage, or are tracebacks",
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
            parser.error("`--arch` must be set to a model of fairseq or of `--user-dir`; it is not")
        except KeyError as error:
            if error.args != (None,):
                raise
            parser.error("`--task` must be set; it is not")  # fairseq-validate has no usual one
        except ValueError as error:
            if "Cannot combine --fp16 and --tpu" not in str(error):
                raise
            parser.error("only one precision must be chosen; `--fp16` is combined with another")

    module.parse_args_and_arch = parse_args_and_arch


@patch(
    "bf16-is-not-tpu",
    "--bf16 turns on TPU mode",
    "fairseq.options",
    since="fairseq 0.12.2 without torch_xla",
    needed=lambda: __import__("importlib.util").util.find_spec("torch_xla") is None,
)
def _bf16_without_tpu(module: Any) -> None:
    def switch_off(command: ParsedCommand) -> None:
        if getattr(command.options, "bf16", False) and "--tpu" not in command.said:
            command.options.tpu = False

    _after_parsing(module, switch_off)


@patch(
    "given-paths",
    "--restore-file with a typo trains from scratch, other paths with typos cause tracebacks",
    "fairseq.options",
)
def _check_given_paths(module: Any) -> None:
    from tdo_compat.paths import check_paths

    def check(command: ParsedCommand) -> None:
        if command.words is None:  # the start of a command; others are only inspected
            check_paths(command.options)

    _after_parsing(module, check)


@patch(
    "task-of-checkpoints",
    "without the --task of its training, a multilingual model does not fit the dictionary",
    "fairseq.options",
)
def _task_of_checkpoints(module: Any) -> None:
    from tdo_compat.errors import OneLineParser

    original = module.parse_args_and_arch
    named = OneLineParser(add_help=False, allow_abbrev=False)
    for option in ("--path", "--task"):
        named.add_argument(option)

    def parse_args_and_arch(
        parser: ArgumentParser, input_args: Any = None, *args: Any, **kwargs: Any
    ) -> Any:
        if hooks.task_of_checkpoints and any(each.dest == "path" for each in parser._actions):
            given, _ = named.parse_known_args(input_args)
            task = hooks.task_of_checkpoints(given.path) if given.path and not given.task else None
            if task:
                parser.set_defaults(task=task)
        return original(parser, input_args, *args, **kwargs)

    module.parse_args_and_arch = parse_args_and_arch


@patch(
    "options-of-checkpoints",
    "text settings of a checkpoint's training must be repeated wherever it is used, and omissions "
    "are not noticed",
    "fairseq.options",
)
def _options_of_checkpoints(module: Any) -> None:
    def complete(command: ParsedCommand) -> None:
        if hooks.complete_options is not None and not command.only_said:
            from tdo_compat.checkpoint import blaming

            options = vars(command.options)
            with blaming(options.get("path") or options.get("restore_file")):
                hooks.complete_options(command.options, command.parser, command.words)

    _after_parsing(module, complete)


@patch(
    "options-that-are-read",
    "options that have no effect, or that a task does not support, are ignored silently",
    "fairseq.options",
)
def _refuse_options(module: Any) -> None:
    """Let the task check the command line, if it has a check."""

    def check(command: ParsedCommand) -> None:
        tasks = getattr(sys.modules.get("fairseq.tasks"), "TASK_REGISTRY", {})
        task: Any = tasks.get(getattr(command.options, "task", None))
        if hasattr(task, "check_command_line") and not command.only_said:
            task.check_command_line(command.parser, command.options, command.said)

    _after_parsing(module, check)


class NotALanguageModel(ValueError):
    """``fairseq-eval-lm`` has no model, or one of another kind."""

    one_line = True


@patch(
    "language-models-alone",
    "fairseq-eval-lm gives a traceback for models that translate, and without --path",
    "fairseq_cli.eval_lm",
)
def _language_models_alone(module: Any) -> None:
    original = module.main

    def main(cfg: Any, **kwargs: Any) -> Any:
        from fairseq.tasks import TASK_REGISTRY

        path, task = cfg.common_eval.path, cfg.task._name
        if path is None:
            raise NotALanguageModel("`--path` must be set to a language model; it is not")
        if not hasattr(TASK_REGISTRY[task], "eval_lm_dataloader"):
            raise NotALanguageModel(
                f"`--path` must be a language model; {path} is of the task {task} "
                "(fairseq-validate and tdo score-lm measure models that translate)"
            )
        try:
            return original(cfg, **kwargs)
        except Exception as error:  # about what only such models have, maybe blamed on the file
            reasons = (error, error.__context__)
            if "supported_targets" not in [getattr(reason, "name", "") for reason in reasons]:
                raise
            raise NotALanguageModel(f"`--path` must be a language model; {path} is none") from None

    module.main = main


@patch(
    "hydra-without-tdo",
    "fairseq-hydra-train gives a page of its choices, or a traceback, for tdo_plugin's tasks and "
    "models",
    "fairseq_cli.hydra_train",
)
def _refuse_ours_in_hydra(module: Any) -> None:
    cli_main, hydra_main = module.cli_main, module._hydra_main

    def refuse(chosen: Mapping[str, str | None]) -> None:
        from tdo_compat.errors import tell

        for kind, option in (("task", "--task"), ("model", "--arch")):
            name = chosen.get(kind) or ""
            if name.startswith("tdo_"):
                tell(
                    f"error: `{kind}` must be one of fairseq's, as fairseq-hydra-train cannot set "
                    f"tdo_plugin's options; it is {name} (fairseq-train --user-dir tdo_plugin "
                    f"{option} {name}, or tdo train)"
                )
                raise SystemExit(1)  # of an error, hydra would show the traceback

    def checked_cli() -> Any:
        refuse(dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word))
        return cli_main()

    def checked_hydra(cfg: Any, **kwargs: Any) -> Any:
        refuse({kind: getattr(cfg.get(kind), "_name", None) for kind in ("task", "model")})
        return hydra_main(cfg, **kwargs)

    module.cli_main, module._hydra_main = checked_cli, checked_hydra


# --- fairseq's settings from the command line ------------------------------------------------


@patch(
    "quick-settings",
    "hydra takes 0.3 to 0.4 seconds of every start to compose the settings",
    "fairseq.dataclass.utils",
)
def _compose_quickly(module: Any) -> None:
    from tdo_compat.composing import with_less_hydra

    # needs fairseq's original function, so this patch precedes others of it
    convert = with_less_hydra(module.convert_namespace_to_omegaconf)
    module.convert_namespace_to_omegaconf = convert


@patch(
    "hydra-warnings",
    "hydra warns about deprecated features that fairseq uses",
    "fairseq.dataclass.utils",
    since="hydra 1.1",
    needed=lambda: version("hydra") >= (1, 1),
)
def _quiet_hydra(module: Any) -> None:
    import warnings

    original = module.convert_namespace_to_omegaconf

    def convert_namespace_to_omegaconf(args: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return original(args)

    module.convert_namespace_to_omegaconf = convert_namespace_to_omegaconf
