"""The command `tdo explain`: the page that it writes, and what it refuses."""

import re

import pytest
from support.commands import told
from support.prepared import trained
from support.served import TEXT, embedded

from tdo_plugin.errors import UserError
from tdo_plugin.serve import explained_page


def test_explain_writes_one_small_file(tmp_path, capsys):
    out = tmp_path / "page.html"
    text = f"{TEXT} </script><b>"
    words = ("-s", "auto", "-t", "fr", "en", "--text", text, "--out", out, "--cpu")
    printed, errors = told(capsys, "explain", f"a={trained()}", f"b={trained()}", *words)
    assert printed == f"{out}\n" and not errors
    html = out.read_text(encoding="utf-8")
    assert len(html.encode()) < 2_000_000
    for pattern in (r"https?:", r"\bsrc=", r"url\(", r"@import"):
        assert not re.search(pattern, html), pattern
    explanations = embedded(html)["explanations"]
    assert [(each["model"], each["source"], each["target"]) for each in explanations] == [
        *(("a", "de", "fr"), ("b", "de", "fr"), ("a", "de", "en"), ("b", "de", "en"))
    ]
    assert all(each["text"] == text for each in explanations)


@pytest.mark.full
def test_a_page_that_would_be_too_large_has_mean_weights(models, monkeypatch):
    def heads():
        html = explained_page.explained_page(models[:1], TEXT, "de", ["fr"])
        (explanation,) = embedded(html)["explanations"]
        return explanation["source_attention"][0]["source"]["shape"][0], len(html)

    whole, size = heads()
    assert whole > 1
    monkeypatch.setattr(explained_page, "LARGEST", size)
    mean, smaller = heads()
    assert mean == 1 and smaller < size
    monkeypatch.setattr(explained_page, "LARGEST", smaller)
    with pytest.raises(UserError, match="`--text`"):
        heads()


def test_mistakes(refused, tmp_path):
    refused.rows(
        """
        explain a={model} --cpu -s de -t fr --text a --out {page}
            -s xx                               :: source
            -t xx                               :: target
            --text " "                          :: --text
            --text {no_text}                    :: --text
            --text {long}                       :: 256
            --out {folder}                      :: --out
            --out {folder}/none/page.html       :: --out
        """,
        model=trained(),
        page=tmp_path / "page.html",
        folder=tmp_path,
        no_text="\udcff Hund",
        long="Haus " * 1100,
    )
