from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import discreet.page
from discreet.errors import ParameterError
from discreet.page.quality import Quality, Worked
from discreet.page.texts import LANGUAGES, choose, texts
from discreet.page.told import Told
from discreet.page.visit import _environment
from discreet.risk.public import Estimate

FOLDER = Path(discreet.page.__file__).parent


def _leaves(words: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    for key, value in words.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{before}{key}.")
        else:
            yield f"{before}{key}", value


@pytest.mark.parametrize("lang", [lang for lang in LANGUAGES if lang != "en"])
def test_a_language_says_everything_with_the_same_values(lang: str) -> None:
    english, other = (dict(_leaves(texts(name).words)) for name in ("en", lang))
    assert english.keys() == other.keys()
    for key, text in english.items():
        assert set(re.findall(r"{(\w+)}", text)) == set(re.findall(r"{(\w+)}", other[key])), key
    # A text that was left in English would be the same; names of formats and signs may be.
    same = {key for key in english if english[key] == other[key] and len(english[key]) > 12}
    assert same <= {"table.caption", "table.plain", "build.area_in", "api.format"}


def test_every_text_that_a_template_names_is_there() -> None:
    known = {key for key, _ in _leaves(texts("en").words)}
    known |= {key.rpartition(".")[0] for key in known}
    named = {
        key
        for template in (FOLDER / "templates").glob("*.html")
        for key in re.findall(r"\bt\([\"']([\w.-]+)[\"'][,)]", template.read_text("utf-8"))
    }
    assert len(named) > 100
    assert named <= known


def test_no_template_holds_words_of_its_own() -> None:
    for template in (FOLDER / "templates").glob("*.html"):
        text = re.sub(r"{%.*?%}|{{.*?}}", " ", template.read_text("utf-8"), flags=re.S)
        text = re.sub(r"<[^>]*>", " ", text)
        words = set(re.findall(r"[A-Za-zÄÖÜäöüß]{3,}", text))
        assert words <= {"Discreet", "Del"}, template.name


def test_numbers_are_written_as_the_language_does() -> None:
    assert texts("en").number(12914) == "12,914"
    assert texts("de").number(12914) == "12.914"
    assert texts("en").percent(0.1234) == "12.3%"
    assert texts("de").percent(0.1234) == "12,3 %"
    assert texts("de").date("2031-03-05T10:00:00+00:00") == "5. März 2031"
    assert texts("en")("fix.cells", n=1) == "1 cell"
    assert texts("en")("fix.cells", n=1200) == "1,200 cells"


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize(
    "key",
    [
        "home.variables", "dataset.foreseen", "dataset.levels", "dataset.categories", "list.full",
        "rules.variables", "rules.cells", "rules.categories", "refused.picture",
        "rules.looks", "verdict.met", "verdict.look_limit", "verdict.look_some",
        "verdict.look_used", "verdict.used_said", "verdict.used_said_also",
        "verdict.alternatives", "tables.title", "tables.title_also", "sums.whole_more",
        "method.together_text",
    ],
)  # fmt: skip
def test_one_is_not_said_as_many(lang: str, key: str) -> None:
    t = texts(lang)
    more = {"of": 9, "what": "x", "next": 2, "names": "x", "people": 5}
    one, many = t(key, n=1, **more), t(key, n=3, **more)
    assert one != many.replace("3", "1")


def _far(low: float, high: float, worked: Worked) -> str:
    quality = Quality("bound", 2, (), 78, 10, (worked,), "")
    told = Told("changed", (), "By 2 at most.", "", quality)
    page = _environment().get_template("parts.html").make_module()
    return str(page.far(texts("en"), told, "h2", Estimate(high, low, high)))  # type: ignore[attr-defined]


def test_a_range_of_one_number_is_said_as_one_number() -> None:
    wide = _far(0.31, 0.35, Worked(21, 19, 23, "10%"))
    assert "(31% to 35%)" in wide
    assert ">19 and 23<" in wide
    narrow = _far(0.331, 0.334, Worked(21, 21, 21, "0%"))
    assert "33% of the figures in this table are as they were counted," in narrow
    assert "33% to 33%" not in narrow
    assert ">21<" in narrow
    assert "21 and 21" not in narrow


def test_a_text_that_is_not_there_is_an_error() -> None:
    with pytest.raises(ParameterError, match=r"no text 'home\.nothing'"):
        texts("en")("home.nothing")
    with pytest.raises(ParameterError, match="is a group"):
        texts("en")("home")


@pytest.mark.parametrize(
    ("asked", "accepted", "lang"),
    [
        (None, None, "en"),
        ("de", "en", "de"),
        ("xx", "de-AT,de;q=0.9,en;q=0.5", "de"),
        (None, "fr,en;q=0.5", "en"),
    ],
)
def test_the_language_is_the_one_asked_for_or_the_first_accepted(
    asked: str | None, accepted: str | None, lang: str
) -> None:
    assert choose(asked, accepted) == lang


@pytest.mark.parametrize("lang", LANGUAGES)
def test_no_text_promises_what_the_threat_model_denies(lang: str) -> None:
    # SECURITY.md: what many tables together tell, and what an insider learns, is not promised.
    said = " ".join(text for _, text in _leaves(texts(lang).words)).lower()
    for promise in (
        "be recognised", "nobody", "no one can", "nothing more", "every figure has been changed",
        "every figure is changed", "zu erkennen", "niemand kann", "erfährt nicht mehr",
        "nicht mehr verrät", "jede zahl wurde", "niemand ist",
    ):  # fmt: skip
        assert promise not in said, promise


def test_the_words_of_the_inside_are_not_for_the_public() -> None:
    # Readers know detail, published tables and what is used up.
    plain = (text for key, text in _leaves(texts("en").words) if key != "request.title")
    said = " ".join(plain).lower()
    for word in ("looks", "guarded", "ledger", "class", "classes"):
        assert not re.search(rf"\b{word}\b", said), word
    assert re.findall(r"\blook\b[^.]*", said) == ["look at the ranges before you compare"]
