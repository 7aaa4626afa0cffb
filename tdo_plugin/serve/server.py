"""Running the application on a port, until a signal ends it."""

from __future__ import annotations

import asyncio
import ipaddress
import os
import socket
from collections.abc import Sequence
from contextlib import suppress

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from tdo_plugin.errors import UserError
from tdo_plugin.serve.request_guard import Hosts
from tdo_plugin.serve.request_limits import Limits

GRACE = 5  # seconds for open requests when the server ends
HEADER = 1 << 14  # bytes of a request's head


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens.

    Args:
        host: name or address.
        port: 0: any free one.

    Raises:
        UserError: the address is unknown, or the port is taken or needs other rights.
    """
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        opened = socket.socket(family)
    except (OSError, UnicodeError) as error:
        raise UserError(f"`--host` must be an address of this machine; {host}: {error}") from None
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        opened.bind(address)
        opened.listen()
    except OSError as error:
        opened.close()
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise UserError(f"`--port` must be free on {host}; {port}: {reason}") from None
    return opened


def hosts_of(opened: socket.socket, names: Sequence[str]) -> Hosts:
    """The names of a server on a socket, with those that the user allows."""
    address = ipaddress.ip_address(opened.getsockname()[0])
    here = () if address.is_loopback else (socket.gethostname(),)
    return Hosts(frozenset(name.lower() for name in (*names, *here)), address.is_loopback)


def url_of(opened: socket.socket) -> str:
    """The address of the page, as a browser on this machine finds it."""
    host, port = opened.getsockname()[:2]
    address = ipaddress.ip_address(host)
    if address.is_unspecified:
        host = "127.0.0.1" if address.version == 4 else "::1"
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/"


class HeadDeadline(H11Protocol):
    """uvicorn's protocol, which also closes connections on which a request's head is slow.

    Attributes:
        seconds: until a head must have arrived.
    """

    seconds = 10.0
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._expect_head()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._expect_head()

    def _expect_head(self) -> None:
        if self._deadline is None and self._lacks_request():
            self._deadline = self.loop.call_later(self.seconds, self._end)

    def _lacks_request(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _end(self) -> None:
        self._deadline = None
        if self._lacks_request():
            self.transport.close()


def server_of(app: ASGIApp, limits: Limits) -> uvicorn.Server:
    """A server of the application, to be run with a listening socket."""

    class Protocol(HeadDeadline):
        seconds = limits.body_seconds

    config = uvicorn.Config(
        app,
        http=Protocol,
        ws="none",
        loop="asyncio",
        lifespan="off",
        log_config=None,
        log_level="critical",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=limits.connections,
        timeout_graceful_shutdown=GRACE,
        h11_max_incomplete_event_size=HEADER,
    )
    return uvicorn.Server(config)


def serve_until_signal(server: uvicorn.Server, opened: socket.socket) -> None:
    """Serve until SIGINT or SIGTERM, which let open requests end within some seconds."""
    # uvicorn raises the signal again when it has ended; ending is what the signal asked of a server
    with suppress(KeyboardInterrupt, SystemExit):
        server.run(sockets=[opened])
