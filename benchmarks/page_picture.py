"""Draw the page of `tdo serve` as it looks after a sentence was typed and a piece was clicked.

    python benchmarks/page_picture.py runs/tdo --text "Ein Hund." --source de --out page.png

The page is opened in the Chromium of this machine by playwright, of the extra `dev`.
"""

import argparse
import shutil
import subprocess
import sys
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("models", nargs="+", metavar="MODEL", help="as for `tdo serve`")
    parser.add_argument("--text", required=True)
    parser.add_argument("--source", required=True, metavar="LANG")
    parser.add_argument("--look", default="fr", metavar="LANG", help="the translation to look into")
    parser.add_argument("--piece", type=int, default=0, metavar="N", help="which piece, from 0")
    parser.add_argument("--width", type=int, default=1000, metavar="PIXELS")
    parser.add_argument("--dark", action="store_true")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="a .png")
    arguments = parser.parse_args()
    serve = [sys.executable, "-m", "tdo_plugin", "serve", *arguments.models, "--port", "0", "--cpu"]
    with subprocess.Popen(serve, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            draw(server.stdout.readline().split()[0], arguments)
        finally:
            server.terminate()


def draw(address: str, arguments: argparse.Namespace) -> None:
    """Type the text, look into a translation, and save what the window shows."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        program = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page(
            viewport={"width": arguments.width, "height": 600},
            color_scheme="dark" if arguments.dark else "light",
        )
        page.goto(address)
        page.fill("#text", arguments.text)
        page.select_option("#source", arguments.source)
        page.press("#text", "Control+Enter")
        card = page.locator(".card").filter(has=page.locator(f".code:text-is('{arguments.look}')"))
        card.locator(".word").nth(arguments.piece).click()
        page.wait_for_selector(".view")
        page.screenshot(path=arguments.out, full_page=True)
        browser.close()
    print(arguments.out)


if __name__ == "__main__":
    main()
