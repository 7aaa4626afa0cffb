"""The task's state in checkpoints: languages, dictionaries, text preprocessing."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fairseq import utils
from fairseq.data import Dictionary

from tdo_plugin.data.databin import MARK
from tdo_plugin.errors import UserError
from tdo_plugin.metrics.textform import form_shown, read_text_form
from tdo_plugin.tasks.source_noise import MASK
from tdo_plugin.text_settings import check_settings, settings_of


class TaskState:
    """A task's part of its checkpoints, including registered objects.

    Args:
        task: provides ``args``, ``langs`` and dictionaries. If its ``resets_optimizer`` is true,
            training continues without the optimizer's state.
    """

    def __init__(self, task: Any) -> None:
        self._task = task
        self._registered: dict[str, Any] = {}  # by key in a checkpoint
        self._loaded: dict[str, Any] | None = None  # by key, from the loaded checkpoint

    def register(self, name: str, part: Any) -> None:
        """As :meth:`TdoTranslationTask.register_state`."""
        self._registered[name] = part
        if self._loaded is not None:
            self._restore(name)

    def state_dict(self) -> dict[str, Any]:
        """The complete state, for a checkpoint."""
        registered = {name: part.state_dict() for name, part in self._registered.items()}
        form = self._text_form()
        return {
            **self._data(),
            "text": settings_of(self._task.args),
            **({"text_form": form} if form else {}),
            **({"remembered": registered} if registered else {}),
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Compare a checkpoint's data with the task's, and restore registered objects.

        Raises:
            UserError: languages, dictionaries or text preprocessing differ.
        """
        self._check_data(state_dict)
        check_settings(settings_of(self._task.args), state_dict.get("text", {}))
        self._check_text_form(state_dict.get("text_form"))
        self._loaded = dict(state_dict.get("remembered", {}))
        for name in self._registered:
            self._restore(name)

    def _restore(self, name: str) -> None:
        state = (self._loaded or {}).pop(name, None)
        self._registered[name].load_state_dict(state, self._task.resets_optimizer)

    def _data(self) -> dict[str, Any]:
        return {
            "languages": list(self._task.langs),
            "source_dictionary": digest_of(self._task.source_dictionary.symbols),
            "target_dictionary": digest_of(self._task.target_dictionary.symbols),
        }

    def _check_data(self, state_dict: dict[str, Any]) -> None:
        for key, value in self._data().items():
            stored = state_dict.get(key, value)
            if stored == _digest_beside_mask(getattr(self._task, key, None)):
                raise UserError(
                    "`--source-noise` must be as for the checkpoint (none, or not none), whose "
                    f"dictionary differs by {MASK}; it is "
                    f"{getattr(self._task.args, 'source_noise', 'none')}"
                )
            if stored != value:
                what = "`--langs`" if key == "languages" else f"the {key.replace('_', ' ')}"
                raise UserError(f"{what} must be the checkpoint's, {stored}; it is {value}")

    def _text_form(self) -> dict[str, Any] | None:
        """Casing and tokenization of the data's text; None if the folder does not record them."""
        root = Path(utils.split_paths(self._task.args.data)[0])
        return read_text_form(root).way_in() if (root / MARK).is_file() else None

    def _check_text_form(self, stored: dict[str, Any] | None) -> None:
        form = self._text_form()
        if stored and form and stored != form:
            raise UserError(
                f"`data` must hold text in the form of the checkpoint's, {form_shown(stored)}; "
                f"{self._task.args.data} has {form_shown(form)}"
            )


def digest_of(symbols: Sequence[str]) -> str:
    """A short hash of a dictionary's symbols in order."""
    return hashlib.sha256("\n".join(symbols).encode()).hexdigest()[:16]


def _digest_beside_mask(dictionary: Dictionary | None) -> str | None:
    """The hash of the dictionary with the mask symbol removed, or added if it is missing."""
    if dictionary is None:
        return None
    *others, last = dictionary.symbols
    return digest_of(others if last == MASK else [*others, last, MASK])
