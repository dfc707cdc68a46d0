"""What holds on every page in a real browser: language, focus, a server that is gone, axe."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from browsing import (
    BUILD,
    NEW,
    PYRAMID,
    STATES,
    TOO_MANY,
    Opener,
    figures,
    shoot,
    violations,
)


def test_the_language_changes_and_stays(visit: Opener) -> None:
    page = visit(PYRAMID)
    english = figures(page)
    page.get_by_role("link", name="Deutsch").click()
    expect(page.locator("html")).to_have_attribute("lang", "de")
    expect(page.locator("h1")).to_contain_text("Personen nach")
    assert [text.replace(".", ",") for text in figures(page)] == english
    page.get_by_role("link", name="Tabelle ändern").click()
    expect(page.locator("#verdict")).to_contain_text("Schon veröffentlicht")
    page.locator("#add-health").click()
    expect(page.locator("#card-health")).to_be_visible()
    expect(page.locator("html")).to_have_attribute("lang", "de")
    shoot(page, "builder-german")
    german = visit("/", locale="de-CH")
    expect(german.locator("html")).to_have_attribute("lang", "de")


def test_recent_tables_are_kept_here_and_cleared(visit: Opener) -> None:
    page = visit("/")
    expect(page.locator("[data-recent]")).to_be_hidden()
    page.goto(PYRAMID)
    page.goto("/")
    expect(page.locator("[data-recent] li")).to_have_count(1)
    page.locator("[data-recent] a").click()
    expect(page.locator(".figures")).to_be_visible()
    page.goto("/")
    page.get_by_role("button", name="Clear the list").click()
    expect(page.locator("[data-recent]")).to_be_hidden()
    page.reload()
    expect(page.locator("[data-recent]")).to_be_hidden()


def test_a_server_that_is_gone_is_said_and_asked_again(visit: Opener) -> None:
    page = visit(BUILD, 390, 844)
    page.route("**/build?**", lambda route: route.abort())
    page.locator("#add-health").click()
    box = page.locator("[data-no-answer]")
    expect(box).to_contain_text("The server is not answering.")
    expect(box).to_be_in_viewport()
    assert violations(page) == []
    shoot(page, "server-gone")
    page.unroute("**/build?**")
    box.get_by_role("button", name="Try again").click()
    expect(page.locator("#card-health")).to_be_visible()
    expect(page.locator("[data-no-answer]")).to_be_hidden()


def test_a_server_that_hangs_or_is_busy_is_said(visit: Opener) -> None:
    page = visit(BUILD)
    page.route("**/build?**", lambda route: route.fulfill(status=503, body="busy"))
    page.locator("#add-health").click()
    expect(page.locator("[data-no-answer]")).to_contain_text("The server is busy.")
    page.unroute("**/build?**")
    page.route("**/build?**", lambda route: None)  # never answered
    # Fifteen seconds are long for a test.
    page.evaluate(
        "{ const f = AbortSignal.timeout; AbortSignal.timeout = () => f.call(AbortSignal, 300); }"
    )
    page.locator("[data-retry]").click()
    expect(page.locator("[data-no-answer]")).to_contain_text("The server is not answering.")


_COVERED = """() => {
  const bar = document.getElementById("verdict"), one = document.activeElement;
  if (!bar || bar.contains(one) || one === document.body) return null;
  const a = one.getBoundingClientRect(), b = bar.getBoundingClientRect();
  const apart = a.bottom <= b.top || a.top >= b.bottom || a.right <= b.left || a.left >= b.right;
  return apart ? null : `${one.id || one.textContent.trim()} ${a.top}-${a.bottom}, bar ${b.top}`;
}"""


@pytest.mark.parametrize(("width", "height"), [(1440, 720), (768, 660), (390, 660)])
@pytest.mark.parametrize("state", ["categories", "refused"])
def test_the_focus_is_never_under_the_bar(
    visit: Opener, state: str, width: int, height: int
) -> None:
    address = {
        "categories": f"{BUILD}&open=occupation",
        "refused": f"/datasets/census/build?{TOO_MANY}",
    }[state]
    page = visit(address, width, height)
    place = page.evaluate("getComputedStyle(document.getElementById('verdict')).position")
    assert place == "sticky"
    covered = []
    for key in ("Tab", "Shift+Tab"):
        for _ in range(90):
            page.keyboard.press(key)
            found = page.evaluate(_COVERED)
            if found:
                covered.append(f"{key}: {found}")
    assert covered == []


def test_another_place_of_the_page_is_no_other_question(visit: Opener) -> None:
    page = visit(NEW)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.locator("#verdict a", has_text="rules met").click()
    page.wait_for_url("**#rules-title")
    page.locator("#at-education").click()
    expect(page.locator("#move-education")).to_be_focused()
    page.wait_for_timeout(500)
    assert [url for url in asked if "/build?" in url] == []


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", STATES)
def test_axe_finds_nothing(visit: Opener, name: str, scheme: str) -> None:
    page = visit(STATES[name], 1440, 1400, color_scheme=scheme, reduced_motion="reduce")
    assert violations(page) == []
    shoot(page, f"{name}-1440-{scheme}")
    if scheme == "light":
        page.set_viewport_size({"width": 390, "height": 844})
        assert violations(page) == []
        shoot(page, f"{name}-390")
    else:
        page.set_viewport_size({"width": 768, "height": 1024})
        shoot(page, f"{name}-768-dark")
