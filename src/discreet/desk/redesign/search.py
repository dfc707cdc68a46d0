"""The search: an answer from above and below, then every cheaper design in order of its cost."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from heapq import heappop, heappush, nsmallest

from discreet.desk.redesign.conflicts import Conflict, conflict, keeping, stays
from discreet.desk.redesign.lattice import Cut, Lattice, Spent, Stream
from discreet.desk.redesign.model import Finding
from discreet.desk.redesign.spaces import Key

# Designs followed at once when merging step by step; more than a few hardly helped.
_WIDTH = 4
# Designs looked at without a test, for each that may be tested.
_LOOKS = 20

Rank = tuple[int, int]


@dataclass
class Search:
    """What was found: passing designs, how far all were tried, and merges that nothing avoids."""

    lattice: Lattice
    most: int
    wanted: int
    best: Cut | None = None
    found: list[Cut] = field(default_factory=list)
    reach: int | None = 0
    impossible: bool = False
    stopped: bool = False
    forced: list[tuple[int, Key, Finding]] = field(default_factory=list)
    _settled: bool = False
    _floor: list[Key] = field(default_factory=list)
    _conflicts: list[Conflict] = field(default_factory=list)

    def run(self) -> None:
        """Search until the best and the wanted number of others are proved, or tests run out."""
        lattice = self.lattice
        self._floor = list(lattice.finest)
        try:
            first = lattice.test(lattice.finest, free=True)
            if first.passed:
                self.best, self.found = lattice.finest, [lattice.finest]
                return
            self._allow(self.most // 2, "merging")
            with suppress(Spent):
                if first.stays and not self._bounds():
                    self.impossible = True
                    return
                self._descend()
                self._climb()
                self._exchange()
            self._allow(self.most // 2, "proving")
            with suppress(Spent):
                if not (first.stays and self._resolve()):
                    self._prove()
        except KeyboardInterrupt:
            self.stopped = True

    @property
    def proved(self) -> bool:
        """Whether nothing cheaper than the best can pass."""
        if self.best is None or self.reach is None or self._settled:
            return self.best is not None
        return bool(self.found) or self.lattice.cost(self.best) <= self.reach

    def _allow(self, tests: int, stage: str) -> None:
        # What the first half leaves, the second half may use.
        self.lattice.left += tests
        self.lattice.most += tests
        self.lattice.stage = stage

    def _rank(self, cut: Cut) -> Rank:
        return self.lattice.cost(cut), -self.lattice.cells(cut)

    def _offer(self, cut: Cut) -> None:
        if self.best is None or (self._rank(cut), cut) < (self._rank(self.best), self.best):
            self.best = cut

    def _bounds(self) -> bool:
        """Find what must be merged whatever else is; return whether anything can pass at all.

        A rule whose failure stays with every finer table fails for all designs that keep a
        distinction if it fails for the coarsest one that does.
        """
        lattice = self.lattice
        if stays(lattice.test(lattice.end)):
            return False
        for d, axis in enumerate(lattice.axes):
            if axis.fixed:
                continue
            forced: list[tuple[Key, Finding]] = []
            for number in sorted(axis.space.kept(axis.space.finest)):
                verdict = lattice.test(keeping(lattice, [(d, number)]))
                if stays(verdict):
                    without = axis.space.without(number)
                    forced.append((without, verdict))
                    self._floor[d] = axis.space.join(self._floor[d], without)
            self.forced += [
                (d, key, verdict)
                for key, verdict in forced
                if not any(key != other and axis.space.refines(key, other) for other, _ in forced)
            ]
        # What must be merged may be all of a dimension that the user keeps.
        floors = zip(lattice.axes, self._floor, strict=True)
        return all(axis.allowed(floor) for axis, floor in floors)

    def _descend(self) -> None:
        """Start from the coarsest design allowed and undo what need not be merged."""
        lattice = self.lattice
        start = []
        for d, axis in enumerate(lattice.axes):
            key = axis.end
            if not axis.allowed(key):
                below = [finer for finer in axis.space.finer(key) if axis.allowed(finer)]
                if not below:
                    return
                key = min(below, key=lambda finer: (lattice.axis_cost(d, finer), finer))
            start.append(key)
        if lattice.test(tuple(start)).passed:
            self._offer(self._refined(tuple(start)))

    def _refined(self, cut: Cut, barred: tuple[int, Key] | None = None) -> Cut:
        """Return a finer design that passes and of which no single merge can be undone.

        `barred` is a dimension and a cut of it that must not be reached or refined.
        """
        lattice = self.lattice
        dead: list[list[Key]] = [[] for _ in lattice.axes]
        while True:
            self._offer(cut)
            options = []
            for d, finer in lattice.finer(cut):
                space = lattice.axes[d].space
                if not space.refines(self._floor[d], finer[d]):
                    continue
                if barred is not None and d == barred[0] and space.refines(finer[d], barred[1]):
                    continue
                if any(space.refines(finer[d], key) for key in dead[d]):
                    continue
                options.append((self._rank(finer), finer, d))
            for _, finer, d in sorted(options):
                verdict = lattice.test(finer)
                if verdict.passed:
                    cut = finer
                    break
                if verdict.stays:
                    dead[d].append(finer[d])
            else:
                return cut

    def _climb(self) -> None:
        """Merge step by step, following the designs that come closest to passing for their cost."""
        lattice = self.lattice
        beam = [tuple(self._floor)]
        start = lattice.test(beam[0])
        if start.passed:
            self._offer(self._refined(beam[0]))
            return
        if start.score is None or not start.score > 0:
            return
        seen = set(beam)
        while beam:
            ranked = []
            for cut in beam:
                for _, coarser in lattice.coarser(cut):
                    if coarser in seen:
                        continue
                    seen.add(coarser)
                    if self.best is not None and lattice.cost(coarser) >= lattice.cost(self.best):
                        continue
                    verdict = lattice.test(coarser)
                    if verdict.passed:
                        self._offer(self._refined(coarser))
                        continue
                    score = verdict.score or 0.0
                    gained = 1 - score / start.score
                    # What it would cost to pass if the rest went as the way so far.
                    guess = lattice.cost(coarser) / gained if gained > 0 else float("inf")
                    ranked.append((guess, score, self._rank(coarser), coarser))
            beam = [cut for *_, cut in nsmallest(_WIDTH, ranked)]

    def _exchange(self) -> None:
        """Merge one thing more and undo others, as long as that makes the best cheaper."""
        lattice = self.lattice
        better = True
        while better and self.best is not None:
            better = False
            cut, rank = self.best, self._rank(self.best)
            for _, d, coarser in sorted(
                (self._rank(coarser), d, coarser) for d, coarser in lattice.coarser(cut)
            ):
                if lattice.test(coarser).passed:
                    self._refined(coarser, (d, cut[d]))
                    if self._rank(self.best) < rank:
                        better = True
                        break

    def _resolve(self) -> bool:
        """Search by conflicts, cheapest first; return whether that settled it.

        Every design that passes must give up one distinction of each conflict. So a design that
        fails is followed by those that give up one each of a smallest conflict in it. A failure
        that does not stay has no conflict, and ends this search unsettled.
        """
        lattice = self.lattice
        start = tuple(self._floor)
        heap = [(*self._rank(start), start)]
        seen = {start}
        looks = _LOOKS * self.most
        while heap:
            self.reach, _, cut = heappop(heap)
            looks -= 1 + len(self._conflicts) // 8
            if looks < 0:
                raise Spent
            if any(lattice.refines(known, cut) for known in self.found):
                continue
            known = min(self._within(cut), key=lambda c: len(c.parts), default=None)
            if known is None:
                verdict = lattice.test(cut)
                if verdict.passed:
                    if self._accept(cut):
                        return True
                    continue
                if not verdict.stays:
                    return False
                known = conflict(lattice, cut)
                self._conflicts.append(known)
            for d, number in known.parts:
                space = lattice.axes[d].space
                key = space.join(cut[d], space.without(number))
                child = (*cut[:d], key, *cut[d + 1 :])
                if lattice.axes[d].allowed(key) and child not in seen:
                    seen.add(child)
                    heappush(heap, (*self._rank(child), child))
        self.reach = None
        return True

    def _within(self, cut: Cut) -> Iterator[Conflict]:
        return (known for known in self._conflicts if self.lattice.refines(cut, known.coarsest))

    def _accept(self, cut: Cut) -> bool:
        """Note a design that passes; return whether there are enough."""
        if not self.found:
            self.best = cut
        self.found.append(cut)
        return len(self.found) > self.wanted

    def _prove(self) -> None:
        """Go through all designs from the floor upwards, cheapest first."""
        lattice = self.lattice
        # The search by conflicts may have settled the best, and not the others.
        self._settled = bool(self.found)
        self.found.clear()
        streams = [Stream(lattice, d, self._floor[d]) for d in range(len(lattice.axes))]
        looks = _LOOKS * self.most
        heap: list[tuple[int, int, tuple[int, ...], int]] = []
        self._push(heap, streams, (0,) * len(streams), 0)
        while heap:
            self.reach, _, places, last = heappop(heap)
            looks -= 1 + len(self._conflicts) // 8
            if looks < 0:
                raise Spent
            cut = tuple(
                entry[2]
                for stream, i in zip(streams, places, strict=True)
                if (entry := stream.get(i)) is not None
            )
            # Merely coarser than a design that passes: no alternative, and no cheaper one either.
            alternative = not any(lattice.refines(known, cut) for known in self.found)
            if (
                alternative
                and not any(True for _ in self._within(cut))
                and lattice.test(cut).passed
                and self._accept(cut)
            ):
                return
            for d in range(last, len(streams)):
                self._push(heap, streams, (*places[:d], places[d] + 1, *places[d + 1 :]), d)
        self.reach = None

    def _push(
        self,
        heap: list[tuple[int, int, tuple[int, ...], int]],
        streams: list[Stream],
        places: tuple[int, ...],
        last: int,
    ) -> None:
        entries = [stream.get(i) for stream, i in zip(streams, places, strict=True)]
        cost, cells = 0, 1
        for entry in entries:
            if entry is None:
                return
            cost += entry[0]
            cells *= -entry[1]
        heappush(heap, (cost, -cells, places, last))
