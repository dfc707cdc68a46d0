from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import replace
from html import unescape
from urllib.parse import parse_qs, urlsplit

import pytest

from applications import Client, serving
from discreet.errors import QueryRefused
from discreet.page import assets
from discreet.page.texts import texts
from discreet.release import Release
from discreet.release.formats import FORMATS
from discreet.rules import Code
from discreet.service import Asked
from towns import town_of

T = texts("en")

PAGES = ["/", "/accessibility", "/api", "/datasets/town", "/datasets/town/method"]
ADULTS = "/datasets/town/build?by=age_band,sex&columns=sex"
TABLE = "/datasets/town/table?by=age_band,sex&columns=sex"
REFUSED = "/datasets/town/table?by=ward,rare,age"
SPARSE = "/datasets/town/table?by=ward,rare"
PART = "by=ward,sex&columns=sex"


def _text(html: str) -> str:
    html = re.sub(r"<(script|style|svg).*?</\1>", " ", html, flags=re.S)
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())


@pytest.mark.parametrize("path", [*PAGES, "/datasets/town/build", ADULTS, TABLE])
@pytest.mark.parametrize("lang", ["en", "de"])
def test_a_page_is_there_in_both_languages(client: Client, path: str, lang: str) -> None:
    client.publish(TABLE)
    found = client.get(f"{path}{'&' if '?' in path else '?'}lang={lang}")
    assert found.status_code == 200
    assert found.headers["content-type"] == "text/html; charset=utf-8"
    assert f'<html lang="{lang}">' in found.text
    assert found.text.count("<h1") == 1
    for link in re.findall(r'href="(/(?:datasets|accessibility|api)?[^"#]*)"', found.text):
        if not link.startswith(("/api/", "/static/")) and ".svg" not in link and ".png" not in link:
            other = "de" if lang == "en" else "en"
            assert f"lang={lang}" in link or f"lang={other}" in link, link


@pytest.mark.parametrize("path", [*PAGES, ADULTS, TABLE, REFUSED, SPARSE])
def test_a_page_needs_no_inline_script_or_style_and_nobody_else(client: Client, path: str) -> None:
    client.publish(TABLE)
    client.publish(SPARSE)
    found = client.get(path)
    policy = found.headers["content-security-policy"]
    assert "unsafe" not in policy
    assert "default-src 'none'" in policy
    assert not re.search(r"\sstyle=|\son\w+=|<style|javascript:", found.text)
    # What is said to search engines is data: no browser runs it.
    code = re.sub(r'<script type="application/ld\+json">[^<]*</script>', "", found.text)
    assert not re.search(r"<script(?![^>]*src=)", code)
    for address in re.findall(r'(?:src|action)="([^"]+)"', found.text):
        assert address.startswith("/"), address


def test_a_data_set_lists_each_kind_of_area(client: Client) -> None:
    places = client.get("/datasets/town").text.split(f"<h3>{T('dataset.places')}</h3>")[1]
    listed = re.findall(r'build\?by=(\w+)">[^<]+</a> <span class="soft">([^<]+)<', places)
    assert [level for level, _ in listed] == ["district", "ward"]
    assert all(size.endswith(" areas") for _, size in listed)


def test_static_files_are_kept_for_long_under_hashed_names(client: Client) -> None:
    page = client.get("/").text
    names = re.findall(r'"(/static/[^"]+)"', page)
    assert len(names) >= 3
    for name in names:
        found = client.get(name)
        assert found.status_code == 200
        assert "immutable" in found.headers["cache-control"]
    for content, _ in assets.files().values():
        for name in re.findall(r'from "\./([^"]+)"', content.decode()):
            assert name in assets.files()
    assert client.get("/static/page.css").status_code == 404


def test_a_button_leads_to_the_address_that_says_the_new_state(client: Client) -> None:
    found = client.get(f"{ADULTS}&do=move:sex:rows&lang=de")
    assert found.status_code == 303
    asked = parse_qs(urlsplit(found.headers["location"]).query, keep_blank_values=True)
    assert asked == {"by": ["age_band,sex"], "columns": [""], "lang": ["de"]}


