from __future__ import annotations

import math
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from applications import Client, serving
from discreet.page import charts
from discreet.page.arrange import Options
from discreet.page.charts.choose import WIDTHS
from discreet.page.charts.svg import ticks, wrapped
from discreet.page.grid import grid
from discreet.page.quality import changes, hundred, quality
from discreet.page.state import State
from discreet.page.texts import texts
from discreet.policy import Tier
from discreet.population import Schema
from discreet.protect import RandomRounding
from discreet.release import Release
from discreet.service import Asked
from discreet.table import TOTAL
from towns import town_of

T = texts("en")


@pytest.fixture(scope="session")
def ask(client: Client, schema: Schema):  # type: ignore[no-untyped-def]
    def release(totals: str = "protected", **values: str) -> tuple[Release, State]:
        state = State.read(values, schema)
        asked = Asked.of(client.service.opened("town"), state.question, totals)
        return client.run(client.service.release(asked)), state

    return release


def test_heads_span_and_totals_stand_apart(ask) -> None:  # type: ignore[no-untyped-def]
    release, state = ask(by="health,age_band,sex", columns="age_band,sex")
    found = grid(release, state, Options(), 10, T)
    # One total of all, then for each of three bands: its total, male, female.
    assert found.columns == 1 + 3 * 3
    assert [(h.text, h.span, h.depth) for h in found.heads[0]] == [
        ("Total", 1, 2),
        ("0 to 19", 3, 1),
        ("20 to 59", 3, 1),
        ("60 to 79", 3, 1),
    ]
    assert [h.text for h in found.heads[1]] == ["Total", "Male", "Female"] * 3
    assert [h.leaf for h in found.heads[1]] == [2, 3, 4, 5, 6, 7, 8, 9, 10]
    assert [row.heads[0].text for row in found.rows] == ["1", "2", "3", "4", "5", "Total"]
    assert found.rows[-1].total
    whole = release.table.values[-1, -1, -1]
    assert found.rows[-1].cells[0].text == T.number(int(whole))


def test_figures_are_where_their_heads_say(ask) -> None:  # type: ignore[no-untyped-def]
    release, state = ask(by="health,sex", columns="sex")
    found = grid(release, state, Options(), 10, T)
    values = release.table.values  # health × sex, totals last
    shown = [[int(c.text.replace(",", "")) for c in row.cells] for row in found.rows]
    assert shown == [[int(values[h, s]) for s in (2, 0, 1)] for h in range(6)]
    first = found.rows[0].cells[1]
    # Rounding to base 3 moves a count by at most 2.
    assert first.low is not None
    assert first.high is not None
    assert first.high - first.low == 4


def test_percentages_are_of_the_published_totals(ask) -> None:  # type: ignore[no-untyped-def]
    release, state = ask(by="health,sex", columns="sex")
    values = release.table.values
    found = grid(release, state, Options(show="row"), 10, T)
    assert found.rows[0].cells[0].text == "100.0%"
    assert found.rows[0].cells[1].text == T.percent(values[0, 0] / values[0, 2])
    found = grid(release, state, Options(show="column"), 10, T)
    assert found.rows[0].cells[1].text == T.percent(values[0, 0] / values[5, 0])
    without, state = ask("none", by="health,sex", columns="sex")
    found = grid(without, state, Options(show="row"), 10, T)
    inner = without.table.values
    assert found.rows[0].cells[0].text == T.percent(inner[0, 0] / inner[0].sum())


def test_rows_are_sorted_and_the_total_stays_last(ask) -> None:  # type: ignore[no-untyped-def]
    release, state = ask(by="age,sex", columns="sex")
    found = grid(release, state, Options(sort=-2), 10, T)
    shown = [int(row.cells[1].text.replace(",", "")) for row in found.rows]
    assert shown[:-1] == sorted(shown[:-1], reverse=True)
    assert found.rows[-1].total
    assert found.sort == -2
    assert grid(release, state, Options(sort=99), 10, T).sort is None


def _shares(release: Release) -> list[float]:
    """The share of men in each state of health, of its published total (health × sex)."""
    values = release.table.values
    return [float(values[h, 0] / values[h, 2]) for h in range(5)]


