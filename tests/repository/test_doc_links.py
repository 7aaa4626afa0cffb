"""Links of the documents lead to files and headings that exist, and the site of docs/ builds."""

import functools
import re
import subprocess
import sys

import pytest
from support.configs import ROOT
from support.doc_commands import DOCUMENTS

SITE = ROOT / "docs"
PAGES = sorted({*DOCUMENTS, *ROOT.glob("*.md")})
CODE = re.compile(r"^(```+).*?^\1|(`+)(?!`).+?(?<!`)\2(?!`)", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.+?) *#*$", re.MULTILINE)


@functools.cache
def text_of(path):
    return re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)


@functools.cache
def anchors(path):
    """The anchors of a document's headings, as GitHub and the site make them."""
    titles = (re.sub(r"\[(.*?)\]\(.*?\)", r"\1", title) for title in HEADING.findall(text_of(path)))
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def broken(page):
    """The links of a document that lead nowhere, and those of the site that leave it."""
    for target in LINK.findall(CODE.sub("", text_of(page))):
        if re.match(r"https?://", target):
            continue
        place, _, anchor = target.partition("#")
        file = (page.parent / place).resolve() if place else page
        if not file.exists():
            yield f"{target}: no such file"
        elif anchor and anchor not in anchors(file):
            yield f"{target}: no such heading"
        elif SITE in page.parents and SITE not in file.parents:
            yield f"{target}: not on the site; name the file without a link"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    assert list(broken(page)) == []


@pytest.mark.full
def test_the_site_builds(tmp_path):
    words = ["-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    built = subprocess.run(
        [sys.executable, *words], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stderr
    for page in tmp_path.rglob("*.html"):
        fetched = re.findall(r"<(?:script|link)[^>]*https?://[^>]*>", page.read_text("utf-8"))
        assert not fetched, f"{page.name} fetches {fetched[0]}"
