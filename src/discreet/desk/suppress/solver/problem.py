"""What is asked of a suppression, and what is returned: arrays over the cells, certificates."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
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
class Insiders:
    """What contributors know: a row for each cell and each of those who have something in it.

    Contributor `who` knows that `cell` cannot be more than `room` below its value, since the rest
    is his own; a room below 0 says that he is alone in it and knows it. `rise` and `fall` are what
    is asked of the cell against him, where it is primary, and `out_rise` and `out_fall` what is
    asked of each cell against contributors to others alone. Rows are sorted by cell and room.
    """

    cell: NDArray[np.int64]
    who: NDArray[np.int64]
    room: Floats
    rise: Floats
    fall: Floats
    out_rise: Floats
    out_fall: Floats

    @classmethod
    def of(
        cls,
        cell: NDArray[np.int64],
        who: NDArray[np.int64],
        room: Floats,
        rise: Floats,
        fall: Floats,
        out: tuple[Floats, Floats],
    ) -> Insiders:
        """Return the rows, sorted."""
        order = np.lexsort((who, room, cell))
        return cls(cell[order], who[order], room[order], rise[order], fall[order], *out)

    @classmethod
    def alone(cls, owner: NDArray[np.int64], rise: Floats, fall: Floats) -> Insiders:
        """Return those who are alone in cells, given the number of each; −1: none."""
        cell = np.flatnonzero(owner >= 0)
        none = np.zeros(len(cell))
        return cls.of(cell, owner[cell], none - 1, none, none, (rise, fall))

    def __len__(self) -> int:
        return len(self.cell)

    @property
    def number(self) -> int:
        """A number above every contributor's."""
        return int(self.who.max(initial=-1)) + 1

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Where the rows of each cell begin, and the end."""
        return np.searchsorted(self.cell, np.arange(self.out_rise.size + 1))

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """The rows sorted by contributor."""
        return np.lexsort((self.cell, self.who))

    @cached_property
    def own_starts(self) -> NDArray[np.int64]:
        """Where the rows of each contributor begin in that order, and the end."""
        return np.searchsorted(self.who[self.order], np.arange(self.number + 1))

    def rows_of(self, who: int) -> NDArray[np.int64]:
        """Return the rows of one contributor."""
        return self.order[self.own_starts[who] : self.own_starts[who + 1]]

    def rooms(self, whom: Iterable[int]) -> Floats:
        """Return how far cells can fall for all that any of these know; −1: known, ∞: as far."""
        room = np.full(self.out_rise.size, np.inf)
        for who in whom:
            rows = self.rows_of(who)
            np.minimum.at(room, self.cell[rows], self.room[rows])
        return room

    def asked(
        self, cell: NDArray[np.int64], who: NDArray[np.int64]
    ) -> tuple[Floats, Floats, Flags]:
        """Return what cells must be able to rise and fall by against contributors, one each.

        The last says whether they know the cell.
        """
        rise, fall, known = self.out_rise[cell], self.out_fall[cell], np.zeros(len(cell), bool)
        if len(self):
            keys, order = self._keys
            place = np.minimum(np.searchsorted(keys, cell * self.number + who), len(keys) - 1)
            inside = keys[place] == cell * self.number + who
            row = order[place]
            rise = np.where(inside, self.rise[row], rise)
            fall = np.where(inside, self.fall[row], fall)
            known = inside & (self.room[row] < 0)
        return rise, fall, known

    @cached_property
    def _keys(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """A number for each cell and contributor, ascending, and the row of each."""
        keys = self.cell * self.number + self.who
        order = np.argsort(keys)
        return keys[order], order


@dataclass(frozen=True, eq=False)
class Problem:
    """Cells, which of them are primary, what protects them, and what it costs to withhold others.

    `weights` is the cost of a secondary cell; an infinite one must be published. An attacker must
    not be able to prove that a primary cell is below its value plus `rise`, nor above its value
    minus `fall`, nor know it within less than `width`. Everyone knows that cells lie in
    `low`…`high`; each of the `insiders` knows more, and must not come too close either. `absent`
    cells are part of sums but were never to be published. `whole` cells are integers.
    """

    values: Floats
    primary: Flags
    weights: Floats
    width: Floats
    rise: Floats
    fall: Floats
    insiders: Insiders
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
        insiders: Insiders | None = None,
    ) -> Problem:
        """Return the problem with every array spread over the cells, flat, and checked.

        `owner` numbers the contributor of a cell that has only one (−1: it has more, or none); it
        stands for insiders who know nothing but the cells that they are alone in.
        """
        figures = np.asarray(values, np.float64)

        def spread(name: str, given: ArrayLike, kind: Any) -> NDArray[Any]:
            array = np.asarray(given, kind)
            if array.shape not in ((), figures.shape):
                raise ParameterError(
                    f"{name} must be one value or one for each of the cells, {figures.shape}. "
                    f"Got {array.shape}."
                )
            return np.array(np.broadcast_to(array, figures.shape)).reshape(-1)

        up, down = spread("rise", rise, np.float64), spread("fall", fall, np.float64)
        if insiders is None:
            insiders = Insiders.alone(spread("owner", owner, np.int64), up, down)
        problem = cls(
            figures.reshape(-1).copy(),
            spread("primary", primary, bool),
            spread("weights", weights, np.float64),
            spread("width", width, np.float64),
            up,
            down,
            insiders,
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
        if self.insiders.out_rise.size != self.values.size:
            raise ParameterError("what is asked against outsiders must be one for each cell.")

    @property
    def forbidden(self) -> Flags:
        """The cells that must be published."""
        return np.isinf(self.weights) & ~self.primary & ~self.absent

    @property
    def watched(self) -> bool:
        """Whether a contributor knows more of a cell that may be withheld."""
        return bool((~self.forbidden)[self.insiders.cell].any())

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

    def gap(self, marks: NDArray[np.int8], bound: float) -> float:
        """Return the share by which a cheaper pattern may be below this one, given a bound."""
        cost = self.total(marks)
        if cost <= 0:
            return 0.0
        return max(0.0, cost - bound) / cost if bound > 0 else float("inf")


@dataclass(frozen=True, eq=False)
class Needs:
    """One row for each thing asked of a primary cell: to rise, to fall, or to do both together."""

    cell: NDArray[np.int64]
    rise: Floats
    fall: Floats
    width: Floats

    def __len__(self) -> int:
        return len(self.cell)

    def against(self, need: int, insiders: Insiders, who: int) -> tuple[float, float, float]:
        """Return the rise, fall and width that a need asks against one contributor."""
        rise, fall, width = self.against_all(np.array([need]), insiders, np.array([who]))
        return float(rise[0]), float(fall[0]), float(width[0])

    def against_all(
        self, need: NDArray[np.int64], insiders: Insiders, who: NDArray[np.int64]
    ) -> tuple[Floats, Floats, Floats]:
        """Return the rise, fall and width that needs ask, each against one contributor.

        Who is alone in the cell knows it: nothing can be asked against him.
        """
        rise, fall, known = insiders.asked(self.cell[need], who)
        return (
            np.where(known, 0.0, np.minimum(rise, self.rise[need])),
            np.where(known, 0.0, np.minimum(fall, self.fall[need])),
            np.where(known, 0.0, self.width[need]),
        )

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
    contributor who is alone in a cell was reckoned with. `proof` is what `prove` found of these
    certificates, where it was asked.
    """

    certificates: Any = field(default_factory=lambda: sparse.csr_matrix((0, 0), dtype=np.int64))
    proves: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    failed: tuple[int, ...] = ()
    bare: int | None = None
    proof: Any = None

    @property
    def withheld(self) -> Flags:
        """The cells without a figure."""
        return np.asarray(self.values != Mark.PUBLISHED)
