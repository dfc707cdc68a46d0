"""Does a pattern withstand everybody's programmes? For patterns that come without certificates.

One linear programme for each end of each primary cell, first in the view of anybody. The table that
it ends in clears all contributors whom it does not contradict; the others get a programme of their
own. Where cells are whole numbers and a programme ends in fractions, an integer one decides.
"""

from __future__ import annotations

import numpy as np

from discreet.desk.suppress.solver.check import Proof, known_to, prove
from discreet.desk.suppress.solver.problem import Needs, Pattern, Problem
from discreet.desk.suppress.solver.witness import WHOLE, Witness
from discreet.solve.system import TableSystem
from discreet.types import Flags, Floats

# Programmes keep conditions to 1e-7; their ends are off by little more, and by their floats.
OFF, FLOATS = 1e-6, 1e-9


def examined(system: TableSystem, problem: Problem, withheld: Flags) -> Proof:
    """Return how far primary cells can rise and fall, and who narrows which down too far.

    No further than is asked: `attacked` has the ends.
    """
    needs = Needs.of(problem)
    attackers = _Attackers(system, problem, withheld)
    rise, fall = np.zeros(problem.values.size), np.zeros(problem.values.size)
    failed: list[tuple[int, int]] = []
    for need, cell in enumerate(needs.cell.tolist()):
        asked = (float(needs.rise[need]), float(needs.fall[need]), float(needs.width[need]))
        up, down = attackers.ends(-1, cell, asked)
        rise[cell] = max(rise[cell], attackers.moved(up, cell))
        fall[cell] = max(fall[cell], attackers.moved(down, cell))
        if attackers.missed(up, down, cell, asked):
            failed.append((cell, -1))
            continue
        left = attackers.contradicted(up, down, cell, asked)
        while left:
            who = min(left)
            left.remove(who)
            theirs = needs.against(need, problem.insiders, who)
            if not any(theirs):
                continue
            up, down = attackers.ends(who, cell, theirs)
            if attackers.missed(up, down, cell, theirs):
                failed.append((cell, who))
            elif not attackers.missed(up, down, cell, asked):
                # What goes far enough for anybody clears others as well.
                left &= attackers.contradicted(up, down, cell, asked)
    return Proof(rise, fall, tuple(dict.fromkeys(failed)))


def proved(system: TableSystem, problem: Problem, pattern: Pattern) -> Proof:
    """Return what is proved of a pattern, by its certificates or, where it has none, anew."""
    if pattern.certificates.shape[0]:
        return prove(system, problem, pattern)
    return examined(system, problem, pattern.withheld)


class _Attackers:
    """The programme of all attackers over changes of the variables, in one view after another."""

    def __init__(self, system: TableSystem, problem: Problem, withheld: Flags) -> None:
        self.system, self.problem, self.withheld = system, problem, withheld
        self.true = np.zeros(system.variables)
        self.true[system.variable] = problem.values
        asked = max(part.max(initial=0.0) for part in (problem.rise, problem.fall, problem.width))
        # Nothing needs to rise without end for a primary cell to move as far as is asked.
        self.most = 4 * (float(abs(problem.values).sum()) + float(asked) + 1)
        self.witness = Witness(system)
        self.who: int | None = None

    def ends(
        self, who: int, cell: int, asked: tuple[float, float, float]
    ) -> tuple[Floats | None, Floats | None]:
        """Return changes of a cell as far up and down as is asked, or as it goes."""
        if who != self.who:
            low, high = known_to(self.system, self.problem, self.withheld, who)
            self.witness.bound(low - self.true, np.minimum(high - self.true, self.most))
            self.who = who
        rise, fall, width = asked
        own, whole = int(self.system.variable[cell]), self.problem.whole
        up, down = max(rise, width), max(fall, width)
        return (
            self.witness.change(own, up, whole) if up > 0 else None,
            self.witness.change(own, -down, whole) if down > 0 else None,
        )

    def moved(self, change: Floats | None, cell: int) -> float:
        """Return how far a change moves a cell."""
        if change is None:
            return 0.0
        return abs(float(change[self.system.variable[cell]]))

    def missed(
        self,
        up: Floats | None,
        down: Floats | None,
        cell: int,
        asked: tuple[float, float, float],
    ) -> bool:
        """Return whether the ends are nearer than asked."""
        rise, fall = self.moved(up, cell), self.moved(down, cell)
        off = OFF + FLOATS * abs(self.problem.values[cell])
        # The ends of programmes are a little off, but nothing is not half of what was asked.
        reached = zip((rise, fall, rise + fall), asked, strict=True)
        return any(one < all_ - min(off, all_ / 2) for one, all_ in reached)

    def contradicted(
        self,
        up: Floats | None,
        down: Floats | None,
        cell: int,
        asked: tuple[float, float, float],
    ) -> set[int]:
        """Return the contributors who know that the tables at the ends are not the true one."""
        rise, fall, width = asked
        out: set[int] = set()
        for change, amount in ((up, rise), (down, fall)):
            if change is not None and amount > 0:
                out |= self._beyond(change, cell, amount)
        if width > 0:
            # Either end alone may be wide enough; otherwise it takes both.
            alone = [c for c in (up, down) if c is not None and self.moved(c, cell) >= width]
            if alone:
                out |= set.intersection(*(self._beyond(c, cell, width) for c in alone))
            else:
                for change in (up, down):
                    out |= self._beyond(change, cell, np.inf) if change is not None else set()
        return out

    def _beyond(self, change: Floats, cell: int, amount: float) -> set[int]:
        """Return in whose view a change, as much of it as is asked, goes too far."""
        known, own = self.problem.insiders, int(self.system.variable[cell])
        reached = abs(float(change[own]))
        share = min(1.0, amount / reached) if reached > 0 else 1.0
        if self.problem.whole and reached > 0:
            unit = int(np.gcd.reduce(np.abs(change).astype(np.int64)))
            share = min(1.0, np.ceil(share * unit - WHOLE) / unit)
        moved = share * change[self.system.variable[known.cell]]
        size = np.where(known.room < 0, np.abs(moved), -moved)
        return set(known.who[size > np.maximum(known.room, 0.0) + OFF].tolist())
