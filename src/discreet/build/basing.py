"""A protected base as a step of a build: made, checked against the records, put in their place."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.build.marks import Marks
from discreet.build.raw import Done, Raw
from discreet.build.steps import DONORS, BaseStep
from discreet.errors import ParameterError
from discreet.population.keys import Secret
from discreet.population.schema import Level, Variable
from discreet.progress import Offer, Tell
from discreet.protect import KeyMix
from discreet.protect.records.protected_base import (
    WHOLE,
    Areas,
    Column,
    Design,
    Fitted,
    Records,
)
from discreet.protect.records.protected_base.areas import LEAST_PEOPLE, LEAST_SHARING
from discreet.protect.records.protected_base.design import MOST_CATEGORIES
from discreet.protect.records.protected_base.errors import (
    MOST_CELLS,
    Compared,
    Side,
    chosen_tables,
    compare_tables,
)
from discreet.protect.records.protected_base.home import at_home, rare
from discreet.protect.records.protected_base.ranges import CLASSES

CHECKED = (20, 30, 25, 10, 4)
"""How many tables of each order are compared with the records; of those of one variable, all."""

FINE = (5, 4, 3, 2)
"""The same of tables with one column of very many categories, by the columns beside it."""

LEAST_HELD = 0.8
"""Ranges that hold fewer true counts at a level must not be told."""

MOST_AT_HOME = 1.5
"""Copies of people alone with their pattern may be at home so many times as often as by chance."""

AT_HOME = {"at_home": "whose pattern nobody shares", "at_home_rare": "with a rare category"}
"""Of whom it is looked at how often they are at home."""


def put_base(step: BaseStep, raw: Raw, secret: Secret, tell: Tell, offer: Offer) -> Done:
    """Put a protected base in the place of the records; return how far it is off.

    One that Ctrl-C ended before its time is offered if it passes the checks.
    """
    variables = raw.schema.columns
    main = [_main(variable) for variable in variables]
    columns, codes = _columns(raw, variables, main)
    geography = raw.schema.geography
    names, areas, place, number = [WHOLE], Areas.nested((), 0), np.zeros(raw.rows, np.int32), None
    if geography is not None:
        assert step.within is not None
        names = [*(level.id for level in geography.levels), WHOLE]
        areas = Areas.nested([level.of for level in geography.levels], names.index(step.within))
        place, number = raw.nested()
    words = raw.words(KeyMix(secret.value, "protected base: records"), "digest")
    household = raw.households(step.name)[0].astype(np.int64) if step.households else None
    records = Records(codes, place, words, household)
    _check_people(step, raw, records, areas)
    design = Design.of(columns, _extra(step, raw, variables, main))
    edition = records.edition(secret.value)
    fitted = step.base.apply(records, areas, design, edition, tell)
    tell("comparing", 0, None)
    shared = records.of_households(step.base.noise(len(areas.of) - 1, edition).beside())
    found, by_home = _compared(step, records, areas, columns, fitted, edition, shared)
    finely = _compared_finely(step, records, areas, columns, fitted, edition)
    facts = _facts(step, names, fitted, found, by_home) | _finely(step, names, finely or found)
    facts |= _of_households(step, names, by_home)
    facts["household_variables"] = [v.id for i, v in enumerate(variables) if i in shared]
    facts["marks"] = _marks(raw, words, place).as_dict()
    if geography is not None:
        for key, who in (("at_home", None), ("at_home_rare", rare(records))):
            told = at_home(records, areas, fitted, who)
            facts[key] = {n: each.as_dict() for n, each in zip(names, told, strict=False)}
    try:
        _check(step, facts)
    except ParameterError as error:
        if fitted.stopped:
            raise KeyboardInterrupt from error
        raise
    note = _note(raw, facts, names)
    if fitted.stopped and not offer(note):
        raise KeyboardInterrupt
    _put(raw, fitted, number, secret)
    return Done(note, facts)


def _marks(raw: Raw, words: NDArray[np.uint64], place: NDArray[Any]) -> Marks:
    """Return what is kept of the records, by which the next edition is compared with this one."""
    columns = {v.id: (raw.ingest.codes(v.id), v.finest.codes) for v in raw.schema.columns}
    if raw.schema.geography is not None:
        columns[raw.schema.geography.id] = (place, raw.schema.geography.finest.codes)
    return Marks.of(words, columns)


def _check_people(step: BaseStep, raw: Raw, records: Records, areas: Areas) -> None:
    """Refuse areas with so few people that these would be known for donors of each other."""
    small = areas.too_small(np.bincount(records.area, minlength=areas.smallest))
    if not small:
        return
    geography = raw.schema.geography
    if geography is None:
        raise ParameterError(f"base needs at least {LEAST_SHARING} people.")
    level = next(level for level in geography.levels if level.id == step.within)
    labels = ", ".join(level.labels[area] for area in small[0].tolist())
    have = "has" if len(small[0]) == 1 else "have"
    raise ParameterError(
        f"base: {level.id} {labels} {have} too few people to be donors for each other: at least "
        f"{LEAST_SHARING} in two smallest areas are needed, or {LEAST_PEOPLE:,} in one. "
        "Merge areas, or choose a larger 'within'."
    )


def _main(variable: Variable) -> Level:
    """Return the level at which a variable is in every pair: the finest with few categories."""
    few = [level for level in variable.levels if len(level) <= MOST_CATEGORIES]
    return max(few, key=len, default=variable.finest)


def _columns(
    raw: Raw, variables: Sequence[Variable], main: Sequence[Level]
) -> tuple[list[Column], list[NDArray[Any]]]:
    """Return the columns to fit and their codes: main levels, then finest ones of the others."""
    columns, codes = [], []
    for variable, level in zip(variables, main, strict=True):
        own = raw.ingest.codes(variable.id)
        columns.append(Column(len(level)))
        codes.append(own if level is variable.finest else level.of[own].astype(own.dtype))
    for i, (variable, level) in enumerate(zip(variables, main, strict=True)):
        if level is not variable.finest:
            columns.append(Column(len(variable.finest), i, level.of))
            codes.append(raw.ingest.codes(variable.id))
    return columns, codes


def _extra(
    step: BaseStep, raw: Raw, variables: Sequence[Variable], main: Sequence[Level]
) -> list[tuple[int, ...]]:
    """Return the columns of the tables that are asked for."""
    number = {level.id: i for i, level in enumerate(main)}
    fine = [v for v, level in zip(variables, main, strict=True) if level is not v.finest]
    number |= {v.finest.id: len(variables) + i for i, v in enumerate(fine)}
    found = []
    for table in step.tables:
        for name in table:
            if raw.schema.find(name)[1].id not in number:
                raise ParameterError(
                    f"base: tables must name levels that are fitted: {', '.join(number)}. "
                    f"Got {name}."
                )
        found.append(tuple(number[raw.schema.find(name)[1].id] for name in table))
    return found


def _compared(
    step: BaseStep,
    records: Records,
    areas: Areas,
    columns: Sequence[Column],
    fitted: Fitted,
    edition: bytes,
    shared: frozenset[int],
) -> tuple[Compared, Compared | None]:
    """Compare the base with the records in some tables of main columns.

    And, by themselves, in those with a column that members of a household share: a household more
    is several people more there. None where there are no such tables, or no others.
    """
    main = [column.size for column in columns if column.coarser is None]
    most = (len(main), *CHECKED[1:])[: len(main)]
    tables = chosen_tables(main, most)
    plain, by_home = (
        _with_every_order([t for t in tables if bool(shared & {*t}) is kind], main, shared, kind)
        for kind in (False, True)
    )
    if not plain or not by_home:
        return _in_tables(step, records, areas, columns, fitted, edition, tables), None
    found = [
        _in_tables(step, records, areas, columns, fitted, edition, own) for own in (plain, by_home)
    ]
    return found[0], found[1]


def _with_every_order(
    tables: list[tuple[int, ...]], sizes: Sequence[int], shared: frozenset[int], kind: bool
) -> list[tuple[int, ...]]:
    """Return tables, and one more of each order of which they have none but might."""
    for order in range(1, min(len(CHECKED), len(sizes)) + 1):
        if not any(len(table) == order for table in tables):
            every = combinations(range(len(sizes)), order)
            own = (t for t in every if bool(shared & {*t}) is kind)
            tables = tables + [t for t in own if prod(sizes[i] for i in t) <= MOST_CELLS][:1]
    return tables


def _compared_finely(
    step: BaseStep,
    records: Records,
    areas: Areas,
    columns: Sequence[Column],
    fitted: Fitted,
    edition: bytes,
) -> Compared | None:
    """Compare them in tables with a column that is in no pair; None where there is none."""
    sizes = [column.size for column in columns]
    many = [i for i, size in enumerate(sizes) if size > MOST_CATEGORIES]
    few = [i for i, size in enumerate(sizes) if size <= MOST_CATEGORIES]
    tables: list[tuple[int, ...]] = [(column,) for column in many]
    for column in many:
        beside = [i for i in few if i != columns[column].coarser]
        for table in chosen_tables([sizes[i] for i in beside], FINE[: len(beside)]):
            if prod(sizes[beside[i]] for i in table) * sizes[column] <= MOST_CELLS:
                tables.append((*(beside[i] for i in table), column))
    if not tables:
        return None
    return _in_tables(step, records, areas, columns, fitted, edition, tables)


def _in_tables(
    step: BaseStep,
    records: Records,
    areas: Areas,
    columns: Sequence[Column],
    fitted: Fitted,
    edition: bytes,
    tables: Sequence[tuple[int, ...]],
) -> Compared:
    codes, sizes = records.codes, [column.size for column in columns]
    base = Side(codes, fitted.area, fitted.donor)
    noises = [step.base.noise(level, edition) for level in range(len(areas.of))]
    true = Side(codes, records.area)
    return compare_tables(true, base, records.keys, sizes, areas, tables, noises)


def _facts(
    step: BaseStep,
    names: Sequence[str],
    fitted: Fitted,
    found: Compared,
    by_home: Compared | None,
) -> dict[str, Any]:
    """Return what the custodian keeps; `ranges` is what readers are told."""
    return {
        "method": step.name,
        "within": step.within,
        "people": len(fitted.donor),
        "donors": DONORS[step.households],
        "donor_areas": len(fitted.units),
        "stopped": fitted.stopped,
        "residuals": {
            name: [round(float(x), 3) for x in row]
            for name, row in zip(names, fitted.residuals, strict=True)
        },
        "errors": _errors(names, found if by_home is None else found + by_home),
        "held": _held(step, names, found),
        "held_of": _figures(names, found),
        "held_by_class": _held_by_class(step, names, found),
        "classes": list(CLASSES),
        "ranges": _ranges(step, names, found),
    }


def _finely(step: BaseStep, names: Sequence[str], found: Compared) -> dict[str, Any]:
    """Return what holds for tables with a column of more than so many categories."""
    return {
        "most_categories": MOST_CATEGORIES,
        "errors_beyond": _errors(names, found),
        "held_beyond": _held(step, names, found),
        "held_of_beyond": _figures(names, found),
        "ranges_beyond": _ranges(step, names, found),
    }


def _of_households(step: BaseStep, names: Sequence[str], found: Compared | None) -> dict[str, Any]:
    """Return what holds for tables with a variable that members of a household share."""
    if found is None:
        return {}
    return {
        "held_household": _held(step, names, found),
        "held_of_household": _figures(names, found),
        "ranges_household": _ranges(step, names, found),
    }


def _errors(names: Sequence[str], found: Compared) -> dict[str, list[dict[str, float]]]:
    orders = range(1, found.sums.shape[1] + 1)
    return {
        name: [found.errors(level, order).as_dict() for order in orders]
        for level, name in enumerate(names)
    }


def _held(step: BaseStep, names: Sequence[str], found: Compared) -> dict[str, float | None]:
    return {
        name: found.held(level, step.base.noise(level, bytes(32)))
        for level, name in enumerate(names)
    }


def _held_by_class(
    step: BaseStep, names: Sequence[str], found: Compared
) -> dict[str, list[list[tuple[int, int]]]]:
    """Return the same by number of variables and class of figure: of how many, and of all."""
    orders = range(1, found.sums.shape[1] + 1)
    return {
        name: [found.held_by_class(level, n, step.base.noise(level, bytes(32))) for n in orders]
        for level, name in enumerate(names)
    }


def _figures(names: Sequence[str], found: Compared) -> dict[str, int]:
    return {name: found.figures(level) for level, name in enumerate(names)}


def _ranges(
    step: BaseStep, names: Sequence[str], found: Compared
) -> dict[str, list[list[tuple[int, int]]]]:
    orders = range(1, found.sums.shape[1] + 1)
    return {
        name: [found.ranges(level, n, step.base.noise(level, bytes(32))) for n in orders]
        for level, name in enumerate(names)
    }


def _check(step: BaseStep, facts: dict[str, Any]) -> None:
    """Refuse a base that is too far off, or that leaves too much as it was."""
    for name, orders in facts["errors"].items():
        for order, errors in enumerate(orders[:2], 1):
            if errors["mean_absolute"] > step.max_error:
                raise ParameterError(
                    f"base: figures of {order} variable{'s' * (order > 1)} by {name} are off by "
                    f"{errors['mean_absolute']:.1f} on average, more than max_error, "
                    f"{step.max_error:g}."
                )
    for beyond in ("", "_beyond", "_household"):
        for name, held in facts.get(f"held{beyond}", {}).items():
            chance = _by_chance(LEAST_HELD, facts[f"held_of{beyond}"][name])
            if held is not None and held < LEAST_HELD - chance:
                raise ParameterError(
                    f"base: the ranges told of figures by {name} hold the true count in "
                    f"{held:.0%} of cases, fewer than {LEAST_HELD:.0%}. They are meant to in nine "
                    "of ten."
                )
    for key, who in AT_HOME.items():
        for name, home in list(facts.get(key, {}).items())[:1]:
            most = MOST_AT_HOME * home["by_chance"] + _by_chance(home["by_chance"], home["copies"])
            if home["share"] > most:
                raise ParameterError(
                    f"base: {home['share']:.1%} of the copies of people {who} stand in their own "
                    f"{name}, more than {most:.1%}: by chance it would be "
                    f"{home['by_chance']:.1%}, and where a row stands must not tell where somebody "
                    "lives."
                )
    for beyond in ("", "_beyond"):
        for name, orders in facts[f"errors{beyond}"].items():
            _check_exact(step, name, orders)


def _check_exact(step: BaseStep, name: str, orders: Sequence[dict[str, float]]) -> None:
    """Refuse a level at which too many small figures are as they were, at any order."""
    for order, errors in enumerate(orders, 1):
        chance = _by_chance(step.max_exact, int(errors["small"]))
        if errors["small_exact"] > step.max_exact + chance:
            raise ParameterError(
                f"base: {errors['small_exact']:.0%} of the small figures of {order} "
                f"variable{'s' * (order > 1)} by {name} are as they were, more than max_exact, "
                f"{step.max_exact:.0%}. Use a larger variance or a smaller share than "
                f"{step.base.share:g}."
            )


def _by_chance(share: float, figures: int) -> float:
    """Return by how much a share of few figures may be off by chance: three standard errors."""
    return float(3 * (share * (1 - share) / max(figures, 1)) ** 0.5)


def _put(raw: Raw, fitted: Fitted, number: NDArray[np.int64] | None, secret: Secret) -> None:
    """Replace every raw column; people of the base have keys of their own."""
    ingest = raw.ingest
    for variable in raw.schema.columns:
        ingest.put(f"codes-{variable.id}", ingest.codes(variable.id)[fitted.donor])
    if number is not None:
        ingest.put("area", number[fitted.area].astype(np.uint32))
    people = np.arange(len(fitted.donor), dtype=np.uint64)
    ingest.put("digest", KeyMix(secret.value, "protected base: people").words(people))
    ingest.rows = len(people)


def _note(raw: Raw, facts: dict[str, Any], names: Sequence[str]) -> str:
    told = [
        f"{name} " + " and ".join(f"{e['mean_absolute']:.1f}" for e in facts["errors"][name][:2])
        for name in reversed(names)
    ]
    what = "whole households" if facts["donors"] == "households" else "donors"
    ended = " It was ended by Ctrl-C before its time." if facts["stopped"] else ""
    number = facts["donor_areas"]
    return (
        f"Protected base of {facts['people']:,} people from {what} in {number:,} "
        f"area{'s' * (number != 1)}. Mean errors of figures of one and of two variables: "
        f"{'; '.join(told)}.{ended}"
    )
