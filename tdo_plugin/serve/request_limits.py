"""What one client, one request and all requests together may take."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, fields

from tdo_plugin.errors import UserError

CLIENTS = 1_000  # remembered at a time; the one that was quiet longest is forgotten


@dataclass(frozen=True)
class Limits:
    """The limits of a server.

    Attributes:
        characters: of a text.
        sentences: of a text.
        body: bytes of a request's body.
        body_seconds: until a request's head, and then its body, must have arrived.
        rate: requests to the models per minute and client, which may come at once.
        waiting: requests that wait for the models.
        beam: the largest beam.
        connections: open at a time.
    """

    characters: int = 2_000
    sentences: int = 20
    body: int = 1 << 16
    body_seconds: float = 10.0
    rate: int = 120
    waiting: int = 32
    beam: int = 16
    connections: int = 500

    def check(self) -> None:
        """Raise UserError for a limit below 1."""
        for field in fields(self):
            value = getattr(self, field.name)
            if value < 1:
                raise UserError(f"`--max-{field.name}` must be at least 1; it is {value}")


class RateLimiter:
    """A token bucket for each client: `rate` requests at once, refilled within a minute.

    Args:
        rate: requests per minute.
        clock: seconds.
    """

    def __init__(self, rate: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._clock = rate, clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # tokens, at time

    def wait(self, client: str) -> float:
        """Take a token; returns the seconds until there is one, 0 if it was taken."""
        now = self._clock()
        tokens, at = self._buckets.pop(client, (float(self._rate), now))
        tokens = min(self._rate, tokens + (now - at) * self._rate / 60)
        taken = tokens >= 1
        self._buckets[client] = tokens - taken, now
        if len(self._buckets) > CLIENTS:
            self._buckets.popitem(last=False)
        return 0.0 if taken else (1 - tokens) * 60 / self._rate
