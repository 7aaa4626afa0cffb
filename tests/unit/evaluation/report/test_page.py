"""The HTML page: whole, alone, and safe against what a system may have written."""

import base64
import hashlib
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from support.score_sheets import ARABIC, HOSTILE, Page, sheet, system

from tdo_plugin.evaluation.report.markup import details, tag
from tdo_plugin.evaluation.report.page import About, html_page
from tdo_plugin.evaluation.report.published_comparison import beside
from tdo_plugin.evaluation.report.table import ABSENT

ABOUT = About("my text", Path("/runs/mine"))


@pytest.fixture(scope="module")
def text():
    scores = sheet(failures=("few ar-de: no hypotheses",))
    return html_page(scores, beside("tdo:1", scores), ABOUT)


@pytest.fixture(scope="module")
def page(text):
    return Page(text)


def test_nothing_is_fetched(text, page):
    assert not re.search(r"(?:https?:)?//[a-z]", re.sub(r"//.*$", "", text, flags=re.MULTILINE))
    assert not re.search(r"@import|url\(", text)
    addresses = [
        attributes[name]
        for _, attributes, _ in page.elements
        for name in {"src", "href", "action", "data"} & attributes.keys()
    ]
    assert addresses and all((address or "").startswith(("#", "data:,")) for address in addresses)


def test_the_policy_lets_this_script_and_style_through_and_nothing_else(page):
    (policy,) = (
        attributes["content"] or ""
        for attributes, _ in page.all("meta")
        if attributes.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy.startswith("default-src 'none'; img-src data:;")
    script = next(text for attributes, text in page.all("script") if "type" not in attributes)
    for kind, content in (("script", script), ("style", page.all("style")[0][1])):
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    names = {name for _, attributes, _ in page.elements for name in attributes}
    assert not any(name.startswith("on") or name == "style" for name in names)


def test_what_systems_wrote_is_data_only(text, page):
    assert not page.all("img") and "<img" not in text
    (data,) = (inside for attributes, inside in page.all("script") if "type" in attributes)
    assert "<" not in data
    examples = json.loads(data)["examples"]
    assert examples[0]["hypotheses"]["plain"] == HOSTILE
    assert examples[0]["reference"] == ARABIC
    assert examples[1]["source"] is None


def test_hostile_names_are_escaped_where_they_are_html():
    scores = sheet(failures=(HOSTILE,), notes=(HOSTILE,), made_by={HOSTILE: [HOSTILE]})
    page = Page(html_page(scores, [], ABOUT))
    assert not page.all("img")
    assert sum(inside == HOSTILE for _, inside in page.all("li")) == 2


def test_tables_are_there_without_javascript(page):
    tables = [attributes["data-sort"] for attributes, _ in page.all("table")]
    assert tables == ["scores", "published-tdo-1", "differences", "languages", "directions"]
    cells = [(attributes.get("data-value"), inside) for attributes, inside in page.all("td")]
    assert ("30.02", "30.0▲") in cells
    assert ("7.25", "7.2") in cells
    assert (None, ABSENT) in cells
    assert "30.0" in [inside for _, inside in page.all("strong")]
    assert [a for a, _ in page.all("tbody") if a.get("class") == "published"]


def test_the_text_the_run_and_the_languages_are_named(page):
    assert [text for _, text in page.all("h1")] == ["my text: report"]
    assert [text for _, text in page.all("title")] == ["my text: report (mine)"]
    (facts,) = (text for attributes, text in page.all("p") if attributes.get("class") == "facts")
    assert facts.startswith("run /runs/mine · 2 systems · 3 languages (en: English, ar: Arabic, ")


@pytest.mark.parametrize(
    ("data", "title"),
    [("/text/news", "news"), ("/runs/mine/data", "mine/data"), (None, "Translations"), (1, "Tra")],
)
def test_without_a_title_the_data_folder_is_named(data, title):
    scores = sheet(systems=(replace(system("plain"), provenance={"data": data}),), comparisons=())
    assert About().heading(scores).startswith(title)


def test_the_figures_begin_with_the_recommended_system(page):
    (data,) = (inside for attributes, inside in page.all("script") if "type" in attributes)
    assert json.loads(data)["first"] == "few"  # the last


def test_provenance_signatures_notes_and_gaps_are_told(text, page):
    terms = [inside for _, inside in page.all("dt")]
    assert {"checkpoint", "sha256", "command", "seeds", "commit", "BLEU"} <= {*terms}
    definitions = [inside for _, inside in page.all("dd")]
    assert {"9f<2>c", "train --lr 1", "BLEU|tok:zh"} <= {*definitions}
    items = {inside: attributes for attributes, inside in page.all("li")}
    assert "Not scored: few ar-de: no hypotheses" in items
    assert "COMET is missing: unbabel-comet is not installed" in items
    # text of any direction is set in its own
    assert "dir" in items["A note."]
    assert 'dir: "auto"' in text  # of what the script makes of the examples
    assert {"plain", "few"} <= {inside for _, inside in page.all("bdi")}


def test_a_page_without_scores_or_comparisons():
    empty = sheet(systems=(), directions=(), groups={}, comparisons=(), examples=())
    sections = [
        attributes["id"] for attributes, _ in Page(html_page(empty, [], ABOUT)).all("section")
    ]
    assert sections == ["scores", "made"]


def test_tag_escapes_all_but_markup():
    inner = tag("b", "<x>")
    assert tag("p", inner, "&", title='"', hidden=True, open=False, data_x=1) == (
        '<p title="&quot;" hidden data-x="1"><b>&lt;x&gt;</b>&amp;</p>'
    )
    assert details({"a": [1, None, "b"]}).count("<li>") == 3


def test_every_drawing_has_its_script(text, page):
    marked = [attributes.get("data-draw") for attributes, _ in page.all("div")]
    drawings = [key for key in marked if key]
    assert drawings == ["heat", "pair", "languages", "directions", "examples"]
    for key in drawings:
        assert re.search(rf"^  {key}: (\w+),$", text, re.MULTILINE), key
