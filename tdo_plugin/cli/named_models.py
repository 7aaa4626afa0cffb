"""Models on the command line, each with a name for tables and figures."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from tdo_plugin.errors import UserError
from tdo_plugin.evaluation.decoding.decoded_checkpoints import UNNAMED, name_of
from tdo_plugin.names import check_titles


def by_name(texts: Sequence[str], form: str, option: str = "--path") -> dict[str, str]:
    """The files of each model by name, in order; without one, the name is that of its folder.

    Args:
        texts: `NAME=FILES` of each model.
        form: how FILES is called in messages.
        option: that names them, for messages.

    Raises:
        UserError: a name occurs twice, or a folder has no model.
    """
    files_by_name: dict[str, str] = {}
    for text in texts:
        before, mark, after = text.partition("=")
        name, files = (before, after) if mark else (_name_of(text, option), text)
        if name in files_by_name:
            raise UserError(
                f"`{option}` must be NAME={form} with different names; {name} occurs twice"
            )
        if not name or not files:
            raise UserError(f"`{option}` must be [NAME=]{form}; it is {text}")
        check_titles([name], f"`{option}`")
        files_by_name[name] = files
    return files_by_name


def _name_of(files: str, option: str) -> str:
    first = Path(re.split("[:,]", files)[0])
    return name_of(first, option) if first.exists() else UNNAMED
