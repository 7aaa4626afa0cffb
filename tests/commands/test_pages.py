"""The pages of `tdo serve`, `tdo explain` and `tdo report` in a headless browser."""

import itertools
import re
import shutil
import threading
from dataclasses import replace

import pytest
from playwright.sync_api import expect, sync_playwright
from support.covering import mostly_full
from support.score_sheets import HOSTILE, sheet
from support.served import embedded, served

from tdo_plugin.evaluation.report.page import About, html_page
from tdo_plugin.evaluation.score_sheet import Example
from tdo_plugin.serve.explained_page import explained_page
from tdo_plugin.serve.page import page as page_of

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
TEXT = "der kleine Hund. Das alte Haus"


@pytest.fixture(scope="module")
def browser():
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        pytest.skip(f"none of {', '.join(BROWSERS)} is installed")
    with sync_playwright() as started:
        # the sandbox needs rights that containers lack; only our own page is opened
        running = started.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield running
        running.close()


@pytest.fixture
def tab(browser):
    """``tab(address, **options)``: a page, without an error and without a request elsewhere."""
    opened = []

    def open_page(address, width=1000, **options):
        page = browser.new_page(viewport={"width": width, "height": 800}, **options)
        said, read = [], []
        page.on("console", lambda line: said.append(line.text) if line.type == "error" else None)
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: read.append(request.url))
        page.set_default_timeout(10_000)
        page.goto(address)
        opened.append((page, said, read, address))
        return page

    yield open_page
    for page, said, read, address in opened:
        page.close()
        assert not [line for line in said if "status of 400" not in line]
        assert all(url.startswith((address, "data:")) for url in read), read


def written(folder, scores):
    """The address of a report."""
    path = folder / "index.html"
    path.write_text(html_page(scores, (), About("my text")), encoding="utf-8")
    return path.as_uri()


def translated(page, text=TEXT, second=""):
    """Type, choose, and translate by the keyboard."""
    page.fill("#text", text)
    page.select_option("#source", "de")
    page.select_option("#second", second)
    page.press("#text", "Control+Enter")
    page.wait_for_selector(".card .word")


def focused(page, expression):
    return page.evaluate(f"document.activeElement.{expression}")


def scrolls_sideways(page):
    return page.evaluate(
        "document.documentElement.scrollWidth > document.documentElement.clientWidth"
    )


def test_type_translate_click_and_move(tab, server):
    page = tab(server.url)
    translated(page)
    assert page.locator(".card").count() == 2
    assert page.locator(".card h2").all_inner_texts() == ["English en", "French fr"]
    assert page.locator(".card .mark").all_inner_texts() == ["zero-shot"]
    assert re.match(r"Translated in [\d.]+ s\.", page.inner_text("#status"))

    word = page.locator(".card").nth(0).locator(".word").nth(1)
    text = word.inner_text().strip()
    word.click()
    page.wait_for_selector(".view")
    translation = page.get_by_role("listbox", name="Pieces of the translation")
    source = page.get_by_role("listbox", name="Pieces of the source")
    selected = page.locator('.piece[aria-selected="true"]')
    pieces = translation.get_by_role("option")
    assert selected.count() == 1
    assert selected.get_attribute("aria-label").startswith(f"{text}, read")
    place = [each.get_attribute("aria-selected") for each in pieces.all()].index("true")
    assert place >= 2  # the first is the begin symbol
    assert focused(page, "getAttribute('aria-selected')") == "true"
    assert page.locator(".candidates tbody tr").count() in (10, 11)
    before = page.inner_text(".view > .caption")
    shares = [int(text or 0) for text in source.locator(".share").all_inner_texts()]
    assert 0 < sum(shares) <= 105

    page.keyboard.press("ArrowLeft")
    assert pieces.nth(place - 1).get_attribute("aria-selected") == "true"
    assert page.inner_text(".view > .caption") != before
    page.keyboard.press("End")
    assert selected.get_attribute("aria-label").startswith("end, read")
    page.keyboard.press("ArrowDown")
    assert source.get_by_role("option").nth(0).get_attribute("aria-selected") == "true"
    assert page.locator(".candidates tbody tr").count() == 0
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Home")
    assert pieces.nth(1).get_attribute("aria-selected") == "true"
    layers = page.get_by_label("Layer").locator("option").all_inner_texts()
    assert layers == ["mean of layers", "layer 2", "layer 3"]
    page.get_by_label("Layer").select_option("0")
    page.get_by_label("Head").select_option("1")
    assert selected.count() == 1

    page.keyboard.press("Escape")
    assert not page.locator("#inside").is_visible()
    assert focused(page, "className") == "word"
    page.keyboard.press("Enter")
    page.wait_for_selector(".view")


