"""The categories of a variable as a tree, with how many are ticked in each branch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.page.state import State
from discreet.population import Level, Variable

MOST_LEAVES = 400
"""More boxes than this are not ticked one by one; the address would be too long as well."""


@dataclass(frozen=True)
class Leaf:
    """A category that can be ticked."""

    code: str
    label: str
    ticked: bool


@dataclass(frozen=True)
class Branch:
    """A category of a coarser level with what it holds."""

    level: str
    code: str
    label: str
    branches: tuple[Branch, ...]
    leaves: tuple[Leaf, ...]
    ticked: int
    total: int


@dataclass(frozen=True)
class Tree:
    """All categories of a variable at a level; without a coarser level they are all leaves."""

    variable: Variable
    level: Level
    branches: tuple[Branch, ...]
    leaves: tuple[Leaf, ...]
    ticked: int
    total: int


def tree(state: State, variable: Variable) -> Tree | None:
    """Return the tree at the level the table shows, None where there are too many categories."""
    placed = state.level_of(variable.id)
    if placed is not None:
        level = variable.level(placed)
    else:
        level = next((v for v in variable.levels if len(v) <= MOST_LEAVES), variable.levels[-1])
    if len(level) > MOST_LEAVES:
        return None
    found = state.filter_of(variable.id)
    ticked = np.ones(len(level), bool) if found is None else level.holding(found.allowed)
    above = variable.above(level)
    leaves = np.arange(len(level))
    if not above:
        return Tree(
            variable, level, (), _leaves(level, leaves, ticked), int(ticked.sum()), len(level)
        )
    branches = _branches(level, leaves, ticked, above)
    return Tree(variable, level, branches, (), int(ticked.sum()), len(level))


def _branches(
    level: Level, leaves: NDArray[np.intp], ticked: NDArray[np.bool_], above: tuple[Level, ...]
) -> tuple[Branch, ...]:
    top, rest = above[-1], above[:-1]
    owner = top.of[level.member[leaves]]
    found = []
    for i in dict.fromkeys(owner.tolist()):
        inside = leaves[owner == i]
        found.append(
            Branch(
                top.id,
                top.codes[i],
                top.labels[i],
                _branches(level, inside, ticked, rest) if rest else (),
                () if rest else _leaves(level, inside, ticked),
                int(ticked[inside].sum()),
                len(inside),
            )
        )
    return tuple(found)


def _leaves(level: Level, which: NDArray[np.intp], ticked: NDArray[np.bool_]) -> tuple[Leaf, ...]:
    return tuple(Leaf(level.codes[i], level.labels[i], bool(ticked[i])) for i in which)
