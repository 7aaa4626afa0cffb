"""Models on the command line, each with a name for tables and figures."""

from __future__ import annotations

from collections.abc import Sequence

from tdo_plugin.errors import UserError
from tdo_plugin.names import check_titles

UNNAMED = "model"


def by_name(texts: Sequence[str], form: str, option: str = "--path") -> dict[str, str]:
    """The files of each model by name, in order; a single model needs no name.

    Args:
        texts: `NAME=FILES` of each model.
        form: how FILES is called in messages.
        option: that names them, for messages.

    Raises:
        UserError: a name occurs twice, or is missing although there are several models.
    """
    files_by_name: dict[str, str] = {}
    for text in texts:
        before, mark, after = text.partition("=")
        name, files = (before, after) if mark else (UNNAMED, text)
        if not mark and len(texts) > 1:
            raise UserError(f"`{option}` must be NAME={form} with several models; it is {text}")
        if name in files_by_name:
            raise UserError(f"`{option}` must name each model once; {name} occurs twice")
        if not name or not files:
            raise UserError(f"`{option}` must be [NAME=]{form}; it is {text}")
        check_titles([name], f"`{option}`")
        files_by_name[name] = files
    return files_by_name