def test_a_report(tab, tmp_path):
    page = tab(written(tmp_path, sheet()))
    assert page.locator('[data-draw="heat"] .what').inner_text() == "BLEU of few"  # the last
    table = page.locator('table[data-sort="directions"]')
    rows = table.locator("tbody th")
    names = rows.all_inner_texts()
    table.get_by_role("button", name="direction").click()
    assert rows.all_inner_texts() == sorted(names) != names
    page.get_by_role("searchbox", name="Direction").fill("de")
    shown = [row.inner_text() for row in rows.all() if row.is_visible()]
    assert shown == ["ar → de", "en → de"]
    page.reload()  # the address keeps what was chosen
    assert [row.inner_text() for row in rows.all() if row.is_visible()] == shown
    page.get_by_role("searchbox", name="Text").fill("شكرا")
    (example,) = page.locator(".examples li").all()
    assert HOSTILE in example.inner_text()  # as text
    assert "English → Arabic" in example.inner_text()


def test_a_report_on_a_phone(tab, tmp_path):
    page = tab(written(tmp_path, sheet()), width=390)
    assert not scrolls_sideways(page)
    cells = page.locator('table[data-sort="scores"] td').all()
    ends = [box["x"] + box["width"] for box in map(lambda cell: cell.bounding_box(), cells)]
    assert max(ends) <= 390
    labels = [cell.get_attribute("data-name") for cell in cells]
    assert labels.count("zero-shot") == 3 * 2


def test_examples_are_a_random_sample_or_striking(tab, tmp_path):
    usual = Example("en-de", 1, "dog", "Hund", {"plain": "Hund", "few": "Hund"}, {}, random=True)
    page = tab(written(tmp_path, sheet(examples=(*sheet().examples, usual))))
    shown = page.locator(".examples li h3")
    assert shown.all_inner_texts() == ["English → German · sentence 1"]
    page.get_by_label("Sentences").select_option(label="largest differences")
    assert shown.all_inner_texts() == [
        "English → Arabic · sentence 7",
        "Arabic → German · sentence 3",
    ]


def test_words_are_reached_by_the_keyboard(tab, server):
    page = tab(server.url)
    translated(page)
    page.focus("#go")
    page.keyboard.press("Tab")
    words = page.locator(".card").nth(0).locator(".word")
    assert words.count() > 2 and page.locator('.word[tabindex="0"]').count() == 2
    place = "document.activeElement === document.querySelectorAll('.word')[{}]"
    assert page.evaluate(place.format(0))
    for key, number in (("ArrowRight", 1), ("End", words.count() - 1), ("ArrowLeft", -2)):
        page.keyboard.press(key)
        number = number if number >= 0 else words.count() + number
        assert page.evaluate(place.format(number)), key
    page.keyboard.press("Tab")  # one stop for each translation
    assert focused(page, "textContent") == "Look inside"
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    page.wait_for_selector(".view")
    assert focused(page, "className").startswith("piece")
    page.keyboard.press("Escape")
    assert page.evaluate(place.format(0))


def test_two_tasks_leave_nothing_dimmed(tab, server):
    page = tab(server.url)
    translated(page)
    release, running = threading.Event(), threading.Event()
    server.worker.submit(lambda _: (running.set(), release.wait(30)))
    assert running.wait(30)
    page.press("#text", "Control+Enter")
    page.locator(".card .word").first.click()
    dimmed = page.locator('[aria-busy="true"]')
    assert dimmed.count() == 2
    release.set()
    page.get_by_role("status").filter(has_text="Translated in").wait_for()
    assert dimmed.count() == 0
    assert not page.locator("#error").is_visible()


