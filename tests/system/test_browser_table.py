"""The page of a table in a real browser: on a phone, downloaded, sorted, printed."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import expect

from browsing import (
    LONG,
    NESTED,
    PYRAMID,
    SHOTS,
    STATES,
    SUMS,
    Opener,
    figures,
    is_wide,
)


@pytest.mark.parametrize("width", [390, 720])
def test_a_table_at_a_phones_width_and_at_twice_the_size(visit: Opener, width: int) -> None:
    # 720 is what is left of 1440 at 200% zoom.
    page = visit("/datasets/census", width, 844)
    page.get_by_role("button", name="Build this table").click()
    expect(page.locator("#get")).to_be_in_viewport()
    page.locator("#get").click()
    expect(page.locator(".figures")).to_be_visible()
    expect(page.locator(".drawings .drawing:visible")).to_have_count(1)
    for path in STATES.values():
        page.goto(path)
        assert not is_wide(page), path


def test_each_format_is_downloaded(visit: Opener, tmp_path: Path) -> None:
    page = visit(PYRAMID)
    links = page.locator("[data-format]")
    formats = [links.nth(i).get_attribute("data-format") for i in range(links.count())]
    assert formats == [
        "xlsx", "shown", "csv", "meta", "csv-layout", "json-stat", "px", "sdmx-csv", "sdmx-ml",
        "parquet", "html", "svg", "png",
    ]  # fmt: skip
    for i, form in enumerate(formats):
        if i == 7:
            page = visit(PYRAMID)  # Chromium allows a page ten downloads in a row
        with page.expect_download() as download:
            page.locator(f"[data-format='{form}']").click()
        file = tmp_path / str(form)
        download.value.save_as(file)
        assert file.stat().st_size > 200, form
        assert download.value.suggested_filename.startswith("census-age_band-sex-"), form


def test_a_permalink_gives_the_same_figures_and_is_copied(visit: Opener, base: str) -> None:
    page = visit(f"{NESTED}&show=row", permissions=["clipboard-read", "clipboard-write"])
    link = page.locator("#permalink").inner_text()
    assert link.startswith(base)
    button = page.get_by_role("button", name="Copy the link")
    button.click()
    expect(page.locator("#say")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == link
    again = visit(link)
    assert figures(again) == figures(page)
    assert len(figures(again)) == 7 * 13


def test_a_sum_says_what_it_stands_for(visit: Opener) -> None:
    page = visit(SUMS)
    page.locator(".figures td.n").nth(1).click()
    # Two figures rounded to base 3: off by 4 at most.
    expect(page.locator("#chosen")).to_have_text(
        re.compile(
            r"^In employment, Male: ([\d,]+)\. Added up from 2 published figures\. The true count "
            r"lies between [\d,]+ and [\d,]+; in nine of ten such sums, between [\d,]+ and "
            r"[\d,]+\.$"
        )
    )
    page.keyboard.press("ArrowRight")
    expect(page.locator("#chosen")).to_contain_text("In employment, Female: ")
    page.locator("#ranges").click()
    expect(page.locator(".figures .off")).to_have_count(0)
    page.get_by_role("link", name="Get Ivelbridge instead").click()
    expect(page.locator(".sums-band")).to_have_count(0)
    expect(page.locator(".figures")).to_be_visible()


def test_the_band_and_the_marks_of_sums_are_printed(visit: Opener) -> None:
    page = visit(SUMS)
    page.emulate_media(media="print")
    expect(page.locator(".sums-band")).to_be_visible()
    mark = "getComputedStyle(document.querySelector('.added > span')).borderBottomStyle"
    assert page.evaluate(mark) == "double"
    expect(page.locator(".sums-band .button")).to_be_hidden()
    printed = page.pdf(prefer_css_page_size=True, print_background=True)
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) == 2


def test_sorting_and_paging_keep_the_focus(visit: Opener) -> None:
    page = visit(PYRAMID)
    page.locator("#sort-2").focus()
    for order in ("descending", "ascending"):
        page.keyboard.press("Enter")
        expect(page.locator(f"th[aria-sort={order}] #sort-2")).to_be_visible()
        expect(page.locator("#sort-2")).to_be_focused()
    page.locator("#show-row").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#show-row")).to_have_attribute("aria-current", "true")
    expect(page.locator("#show-row")).to_be_focused()
    page = visit(LONG)
    page.locator("#page-next").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".pager").first).to_contain_text("page 2 of")
    expect(page.locator("#page-next")).to_be_focused()


def test_the_python_of_a_page_gives_the_figures_of_the_page(visit: Opener) -> None:
    page = visit(PYRAMID)
    shown = [int(text.replace(",", "")) for text in figures(page)]
    code = page.locator("#code-python").inner_text()
    check = (
        "\nimport json\nassert table['value'].dtype.kind == 'i'\n"
        "assert all(isinstance(code, str) for code in table['sex'])\n"
        "print(json.dumps([[a, s, int(v)] for a, s, v in "
        "zip(table['age_band'], table['sex'], table['value'])]))"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code + check], capture_output=True, text=True,
        timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    ages = list(dict.fromkeys(age for age, _, _ in rows))
    cells = {(age, sex): value for age, sex, value in rows}
    # The page has the total first in columns and last in rows, as in the file.
    assert shown == [cells[age, sex] for age in ages for sex in ("_T", "1", "2")]


def test_long_labels_are_broken_and_nothing_is_cut(visit: Opener) -> None:
    page = visit("/datasets/census/build?by=occupation,sex&columns=sex", 1024, 900)
    cut = """() => [...document.querySelectorAll(".shape th, .card-name, .entry > span")]
      .filter((one) => one.scrollWidth > one.clientWidth + 1 && one.clientWidth > 0)
      .map((one) => one.textContent.trim())"""
    assert page.evaluate(cut) == []
    page.evaluate(
        "document.querySelectorAll('.card-name, .entry > span')"
        ".forEach((one) => { one.textContent = 'Donaudampfschifffahrtsgesellschaft'.repeat(3) })"
    )
    assert page.evaluate(cut) == []
    assert not is_wide(page)


def test_the_table_is_printed_on_a_page_of_its_own(visit: Opener) -> None:
    page = visit(NESTED)
    page.emulate_media(media="print")
    expect(page.locator("header.site nav")).to_be_hidden()
    expect(page.locator(".take")).to_be_hidden()
    expect(page.locator(".print-only")).to_be_visible()
    printed = page.pdf(prefer_css_page_size=True, print_background=True)
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) == 2  # the table, then the chart
    SHOTS.mkdir(parents=True, exist_ok=True)
    (SHOTS / "print.pdf").write_bytes(printed)
