"""Cells of an adjusted table that are withheld, with others for their sake."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.desk.adjust.method import AdjustedTable
from discreet.desk.adjust.pattern import Hidden, safe_pattern
from discreet.desk.sensitivity import Rule
from discreet.desk.suppress.insiders import Contributions
from discreet.progress import Tell
from discreet.types import Flags


@dataclass(frozen=True, eq=False)
class Withheld:
    """Cells of an adjusted table without a figure: `primary` ones, and `secondary` for their sake.

    `secondary` is None where no pattern protects the primary ones: nothing may be released then.
    `insiders` says whether contributors were known, so that it protects them from one another.
    """

    primary: Flags
    secondary: Flags | None
    insiders: bool = True

    @property
    def cells(self) -> Flags:
        """All cells without a figure."""
        return self.primary if self.secondary is None else self.primary | self.secondary


def withheld(
    result: AdjustedTable,
    rules: Sequence[Rule],
    beyond: float | None = None,
    contributions: Contributions | None = None,
    tell: Tell | None = None,
) -> Withheld:
    """Return the cells to withhold: those that are short, or changed by more than `beyond`.

    `contributions` are those of records; without them they are read off the table.

    Notes
    -----
    The adjusted table adds up, so an empty cell alone could be computed. The pattern is one of
    cell suppression, on the true figures and on the adjusted ones, against everybody and every
    contributor. With a largest change, a share of the true figure, this is adjustment where it is
    small and suppression where it is not. Cells that are not published count as known unless the
    pattern withholds them. Zeros: are published.
    """
    change = np.abs(result.values - result.cells.values)
    far = np.zeros(change.shape, bool)
    if beyond is not None:
        far = result.published & (change > beyond * result.cells.values + 1e-9)
    primary = result.short | far
    given = Contributions.of_table(result.cells) if contributions is None else contributions
    known = len(given.who) > 0
    if not primary.any():
        return Withheld(primary, primary, known)
    needed = result.required
    hidden = Hidden(
        result.cells, result.values, primary, np.where(primary, needed.lower, 0.0),
        np.where(primary, needed.upper, 0.0), result.published,
    )  # fmt: skip
    found = safe_pattern([hidden], rules, [given], tell)
    if found is None:
        return Withheld(primary, None, known)
    return Withheld(primary, found[0] & result.published & ~primary, known)
