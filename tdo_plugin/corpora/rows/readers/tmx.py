"""Translation memories (TMX 1.4): units with variants in several languages."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from xml.etree import ElementTree
from xml.parsers import expat

from tdo_plugin.corpora.description.schema import ConcreteSet, Row
from tdo_plugin.corpora.rows.readers.lines import one_line, open_bytes
from tdo_plugin.errors import UserError

# TMX before 1.4 has the attribute without the namespace
_LANGUAGE = ("{http://www.w3.org/XML/1998/namespace}lang", "lang")


def tmx(path: Path, concrete_set: ConcreteSet) -> Iterator[Row]:
    """The units that have both languages; others are left out.

    en also matches EN, en-US and en_GB; an exact match takes precedence, then the first in the
    file. The file declares its encoding, unless the set gives another than UTF-8.

    Raises:
        UserError: the file is not XML, or no unit has both languages.
    """
    languages: dict[str, None] = {}
    paired = False
    for unit in _units(path, concrete_set.encoding):
        languages |= dict.fromkeys(unit)
        texts = [_text_of(unit, code.lower()) for code in concrete_set.codes]
        if texts[0] is not None and texts[1] is not None:
            paired = True
            yield texts[0], texts[1]
    if not paired:
        raise UserError(
            f"`{path}` must have units with {concrete_set.codes[0]} and {concrete_set.codes[1]}; "
            f"it has {', '.join(languages) or 'no units'}"
        )


def languages_of(path: Path) -> set[str]:
    """The languages of a memory's first units, in lower case with "-".

    Raises:
        UserError: the file is not XML.
    """
    return {language for unit in islice(_units(path, "utf-8"), 1000) for language in unit}


def _text_of(unit: dict[str, str], code: str) -> str | None:
    if code in unit:
        return unit[code]
    kin = (language for language in unit if language.startswith(f"{code}-"))
    return next((unit[language] for language in kin), None)


def _units(path: Path, encoding: str) -> Iterator[dict[str, str]]:
    """Each unit: language in lower case with "-", in the order of the file -> text."""
    usual = codecs.lookup(encoding).name == "utf-8"
    parser = ElementTree.XMLParser(encoding=None if usual else encoding)
    with open_bytes(path) as stream:
        try:
            open_elements: list[ElementTree.Element] = []
            for event, element in ElementTree.iterparse(stream, ("start", "end"), parser):
                if event == "start":
                    open_elements.append(element)
                    continue
                open_elements.pop()
                if _name(element) == "tu":
                    yield _unit(element)
                    # otherwise the parent would keep every unit
                    if open_elements:
                        open_elements[-1].clear()
        except ElementTree.ParseError as error:
            line, _ = error.position
            reason = expat.ErrorString(error.code)
            raise UserError(f"`{path}` line {line} must be XML; it is not ({reason})") from None


def _unit(element: ElementTree.Element) -> dict[str, str]:
    texts: dict[str, str] = {}
    for variant in element:
        language = next(filter(None, map(variant.get, _LANGUAGE)), "").lower().replace("_", "-")
        segment = next((part for part in variant if _name(part) == "seg"), None)
        if language and segment is not None:
            texts.setdefault(language, one_line("".join(segment.itertext())))
    return texts


def _name(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2]
