"""The page, one HTML file with its style and script inside.

`tdo serve` sends it without data, and its script reads the JSON interface; `tdo explain` writes it
with explanations inside, and it then reads nothing.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "page_files"
# in the order in which they are joined: each uses what stands before it
PARTS = ("elements", "languages", "directions", "explanation", "answers", "main")
SCRIPTS = tuple(f"{part}.js" for part in PARTS)
PLACE = re.compile(r"\{\{(\w+)\}\}")


def page(embedded: Any = None) -> str:
    """The page.

    Args:
        embedded: what the page shows instead of a form, as `explained_page` makes it.
    """
    parts = {
        "policy": html.escape(security_policy(served=embedded is None, meta=True), quote=True),
        "style": _style(),
        "script": _script(),
        "embedded": embeddable(embedded),
    }
    return PLACE.sub(lambda place: parts[place[1]], _read("index.html"))


def security_policy(served: bool, meta: bool = False) -> str:
    """The Content-Security-Policy: nothing but the page's own style and script.

    Args:
        served: whether the script may read the server that sent the page.
        meta: leave out what browsers ignore inside a page.
    """
    rules = {
        "default-src": "'none'",
        "style-src": _digest(_style()),
        "script-src": _digest(_script()),
        "connect-src": "'self'" if served else "'none'",
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
        **({} if meta else {"frame-ancestors": "'none'"}),
    }
    return "; ".join(f"{name} {value}" for name, value in rules.items())


def embeddable(content: Any) -> str:
    """JSON that can stand inside of a script element, whatever text it has."""
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # a text cannot end the element, or begin a comment or another element in it
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _digest(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")
    return f"'sha256-{digest}'"


@cache
def _style() -> str:
    return _read("page.css")


@cache
def _script() -> str:
    return '"use strict";\n' + "\n".join(map(_read, SCRIPTS))


def _read(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")
