"""A server of the page on a port of this machine, and requests to it."""

import http.client
import json
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from support.data import CROSS_ENTROPY, ENCODER_DECODER
from support.prepared import trained
from support.processes import until

from tdo_plugin.evaluation.decoding.decoding_options import DecodingOptions
from tdo_plugin.metrics.silence import quiet_libraries
from tdo_plugin.serve.app import Application, build_app
from tdo_plugin.serve.model_worker import ModelWorker
from tdo_plugin.serve.opening import open_models
from tdo_plugin.serve.request_limits import Limits, RateLimiter
from tdo_plugin.serve.served_model import ServedModel
from tdo_plugin.serve.server import hosts_of, listening, server_of

MANY = Limits(rate=100_000)
# what requests to translate and to explain say
TEXT = "der kleine Hund"
ORDER = {"model": "two stages", "text": TEXT, "source": "de", "targets": "all"}
EXPLAIN = {"model": "two stages", "text": TEXT, "source": "de", "target": "fr"}
JSON_BODY = {"Content-Type": "application/json"}
# the beginning of a request that a test writes byte by byte
TRANSLATE_HEAD = (
    b"POST /api/translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
)
SHORT = ("--max-update", "4")  # of a training whose model need not be good


def two_models() -> list[ServedModel]:
    """A two-stage and an encoder-decoder model, briefly trained, of English, German and French."""
    other = trained(*ENCODER_DECODER, "--tdo-adaptation-dim", "0", *CROSS_ENTROPY)
    paths = {"two stages": str(trained()), "encoder-decoder": str(other)}
    with quiet_libraries():
        return open_models(paths, None, DecodingOptions((), max_len_b=30), "cpu")


@dataclass
class Served:
    """A running server."""

    port: int  # on 127.0.0.1
    worker: ModelWorker  # which runs the models
    rates: RateLimiter  # of its clients
    lines: list[str]  # its log

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def asked(
        self,
        method: str,
        path: str,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        timeout: float = 60.0,
    ) -> tuple[int, Any, http.client.HTTPResponse]:
        """Status, content and response; a body that is not bytes is sent as JSON."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            sent = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
            kind = JSON_BODY if method == "POST" else {}
            connection.request(method, path, sent, {**kind, **(headers or {})})
            response = connection.getresponse()
            content = response.read()
            is_json = response.getheader("content-type") == "application/json"
            return response.status, json.loads(content) if is_json else content.decode(), response
        finally:
            connection.close()

    def log(self, count: int) -> list[str]:
        """Its first lines, which are written after the answers."""
        until(lambda: len(self.lines) >= count)
        return self.lines[:count]

    @contextmanager
    def busy(self) -> Iterator[None]:
        """The worker runs a job until the block ends."""
        release, running = threading.Event(), threading.Event()
        try:
            self.worker.submit(lambda _: (running.set(), release.wait(60)))
            assert running.wait(30)
            yield
        finally:
            release.set()


@contextmanager
def served(
    models: Sequence[ServedModel],
    limits: Limits = MANY,
    log_text: bool = False,
    proxies: Sequence[str] = (),
) -> Iterator[Served]:
    """A server of these models in a thread of this process."""
    worker = ModelWorker(limits.waiting)
    with listening("127.0.0.1", 0) as opened:
        lines: list[str] = []
        app = build_app(
            Application(models, worker, limits, log_text),
            hosts_of(opened, ["allowed.example"]),
            limits,
            lines.append,
        )
        running = Served(opened.getsockname()[1], worker, app.rates, lines)
        server = server_of(app, limits, proxies)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [opened]}, daemon=True)
        thread.start()
        try:
            yield running
        finally:
            server.should_exit = True
            thread.join(30)
            worker.close(30)


def begin_translation(port: int, order: Any = ORDER) -> http.client.HTTPConnection:
    """A connection on which a translation is requested, and its answer not read."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("POST", "/api/translate", json.dumps(order), JSON_BODY)
    return connection


def refusal_message(answer: Sequence[Any], status: int, code: str) -> str:
    """The message of an answer that refuses with this status and code."""
    assert answer[0] == status, answer
    error = answer[1]["error"]
    assert error["code"] == code and set(answer[1]) == {"error"}, error
    message: str = error["message"]
    assert message.startswith("`") and "must" in message
    return message


def embedded(html: str) -> Any:
    """The data in a page of `tdo explain`."""
    match = re.search(r'id="embedded">(.*?)</script>', html, re.DOTALL)
    assert match, html
    return json.loads(match[1])
