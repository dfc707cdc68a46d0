"""The pages of people in a real browser: without scripts, by keyboard, on a phone, for axe."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

from discreet.people.people import People
from discreet.people.reviews import Refused
from persons import PASSWORD, licensed_town, person, project
from servers import Running, running

FINE = "/datasets/town/build?by=age_band,district,health,sex&columns=sex"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("town")
    store = licensed_town(folder)
    people = People.of_store(store)
    ada = person(people, "ada@example.org")
    project(people, "homes", ada)
    for role in ("custodian", "auditor"):
        person(people, f"{role}@example.org", role)
    who = people.entrance.by_session(people.entrance.begin(ada, "test"))
    assert who is not None
    about = Refused("town", "licensed", "e", "sex,health,age,ward", "", "none", "NOT_AVAILABLE")
    people.reviews.send(who, about, "To plan places for small children by ward.")
    people.close()
    with running([store], folder / "server") as server:
        yield server


def _signed_in(page: Page, server: Running, email: str) -> None:
    page.goto(f"{server.url}/sign-in")
    page.fill("#email", email)
    page.fill("#password", PASSWORD)
    page.press("#password", "Enter")
    page.wait_for_url("**/me*")


PAGES = {
    "ada@example.org": (
        "/me", "/me/tables", "/me/history", "/me/request?dataset=town&by=age,ward,sex", FINE,
    ),
    "custodian@example.org": ("/office", "/office/projects/homes", "/office/requests/1"),
    "auditor@example.org": ("/office/record",),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
def test_no_page_has_a_fault_that_axe_finds_and_none_is_too_wide(
    server: Running, browser: Browser, scheme: str, width: int
) -> None:
    for email, paths in PAGES.items():
        context = browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme=scheme,  # type: ignore[arg-type]
        )
        page = context.new_page()
        _signed_in(page, server, email)
        for path in paths:
            answer = page.goto(server.url + path)
            assert answer is not None
            assert answer.status == 200, path
            found = Axe().run(page).response["violations"]
            assert not found, (path, [(one["id"], one["nodes"][0]["html"]) for one in found])
            wide = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
            assert not page.evaluate(wide), path
        context.close()


@pytest.mark.slow
def test_all_of_it_works_without_scripts(server: Running, browser: Browser) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{server.url}/sign-in")
    page.fill("#email", "ada@example.org")
    page.fill("#password", "wrong")
    page.press("#password", "Enter")
    assert page.locator("#failed").is_visible()
    _signed_in(page, server, "ada@example.org")
    page.goto(server.url + FINE)
    assert page.get_by_text("Uses 1 of your 20.").is_visible()
    page.click("#get")
    page.wait_for_url("**/table?*")
    page.fill("#save-name", "Health at home")
    page.click("section.save button")
    assert page.get_by_role("link", name="Health at home").is_visible()
    page.goto(f"{server.url}/me")
    assert page.locator(".left .figure").first.inner_text() == "19"
    page.click(".signed-in button")
    page.goto(f"{server.url}/me")
    assert "/sign-in" in page.url
    context.close()
