"""Translation memories (TMX 1.4): units with variants in several languages."""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO
from xml.etree import ElementTree
from xml.parsers import expat

from tdo_plugin.corpora.description.schema import ConcreteSet, Row
from tdo_plugin.corpora.rows.readers.lines import one_line, open_bytes
from tdo_plugin.errors import UserError

# TMX before 1.4 has the attribute without the namespace
_LANGUAGE = ("{http://www.w3.org/XML/1998/namespace}lang", "lang")
# elements with the codes of the format that a segment is from, which are not its text
_CODES = ("bpt", "ept", "ph", "it", "ut")
_DECLARED = re.compile(rb"""\s*<\?xml\s[^>]*?\bencoding\s*=\s*["']([\w.:-]+)""")
_OF_EXPAT = ("utf-8", "utf-16", "iso8859-1", "ascii")  # encodings that it knows

Unit = dict[str, str]  # language in lower case with "-", in the order of the file -> text


def tmx(path: Path, concrete_set: ConcreteSet, left_out: Counter[str]) -> Iterator[Row]:
    """The units that have both languages; others are left out.

    en also matches EN, en-US and en_GB, unless the set's option `apart` has it; an exact match
    takes precedence, then the first in the file. The file declares its encoding, unless the set
    gives another than UTF-8.

    Args:
        path: of the file.
        concrete_set: the set.
        left_out: counts the units that are left out, by reason.

    Raises:
        UserError: the file is not XML, or no unit has both languages.
    """
    languages: dict[str, None] = {}
    paired = False
    wanted = [
        (code.lower().replace("_", "-"), code not in concrete_set.options.get("apart", ()))
        for code in concrete_set.codes
    ]
    for unit in _units(path, concrete_set.encoding, left_out):
        languages |= dict.fromkeys(unit)
        texts = [_text_of(unit, code, kin, left_out) for code, kin in wanted]
        if texts[0] is None or texts[1] is None:
            left_out["units without one of the languages"] += 1
            continue
        paired = True
        yield texts[0], texts[1]
    if not paired:
        raise UserError(
            f"`{path}` must have units with {concrete_set.codes[0]} and {concrete_set.codes[1]}; "
            f"it has {', '.join(languages) or 'no units'}"
        )


def languages_of(path: Path) -> Counter[frozenset[str]]:
    """The languages of each unit of a memory, in lower case with "-", and how many units have them.

    Raises:
        UserError: the file is not XML.
    """
    return Counter(frozenset(unit) for unit in _units(path, "utf-8", Counter()))


def _text_of(unit: Unit, code: str, kin: bool, left_out: Counter[str]) -> str | None:
    """The text in a language, or with `kin` in the first of its variants."""
    if not kin:
        return unit.get(code)
    variants = [language for language in unit if f"{language}-".startswith(f"{code}-")]
    if len(variants) > 1:
        left_out[f"further variants of {code} in one unit"] += len(variants) - 1
    return unit[code if code in unit else variants[0]] if variants else None


def _units(path: Path, encoding: str, left_out: Counter[str]) -> Iterator[Unit]:
    with open_bytes(path) as raw, _xml_errors(path):
        stream, parser = _parsed(raw, encoding)
        open_elements: list[ElementTree.Element] = []
        for event, element in ElementTree.iterparse(stream, ("start", "end"), parser):
            if event == "start":
                open_elements.append(element)
                continue
            open_elements.pop()
            if _name(element) == "tu":
                yield _unit(element, left_out)
                # otherwise the parent would keep every unit
                if open_elements:
                    open_elements[-1].clear()


def _parsed(raw: BinaryIO, encoding: str) -> tuple[Any, ElementTree.XMLParser]:
    """The stream to parse and its parser; what expat cannot decode is decoded before."""
    head = raw.read(200)
    raw.seek(0)
    declared = _DECLARED.match(head.removeprefix(codecs.BOM_UTF8))
    if codecs.lookup(encoding).name == "utf-8":
        encoding = declared[1].decode("ascii") if declared else encoding
        "".encode(encoding)  # as codecs.lookup, but only for encodings of text
        if codecs.lookup(encoding).name in _OF_EXPAT:
            return raw, ElementTree.XMLParser()
    recoded = codecs.EncodedFile(raw, "utf-8", encoding)
    return recoded, ElementTree.XMLParser(encoding="utf-8")


@contextmanager
def _xml_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except ElementTree.ParseError as error:
        line, _ = error.position
        reason = expat.ErrorString(error.code)
        raise UserError(f"`{path}` line {line} must be XML; it is not ({reason})") from None
    except RecursionError:
        raise UserError(f"`{path}` must have segments with few levels; one has too many") from None
    except LookupError as error:
        raise UserError(
            f"`{path}` must declare an encoding of text; it does not ({error})"
        ) from None
    except UnicodeDecodeError as error:
        raise UserError(
            f"`{path}` must be {error.encoding} text, as it declares; it is not ({error.reason})"
        ) from None
    except UnicodeError as error:
        raise UserError(f"`{path}` must be text as it declares; it is not ({error})") from None


def _unit(element: ElementTree.Element, left_out: Counter[str]) -> Unit:
    texts: Unit = {}
    for variant in element:
        if _name(variant) != "tuv":
            continue
        language = next(filter(None, map(variant.get, _LANGUAGE)), "").lower().replace("_", "-")
        segment = next((part for part in variant if _name(part) == "seg"), None)
        if not language or segment is None:
            left_out["variants without a language or a segment"] += 1
        elif language in texts:
            left_out[f"further variants of {language} in one unit"] += 1
        else:
            texts[language] = one_line("".join(_text(segment)))
    return texts


def _text(element: ElementTree.Element) -> Iterator[str]:
    """The text of a segment without the codes in it; a line break among them is a space."""
    yield element.text or ""
    for part in element:
        if _name(part) not in _CODES:
            yield from _text(part)
        elif part.get("type") == "lb":
            yield " "
        yield part.tail or ""


def _name(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2]
