"""Finding an area by its name, and saying which areas are counted."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

from discreet.page.state import State
from discreet.population import Level, Schema, Variable

MOST_FOUND = 12
MOST_NAMED = 12


@dataclass(frozen=True)
class Area:
    """An area with its kind and the larger area it lies in."""

    level: str
    code: str
    label: str
    kind: str
    inside: str


def find(schema: Schema, text: str) -> list[Area]:
    """Return areas whose name has the text in it: larger ones first, names that begin with it."""
    geography = schema.geography
    wanted = _plain(text)[:100]
    if geography is None or not wanted:
        return []
    found: list[tuple[bool, int, int, Area]] = []
    for rank, level in enumerate(reversed(geography.levels)):
        for i, label in enumerate(level.labels):
            name = _plain(label)
            if wanted in name or wanted == level.codes[i].casefold():
                place = _area(geography, level, i)
                found.append((not name.startswith(wanted), rank, i, place))
    found.sort(key=lambda entry: entry[:3])
    return [area for *_, area in found[:MOST_FOUND]]


def top(schema: Schema) -> list[Area]:
    """Return the areas of the largest level with more than one, to begin from."""
    geography = schema.geography
    if geography is None:
        return []
    level = next((v for v in reversed(geography.levels) if len(v) > 1), geography.levels[-1])
    return [_area(geography, level, i) for i in range(min(len(level), 60))]


def chosen(state: State) -> list[Area]:
    """Return the areas that are counted, at the level that can say them; empty for everywhere."""
    geography = state.schema.geography
    f = None if geography is None else state.filter_of(geography.id)
    if geography is None or f is None:
        return []
    return [_area(geography, f.level, int(i)) for i in f.picked]


def _area(geography: Variable, level: Level, i: int) -> Area:
    inside = ""
    for larger in geography.above(level):
        if len(larger) < len(level):
            name = larger.labels[int(larger.of[level.member[i]])]
            # A region that is one local authority would be said twice.
            if name != level.labels[i]:
                inside = name
                break
    return Area(level.id, level.codes[i], level.labels[i], level.label, inside)


def _plain(text: str) -> str:
    split = unicodedata.normalize("NFKD", text.casefold())
    return "".join(c for c in split if not unicodedata.combining(c)).strip()