CONTRAST = """() => {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const painted = (...colours) => {
    for (const colour of colours) {
      canvas.fillStyle = colour;
      canvas.fillRect(0, 0, 1, 1);
    }
    return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const light = (colour) => [0.2126, 0.7152, 0.0722].reduce((sum, weight, place) => {
    const share = colour[place] / 255;
    return sum + weight * (share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4);
  }, 0);
  const card = getComputedStyle(document.querySelector(".inside")).backgroundColor;
  return [...document.querySelectorAll(".piece > span")].map((text) => {
    const { backgroundColor, opacity } = getComputedStyle(text.parentElement);
    const back = painted(card, backgroundColor);
    const front = painted(card, backgroundColor, getComputedStyle(text).color);
    const [low, high] = [light(front), light(back)].sort((one, two) => one - two);
    return opacity === "1" ? (high + 0.05) / (low + 0.05) : 0;
  });
}"""


@pytest.mark.full
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pieces_can_be_read(tab, server, scheme):
    page = tab(server.url, color_scheme=scheme, reduced_motion="reduce")
    translated(page)
    page.locator(".card .word").first.click()
    page.wait_for_selector(".view")
    assert page.locator(".piece.later").count()
    for number in range(21):  # every shade; later pieces are not read
        page.evaluate(
            """(share) => document.querySelectorAll(".piece:not(.later)").forEach((piece) => {
              piece.style.setProperty("--w", share);
              piece.classList.toggle("warm", share > 0.4);
            })""",
            number / 20,
        )
        assert min(page.evaluate(CONTRAST)) >= 4.5, number


@pytest.mark.full
def test_the_second_sentence_is_explained(tab, server):
    page = tab(server.url)
    translated(page)
    page.get_by_role("button", name="Look inside: English, two stages").click()
    page.get_by_label("Sentence").select_option("1")
    source = page.get_by_role("listbox", name="Pieces of the source")
    # of the second sentence, with the shares below its pieces
    source.filter(has_text=re.compile(r"D[\d\s]*a[\d\s]*s")).wait_for()


def says(page, text):
    expect(page.locator("#pairs")).to_have_text(text, timeout=10_000)


def test_the_language_of_the_text_is_detected(tab, server):
    page = tab(server.url)
    page.fill("#text", "der kleine Hund und das alte Haus")
    # before anything is translated
    says(page, "German → English: trained. German → French: zero-shot (no training text).")
    assert page.locator("#source option:checked").inner_text() == "German (detected)"
    assert page.locator("#targets optgroup").evaluate_all("all => all.map((one) => one.label)") == [
        *("trained", "zero-shot (no training text)")
    ]
    page.press("#text", "Control+Enter")
    page.get_by_role("status").filter(has_text="Translated from German in").wait_for()
    assert page.locator(".card").count() == 2
    page.fill("#text", "你好")
    says(
        page,
        re.compile("^text must be in one of .*; most of its letters are unknown to the model$"),
    )
    page.fill("#text", "")
    says(page, "")
    assert page.locator("#source option:checked").inner_text() == "detect language"


def test_pairs_are_told_apart(tab, models):
    other = replace(models[1], detector=None, trained=models[1].trained | {"fr-de"})
    with served([other, models[0]]) as server:
        page = tab(server.url)
        assert page.locator("#source").input_value() == "en"  # as there is no detector
        page.select_option("#source", "fr")
        page.select_option("#targets", "de")
        says(page, "French → German: zero-shot for two stages (no training text).")
        page.select_option("#second", "")
        says(page, "French → German: trained.")
        page.select_option("#first", "two stages")
        page.select_option("#source", "auto")
        zero_shot = "French → German: zero-shot (no training text)."
        says(page, f"English → German: trained. {zero_shot}")
        page.fill("#text", "la petite maison et le vieux chien")
        says(page, zero_shot)
        page.fill("#text", "der kleine Hund und das alte Haus")
        says(page, "German → German: the same language.")


def test_an_example(tab, server, models):
    page = tab(server.url)
    examples = models[0].examples
    for language in ("en", "de"):  # the next one each time
        page.get_by_role("button", name="Try an example").click()
        page.get_by_role("status").filter(has_text="Translated from").wait_for()
        assert page.input_value("#text") == examples[language]
    page.select_option("#source", "fr")
    page.click("#example")
    page.get_by_role("status").filter(has_text=re.compile("Translated in")).wait_for()
    assert page.input_value("#text") == examples["fr"]
    assert page.locator(".card .version").count() == 4  # both models' translations
    assert page.inner_text("#meaning").startswith("Score: how sure the model is of its translation")