def test_a_column_of_percentages_is_sorted_by_percentages(ask) -> None:  # type: ignore[no-untyped-def]
    release, state = ask(by="health,sex", columns="sex")
    shares = _shares(release)
    by_share = sorted(range(5), key=lambda h: -shares[h])
    by_count = sorted(range(5), key=lambda h: -int(release.table.values[h, 0]))
    assert by_share != by_count, "the town must have them in another order"
    found = grid(release, state, Options(show="row", sort=-2), 10, T)
    assert [row.heads[0].text for row in found.rows] == [*(str(h + 1) for h in by_share), "Total"]
    assert [row.cells[1].text for row in found.rows[:-1]] == [
        T.percent(shares[h]) for h in by_share
    ]


def test_a_chart_shows_what_the_table_shows(ask) -> None:  # type: ignore[no-untyped-def]
    release, state = ask(by="health,sex", columns="sex")
    shares = _shares(release)
    order = sorted(range(5), key=lambda h: -shares[h])
    options = Options(show="row", sort=-2, names="both")
    found = charts.data(release, state, options, "Title", T)
    assert found is not None
    table = grid(release, state, options, 10, T)
    assert list(found.categories) == [row.heads[0].text for row in table.rows[:-1]]
    assert found.series == ("1 Male", "2 Female")
    assert found.values[0, 0] == pytest.approx([100 * shares[h] for h in order])
    drawn = charts.drawn(found, "stacked", 1040, T).text_of()
    first = table.rows[0]
    assert f"{first.heads[0].text}, 1 Male: {first.cells[1].text}" in drawn
    assert ">100%</text>" in drawn
    # Shares of different columns do not add up: they are not stacked.
    columns = charts.data(release, state, Options(show="column"), "Title", T)
    assert columns is not None
    assert [kind.id for kind in charts.charts(columns, T)] == ["heat", "bars"]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("kind", ["stacked", "pyramid"])
def test_an_axis_of_percentages_ends_at_100(kind: str, width: int) -> None:
    # The second row is of a total that was changed on its own: its parts make 104%.
    parts = np.array([[60.0, 64.0], [40.0, 40.0]])
    sides = ("Male", "Female") if kind == "pyramid" else ()
    values = np.array([[[60.0, 104.0]], [[40.0, 0.0]]]) if sides else parts[None]
    found = charts.Data(
        "T", "people", True, ("A", "B"), () if sides else ("x", "y"), sides, values, None, None
    )
    drawn = charts.drawn(found, kind, width, T).text_of()
    told = [int(text) for text in re.findall(r">(\d+)%</text>", drawn)]
    assert max(told) == 100
    for x, long in re.findall(r'<rect x="([\d.-]+)"[^>]* width="([\d.]+)"', drawn):
        assert 0 <= float(x) <= float(x) + float(long) <= width


def test_a_heat_map_has_a_scale_for_each_column(ask) -> None:  # type: ignore[no-untyped-def]
    release, state = ask(by="district,rare", columns="rare")
    found = charts.data(release, state, Options(), "Title", T)
    assert found is not None
    assert found.by_series is not None
    drawn = charts.drawn(found, "heat", 1040, T).text_of()
    assert T("chart.scale") in drawn
    for name, column in zip(found.series, found.by_series, strict=True):
        # The largest of a column is the darkest, however small the column is.
        largest = int(np.nanargmax(column))
        if column[largest] > 0:
            said = f"{found.categories[largest]}, {name}: {T.number(int(column[largest]))}"
            assert f'class="h5"><title>{said}</title>' in drawn


@pytest.mark.parametrize("width", [340, 640, 1040])
def test_the_heads_of_a_heat_map_stay_inside_it(width: int) -> None:
    names = tuple(f"A category with a long name {i}" for i in range(17))
    values = np.ones((1, 17, 3))
    found = charts.Data(
        "Title", "people", False, ("A", "B", "C"), names, (), values, values[0], None
    )
    drawn = charts.drawn(found, "heat", width, T).text_of()
    heads = re.findall(r'<text x="([\d.]+)" y="([\d.]+)" transform="rotate\(-(\d+)', drawn)
    assert len(heads) == 17
    for x, y, angle in heads:
        # A letter of 13 pixels is about 6.5 wide: 29 of them are 189 long.
        turned = math.radians(int(angle))
        assert float(x) + 189 * math.cos(turned) <= width
        assert float(y) - 189 * math.sin(turned) >= 0


