"""Reading requests: their bodies within limits, and what they may contain."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from starlette.requests import ClientDisconnect, Request

from tdo_plugin.serve.request_limits import Limits
from tdo_plugin.serve.sentence_split import SHOWN, check_unicode, sentences_by_line
from tdo_plugin.serve.served_model import ALL, AUTO

COUNTED = 100  # characters of a sentence that the rate counts as one sentence


class RequestError(Exception):
    """A request that is refused.

    Args:
        status: HTTP's.
        code: a word for programs.
        message: for people; in the grammar of all messages.
        headers: of the response.
    """

    def __init__(
        self, status: int, code: str, message: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, message
        self.headers = dict(headers or {})


@dataclass(frozen=True)
class TranslateRequest:
    """Text to translate; see `ServedModel.translate`."""

    model: str
    text: str
    source: str
    targets: tuple[str, ...] | str
    beam: int | None


@dataclass(frozen=True)
class ExplainRequest:
    """A sentence to explain; see `ServedModel.explain`."""

    model: str
    text: str
    source: str
    target: str
    beam: int | None


async def read_json(request: Request, limits: Limits) -> Any:
    """The content of a request's body, of which no more than the limit is read.

    Raises:
        RequestError: the body is too large, too slow, or not JSON.
    """
    try:
        body = await asyncio.wait_for(_body(request, limits.body), limits.body_seconds)
    except asyncio.TimeoutError:  # in Python 3.10 another than the builtin
        raise RequestError(
            408,
            "slow",
            f"`body` must arrive within {limits.body_seconds:g} seconds; it does not",
            {"Connection": "close"},
        ) from None
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise RequestError(400, "not-json", "`body` must be JSON in UTF-8; it is not") from None


def translate_request(content: Any, limits: Limits) -> TranslateRequest:
    """Check the content of a request to translate.

    Raises:
        RequestError: a field is missing, unknown, of the wrong type or too long.
        UserError: text is not Unicode.
    """
    fields = _fields(content, ("model", "text", "targets"), ("source", "beam"))
    targets = fields["targets"]
    if targets != ALL:
        if not isinstance(targets, list) or not targets:
            raise _wrong("targets", f'a list of languages or "{ALL}"', targets)
        targets = tuple(_string({"targets": target}, "targets") for target in targets)
    return TranslateRequest(
        _string(fields, "model"),
        _text(fields, limits),
        _source(fields),
        targets,
        _beam(fields, limits),
    )


def explain_request(content: Any, limits: Limits) -> ExplainRequest:
    """As `translate_request`, for a request to explain."""
    fields = _fields(content, ("model", "text", "target"), ("source", "beam"))
    return ExplainRequest(
        _string(fields, "model"),
        _text(fields, limits),
        _source(fields),
        _string(fields, "target"),
        _beam(fields, limits),
    )


def detect_request(content: Any, limits: Limits) -> tuple[str, str]:
    """As `translate_request`, for a request to detect: the model's name and the text."""
    fields = _fields(content, ("model", "text"))
    return _string(fields, "model"), _text(fields, limits)


def cost_of(text: str) -> int:
    """The sentences of a text as the rate counts them; a long one counts as several."""
    sentences = [sentence for line in sentences_by_line(text) for sentence in line]
    return sum(math.ceil(len(sentence) / COUNTED) for sentence in sentences)


async def _body(request: Request, limit: int) -> bytes:
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > limit:
                raise too_large(limit)
    except ClientDisconnect:
        raise gone() from None
    return bytes(body)


def gone() -> RequestError:
    """The end of a request whose client has closed the connection; only the log has it."""
    return RequestError(499, "gone", "`client` must wait for the answer; it has gone")


def too_large(limit: int) -> RequestError:
    """The refusal of a body that is larger than the limit."""
    message = f"`body` must have at most {limit:,} bytes; it has more"
    return RequestError(413, "too-large", message, {"Connection": "close"})


def _fields(
    content: Any, required: tuple[str, ...], optional: tuple[str, ...] = ()
) -> dict[str, Any]:
    if not isinstance(content, dict):
        raise _wrong("body", f"an object with {', '.join(required)}", content)
    for name in required:
        if name not in content:
            raise RequestError(400, "missing", f"`{name}` must be given; it is missing")
    for name in content:
        if name not in (*required, *optional):
            *names, last = (*required, *optional)
            raise _wrong("body", f"an object with only {', '.join(names)} and {last}", name)
    return content


def _string(fields: Mapping[str, Any], name: str) -> str:
    value = fields[name]
    if not isinstance(value, str):
        raise _wrong(name, "text", value)
    check_unicode(name, value)
    return value


def _source(fields: Mapping[str, Any]) -> str:
    return AUTO if fields.get("source") is None else _string(fields, "source")


def _text(fields: Mapping[str, Any], limits: Limits) -> str:
    text = _string(fields, "text")
    if len(text) > limits.characters:
        raise RequestError(
            400,
            "too-long",
            f"`text` must have at most {limits.characters:,} characters; it has {len(text):,}",
        )
    count = sum(map(len, sentences_by_line(text)))
    if count > limits.sentences:
        raise RequestError(
            400,
            "too-long",
            f"`text` must have at most {limits.sentences} sentences; it has {count}",
        )
    if not count:
        raise RequestError(400, "empty", "`text` must have a sentence; it is empty")
    return text


def _beam(fields: Mapping[str, Any], limits: Limits) -> int | None:
    beam = fields.get("beam")
    if beam is None:
        return None
    if not isinstance(beam, int) or isinstance(beam, bool) or not 1 <= beam <= limits.beam:
        raise _wrong("beam", f"a whole number from 1 to {limits.beam}", beam)
    return beam


def _wrong(name: str, must: str, value: Any) -> RequestError:
    shown = json.dumps(value)
    shown = shown if len(shown) <= SHOWN else f"{shown[:SHOWN]}..."
    return RequestError(400, "wrong", f"`{name}` must be {must}; it is {shown}")
