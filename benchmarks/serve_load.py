"""Measure `tdo serve`: time until it answers, memory, and sentences per second.

    python benchmarks/serve_load.py runs/tdo test.de --source de --sentences 200

The sentences of a text file are sent one by one, by several clients at a time. Seconds are those of
the clock and those that the server's process spent on all cores; the latter depend less on what
else the machine does.
"""

import argparse
import http.client
import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from tdo_plugin.runtime.processes import end_with_parent


@contextmanager
def served(models: list[str], machine: list[str]) -> Iterator[tuple[int, int, float]]:
    """Port and process id of a server, and the seconds until it answered.

    Args:
        models: as for `tdo serve`.
        machine: its options for the CPU or a GPU.
    """
    began = time.perf_counter()
    words = ["serve", *models, "--port", "0", *machine, "--max-rate", "1000000"]
    command = [sys.executable, "-m", "tdo_plugin", *words]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        assert server.stdout is not None
        try:
            match = re.search(r":(\d+)/", server.stdout.readline())
            assert match is not None, "the server has not started"
            ask(int(match[1]), "GET", "/health")
            yield int(match[1]), server.pid, time.perf_counter() - began
        finally:
            server.terminate()


def ask(port: int, method: str, path: str, content: Any = None) -> Any:
    """The JSON of an answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    kind = {"Content-Type": "application/json"} if content is not None else {}
    connection.request(method, path, None if content is None else json.dumps(content), kind)
    response = connection.getresponse()
    answer = json.loads(response.read())
    assert response.status == 200, answer
    return answer


def cpu_seconds(pid: int) -> float:
    """The seconds that a process has spent on all cores."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100  # the kernel's clock ticks


def peak_memory(pid: int) -> int:
    """The most memory that a process has had, in MiB."""
    (line,) = (
        line
        for line in Path(f"/proc/{pid}/status").read_text().splitlines()
        if line.startswith("VmHWM")
    )
    return int(line.split()[1]) // 1024


def main() -> None:
    end_with_parent()  # whose number `tdo serve` must not inherit: this process is its parent
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model", help="as for `tdo serve`")
    parser.add_argument("text", type=Path, help="one sentence per line")
    parser.add_argument("--source", required=True, metavar="LANG")
    parser.add_argument("--sentences", type=int, default=200, metavar="N")
    parser.add_argument("--clients", type=int, default=4, metavar="N")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    arguments = parser.parse_args()
    machine = ["--cpu"] if arguments.device == "cpu" else ["--gpus", "1"]
    with arguments.text.open(encoding="utf-8") as lines:
        sentences = [line.strip() for line in islice(lines, arguments.sentences)]
    with served([arguments.model], machine) as (port, pid, seconds):
        (model,) = ask(port, "GET", "/api/models")["models"]
        others = [code for code in model["languages"] if code != arguments.source]
        print(f"answers after {seconds:.1f} s, with {peak_memory(pid)} MiB")
        print("\n| request | sentences/s | CPU ms/sentence | peak MiB |\n|---|---|---|---|")
        one, every = {"targets": others[:1]}, {"targets": "all"}
        for name, path, more in (
            ("translate, one language", "/api/translate", one),
            (f"translate, {len(others)} languages", "/api/translate", every),
            ("explain", "/api/explain", {"target": others[0]}),
        ):
            order = {"model": model["name"], "source": arguments.source, **more}
            requests = [{**order, "text": sentence} for sentence in sentences]
            ask(port, "POST", path, requests[0])
            began, spent = time.perf_counter(), cpu_seconds(pid)
            with ThreadPoolExecutor(arguments.clients) as pool:
                list(
                    pool.map(lambda content, path=path: ask(port, "POST", path, content), requests)
                )
            took, spent = time.perf_counter() - began, cpu_seconds(pid) - spent
            count = len(requests)
            row = f"{count / took:.1f} | {1000 * spent / count:.0f} | {peak_memory(pid)}"
            print(f"| {name} | {row} |", flush=True)


if __name__ == "__main__":
    main()
