"""The bar says before the click what one would get; a link publishes nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest

from applications import Client, serving
from discreet.errors import LedgerUnavailable
from discreet.ledger import Ledger
from discreet.page.texts import texts
from towns import town_of

BUILD, TABLE = "/datasets/town/build", "/datasets/town/table"
T = texts("en")


def _text(html: str) -> str:
    html = re.sub(r"<(script|style|svg).*?</\1>", " ", html, flags=re.S)
    return re.sub(r" ([.,;:])", r"\1", " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split()))


def _bar(html: str) -> tuple[str, str]:
    """Return the state of the bar, and its text."""
    found = re.search(r'<section class="verdict.*?data-kind="(\w+)".*?</section>', html, re.S)
    assert found is not None
    return found[1], _text(found[0])


def _decided(client: Client) -> list[str]:
    """All that was ever decided: nothing may be added to it by looking."""
    return [str(entry) for entry in client.service.opened("town").ledger.entries()]


@pytest.fixture
def town(tmp_path: Path) -> Iterator[Client]:
    with serving([town_of(tmp_path)]) as client:
        yield client


# 4,000 people: what has more than 40 cells is fine detail.


def test_a_table_is_new_and_then_published(town: Client) -> None:
    kind, said = _bar(town.get(f"{BUILD}?by=age_band,sex").text)
    assert kind == "new"
    assert "New: would be published now" in said
    assert "It uses nothing up. 2 rules met; the last is checked" in said
    assert "6 cells Get the table" in said
    town.publish(f"{BUILD}?by=age_band,sex")
    kind, said = _bar(town.get(f"{BUILD}?by=age_band,sex").text)
    assert kind == "published"
    # Rounding to base 3 moves a figure by 2 at most.
    assert re.search(r"Released on \d+ \w+ \d{4}\. Figures are off by 2 at most\.", said)


def test_fine_detail_says_what_it_uses_up_before_it_is_used_up(town: Client) -> None:
    # 40 wards by sex: 80 cells, two tables may show them. None does.
    kind, said = _bar(town.get(f"{BUILD}?by=ward,sex,health").text)
    assert kind == "look"
    assert "Detail this fine may be in 2 tables, for everybody together." in said
    assert "None is published yet. Yours would be the first." in said
    assert "0 of 2 published" in said
    assert "Also used up if the answer is no." in said
    assert "Publish and get it" in said
    town.publish(f"{BUILD}?by=ward,sex,health")
    page = town.get(f"{BUILD}?by=ward,sex,age_band").text
    kind, said = _bar(page)
    assert kind == "last"
    assert "New, and the last" in said
    assert "One is published. Yours would be the second." in said
    assert "Sex by ward: 1 of 2 published. Sex and health by ward (40)." in said
    assert re.findall(r'<i class="(\w+)">', page) == ["full", "yours"]
    # What it offers instead uses nothing up.
    assert "nothing is used up" in said
    town.publish(f"{BUILD}?by=ward,sex,age_band")
    page = town.get(f"{BUILD}?by=ward,sex,rare").text
    kind, said = _bar(page)
    assert kind == "used"
    assert "No longer available in this detail" in said
    assert "Sex by ward is in 2 published tables, as many as there may be." in said
    assert "Nothing was counted." in said
    assert 'id="get"' not in page


def _used_up(town: Client) -> None:
    for by in ("ward,sex,health", "ward,sex,age_band"):
        town.publish(f"{BUILD}?by={by}")


def test_a_detail_that_is_used_up_leads_on(town: Client) -> None:
    _used_up(town)
    page = town.get(f"{BUILD}?by=ward,sex,rare").text
    ways = re.findall(r'<li><a class="button strong" href="([^"]+)">', page)
    assert 1 <= len(ways) <= 3
    for way in ways:
        kind, _ = _bar(town.get(unescape(way)).text)
        assert kind in ("published", "sum", "new", "look", "last")
    _, said = _bar(page)
    # Of rare traits there are 200: districts by them are new fine detail; with the trait left out
    # figures of a ward by sex are sums of the three age bands, off by 2 each.
    assert (
        "Take out a rare trait By adding up, off by up to 6. 80 cells. You lose: a rare trait."
        in said
    )
    assert f"{len(ways)} alternatives." in said
    text = _text(page)
    assert "The 2 published tables with this detail" in text
    assert "Sex and age band (3) by ward (40) Asked for by a user, released" in text
    assert "Detail this fine in at most 2 tables 2 so far" in text
    links = re.search(r'<section class="tables".*?</section>', page, re.S)
    assert links is not None
    for link in re.findall(r'href="([^"]+)"', links[0]):
        assert 'class="figures"' in town.get(unescape(link)).text


def test_a_detail_that_is_used_up_is_said_early(town: Client) -> None:
    _used_up(town)
    page = town.get(f"{BUILD}?by=ward,rare,sex").text
    assert re.search(r'<option value="ward" selected>Ward, 40: used up</option>', page)
    assert re.search(r'<option value="district">District, 4</option>', page)
    # To wards by trait, sex cannot be added; to districts by trait it can.
    text = _text(town.get(f"{BUILD}?by=ward,rare").text)
    assert "No longer with ward" in text
    assert "No longer" not in _text(town.get(f"{BUILD}?by=district,rare").text)


def test_a_warning_says_what_would_do(tmp_path: Path) -> None:
    # Fine detail has more than 66 cells: wards by sex, not districts by sex and health.
    with serving([town_of(tmp_path, space="guard_below = 60")]) as town:
        for by in ("ward,sex,age_band", "ward,sex,rare"):
            town.publish(f"{BUILD}?by={by}")
        text = _text(town.get(f"{BUILD}?by=ward,health").text)
        assert "No longer with ward; with district it would be new" in text
        # What is used up already is said once, by the bar.
        text = _text(town.get(f"{BUILD}?by=ward,health,sex").text)
        assert "No longer with" not in text


def test_figures_are_added_up_from_a_finer_table(town: Client) -> None:
    town.publish(f"{BUILD}?by=ward,sex,age_band")
    kind, said = _bar(town.get(f"{BUILD}?by=ward,sex").text)
    assert kind == "sum"
    # Three figures rounded to base 3, each off by 2 at most. The count that moves most goes down by
    # 1 with 2/3 and up by 2 with 1/3, so that three are off by 3 or less with 26/27 and by 0 with
    # 12/27.
    assert (
        "Sums of 3 published figures each: off by up to 6, and by 3 or less in nine of ten." in said
    )
    assert 'class="figures"' in town.table(f"{TABLE}?by=ward,sex").text


def test_a_part_of_an_area_is_a_sum_and_the_whole_is_offered(town: Client) -> None:
    for by in ("ward,sex", "district,sex"):
        town.publish(f"{BUILD}?by={by}")
    page = town.get(f"{BUILD}?by=sex&where=ward=10|11|12").text
    kind, said = _bar(page)
    assert kind == "sum"
    assert "All of 1 is published as it is, off by 2 at most: Use 1 instead" in said
    way = re.search(r'<a class="button" href="([^"]+)">Use 1 instead', page)
    assert way is not None
    assert _bar(town.get(unescape(way[1])).text)[0] == "published"


def test_where_the_method_is_not_published_no_bound_is(tmp_path: Path) -> None:
    with serving([town_of(tmp_path, published="false")]) as town:
        town.publish(f"{BUILD}?by=ward,sex,age_band")
        _, said = _bar(town.get(f"{BUILD}?by=ward,sex").text)
        assert "Sums of 3 published figures each: off by a few for each figure added up." in said
        _, said = _bar(town.get(f"{BUILD}?by=ward,sex,age_band").text)
        assert "off by" not in said


def test_what_was_made_and_is_not_available_is_said(tmp_path: Path) -> None:
    with serving([town_of(tmp_path, counts={"minimum_population": 1_000_000})]) as town:
        asked = f"{BUILD}?by=district,sex"
        assert _bar(town.get(asked).text)[0] == "new"
        town.publish(asked)
        kind, said = _bar(town.get(asked).text)
        assert kind == "refused"
        assert "Not available This table could tell too much about too few people." in said
        assert "Ask instead" in said
        # A table that is refused uses up its detail all the same, and is not called published.
        town.publish(f"{BUILD}?by=ward,sex")
        kind, said = _bar(town.get(f"{BUILD}?by=ward,sex,health").text)
        assert kind == "last"
        assert "One is used up. Yours would be the second." in said
        assert "1 of 2 used up" in said
        page = _text(town.get(f"{BUILD}?by=ward,sex").text)
        assert "Ward, 40: not available" in page


@pytest.mark.parametrize(
    ("space", "reason"),
    [
        # 40 wards and 5 states of health.
        ("max_table = 150", "“Health by ward”, which has 200 cells. At most 150 are made."),
        ("max_seconds = 0.00001", "“Health by ward”, which takes too long to count."),
    ],
)
def test_what_is_too_large_says_why(tmp_path: Path, space: str, reason: str) -> None:
    with serving([town_of(tmp_path, space=space)]) as town:
        page = town.get(f"{BUILD}?by=health,ward")
        kind, said = _bar(page.text)
        assert kind == "large"
        assert "Too large to be made" in said
        assert reason in said
        assert "Nothing was counted." in said
        assert 'id="get"' not in page.text
        assert town.get(f"{TABLE}?by=health,ward").status_code == 413
        again = town.get(f"{TABLE}?by=health,ward").text
        assert _bar(again)[0] == "large"
        assert "not met: A whole table" in _text(again)


def test_one_table_may_be_all_there_is(tmp_path: Path) -> None:
    with serving([town_of(tmp_path, space="looks = 1\noffice_looks = 1")]) as town:
        _, said = _bar(town.get(f"{BUILD}?by=ward,sex").text)
        assert "Detail this fine may be in one table" in said
        assert "Yours would be the one." in said
        town.publish(f"{BUILD}?by=ward,sex")
        _, said = _bar(town.get(f"{BUILD}?by=ward,sex,rare").text)
        assert "Sex by ward is in one published table, as many as there may be." in said


def test_a_planned_table_is_said_to_be_the_offices(tmp_path: Path) -> None:
    space = 'looks = 1\noffice_looks = 1\nplan = ["ward,sex"]'
    with serving([town_of(tmp_path, space=space)]) as town:
        town.table(f"{TABLE}?by=ward,sex")
        text = _text(town.get(f"{BUILD}?by=ward,sex,rare").text)
        assert "Planned by the office, released" in text


@pytest.mark.parametrize("lang", ["en", "de"])
def test_the_announcement_is_the_headline_the_cells_and_the_alternatives(
    town: Client, lang: str
) -> None:
    _used_up(town)
    page = town.get(f"{BUILD}?by=ward,sex,rare&lang={lang}").text
    line = re.search(r'id="verdict-line">([^<]+)<', page)
    assert line is not None
    t = texts(lang)
    assert line[1] == (
        f"{t('verdict.title.used')}, {t.number(16_000)} {t('verdict.cells', n=2)}. "
        f"{t('verdict.alternatives', n=3)}"
    )


# Claims


@pytest.mark.parametrize("path", ["table", "chart.svg", "chart.png", "shown.csv"])
def test_a_link_publishes_nothing(town: Client, path: str) -> None:
    before = _decided(town)
    for by in ("age_band,sex", "ward,sex", "rare,health,sex"):
        for method in ("GET", "HEAD"):
            found = town.request(method, f"/datasets/town/{path}?by={by}")
            assert found.status_code == (200 if path == "table" else 403)
    assert _decided(town) == before
    page = town.get(f"/datasets/town/{path}?by=ward,sex").text
    if path == "table":
        assert _bar(page)[0] == "look"
    else:
        assert "This table is not published yet" in _text(page)
        assert "/datasets/town/build?by=ward,sex" in page


def test_the_button_publishes_and_leads_to_the_address_of_the_table(town: Client) -> None:
    posted = town.publish(f"{BUILD}?by=ward,sex&columns=sex&lang=de")
    assert posted.status_code == 303
    assert posted.headers["location"] == f"{TABLE}?by=ward,sex&columns=sex&lang=de"
    assert any("ward" in entry for entry in _decided(town))
    assert 'class="figures"' in town.get(posted.headers["location"]).text


def _token(town: Client, asked: str) -> str:
    found = re.search(r'name="token" value="(\w+)"', town.get(f"{BUILD}?{asked}").text)
    assert found is not None
    return found[1]


def test_without_the_token_of_this_question_nothing_is_published(town: Client) -> None:
    other = _token(town, "by=health,sex")
    mine = _token(town, "by=ward,sex")
    before = _decided(town)
    for given in ({}, {"token": ""}, {"token": "0" * 32}, {"token": other}, {"token": mine[:-1]}):
        found = town.post(TABLE, data={"by": "ward,sex", **given})
        assert found.status_code == 409
        assert T("build.again") in _text(found.text)
        assert _bar(found.text)[0] == "look"
    # The people asked for are a part of the question.
    found = town.post(TABLE, data={"by": "ward,sex", "where": "health=1", "token": mine})
    assert found.status_code == 409
    assert _decided(town) == before
    assert town.post(TABLE, data={"by": "ward,sex", "token": mine}).status_code == 303


def test_a_verdict_that_has_changed_is_read_again(town: Client) -> None:
    # "Yours would be the first" was read; since then another was published.
    token = _token(town, "by=ward,sex,rare")
    town.publish(f"{BUILD}?by=ward,sex,health")
    found = town.post(TABLE, data={"by": "ward,sex,rare", "token": token})
    assert found.status_code == 409
    assert "Yours would be the second." in _text(found.text)


def test_the_later_of_two_people_uses_nothing_up(town: Client) -> None:
    token = _token(town, "by=ward,sex")
    town.publish(f"{BUILD}?by=ward,sex")
    before = _decided(town)
    found = town.post(TABLE, data={"by": "ward,sex", "token": token})
    assert found.status_code == 303
    assert _decided(town) == before
    page = town.get(found.headers["location"]).text
    said = "Published a moment ago by someone else. Nothing was used up."
    assert said in _text(page)
    # It is of this moment: no link but the one to the other language says it again.
    assert len(re.findall(r'href="[^"]*note=', page)) == 1
    link = re.search(r'id="permalink" href="([^"]+)"', page)
    assert link is not None
    assert said not in _text(town.get(unescape(link[1])).text)


def test_two_people_at_the_same_time_publish_once(town: Client) -> None:
    token = _token(town, "by=ward,sex")
    form = {"by": "ward,sex", "token": token}

    async def both() -> list[str]:
        import asyncio

        asked = [town._http.post(TABLE, data=form) for _ in range(2)]
        return sorted(found.headers["location"] for found in await asyncio.gather(*asked))

    first, second = town.run(both())
    assert first == f"{TABLE}?by=ward,sex&columns=sex"
    assert second == f"{first}&note=published"


def test_what_was_changed_on_the_way_is_judged_again(town: Client) -> None:
    # Without scripts a level may be changed and the button pressed at once.
    found = town.publish(f"{BUILD}?by=age_band,sex", **{"level.age": "age"})
    assert found.status_code == 409
    assert _bar(found.text)[0] == "look"
    assert 'name="by" value="age,sex"' in found.text
    # A table that is published already needs no token.
    town.publish(f"{BUILD}?by=age_band,sex")
    found = town.post(TABLE, data={"by": "age,sex", "columns": "sex", "level.age": "age_band"})
    assert found.headers["location"] == f"{TABLE}?by=age_band,sex&columns=sex"


def test_a_form_that_is_too_long_is_not_read(town: Client) -> None:
    assert town.post(TABLE, data={"by": "sex", "where": "x" * 70_000}).status_code == 400


@pytest.mark.parametrize("margins", ["none", "protected"])
def test_crawling_every_link_changes_nothing(tmp_path: Path, margins: str) -> None:
    with serving([town_of(tmp_path, margins=margins)]) as town:
        _used_up(town)
        town.publish(f"{BUILD}?by=district,sex")
        town.publish(f"{BUILD}?by=sex&where=ward=1|2")
        todo = [
            "/", "/datasets/town", f"{BUILD}?by=ward,sex,rare", f"{BUILD}?by=ward,health",
            f"{TABLE}?by=ward,sex,health", f"{TABLE}?by=sex&where=ward=1|2", f"{TABLE}?by=rare,age",
        ]  # fmt: skip
        before = _decided(town)
        seen: set[str] = set()
        for page in todo:
            html = town.get(page).text
            links = re.findall(r'(?:href|src|action|formaction)="(/[^"#]*)', html)
            seen |= {unescape(link) for link in links}
        # Files of published tables are among them, over the API.
        assert any("/api/v1/" in link for link in seen)
        assert len(seen) > 40
        for link in sorted(seen):
            assert town.get(link).status_code in (200, 303, 403), link
        assert _decided(town) == before


def test_totals_that_are_not_published_are_not_by_a_link(tmp_path: Path) -> None:
    with serving([town_of(tmp_path, margins="protected")]) as town:
        # A program asks without totals: sex alone and health alone are not published yet.
        assert town.get("/api/v1/datasets/town/table?by=health,sex").status_code == 200
        before = _decided(town)
        page = town.get(f"{TABLE}?by=health,sex").text
        assert 'class="figures"' in page  # it is published, so it is shown
        assert 'class="total"' not in page
        assert "totals=none" in re.findall(r'id="permalink" href="([^"]*)"', page)[0]
        # Whoever wants totals is led to the button that publishes them.
        (leads,) = re.findall(r'id="totals" href="([^"]*)"', page)
        assert "/datasets/town/build?by=health,sex" in leads
        assert _bar(town.get(unescape(leads)).text)[0] == "published"
        assert _decided(town) == before
        assert 'class="figures"' in town.get(f"{TABLE}?by=health,sex&totals=none").text
        town.publish(unescape(leads).split("#")[0])
        assert len(_decided(town)) > len(before)
        assert 'class="total"' in town.get(f"{TABLE}?by=health,sex").text


def test_robots_are_kept_out_of_tables(town: Client) -> None:
    found = town.get("/robots.txt")
    assert found.headers["content-type"].startswith("text/plain")
    away = re.findall(r"^Disallow: (.+)$", found.text, re.M)
    assert found.text.startswith("User-agent: *\n")
    assert {"/api/", "/datasets/*/table", "/datasets/*/build"} <= set(away)
    town.publish(f"{BUILD}?by=sex")
    for path in ("build", "table", "chart.svg", "shown.csv"):
        told = town.get(f"/datasets/town/{path}?by=sex").headers
        assert told["x-robots-tag"] == "noindex, nofollow", path
    assert "x-robots-tag" not in town.get("/datasets/town").headers


def test_what_cannot_be_written_down_is_not_published(
    town: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = _token(town, "by=ward,sex")

    def lost(*given: object) -> None:
        raise LedgerUnavailable

    monkeypatch.setattr(Ledger, "claim", lost)
    found = town.post(TABLE, data={"by": "ward,sex", "token": token})
    assert found.status_code == 503
    assert found.headers["retry-after"] == "30"
    assert "New tables cannot be made now." in _text(found.text)
