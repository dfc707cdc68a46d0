"""A census in a real browser: addresses of its pages, and what tests do with them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import parse_qsl, urlencode
from urllib.request import urlopen

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

ROOT = Path(__file__).parents[1]


SHOTS = Path(os.environ.get("DISCREET_SCREENSHOTS", ROOT / "var" / "screenshots"))


PYRAMID = "/datasets/census/table?by=age_band,sex&columns=sex&where=la=1"


NESTED = "/datasets/census/table?by=age_broad,sex,activity&columns=sex,activity&where=la=1"


BUILD = "/datasets/census/build?by=age_broad,sex,activity&columns=sex,activity&where=la=1"


TOO_MANY = "by=oa,religion,country_of_birth,ethnic_group"


SPARSE = "by=oa,religion,country_of_birth"


PART = "/datasets/census/table?by=oa,health&columns=health"


LONG = "/datasets/census/table?by=age,health,region&columns=health,region"


# Two of the three wards of a local authority, which is published as well.
SUMS = "/datasets/census/table?by=activity,sex&columns=sex&where=ward=10|11"


NEW = "/datasets/census/build?by=travel_to_work,education&columns=education"


USED = "by=oa,tenure,health&columns=tenure"


# 60,000 people: what has more than 600 cells is fine detail, which two tables may show.
PUBLISHED = [
    "by=age_band,sex&columns=sex", "by=la,activity,sex", "by=oa,tenure,sex", "by=oa,tenure,illness",
]  # fmt: skip


STATES = {
    "home": "/",
    "dataset": "/datasets/census",
    "start": "/datasets/census/build",
    "builder": BUILD,
    "builder-categories": f"{BUILD}&open=age",
    "builder-area": f"{BUILD}&area=castle",
    "builder-no-area": f"{BUILD}&area=zzz&find=zzz",
    "builder-barred": f"/datasets/census/build?{TOO_MANY}",
    "builder-new": NEW,
    "builder-sum": SUMS.replace("/table", "/build"),
    "builder-look": "/datasets/census/build?by=oa,citizenship&columns=citizenship",
    "builder-last": "/datasets/census/build?by=oa,health,sex&columns=sex",
    "builder-used": f"/datasets/census/build?{USED}",
    "builder-unavailable": f"/datasets/census/build?{SPARSE}",
    "builder-large": "/datasets/census/build?by=sex&where=oa=1,age=30,occupation=1,"
    "country_of_birth=1",
    "table": NESTED,
    "table-sum": SUMS,
    "table-not-released": "/datasets/census/table?by=oa,citizenship&columns=citizenship",
    "table-percent": f"{NESTED}&show=row&names=both&chart=heat",
    "pyramid": PYRAMID,
    "layers": "/datasets/census/table?by=region,age_broad,health&columns=health&layers=region",
    "heat": "/datasets/census/table?by=la,country_of_birth&columns=country_of_birth&chart=heat",
    "sorted-percent": f"{PYRAMID}&show=row&sort=-2&chart=stacked",
    "stacked": "/datasets/census/table?by=tenure,household_size&columns=tenure&sort=-1",
    "withheld": PART,
    "refused-question": f"/datasets/census/table?{TOO_MANY}",
    "refused-counts": f"/datasets/census/table?{SPARSE}",
    "failed": "/datasets/census/table?by=agee",
    "method": "/datasets/census/method",
    "api": "/api",
    "accessibility": "/accessibility",
}


def publish(base: str, path: str) -> None:
    """Publish the table at an address, as its button does."""
    with suppress(HTTPError), urlopen(base + path) as page:
        token = re.search(r'name="token" value="(\w+)"', page.read().decode())
        if token is None:
            return
        address, _, query = path.partition("?")
        form = urlencode({**dict(parse_qsl(query)), "token": token[1]}).encode()
        with suppress(HTTPError), urlopen(base + address, form):
            pass


Opener = Callable[..., Page]


def shoot(page: Page, name: str) -> None:
    SHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SHOTS / f"{name}.png", full_page=True)


def violations(page: Page) -> list[str]:
    found = Axe().run(page).response["violations"]
    return [f"{v['id']}: {v['nodes'][0]['html'][:150]}" for v in found]


def figures(page: Page) -> list[str]:
    return page.locator(".figures td.n").all_inner_texts()


def is_wide(page: Page) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth > innerWidth"))
