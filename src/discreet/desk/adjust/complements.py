"""Withheld cells of an adjusted table, and the others that must be withheld for their sake."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from discreet.desk.adjust.method import AdjustedTable
from discreet.desk.cells import MARKS, Mark
from discreet.desk.sensitivity import Given
from discreet.desk.suppress.method import Suppression
from discreet.errors import ParameterError
from discreet.types import Flags


@dataclass(frozen=True, eq=False)
class Withheld:
    """Cells of an adjusted table without a figure: `primary` ones, and `secondary` for their sake.

    `secondary` is None where no pattern protects the primary ones: nothing may be released then.
    """

    primary: Flags
    secondary: Flags | None

    @property
    def cells(self) -> Flags:
        """All cells without a figure."""
        return self.primary if self.secondary is None else self.primary | self.secondary


def withheld(result: AdjustedTable, beyond: float | None = None) -> Withheld:
    """Return the cells to withhold: those that are short, or changed by more than `beyond`.

    Notes
    -----
    The adjusted table adds up, so an empty cell alone could be computed. The pattern is one of
    cell suppression on the adjusted figures; a withheld cell has the room that its rule asks for,
    and at least its change, on either side. With a largest change, a share of the true figure, this
    is adjustment where it is small and suppression where it is not. Cells that are not published
    count as known: the pattern is safe even then. Zeros: are published.
    """
    change = np.abs(result.values - result.cells.values)
    far = np.zeros(change.shape, bool)
    if beyond is not None:
        far = result.published & (change > beyond * result.cells.values + 1e-9)
    primary = result.short | far
    if not primary.any():
        return Withheld(primary, primary)
    hidden = np.where(result.published, MARKS.index(Mark.NONE), MARKS.index(Mark.PREFER))
    sides = [np.maximum(side, change) for side in (result.required.lower, result.required.upper)]
    table = replace(
        result.cells,
        values=result.values,
        sensitive=primary & (result.values > 0),
        lower=np.where(primary, np.minimum(sides[0], result.values), np.nan),
        upper=np.where(primary, sides[1], np.nan),
        marks=hidden.astype(np.int8),
        ranked=None,
        contributors=None,
    )
    try:
        found = Suppression((Given(),), singletons=False).apply(table)
    except ParameterError:
        return Withheld(primary, None)
    return Withheld(primary, found.withheld & result.published & ~primary)
