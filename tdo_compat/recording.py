"""Let hooks record a fairseq training run and read its progress bars.

``training_patches`` installs these functions in fairseq.
"""

import functools
import os
from collections.abc import Callable
from typing import Any

from tdo_compat import hooks

TRAIN = os.path.join("fairseq_cli", "train.py")


def recording(call_main: Callable[..., Any]) -> Callable[..., Any]:
    """``call_main`` that runs each process of a training inside ``hooks.record_training``."""

    @functools.wraps(call_main)
    def calling(cfg: Any, main: Any, **kwargs: Any) -> Any:
        code = getattr(main, "__code__", None)
        if code is not None and code.co_filename.endswith(TRAIN):
            main = functools.partial(_recorded, main)
        return call_main(cfg, main, **kwargs)

    return calling


def _recorded(main: Callable[..., Any], cfg: Any, **kwargs: Any) -> Any:
    from fairseq import utils
    from fairseq.distributed import utils as distributed_utils

    from tdo_compat.resuming import check_folder

    utils.import_user_module(cfg.common)  # a spawned worker has not imported the module yet
    if hooks.record_training is None:
        if distributed_utils.is_master(cfg.distributed_training):
            check_folder(cfg)
        return main(cfg, **kwargs)
    with hooks.record_training(cfg):
        return main(cfg, **kwargs)


def watched(progress_bar: Callable[..., Any]) -> Callable[..., Any]:
    """``progress_bar`` that passes its bars through ``hooks.watch_progress``."""

    @functools.wraps(progress_bar)
    def watching(*args: Any, **options: Any) -> Any:
        bar = progress_bar(*args, **options)
        return bar if hooks.watch_progress is None else hooks.watch_progress(bar)

    return watching


def one_run(wandb: Any) -> Callable[..., Any]:
    """``wandb.init`` that returns the run of this process if it already has one."""

    @functools.wraps(wandb.init)
    def init(**options: Any) -> Any:
        return wandb.run or wandb.init(**{**options, "reinit": None})

    return init