def test_a_figure_that_is_missing_is_not_drawn_as_zero(ask) -> None:  # type: ignore[no-untyped-def]
    release, state = ask(by="health,sex", columns="sex")
    gone = np.zeros(release.table.shape, bool)
    gone[0, 1] = True
    values = np.where(gone, 0, release.table.values)
    table = replace(release.table, values=values, withheld=gone)
    found = charts.data(replace(release, table=table), state, Options(), "Title", T)
    assert found is not None
    drawn = charts.drawn(found, "stacked", 1040, T).text_of()
    assert "1, Male: " in drawn
    assert "1, Female: " not in drawn


def test_a_long_label_of_a_chart_is_broken_and_its_file_says_its_source_whole() -> None:
    assert wrapped("Never worked and long-term unemployed", 150) == [
        "Never worked and",
        "long-term unemployed",
    ]
    name = "Managers, directors and senior officials of large organisations"
    values = np.array([[[3.0]]])
    found = charts.Data("Title " * 30, "people", False, (name,), (), (), values, None, None)
    drawn = charts.standalone(found, "bars", "Everywhere. " * 30 + "The census.", T)
    assert "…" not in drawn
    assert "The census.</text>" in drawn


def test_the_numbers_under_a_narrow_pyramid_do_not_touch() -> None:
    values = np.full((2, 1, 3), 10_000.0)
    found = charts.Data(
        "T", "people", False, ("0 to 19", "20 to 59", "60 and over"), (), ("Male", "Female"),
        values, None, None,
    )  # fmt: skip
    for width in WIDTHS:
        drawn = charts.drawn(found, "pyramid", width, T).text_of()
        told = re.findall(r'<text x="([\d.]+)" y="[\d.]+" class="mid soft">([\d,]+)</text>', drawn)
        assert len(told) >= 4
        # At 15 pixels a digit is about 8.5 wide and a comma 4.5.
        ends = sorted(
            (float(x) - half, float(x) + half)
            for x, text in told
            for half in ((8.5 * len(text) - 4 * text.count(",")) / 2,)
        )
        assert all(one[1] < other[0] for one, other in pairwise(ends)), width


def test_a_long_table_has_pages_and_a_wide_one_too(ask) -> None:  # type: ignore[no-untyped-def]
    # 81 rows with the total; columns: all, then each of 4 districts with 5 states and their total.
    release, state = ask(by="age,district,health", columns="district,health")
    found = grid(release, state, Options(), 10, T)
    cells = sum(len(row.cells) for row in found.rows)
    assert cells <= 2_000
    assert (found.columns, found.pages) == (25, 2)
    last = grid(release, state, Options(page=99), 10, T)
    assert last.page == 2
    assert len(found.rows) + len(last.rows) == 81
    release, state = ask(by="sex,age", columns="age")
    wide = grid(release, state, Options(column_page=2), 10, T)
    assert (wide.column_pages, len(wide.heads[-1])) == (2, 81 - 60)


def test_layers_stand_behind_each_other(ask) -> None:  # type: ignore[no-untyped-def]
    release, state = ask(by="sex,age_band,health", layers="sex", columns="health")
    found = [grid(release, state, Options(layer=i), 10, T) for i in range(3)]
    assert [w.text for w in found[0].layers] == ["Total", "Male", "Female"]
    values = release.table.values
    assert found[1].rows[0].cells[0].text == T.number(int(values[0, 0, -1]))
    assert found[0].rows[0].cells[0].text == T.number(int(values[2, 0, -1]))


def test_withheld_areas_are_left_out_of_rows_and_charts(tmp_path: Path) -> None:
    # About 100 people in each of 40 wards: some have fewer.
    store = town_of(tmp_path, counts={"minimum_population": 100})
    with serving([store]) as client:
        opened = client.service.opened("town")
        state = State.read({"by": "ward,sex", "columns": "sex"}, opened.schema)
        release = client.run(client.service.release(Asked.of(opened, state.question, "none")))
    assert release.withheld
    gone = {area.label for area in release.withheld}
    found = grid(release, state, Options(), 10, T)
    assert not gone & {row.heads[0].text for row in found.rows if row.heads}


def test_codes_and_both_are_shown(ask) -> None:  # type: ignore[no-untyped-def]
    release, state = ask(by="sex")
    for how, text in (("labels", "Male"), ("codes", "1"), ("both", "1 Male")):
        assert grid(release, state, Options(names=how), 10, T).rows[0].heads[0].text == text


