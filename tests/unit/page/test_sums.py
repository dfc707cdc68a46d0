"""A table of sums: what was added up, how far off it may be, and where only totals are sums."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest

from applications import Client, serving
from discreet.page.quality import off_by, sum_lines, sum_picture
from discreet.page.texts import texts
from discreet.policy import Protection
from towns import town_of

TABLE = "/datasets/town/table"
SOME = f"{TABLE}?by=health,sex&columns=sex&where=ward=10|11|12"
T = texts("en")


def _text(html: str) -> str:
    html = re.sub(r"<(script|style|svg).*?</\1>", " ", html, flags=re.S)
    return re.sub(r" ([.,;:])", r"\1", " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split()))


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with serving([town_of(tmp_path_factory.mktemp("sums"))]) as client:
        client.publish(f"{TABLE}?by=district,health,sex")
        client.publish(SOME)
        yield client


def test_the_band_says_what_was_added_up_and_what_is_published(town: Client) -> None:
    html = town.get(SOME).text
    text = _text(html)
    assert "These figures are sums" in text
    assert "10, 11 and 12 are not published as one area." in text
    assert "added up from published figures of ward (3)." in text
    assert "Published as one area: 1" in text
    # District 1 has the wards 10 to 19.
    assert "Your areas and 7 more." in text
    assert "Off by 2 at most, not 6." in text
    single = re.search(r'href="([^"]+)">Show the 3 areas one by one', html)
    assert single is not None
    there = town.get(unescape(single[1])).text
    assert "These figures are sums" not in _text(there)
    assert there.count('scope="rowgroup"') == 5  # states of health, with three wards in each


def test_each_sum_has_its_ranges_beside_it(town: Client) -> None:
    html = town.get(SOME).text
    assert "Figures added up" in _text(html)
    # Three parts: off by 6 at most, and by 3 or less in nine of ten (see test_verdict).
    assert html.count('class="n added"') == 5 * 2
    assert html.count('<td class="off">± 6</td><td class="off">± 3</td>') == 5 * 2
    assert html.count('<td class="parts">3</td>') == 5
    assert html.count('scope="col"') == 2 * 3
    first = re.search(
        r'data-parts="3" data-low="(\d+)" data-high="(\d+)" data-low90="(\d+)" data-high90="(\d+)">'
        r"<span>(\d+)</span>",
        html,
    )
    assert first is not None
    low, high, low90, high90, value = map(int, first.groups())
    assert (value - 6, value + 6) == (low, high)
    assert (value - 3, value + 3) == (low90, high90)
    hidden = town.get(f"{SOME}&ranges=none").text
    assert 'class="off"' not in hidden
    assert hidden.count('class="n added"') == 5 * 2
    shares = town.get(f"{SOME}&show=row").text
    assert 'class="off"' not in shares


def test_the_source_of_sums_is_the_table_that_was_added_up(town: Client) -> None:
    text = _text(town.get(SOME).text)
    assert "Added up from the published table “sex and health by ward (40)”." in text
    assert "say “own sums”" in text
    assert "A double line marks a sum." in text
    file = town.get(SOME.replace("/table", "/shown.csv")).text
    assert "say “own sums”" in file
    plain = _text(town.get(f"{TABLE}?by=district,health,sex").text)
    assert "own sums" not in plain
    assert "A double line" not in plain


def test_the_file_of_the_page_has_the_ranges_too(town: Client) -> None:
    file = town.get(SOME.replace("/table", "/shown.csv")).content.decode("utf-8-sig")
    rows = list(csv.reader(io.StringIO(file)))
    heads, names, first = rows[-7], rows[-6], rows[-5]
    assert heads == ["", "", "Male", "Male", "Male", "Female", "Female", "Female"]
    assert names == ["Health", "Figures added up", *["Sum", "at most", "nine of ten"] * 2]
    # Three parts: off by 6 at most, and by 3 or less in nine of ten.
    assert (first[:2], first[3:5], first[6:]) == (["1", "3"], ["6", "3"], ["6", "3"])
    html = town.get(SOME).text
    assert first[2] == re.findall(r'class="n added"[^>]*><span>(\d+)<', html)[0]
    plain = town.get(SOME.replace("/table", "/shown.csv") + "&ranges=none").text
    assert "at most" not in plain.splitlines()[-6]


def test_figures_of_a_finer_table_say_what_was_added_up(tmp_path: Path) -> None:
    with serving([town_of(tmp_path)]) as town:
        town.publish(f"{TABLE}?by=ward,age_band,sex")
        html = town.table(f"{TABLE}?by=ward,sex&columns=sex").text
        text = _text(html)
        assert "Each figure here is added up from published figures of age band (3)." in text
        assert "not published as one area" not in text


def test_sums_of_figures_that_are_not_changed_are_figures(tmp_path: Path) -> None:
    store = town_of(tmp_path, top="synthetic = true", method="none", margins="summed")
    with serving([store]) as town:
        asked = "by=health,sex&columns=sex&where=ward=10|11|12"
        town.publish(f"{TABLE}?{asked}")
        bar = _text(town.get(f"/datasets/town/build?{asked}").text)
        assert "Sums of 3 published figures each: all as they were counted." in bar
        html = town.get(f"{TABLE}?{asked}").text
        assert "The figures are as they were counted." in _text(html)
        for word in ("These figures are sums", "own sums", "±", "added up"):
            assert word not in _text(html)
        assert 'class="n added"' not in html


def test_where_only_a_total_is_a_sum_it_alone_is_marked(tmp_path: Path) -> None:
    # 40 wards by sex and health are fine detail: the totals of fine detail are sums.
    with serving([town_of(tmp_path, margins="protected")]) as town:
        html = town.table(f"{TABLE}?by=ward,health&columns=health").text
        text = _text(html)
        assert "These figures are sums" not in text
        assert "Figures added up" not in text
        inner = re.findall(r'<td class="n( zero| small)?( added)?"', html)
        assert inner
        assert not any(summed for _, summed in inner)
        assert "How far off may a figure be?" in text


def test_how_far_off_sums_may_be_is_drawn() -> None:
    rounding = Protection("random-rounding", published=True)
    # Base 3 moves a figure by 2 at most. Nine of ten, of the count that moves most (−1 with 2/3, +2
    # with 1/3): one figure 2; two figures −2 (4/9), 1 (4/9), 4 (1/9), so 4; three figures 3.
    assert off_by(rounding, 2, False, 1) == (2, 2)
    assert off_by(rounding, 2, False, 2) == (4, 4)
    assert off_by(rounding, 2, False, 3) == (6, 3)
    assert off_by(Protection("random-rounding", published=False), 2, False, 3) == (None, None)
    assert off_by(rounding, 2, True, 3) == (None, None)
    assert off_by(Protection("none"), 2, False, 3) == (0, 0)
    lines = sum_lines(rounding, 2, False, [2, 3, 3])
    assert [(one.parts, one.at_most, one.often) for one in lines] == [
        (1, 2, 2),
        (2, 4, 4),
        (3, 6, 3),
    ]
    drawn = sum_picture(lines, T)
    assert drawn.count('class="s1"') == 3
    assert ">Sum of 3</text>" in drawn
    assert ">+6</text>" in drawn
    many = sum_lines(rounding, 2, False, range(2, 50))
    assert (many[0].parts, many[-1].parts, len(many)) == (1, 49, 5)
