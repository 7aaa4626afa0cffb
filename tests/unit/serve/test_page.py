"""The page is one file that holds whatever text it shows, and reads nothing from elsewhere."""

import base64
import hashlib
import json
import re
from html import unescape

from tdo_plugin.serve.page import FOLDER, SCRIPTS, embeddable, page, security_policy

NASTY = "</script><script>alert(1)</script><!-- {{style}} &amp; \u2028 ]]> ' \" \\"


def element(html, opening):
    return re.search(rf"<{opening}>(.*?)</{opening.split()[0]}>", html, re.DOTALL)[1]


def test_no_text_ends_the_script():
    html = page({"text": NASTY})
    held = element(html, 'script type="application/json" id="embedded"')
    assert json.loads(held) == {"text": NASTY}
    assert html.count("<script") == html.count("</script>") == 2
    assert not set("<>&\u2028\u2029") & set(embeddable(NASTY))


def test_the_policy_has_the_digests_of_style_and_script():
    html = page()
    for served, meta in ((True, False), (False, True)):
        policy = security_policy(served, meta)
        for name, kind in (("style", "style-src"), ("script", "script-src")):
            content = element(html, name)
            digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
            assert f"{kind} 'sha256-{digest}'" in policy
        assert "default-src 'none'" in policy and "unsafe" not in policy
    assert "connect-src 'none'" in unescape(page({}))
    assert "connect-src 'self'" in unescape(html)


def test_nothing_is_read_from_elsewhere():
    html = page({"text": "a"})
    reads = r"https?:|\bsrc=|url\(|@import|//[a-z]+\.|innerHTML|\bon\w+="
    assert not re.search(reads, html)
    assert set(re.findall(r'href="([^"]*)"', html)) == {"data:,"}


def test_every_file_of_the_page_is_in_it():
    files = {path.name for path in FOLDER.iterdir()}
    assert files == {"index.html", "page.css", *SCRIPTS}
    assert "{{" not in page().replace("{{style}}", "")
