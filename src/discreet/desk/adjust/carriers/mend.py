"""Cells that the search left short, each brought to its need by a carrier or two of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from discreet.desk.adjust.carriers.find import Carriers, Search
from discreet.desk.adjust.carriers.members import members_of, short_of
from discreet.solve.layout import Laid
from discreet.types import Flags, Floats, Integers

# Combinations that go on after each dimension.
WIDTH = 100
# How many times what is missing is tried: what goes far enough beyond it may change sides.
TIMES = (1, 2, 4, 8)


def mended(tables: Sequence[Laid], change: Floats, room: Floats, need: Floats) -> Floats:
    """Return the changes with as many of the short cells as can be at their need.

    Notes
    -----
    A carrier is looked for whose cells, in every table, stay within their room and keep what they
    need when what is missing is added to all of them, or taken off: no other cell has to move, and
    whole changes stay whole. Where there is none, two are looked for that differ in one code, and
    what is added to one is taken off the other: they leave all tables without that dimension alone.
    """
    mend = _Mend(tables, change, room, need)
    for cell in np.flatnonzero(short_of(change, need) & mend.search.known).tolist():
        # An earlier carrier may have gone through this cell too.
        if short_of(mend.change[cell], need[cell]):
            mend.move(cell)
    return mend.change


class _Mend:
    """The changes so far, and the search for carriers that leave nothing else short."""

    def __init__(self, tables: Sequence[Laid], change: Floats, room: Floats, need: Floats) -> None:
        self.tables, self.room, self.need = tables, room, need
        self.change = change
        self.search = Search(tables, len(need))

    def move(self, cell: int) -> None:
        """Bring a cell to its need if some carriers do; otherwise leave all as it is."""
        for sense in sorted((1.0, -1.0), key=lambda sign: -sign * self.change[cell]):
            for times in TIMES:
                amount = sense * times * (self.need[cell] - sense * self.change[cell])
                for codes, amounts in self._ways(cell, amount):
                    if self._taken(codes, amounts):
                        return

    def _ways(self, cell: int, amount: float) -> Iterator[tuple[Integers, Floats]]:
        """Yield carriers through a cell, and what to add to each: one alone, then two."""
        kept = self._keeps(amount)
        codes = self._through(cell, amount, kept)
        if codes is not None:
            yield codes[None, :], np.array([amount])
        back = self._keeps(-amount)
        for d in np.flatnonzero(self.search.given[cell] >= 0).tolist():
            own = int(self.search.given[cell, d])
            for other in self.search.leaves[d].tolist():
                if other < 0 or other == own:
                    continue
                codes = self._through(cell, amount, self._both(kept, back, d, own, other))
                if codes is not None:
                    second = codes.copy()
                    second[d] = other
                    yield np.stack([codes, second]), np.array([amount, -amount])

    def _keeps(self, amount: float) -> Flags:
        """Return which cells stay within their room and at their need with so much added."""
        after = self.change + amount
        return ~short_of(after, self.need) & (np.abs(after) <= self.room)

    def _both(self, kept: Flags, back: Flags, d: int, own: int, other: int) -> Flags:
        """Return the cells of a code that can be raised while those of another are lowered.

        In tables without the dimension nothing changes.
        """
        out = np.ones(len(kept), bool)
        for table in self.tables:
            if d in table.dimensions:
                axis = table.dimensions.index(d)
                mine, theirs = (np.take(table.cells, [code], axis) for code in (own, other))
                there = mine >= 0
                mine, theirs = mine[there], theirs[there]
                out[mine] = kept[mine] & back[theirs] & (theirs >= 0)
        return out

    def _through(self, cell: int, amount: float, kept: Flags) -> Integers | None:
        room = np.where(kept, np.maximum(self.room, abs(amount)), 0.0)
        return self.search.through(cell, abs(amount), room, WIDTH)

    def _taken(self, codes: Integers, amounts: Floats) -> bool:
        """Add the amounts to carriers unless a cell, sums too, has no room or is left short."""
        size = np.abs(amounts)
        members = members_of(self.tables, Carriers(codes, size, size), len(self.need))
        after = self.change + members @ amounts
        short = short_of(after, self.need) & ~short_of(self.change, self.need)
        if (short | ((np.abs(after) > self.room) & (after != self.change))).any():
            return False
        self.change = np.asarray(after)
        return True
