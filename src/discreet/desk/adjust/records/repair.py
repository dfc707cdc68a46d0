"""Cells that a search left short, brought to their protection by the records around them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from discreet.desk.adjust.records.rows import CellRows
from discreet.solve.linear import LinearProgram
from discreet.types import Flags, Floats, Integers

# Neighbourhoods that are tried in turn: rounds of neighbours, records in all, nodes of a programme.
TRIES = ((0, 60, 300), (1, 60, 300), (2, 60, 300), (2, 150, 2_000))
# Neighbours are in sensitive rows of at most so many records.
NEAR_SIZE = 6
# Programmes in all.
MOST_REPAIRS = 1_000
# A repaired cell is this share beyond its need: programmes are exact to 1e-7.
SAFE = 1e-6


@dataclass(eq=False)
class Repair:
    """Moves a few records at a time, by an integer programme over the sides of their cells.

    `starts` and `row_of` list the rows of each record; rows need `need` on either side, records of
    themselves `least`, and no more than `most`. Fixed rows keep their sum. With `whole` all
    of these are whole numbers, and so are the adjustments.
    """

    rows: CellRows
    starts: NDArray[np.int64]
    row_of: NDArray[np.int32]
    need: Floats
    least: Floats
    most: Floats
    fixed: Flags
    whole: bool = False

    def run(self, a: Floats, short: Callable[[Floats], Integers]) -> Floats:
        """Return the adjustments with as few cells short as can be; `short` gives their entries."""
        tried: set[int] = set()
        for _ in range(MOST_REPAIRS):
            left = [entry for entry in short(a).tolist() if entry not in tried]
            if not left:
                break
            better = self._mended(a, left[0])
            if better is None:
                tried.add(left[0])
            else:
                a = better
        return a

    def _mended(self, a: Floats, entry: int) -> Floats | None:
        """Return adjustments in which this row or record, and all around it, have their need."""
        for rounds, most, nodes in TRIES:
            found = self._solved(a, self._around(entry, rounds, most), entry, nodes)
            if found is not None:
                return found
        return None

    def _members(self, row: int) -> NDArray[np.int32]:
        return self.rows.members[self.rows.starts[row] : self.rows.starts[row + 1]]

    def _rows(self, record: int) -> NDArray[np.int32]:
        return self.row_of[self.starts[record] : self.starts[record + 1]]

    def _around(self, entry: int, rounds: int, most: int) -> Integers:
        """Return the records of an entry and, round by round, those in small cells with them."""
        size = self.rows.size
        inside = [entry - size] if entry >= size else self._members(entry).tolist()
        seen = dict.fromkeys(inside)
        for _ in range(rounds):
            for record in list(seen):
                for row in self._rows(record).tolist():
                    members = self._members(row)
                    if self.need[row] > 0 and len(members) <= NEAR_SIZE:
                        seen |= dict.fromkeys(members.tolist())
                    if len(seen) >= most:
                        return np.array(list(seen), np.int64)
        return np.array(list(seen), np.int64)

    def _solved(self, a: Floats, chosen: Integers, entry: int, nodes: int) -> Floats | None:
        """Return the least changes of these records that leave nothing around them short.

        What was short before and is not the entry may stay as it is, but not get worse.
        """
        touched = np.unique(np.concatenate([self._rows(record) for record in chosen.tolist()]))
        touched = touched[(self.need[touched] > 0) | self.fixed[touched]]
        place = {record: k for k, record in enumerate(chosen.tolist())}
        n, held = len(chosen), np.flatnonzero(self.least[chosen] > 0)
        moved, base = [], np.zeros(len(touched))
        for r, row in enumerate(touched.tolist()):
            for record in self._members(row).tolist():
                if record in place:
                    moved.append((r, place[record]))
                else:
                    base[r] += a[record]
        pairs = np.array(moved, np.int64).reshape(-1, 2)
        sums = sparse.csr_matrix((np.ones(len(pairs)), pairs.T), (len(touched), n))
        now = base + sums @ a[chosen]
        still, sides = self.fixed[touched], np.flatnonzero(~self.fixed[touched])
        safe = 1.0 if self.whole else 1 + SAFE
        need = self.need[touched] * safe
        need = np.where((np.abs(now) < need) & (touched != entry), np.abs(now), need)
        own, far = self.least[chosen] * safe, self.most[chosen]
        own = np.minimum(own, far)
        # Columns: adjustments, what they differ from now, sides of rows, sides of records.
        columns = 2 * n + len(sides) + len(held)
        reach = np.abs(base) + sums @ far + need
        ones = sparse.identity(n, format="csr")
        blocks, low, high = [], [], []

        def hold(parts: list[tuple[int, object]], least: Floats, most: Floats) -> None:
            row = sparse.lil_matrix((len(least), columns))
            for start, part in parts:
                row[:, start : start + part.shape[1]] = part  # type: ignore[attr-defined]
            blocks.append(row.tocsr())
            low.append(least)
            high.append(most)

        ends = np.full(n, np.inf)
        hold([(0, ones), (n, -ones)], -ends, a[chosen])
        hold([(0, ones), (n, ones)], a[chosen], ends)
        fast = np.flatnonzero(still)
        hold([(0, sums[fast])], -base[fast], -base[fast])
        for part, centre, ask, room, at in (
            (sums[sides], base[sides], need[sides], reach[sides], 2 * n),
            (ones[held], np.zeros(len(held)), own[held], far[held] + own[held], 2 * n + len(sides)),
        ):
            # side 1: at least what is asked above; side 0: below.
            ends = np.full(len(ask), np.inf)
            hold([(0, part), (at, sparse.diags(-(ask + room)))], -room - centre, ends)
            hold([(0, part), (at, sparse.diags(-(ask + room)))], -ends, -ask - centre)
        weight = 1 / np.maximum(self.rows.values[chosen], 1e-9)
        programme = LinearProgram(
            sparse.vstack(blocks),
            np.concatenate(low),
            np.concatenate(high),
            np.concatenate([-far, np.zeros(columns - n)]),
            np.concatenate([far, np.full(n, np.inf), np.ones(columns - 2 * n)]),
            np.concatenate([np.zeros(n), weight, np.zeros(columns - 2 * n)]),
            (np.arange(columns) >= 2 * n) | ((np.arange(columns) < n) & self.whole),
            nodes=nodes,
            relative=0.05,
        )
        values = programme.run().values
        if not len(values):
            return None
        better = a.copy()
        better[chosen] = np.rint(values[:n]) if self.whole else values[:n]
        return better
