"""Populations made up in memory, for tests that need a version but no files."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from discreet.population import Level, Schema, Variable, Version
from discreet.population.names import GEOGRAPHY
from discreet.query import Query, Question

MODULI = [2**32, 256, 10**8, 2, 3, 2**32 - 1]


@cache
def _codes(name: str, size: int) -> tuple[str, ...]:
    return tuple(f"{name}{i}" for i in range(size))


def level(name: str, size: int, of: NDArray[Any] | None = None) -> Level:
    codes = _codes(name, size)
    mapping = np.arange(size) if of is None else of
    return Level(name, name.capitalize(), codes, codes, mapping.astype(np.uint32))


def make_version(
    rng: np.random.Generator,
    rows: int,
    sizes: list[int],
    area_sizes: list[int] | None = None,
    modulus: int = 2**32,
    hypercube: bool = False,
) -> Version:
    """Return a population with a variable `a`, `b`, … of each size, each with a level `a_half`.

    With area sizes (smallest level first) there is a geography of levels `g0`, `g1`, …; the
    records of small areas are random, and some areas are empty.
    """
    variables = []
    narrow, wide = [], []
    for i, size in enumerate(sizes):
        name = "abcdefgh"[i]
        half = (size + 1) // 2
        variables.append(
            Variable(
                name,
                name.upper(),
                (level(name, size), level(f"{name}_half", half, rng.integers(0, half, size))),
            )
        )
        codes = rng.integers(0, size, rows)
        (narrow if size <= 255 else wide).append(codes)
    areas = None
    if area_sizes is not None:
        levels, of = [level("g0", area_sizes[0])], np.arange(area_sizes[0])
        for i, (below, size) in enumerate(pairwise(area_sizes)):
            of = np.sort(rng.integers(0, size, below))[of]
            levels.append(level(f"g{i + 1}", size, of))
        variables.append(Variable(GEOGRAPHY, "Geography", tuple(levels)))
        inside = np.sort(rng.integers(0, area_sizes[0], rows))
        areas = np.searchsorted(inside, np.arange(area_sizes[0] + 1)).astype(np.int64)
    counts = rng.integers(0, 1000, rows).astype(np.uint32) if hypercube else None
    keys = rng.integers(0, modulus, rows).astype(np.uint32)
    codes8 = np.array(narrow, np.uint8).reshape(len(narrow), rows)
    codes16 = np.array(wide, np.uint16).reshape(len(wide), rows)
    for array in (codes8, codes16, keys, counts):
        if array is not None:
            array.setflags(write=False)
    return Version(
        Path("in-memory"),
        {"modulus": modulus, "hypercube": hypercube},
        Schema("made-up", "A made-up population", "persons", tuple(variables)),
        codes8,
        codes16,
        keys,
        counts,
        areas,
    )


def records(version: Version) -> list[dict[str, str]]:
    """Return every record as a dict from the id of each level to its code there."""
    found: list[dict[str, str]] = [{} for _ in range(version.rows)]
    for variable in version.schema.variables:
        if variable.is_geography:
            assert version.areas is not None
            index = np.repeat(np.arange(len(variable.finest)), np.diff(version.areas))
        else:
            index = version.column(variable)
        for one in variable.levels:
            for record, i in zip(found, one.of[index].tolist(), strict=True):
                record[one.id] = one.codes[i]
    return found


def ask(version: Version, by: str, where: str | None = None) -> Question:
    """Return a question about a population."""
    return Question.of(Query.parse(by, where), version.schema)


@st.composite
def populations_and_queries(draw: st.DrawFn) -> tuple[Version, Query]:
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    rows = draw(st.sampled_from([0, 1, 2, 7, 300]))
    sizes = draw(st.lists(st.sampled_from([1, 2, 3, 9, 255, 256, 65_535]), min_size=1, max_size=3))
    areas = draw(st.sampled_from([None, [1], [5, 2], [40, 7, 2]]))
    version = make_version(
        rng, rows, sizes, areas, draw(st.sampled_from(MODULI)), draw(st.booleans())
    )
    names = [draw(st.sampled_from(v.levels)).id for v in version.schema.variables]
    by = draw(st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True))
    where = {}
    for variable in version.schema.variables:
        if draw(st.booleans()):
            level = draw(st.sampled_from(variable.levels))
            members = np.unique(level.of).tolist()
            picks = st.lists(st.sampled_from(members), min_size=1, max_size=3)
            where[level.id] = [level.codes[i] for i in draw(picks)]
    return version, Query.parse(by, where)
