"""Addresses asked without downloading."""

import gzip

import pytest
from support.serving import Behaviour, page, serving

from tdo_plugin.corpora.description.schema import Archive, Part
from tdo_plugin.corpora.sources.links import check

NAME = "talks.tar.gz"
CONTENT = gzip.compress(bytes(range(256)) * 40, mtime=0) + bytes(9000)


@pytest.fixture
def server(tmp_path, monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    (tmp_path / NAME).write_bytes(CONTENT)
    with serving(tmp_path) as server:
        yield server


def archive(*urls: str, size: int | None = len(CONTENT), parts: tuple[Part, ...] = ()) -> Archive:
    return Archive(NAME, urls, size, None, None, "", parts)


@pytest.mark.parametrize(
    ("behaviour", "code", "reason", "methods"),
    [
        (Behaviour(), 200, "", ["HEAD"]),
        (Behaviour(head=False), 206, "", ["HEAD", "GET"]),
        (Behaviour(head=False, ranges=False), 200, "", ["HEAD", "GET"]),
        (Behaviour(type="text/html"), 206, "", ["HEAD", "GET"]),
        (Behaviour(status=404), 404, "HTTP 404 Not Found", ["HEAD"]),
        (Behaviour(status=403), 403, "HTTP 403 Forbidden", ["HEAD", "GET"]),
        (page(), 206, 'it is a web page ("Nothing here")', ["HEAD", "GET"]),
        (Behaviour(content=b"moved"), 200, f"it has 5 bytes, not {len(CONTENT):,}", ["HEAD"]),
    ],
    ids=["head", "get", "no-range", "html", "404", "403", "page", "size"],
)
def test_what_an_address_answers(server, behaviour, code, reason, methods):
    server.behaviours[f"/{NAME}"] = behaviour
    (status,) = check([archive(server.url(NAME))])
    assert (status.code, status.reason, status.ok) == (code, reason, not reason)
    assert [request.method for request in server.asked] == methods
    if status.ok:
        assert (status.bytes, status.expected) == (len(CONTENT), len(CONTENT))


def test_a_size_that_nobody_tells_is_no_fault(server):
    server.behaviours[f"/{NAME}"] = Behaviour(length=False)
    (status,) = check([archive(server.url(NAME))])
    assert status.ok and status.bytes is None


def test_every_address_is_asked_in_order(server):
    server.behaviours["/slow.tgz"] = Behaviour(status=404)
    nobody = "http://127.0.0.1:9/x"
    part = Part("x.01", (server.url(NAME),))
    archives = [archive(server.url("slow.tgz"), nobody), archive(), archive(parts=(part, part))]
    answers = [(status.file, status.url, status.code) for status in check(archives)]
    assert answers == [
        (NAME, server.url("slow.tgz"), 404),
        (NAME, nobody, None),
        (NAME, "", None),
        ("x.01", server.url(NAME), 200),
        ("x.01", server.url(NAME), 200),
    ]


def test_what_is_wrong_without_an_answer():
    urls = ("http://127.0.0.1:9/x", "http://a..b/x")
    refused, odd, none = [status.reason for status in check([archive(*urls), archive()])]
    assert (refused, odd[:19]) == ("Connection refused", "not a valid address")
    assert none == "it has no known address; --from-file must provide it"
