"""Take the pictures of docs/page.md from a running demo: shoot_pages.py http://127.0.0.1:8000."""

from __future__ import annotations

import os
import sys
from io import BytesIO
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
CHROMIUM = os.environ.get("DISCREET_CHROMIUM", "/usr/bin/chromium")
NESTED = "by=age_broad,sex,activity&columns=sex,activity&where=la=1"
SHOTS = {
    "page-builder": (f"/datasets/census/build?{NESTED}", 1280, 1010),
    "page-table": (f"/datasets/census/table?{NESTED}", 1280, 1860),
    "page-refused": (
        "/datasets/census/table?by=oa,religion,country_of_birth&where=la=1|2",
        1280,
        1180,
    ),
    "page-phone": ("/datasets/census/table?by=age_band,sex&columns=sex&where=la=1", 390, 844),
}


def main(base: str) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
        )
        for name, (path, width, height) in SHOTS.items():
            page = browser.new_page(viewport={"width": width, "height": height}, locale="en-GB")
            page.goto(base + path)
            if "/table?" in path and page.locator("#get").count():
                page.locator("#get").click()  # a link publishes nothing
                page.goto(base + path)
            if name == "page-table":
                page.locator(".figures td.n").nth(29).click()
            picture = Image.open(BytesIO(page.screenshot())).convert("RGB")
            picture.save(PICTURES / f"{name}.png", optimize=True)
            page.close()
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1].rstrip("/"))
