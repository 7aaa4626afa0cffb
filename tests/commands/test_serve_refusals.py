"""Requests that `tdo serve` refuses."""

import contextlib
import socket

import pytest
from support.served import EXPLAIN, ORDER, TRANSLATE_HEAD, refusal_message


@pytest.mark.parametrize(
    ("path", "body", "words"),
    [
        ("translate", {**ORDER, "source": "xx"}, "`source` must be of two stages's languages"),
        ("translate", {**ORDER, "targets": ["fr", "xx"]}, "`targets`"),
        ("translate", {**ORDER, "targets": ["fr", "fr"]}, "fr occurs twice"),
        ("translate", {**ORDER, "targets": ["fr"] * 4}, "4 are more than two stages's 3"),
        ("translate", {**ORDER, "targets": "fr"}, "`targets` must be a list"),
        ("translate", {**ORDER, "targets": []}, "`targets` must be a list"),
        ("translate", {**ORDER, "targets": [3]}, "`targets` must be text"),
        ("translate", {**ORDER, "text": 7}, "`text` must be text; it is 7"),
        ("translate", {**ORDER, "text": "\ud800"}, "`text` must be valid Unicode"),
        ("translate", {**ORDER, "text": " \n "}, "`text` must have a sentence"),
        ("translate", {**ORDER, "text": "a" * 2001}, "at most 2,000 characters"),
        ("translate", {**ORDER, "text": "a\n" * 21}, "at most 20 sentences"),
        ("translate", {**ORDER, "model": "none"}, "`model` must be one of two stages"),
        ("translate", {**ORDER, "beam": 0}, "`beam` must be a whole number from 1 to 4"),
        ("translate", {**ORDER, "beam": True}, "`beam`"),
        ("translate", {**ORDER, "bean": 4}, "with only model, text, targets, source and beam"),
        ("translate", {"model": "two stages"}, "`text` must be given"),
        ("translate", [ORDER], "`body` must be an object"),
        ("translate", None, "`body` must be JSON"),
        ("translate", {**ORDER, "source": 3}, "`source` must be text"),
        ("translate", {**ORDER, "source": None, "text": "12 34 ..."}, "cannot be detected"),
        ("detect", {"model": "two stages", "text": "你好"}, "letters are unknown to the model"),
        ("detect", {"model": "two stages"}, "`text` must be given"),
        ("detect", ORDER, 'an object with only model and text; it is "source"'),
        ("explain", {**EXPLAIN, "target": "xx"}, "`target`"),
        ("explain", {**EXPLAIN, "text": "\udcff"}, "`text` must be valid Unicode; it is '\\udcff'"),
        ("explain", {**EXPLAIN, "target": ["fr"]}, "`target` must be text"),
        ("explain", ORDER, "`target` must be given"),
    ],
)
def test_what_a_request_must_be(server, path, body, words):
    status, content, _ = server.asked("POST", f"/api/{path}", body)
    assert status == 400 and words in content["error"]["message"], content


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[" * 60_000,
        b"nan",
        b"1" * 6000,
        b'{"model":',
        b"\0" * 1000,
        b"{}{}",
    ],
)
def test_garbage(server, body):
    refusal_message(server.asked("POST", "/api/translate", body), 400, "not-json")
    assert server.asked("GET", "/health")[0] == 200


def test_wrong_methods_and_paths(server):
    for path in ("/api/translate", "/api/explain", "/api/detect"):
        *_, response = answer = server.asked("GET", path)
        refusal_message(answer, 405, "wrong-method")
        assert response.getheader("allow") == "POST"
    refusal_message(server.asked("POST", "/api/models", {}), 405, "wrong-method")
    refusal_message(server.asked("DELETE", "/"), 405, "wrong-method")
    for path in ("/nothing", "/api/", "/api/translate/", "/../etc/passwd", "/page_files/main.js"):
        refusal_message(server.asked("GET", path), 404, "not-found")


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "[::1].x"]
)
def test_another_host(server, host):
    for method, path in (("GET", "/"), ("GET", "/api/models"), ("POST", "/api/translate")):
        words = refusal_message(server.asked(method, path, ORDER, {"Host": host}), 403, "host")
        assert "--allow-host" in words
    assert server.asked("GET", "/health", None, {"Host": "allowed.example"})[0] == 200
    assert server.asked("GET", "/health", None, {"Host": "localhost:1"})[0] == 200


def test_another_site(server):
    own = f"127.0.0.1:{server.port}"
    for origin in (
        "http://evil.example",
        "null",
        "http://127.0.0.1:1",
        f"http://{own}.evil.example",
    ):
        refusal_message(
            server.asked("POST", "/api/translate", ORDER, {"Origin": origin}), 403, "origin"
        )
    for site in ("cross-site", "same-site"):
        answer = server.asked("POST", "/api/translate", ORDER, {"Sec-Fetch-Site": site})
        refusal_message(answer, 403, "origin")
    assert server.asked("POST", "/api/translate", ORDER, {"Origin": f"http://{own}"})[0] == 200
    assert server.asked("GET", "/", None, {"Sec-Fetch-Site": "cross-site"})[0] == 200  # a link
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
        answer = server.asked("POST", "/api/translate", ORDER, {"Content-Type": kind})
        refusal_message(answer, 415, "not-json")
    refusal_message(server.asked("OPTIONS", "/api/translate"), 405, "wrong-method")


def test_large_bodies_are_refused_before_they_are_read(server):
    with socket.create_connection(("127.0.0.1", server.port), 30) as raw:
        raw.sendall(TRANSLATE_HEAD + b"Content-Length: 10485760\r\n\r\n")  # and nothing more
        assert raw.recv(4096).startswith(b"HTTP/1.1 413 ")
    with socket.create_connection(("127.0.0.1", server.port), 30) as raw:  # without a length
        raw.sendall(TRANSLATE_HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
        answered = b""
        with contextlib.suppress(ConnectionError):  # it may have closed the connection
            for _ in range(10):
                raw.sendall(b"100000\r\n" + b"a" * (1 << 20) + b"\r\n")
            answered = raw.recv(4096)
        assert not answered or answered.startswith(b"HTTP/1.1 413 ")
    for _ in range(3):
        with contextlib.suppress(ConnectionError):
            assert server.asked("POST", "/api/translate", b"a" * 10_000_000)[0] == 413
    assert server.asked("GET", "/health")[0] == 200


def test_bytes_that_are_no_http(server):
    for sent in (
        b"\x16\x03\x01\x02\x00",
        b"GARBAGE\r\n\r\n",
        b"GET / HTTP/9\r\n\r\n",
        b"\0" * 70_000,
    ):
        with socket.create_connection(("127.0.0.1", server.port), 30) as raw:
            raw.sendall(sent)
            raw.settimeout(10)
            with contextlib.suppress(ConnectionError):
                received = raw.recv(100)
                assert not received or received.startswith(b"HTTP/1.1 4")
    assert server.asked("GET", "/health")[0] == 200
