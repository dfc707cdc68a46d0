"""A plan: the tables to release beforehand, so that the most of what is wanted is answered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import first_few
from discreet.ledger.space import Space
from discreet.query import QuestionClass
from discreet.query.parse import MAX_VARIABLES
from discreet.types import Flags

Numbers = NDArray[np.float64]

# The cost of a question without an answer; of one that is summed, it is the logarithm of how many
# figures are summed.
_UNANSWERED = 1_000.0
# Tables are made of the most wanted classes only, and of pairs of fewer still: there are many.
_SINGLE = 1_000
_JOINED = 300
_CANDIDATES = 1_500
# Exchanges of tables that are tried: at most so many, and fewer where each takes long.
_TRIED = 500
_WORK = 50_000_000


@dataclass(frozen=True)
class Planned:
    """A table of a plan, and how many of the questions it answers: as they are, and by sums."""

    table: QuestionClass
    direct: int
    summed: int


@dataclass(frozen=True)
class LeftOut:
    """A class that is not answered, how often it is wanted, and why it is left out."""

    asked: QuestionClass
    times: int
    why: str


@dataclass(frozen=True)
class Plan:
    """Tables to release beforehand, the most useful first, and what they leave out.

    `free` questions need no plan: their tables use no look. `before` are answered by tables that
    are released already.
    """

    tables: tuple[Planned, ...]
    wanted: int
    free: int
    before: int
    left_out: tuple[LeftOut, ...]

    @property
    def answered(self) -> int:
        """How many of the questions are answered."""
        return self.wanted - sum(one.times for one in self.left_out)


def propose(
    wanted: Iterable[QuestionClass],
    space: Space,
    taken: Sequence[QuestionClass] = (),
    answered: Iterable[QuestionClass] = (),
    least: float = 0.0,
    judge: Callable[[QuestionClass], bool] = lambda _: True,
) -> Plan:
    """Return the tables that answer the most of what is wanted, a class as often as it is given.

    `taken` are the tables whose looks are used; `answered` are classes that need no plan because
    a released table answers them. A table that nobody wants for itself must have at least `least`
    people in a cell on average. `judge` says whether a table would be released, by the rules on
    its figures: those of a plan are asked about, and a plan without the others is made, until all
    of one would be. The same input always has the same plan.
    """
    refused: set[QuestionClass] = set()
    listed = list(wanted)
    while True:
        plan = _proposed(listed, space, taken, answered, least, refused)
        new = {one.table for one in plan.tables if not judge(one.table)}
        if not new:
            return plan
        refused |= new


def _proposed(
    wanted: Iterable[QuestionClass],
    space: Space,
    taken: Sequence[QuestionClass],
    answered: Iterable[QuestionClass],
    least: float,
    refused: set[QuestionClass],
) -> Plan:
    times = Counter(wanted)
    free = {asked for asked in times if not space.guarded(asked)}
    before = set(answered) - free
    never = {asked: why for asked in times if (why := _never(asked, space))}
    open_ = {c: n for c, n in times.items() if c not in free and c not in before | never.keys()}
    search = _Search(open_, space, taken, least, refused)
    chosen = search.best()
    lost = never.keys() - free - before
    left_out = [LeftOut(asked, times[asked], never[asked]) for asked in lost]
    left_out += search.left_out(chosen)
    return Plan(
        tuple(sorted(search.planned(chosen), key=_most_useful)),
        times.total(),
        sum(times[asked] for asked in free),
        sum(times[asked] for asked in before),
        tuple(sorted(left_out, key=lambda one: (-one.times, one.asked.cells, one.asked.name))),
    )


def _never(asked: QuestionClass, space: Space) -> str:
    """Return why the table of a class cannot be in any plan, nothing if it can."""
    if asked.cells > space.rules.max_table:
        return f"its table has {asked.cells:,} cells, more than {space.rules.max_table:,}"
    if len(asked.levels) > MAX_VARIABLES:  # no question can ask for all of it
        return f"its table has {len(asked.levels)} variables, more than {MAX_VARIABLES}"
    return ""


def _most_useful(one: Planned) -> tuple[int, int, str]:
    return -one.direct - one.summed, one.table.cells, one.table.name


def _candidates(times: dict[QuestionClass, int], space: Space, least: float) -> list[QuestionClass]:
    """Return tables that could be in a plan: those wanted, and short sums for two of them.

    Joining two tables gives the coarsest one that covers both.
    """
    wanted = sorted(times, key=lambda c: (-times[c], c.cells, c.name))
    found = dict.fromkeys(wanted[:_SINGLE])
    for a, b in combinations(wanted[:_JOINED], 2):
        both = QuestionClass(space.schema, tuple(map(max, zip(a.ranks, b.ranks, strict=True))))
        short = both.cells <= space.rules.sums_up_to * min(a.cells, b.cells)
        small = both.cells <= space.rules.max_table and len(both.levels) <= MAX_VARIABLES
        filled = space.population >= least * both.cells
        if short and small and filled and len(found) < _CANDIDATES:
            found[both] = None
    return sorted(found, key=lambda c: (c.cells, c.name))


class _Search:
    """Choosing tables: each wanted class costs by its best table, each detail has few looks.

    `cost[t, j]` is what class j costs if table t answers it, `shows[t, d]` whether t shows the
    coarsest guarded class d.
    """

    def __init__(
        self,
        times: dict[QuestionClass, int],
        space: Space,
        taken: Sequence[QuestionClass],
        least: float,
        refused: set[QuestionClass],
    ) -> None:
        self.wanted = sorted(times, key=lambda c: c.name)
        self.times = np.array([times[asked] for asked in self.wanted], float)
        self.tables = [one for one in _candidates(times, space, least) if one not in refused]
        self.taken = taken
        self.limit = space.rules.looks
        edges = [space.edge(table) for table in self.tables]
        self.details = sorted({d for edge in edges for d in edge}, key=lambda c: c.name)
        ranks = _ranks(self.tables, space)
        self.shows = _covering(ranks, _ranks(self.details, space))
        covers = _covering(ranks, _ranks(self.wanted, space))
        sizes = np.array([table.cells for table in self.tables], float)
        parts = sizes[:, None] / np.array([asked.cells for asked in self.wanted], float)
        self.cost = np.where(covers, np.log2(np.maximum(parts, 1)), _UNANSWERED)
        self.used = _covering(_ranks(taken, space), _ranks(self.details, space)).sum(0)

    def best(self) -> list[int]:
        """Return the numbers of the chosen tables."""
        if not self.tables:
            return []
        sizes = np.maximum(self.shows.sum(1), 1)
        starts = [self._filled([], np.ones(len(self.tables))), self._filled([], sizes)]
        chosen = min(starts, key=self._total)
        tries = min(_TRIED, _WORK // self.cost.size)
        while tries:
            better, tries = self._improved(chosen, tries)
            if better is None:
                break
            chosen = better
        return self._needed(chosen)

    def _costs(self, chosen: Sequence[int]) -> Numbers:
        """Return what each wanted class costs."""
        nothing = np.full((1, len(self.wanted)), _UNANSWERED)
        found: Numbers = np.concatenate([nothing, self.cost[list(chosen)]]).min(0)
        return found

    def _total(self, chosen: Sequence[int]) -> float:
        return float(self._costs(chosen) @ self.times)

    def _full(self, chosen: Sequence[int]) -> Flags:
        """Return which details have no look left."""
        return np.asarray(self.used + self.shows[list(chosen)].sum(0) >= self.limit)

    def _filled(self, chosen: Sequence[int], divide: NDArray[Any]) -> list[int]:
        """Return the tables with the best ones added, one after the other, while there are any."""
        made = list(chosen)
        while True:
            saved = np.maximum(self._costs(made) - self.cost, 0) @ self.times / divide
            saved[self.shows @ self._full(made)] = 0
            saved[made] = 0
            best = int(saved.argmax())
            if saved[best] <= 1e-9:
                return made
            made.append(best)

    def _improved(self, chosen: list[int], tries: int) -> tuple[list[int] | None, int]:
        """Return better tables, or None, and how many tries are left.

        A table for a class that is left out takes the place of those in its way.
        """
        now, ones = self._total(chosen), np.ones(len(self.tables))
        left = np.flatnonzero(self._costs(chosen) >= _UNANSWERED)
        for j in sorted(left.tolist(), key=lambda j: (-self.times[j], j)):
            for table in np.flatnonzero(self.cost[:, j] < _UNANSWERED).tolist():
                kept = self._making_room(chosen, table)
                made = None if kept is None else self._filled([*kept, table], ones)
                tries -= 1
                if made is not None and self._total(made) < now - 1e-9:
                    return made, tries
                if not tries:
                    return None, 0
        return None, tries

    def _making_room(self, chosen: list[int], table: int) -> list[int] | None:
        """Return the tables without those in the way of another, the least useful going first."""
        kept = list(chosen)
        while True:
            crowded = self._full(kept) & self.shows[table]
            if not crowded.any():
                return kept
            ways = [t for t in kept if (self.shows[t] & crowded).any()]
            if not ways:
                return None
            kept.remove(min(ways, key=lambda t: self._total([k for k in kept if k != t])))

    def _needed(self, chosen: list[int]) -> list[int]:
        """Return the tables without those that the others make superfluous."""
        kept = list(chosen)
        for table in sorted(chosen, key=lambda t: -self.tables[t].cells):
            rest = [t for t in kept if t != table]
            if self._total(rest) <= self._total(kept):
                kept = rest
        return kept

    # What is said of them

    def planned(self, chosen: Sequence[int]) -> list[Planned]:
        """Return the tables, each with the questions for which it is the best."""
        if not chosen:
            return []
        # Of tables that cost the same the smallest answers.
        order = sorted(chosen)
        cost = self.cost[order]
        best, answered = cost.argmin(0), cost.min(0) < _UNANSWERED
        found = []
        for i, number in enumerate(order):
            mine = np.flatnonzero((best == i) & answered)
            same = [j for j in mine if self.wanted[j] == self.tables[number]]
            direct, every = int(self.times[same].sum()), int(self.times[mine].sum())
            found.append(Planned(self.tables[number], direct, every - direct))
        return found

    def left_out(self, chosen: Sequence[int]) -> list[LeftOut]:
        """Return what no table answers, with the detail that is used up."""
        costs, full = self._costs(chosen), self._full(chosen)
        made = [*self.taken, *(self.tables[t] for t in sorted(chosen))]
        found = []
        for j in np.flatnonzero(costs >= _UNANSWERED).tolist():
            asked = self.wanted[j]
            below = zip(self.details, full, strict=True)
            detail = next((d for d, used in below if used and asked.covers(d)), None)
            if detail is None:
                why = "others are wanted more"
            else:
                names = [f"'{table.name}'" for table in made if table.covers(detail)]
                why = f"'{detail.name}' is in {first_few(names, 3)}"
            found.append(LeftOut(asked, int(self.times[j]), why))
        return found


def _ranks(classes: Sequence[QuestionClass], space: Space) -> NDArray[np.int64]:
    return np.array([c.ranks for c in classes], np.int64).reshape(-1, len(space.schema.variables))


def _covering(tables: NDArray[np.int64], classes: NDArray[np.int64]) -> Flags:
    """Return which tables cover which classes, a row for each table."""
    return np.asarray((tables[:, None, :] >= classes[None, :, :]).all(2))
