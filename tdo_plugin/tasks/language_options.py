"""Language codes and directions, which fairseq splits at a hyphen."""

from __future__ import annotations

from argparse import Namespace

from tdo_compat.settings import shown
from tdo_plugin.errors import UserError
from tdo_plugin.names import is_direction


def check_language_options(args: Namespace) -> None:
    """Check the languages of a command against fairseq's parsing of directions.

    Raises:
        UserError: a direction is not two codes with one hyphen between them.
    """
    for option in ("source_lang", "target_lang"):
        code = getattr(args, option, None)
        if code and "-" in code:
            raise UserError(
                f"`--{option.replace('_', '-')}` must be a code without a hyphen, such as "
                f"{shown(code.replace('-', '_'))}; it is {shown(code)}"
            )
    pairs = getattr(args, "lang_pairs", None) or []
    for pair in pairs.split(",") if isinstance(pairs, str) else pairs:
        if not is_direction(pair):
            raise UserError(
                "`--lang-pairs` must be directions such as en-de, of codes without a hyphen "
                f"(pt_BR for pt-BR); it has {shown(pair)}"
            )
