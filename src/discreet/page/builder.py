"""What the builder shows: cards in zones, the scope, the list of variables, the shape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from discreet.page import areas, grid
from discreet.page.early import level_note, warning
from discreet.page.foresight import Foresight
from discreet.page.state import ZONES, State, usual_level
from discreet.page.texts import Texts
from discreet.page.tree import Tree, tree
from discreet.population import Level, Schema, Variable

_SHAPE_ROWS = 8
_SHAPE_COLUMNS = 10


@dataclass(frozen=True)
class Card:
    """A variable in a zone; `notes` says which of its levels are used up or not available."""

    variable: Variable
    level: Level
    shown: int
    first: bool
    last: bool
    notes: Mapping[str, str]


@dataclass(frozen=True)
class Zone:
    """A zone with its cards."""

    id: str
    cards: tuple[Card, ...]


@dataclass(frozen=True)
class Entry:
    """A variable in the list: where it stands, or why it cannot simply be added."""

    variable: Variable
    zone: str | None
    sizes: str
    warning: str


@dataclass(frozen=True)
class Limit:
    """A filter in words."""

    variable: Variable
    text: str


@dataclass(frozen=True)
class Shape:
    """The first rows and columns of the table to come."""

    heads: tuple[tuple[grid.Head, ...], ...]
    rows: tuple[tuple[grid.Head, ...], ...]
    stub: int
    columns: int
    more: int


@dataclass(frozen=True)
class Builder:
    """Everything on the page of the builder but the verdict."""

    zones: Mapping[str, Zone]
    limits: tuple[Limit, ...]
    chosen: tuple[areas.Area, ...]
    found: tuple[areas.Area, ...] | None
    top: tuple[areas.Area, ...]
    groups: tuple[tuple[str, tuple[Entry, ...]], ...]
    panel: Variable | None
    tree: Tree | None
    shape: Shape | None


def builder(
    state: State, foresight: Foresight, opened: str | None, area: str, find: str, t: Texts
) -> Builder:
    """Return what the page shows of a state."""
    schema = state.schema
    panel = next((v for v in schema.variables if v.id == opened), None)
    return Builder(
        {zone: _zone(state, zone, foresight) for zone in ZONES},
        tuple(limits(state, t)),
        tuple(areas.chosen(state)),
        tuple(areas.find(schema, area)) if area.strip() else None,
        tuple(areas.top(schema)),
        _groups(state, foresight, find, t),
        panel,
        None if panel is None else tree(state, panel),
        _shape(state, t),
    )


def _zone(state: State, zone: str, foresight: Foresight) -> Zone:
    levels = getattr(state, zone)
    cards = []
    for i, name in enumerate(levels):
        axis = state.axis(name)
        last = i == len(levels) - 1
        levels_of = axis.variable.levels
        notes = {v.id: level_note(state, axis.variable, v, foresight) for v in levels_of}
        cards.append(Card(axis.variable, axis.level, len(axis), i == 0, last, notes))
    return Zone(zone, tuple(cards))


def limits(state: State, t: Texts) -> list[Limit]:
    """Return who is counted, in words; the area is said elsewhere."""
    found = []
    for f in state.filters:
        if f.variable.is_geography:
            continue
        labels, of = list(f.labels), len(f.level)
        said = t.join(labels) if len(labels) <= 4 else t("build.only", n=len(labels), of=of)
        found.append(Limit(f.variable, f"{f.variable.label}: {said}"))
    return found


def scope(state: State, t: Texts) -> str:
    """Return who and where, as one line under a title."""
    found = areas.chosen(state)
    names = [area.label for area in found[: areas.MOST_NAMED]]
    if len(found) > areas.MOST_NAMED:
        names.append(t("build.more", n=len(found) - areas.MOST_NAMED))
    where = t.join(names) if names else t("table.everywhere")
    if len(found) == 1:
        where += f" ({t.inside(found[0].kind)})"
    return ". ".join([where, *(limit.text for limit in limits(state, t))]) + "."


def title(state: State, unit: str, t: Texts) -> str:
    """Return the title that the choices make."""
    if not state.by:
        return t("build.title_empty")
    names = [
        t.inside(axis.level.label)
        for axis in state.axes_of((*state.rows, *state.columns, *state.layers))
    ]
    return t("table.title", unit=unit, names=t.join(names))


def _groups(
    state: State, foresight: Foresight, find: str, t: Texts
) -> tuple[tuple[str, tuple[Entry, ...]], ...]:
    wanted = find.strip().casefold()
    people: list[Entry] = []
    places: list[Entry] = []
    for variable in state.schema.variables:
        names = [variable.label, variable.id, *(level.label for level in variable.levels)]
        if wanted and not any(wanted in name.casefold() for name in names):
            continue
        zone = state.zone_of(variable.id)
        problem = "" if zone is not None else warning(state, variable, foresight, t)
        entry = Entry(variable, zone, sizes(variable, t), problem)
        (places if variable.is_geography else people).append(entry)
    found = [("people", tuple(people)), ("places", tuple(places))]
    return tuple((name, entries) for name, entries in found if entries)


def sizes(variable: Variable, t: Texts) -> str:
    """Return how detailed a variable is."""
    if len(variable.levels) > 1:
        return t("dataset.levels", n=len(variable.levels))
    return t("dataset.categories", n=len(variable.finest))


def _shape(state: State, t: Texts) -> Shape | None:
    if not state.by:
        return None
    rows, columns = state.axes_of(state.rows), state.axes_of(state.columns)
    lines = grid.first_places([len(axis) for axis in rows], _SHAPE_ROWS)
    beside = grid.first_places([len(axis) for axis in columns], _SHAPE_COLUMNS)
    dims = [tuple(axis.dimension for axis in axes) for axes in (rows, columns)]
    names = [[list(d.labels) for d in part] for part in dims]
    total = 1
    for axis in rows:
        total *= len(axis)
    return Shape(
        grid.column_heads(beside, names[1], dims[1], 0, t),
        tuple(grid.row_heads(lines, names[0], dims[0])),
        max(len(rows), 1),
        len(beside),
        total - len(lines),
    )


def examples(schema: Schema) -> list[State]:
    """Return tables to start from: known good ones if the variables are there, or else pairs."""
    wanted = [
        ("age_band", "sex"),
        ("activity", "age_broad", "sex"),
        ("household_size", "tenure"),
        ("country_of_birth", "citizenship"),
        ("travel_to_work", "sex"),
    ]
    names = {level.id for variable in schema.variables for level in variable.levels}
    found: Sequence[tuple[str, ...]] = [by for by in wanted if set(by) <= names]
    if len(found) < 3:
        levels = [usual_level(v).id for v in schema.columns]
        found = [*pairwise(levels)][:5] if len(levels) > 1 else [(name,) for name in levels]
    return [State.read({"by": ",".join(by)}, schema) for by in found]
