"""Names of languages, from Unicode's CLDR."""

from __future__ import annotations

from functools import cache

from babel import Locale, localedata

from tdo_plugin.metrics.language_id.codes import canonical

ENGLISH = Locale("en")
LONGEST = 30  # characters of a name


def name_of(code: str) -> str:
    """The English name of a language, such as German for `de`; the code if it has none."""
    base, _, rest = code.replace("-", "_").partition("_")
    name = ENGLISH.languages.get(canonical(base)) or ENGLISH.languages.get(base)
    where = ENGLISH.territories.get(rest) or ENGLISH.scripts.get(rest) or rest
    return (f"{name} ({where})" if where else name) if name else code


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
