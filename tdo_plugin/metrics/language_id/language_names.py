"""Names of languages, from Unicode's CLDR."""

from __future__ import annotations

from functools import cache

from babel import Locale, localedata

from tdo_plugin.metrics.language_id.codes import canonical

ENGLISH = Locale("en")
LONGEST = 30  # characters of a name


def language_name(code: str) -> str:
    """`German` for `de`, `Portuguese (pt_BR)` for `pt_BR`; the code itself if it is unknown."""
    name = ENGLISH.languages.get(canonical(code))
    if name is None:
        return code
    return name if code == canonical(code) else f"{name} ({code})"


def direction_name(direction: str) -> str:
    """`German → English` for `de-en`."""
    return " → ".join(map(language_name, direction.split("-")))


def code_of(name: str) -> str | None:
    """The code of a language, given its name in English or in itself; None if it is no name."""
    return _codes().get(name.casefold()) if 1 < len(name) <= LONGEST else None


@cache
def _codes() -> dict[str, str]:
    own = {
        name.casefold(): code
        for code in localedata.locale_identifiers()
        if code.isalpha() and (name := Locale.parse(code).get_language_name())
    }
    named = {name.casefold(): code for code, name in ENGLISH.languages.items() if code.isalpha()}
    return own | named
