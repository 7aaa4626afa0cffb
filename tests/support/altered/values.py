"""One value of a file changed: of a JSON document, of text in lines, or of bytes.

All of it is drawn from a generator that the caller seeds.
"""

import copy
import json
import random
from typing import Any

# of other types, beyond what can be meant, or of a form that leads elsewhere
WRONG: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2**31, 2**63, 2**70, 10**400, 0.5, 1e300),
    *(float("nan"), float("inf"), "", " ", "x", "0", "../x", "/", "\x1b[31m", "a\nb", "é", "{0}"),
    *("--user-dir /tmp", "x" * 5000, [], [1], [[]], {}, {"x": 1}),
)
LETTERS = "aA0-_./ {}\t\x00\"'\\é"


def altered_json(content: bytes, drawn: random.Random) -> bytes:
    """A document in which one value is replaced, nudged, removed, doubled, moved or renamed."""
    document = json.loads(content)
    places = list(_places(document))
    while True:
        changed = copy.deepcopy(document)
        holder, key = _at(changed, drawn.choice(places))
        drawn.choice((_replace, _replace, _nudge, _nudge, _remove, _double, _rename))(
            holder, key, document, drawn
        )
        if _text(changed) != _text(document):
            return _text(changed)


def altered_json_line(content: bytes, drawn: random.Random) -> bytes:
    """JSON objects, one a line: one of them altered, or a line as `altered_lines` has it."""
    lines = content.splitlines(keepends=True)
    if drawn.random() < 0.2:
        return altered_lines(content, drawn)
    number = drawn.randrange(len(lines))
    lines[number] = altered_json(lines[number], drawn) + b"\n"
    return b"".join(lines)


def altered_lines(content: bytes, drawn: random.Random) -> bytes:
    """Text in which one line or one word is another; also one byte that is no UTF-8."""
    while True:
        lines = content.split(b"\n")
        number = drawn.randrange(max(1, len(lines) - 1))
        drawn.choice((_line_gone, _line_twice, _lines_swapped, *(_word, _letter) * 3, _byte))(
            lines, number, drawn
        )
        if (changed := b"\n".join(lines)) != content:
            return changed


def altered_bytes(content: bytes, drawn: random.Random) -> bytes:
    """Bytes of which one, or one stretch, is another."""
    while True:
        place = drawn.randrange(len(content))
        length = drawn.choice((1, 1, 2, 4, 8))
        changed = drawn.choice(
            (
                content[:place] + bytes([content[place] ^ 1 << drawn.randrange(8)])
                + content[place + 1 :],
                content[:place] + drawn.randbytes(length) + content[place + length :],
                content[:place] + bytes(length) + content[place + length :],
                content[:place] + content[place + length :],
                content[:place] + drawn.randbytes(length) + content[place:],
                content[:place],
                content + content[-length:],
            )
        )  # fmt: skip
        if changed != content:
            return changed


# --- JSON ----------------------------------------------------------------------------------------


def _text(document: Any) -> bytes:
    return json.dumps(document, ensure_ascii=False).encode()


def _places(value: Any, above: tuple[Any, ...] = ()) -> Any:
    """The way to each value below the document."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        yield (*above, key)
        if isinstance(item, (dict, list)):
            yield from _places(item, (*above, key))


def _at(document: Any, way: tuple[Any, ...]) -> tuple[Any, Any]:
    for key in way[:-1]:
        document = document[key]
    return document, way[-1]


def _replace(holder: Any, key: Any, document: Any, drawn: random.Random) -> None:
    other_holder, place = _at(document, drawn.choice(list(_places(document))))
    holder[key] = drawn.choice((*WRONG, *[copy.deepcopy(other_holder[place])] * 8))


def _nudge(holder: Any, key: Any, document: Any, drawn: random.Random) -> None:
    value = holder[key]
    if isinstance(value, str):
        holder[key] = _changed(value, drawn)
    elif isinstance(value, (int, float)):
        holder[key] = drawn.choice((value + 1, value - 1, -value, value * 100, str(value), [value]))
    elif isinstance(value, list):
        holder[key] = drawn.choice((value[::-1], value[1:], tuple(value) * 2, {"x": value}))
    else:
        holder[key] = drawn.choice(([value], json.dumps(value)))


def _remove(holder: Any, key: Any, document: Any, drawn: random.Random) -> None:
    del holder[key]


def _double(holder: Any, key: Any, document: Any, drawn: random.Random) -> None:
    if isinstance(holder, list):
        holder.insert(key, copy.deepcopy(holder[key]))
    else:
        holder[_changed(key, drawn)] = copy.deepcopy(holder[key])


def _rename(holder: Any, key: Any, document: Any, drawn: random.Random) -> None:
    if isinstance(holder, dict):
        holder[drawn.choice((_changed(key, drawn), *holder))] = holder.pop(key)
    else:
        holder[key], holder[0] = holder[0], holder[key]


def _changed(text: str, drawn: random.Random) -> str:
    place = drawn.randrange(len(text) + 1)
    letter = drawn.choice(LETTERS)
    return drawn.choice(
        (
            text[:place] + letter + text[place:],
            text[:place] + letter + text[place + 1 :],
            text[:place] + text[place + 1 :],
            text.swapcase(),
            text + text,
            f"{text} ",
        )
    )


# --- lines ---------------------------------------------------------------------------------------


def _line_gone(lines: list[bytes], number: int, drawn: random.Random) -> None:
    del lines[number]


def _line_twice(lines: list[bytes], number: int, drawn: random.Random) -> None:
    lines.insert(drawn.randrange(len(lines)), lines[number])


def _lines_swapped(lines: list[bytes], number: int, drawn: random.Random) -> None:
    other_number = drawn.randrange(len(lines))
    lines[number], lines[other_number] = lines[other_number], lines[number]


def _word(lines: list[bytes], number: int, drawn: random.Random) -> None:
    words = lines[number].split(b" ")
    place = drawn.randrange(len(words))
    all_words = b" ".join(lines).split()
    wrong = [str(value).encode() for value in WRONG if isinstance(value, (str, int, float))]
    words[place : place + 1] = drawn.choice(
        (
            [drawn.choice(all_words)],
            [drawn.choice(wrong)],
            [],
            [words[place], drawn.choice(all_words)],
        )
    )
    lines[number] = b" ".join(words)


def _letter(lines: list[bytes], number: int, drawn: random.Random) -> None:
    lines[number] = _changed(lines[number].decode(), drawn).encode()


def _byte(lines: list[bytes], number: int, drawn: random.Random) -> None:
    place = drawn.randrange(len(lines[number]) + 1)
    lines[number] = lines[number][:place] + drawn.randbytes(1) + lines[number][place:]
