"""What is refused before a request is read, and what every response carries.

The server has no accounts, so everyone who reaches it may use it. What must not happen is that a
page from elsewhere uses it through the browser of someone who reaches it. So a request must name
this server as its host, which a rebound name of another site does not, and must come from its own
page, if a browser says where it comes from. Bodies must be JSON, which no form of another site
sends, and no header allows other sites to read an answer.
"""

from __future__ import annotations

import ipaddress
import time
from collections.abc import Callable, Collection, MutableMapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tdo_plugin.serve.json_requests import RequestError, too_large
from tdo_plugin.serve.request_limits import Limits, RateLimiter, client_of

API = "/api/"
# keys of a scope: what a request was about, for its log line; and a function that takes tokens
NOTE = "tdo.note"
CHARGE = "tdo.charge"
HEADERS = {
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


@dataclass(frozen=True)
class Hosts:
    """The host names by which the server may be called.

    Attributes:
        names: lower-case names besides IP addresses.
        loopback: whether the server listens to this machine only; `localhost` is then its name, and
            its addresses are those of this machine.
    """

    names: Collection[str] = ()
    loopback: bool = True

    def include(self, host: str) -> bool:
        """Whether the Host header names this server; the port may be that of a tunnel."""
        name = _without_port(host).lower()
        if name in self.names or (self.loopback and name == "localhost"):
            return True
        try:
            address = ipaddress.ip_address(name.strip("[]"))
        except ValueError:
            return False
        return address.is_loopback or not self.loopback


class RequestGuard:
    """ASGI middleware around the whole application.

    Args:
        app: the application.
        hosts: names of the server.
        limits: of bodies and rates.
        policy: the Content-Security-Policy.
        log: called with one line for each request.

    Attributes:
        headers: of every response.
        rates: of the clients.
    """

    def __init__(
        self, app: ASGIApp, hosts: Hosts, limits: Limits, policy: str, log: Callable[[str], None]
    ) -> None:
        self._app, self._hosts, self._limits, self._log = app, hosts, limits, log
        self.rates = RateLimiter(limits.rate)
        self.headers = {**HEADERS, "Content-Security-Policy": policy}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        began, status = time.monotonic(), 0

        async def send_guarded(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message).update(self.headers)
            await send(message)

        try:
            self._check(scope)
        except RequestError as error:
            await error_response(error)(scope, receive, send_guarded)
        else:
            await self._app(scope, receive, send_guarded)
        finally:
            took = 1000 * (time.monotonic() - began)
            self._log(_line(scope, status, took))

    def _check(self, scope: Scope) -> None:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if not self._hosts.include(host):
            raise RequestError(
                403,
                "host",
                f"`Host` must be this server's name or address; it is {host[:80]} "
                "(tdo serve --allow-host NAME allows another name)",
            )
        origin = headers.get("origin")
        if origin is not None and origin not in (f"http://{host}", f"https://{host}"):
            raise RequestError(403, "origin", "`Origin` must be this server; it is another site")
        if not scope["path"].startswith(API):
            return
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            raise RequestError(403, "origin", "`Sec-Fetch-Site` must be same-origin; it is not")
        if scope["method"] == "POST":
            self._check_post(headers, scope)

    def _check_post(self, headers: Headers, scope: Scope) -> None:
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise RequestError(
                415,
                "not-json",
                f"`Content-Type` must be application/json; it is {kind[:80] or 'missing'}",
                {"Connection": "close"},
            )
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > self._limits.body:
            raise too_large(self._limits.body)
        client = client_of((scope.get("client") or ("unknown", 0))[0])
        scope[CHARGE] = partial(self.rates.charge, client)
        seconds = self.rates.wait(client)
        if seconds:
            raise RequestError(
                429,
                "too-many",
                f"`sentences` must be at most {self._limits.rate} a minute, each counted once for "
                "each language; they are more",
                {"Retry-After": str(int(seconds) + 1), "Connection": "close"},
            )


def error_response(error: RequestError) -> JSONResponse:
    """A refusal as JSON."""
    content = {"error": {"code": error.code, "message": error.message}}
    return JSONResponse(content, error.status, error.headers)


def _without_port(host: str) -> str:
    """The name or address in a Host header; brackets of an IPv6 address stay."""
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdecimal() else host


def _line(scope: MutableMapping[str, Any], status: int, milliseconds: float) -> str:
    client = (scope.get("client") or ("-", 0))[0][:80]
    words = [time.strftime("%H:%M:%S"), client, scope["method"], scope["path"][:80], str(status)]
    words += [f"{milliseconds:.0f} ms", scope.get(NOTE, "")]
    return " ".join(filter(None, words))
