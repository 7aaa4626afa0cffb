"""The command `tdo serve`: how it begins, and how it ends."""

import contextlib
import http.client
import json
import re
import signal
import socket
import subprocess
import sys

import pytest
from support.commands import environment, told
from support.prepared import trained
from support.served import ORDER, begin_translation, refusal_message

from tdo_plugin.serve.request_guard import Hosts, RequestGuard
from tdo_plugin.serve.request_limits import Limits
from tdo_plugin.serve.server import listening, serve_until_signal, server_of


@contextlib.contextmanager
def serve_process(*words):
    """`tdo serve` in a process of its own, and its port; killed if it outlives the block."""
    process = subprocess.Popen(
        [sys.executable, *map(str, words), "--cpu", "--port", "0"],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        line = process.stdout.readline()
        names = r"\S+ \(language detector: [\w-]+\)"
        begun = re.match(rf"http://127\.0\.0\.1:(\d+)/ serves {names}; Ctrl\+C ends it\n", line)
        assert begun, line
        yield process, int(begun[1])
    finally:
        process.kill()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_server_well(number):
    words = ("-m", "tdo_plugin", "serve", trained(), "--beam", "2")
    with serve_process(*words) as (process, port):
        connection = http.client.HTTPConnection("127.0.0.1", port)
        connection.request("GET", "/api/models")
        assert json.loads(connection.getresponse().read())["limits"]["beam"] == 2
        process.send_signal(number)
        _, errors = process.communicate(timeout=60)
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


@pytest.mark.full
@pytest.mark.parametrize("text", ["gentle", "stubborn"])
def test_a_signal_ends_a_server_whose_model_runs(text):
    order = {**ORDER, "model": "m", "text": text}
    with serve_process("-c", STUCK, "serve", f"m={trained()}") as (process, port):
        clients = [begin_translation(port, order) for _ in range(3)]
        assert process.stdout.readline() == "begun\n"
        process.send_signal(signal.SIGTERM)
        for client in clients:
            response = client.getresponse()
            assert response.getheader("x-frame-options") == "DENY"
            refusal_message((response.status, json.loads(response.read())), 503, "ending")
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    lines = errors.splitlines()
    assert len(lines) == 4 and all(" 503 " in line for line in lines[1:]), errors


def test_a_failed_start_is_no_success(monkeypatch):
    async def startup(self, sockets=None):
        sys.exit(3)

    monkeypatch.setattr("uvicorn.Server.startup", startup)
    with listening("127.0.0.1", 0) as opened, pytest.raises(SystemExit) as ended:
        guard = RequestGuard(None, Hosts(), Limits(), "", print)
        serve_until_signal(server_of(guard, Limits()), opened)
    assert ended.value.code == 3


def test_what_is_refused(refused, capsys, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        _, errors = told(capsys, "serve", trained(), "--cpu", "--port", port, code=2)
    assert f"`--port` must be free on 127.0.0.1; {port}: " in errors
    refused.rows(
        """
        serve {model} --cpu
            --host no.such.host.invalid :: --host
            --port 70000                :: --port
            --trust-proxy proxy         :: --trust-proxy
        """,
        model=trained(),
    )
    monkeypatch.setattr("tdo_plugin.cli.serve.find_spec", lambda name: name != "uvicorn" or None)
    refused("serve", trained(), names="pip install", case="without uvicorn")
