"""Patches of file access: files are only data, damaged ones are refused, writes are atomic."""

from __future__ import annotations

import sys

from tdo_compat.registry import EVERYWHERE, overlay, patch

TYPE_CHECKING = False  # typing's constant, without importing typing at each start of Python
if TYPE_CHECKING:
    from typing import Any


@patch(
    "safe-checkpoints",
    "torch.load refuses fairseq's checkpoints (2.6), or runs code in a file (before)",
    "fairseq.checkpoint_utils",
    "fairseq.data.codedataset",
    "fairseq.distributed.utils",
    "fairseq.models.speech_to_text.xm_transformer",
    "fairseq.models.text_to_speech.vocoder",
    "fairseq.modules.quantization.pq.em",
    since="every torch",
)
def _load_safely(module: Any) -> None:
    from tdo_compat.checkpoint import safe_load

    module.torch = overlay(module.torch, load=safe_load)


@patch(
    "settings-are-data",
    "fairseq runs eval on settings that are text, which a checkpoint may also contain",
    EVERYWHERE,
)
def _read_literals(module: Any) -> None:
    from tdo_compat.settings import literal

    module.eval = literal  # a module's own name takes precedence over the builtin
    if getattr(module, "ast", None) is sys.modules["ast"]:
        module.ast = overlay(module.ast, literal_eval=literal)
    if getattr(module, "literal_eval", None) is sys.modules["ast"].literal_eval:
        module.literal_eval = literal


@patch(
    "settings-are-harmless",
    "a checkpoint's settings determine what is imported and where a command writes",
    "fairseq.checkpoint_utils",
)
def _forget_places(module: Any) -> None:
    from tdo_compat.settings import harmless

    load = module.torch.load
    module.torch = overlay(module.torch, load=lambda *words, **more: harmless(load(*words, **more)))


@patch(
    "form-of-checkpoints",
    "a checkpoint that lacks a part, or has one of another type, causes a traceback",
    "fairseq.checkpoint_utils",
)
def _well_formed(module: Any) -> None:
    from tdo_compat.checkpoint import blaming
    from tdo_compat.checkpoint_form import well_formed, with_form

    original = module.torch.load

    def load(source: Any, *args: Any, **kwargs: Any) -> Any:
        return with_form(original(source, *args, **kwargs), getattr(source, "name", source))

    ensemble = module.load_model_ensemble_and_task

    def load_model_ensemble_and_task(filenames: Any, *args: Any, **kwargs: Any) -> Any:
        with blaming(":".join(map(str, filenames))):
            return ensemble(filenames, *args, **kwargs)

    module.torch = overlay(module.torch, load=load)
    module._upgrade_state_dict = well_formed(module._upgrade_state_dict)
    module.load_model_ensemble_and_task = load_model_ensemble_and_task


@patch(
    "meters-by-name",
    "a checkpoint's meters name the functions that are called to make them",
    "fairseq.logging.meters",
)
def _only_meters(module: Any) -> None:
    from tdo_compat.settings import only_meters

    module.MetersDict.load_state_dict = only_meters(module)


@patch(
    "known-by-name",
    "an unknown task, model, criterion, ..., as without its --user-dir, causes a traceback",
    "fairseq.tasks",
    "fairseq.models",
    "fairseq.registry",
)
def _known_by_name(module: Any) -> None:
    from tdo_compat import settings

    settings.know_names(module)


@patch(
    "no-foreign-hub",
    "the settings of a speech data folder determine what code is downloaded and run",
    "fairseq.models.speech_to_text.hub_interface",
)
def _no_foreign_hub(module: Any) -> None:
    from tdo_compat.settings import no_hub

    module.torch = overlay(module.torch, hub=overlay(module.torch.hub, load=no_hub))


@patch(
    "fasta-without-a-shell",
    "--dataset-impl fasta passes a file's name unquoted to a shell",
    "fairseq.data.fasta_dataset",
)
def _quote_fasta(module: Any) -> None:
    import shlex

    original = module.FastaDataset._build_index
    module.FastaDataset._build_index = lambda self, path: original(self, shlex.quote(path))


@patch(
    "whole-checkpoints",
    "a full disk or an interrupt leaves half a checkpoint under its final name",
    "fairseq.checkpoint_utils",
)
def _save_whole(module: Any) -> None:
    """Save and copy atomically.

    fairseq tries three times without returning to the file's beginning, and copies a checkpoint
    to ``checkpoint_last.pt`` in place.
    """
    from tdo_compat.checkpoint import copy_whole, save_whole, signed

    manager, original = module.PathManager, module.torch_persistent_save

    def torch_persistent_save(obj: Any, filename: Any, async_write: bool = False) -> Any:
        obj = signed(obj)
        if async_write or not manager.supports_rename(filename):
            return original(obj, filename, async_write=async_write)
        return save_whole(obj, filename)

    class WholePathManager(manager):  # type: ignore[misc, valid-type]
        @staticmethod
        def copy(src_path: Any, dst_path: Any, overwrite: bool = False) -> Any:
            if not manager.supports_rename(dst_path):
                return manager.copy(src_path, dst_path, overwrite=overwrite)
            return copy_whole(src_path, dst_path)

    module.torch_persistent_save = torch_persistent_save
    module.PathManager = WholePathManager


@patch(
    "damaged-data",
    "damaged binarised sets cause a traceback, or are used without notice",
    "fairseq.data.indexed_dataset",
)
def _check_before_loading(module: Any) -> None:
    from tdo_compat.binarised import check_before_loading

    check_before_loading(module)