def test_without_examples(tab, models):
    model = replace(models[0])
    vars(model)["examples"] = {}
    with served([model]) as server:
        assert not tab(server.url).locator("#example").is_visible()


def test_two_models_beside_each_other(tab, server):
    page = tab(server.url)
    translated(page, second="encoder-decoder")
    assert page.locator(".card").nth(0).locator(".version").count() == 2
    page.get_by_role("button", name="Look inside: French, encoder-decoder").click()
    page.wait_for_selector(".view >> nth=1")
    titles = page.locator(".view h3").all_inner_texts()
    assert titles == ["two stages (zero-shot)", "encoder-decoder (zero-shot)"]
    captions = page.locator(".view > .caption").all_inner_texts()
    assert "One softmax over" in captions[0] and "Cross-attention" in captions[1]
    assert (
        page.evaluate("document.activeElement.closest('.view').querySelector('h3').textContent")
        == titles[1]
    )
    assert page.locator(".dot.to-target").count() >= 5


def test_the_order_of_the_tab_key(tab, server):
    page = tab(server.url)
    page.wait_for_function("document.activeElement.id === 'text'")
    order = []
    for _ in range(5):
        page.keyboard.press("Tab")
        order.append(focused(page, "id"))
    assert order == ["source", "targets", "first", "second", "go"]


@pytest.mark.parametrize(
    ("width", "scheme"), mostly_full(itertools.product([320, 800], ["light", "dark"]))
)
def test_windows_and_colours(tab, server, width, scheme):
    page = tab(server.url, width=width, color_scheme=scheme)
    assert not scrolls_sideways(page)
    translated(page, text=f"{TEXT} {'langeswort' * 12}", second="encoder-decoder")
    assert not scrolls_sideways(page)
    page.locator(".card .quiet").first.click()
    page.wait_for_selector(".view")
    assert not scrolls_sideways(page)
    light = page.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/)[0] > 128")
    assert light == (scheme == "light")


def test_errors_stand_in_the_page(tab, server):
    page = tab(server.url)
    page.click("#go")
    assert page.inner_text("#error") == "Type a sentence first."
    page.fill("#text", "eins.\n" * 21)
    page.click("#go")
    page.get_by_role("alert").filter(has_text="at most 20").wait_for()
    assert (
        page.get_by_role("alert").inner_text() == "text must have at most 20 sentences; it has 21"
    )
    translated(page)
    assert not page.locator("#error").is_visible()


def test_the_file_of_explain(tab, models, tmp_path):
    out = tmp_path / "page.html"
    out.write_text(explained_page(models, "der kleine Hund", "de", ["fr", "en"]), encoding="utf-8")
    page = tab(out.as_uri(), width=320)
    assert page.locator(".inside:visible h2").all_inner_texts() == [
        "German → French",
        "German → English",
    ]
    assert page.locator(".view").count() == 4
    assert not page.locator("#ask").is_visible() and not scrolls_sideways(page)
    strip = page.get_by_role("listbox", name="Pieces of the translation").first
    strip.get_by_role("option").nth(2).click()
    assert strip.get_by_role("option").nth(2).get_attribute("aria-selected") == "true"


def test_right_to_left(tab, models, tmp_path):
    html = explained_page(models[:1], "der kleine Hund", "de", ["fr"])
    held = embedded(html)
    (explanation,) = held["explanations"]
    explanation["target"] = "ar"
    count = len(explanation["target_pieces"]) - 1
    explanation["target_pieces"][:count] = ["▁كلب", "صغير"] * count
    del explanation["target_pieces"][count:-1]
    out = tmp_path / "page.html"
    out.write_text(page_of(held), encoding="utf-8")
    page = tab(out.as_uri())
    strip = page.get_by_role("listbox", name="Pieces of the translation")
    assert strip.get_attribute("dir") == "rtl" and strip.get_attribute("lang") == "ar"
    strip.get_by_role("option").nth(1).focus()
    page.keyboard.press("ArrowLeft")
    assert strip.get_by_role("option").nth(2).get_attribute("aria-selected") == "true"
    first, second = (
        strip.get_by_role("option").nth(number).bounding_box()["x"] for number in (1, 2)
    )
    assert second < first
