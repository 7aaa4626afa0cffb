"""`tdo serve` and `tdo explain`: what they answer, refuse and survive."""

import base64
import contextlib
import gc
import http.client
import importlib.util
import json
import math
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from argparse import Namespace
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
import torch
from support.commands import environment, told
from support.data import ENCODER_DECODER
from support.prepared import prepared, trained
from support.served import MANY, served, two_models

from tdo_plugin.checkpoints import read
from tdo_plugin.errors import UserError
from tdo_plugin.evaluation.decoding import loading
from tdo_plugin.evaluation.decoding.decoding_options import DecodingOptions
from tdo_plugin.evaluation.decoding.loading import recorded_data
from tdo_plugin.evaluation.decoding.worker import Work
from tdo_plugin.serve import bounded_connection, explained_page, opening
from tdo_plugin.serve.explained_translation import explain_translation
from tdo_plugin.serve.opening import open_models
from tdo_plugin.serve.request_guard import Hosts, RequestGuard
from tdo_plugin.serve.request_limits import Limits
from tdo_plugin.serve.server import listening, serve_until_signal, server_of

TEXT = "der kleine Hund"
ORDER = {"model": "two stages", "text": TEXT, "source": "de", "targets": "all"}
EXPLAIN = {"model": "two stages", "text": TEXT, "source": "de", "target": "fr"}


@pytest.fixture(scope="module")
def models():
    return two_models()


@pytest.fixture(scope="module")
def server(models):
    with served(models) as running:
        yield running


def message(answer, status, code):
    """The message of a refusal with this status and code."""
    assert answer[0] == status, answer
    error = answer[1]["error"]
    assert error["code"] == code and set(answer[1]) == {"error"}, error
    assert error["message"].startswith("`") and "must" in error["message"]
    return error["message"]


def log_of(server, count):
    """The first lines of a server's log, which are written after the answers."""
    while len(server.lines) < count:
        time.sleep(0.01)
    return server.lines[:count]


# --- answers ----------------------------------------------------------------------------------


def test_the_page_and_its_headers(server):
    status, html, response = server.asked("GET", "/")
    assert status == 200 and html.startswith("<!DOCTYPE html>") and html.endswith("</html>\n")
    assert response.getheader("content-type") == "text/html; charset=utf-8"
    for path in ("/", "/health", "/nothing"):
        *_, response = server.asked("GET", path)
        policy = response.getheader("content-security-policy")
        assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
        assert response.getheader("x-content-type-options") == "nosniff"
        assert response.getheader("x-frame-options") == "DENY"
        assert not [name for name, _ in response.getheaders() if name.startswith("access-control")]


def test_models_and_health(server):
    assert server.asked("GET", "/health")[1] == {"status": "ok", "models": 2, "waiting": 0}
    _, content, _ = server.asked("GET", "/api/models")
    first, second = content["models"]
    assert first["name"] == "two stages" and second["name"] == "encoder-decoder"
    assert first["languages"] == ["en", "de", "fr"]
    assert first["directions"] == sorted(["en-de", "de-en", "en-fr", "fr-en"])
    assert (first["kind"], second["kind"]) == ("two-stage", "encoder-decoder")
    assert content["limits"]["characters"] == MANY.characters


def test_translations_are_those_of_the_translator(server, models):
    text = f"{TEXT}\n\ndas alte Haus"
    status, content, _ = server.asked("POST", "/api/translate", {**ORDER, "text": text})
    assert status == 200
    assert [each["target"] for each in content["translations"]] == ["en", "fr"]
    for each in content["translations"]:
        hypotheses = models[0].translator.translate_lines(
            f"de-{each['target']}", [TEXT, "das alte Haus"]
        )
        assert each["text"] == "\n\n".join(hypothesis.text for hypothesis in hypotheses)
        assert each["zero_shot"] == (each["target"] == "fr")
        assert [sentence["source"] for sentence in each["sentences"]] == [TEXT, "das alte Haus"]
        for sentence, hypothesis in zip(each["sentences"], hypotheses, strict=True):
            assert " ".join(sentence["pieces"]) == hypothesis.pieces
            assert sentence["score"] == pytest.approx(hypothesis.score, abs=1e-4)
        assert each["off_target"] in (None, True, False)


