"""Running the application on a port, until a signal ends it."""

from __future__ import annotations

import ipaddress
import os
import socket
import sys
from collections.abc import Sequence
from typing import NoReturn

import uvicorn

from tdo_plugin.errors import UserError
from tdo_plugin.serve.bounded_connection import BoundedConnection, refusal
from tdo_plugin.serve.request_guard import Hosts, RequestGuard
from tdo_plugin.serve.request_limits import Limits, client_of

IDLE = 5  # seconds between two requests on a connection
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


def reach_of(opened: socket.socket) -> str:
    """A warning for a server that other machines can reach; empty for one that they cannot."""
    host, port = opened.getsockname()[:2]
    address = ipaddress.ip_address(host)
    if address.is_loopback:
        return ""
    where = "any of its addresses" if address.is_unspecified else str(address)
    return (
        f"there are no accounts: everyone who can reach this machine ({socket.gethostname()}) at "
        f"{where}, port {port}, can use the server"
    )


def server_of(app: RequestGuard, limits: Limits, proxies: Sequence[str] = ()) -> uvicorn.Server:
    """A server of the application, to be run with a listening socket.

    Args:
        app: the application.
        limits: of connections, and of the time for a request's head.
        proxies: addresses of proxies, whose `X-Forwarded-For` names the client.
    """
    bounds, trusted = limits, frozenset(map(client_of, proxies))

    class Connection(BoundedConnection):
        limits = bounds
        proxies = trusted
        refused = refusal(app.headers)

    config = uvicorn.Config(
        app,
        http=Connection,
        ws="none",
        loop="asyncio",
        lifespan="off",
        log_config=None,
        log_level="critical",
        access_log=False,
        server_header=False,
        proxy_headers=bool(proxies),
        forwarded_allow_ips=list(proxies),
        timeout_keep_alive=IDLE,
        timeout_graceful_shutdown=GRACE,
        h11_max_incomplete_event_size=HEADER,
    )
    return uvicorn.Server(config)


def serve_until_signal(server: uvicorn.Server, opened: socket.socket) -> None:
    """Serve until SIGINT or SIGTERM, which let open requests end within some seconds."""
    try:
        server.run(sockets=[opened])
    except (KeyboardInterrupt, SystemExit):
        # uvicorn raises the signal again when it has ended; a server ends well by a signal
        if not server.started:
            raise


def end_at_once() -> NoReturn:
    """End the process successfully while a thread still runs a model."""
    sys.stdout.flush()
    sys.stderr.flush()
    # the interpreter's own end would abort the process: a thread cannot return to it from torch
    os._exit(0)
