"""What follows from the figures of a study: frontier, dominance, finding, map and report."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pytest

import discreet as dc
from discreet.errors import ParameterError
from discreet.protect import RandomRounding, SmallCellAdjustment
from discreet.study.map import Scale
from discreet.study.model import Printed
from discreet.study.report import page
from discreet.study.results import Results, Row, Value
from studies import small_cube


def made(points: dict[str, list[tuple[float, float]]], limit: float = 0.15) -> Results:
    """Results with the risk and utility given of each setting, in tables called 1, 2, …"""
    tables = {str(t + 1): small_cube() for t in range(len(next(iter(points.values()))))}
    methods = {name: RandomRounding(3 + i) for i, name in enumerate(points)}
    found = dc.study(tables, methods, draws=2, limit=limit)
    rows = []
    for row in found.rows:
        if row.method in points and row.measure in ("transition-seen", "score"):
            both = points[row.method][int(row.table) - 1]
            value = Value(both[row.measure == "score"], 0.01, 2)
            rows.append(replace(row, value=value))
        else:
            rows.append(row)
    return replace(found, rows=tuple(rows))


def test_the_frontier_is_what_nothing_beats_in_its_table() -> None:
    results = made({"a": [(0.1, 0.9)], "b": [(0.2, 0.95)], "c": [(0.2, 0.9)], "d": [(0.1, 0.9)]})
    best = {name.split(",")[0] for _, name in results.frontier}
    # c has the risk of b and the utility of a; a and d are alike and beat nobody of each other.
    assert best == {"a", "b", "d"}


def test_dominance_is_over_all_tables() -> None:
    results = made(
        {
            "a": [(0.1, 0.9), (0.1, 0.9)],
            "b": [(0.2, 0.8), (0.2, 0.8)],
            "c": [(0.2, 0.8), (0.05, 0.8)],
        }
    )
    found = {name[0]: [by[0] for by in listed] for name, listed in results.dominated.items()}
    # b is beaten by a in both tables, and by c; c is safer than a in the second.
    assert found == {"b": ["a", "c"]}


def test_the_finding_names_the_setting_that_changes_least_under_the_limit() -> None:
    results = made({"a": [(0.1, 0.9)], "b": [(0.14, 0.95)], "c": [(0.2, 0.99)]})
    assert results.finding.startswith("B, base 4") or results.finding.startswith("b, base 4")
    assert "under the limit of risk, .15" in results.finding
    assert "No setting of c does." in results.finding


def test_the_finding_says_when_nothing_need_be_done() -> None:
    """A limit above the risk of the true table: who asks for it must be told, and otherwise not."""
    points = {"a": [(0.1, 0.9)], "b": [(0.14, 0.95)]}
    risk = made(points).before["1"]
    told = "Untouched, the table would stay under it too."
    assert made(points, limit=risk).finding.endswith(told)
    assert told not in made(points, limit=risk - 0.001).finding


def test_without_a_setting_under_the_limit_the_nearest_is_named() -> None:
    results = made({"a": [(0.3, 0.9), (0.1, 0.9)], "b": [(0.2, 0.9), (0.2, 0.9)]})
    assert results.finding == (
        "No setting keeps both tables under the limit of risk, .15. "
        "Nearest: a, base 3 (1 of 2 tables)."
    )


MIXED = [
    {"method": "random-rounding", "base": [3, 5]},
    {"method": "individual-swapping", "axis": "axis 0", "rate": 0.1, "name": "Swapping"},
    {"method": "pram", "axis": "axis 0", "stay": 0.9, "name": "PRAM"},
]


def test_everything_is_ranked_by_one_yardstick() -> None:
    found = dc.study(small_cube(), MIXED, draws=3)
    assert found.study.judged.risk == "transition-seen"
    assert not found.apart
    assert {point.method for point in found.points} == {"Random rounding", "Swapping", "PRAM"}


def test_what_another_yardstick_judges_is_apart_from_the_ranking() -> None:
    """By "transition": rounding by its chances, swapping by its rate, PRAM by what was seen."""
    found = dc.study(small_cube(), MIXED, draws=3, risk="transition", limit=1)
    apart = {name.split(",")[0]: reason for name, reason in found.apart.items()}
    assert apart == {
        "Swapping": "the rate that people are swapped at",
        "PRAM": "what was seen over all draws",
    }
    assert {point.method for point in found.points} == {"Random rounding"}
    for text in (str(found), page(found)):
        assert "Not ranked: swapping, since" in " ".join(text.split())
    assert "wapping" not in found.finding
    assert "wapping" not in found.plot()


def test_of_a_swap_nothing_is_observed_by_its_rate() -> None:
    found = dc.study(small_cube(), MIXED, draws=3, risk="transition-observed")
    name = next(name for name in found.settings if name.startswith("Swapping"))
    assert np.isnan(found.value("table", name, "transition-observed").mean)
    assert name in found.apart


def test_methods_that_change_tables_alike_have_the_same_risk() -> None:
    """Two names for one method, one of them told as its chances and one only seen."""

    class Unknown(RandomRounding):
        def transition(self) -> None:
            return None

    true = np.arange(60).reshape(6, 10) % 11
    methods = {"known": RandomRounding(3), "seen": Unknown(3)}
    found = dc.study(true, methods, draws=60)
    both = [found.value("table", f"{name}, base 3", "transition-seen") for name in methods]
    error = np.hypot(both[0].error, both[1].error)
    assert abs(both[0].mean - both[1].mean) < 4 * error


def test_a_terminal_shows_no_line_over_80_letters() -> None:
    many = {f"A method with a rather long name, number {i}": RandomRounding(3 + i) for i in (0, 1)}
    tables = {f"{'long ' * i}name {i}": small_cube() for i in range(6)}
    text = str(dc.study(tables, many, draws=2))
    assert max(map(len, text.splitlines())) <= 80
    assert "2 more tables in results.csv" in text
    assert "(.000)" not in text


def test_at_the_limit_is_under_it() -> None:
    results = made({"a": [(0.15, 0.9)], "b": [(0.1501, 0.9)]})
    assert {name[0]: number for name, number in results.under.items()} == {"a": 1, "b": 0}


@pytest.fixture(scope="module")
def results() -> Results:
    methods = {"Rounding": [RandomRounding(3), RandomRounding(5)], "Small": SmallCellAdjustment(3)}
    return dc.study({"one": small_cube(), "two": small_cube() * 3}, methods, draws=3)


def test_it_prints_filters_and_is_a_data_frame(results: Results) -> None:
    assert "Rounding, base 5" in str(results)
    frame = results.to_pandas()
    assert set(frame.table) == {"one", "two"}
    assert {"mean", "standard_error", "draws"} <= set(frame.columns)
    fewer = results.filter(table="two", method="Rounding", measure="hellinger")
    assert fewer.tables == ("two",)
    assert {row.measure for row in fewer.rows} == {"transition-seen", "score", "hellinger"}
    assert len(fewer.points) == 2
    with pytest.raises(ParameterError, match="no table 'three'"):
        results.filter(table="three")
    with pytest.raises(ParameterError, match="no measure 'x'"):
        results.value("one", "None", "x")


def test_the_map_is_a_picture_with_a_mark_for_each_setting_and_the_limit(results: Results) -> None:
    text = results.plot()
    root = ET.fromstring(text)
    told = [e.text or "" for e in root.iter("{http://www.w3.org/2000/svg}title")][1:]
    assert len(told) == len(results.points) == 6
    assert sum("on the frontier" in t for t in told) == len(results.frontier)
    assert "limit, .15" in text
    assert text.count("stroke-dasharray") == 2  # a line in each facet
    assert results._repr_html_() == text


def test_names_are_escaped_on_the_map_and_in_the_report() -> None:
    found = dc.study({"a<b": small_cube()}, {"<script>": RandomRounding(3)}, draws=2)
    for text in (found.plot(), page(found)):
        assert "<script>" not in text
        assert "a<b" not in text


def test_the_report_says_what_a_methodologist_hands_in(results: Results) -> None:
    text = page(results)
    for words in (
        "Question", "Data", "Methods", "Risk–utility map", "Results", "What dominates what",
        "Under the limit", "Limits", "Reproduce", "For the custodian", "seed 1",
    ):  # fmt: skip
        assert words in text, words
    assert text.count("<svg") == 1


def test_a_scale_holds_its_values_with_round_ticks() -> None:
    scale = Scale.around([0.88, 1.0], 5)
    assert scale.low <= 0.88
    assert scale.high >= 1
    assert scale.at(1.0, 100) == 100 * (1 - scale.low) / (scale.high - scale.low)
    for values in ([0.0, 0.0], [0.5, 0.50001], [0, 3e6], [0.31, 0.97]):
        steps = np.diff(Scale.around(values, 5).ticks)
        assert len(steps) <= 6
        assert np.allclose(steps, steps[0])


def test_printed_figures_stand_beside_ours(results: Results) -> None:
    printed = (
        Printed("one", "None", "before", 0.2),
        Printed("one", "Rounding, base 3", "score", 1),
    )
    text = page(replace(results, study=replace(results.study, printed=printed)))
    assert "Beside the print" in text
    assert "Beside the print" not in page(results)


def test_a_row_is_one_measure_of_one_table(results: Results) -> None:
    whole = [row for row in results.rows if isinstance(row, Row) and row.measure == "score"]
    assert len(whole) == 2 * 4


def test_no_line_to_a_name_crosses_another_name() -> None:
    """Names are drawn after all lines, on a rim of paper; the title counts settings, not None."""
    close = {name * 6: [(0.014 + i / 1e4, 0.996)] for i, name in enumerate("abcdef")}
    root = ET.fromstring(made(close).plot())
    kinds = [e.tag.rpartition("}")[2] for e in root if e.get("stroke")]
    first = kinds.index("text")
    assert kinds[first:] == ["text"] * 6
    assert root.findtext("{http://www.w3.org/2000/svg}title") == "Risk and utility of 6 settings"


def test_labels_of_methods_do_not_cover_each_other() -> None:
    """Four methods whose marks lie close: the boxes of their names are apart."""
    close = {
        "Random rounding": [(0.041, 0.956), (0.03, 0.925)],
        "Cell keys": [(0.05, 0.985), (0.1, 0.97)],
        "Rounding first": [(0.058, 0.97), (0.067, 0.946)],
        "Swapping": [(0.06, 0.985), (0.059, 0.967)],
    }
    root = ET.fromstring(made(close).plot())
    texts = [e for e in root.iter("{http://www.w3.org/2000/svg}text") if e.get("stroke")]
    assert len(texts) == 8
    boxes = [
        (float(e.attrib["x"]), float(e.attrib["y"]) - 9, 6.2 * len(e.text or ""), 12.0)
        for e in texts
    ]
    for i, (x, y, w, h) in enumerate(boxes):
        for a, b, c, d in boxes[i + 1 :]:
            assert x + w <= a or a + c <= x or y + h <= b or b + d <= y