@pytest.mark.long
@pytest.mark.parametrize("flags", [(), ("--decoder-langtok",), ("--tdo-laln", "both")])
def test_one_search_for_all_targets_changes_nothing(flags):
    path = trained(*flags)
    work = Work(DecodingOptions((path,), max_len_b=30), prepared(), prepared().root)
    translator = work.load("cpu").usual
    lines = [TEXT, "", "das alte Haus und der Hund"]
    together = translator.translate_into("de", ["fr", "en", "de"], lines)
    for target, hypotheses in together.items():
        alone = translator.translate_lines(f"de-{target}", lines)
        assert [each.text for each in hypotheses] == [each.text for each in alone]
        assert [each.pieces for each in hypotheses] == [each.pieces for each in alone]
        scores = [each.score for each in alone]
        assert [each.score for each in hypotheses] == pytest.approx(scores, abs=1e-4)
    greedy = translator.with_beam(1)
    assert greedy.options.beam == 1 and translator.options.beam == 4
    assert greedy.models is translator.models and greedy._spm is translator._spm


@pytest.mark.parametrize("model", ["two stages", "encoder-decoder"])
def test_an_explanation(server, models, model):
    status, content, _ = server.asked("POST", "/api/explain", {**EXPLAIN, "model": model})
    assert status == 200
    source, target = content["source_pieces"], content["target_pieces"]
    assert source[0] == "__fr__" and source[-1] == target[-1] == "</s>" == content["begin"]
    index = [each.name for each in models].index(model)
    (hypothesis,) = models[index].translator.translate_lines("de-fr", [TEXT])
    assert content["translation"] == hypothesis.text
    assert target[:-1] == hypothesis.pieces.split()

    def array(matrix):
        units = np.frombuffer(base64.b64decode(matrix["units"]), dtype=np.uint8)
        return units.reshape(matrix["shape"]) / 255

    for layer in content["source_attention"]:
        weights = array(layer["source"])
        assert weights.shape[1:] == (len(source), len(source))
        assert weights.sum(-1) == pytest.approx(1, abs=len(source) / 255)
    for layer in content["target_attention"]:
        over_source, over_target = array(layer["source"]), array(layer["target"])
        assert over_source.shape[1:] == (len(target), len(source))
        assert not np.triu(over_target, 1).any()
        whole = [over_source.sum(-1), over_target.sum(-1)]
        for sums in [sum(whole)] if layer["kind"] == "joint" else whole:
            assert sums == pytest.approx(1, abs=(len(source) + len(target)) / 255)
    kind = "joint" if model == "two stages" else "cross"
    assert {layer["kind"] for layer in content["target_attention"]} == {kind}
    for step, piece in zip(content["steps"], target, strict=True):
        assert len(step["top"]) == 10
        shares = [share for _, share in step["top"]]
        assert shares == sorted(shares, reverse=True)
        if step["rank"] <= 10:
            assert step["top"][step["rank"] - 1] == [piece, step["probability"]]
    assert len(content["preference"]) == len(content["source_attention"])
    assert all(0 < layer["score"] < 1 for layer in content["preference"])


SHORT = ("--max-update", "4")
MERGED = ("--tdo-decoder-attention", "merged")


