"""Connections: how many may be open, and how long each may be idle."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from http import HTTPStatus

from starlette.datastructures import MutableHeaders
from uvicorn.protocols.http.h11_impl import H11Protocol

from tdo_plugin.serve.json_requests import RequestError
from tdo_plugin.serve.request_guard import error_response
from tdo_plugin.serve.request_limits import Limits, client_of

READ = 60.0  # seconds until a client must have read a response
AGAIN = 10  # seconds after which a client without a connection may try again


class BoundedConnection(H11Protocol):
    """uvicorn's protocol with bounds.

    Above the limits of connections, a new one gets a refusal without being read. A connection is
    closed if a request's head does not arrive in time after the connection was opened or after the
    head's first byte, or if a response is not read. Between requests uvicorn's own timeout holds.

    Attributes:
        limits: of connections in all and from one client, and of seconds for a head.
        proxies: clients whose connections are those of many users.
        refused: what a connection above the limits gets.
    """

    limits: Limits
    proxies: Collection[str]
    refused: bytes
    _address = ""
    _head: asyncio.TimerHandle | None = None
    _response: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._address = client_of(self.client[0]) if self.client else ""
        if self._is_above_limits():
            transport.write(self.refused)
            transport.close()
        else:
            self._head = self.loop.call_later(self.limits.body_seconds, self._close)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if not self._lacks_head():
            _cancel(self._head)
            self._head = None
        elif self._head is None:
            self._head = self.loop.call_later(self.limits.body_seconds, self._close)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        _cancel(self._response)
        self._response = self.loop.call_later(READ, self._end_unread)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        _cancel(self._head)
        _cancel(self._response)

    def _is_above_limits(self) -> bool:
        if len(self.connections) > self.limits.connections:
            return True
        mine = [each for each in self.connections if each._address == self._address]  # type: ignore[union-attr]
        return len(mine) > self.limits.connections_each and self._address not in self.proxies

    def _lacks_head(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _close(self) -> None:
        self.transport.close()

    def _end_unread(self) -> None:
        if self.transport.get_write_buffer_size():
            self.transport.abort()


def _cancel(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()


def refusal(headers: Mapping[str, str]) -> bytes:
    """The whole response to a connection above the limits.

    Args:
        headers: of every response.
    """
    response = error_response(
        RequestError(
            503,
            "busy",
            "`connections` must be fewer; they are too many",
            {"Retry-After": str(AGAIN), "Connection": "close"},
        )
    )
    MutableHeaders(raw=response.raw_headers).update(headers)
    status = HTTPStatus(response.status_code)
    lines = [f"HTTP/1.1 {status.value} {status.phrase}".encode()]
    lines += [name + b": " + value for name, value in response.raw_headers]
    return b"\r\n".join([*lines, b"", bytes(response.body)])
