"""The page says of a table what its release says of it: of what was applied, and no more."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from itertools import product
from pathlib import Path

import pytest

from applications import Client, serving
from discreet.build import build
from discreet.page.state import State
from discreet.page.texts import texts
from discreet.service import Asked, Opened
from stores import write_town

RULES = """
version = "t"
minimum_population = 1
{top}
[tiers.public.counts]
minimum_population = 1
minimum_mean = 0
max_small = 1
max_ones_of_populated = 1
max_small_of_populated = 1
max_single_lines = 1
[tiers.public.protection]
{protection}
[tiers.public.risk]
maximum = 1
multiplier = 0.5
"""
OFFICIAL = 'benchmark_totals = ["district,sex"]'
SWAP = (
    '\n[[protect]]\nmethod = "record-swapping"\nrate = 0.1\nwithin = "district"\n'
    'match = ["members"]\n'
)
ROUNDED = 'method = "random-rounding"\npublished = {published}\nmargins = "{margins}"\n'
# Everything a tier may be, and whether its records are altered: by name of the data set.
STORES = {
    f"{place}-{margins}-{published}": (
        OFFICIAL,
        ROUNDED.format(published=published, margins=margins)
        + (f'place = "{place}"' if place == "both" else ""),
        place != "output",
    )
    for place, margins, published in product(
        ("output", "both", "swapped"), ("protected", "summed", "none"), ("true", "false")
    )
} | {
    "input": ("", 'method = "none"\nplace = "input"\nmargins = "summed"', True),
    "synthetic": ("synthetic = true", 'method = "none"\nmargins = "summed"', False),
}


def _store(folder: Path, name: str) -> Path:
    top, protection, swapped = STORES[name]
    described = write_town(folder, rows=4_000, id=name, policy="policy.toml")
    (folder / "policy.toml").write_text(RULES.format(top=top, protection=protection), "utf-8")
    if swapped:
        text = described.read_text("utf-8").replace(
            'record_id = "id"', 'record_id = "id", household_id = "id"'
        )
        described.write_text(text + SWAP, "utf-8")
    build(described, folder / "store", views=0)
    return folder / "store"


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = tmp_path_factory.mktemp("stores")
    with serving([_store(folder / name, name) for name in STORES]) as client:
        yield client


def _text(html: str) -> str:
    html = re.sub(r"<(script|style|svg).*?</\1>", " ", html, flags=re.S)
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())


# Which sentence of a page says what a sentence of the release says, by how that begins.
SAME = {
    "Figures are perturbed": "notes.perturbed",
    "Records were altered": "notes.beforehand",
    "Figures are counts of the altered records": "notes.adds_up",
    "Figures of one table need not add up": "notes.none",
    "Parts need not add up to totals": "notes.protected",
    "Totals are sums of perturbed figures": "notes.summed",
}
NOTES = [
    "perturbed", "unaltered", "protected", "protected_unbounded", "beforehand", "no_further",
    "adds_up", "summed", "summed_kept", "none",
]  # fmt: skip


def _facts(opened: Opened, client: Client, by: str, totals: str) -> tuple[set[str], str]:
    """Return the notes of the page that the notes of the release ask for, and their kind."""
    state = State.read({"by": by}, opened.schema)
    release = client.run(client.service.release(Asked.of(opened, state.question, totals)))
    told = [[key for head, key in SAME.items() if note.startswith(head)] for note in release.notes]
    assert all(len(keys) == 1 for keys in told), "a note that this test does not know"
    wanted = {key for keys in told for key in keys}
    changed, before = "notes.perturbed" in wanted, "notes.beforehand" in wanted
    kind = {(0, 0): "unaltered", (0, 1): "beforehand", (1, 0): "changed", (1, 1): "both"}[
        changed, before
    ]
    assert release.public_quality.altered == (kind != "unaltered")
    if kind == "unaltered":
        wanted.add("notes.unaltered")
    if kind == "beforehand" and "notes.adds_up" not in wanted:
        wanted.add("notes.no_further")
    return wanted, kind


@pytest.mark.parametrize("name", STORES)
@pytest.mark.parametrize("by", ["district,sex", "district,health"])
@pytest.mark.parametrize("totals", ["", "&totals=none"])
def test_the_page_says_what_the_release_says(town: Client, name: str, by: str, totals: str) -> None:
    opened = town.service.opened(name)
    margins = "none" if totals else opened.tier.protection.margins.value
    wanted, kind = _facts(opened, town, by, margins)
    # Official figures are not changed; records that were altered stay so.
    official = by == "district,sex" and bool(opened.policy.benchmark_totals)
    plain = official or opened.tier.protection.build is None
    swapped = STORES[name][2]
    assert (
        kind
        == {(1, 0): "unaltered", (1, 1): "beforehand", (0, 0): "changed", (0, 1): "both"}[
            plain, swapped
        ]
    )
    for lang in ("en", "de"):
        t = texts(lang)
        asked = f"by={by}{totals}&lang={lang}"
        text = _text(town.get(f"/datasets/{name}/table?{asked}").text)
        assert {f"notes.{key}" for key in NOTES if t(f"notes.{key}") in text} == wanted
        far = {"unaltered", "beforehand", "both", "unpublished"}
        said = {key for key in far if t(f"quality.{key}") in text}
        told = opened.tier.protection.published and kind == "changed"
        # Rounding to base 3 moves a figure by 2 at most.
        assert (t("quality.bound", n=2, near="78")[:15] in text) == told
        assert said == (set() if told else {"unpublished" if kind == "changed" else kind})
        chart = _text(town.get(f"/datasets/{name}/chart.svg?{asked}").text.replace("svg", "x"))
        kinds = ("unaltered", "changed", "beforehand", "both")
        assert [key for key in kinds if t(f"chart.said.{key}") in chart] == [kind]
        file = town.get(f"/datasets/{name}/shown.csv?{asked}").text
        assert {f"notes.{key}" for key in NOTES if t(f"notes.{key}") in file} == wanted


@pytest.mark.parametrize("name", STORES)
def test_the_page_of_the_method_says_whether_records_were_altered(town: Client, name: str) -> None:
    text = _text(town.get(f"/datasets/{name}/method").text)
    t, swapped = texts("en"), STORES[name][2]
    assert (t("method.input") in text or t("method.beforehand") in text) == swapped
    assert (t("method.none") in text) == (name == "synthetic")
    assert ("Tables by district,sex alone" in text) == (name not in ("input", "synthetic"))
    published = town.service.opened(name).tier.protection.published
    assert ("By 2 at most." in text) == (published and not swapped)
