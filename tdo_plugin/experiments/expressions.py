"""Templates: texts with ``{expressions}`` over variables, and their values.

An expression is arithmetic, a conditional (``3 if scale == 'toy' else 6``), a list or a call of one
of :data:`FUNCTIONS`. A text with a single expression and nothing else has its value; any other
text is formatted. Doubled braces are literal braces. A reference (``checkpoint:SYSTEM``) may
contain further expressions.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import permutations
from typing import Any

from tdo_plugin.errors import UserError

OPERATORS: dict[type, Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.USub: operator.neg,
    ast.Not: operator.not_,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda part, whole: part in whole,
    ast.NotIn: lambda part, whole: part not in whole,
}


def _pairs(languages: Sequence[str]) -> list[str]:
    """All directions between the languages."""
    return ["-".join(pair) for pair in permutations(languages, 2)]


def _both_ways(center: str, others: Sequence[str]) -> list[str]:
    """The directions from and into a language, pair by pair."""
    return [
        direction for other in others for direction in (f"{center}-{other}", f"{other}-{center}")
    ]


def _source(direction: str) -> str:
    return direction.partition("-")[0]


def _target(direction: str) -> str:
    return direction.partition("-")[2]


def _first(values: Sequence[Any], count: int) -> list[Any]:
    return list(values[:count])


def _lower(text: str) -> str:
    return text.lower()


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "ceil": math.ceil,
    "floor": math.floor,
    "min": min,
    "max": max,
    "lower": _lower,
    "split": str.split,
    "pairs": _pairs,
    "both_ways": _both_ways,
    "first": _first,
    "source": _source,
    "target": _target,
}


@dataclass(frozen=True)
class Expression:
    """The text between braces."""

    text: str


@cache  # a template is read for each system and each way of resolving references
def parts(template: str) -> tuple[str | Expression, ...]:
    """The literal texts, if not empty, and the expressions of a template, in order.

    Raises:
        ValueError: unbalanced braces.
    """
    return tuple(piece for piece in _parts(template) if piece != "")


def _parts(template: str) -> Iterator[str | Expression]:
    literal, place = "", 0
    while place < len(template):
        mark = template[place]
        if template[place : place + 2] in ("{{", "}}"):
            literal += mark
            place += 2
        elif mark == "{":
            end = _closed(template, place)
            yield literal
            yield Expression(template[place + 1 : end])
            literal, place = "", end + 1
        elif mark == "}":
            raise ValueError(f"unexpected closing brace: {template}")
        else:
            literal += mark
            place += 1
    yield literal


def _closed(template: str, opened: int) -> int:
    depth = 0
    for place in range(opened, len(template)):
        depth += {"{": 1, "}": -1}.get(template[place], 0)
        if not depth:
            return place
    raise ValueError(f"missing closing brace: {template}")


def evaluate(text: str, names: Mapping[str, Any]) -> Any:
    """The value of an expression.

    Raises:
        ValueError: invalid syntax, an unknown variable, or a failing operation.
    """
    try:
        value = _value(_parsed(text), names)
    except SyntaxError:
        raise ValueError(f"{text} is not an expression") from None
    except (ArithmeticError, TypeError, LookupError) as error:
        raise ValueError(f"{text} failed: {error}") from None
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{text} must be finite; it is {value}")
    return value


@cache
def _parsed(text: str) -> ast.expr:
    return ast.parse(text.strip(), mode="eval").body


def _value(node: ast.AST, names: Mapping[str, Any]) -> Any:
    match node:
        case ast.Constant(value):
            return value
        case ast.Name(name):
            return _named(name, names)
        case ast.List(items) | ast.Tuple(items):
            return [_value(item, names) for item in items]
        case ast.UnaryOp(kind, operand) if type(kind) in OPERATORS:
            return OPERATORS[type(kind)](_value(operand, names))
        case ast.BinOp(left, kind, right) if type(kind) in OPERATORS:
            return OPERATORS[type(kind)](_value(left, names), _value(right, names))
        case ast.Compare(left, [kind], [right]) if type(kind) in OPERATORS:
            return OPERATORS[type(kind)](_value(left, names), _value(right, names))
        case ast.BoolOp(kind, operands):
            stops = isinstance(kind, ast.Or)  # return the deciding operand, as Python does
            values = [_value(operand, names) for operand in operands]
            return next((value for value in values if bool(value) == stops), values[-1])
        case ast.IfExp(test, then, otherwise):
            return _value(then if _value(test, names) else otherwise, names)
        case ast.Call(ast.Name(name), arguments, []) if name in FUNCTIONS:
            return FUNCTIONS[name](*(_value(argument, names) for argument in arguments))
        case ast.Subscript(whole, index):
            return _value(whole, names)[_value(index, names)]
        case _:
            raise ValueError(f"{ast.unparse(node)} is not a supported expression")


def _named(name: str, names: Mapping[str, Any]) -> Any:
    try:
        return names[name]
    except KeyError:
        raise ValueError(f"unknown name {name}; known: {', '.join(sorted(names))}") from None


def as_text(value: Any) -> str:
    """A value formatted for a text: lists with commas, whole numbers without a decimal point."""
    if isinstance(value, list | tuple):
        return ",".join(map(as_text, value))
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value)


class Scope(Mapping[str, Any]):
    """Variables and their values, each computed when it is used.

    Args:
        values: values by name; texts are templates over the other variables.
        refer: returns the value of an expression that is a reference, else None.
        where: the place in the file, for messages.
    """

    def __init__(
        self,
        values: Mapping[str, Any],
        refer: Callable[[str, Scope], Any] = lambda expression, scope: None,
        where: str = "",
    ) -> None:
        self._values, self._refer, self._where = dict(values), refer, where
        self._open: list[str] = []

    def __getitem__(self, name: str) -> Any:
        value = self._values[name]
        if name in self._open:
            circle = " → ".join((*self._open, name))
            raise UserError(f"{self._where}: names must not form a cycle; {circle} does")
        self._open.append(name)
        try:
            return self.value(value)
        finally:
            self._open.pop()

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def with_values(self, **values: Any) -> Scope:
        """The scope with added or replaced variables."""
        return Scope({**self._values, **values}, self._refer, self._where)

    def referring(self, refer: Callable[[str, Scope], Any]) -> Scope:
        """The scope with another resolver of references."""
        return Scope(self._values, refer, self._where)

    def value(self, template: Any) -> Any:
        """The value of a template, or of each template in a list; other values unchanged.

        Raises:
            UserError: the template is invalid or uses an unknown variable.
        """
        if isinstance(template, list | tuple):
            return [self.value(part) for part in template]
        if not isinstance(template, str):
            return template
        try:
            pieces = parts(template)
            values = [self._piece(piece) for piece in pieces]
        except UserError:
            raise  # the message already has its place
        except ValueError as error:
            raise UserError(f"{self._where}: {error}") from None
        if len(pieces) == 1 and isinstance(pieces[0], Expression):
            return values[0]
        return "".join(map(as_text, values))

    def text(self, template: Any) -> str:
        """The value of a template, formatted as text."""
        return as_text(self.value(template))

    def _piece(self, piece: str | Expression) -> Any:
        if isinstance(piece, str):
            return piece
        referred = self._refer(piece.text, self)
        return evaluate(piece.text, self) if referred is None else referred