@pytest.mark.long
@pytest.mark.parametrize(
    "flags",
    [
        SHORT,
        (*SHORT, "--decoder-langtok"),
        (*SHORT, "--decoder-langtok", "--lang-tok-replacing-bos-eos"),
        (*SHORT, "--tdo-laln", "both", "--tdo-lalt", "xavier", "--tdo-norm", "pre"),
        (*SHORT, *ENCODER_DECODER, "--tdo-adaptation-dim", "0", *MERGED),
        (*SHORT, "--tdo-target-layer", "0", "--tdo-adaptation-dim", "0"),
    ],
    ids=" ".join,
)
def test_the_explained_pass_is_the_one_that_was_searched(flags):
    """The chosen pieces' probabilities give the score of the search: every tag has its place."""
    work = Work(DecodingOptions((trained(*flags),), max_len_b=30), prepared(), prepared().root)
    translator = work.load("cpu").usual
    explained = explain_translation(translator, "de-fr", TEXT)
    (hypothesis,) = translator.translate_lines("de-fr", [TEXT])
    assert explained.hypothesis == hypothesis
    chosen = [step.probability for step in explained.steps]
    score = sum(map(math.log2, chosen)) / len(chosen)
    assert score == pytest.approx(hypothesis.score, abs=1e-3)
    assert len(explained.weights.logits) == len(explained.target) == len(explained.steps)
    replaced = "--lang-tok-replacing-bos-eos" in flags
    assert bool(explained.preference) != replaced and bool(explained.no_preference) == replaced


def test_a_detected_source(server, models):
    text = "der kleine Hund und das alte Haus"
    order = {**ORDER, "text": text, "source": "detect"}
    status, content, _ = server.asked("POST", "/api/translate", order)
    assert status == 200 and content["source"] == "de"
    assert [each["target"] for each in content["translations"]] == ["en", "fr"]
    answer = server.asked("POST", "/api/translate", {**order, "text": "12 34 ..."})
    assert "not detected" in message(answer, 400, "wrong")
    blind = replace(models[0], detector=None)
    assert blind.detected("fr", text) == {"detected": None, "off_target": None}
    with pytest.raises(UserError, match="`source` must be a language without a detector"):
        blind.translate(text, "detect", "all")


def test_off_target(models):
    text = "der kleine Hund und das alte Haus"
    assert models[0].detected("de", text) == {"detected": "de", "off_target": False}
    assert models[0].detected("fr", text) == {"detected": "de", "off_target": True}
    assert models[0].detected("xx", text) == {"detected": "de", "off_target": None}
    assert models[0].detected("de", "12") == {"detected": None, "off_target": None}


def test_adapters_translate_trained_directions(tmp_path):
    path = trained(*SHORT, "--tdo-adapter-dim", "4")
    (model,) = open_models({"adapters": str(path)}, None, DecodingOptions((), max_len_b=9), "cpu")
    assert model.targets_of("de") == ["en"] and model.targets_of("en") == ["de", "fr"]
    answer = model.translate(TEXT, "de", "all")
    assert [each["target"] for each in answer["translations"]] == ["en"]
    assert "adapters" in model.explain(TEXT, "de", "en")["no_preference"]


# --- opening ----------------------------------------------------------------------------------


def test_the_folder_of_a_training_and_its_data(tmp_path):
    state = read(trained())
    assert recorded_data(trained(), state) == prepared().root
    state["extra_state"]["val_loss"] = 1.0
    torch.save(state, tmp_path / "checkpoint_best.pt")
    options = DecodingOptions(())
    (model,) = open_models({"a": str(tmp_path)}, None, options, "cpu", "none")
    assert model.detector is None and model.description()["detector"] is None


def test_a_data_folder_that_has_gone(monkeypatch):
    for data, shown in (("/gone:/gone/shard2", "/gone:"), (None, "an unknown folder")):
        monkeypatch.setattr(loading, "task_options", lambda _, data=data: Namespace(data=data))
        with pytest.raises(UserError, match=f"`--data` must name the data folder.*{shown}"):
            recorded_data(trained(), read(trained()))


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("gone.pt", "`MODEL` must name checkpoints that exist; .*gone.pt does not"),
        ("", "`--average` must be at most 0, the number of checkpoints with validation .* it is 1"),
    ],
)
def test_what_is_no_model(name, error, tmp_path):
    with pytest.raises(UserError, match=error):
        open_models({"a": f"{tmp_path}/{name}"}, None, DecodingOptions(()), "cpu")


