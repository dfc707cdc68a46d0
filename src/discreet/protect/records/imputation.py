"""Over-imputation: values blanked at random and imputed again from a donor like the record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.checks import checked_list
from discreet.errors import ParameterError
from discreet.protect import kernels
from discreet.protect.keys import checked_words, purposes, unit_interval
from discreet.types import Integers

_LARGEST = 2**27


@dataclass(frozen=True, eq=False)
class Edit:
    """An edit rule: which imputed values are possible beside what a record keeps.

    `kept` is the part of the rule's table that stays (a number from 0 for each record), `imputed`
    the part that a donor gives, `possible[kept, imputed]` whether both may be in one record.
    """

    kept: Integers
    imputed: Integers
    possible: NDArray[np.bool_]

    @classmethod
    def observed(cls, kept: ArrayLike, imputed: ArrayLike) -> Edit:
        """Return the rule that only what some record has is possible: empty cells stay empty."""
        first, second = np.asarray(kept, np.int64), np.asarray(imputed, np.int64)
        if first.shape != second.shape or first.ndim != 1:
            raise ParameterError("an edit rule must have two numbers for each record.")
        shape = (int(first.max(initial=0)) + 1, int(second.max(initial=0)) + 1)
        if shape[0] * shape[1] > _LARGEST:
            raise ParameterError(
                f"an edit rule must be a table of at most {_LARGEST:,} cells. This one has "
                f"{shape[0] * shape[1]:,}."
            )
        possible = np.zeros(shape, bool)
        possible[first, second] = True
        return cls(first, second, possible)


@dataclass(frozen=True, eq=False)
class Imputed:
    """Where each record's values come from now. For the custodian only."""

    donor: Integers  # the record itself where nothing was imputed
    blanked: NDArray[np.bool_]
    unmatched: NDArray[np.bool_]  # blanked, but without a possible donor: left as they were
    by_class: Integers  # how many found a donor in each kind of class, the strictest first

    def take(self, codes: NDArray[np.integer]) -> NDArray[np.integer]:
        """Return the codes of a variable after imputation."""
        return codes[self.donor]


@dataclass(frozen=True)
class OverImputation:
    """Blanks a share of records at random and gives each the values of a random donor.

    Notes
    -----
    [Longhurst2007, §3]. A donor is a record of the same class that was not blanked, the first
    kind of class in which there is one: values are drawn from their distribution given the
    class, not from its mode, so that spreads and associations with the class stay in
    expectation. A donor whose values an edit rule forbids beside the record's own is passed over.

    >>> keys = np.random.default_rng(1).integers(0, 2**63, 8).astype(np.uint64)
    >>> found = dc.protect.OverImputation(rate=0.25).apply([np.zeros(8, int)], keys)
    >>> int((found.donor != np.arange(8)).sum())
    2
    """

    rate: float
    tries: int = 1000

    def __post_init__(self) -> None:
        if not 0 < self.rate < 1:
            raise ParameterError(f"rate must be above 0 and below 1. Got {self.rate}.")
        if self.tries < 1:
            raise ParameterError(f"tries must be at least 1. Got {self.tries}.")

    def apply(
        self, classes: Sequence[ArrayLike], keys: ArrayLike, edits: Sequence[Edit] = ()
    ) -> Imputed:
        """Return the donor of each record.

        `classes` are numbers that record and donor must share, the strictest first; `keys` are
        random 64-bit numbers, a record's own and secret.
        """
        words = checked_words(keys, np.size(keys))
        number = len(words)
        kinds = [checked_list("a class", kind, number) for kind in classes]
        if not kinds:
            raise ParameterError("classes must have at least one.")
        if any(len(edit.kept) != number for edit in edits):
            raise ParameterError(f"an edit rule must have {number:,} records.")
        blanked = np.zeros(number, bool)
        wanted = int(np.floor(self.rate * number + 0.5))
        blanked[np.argsort(unit_interval(purposes(words, 1)), kind="stable")[:wanted]] = True
        chosen, donors = np.flatnonzero(blanked), np.flatnonzero(~blanked)
        ring, aim = purposes(words, 2), purposes(words, 3)
        donors = donors[np.argsort(ring[donors], kind="stable")]
        rules, found, by_class = _flat(edits, number), np.full(len(chosen), -1, np.int64), []
        for kind in kinds:
            _, places = np.unique(kind, return_inverse=True)
            listed = donors[np.argsort(places[donors], kind="stable")]
            starts = np.searchsorted(places[listed], np.arange(places.max(initial=-1) + 2))
            before = int((found >= 0).sum())
            kernels.find_donors(
                chosen, places, listed, starts, ring, aim, *rules, self.tries, found
            )
            by_class.append(int((found >= 0).sum()) - before)
        donor, unmatched = np.arange(number), np.zeros(number, bool)
        donor[chosen[found >= 0]] = found[found >= 0]
        unmatched[chosen[found < 0]] = True
        return Imputed(donor, blanked, unmatched, np.array(by_class))


def _flat(edits: Sequence[Edit], number: int) -> tuple[NDArray[Any], ...]:
    """Return edit rules as the kernel reads them: their tables one after the other."""
    sizes = np.array([edit.possible.size for edit in edits], np.int64)
    return (
        np.array([edit.kept for edit in edits], np.int64).reshape(len(edits), number),
        np.array([edit.imputed for edit in edits], np.int64).reshape(len(edits), number),
        np.array([edit.possible.shape[1] for edit in edits], np.int64),
        np.cumsum(sizes) - sizes,
        np.concatenate([np.zeros(0, bool), *(edit.possible.ravel() for edit in edits)]),
    )
