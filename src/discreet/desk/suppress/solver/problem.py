"""What is asked of a suppression, and what is returned: arrays over the cells, certificates."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from discreet.errors import ParameterError
from discreet.solve.solution import Solution
from discreet.types import Flags, Floats


class Mark(IntEnum):
    """What becomes of a cell."""

    PUBLISHED = 0
    PRIMARY = 1
    SECONDARY = 2
    ABSENT = 3


@dataclass(frozen=True, eq=False)
class Problem:
    """Cells, which of them are primary, what protects them, and what it costs to withhold others.

    `weights` is the cost of a secondary cell; an infinite one must be published. An attacker must
    not be able to prove that a primary cell is below its value plus `rise`, nor above its value
    minus `fall`, nor know it within less than `width`. Everyone knows that cells lie in
    `low`…`high`. `owner` numbers the contributor of a cell that has only one (−1: it has more),
    who knows its value: it must be protected against each of them too. `absent` cells are part of
    sums but were never to be published. `whole` cells are integers.
    """

    values: Floats
    primary: Flags
    weights: Floats
    width: Floats
    rise: Floats
    fall: Floats
    owner: NDArray[np.int32]
    low: Floats
    high: Floats
    absent: Flags
    whole: bool = True

    @classmethod
    def of(
        cls,
        values: ArrayLike,
        primary: ArrayLike,
        weights: ArrayLike = 1.0,
        width: ArrayLike = 0.0,
        rise: ArrayLike = 0.0,
        fall: ArrayLike = 0.0,
        owner: ArrayLike = -1,
        low: ArrayLike = 0.0,
        high: ArrayLike = np.inf,
        absent: ArrayLike = False,
        whole: bool = True,
    ) -> Problem:
        """Return the problem with every array spread over the cells, flat, and checked."""
        figures = np.asarray(values, np.float64)

        def spread(name: str, given: ArrayLike, kind: Any) -> NDArray[Any]:
            array = np.asarray(given, kind)
            if array.shape not in ((), figures.shape):
                raise ParameterError(
                    f"{name} must be one value or one for each of the cells, {figures.shape}. "
                    f"Got {array.shape}."
                )
            return np.array(np.broadcast_to(array, figures.shape)).reshape(-1)

        problem = cls(
            figures.reshape(-1).copy(),
            spread("primary", primary, bool),
            spread("weights", weights, np.float64),
            spread("width", width, np.float64),
            spread("rise", rise, np.float64),
            spread("fall", fall, np.float64),
            spread("owner", owner, np.int32),
            spread("low", low, np.float64),
            spread("high", high, np.float64),
            spread("absent", absent, bool),
            bool(whole),
        )
        problem._check()
        return problem

    def _check(self) -> None:
        if not np.isfinite(self.values).all():
            raise ParameterError("values must be finite numbers: withheld cells too.")
        if self.whole and (self.values != np.rint(self.values)).any():
            raise ParameterError("whole cells must be integers.")
        if (self.values < self.low).any() or (self.values > self.high).any():
            raise ParameterError("values must lie between low and high.")
        for name in ("weights", "width", "rise", "fall"):
            array = getattr(self, name)
            if np.isnan(array).any() or (array < 0).any():
                raise ParameterError(f"{name} must be numbers of 0 or more.")
        asked = self.width + self.rise + self.fall
        if (self.primary & ~(asked > 0)).any():
            raise ParameterError("a primary cell must be given a width, a rise or a fall above 0.")
        if (self.primary & self.absent).any():
            raise ParameterError("a cell that is not published at all cannot be primary.")

    @property
    def forbidden(self) -> Flags:
        """The cells that must be published."""
        return np.isinf(self.weights) & ~self.primary & ~self.absent

    @property
    def cost(self) -> Floats:
        """What each cell costs to withhold: nothing for those that are withheld anyway."""
        return np.where(self.primary | self.absent, 0.0, self.weights)

    def marks(self, withheld: Flags) -> NDArray[np.int8]:
        """Return what becomes of each cell when these are withheld."""
        marks = np.where(withheld, Mark.SECONDARY, Mark.PUBLISHED)
        marks[self.primary] = Mark.PRIMARY
        marks[self.absent] = Mark.ABSENT
        return marks.astype(np.int8)

    def total(self, marks: NDArray[np.int8]) -> float:
        """Return what the secondary cells of a pattern cost."""
        return float(self.cost[marks == Mark.SECONDARY].sum())


@dataclass(frozen=True, eq=False)
class Needs:
    """One row for each thing asked of a primary cell: to rise, to fall, or to do both together."""

    cell: NDArray[np.int64]
    rise: Floats
    fall: Floats
    width: Floats

    def __len__(self) -> int:
        return len(self.cell)

    @classmethod
    def of(cls, problem: Problem) -> Needs:
        """Return what is asked, each direction by itself: two changes may prove the two ends."""
        rows: list[tuple[int, float, float, float]] = []
        for cell in np.flatnonzero(problem.primary).tolist():
            rise, fall, width = problem.rise[cell], problem.fall[cell], problem.width[cell]
            if rise > 0:
                rows.append((cell, rise, 0.0, 0.0))
            if fall > 0:
                rows.append((cell, 0.0, fall, 0.0))
            if width > rise + fall:
                rows.append((cell, rise, fall, width))
        array = np.array(rows, np.float64).reshape(-1, 4)
        return cls(array[:, 0].astype(np.int64), array[:, 1], array[:, 2], array[:, 3])


@dataclass(frozen=True, eq=False)
class Pattern(Solution):
    """`values` has a `Mark` for each cell; read the status first, as of any solution.

    Solved: proved the cheapest. Feasible: proved safe, not proved the cheapest; `gap` is the share
    by which a cheaper one may be below it, where known. Infeasible: `failed` lists cells that
    nothing protects, from those who are alone in a cell if `bare` is a number. `certificates` has
    a row for each, whose need is `proves`; `bare` is the number of secondary cells before any
    contributor who is alone in a cell was reckoned with.
    """

    certificates: Any = field(default_factory=lambda: sparse.csr_matrix((0, 0), dtype=np.int64))
    proves: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    failed: tuple[int, ...] = ()
    bare: int | None = None

    @property
    def withheld(self) -> Flags:
        """The cells without a figure."""
        return np.asarray(self.values != Mark.PUBLISHED)
