"""The pages in a real browser: by mouse, by keyboard, without scripts, on a phone."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import parse_qsl, urlencode
from urllib.request import urlopen

import openpyxl
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page, expect

from discreet.build import build
from discreet.synth import write
from stores import two_looks

ROOT = Path(__file__).parents[2]
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


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A synthetic census of 60,000 people: small, and still with sparse tables."""
    folder = tmp_path_factory.mktemp("census")
    write(60_000, folder / "census", 1, None, lambda more: None)
    described = folder / "census" / "dataset.toml"
    text = re.sub(r"^policy = .*\n", "", described.read_text("utf-8"), flags=re.MULTILINE)
    described.write_text(f'policy = "{two_looks(folder / "census")}"\n{text}', "utf-8")
    build(described, folder / "store")
    return folder / "store"


@pytest.fixture(scope="session")
def base(store: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server of its own."""
    settings = tmp_path_factory.mktemp("settings") / "settings.toml"
    settings.write_text("rate = 100000\nburst = 10000\n", encoding="utf-8")
    command = [
        sys.executable, "-m", "discreet", "serve", str(store), "--port", "0",
        "--settings", str(settings),
    ]  # fmt: skip
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        try:
            assert server.stdout is not None
            line = server.stdout.readline()
            address = re.search(r"http://\S+", line)
            assert address is not None, line
            for _ in range(300):
                try:
                    with urlopen(f"{address[0]}/readyz") as ready:
                        if ready.status == 200:
                            break
                except OSError:
                    time.sleep(0.2)
            tables = [path for path in STATES.values() if "/table?" in path]
            for path in (
                [f"/datasets/census/table?{asked}" for asked in PUBLISHED] + tables + [LONG]
            ):
                if path != STATES["table-not-released"]:
                    _publish(address[0], path)
            yield address[0]
        finally:
            server.terminate()
            server.wait(30)


def _publish(base: str, path: str) -> None:
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


@pytest.fixture
def visit(browser: Browser, base: str) -> Iterator[Opener]:
    """Open pages; whatever a page asks for must come from its own server."""
    contexts: list[BrowserContext] = []
    foreign: list[str] = []
    troubles: list[str] = []

    def begin(path: str, width: int = 1440, height: int = 1000, **options: object) -> Page:
        context = browser.new_context(
            base_url=base,
            viewport={"width": width, "height": height},
            **{"locale": "en-GB", **options},  # type: ignore[arg-type]
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.on(
            "request",
            lambda request: None if request.url.startswith(base) else foreign.append(request.url),
        )
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on(
            "console",
            lambda said: troubles.append(said.text) if "Content Security" in said.text else None,
        )
        page.goto(path)
        return page

    yield begin
    for context in contexts:
        context.close()
    assert foreign == []
    assert troubles == []


def _shoot(page: Page, name: str) -> None:
    SHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SHOTS / f"{name}.png", full_page=True)


def _violations(page: Page) -> list[str]:
    found = Axe().run(page).response["violations"]
    return [f"{v['id']}: {v['nodes'][0]['html'][:150]}" for v in found]


def _figures(page: Page) -> list[str]:
    return page.locator(".figures td.n").all_inner_texts()


def _is_wide(page: Page) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth > innerWidth"))


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
    shown = [int(text.replace(",", "")) for text in _figures(page)]
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
    _shoot(page, "chosen-figure")


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
    _shoot(page, "move-menu")
    assert _violations(page) == []
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
    _shoot(page, "no-scripts")
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
        assert not _is_wide(page), path


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
    assert _figures(again) == _figures(page)
    assert len(_figures(again)) == 7 * 13


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


def test_the_language_changes_and_stays(visit: Opener) -> None:
    page = visit(PYRAMID)
    english = _figures(page)
    page.get_by_role("link", name="Deutsch").click()
    expect(page.locator("html")).to_have_attribute("lang", "de")
    expect(page.locator("h1")).to_contain_text("Personen nach")
    assert [text.replace(".", ",") for text in _figures(page)] == english
    page.get_by_role("link", name="Tabelle ändern").click()
    expect(page.locator("#verdict")).to_contain_text("Schon veröffentlicht")
    page.locator("#add-health").click()
    expect(page.locator("#card-health")).to_be_visible()
    expect(page.locator("html")).to_have_attribute("lang", "de")
    _shoot(page, "builder-german")
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
    assert _violations(page) == []
    _shoot(page, "server-gone")
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


def test_the_sentence_says_when_the_server_is_gone(visit: Opener) -> None:
    page = visit("/datasets/census")
    page.route("**/check?**", lambda route: route.abort())
    page.get_by_label("Second variable").select_option("tenure")
    expect(page.locator("[data-no-answer]")).to_contain_text("The server is not answering.")
    page.unroute("**/check?**")
    page.get_by_role("button", name="Try again").click()
    expect(page.locator("#sentence-verdict")).to_contain_text("New: would be published now, ")


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


def test_removing_a_filter_keeps_the_focus(visit: Opener) -> None:
    page = visit(f"{BUILD.replace('where=la=1', 'where=health=1')}")
    page.locator(".chip .x").first.click()
    expect(page.locator(".chip")).to_have_count(0)
    expect(page.locator("#add-filter")).to_be_focused()


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


def test_geography_is_added_at_the_level_of_the_areas(visit: Opener) -> None:
    page = visit("/datasets/census/build?by=sex&columns=&where=la=1|2")
    page.locator("#add-geography").click()
    expect(page.locator("#level-geography")).to_have_value("la")
    expect(page.locator("#verdict")).to_contain_text("4")


def test_the_python_of_a_page_gives_the_figures_of_the_page(visit: Opener) -> None:
    page = visit(PYRAMID)
    shown = [int(text.replace(",", "")) for text in _figures(page)]
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
    assert not _is_wide(page)


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


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", STATES)
def test_axe_finds_nothing(visit: Opener, name: str, scheme: str) -> None:
    page = visit(STATES[name], 1440, 1400, color_scheme=scheme, reduced_motion="reduce")
    assert _violations(page) == []
    _shoot(page, f"{name}-1440-{scheme}")
    if scheme == "light":
        page.set_viewport_size({"width": 390, "height": 844})
        assert _violations(page) == []
        _shoot(page, f"{name}-390")
    else:
        page.set_viewport_size({"width": 768, "height": 1024})
        _shoot(page, f"{name}-768-dark")
