"""Clients of `tdo serve` that are slow, leave, or are many; models that fail; the log of all."""

import contextlib
import gc
import http.client
import json
import re
import socket
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from support.processes import until
from support.served import (
    EXPLAIN,
    ORDER,
    TEXT,
    TRANSLATE_HEAD,
    begin_translation,
    refusal_message,
    served,
)

from tdo_plugin.errors import UserError
from tdo_plugin.serve import bounded_connection
from tdo_plugin.serve.bounded_connection import BoundedConnection
from tdo_plugin.serve.request_limits import Limits


def test_who_does_not_read_is_disconnected(models, monkeypatch):
    monkeypatch.setattr(bounded_connection, "READ", 0.5)
    usual, lost = BoundedConnection.connection_lost, []

    def connection_lost(connection, error):
        usual(connection, error)
        lost.append(connection.client[1])

    monkeypatch.setattr(BoundedConnection, "connection_lost", connection_lost)
    with served(models) as server:
        page = server.asked("GET", "/")[1].encode()
        with socket.socket() as raw:
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            raw.settimeout(30)
            raw.connect(("127.0.0.1", server.port))
            count = 300  # more than the buffers of both sides hold
            raw.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" * count)
            until(lambda: raw.getsockname()[1] in lost)
            size = 0
            with contextlib.suppress(ConnectionError):
                while received := raw.recv(1 << 20):
                    size += len(received)
        assert size < count * len(page)
        assert server.asked("GET", "/health")[0] == 200


@contextlib.contextmanager
def slow_clients(port):
    """Connections with a request in part, every other one of it without a whole head."""
    with contextlib.ExitStack() as opened:
        slow = []
        for number in range(20):
            slow.append(opened.enter_context(socket.create_connection(("127.0.0.1", port), 30)))
            rest = b"" if number % 2 else b"Content-Length: 100\r\n\r\n{"
            slow[-1].sendall(TRANSLATE_HEAD + rest)
        yield slow


def test_slow_clients_hold_nobody_up(models):
    with served(models) as server, slow_clients(server.port):  # they may be slow for long
        assert server.asked("POST", "/api/translate", ORDER)[0] == 200


def test_slow_clients_are_disconnected(models):
    with served(models, Limits(rate=100_000, body_seconds=1)) as server:
        with slow_clients(server.port) as slow:
            assert slow[0].recv(100).startswith(b"HTTP/1.1 408 ")
            assert slow[1].recv(100) == b""  # closed, without a whole head
        idle = http.client.HTTPConnection("127.0.0.1", server.port)
        for _ in range(2):  # a connection may have several requests
            idle.request("GET", "/health")
            assert idle.getresponse().read()
        idle.sock.sendall(b"GET /health HTTP/1.1\r\n")
        assert idle.sock.recv(100) == b""


def test_who_has_gone_is_not_translated_for(models):
    with served(models) as server, server.busy():
        connection = begin_translation(server.port)
        until(lambda: server.worker.waiting)
        connection.close()
        (line,) = server.log(1)
        assert " 499 " in line


def test_a_job_without_a_client_ends_and_its_error_is_one_line(models, monkeypatch, capfd):
    ends, running = threading.Event(), threading.Event()
    outcomes = []

    def abandoned(server, work):
        """Begin a request, leave while it runs, and wait for the end of its job."""
        ends.clear(), running.clear()

        def begun(*arguments):
            running.set()
            ends.wait(30)
            try:
                work(arguments[-1])
            except BaseException as error:
                outcomes.append(type(error).__name__)
                raise

        monkeypatch.setattr(type(models[0].translator), "translate_into", begun)
        count = len(server.lines)
        connection = begin_translation(server.port)
        assert running.wait(30)
        connection.close()
        assert " 499 " in server.log(count + 1)[-1]
        ends.set()
        server.worker.submit(lambda _: None).result(30)

    def mistaken(_):
        raise UserError("`text` must be another")

    with served(models) as server:
        abandoned(server, lambda progress: progress(1))
        abandoned(server, mistaken)
        abandoned(server, lambda _: [][0])
    gc.collect()
    assert outcomes == ["GivenUpError", "UserError", "IndexError"]
    errors = capfd.readouterr().err
    assert "never retrieved" not in errors and "Traceback" not in errors
    assert errors.count("IndexError") == 1 and "UserError" not in errors, errors


