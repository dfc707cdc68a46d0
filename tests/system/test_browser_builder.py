"""The builder of tables in a real browser: by mouse, by keyboard, by dragging, without scripts."""

from __future__ import annotations

import re
from pathlib import Path

import openpyxl
from playwright.sync_api import expect

from browsing import (
    BUILD,
    SPARSE,
    TOO_MANY,
    USED,
    Opener,
    figures,
    shoot,
    violations,
)


def test_a_pyramid_of_one_local_authority_by_mouse_and_its_spreadsheet(
    visit: Opener, tmp_path: Path
) -> None:
    page = visit("/")
    page.get_by_role("link", name="Start with this data set").click()
    place = page.get_by_label("Area")
    authority = place.locator("optgroup[label='Local authority'] option").first
    name = authority.inner_text()
    place.select_option(authority.get_attribute("value") or "")
    page.get_by_role("button", name="Build this table").click()
    expect(page.locator("#verdict")).to_contain_text("Published already")
    expect(page.locator("#verdict")).to_contain_text("42")
    page.get_by_role("button", name="Get the table").click()
    expect(page.locator("h1")).to_have_text("People by age in five-year bands and sex")
    expect(page.locator(".lead")).to_contain_text(name)
    expect(page.locator(".drawings .pyramid:visible")).to_have_count(1)
    shown = [int(text.replace(",", "")) for text in figures(page)]
    assert len(shown) == 22 * 3
    with page.expect_download() as download:
        page.get_by_role("link", name="Spreadsheet").click()
    file = tmp_path / "table.xlsx"
    download.value.save_as(file)
    cells = [
        cell.value
        for sheet in openpyxl.load_workbook(file)
        for row in sheet.iter_rows()
        for cell in row
    ]
    assert set(shown) <= {cell for cell in cells if isinstance(cell, int)}
    # What the page says of a figure that is chosen.
    page.locator(".figures td.n").nth(4).click()
    expect(page.locator("#chosen")).to_have_text(
        re.compile(r"^5 to 9, Male: [\d,]+\. The true count lies between [\d,]+ and [\d,]+\.$")
    )
    shoot(page, "chosen-figure")


def test_a_table_by_keyboard_alone(visit: Opener) -> None:
    page = visit("/datasets/census/build")
    page.keyboard.press("Tab")
    expect(page.locator(":focus")).to_have_text("Skip to the content")

    def go_to(target: str) -> None:
        for _ in range(120):
            if page.evaluate("(s) => document.activeElement.matches(s)", target):
                return
            page.keyboard.press("Tab")
        raise AssertionError(f"Tab does not reach {target}")

    go_to("#add-age")
    page.keyboard.press("Enter")
    expect(page.locator("#card-age")).to_be_visible()
    # Whoever adds one variable may want another: the focus stays in the list.
    expect(page.locator("#at-age")).to_be_focused()
    go_to("#add-sex")
    page.keyboard.press("Enter")
    expect(page.locator(".zone.columns #card-sex")).to_be_visible()
    expect(page.locator("#say")).to_have_text("Sex added. Published already, 42 cells.")
    expect(page.locator("#at-sex")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#move-sex")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#card-sex .menu button").first).to_be_focused()
    shoot(page, "move-menu")
    assert violations(page) == []
    page.keyboard.press("ArrowDown")
    expect(page.locator("#card-sex .menu button").nth(1)).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#move-sex")).to_be_focused()
    page.keyboard.press("Space")
    page.keyboard.press("r")
    expect(page.locator(".zone.rows #card-sex")).to_be_visible()
    expect(page.locator("#say")).to_have_text("Sex moved to Rows. Published already, 42 cells.")
    expect(page.locator("#move-sex")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".zone.rows .card").first).to_have_id("card-sex")
    page.keyboard.press("Enter")
    page.keyboard.press("Delete")
    expect(page.locator("#card-sex")).to_have_count(0)
    expect(page.locator("#add-sex")).to_be_focused()
    page.go_back()
    expect(page.locator("#card-sex")).to_be_visible()
    go_to("#get")
    page.keyboard.press("Enter")
    expect(page.locator(".figures")).to_be_visible()
    go_to(".figures td.n")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    expect(page.locator("#chosen")).to_contain_text(":")


def test_a_variable_is_dragged(visit: Opener) -> None:
    page = visit(BUILD)
    page.drag_and_drop("#card-sex .handle", ".zone.layers")
    expect(page.locator(".zone.layers #card-sex")).to_be_visible()
    assert "layers=sex" in page.url
    page.drag_and_drop(".variables li[data-variable=tenure] .entry > span", ".zone.rows")
    expect(page.locator(".zone.rows #card-tenure")).to_be_visible()


def test_levels_categories_and_areas_are_chosen(visit: Opener) -> None:
    page = visit("/datasets/census/build?by=age_band,sex&columns=sex")
    page.locator("#level-age").select_option("age_broad")
    expect(page.locator("#verdict")).to_contain_text("12")
    page.locator("#card-age .tick").click()
    expect(page.locator("#panel")).to_be_focused()
    page.get_by_label("0 to 14").uncheck()
    expect(page.locator("#verdict")).to_contain_text("10")
    expect(page.locator("#card-age .tick")).to_contain_text("5 of 6")
    page.locator("#area").fill("castle")
    first = page.locator("#areas button").first
    expect(first).to_be_visible()
    first.click()
    expect(page.locator(".chip").last).to_contain_text("Castle")
    page.locator("#find").fill("relig")
    expect(page.locator("#add-religion")).to_be_visible()
    expect(page.locator("#add-health")).to_be_hidden()
    page.locator("#find").fill("zzz")
    expect(page.locator("#no-match")).to_be_visible()