def test_options_of_an_address_are_read_with_care() -> None:
    read = Options.read({"show": "row", "sort": "-3", "page": "x", "layer": "-5", "names": "<b>"})
    assert read == Options(show="row", sort=-3, page=1, layer=0, names="labels")


def test_a_hundred_figures_of_rounding_to_base_3() -> None:
    # Residues 0, 1, 2 are equally frequent. 0 stays; 1 goes down by 1 with 2/3 and up by 2 with
    # 1/3; 2 goes up by 1 with 2/3 and down by 2 with 1/3. So 3/9 stay, 2/9 each move by one.
    chances = changes(RandomRounding(base=3).transition())
    assert chances == pytest.approx({-2: 1 / 9, -1: 2 / 9, 0: 3 / 9, 1: 2 / 9, 2: 1 / 9})
    dots = hundred(chances)
    assert sum(dots.values()) == 100
    assert all(abs(dots[c] - 100 * p) < 1 for c, p in chances.items())


def test_the_quality_says_only_what_is_published(tier: Tier) -> None:
    told = quality(tier.protection, 2, False, T)
    assert (told.bound, told.small) == (2, 10)
    assert told.near == sum(n for change, n in told.dots if abs(change) <= 1)
    assert told.picture.count("<circle") == 100
    # Rounding to base 3 shows 21 for 19 to 23, and never 20; 201 and 2,001 are multiples of 3 too.
    assert [(one.shown, one.low, one.high) for one in told.worked] == [
        (21, 19, 23),
        (201, 199, 203),
        (2001, 1999, 2003),
    ]
    secret = quality(replace(tier.protection, published=False), 2, False, T)
    assert (secret.bound, secret.dots, secret.picture, secret.worked) == (None, (), "", ())


@pytest.mark.parametrize(
    ("by", "kinds"),
    [
        ("age_band,sex", ["pyramid", "stacked", "heat", "bars"]),
        ("health", ["bars"]),
        ("district,health", ["stacked", "heat", "bars"]),
        ("age_band,sex,health", ["pyramid", "heat", "bars"]),
        ("ward,age", ["heat", "bars"]),
    ],
)
def test_a_table_has_the_charts_that_suit_it(ask, by: str, kinds: list[str]) -> None:  # type: ignore[no-untyped-def]
    release, state = ask(by=by)
    found = charts.data(release, state, Options(), "Title <&>", T)
    assert found is not None
    assert [kind.id for kind in charts.charts(found, T)] == kinds
    for kind in kinds:
        for width in (1040, 340):
            drawn = charts.drawn(found, kind, width, T).text_of()
            assert "style=" not in drawn
            assert "Title &lt;&amp;&gt;" in drawn
        assert "<style>" in charts.standalone(found, kind, "Source", T)


def test_a_pyramid_shows_the_figures_of_the_table(ask) -> None:  # type: ignore[no-untyped-def]
    release, state = ask(by="age_band,sex", columns="sex")
    found = charts.data(release, state, Options(), "Pyramid", T)
    assert found is not None
    assert found.sides == ("Male", "Female")
    values = release.table.values
    assert release.table.dimensions[0].codes[-1] == TOTAL
    assert np.array_equal(found.values[:, 0, :], values[:3, :2].T)
    # Other charts show the published totals, not sums of changed figures.
    assert found.by_category is not None
    assert np.array_equal(found.by_category, values[:3, 2])
    without, state = ask("none", by="age_band,sex", columns="sex")
    bare = charts.data(without, state, Options(), "Pyramid", T)
    assert bare is not None
    assert bare.by_category is None
    assert "bars" not in [kind.id for kind in charts.charts(bare, T)]
    drawn = charts.drawn(found, "pyramid", 1040, T).text_of()
    assert f"Female, 60 to 79: {int(values[2, 1]):,}" in drawn


@pytest.mark.parametrize(("largest", "most", "last"), [(1, 5, 1), (1_143, 5, 1_500), (97, 3, 100)])
def test_ticks_are_round_and_reach_beyond_the_largest(largest: int, most: int, last: int) -> None:
    found = ticks(largest, most)
    assert found[0] == 0
    assert found[-1] == last
    assert len(found) <= most + 1