def test_log_lines(models):
    for log_text in (False, True):
        with served(models, log_text=log_text) as server:
            server.asked("POST", "/api/translate", ORDER)
            server.asked("POST", "/api/translate", b"{")
            first, second = server.log(2)
        assert re.match(
            r"\d\d:\d\d:\d\d 127.0.0.1 POST /api/translate 200 \d+ ms two stages de-all ", first
        )
        assert (TEXT in first) == log_text
        assert " 400 " in second
    with served(models) as server:
        strange = {**EXPLAIN, "target": "x\n" + "y" * 60_000}
        assert server.asked("POST", "/api/explain", strange)[0] == 400
        assert "yy" not in server.log(1)[0]


def test_an_error_of_the_model_is_not_the_client_s(models, monkeypatch, capsys):
    with served(models) as server:
        monkeypatch.setattr(type(models[0].translator), "translate_into", lambda *_: [][0])
        refusal_message(server.asked("POST", "/api/translate", ORDER), 500, "internal")
        assert "IndexError" in server.log(1)[0]
        assert server.asked("POST", "/api/explain", EXPLAIN)[0] == 200


@pytest.mark.full
def test_forty_requests_at_once(models):
    with served(models, Limits(rate=100_000, waiting=200)) as server:

        def asked(number):
            text = {"text": f"{TEXT} {number % 5}", "targets": ["en"]}
            return server.asked("POST", "/api/translate", {**ORDER, **text})

        with ThreadPoolExecutor(40) as pool:
            answers = list(pool.map(asked, range(40)))
        assert Counter(status for status, *_ in answers) == {200: 40}
        texts = [content["translations"][0]["text"] for _, content, _ in answers]
        assert all(text == texts[number % 5] for number, text in enumerate(texts))
        assert len(server.log(40)) == 40


def test_a_full_queue_and_the_rate(models):
    order = {**ORDER, "targets": ["en"]}
    with served(models, Limits(rate=6, waiting=2)) as server:
        with server.busy():
            for _ in range(2):
                server.worker.submit(lambda _: None)
            *_, response = busy = server.asked("POST", "/api/translate", order)
            refusal_message(busy, 503, "busy")
            assert int(response.getheader("retry-after")) >= 1
            assert server.asked("GET", "/health")[1]["waiting"] == 2
        for _ in range(5):
            assert server.asked("POST", "/api/translate", order)[0] in (200, 503)
        *_, response = more = server.asked("POST", "/api/translate", order)
        refusal_message(more, 429, "too-many")
        assert 1 <= int(response.getheader("retry-after")) <= 11
        assert server.asked("GET", "/")[0] == 200  # only the models are limited


def test_the_rate_counts_sentences_and_languages(models):
    with served(models, Limits(rate=60)) as server:
        text = "der Hund\n" * 9 + "Haus " * 30  # the last counts as two
        assert server.asked("POST", "/api/translate", {**ORDER, "text": text})[0] == 200
        for _ in range(36):
            assert server.rates.wait("127.0.0.1") == 0
        assert server.asked("POST", "/api/translate", {**ORDER, "text": text})[0] == 200
        *_, response = more = server.asked("POST", "/api/explain", EXPLAIN)
        refusal_message(more, 429, "too-many")
        assert 15 <= int(response.getheader("retry-after")) <= 22


def test_idle_connections_are_bounded(models):
    limits = Limits(rate=100_000, body_seconds=1, connections_each=3)
    with served(models, limits) as server, contextlib.ExitStack() as opened:

        def connected():
            raw = opened.enter_context(socket.create_connection(("127.0.0.1", server.port), 30))
            return raw

        idle = [connected() for _ in range(3)]
        refused = connected().recv(4096)
        head, _, body = refused.partition(b"\r\n\r\n")
        refusal_message((503, json.loads(body)), 503, "busy")
        for header in (b"content-security-policy", b"retry-after", b"x-frame-options"):
            assert header + b": " in head.lower()
        assert f"content-length: {len(body)}".encode() in head
        assert [raw.recv(100) for raw in idle] == [b""] * 3  # a second later
        assert server.asked("GET", "/health")[0] == 200
    with served(models, Limits(rate=9, connections=2)) as server, contextlib.ExitStack() as opened:
        for _ in range(2):
            connected()
        assert connected().recv(100).startswith(b"HTTP/1.1 503 ")


def test_a_trusted_proxy_names_the_clients(models):
    limits = Limits(rate=1, connections_each=1)
    for proxies, second in (((), 429), (("127.0.0.1",), 200)):
        with served(models, limits, proxies=proxies) as server:
            order = {**ORDER, "targets": ["en"]}
            statuses = [
                server.asked("POST", "/api/translate", order, {"X-Forwarded-For": client})[0]
                for client in ("192.0.2.1", "192.0.2.2", "x" * 1000, "192.0.2.1")
            ]
            assert statuses == [200, second, second, 429]
            assert (" 192.0.2.2 " in server.log(4)[1]) == bool(proxies)