def test_the_sentence_leads_to_the_builder(client: Client) -> None:
    found = client.get("/datasets/town/build?who=sex=2&first=age_band&second=age&place=district=1")
    assert found.headers["location"] == (
        "/datasets/town/build?by=age_band&columns=&where=sex=2,district=1"
    )


def test_the_builder_says_the_sum_and_the_rules(client: Client) -> None:
    # Of this class no other test asks.
    text = _text(client.get(f"{ADULTS}&where=rare=0").text)
    assert "3 age band × times 2 sex = equals 6 cells" in text
    assert "At most 100,000 cells 6" in text
    assert "checked when a table is published" in text


def test_a_refused_question_offers_changes_that_are_allowed(client: Client) -> None:
    found = client.get(REFUSED.replace("/table", "/build"))
    assert "Not allowed" in _text(found.text)
    links = [unescape(a) for a in re.findall(r'class="button strong" href="([^"]+)"', found.text)]
    assert len(links) >= 2
    for link in links:
        text = _text(client.get(link).text)
        assert "Not allowed" not in text
        assert 'id="get"' in client.get(link).text
    refused = client.get(REFUSED)
    assert refused.status_code == 413
    assert "Nothing was counted" in _text(refused.text)


# Refusals by the question or the data, each with the rule that is said to have failed, None where
# it is one that this question meets.
OF_QUESTION = {
    Code.MAX_DIMENSIONS: None, Code.MAX_CELLS: None, Code.MAX_CATEGORIES: None, Code.LEVEL: None,
    Code.FILTER: None, Code.TOTALS: None, Code.NO_METHOD: None, Code.NOT_MEASURED: None,
    Code.NOT_PROTECTED: "prepared",
}  # fmt: skip


@pytest.mark.parametrize("by", ["age_band,sex", "ward,sex"])
@pytest.mark.parametrize("code", list(OF_QUESTION))
def test_every_refusal_of_a_question_gives_its_own_reason_and_no_other(
    client: Client, monkeypatch: pytest.MonkeyPatch, code: Code, by: str
) -> None:
    async def refuse(asked: object, claim: bool = True) -> Release:
        raise QueryRefused(code, code.sentence)

    monkeypatch.setattr(client.service, "release", refuse)
    for lang in ("en", "de"):
        t = texts(lang)
        text = _text(client.get(f"/datasets/town/table?by={by}&lang={lang}").text)
        said = {*(t(f"refused.codes.{other}") for other in OF_QUESTION), t("refused.one")}
        mine = t(f"refused.codes.{code}")
        assert lang == "de" or mine == code.sentence
        assert [sentence for sentence in said if sentence in text] == [mine]
        failed = [
            name for name in ("prepared", "method", "counts")
            if f"{t('rules.no')}: {t(f'rules.{name}')} {t('rules.failed')}" in text
        ]  # fmt: skip
        assert failed == ([] if OF_QUESTION[code] is None else [OF_QUESTION[code]])
        assert (t("refused.question") in text) == (code is not Code.NOT_PROTECTED)


