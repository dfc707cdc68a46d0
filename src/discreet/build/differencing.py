"""Groupings that can be subtracted from each other, and the people who would stand out.

Two groupings of one variable that are not nested in one another let a reader subtract: ages 0–17
less ages 0–15 are ages 16 and 17. What comes out are the cells of the two groupings crossed that
are not a whole category of either. Each must hold at least the policy's minimum population.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from discreet.build.dataset import Column, Dataset
from discreet.errors import ParameterError, first_few


@dataclass(frozen=True)
class Difference:
    """A group of people that two groupings give away: categories a ∩ b, below the minimum."""

    variable: str
    first: str
    second: str
    a: str
    b: str


def differences(
    column: Column, population: NDArray[np.int64], minimum: int
) -> tuple[Difference, ...]:
    """Return the difference cells of a variable's groupings that hold fewer than the minimum.

    `population` is the number of records of each finest category.
    """
    found = []
    for first, second in combinations(column.groupings, 2):
        a, b = np.array(first.of), np.array(second.of)
        # Only the cells that exist: of two groupings into thousands the others are millions.
        cells, of_cell = np.unique(np.stack([a, b]), axis=1, return_inverse=True)
        people = np.bincount(of_cell.ravel(), population, cells.shape[1])
        in_row, in_column = np.bincount(cells[0]), np.bincount(cells[1])
        # A cell that is all of its row or all of its column is a category somebody may ask for.
        apart = (in_row[cells[0]] > 1) & (in_column[cells[1]] > 1)
        found += [
            Difference(
                column.id,
                first.id,
                second.id,
                first.categories.codes[i],
                second.categories.codes[j],
            )
            for i, j in cells[:, apart & (people < minimum)].T.tolist()
        ]
    return tuple(found)


def check(dataset: Dataset, populations: dict[str, NDArray[np.int64]]) -> list[dict[str, str]]:
    """Refuse groupings that give small groups away; return those accepted all the same."""
    accepted: dict[tuple[str, str], dict[str, str]] = {}
    refused: dict[tuple[str, str], list[Difference]] = {}
    for column in dataset.columns:
        if len(column.groupings) < 2:
            continue
        minimum = dataset.policy.minimum_population
        for difference in differences(column, populations[column.id], minimum):
            pair = (difference.first, difference.second)
            if difference.second in dataset.accept_differencing:
                accepted[pair] = {
                    "variable": difference.variable,
                    "grouping": difference.second,
                    "against": difference.first,
                }
            else:
                refused.setdefault(pair, []).append(difference)
    if refused:
        lines = [
            f"\n  - '{second}' subtracted from '{first}' gives away "
            + first_few([f"'{d.a}' ∩ '{d.b}'" for d in found], 3)
            for (first, second), found in refused.items()
        ]
        names = sorted({second for _, second in refused})
        raise ParameterError(
            "groupings that can be subtracted from each other leave groups below the minimum "
            f"population of {dataset.policy.minimum_population}:{''.join(lines)}\n"
            f"Take {' and '.join(names)} out, or accept the risk with accept_differencing = "
            f"{names}, which is recorded."
        )
    return list(accepted.values())
