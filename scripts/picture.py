"""Make docs/report.png, the picture of the README: the first screens of the demo's report.

    .venv/bin/shakedown demo
    .venv/bin/python scripts/picture.py [REPORT.html] [PICTURE.png]

Needs a Chromium and playwright, which the development environment has. Remake it when the report or the drives change.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

WIDTH, HEIGHT = 1400, 1500
MOST_BYTES = 400_000


def take(report: Path, picture: Path) -> None:
    """Save the top of a report, in light colours, as WIDTH x HEIGHT pixels."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("no Chromium on this machine: install one, for example with apt install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
        page.goto(report.resolve().as_uri())
        page.wait_for_function("window.shakedownPictures?.length > 0")
        page.screenshot(path=picture)
        browser.close()
    if picture.stat().st_size > MOST_BYTES:
        sys.exit(f"{picture} has {picture.stat().st_size} bytes, more than the {MOST_BYTES} that a README should load")


if __name__ == "__main__":
    given = [Path(argument) for argument in sys.argv[1:]]
    defaults = [Path("runs/demo/report.html"), Path("docs/report.png")]
    take(*(given + defaults[len(given) :])[:2])
