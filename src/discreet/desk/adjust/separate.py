"""Separability: the part of a table that is adjusted, apart from all the rest.

Contributions to sensitive cells and to large cells form the part; the others are left alone and
added back. The part is a table of its own with fewer cells and fewer equations.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import ParameterError
from discreet.solve.system import TableSystem
from discreet.types import Floats


@dataclass(frozen=True, eq=False)
class Part:
    """The part of a table: `values` and `sensitive` in the shape of its cells.

    A cell of the part is sensitive if all its content is from sensitive cells. `cells` is the
    number of cells that are not 0, `equations` of sums that are not 0 = 0.
    """

    values: Floats
    sensitive: NDArray[np.bool_]
    cells: int
    equations: int


def whole(system: TableSystem, values: ArrayLike, sensitive: ArrayLike) -> Part:
    """Return the whole table in the same terms, to compare."""
    amounts, flags = np.asarray(values, np.float64), np.asarray(sensitive, bool)
    return Part(amounts, flags, int((amounts > 0).sum()), _equations(system, amounts))


def separate(system: TableSystem, values: ArrayLike, sensitive: ArrayLike, above: float) -> Part:
    """Return the part made of contributions to sensitive cells, and to inner cells above a value.

    Notes
    -----
    As in [Dandekar]: small cells that are not sensitive would suffer most from an adjustment, and
    are left out of it.
    """
    amounts, flags = np.asarray(values, np.float64), np.asarray(sensitive, bool)
    if amounts.shape != system.shape or flags.shape != system.shape:
        raise ParameterError(f"values and sensitive must have the shape {system.shape}.")
    if not above >= 0:
        raise ParameterError(f"above must be a number of 0 or more. Got {above}.")
    by_variable = np.zeros(system.variables)
    by_variable[system.variable] = amounts.reshape(-1)
    inner = by_variable[system.inner]
    marked = np.zeros(system.variables)
    marked[system.variable[flags.reshape(-1)]] = 1.0
    in_sensitive = (system.members.T.astype(np.float64) @ marked) > 0
    part = system.values(np.where(in_sensitive | (inner > above), inner, 0.0))
    other = system.values(np.where(~in_sensitive & (inner > above), inner, 0.0))
    return Part(part, (part > 0) & (other == 0), int((part > 0).sum()), _equations(system, part))


def _equations(system: TableSystem, amounts: Floats) -> int:
    by_variable = np.zeros(system.variables)
    by_variable[system.variable] = amounts.reshape(-1)
    return int((abs(system.equations) @ by_variable > 0).sum())