def test_where_no_change_is_enough_nothing_is_promised(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(asked: object, claim: bool = True) -> Release:
        raise QueryRefused(Code.NOT_AVAILABLE, Code.NOT_AVAILABLE.sentence)

    monkeypatch.setattr(client.service, "release", refuse)
    text = _text(client.get("/datasets/town/table?by=sex").text)
    assert "None of the changes we tried is enough." in text
    for promise in ("Change one thing", "larger areas", "take out variables", "take out filters"):
        assert promise not in text


@pytest.fixture(scope="module")
def part(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A town of about 100 people in a ward, of whom some have fewer and are left out."""
    store = town_of(tmp_path_factory.mktemp("part"), counts={"minimum_population": 100})
    with serving([store]) as client:
        client.publish(f"/datasets/town/table?{PART}")
        yield client


def test_withheld_areas_are_named_with_questions_close_to_it(part: Client) -> None:
    found = part.get(f"/datasets/town/table?{PART}")
    text = _text(found.text)
    assert re.search(r"Not available for \d+ of 40 areas", text)
    assert "Close to your question" in text
    assert "Which areas are left out" in text


def test_the_table_has_real_heads_and_a_caption(client: Client) -> None:
    found = client.table(TABLE).text
    assert re.search(r"<caption[^>]*>.* by age band and sex", found)
    assert found.count('scope="col"') >= 3
    assert found.count('scope="row"') == 4
    text = _text(found)
    assert "Parts may not add up to their totals" in text
    assert "By 2 at most." in text
    german = client.get(TABLE + "&lang=de").text
    assert re.search(r"\d\.\d{3}", _text(german))
    assert not re.search(r">\d,\d{3}<", german)


def test_a_figure_with_one_possible_count_has_no_range(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = client.service.release

    client.publish(TABLE)

    async def narrowed(asked: Asked, claim: bool = True) -> Release:
        release = await answer(asked, claim)
        table = release.table
        assert table.high is not None
        low = table.high.copy()
        low[0, 0] -= 4
        return replace(release, table=replace(table, low=low))

    monkeypatch.setattr(client.service, "release", narrowed)
    assert client.get(TABLE).text.count("data-low=") == 1


def test_totals_can_be_left_out(client: Client) -> None:
    assert 'class="total"' in client.table(TABLE).text
    assert 'class="total"' not in client.get(TABLE + "&totals=none").text


def test_every_download_is_there(client: Client) -> None:
    page = client.table(TABLE).text
    links = re.findall(r'href="([^"]+)" download="[^"]+" data-format="([^"]+)"', page)
    assert len(links) == 13
    for link, form in links:
        found = client.get(unescape(link))
        assert found.status_code == 200, form
        assert found.content
    assert client.get(TABLE.replace("/table", "/chart.svg")).text.startswith("<svg")
    assert client.get(TABLE.replace("/table", "/chart.png")).content[:4] == b"\x89PNG"


def test_what_a_reader_types_is_escaped(client: Client) -> None:
    for path in (
        f"{ADULTS}&area=%3Cscript%3E&find=%22%3E%3Cscript%3E",
        "/datasets/town/table?by=%3Cscript%3Ealert(1)%3C/script%3E",
        "/datasets/town/build?by=sex&open=%3Cscript%3E",
        f"{TABLE}&chart=%22%3E%3Cscript%3E&sort=%3Cscript%3E",
    ):
        assert "<script>" not in client.get(path).text


@pytest.mark.parametrize(
    ("path", "status", "text"),
    [
        ("/nowhere", 404, "There is no such page."),
        ("/datasets/nowhere", 404, "There is no such data set."),
        ("/datasets/town/table?by=agee", 400, "This link is not complete."),
        ("/datasets/town/table?by=sex&where=age", 400, "This link is not complete."),
        ("/datasets/town/build?by=sex&do=move:sex:moon", 400, "This link is not complete."),
        ("/datasets/town/chart.gif?by=sex", 404, "There is no such page."),
    ],
)
def test_a_failure_is_a_page_with_a_way_on(
    client: Client, path: str, status: int, text: str
) -> None:
    found = client.get(path)
    assert found.status_code == status
    assert text in _text(found.text)
    assert 'class="button' in found.text


def test_a_table_without_variables_leads_to_the_builder(client: Client) -> None:
    found = client.get("/datasets/town/table?by=")
    assert found.status_code == 303
    assert found.headers["location"].startswith("/datasets/town/build")


def test_an_old_link_that_says_wafers_still_works(client: Client) -> None:
    # Layers were called wafers: both addresses must give the second table of three, men.
    path = "/datasets/town/table?by=sex,age_band,health&columns=health"
    client.publish(path)
    old, new = (client.get(f"{path}&{name}s=sex&{name}=1").text for name in ("wafer", "layer"))
    assert re.search(r'<option value="1" selected>Male</option>', new)
    assert old == new


def test_files_are_named_after_their_question(client: Client) -> None:
    page = client.table(f"{TABLE}&where=district=1&chart=heat").text
    links = re.findall(r'href="([^"]+)" download="([^"]+)" data-format="([^"]+)"', page)
    names = [name for _, name, _ in links]
    assert len(set(names)) == len(names)
    assert "town-age_band-sex-district-1.xlsx" in names
    assert "town-age_band-sex-district-1-heat.svg" in names
    assert "town-age_band-sex-district-1.csv.meta.json" in names
    for href, name, _ in links:
        told = client.get(unescape(href)).headers["content-disposition"]
        assert told == f'inline; filename="{name}"'


def test_the_file_of_the_page_is_what_the_page_shows(client: Client) -> None:
    page = "?by=health,sex&columns=sex&where=district=1&show=row&sort=-2&names=both"
    html = client.table(f"/datasets/town/table{page}").text
    file = client.get(f"/datasets/town/shown.csv{page}").content.decode("utf-8-sig")
    rows = list(csv.reader(io.StringIO(file)))
    above, below = rows[: rows.index([])], rows[rows.index([]) + 1 :]
    assert dict(above)["Table"] == "Records by health and sex"
    assert "1" in dict(above)["Who is counted"]
    assert dict(above)["Show"] == "% of row"
    assert "data version" in dict(above)["Source"]
    assert below[0] == ["Health", "Total", "1 Male", "2 Female"]
    cells = re.findall(r'<td class="n[^"]*"[^>]*>(?:<span>)?([^<]+)', html)
    assert [f"{text}%" for row in below[1:] for text in row[1:]] == cells
    heads = re.findall(r'<th scope="row"[^>]*>([^<]+)<', html)
    assert [row[0] for row in below[1:]] == heads


def test_a_file_of_layers_shows_one_of_them(client: Client) -> None:
    page = "?by=sex,age_band,health&columns=age_band,health&layers=sex&layer=1&totals=none"
    file = client.table(f"/datasets/town/shown.csv{page}").content.decode("utf-8-sig")
    rows = list(csv.reader(io.StringIO(file)))
    assert ["Table for", "Female"] in rows
    assert rows[-2][:3] == ["", "1", "2"]  # the second line of heads: states of health
    assert len(rows[-1]) == 1 + 3 * 5


def test_a_chart_file_carries_title_filters_and_source(client: Client) -> None:
    found = client.table(
        "/datasets/town/chart.svg?by=age_band,sex&columns=sex&where=health=1|2&show=row"
    )
    text = _text(found.text.replace("svg", "x").replace("style", "script"))
    assert "Records by age band and sex (% of row)" in text
    assert "Health: 1 and 2" in text
    assert "Figures changed slightly" in text
    assert re.search(r"\d\.\d%</title>", found.text)


def test_files_of_the_page_say_that_areas_are_missing(part: Client) -> None:
    for file in ("shown.csv", "chart.svg"):
        found = part.get(f"/datasets/town/{file}?{PART}")
        assert found.status_code == 200
        assert re.search(r"\d+ of 40 areas are available\.", found.text), file


def test_programs_read_figures_as_numbers_and_codes_as_texts(client: Client) -> None:
    page = unescape(client.table(TABLE).text)
    assert 'types = {"age_band": str, "sex": str, "value": "Int64"}' in page
    assert 'comment="#"' not in page  # a label may have one in it
    assert "--output town-age_band-sex.csv.meta.json" in page


def test_a_format_that_a_package_adds_is_offered(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    added = replace(FORMATS["html"], name="cells", label="Cells & more", suffix=".cells")
    monkeypatch.setitem(FORMATS, "cells", added)
    page = client.table("/datasets/town/table?by=sex").text
    offered = re.search(r'data-format="cells">([^<]+)<', page)
    assert offered is not None
    assert offered[1] == "Cells &amp; more"
