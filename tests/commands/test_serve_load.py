"""`tdo serve` under load: many requests and connections at once, and their limits."""

import contextlib
import json
import socket
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from support.served import EXPLAIN, ORDER, TEXT, refusal_message, served

from tdo_plugin.serve.request_limits import Limits


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
