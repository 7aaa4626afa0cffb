"""The command line of `fairseq-train`, read and checked in this process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from tdo_compat.paths import check_paths
from tdo_plugin.errors import UserError
from tdo_plugin.models.config import spec_from_args
from tdo_plugin.models.trained_pairs import trained_pairs
from tdo_plugin.tasks.required_parts import check_takes_languages


def training_arguments(words: Sequence[str]) -> Any:
    """fairseq-train's arguments, parsed.

    Raises:
        UserError: an option is unknown, or a value is refused.
    """
    from fairseq import options

    parser = options.get_training_parser()

    def refuse(message: str) -> NoReturn:
        said = parser.worded(message)
        raise UserError(f"`fairseq-train` must accept its options; it says: {said}")

    parser.error = refuse  # instead of printing and exiting
    return options.parse_args_and_arch(parser, input_args=list(words))


def check_training(words: Sequence[str]) -> None:
    """Check what fairseq-train checks before it reads sentences; builds no model.

    Args:
        words: fairseq-train's arguments. Its data folder may have nothing but dictionaries.

    Raises:
        UserError: fairseq-train would refuse them.
        MissingPathError: a file is missing.
    """
    from fairseq import tasks
    from fairseq.dataclass.utils import convert_namespace_to_omegaconf
    from fairseq.models import ARCH_MODEL_REGISTRY

    from tdo_plugin.tasks.tdo_translation import TdoTranslationTask

    args = training_arguments(words)
    check_paths(args)
    cfg = convert_namespace_to_omegaconf(args)
    task = tasks.setup_task(cfg.task)
    task.data_manager.get_data_paths_and_lang_pairs(cfg.dataset.train_subset)  # auxiliary data
    if isinstance(task, TdoTranslationTask):
        check_takes_languages(ARCH_MODEL_REGISTRY[args.arch], args)
    if hasattr(args, "tdo_topology"):
        spec_from_args(args, len(task.langs), len(trained_pairs(args)))
    task.build_criterion(cfg.criterion)
