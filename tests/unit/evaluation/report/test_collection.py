"""Several reports on one page."""

import json
from pathlib import Path

from matplotlib.image import imsave
from support.score_sheets import Page, sheet

from tdo_plugin.cli import main
from tdo_plugin.evaluation.report.collection import Collected, collection_page
from tdo_plugin.evaluation.score_sheet import as_json


def png(path: Path) -> Path:
    """A picture of one dot."""
    path.parent.mkdir(parents=True, exist_ok=True)
    imsave(path, [[0.0]])
    return path


def test_each_report_has_its_section_with_tables_pictures_and_link(tmp_path):
    picture = png(tmp_path / "preference" / "svcca.png")
    first = Collected(
        "Paper <1>", sheet(), ("tdo:1",), (picture,), {"Full report": "one/index.html"}
    )
    page = Page(collection_page("All <b>&amp;</b>", [first, Collected("Paper 2", sheet())]))
    assert [text for _, text in page.all("h2")] == ["Paper <1>", "Paper 2"]
    assert [text for _, text in page.all("h1")] == ["All <b>&amp;</b>"]
    (image,) = (attributes for attributes, _ in page.all("img"))
    assert str(image["src"]).startswith("data:image/png;base64,")
    assert image["alt"] == "preference: svcca"
    assert ("one/index.html", "Full report") in [
        (attributes.get("href"), text) for attributes, text in page.all("a")
    ]
    summaries = [text for _, text in page.all("summary")]
    assert any("TDO, Table 1" in text and "published" in text for text in summaries)
    assert not page.all("script")
    for attributes, _ in (*page.all("a"), *page.all("img")):
        assert "//" not in str(attributes.get("href") or "")


def test_the_command_gathers_sheets_below_a_folder(tmp_path, capsys):
    for name in ("one/ted19", "two"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "scores.json").write_text(json.dumps(as_json(sheet())))
    png(tmp_path / "two" / "heatmap-bleu.png")  # is in the report's own page
    png(tmp_path / "two" / "sweep" / "bleu.png")
    (tmp_path / "two" / "index.html").touch()
    out = tmp_path / "pages" / "all.html"
    words = ["--report", "One", str(tmp_path / "one"), "tdo:1", "--report", "Two"]
    assert main(["collect", *words, str(tmp_path / "two"), "--out", str(out)]) == 0
    assert capsys.readouterr().out.strip() == str(out)
    page = Page(out.read_text())
    assert len(page.all("img")) == 1
    assert "../two/index.html" in [attributes.get("href") for attributes, _ in page.all("a")]


def test_bad_input(refused, tmp_path):
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "scores.json").write_text(json.dumps(as_json(sheet())))
    refused.rows(
        """
        collect --out {tmp}/all.html
            --report One                                 :: --report
            --report One {tmp}/nowhere                   :: {tmp}/nowhere
            --report One {tmp}/here tdo:9                :: tdo:9
            --report One {tmp}/here --out {tmp}/here     :: --out
        """,
        tmp=tmp_path,
    )
