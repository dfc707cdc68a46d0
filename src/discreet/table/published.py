"""Published tables: figures, some of them withheld, totals and groups among them.

A figure that is empty, or one of the marks in `MARKS`, is withheld; a combination that a long file
does not mention is not published either, so a file of margins alone describes what is known of
the cells within.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.table.decimals import refuse_sum_beyond
from discreet.table.grid import Grid, grid_of
from discreet.table.hierarchy import Groups
from discreet.table.source import Given, Listing, listed, number_of

# What offices print for a figure they withhold. "-" and "0" are not among them: they mean none.
MARKS = frozenset({"", "x", "c", "s", ".", "..", "...", "…", ":", "*"})
STATES = ("published", "primary", "secondary")


@dataclass(frozen=True, eq=False)
class PublishedTable(Grid):
    """A published table: `values` over all codes of each dimension, NaN where not published.

    `withheld` marks the cells that the file shows without a figure.
    """

    values: NDArray[np.float64]
    withheld: NDArray[np.bool_]

    @property
    def unpublished(self) -> NDArray[np.bool_]:
        """The cells without a figure, but for totals that the file leaves to be summed."""
        missing = np.isnan(self.values)
        return missing & ~self._derived(missing)

    def _derived(self, missing: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return the cells not mentioned that are plain sums of published ones."""
        known = ~missing
        derived = np.zeros(missing.shape, bool)
        for axis, hierarchy in enumerate(self.hierarchies):
            state, target = np.moveaxis(known, axis, 0), np.moveaxis(derived, axis, 0)
            for code, children in hierarchy.families:
                sums = state[children].all(axis=0) & ~state[code]
                target[code] |= sums
                state[code] |= sums
        return derived & ~self.withheld


def read_published(given: Given, groups: Groups | None = None) -> PublishedTable:
    """Return a published table, long or wide; `groups` are sums of codes."""
    listing = listed(given, extras=("status",))
    if "status" in listing.extras:
        _check_status(listing)
    grid, cells = grid_of(listing, groups, total=False)

    def figure(field: str, where: str) -> float:
        if field.lower() in MARKS:
            return np.nan
        return number_of(field, where, listing.source.delimiter, empty=True)

    figures = np.array(listing.parsed(listing.figures, figure))
    values, withheld = np.full(prod(grid.shape), np.nan), np.zeros(prod(grid.shape), bool)
    values[cells] = figures
    inner = values.reshape(grid.shape)[np.ix_(*grid.inner)]
    refuse_sum_beyond(f"the figures of '{listing.name}'", inner[~np.isnan(inner)])
    withheld[cells] = np.isnan(figures)
    return PublishedTable(
        grid.variables,
        grid.codes,
        grid.parents,
        values.reshape(grid.shape),
        withheld.reshape(grid.shape),
    )


def _check_status(listing: Listing) -> None:
    status = listing.extras["status"]
    for given, figure, where in zip(status, listing.figures, listing.where, strict=True):
        state, shown = given.lower(), figure.lower() not in MARKS
        if state not in STATES:
            raise ParameterError(
                f"status must be one of {', '.join(STATES)}. Got '{given}' in {where} of "
                f"'{listing.name}'."
            )
        if shown != (state == "published"):
            raise ParameterError(
                "a cell has a figure if and only if its status is published. "
                f"{where.capitalize()} of '{listing.name}' is {state} and has "
                f"{'one' if shown else 'none'}."
            )
