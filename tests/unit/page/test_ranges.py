"""What the pages of a protected base say of how far off figures are."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest

from applications import Client, serving
from discreet.build import build
from discreet.page.ranges import SIZES
from discreet.page.texts import texts
from discreet.population import Store
from stores import write_town

BASE = '\n[[protect]]\nmethod = "base"\nwithin = "district"\nmax_exact = 0.5\nmax_error = 50\n'


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("base")
    described = write_town(folder, rows=4_000, policy="preset:protected-base")
    described.write_text(described.read_text("utf-8") + BASE, "utf-8")
    (folder / "store").mkdir(mode=0o700)
    (folder / "store" / "secret").write_text("5eed" * 16 + "\n", encoding="ascii")
    (folder / "store" / "secret").chmod(0o600)
    build(described, folder / "store", views=0)
    return folder


@pytest.fixture(scope="module")
def client(folder: Path) -> Iterator[Client]:
    with serving([folder / "store"]) as client:
        yield client


def _text(html: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())


def _rows(html: str) -> list[list[str]]:
    """Return the ranges by area and number of variables, a row each."""
    rows = re.findall(r"<tr>(?:<th scope=\"rowgroup\".*?</th>)?<td>\d</td>(.*?)</tr>", html)
    return [re.findall(r"<td>(.*?)</td>", row) for row in rows]


@pytest.mark.parametrize("lang", ["en", "de"])
def test_the_page_of_the_method_has_the_ranges_of_the_build(
    client: Client, folder: Path, lang: str
) -> None:
    t = texts(lang)
    html = client.get(f"/datasets/town/method?lang={lang}").text
    text = _text(html)
    assert t("method.base") in text
    assert t("method.limits_base") in text
    assert t("quality.base_by_area") in text
    for untrue in ("method.beforehand", "method.limits_text", "quality.beforehand"):
        assert t(untrue) not in text
    steps = json.loads((Store(folder / "store").open().path / "protection.json").read_text())
    # A figure of 5 is a class of its own, the sixth: of one variable in all areas it is told with
    # the range of the build, and never as certain.
    low, high = steps[0]["ranges"]["all areas"][0][5]
    low, high = 5 + min(low, -1), 5 + max(high, 1)
    assert _rows(html)[0][1] == t("table.to", low=str(max(low, 0)), high=str(high))


def test_figures_larger_than_any_area_have_no_range(client: Client) -> None:
    cells = _rows(client.get("/datasets/town/method").text)
    assert {len(row) for row in cells} == {len(SIZES)}
    # 4,000 people: 1,000 of them can share a variable, 10,000 cannot.
    assert all(row[-1] == "" for row in cells)
    assert cells[0][-2] != ""


def test_only_rules_that_a_table_could_break_are_named(client: Client) -> None:
    t, text = texts("en"), _text(client.get("/datasets/town/method").text)
    assert t("method.refuse_people") in text
    assert t("method.refuse_alone") in text
    for never in ("refuse_small", "refuse_slices", "refuse_risk", "refuse_text"):
        assert t(f"method.{never}") not in text


def test_a_table_shows_some_of_its_figures_with_their_ranges(client: Client) -> None:
    t = texts("en")
    asked = "by=district,sex"
    rows = client.get(f"/api/v1/datasets/town/table?{asked}&format=csv").text.splitlines()
    names = rows[0].split(",")
    figures = [dict(zip(names, row.split(","), strict=True)) for row in rows[1:]]
    told = {
        f"{t.number(int(f['value']))} {t('quality.range', low=f['low'], high=f['high'])}"
        for f in figures
    }
    text = _text(client.get(f"/datasets/town/table?{asked}&totals=none").text)
    assert t("quality.between_usual") in text
    shown = re.findall(r"(\d[\d,]*) (\d+ and \d+) [\d.]+%", text)
    assert shown
    assert {f"{value} {ends}" for value, ends in shown} <= told


@pytest.mark.parametrize("lang", ["en", "de"])
def test_the_builder_names_the_one_rule_on_counts_that_can_refuse(
    client: Client, lang: str
) -> None:
    t = texts(lang)
    text = _text(client.get(f"/datasets/town/build?by=sex&lang={lang}").text)
    assert t("rules.people") in text
    assert t("rules.counts") not in text