def test_an_ensemble_is_no_model():
    with pytest.raises(UserError, match=r"`MODEL` must be one checkpoint or folder; it is .*:"):
        open_models({"a": f"{trained()}:{trained()}"}, None, DecodingOptions(()), "cpu")


def test_detectors_in_their_order(monkeypatch):
    tried = []

    def refused(spec, data):
        tried.append(spec)
        raise UserError("not here")

    monkeypatch.setattr(opening, "identifier", refused)
    assert opening.detector_of("auto", prepared()) is None
    assert tried == ["fasttext", "corpus", "langdetect"]
    with pytest.raises(UserError, match="not here"):
        opening.detector_of("langdetect", prepared())


# --- refusals ---------------------------------------------------------------------------------


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
        ("translate", {**ORDER, "bean": 4}, "with only model, text, source, targets and beam"),
        ("translate", {"model": "two stages"}, "`text` must be given"),
        ("translate", [ORDER], "`body` must be an object"),
        ("translate", None, "`body` must be JSON"),
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
    message(server.asked("POST", "/api/translate", body), 400, "not-json")
    assert server.asked("GET", "/health")[0] == 200


def test_wrong_methods_and_paths(server):
    for path in ("/api/translate", "/api/explain"):
        *_, response = answer = server.asked("GET", path)
        message(answer, 405, "wrong-method")
        assert response.getheader("allow") == "POST"
    message(server.asked("POST", "/api/models", {}), 405, "wrong-method")
    message(server.asked("DELETE", "/"), 405, "wrong-method")
    for path in ("/nothing", "/api/", "/api/translate/", "/../etc/passwd", "/page_files/main.js"):
        message(server.asked("GET", path), 404, "not-found")


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "[::1].x"]
)
def test_another_host(server, host):
    for method, path in (("GET", "/"), ("GET", "/api/models"), ("POST", "/api/translate")):
        words = message(server.asked(method, path, ORDER, {"Host": host}), 403, "host")
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
        message(server.asked("POST", "/api/translate", ORDER, {"Origin": origin}), 403, "origin")
    for site in ("cross-site", "same-site"):
        answer = server.asked("POST", "/api/translate", ORDER, {"Sec-Fetch-Site": site})
        message(answer, 403, "origin")
    assert server.asked("POST", "/api/translate", ORDER, {"Origin": f"http://{own}"})[0] == 200
    assert server.asked("GET", "/", None, {"Sec-Fetch-Site": "cross-site"})[0] == 200  # a link
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
        answer = server.asked("POST", "/api/translate", ORDER, {"Content-Type": kind})
        message(answer, 415, "not-json")
    message(server.asked("OPTIONS", "/api/translate"), 405, "wrong-method")


