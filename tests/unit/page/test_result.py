"""A refusal that looked at counts has one page, whichever rule it was."""

from __future__ import annotations

import re
import shutil
from html import unescape
from pathlib import Path

import pytest

from applications import serving
from discreet.release import pipeline
from discreet.release.steps import Judged, Protected
from discreet.rules import Code
from towns import town_of

ASKED = "/datasets/town/table?by=ward,health"
RULES = (
    Code.EMPTY, Code.MIN_POPULATION, Code.MEAN_CELL, Code.SMALL_CELLS, Code.SPARSE,
    Code.SINGLE_LINES, Code.RISK,
)  # fmt: skip


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return town_of(tmp_path_factory.mktemp("town"))


def _page(store: Path, asked: str = ASKED) -> tuple[int, bytes]:
    with serving([store]) as client:
        found = client.table(asked)
        return found.status_code, found.content


@pytest.mark.parametrize("lang", ["en", "de"])
def test_the_page_is_the_same_whichever_rule_refused(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lang: str
) -> None:
    found = set()
    for code in RULES:
        copy = Path(shutil.copytree(store, tmp_path / code))

        def refuse(protected: Protected, code: Code = code) -> Judged:
            return Judged(protected, code)

        monkeypatch.setattr(pipeline, "judged", refuse)
        found.add(_page(copy, f"{ASKED}&lang={lang}"))
    assert len(found) == 1
    status, page = found.pop()
    assert status == 403
    for code in Code:
        assert f'"{code}"' not in page.decode()


def test_real_refusals_by_different_rules_look_the_same(tmp_path: Path) -> None:
    found = set()
    for name, rules in {
        "people": {"counts": {"minimum_population": 1_000_000}},
        "empty lines": {"counts": {"max_single_lines": 0, "minimum_population": 999_999}},
        "risk": {"risk": 0},
    }.items():
        found.add(_page(town_of(tmp_path / name, **rules)))  # type: ignore[arg-type]
    assert len(found) == 1
    assert found.pop()[0] == 403


def test_the_page_says_one_thing_and_leads_on(tmp_path: Path) -> None:
    with serving([town_of(tmp_path, risk=0)]) as client:
        html = client.table(ASKED).text
        text = " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())
        assert "That is all we say about the reason" in text
        assert "The answer is the same for everybody, and each time." in text
        assert "It does not say whether a group is empty, small or large." in text
        assert "Why do you not say more?" in text
        assert "Rules for this table" not in text
        assert 'class="drawing' not in html
        ways = re.findall(r'<a class="button strong" href="([^"]+)">([^<]+)<', html)
        # In the order of the schema: health comes before the areas.
        assert [unescape(text) for _, text in ways] == [
            "Use district (4) instead of ward (40)",
            "Take out health",
            "Take out ward",
        ]
        assert "You lose: health." in text
        assert "New: nothing is used up 20 cells; checked when you get it" in text
        # The same in whatever order it was asked for.
        other = client.get("/datasets/town/table?by=health,ward").text
        again = re.findall(r'<a class="button strong" href="[^"]+">([^<]+)<', other)
        assert [unescape(one) for one in again] == [unescape(text) for _, text in ways]


@pytest.mark.parametrize("margins", ["none", "protected"])
def test_a_refusal_has_its_page_whatever_the_totals(tmp_path: Path, margins: str) -> None:
    # About 100 people in each of 40 wards: those with fewer are left out of the whole table.
    store = town_of(tmp_path, counts={"minimum_population": 100}, margins=margins)
    with serving([store]) as client:
        whole = client.table("/datasets/town/table?by=ward,sex").text
        gone = re.findall(r"<li>(\d+)</li>", whole)
        assert gone
        found = client.table(f"/datasets/town/table?by=sex&where=ward={gone[0]}")
        assert found.status_code == 403
        assert 'id="refused-title"' in found.text
    with serving([town_of(tmp_path / "strict", risk=0, margins=margins)]) as client:
        found = client.table(ASKED)
        assert found.status_code == 403
        assert 'id="refused-title"' in found.text


def test_a_filter_can_be_left_out(tmp_path: Path) -> None:
    with serving([town_of(tmp_path, risk=0)]) as client:
        html = client.table("/datasets/town/table?by=sex&where=district=1,health=1").text
        ways = [unescape(a) for a in re.findall(r'button strong" href="[^"]+">([^<]+)<', html)]
        assert "Do not limit health" in ways