def test_a_table_without_scripts(visit: Opener) -> None:
    page = visit("/datasets/census", java_script_enabled=False)
    page.get_by_role("button", name="Build this table").click()
    page.locator("#level-age").select_option("age_broad")
    page.get_by_role("button", name="Update the count").click()
    assert "by=age_broad,sex" in page.url
    page.locator("#add-health").click()
    page.locator("#move-health").click()
    page.locator("#card-health .menu button", has_text="To layers").click()
    assert "layers=health" in page.url
    page.locator("#card-age .tick").click()
    page.get_by_label("0 to 14").uncheck()
    page.get_by_role("button", name="Count these").click()
    page.locator("#area").fill("castle")
    page.get_by_role("button", name="Find", exact=True).click()
    shoot(page, "no-scripts")
    page.locator("#areas button").first.click()
    expect(page.locator(".chip").last).to_contain_text("Castle")
    # What was changed and not yet counted is not lost on the way to the table.
    page.locator("#level-age").select_option("age_band")
    page.locator("#get").click()
    # The verdict on the changed table is read before it is published.
    expect(page.locator(".notice")).to_contain_text("Nothing was published")
    expect(page.locator("#level-age")).to_have_value("age_band")
    page.locator("#get").click()
    assert "age_band" in page.url
    assert page.locator(".figures").count() + page.locator(".refusal").count() == 1


def test_a_refusal_is_fixed_in_one_click(visit: Opener) -> None:
    page = visit(f"/datasets/census/build?{TOO_MANY}")
    expect(page.locator("#verdict")).to_contain_text("Not allowed")
    page.get_by_role("link", name="See fixes").click()
    page.locator(".fixes a").first.click()
    expect(page.locator("#verdict")).not_to_contain_text("Not allowed")
    expect(page.locator("#get")).to_be_visible()
    page = visit(f"/datasets/census/table?{SPARSE}")
    expect(page.locator("#refused-title")).to_have_text("Not available")
    expect(page.locator(".rules")).to_have_count(0)
    page.locator(".fixes a").first.click()
    expect(page.locator("#get")).to_be_visible()


def test_a_table_is_published_by_keyboard(visit: Opener) -> None:
    page = visit("/datasets/census/build?by=marital_status,sex&columns=sex")
    expect(page.locator("#verdict")).to_contain_text("New: would be published now")
    page.locator("#get").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".figures")).to_be_visible()
    assert "token" not in page.url
    page.reload()
    expect(page.locator(".figures")).to_be_visible()


def test_a_table_is_published_without_scripts(visit: Opener) -> None:
    address = "/datasets/census/table?by=household_size,sex&columns=sex"
    page = visit(address, java_script_enabled=False)
    expect(page.locator("#verdict")).to_contain_text("New: would be published now")
    page.locator("#get").click()
    expect(page.locator(".figures")).to_be_visible()
    assert page.url.endswith(address)


def test_the_later_of_two_people_is_told(visit: Opener) -> None:
    address = "/datasets/census/build?by=education,sex&columns=sex"
    first, second = visit(address), visit(address)
    first.locator("#get").click()
    expect(first.locator(".figures")).to_be_visible()
    expect(first.locator(".notice")).to_have_count(0)
    second.locator("#get").click()
    said = "Published a moment ago by someone else. Nothing was used up."
    expect(second.locator(".notice")).to_have_text(said)
    second.goto("/")
    second.locator("[data-recent] a").click()
    expect(second.locator(".figures")).to_be_visible()
    expect(second.locator(".notice")).to_have_count(0)


def test_a_used_up_detail_is_announced_and_its_alternatives_come_next(visit: Opener) -> None:
    page = visit("/datasets/census/build?by=ward,tenure,health&columns=tenure")
    levels = page.locator("#level-geography")
    expect(levels.locator("option[value=oa]")).to_have_text("Output area, 204: used up")
    levels.select_option("oa")
    expect(page.locator("#say")).to_have_text(
        "No longer available in this detail, 4,080 cells. 3 alternatives."
    )
    expect(levels).to_be_focused()
    expect(page.locator("#get")).to_have_count(0)
    page.locator("#verdict a").first.focus()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.matches('#verdict .instead a')")
    page.keyboard.press("Enter")
    expect(page.locator("#get")).to_be_visible()
    # Only bars without alternatives stick.
    page.goto(f"/datasets/census/build?{USED}")
    assert (
        page.evaluate("getComputedStyle(document.getElementById('verdict')).position") != "sticky"
    )


def test_the_sentence_says_when_the_server_is_gone(visit: Opener) -> None:
    page = visit("/datasets/census")
    page.route("**/check?**", lambda route: route.abort())
    page.get_by_label("Second variable").select_option("tenure")
    expect(page.locator("[data-no-answer]")).to_contain_text("The server is not answering.")
    page.unroute("**/check?**")
    page.get_by_role("button", name="Try again").click()
    expect(page.locator("#sentence-verdict")).to_contain_text("New: would be published now, ")


def test_removing_a_filter_keeps_the_focus(visit: Opener) -> None:
    page = visit(f"{BUILD.replace('where=la=1', 'where=health=1')}")
    page.locator(".chip .x").first.click()
    expect(page.locator(".chip")).to_have_count(0)
    expect(page.locator("#add-filter")).to_be_focused()


def test_geography_is_added_at_the_level_of_the_areas(visit: Opener) -> None:
    page = visit("/datasets/census/build?by=sex&columns=&where=la=1|2")
    page.locator("#add-geography").click()
    expect(page.locator("#level-geography")).to_have_value("la")
    expect(page.locator("#verdict")).to_contain_text("4")
