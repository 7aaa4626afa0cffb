"""What one client, one request and all requests together may take."""

from __future__ import annotations

import ipaddress
import time
from collections.abc import Callable
from dataclasses import dataclass, fields

from tdo_plugin.errors import UserError

CLIENTS = 1_000  # remembered at a time; the one with the most tokens is forgotten
SHOWN = 64  # characters of a client that is not an address


@dataclass(frozen=True)
class Limits:
    """The limits of a server.

    Attributes:
        characters: of a text.
        sentences: of a text.
        body: bytes of a request's body.
        body_seconds: until a request's head, and then its body, must have arrived.
        rate: sentences per minute and client, which may come at once; each counts once for each
            language that it is translated into.
        waiting: requests that wait for the models.
        beam: the largest beam, that of the served models.
        connections: open at a time.
        connections_each: open at a time from one client.
    """

    characters: int = 2_000
    sentences: int = 20
    body: int = 1 << 16
    body_seconds: float = 10.0
    rate: int = 600
    waiting: int = 32
    beam: int = 4
    connections: int = 500
    connections_each: int = 100

    def check(self) -> None:
        """Raise UserError for a limit below 1."""
        for field in fields(self):
            value = getattr(self, field.name)
            if value < 1:
                raise UserError(f"`--max-{field.name}` must be at least 1; it is {value}")


def client_of(address: str) -> str:
    """Whom an address belongs to: one IPv4 address, or the 64 bits of an IPv6 network.

    A single user of IPv6 has all addresses of such a network.
    """
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:  # a proxy may name anything
        return address[:SHOWN]
    if isinstance(parsed, ipaddress.IPv4Address):
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.ip_network((parsed, 64), strict=False))


class RateLimiter:
    """A token bucket for each client: `rate` tokens at once, refilled within a minute.

    Args:
        rate: tokens per minute.
        clock: seconds.
    """

    def __init__(self, rate: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._clock = rate, clock
        self._buckets: dict[str, tuple[float, float]] = {}  # tokens, at time

    def wait(self, client: str) -> float:
        """Take a token; returns the seconds until there is one, 0 if it was taken."""
        tokens = self._tokens(client)
        if tokens < 1:
            return (1 - tokens) * 60 / self._rate
        self.charge(client, 1)
        return 0.0

    def charge(self, client: str, tokens: int) -> None:
        """Take tokens, even more than there are: the client then waits for as much longer."""
        now = self._clock()
        self._buckets[client] = self._tokens(client) - tokens, now
        if len(self._buckets) > CLIENTS:
            # to forget a spent bucket would fill it
            others = (other for other in self._buckets if other != client)
            del self._buckets[max(others, key=self._tokens)]

    def _tokens(self, client: str) -> float:
        now = self._clock()
        tokens, at = self._buckets.get(client, (float(self._rate), now))
        return min(self._rate, tokens + (now - at) * self._rate / 60)