def test_large_bodies_are_refused_before_they_are_read(server):
    began = time.monotonic()
    with socket.create_connection(("127.0.0.1", server.port), 30) as raw:
        head = (
            "POST /api/translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        )
        raw.sendall(f"{head}Content-Length: 10485760\r\n\r\n".encode())  # and nothing more
        assert raw.recv(4096).startswith(b"HTTP/1.1 413 ")
    assert time.monotonic() - began < 5
    with socket.create_connection(("127.0.0.1", server.port), 30) as raw:  # without a length
        raw.sendall(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
        answered = b""
        try:
            for _ in range(10):
                raw.sendall(b"100000\r\n" + b"a" * (1 << 20) + b"\r\n")
            answered = raw.recv(4096)
        except ConnectionError:  # it has closed the connection
            pass
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


# --- load -------------------------------------------------------------------------------------


@pytest.mark.long
def test_a_hundred_requests_at_once(models):
    with served(models, Limits(rate=100_000, waiting=200)) as server:
        with ThreadPoolExecutor(100) as pool:
            answers = list(
                pool.map(
                    lambda number: server.asked(
                        "POST",
                        "/api/translate",
                        {**ORDER, "text": f"{TEXT} {number % 5}", "targets": ["en"]},
                    ),
                    range(100),
                )
            )
        assert Counter(status for status, *_ in answers) == {200: 100}
        texts = [content["translations"][0]["text"] for _, content, _ in answers]
        assert all(text == texts[number % 5] for number, text in enumerate(texts))
        assert len(log_of(server, 100)) == 100


def test_a_full_queue_and_the_rate(models):
    release, running = threading.Event(), threading.Event()
    order = {**ORDER, "targets": ["en"]}
    with served(models, Limits(rate=6, waiting=2)) as server:
        try:
            server.worker.submit(lambda _: (running.set(), release.wait(60)))
            assert running.wait(30)
            for _ in range(2):
                server.worker.submit(lambda _: None)
            *_, response = busy = server.asked("POST", "/api/translate", order)
            message(busy, 503, "busy")
            assert int(response.getheader("retry-after")) >= 1
            assert server.asked("GET", "/health")[1]["waiting"] == 2
        finally:
            release.set()
        for _ in range(5):
            assert server.asked("POST", "/api/translate", order)[0] in (200, 503)
        *_, response = more = server.asked("POST", "/api/translate", order)
        message(more, 429, "too-many")
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
        message(more, 429, "too-many")
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
        message((503, json.loads(body)), 503, "busy")
        for header in (b"content-security-policy", b"retry-after", b"x-frame-options"):
            assert header + b": " in head.lower()
        assert f"content-length: {len(body)}".encode() in head
        assert [raw.recv(100) for raw in idle] == [b""] * 3  # a second later
        assert server.asked("GET", "/health")[0] == 200
    with served(models, Limits(rate=9, connections=2)) as server, contextlib.ExitStack() as opened:
        for _ in range(2):
            connected()
        assert connected().recv(100).startswith(b"HTTP/1.1 503 ")


def test_who_does_not_read_is_disconnected(models, monkeypatch):
    monkeypatch.setattr(bounded_connection, "READ", 0.5)
    with served(models) as server:
        page = server.asked("GET", "/")[1].encode()
        with socket.socket() as raw:
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            raw.settimeout(30)
            raw.connect(("127.0.0.1", server.port))
            count = 300  # more than the buffers of both sides hold
            raw.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" * count)
            time.sleep(2)
            size = 0
            with contextlib.suppress(ConnectionError):
                while received := raw.recv(1 << 20):
                    size += len(received)
        assert size < count * len(page)
        assert server.asked("GET", "/health")[0] == 200


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
            assert (" 192.0.2.2 " in log_of(server, 4)[1]) == bool(proxies)


def test_slow_clients_hold_nobody_up(models):
    with served(models, Limits(rate=100_000, body_seconds=1)) as server:
        head = (
            b"POST /api/translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        )
        slow = [socket.create_connection(("127.0.0.1", server.port), 30) for _ in range(20)]
        try:
            for number, raw in enumerate(slow):
                raw.sendall(head if number % 2 else head + b"Content-Length: 100\r\n\r\n{")
            began = time.monotonic()
            assert server.asked("POST", "/api/translate", ORDER)[0] == 200
            assert time.monotonic() - began < 10
            assert slow[0].recv(100).startswith(b"HTTP/1.1 408 ")
            assert slow[1].recv(100) == b""  # closed, without a whole head
            idle = http.client.HTTPConnection("127.0.0.1", server.port)
            for _ in range(2):  # a connection may have several requests
                idle.request("GET", "/health")
                assert idle.getresponse().read()
            idle.sock.sendall(b"GET /health HTTP/1.1\r\n")
            assert idle.sock.recv(100) == b""
        finally:
            for raw in slow:
                raw.close()


def test_who_has_gone_is_not_translated_for(models):
    release, running = threading.Event(), threading.Event()
    with served(models) as server:
        server.worker.submit(lambda _: (running.set(), release.wait(60)))
        assert running.wait(30)
        connection = http.client.HTTPConnection("127.0.0.1", server.port)
        kind = {"Content-Type": "application/json"}
        connection.request("POST", "/api/translate", json.dumps(ORDER), kind)
        while not server.worker.waiting:
            time.sleep(0.01)
        connection.close()
        (line,) = log_of(server, 1)
        release.set()
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
        connection = http.client.HTTPConnection("127.0.0.1", server.port)
        kind = {"Content-Type": "application/json"}
        count = len(server.lines)
        connection.request("POST", "/api/translate", json.dumps(ORDER), kind)
        assert running.wait(30)
        connection.close()
        assert " 499 " in log_of(server, count + 1)[-1]
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
            first, second = log_of(server, 2)
        assert re.match(
            r"\d\d:\d\d:\d\d 127.0.0.1 POST /api/translate 200 \d+ ms two stages de-all ", first
        )
        assert (TEXT in first) == log_text
        assert " 400 " in second
    with served(models) as server:
        strange = {**EXPLAIN, "target": "x\n" + "y" * 60_000}
        assert server.asked("POST", "/api/explain", strange)[0] == 400
        assert "yy" not in log_of(server, 1)[0]


def test_an_error_of_the_model_is_not_the_client_s(models, monkeypatch, capsys):
    with served(models) as server:
        monkeypatch.setattr(type(models[0].translator), "translate_into", lambda *_: [][0])
        message(server.asked("POST", "/api/translate", ORDER), 500, "internal")
        assert "IndexError" in log_of(server, 1)[0]
        assert server.asked("POST", "/api/explain", EXPLAIN)[0] == 200


# --- the commands -----------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_server_well(number):
    words = [sys.executable, "-m", "tdo_plugin", "serve", trained()]
    words += ["--cpu", "--port", "0", "--beam", "2"]
    process = subprocess.Popen(
        list(map(str, words)),
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        line = process.stdout.readline()
        port = int(re.match(r"http://127\.0\.0\.1:(\d+)/ serves \S+; Ctrl\+C ends it\n", line)[1])
        connection = http.client.HTTPConnection("127.0.0.1", port)
        connection.request("GET", "/api/models")
        assert json.loads(connection.getresponse().read())["limits"]["beam"] == 2
        process.send_signal(number)
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 0
    assert "Traceback" not in errors and len(errors.splitlines()) == 1, errors


# the model of this server stops in a search, so that a job runs when the signal comes
STUCK = """
import sys, threading, time
from tdo_plugin.cli import main
from tdo_plugin.evaluation.decoding.translator import Translator

def stuck(self, source, targets, lines, progress):
    print("begun", flush=True)
    while True:
        time.sleep(0.05)
        if lines[0] == "gentle":
            progress(1)

Translator.translate_into = stuck
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.long
@pytest.mark.parametrize("text", ["gentle", "stubborn"])
def test_a_signal_ends_a_server_whose_model_runs(text):
    words = [sys.executable, "-c", STUCK, "serve", f"m={trained()}", "--cpu", "--port", "0"]
    process = subprocess.Popen(
        list(map(str, words)),
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        port = int(re.search(r":(\d+)/", process.stdout.readline())[1])
        kind = {"Content-Type": "application/json"}
        clients = [http.client.HTTPConnection("127.0.0.1", port, timeout=60) for _ in range(3)]
        for client in clients:
            order = {**ORDER, "model": "m", "text": text}
            client.request("POST", "/api/translate", json.dumps(order), kind)
        assert process.stdout.readline() == "begun\n"
        process.send_signal(signal.SIGTERM)
        for client in clients:
            response = client.getresponse()
            assert response.getheader("x-frame-options") == "DENY"
            message((response.status, json.loads(response.read())), 503, "ending")
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 0, errors
    lines = errors.splitlines()
    assert len(lines) == 4 and all(" 503 " in line for line in lines[1:]), errors


def test_a_failed_start_is_no_success(models, monkeypatch):
    async def startup(self, sockets=None):
        sys.exit(3)

    monkeypatch.setattr("uvicorn.Server.startup", startup)
    with listening("127.0.0.1", 0) as opened, pytest.raises(SystemExit) as ended:
        guard = RequestGuard(None, Hosts(), Limits(), "", print)
        serve_until_signal(server_of(guard, Limits()), opened)
    assert ended.value.code == 3


def test_a_taken_port_and_a_strange_host(capsys):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        _, errors = told(capsys, "serve", trained(), "--cpu", "--port", port, code=2)
    assert f"`--port` must be free on 127.0.0.1; {port}: " in errors
    _, errors = told(capsys, "serve", trained(), "--host", "no.such.host.invalid", code=2)
    assert "`--host` must be an address of this machine" in errors
    _, errors = told(capsys, "serve", trained(), "--port", 70_000, code=2)
    assert "`--port` must be from 0 to 65535" in errors
    _, errors = told(capsys, "serve", trained(), "--trust-proxy", "proxy", code=2)
    assert "`--trust-proxy` must be an IP address; it is proxy" in errors


def test_without_its_packages(capsys, monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(
        "tdo_plugin.cli.serve.find_spec", lambda name: None if name == "uvicorn" else find(name)
    )
    _, errors = told(capsys, "serve", trained(), code=2)
    assert "`uvicorn` must be installed, to serve a page; it is not (" in errors
    assert "pip install" in errors and errors.count("\n") == 1


def test_explain_writes_one_small_file(tmp_path, capsys):
    out = tmp_path / "page.html"
    text = f"{TEXT} </script><b>"
    words = ("-s", "de", "-t", "fr", "en", "--text", text, "--out", out, "--cpu")
    printed, errors = told(capsys, "explain", f"a={trained()}", f"b={trained()}", *words)
    assert printed == f"{out}\n" and not errors
    html = out.read_text(encoding="utf-8")
    assert len(html.encode()) < 2_000_000
    for pattern in (r"https?:", r"\bsrc=", r"url\(", r"@import"):
        assert not re.search(pattern, html), pattern
    held = re.search(r'id="embedded">(.*?)</script>', html, re.DOTALL)[1]
    explanations = json.loads(held)["explanations"]
    assert [(each["model"], each["target"]) for each in explanations] == [
        *(("a", "fr"), ("b", "fr"), ("a", "en"), ("b", "en"))
    ]
    assert all(each["text"] == text for each in explanations)


def test_a_page_that_would_be_too_large_has_mean_weights(models, monkeypatch):
    def heads():
        html = explained_page.explained_page(models[:1], TEXT, "de", ["fr"])
        held = json.loads(re.search(r'id="embedded">(.*?)</script>', html, re.DOTALL)[1])
        return held["explanations"][0]["source_attention"][0]["source"]["shape"][0], len(html)

    whole, size = heads()
    assert whole > 1
    monkeypatch.setattr(explained_page, "LARGEST", size)
    mean, smaller = heads()
    assert mean == 1 and smaller < size
    monkeypatch.setattr(explained_page, "LARGEST", smaller)
    with pytest.raises(UserError, match="`--text` must be shorter"):
        heads()


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("-s", "xx", "-t", "fr", "--text", "a"), "`source` must be of "),
        (("-s", "de", "-t", "xx", "--text", "a"), "`target` must be of "),
        (("-s", "de", "-t", "fr", "--text", " "), "`--text` must have a sentence"),
        (("-s", "de", "-t", "fr", "--text", "\udcff Hund"), "`--text` must be valid Unicode"),
        (("-s", "de", "-t", "fr", "--text", "Haus " * 1100), "at most 256 tokens to be explained"),
    ],
)
def test_what_explain_refuses(words, error, tmp_path, capsys):
    out = tmp_path / "page.html"
    _, errors = told(capsys, "explain", trained(), "--cpu", *words, "--out", out, code=2)
    assert error in errors and not out.exists() and not list(tmp_path.iterdir())


def test_where_explain_cannot_write(tmp_path, capsys):
    words = ("explain", trained(), "-s", "de", "-t", "fr", "--text", "a")
    for out in (tmp_path, tmp_path / "none" / "page.html"):
        _, errors = told(capsys, *words, "--out", out, code=2)
        assert "`--out` must be a file in an existing folder" in errors
