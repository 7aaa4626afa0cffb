"""Models on the command line, each with a name for tables and pictures."""

from __future__ import annotations

from collections.abc import Sequence

from tdo_plugin.errors import UserError
from tdo_plugin.names import check_titles

UNNAMED = "model"


def by_name(texts: Sequence[str], form: str) -> dict[str, str]:
    """What `--path` says of each model, in order; a single one needs no name.

    Args:
        texts: `NAME=FILES` of each.
        form: of the files, for messages.

    Raises:
        UserError: a name is there twice, or missing beside another model.
    """
    files_by_name: dict[str, str] = {}
    for text in texts:
        before, mark, after = text.partition("=")
        name, files = (before, after) if mark else (UNNAMED, text)
        if not mark and len(texts) > 1:
            raise UserError(
                f"`--path` must be NAME={form} where there are several models; it is {text}"
            )
        if name in files_by_name:
            raise UserError(f"`--path` must name each model once; {name} is there twice")
        if not name or not files:
            raise UserError(f"`--path` must be [NAME=]{form}; it is {text}")
        check_titles([name], "`--path`")
        files_by_name[name] = files
    return files_by_name
