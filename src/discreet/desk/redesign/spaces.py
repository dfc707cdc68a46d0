"""The ways to coarsen one dimension: cuts of a tree of codes, its whole levels, runs of neighbours.

A cut is known by its key, a tuple of whole numbers that only its space understands. Cuts are
partially ordered: a cut refines another if it keeps every distinction that the other keeps.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.risk.terms import x_log_x
from discreet.table.dimension import TOTAL
from discreet.table.hierarchy import Hierarchy, is_total_code, tree

Key = tuple[int, ...]
Groups = Mapping[str, Sequence[str]]
"""Group → the codes, or groups, it is made of."""

_BAND = re.compile(r"(\d+)(?:\s*[-–]\s*(\d+)|\s*(\+))?")


class Space(ABC):
    """All cuts of one dimension; `codes` are its categories as they came, `people` their sums."""

    def __init__(self, codes: Sequence[str], people: NDArray[np.float64]) -> None:
        self.codes = tuple(codes)
        shares = people / people.sum()
        self._shares = shares
        self._terms = x_log_x(shares)

    finest: Key
    total: Key

    @abstractmethod
    def coarser(self, key: Key) -> list[Key]:
        """Return the cuts one step coarser."""

    @abstractmethod
    def finer(self, key: Key) -> list[Key]:
        """Return the cuts one step finer."""

    @abstractmethod
    def refines(self, fine: Key, coarse: Key) -> bool:
        """Return whether the first keeps every distinction of the second."""

    @abstractmethod
    def blocks(self, key: Key) -> list[tuple[str, NDArray[np.int64]]]:
        """Return the merged categories: their code, and the places of what was merged."""

    @abstractmethod
    def kept(self, key: Key) -> frozenset[int]:
        """Return the distinctions that a cut keeps, each by a number."""

    @abstractmethod
    def keeping(self, kept: Iterable[int]) -> Key:
        """Return the coarsest cut that keeps all of these distinctions."""

    @abstractmethod
    def without(self, distinction: int) -> Key:
        """Return the finest cut that does not keep a distinction."""

    @abstractmethod
    def join(self, first: Key, second: Key) -> Key:
        """Return the finest cut that both refine."""

    def size(self, key: Key) -> int:
        """Return how many categories a cut leaves."""
        return len(self.codes) - sum(len(members) - 1 for _, members in self.blocks(key))

    def loss(self, key: Key) -> float:
        """Return how much of the entropy of the dimension's own distribution is lost, in nats."""
        return sum(self._block_loss(members) for _, members in self.blocks(key))

    def _block_loss(self, members: NDArray[np.int64]) -> float:
        lost = float(x_log_x(self._shares[members].sum()) - self._terms[members].sum())
        return max(lost, 0.0)  # rounding of the last digit must not make a merge a gain

    def labels(self, key: Key) -> NDArray[np.int64]:
        """Return the category of each code, numbered in order of appearance."""
        return self._numbered(key)[1]

    def names(self, key: Key) -> tuple[str, ...]:
        """Return the codes of the categories, in order of appearance."""
        first, _ = self._numbered(key)
        named = dict(enumerate(self.codes))
        for code, members in self.blocks(key):
            named[int(members.min())] = code
        return tuple(named[i] for i in first.tolist())

    def _numbered(self, key: Key) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the first code of each category, and the category of each code."""
        head = np.arange(len(self.codes))
        for _, members in self.blocks(key):
            head[members] = members.min()
        first, labels = np.unique(head, return_inverse=True)
        return first, labels.reshape(-1)


class Cuts(Space):
    """Cuts of a tree of codes: any branch may be merged by itself.

    The key names the branches that are merged, outermost only. Branches with one part are no
    branches: merging them would change nothing.
    """

    def __init__(
        self, codes: Sequence[str], groups: Groups, people: NDArray[np.float64], what: str
    ) -> None:
        super().__init__(codes, people)
        # A total that the file names is the one that every dimension has.
        groups = {group: part for group, part in groups.items() if not is_total_code(group)}
        listed, parents = tree([*codes, TOTAL], groups, what)
        place = {code: i for i, code in enumerate(listed)}
        inner = [code for code in codes if code in groups]
        if inner:
            raise ParameterError(
                f"'{inner[0]}' of {what} must not be a category and a group of categories at once."
            )
        if groups and not set(codes) & {member for part in groups.values() for member in part}:
            raise ParameterError(
                f"the hierarchy of {what} must have codes of the table, such as {codes[0]}. "
                f"It has {', '.join(next(iter(groups.values()))[:3])} …"
            )
        hierarchy = Hierarchy(parents)
        depths = [len(hierarchy.path(node)) - 1 for node in range(len(listed))]
        leaves: dict[int, list[int]] = {place[code]: [i] for i, code in enumerate(codes)}
        below: dict[int, list[int]] = {}
        for node in sorted(range(len(listed)), key=lambda i: (-depths[i], i)):
            if node in leaves and parents[node] >= 0:
                below.setdefault(parents[node], []).append(node)
                leaves.setdefault(parents[node], []).extend(leaves[node])
        self._leaves = {node: np.array(sorted(inside)) for node, inside in leaves.items()}
        self._listed = listed
        self._parents = parents
        self._depths = depths
        self._own = [place[code] for code in codes]
        # Nodes by what they hold: of a chain that holds the same codes, the lowest counts.
        self._real: dict[int, int] = {}
        for node in sorted(leaves, key=lambda i: (-depths[i], i)):
            parts = below.get(node, [])
            self._real[node] = self._real[parts[0]] if len(parts) == 1 else node
        self._parts = {
            node: [self._real[part] for part in parts]
            for node, parts in below.items()
            if len(parts) > 1
        }
        self._above = {part: node for node, parts in self._parts.items() for part in parts}
        self._losses = {node: self._block_loss(self._leaves[node]) for node in self._parts}
        root = self._real[place[TOTAL]]
        self.finest = ()
        self.total = (root,) if root in self._parts else ()
        self._split: dict[Key, frozenset[int]] = {}

    def coarser(self, key: Key) -> list[Key]:
        """Return the cuts with one more branch merged, whose parts are single or merged."""
        merged, hidden = set(key), self._hidden(key)
        found = []
        for node, parts in self._parts.items():
            if node in hidden or node in merged:
                continue
            if all(part in merged or part not in self._parts for part in parts):
                found.append(tuple(sorted((merged - set(parts)) | {node})))
        return found

    def finer(self, key: Key) -> list[Key]:
        """Return the cuts with one merged branch split into its parts."""
        merged = set(key)
        return [
            tuple(
                sorted((merged - {node}) | {part for part in self._parts[node] if self._is(part)})
            )
            for node in key
        ]

    def refines(self, fine: Key, coarse: Key) -> bool:
        """Return whether no branch that the second splits is merged by the first."""
        return self.kept(coarse).isdisjoint(fine)

    def blocks(self, key: Key) -> list[tuple[str, NDArray[np.int64]]]:
        """Return the merged branches."""
        return [(self._listed[node], self._leaves[node]) for node in key]

    def size(self, key: Key) -> int:
        """Return how many categories a cut leaves."""
        return len(self.codes) - sum(len(self._leaves[node]) - 1 for node in key)

    def loss(self, key: Key) -> float:
        """Return the entropy that is lost, in nats."""
        return sum(self._losses[node] for node in key)

    def kept(self, key: Key) -> frozenset[int]:
        """Return the branches that a cut splits."""
        known = self._split.get(key)
        if known is None:
            known = frozenset(self._parts.keys() - set(key) - self._hidden(key))
            self._split[key] = known
        return known

    def keeping(self, kept: Iterable[int]) -> Key:
        """Return the cut that splits these branches and what they are part of, and no other."""
        path = {above for node in kept for above in self._upwards(node)}
        if not path:
            return self.total
        beside = {part for node in path for part in self._parts[node] if self._is(part)}
        return tuple(sorted(beside - path))

    def without(self, distinction: int) -> Key:
        """Return the cut that merges one branch."""
        return (distinction,)

    def join(self, first: Key, second: Key) -> Key:
        """Return the cut with the outermost branches of both."""
        both = set(first) | set(second)
        return tuple(sorted(node for node in both if both.isdisjoint(self._upwards(node)[1:])))

    def edges(self) -> list[tuple[str, str]]:
        """Return every branch with each of its parts, as codes: the tree that is cut."""
        return [
            (self._listed[node], self._listed[part])
            for node, parts in self._parts.items()
            for part in parts
        ]

    @cached_property
    def levels(self) -> list[Key]:
        """The cuts at one depth each, finest first; a code above the depth stays as it is."""
        found: list[Key] = [()]
        for depth in range(max(self._depths), -1, -1):
            nodes = set()
            for leaf in self._own:
                at = leaf
                while self._depths[at] > depth:
                    at = self._parents[at]
                nodes.add(self._real[at])
            key = tuple(sorted(node for node in nodes if self._is(node)))
            if key != found[-1]:
                found.append(key)
        return found

    def _is(self, node: int) -> bool:
        return node in self._parts

    def _upwards(self, node: int) -> list[int]:
        """Return the branch itself and all that it is part of."""
        found = [node]
        while found[-1] in self._above:
            found.append(self._above[found[-1]])
        return found

    def _hidden(self, key: Key) -> set[int]:
        """Return the branches within merged ones."""
        found: set[int] = set()
        left = list(key)
        while left:
            for part in self._parts[left.pop()]:
                if self._is(part):
                    found.add(part)
                    left.append(part)
        return found


class Levels(Space):
    """Whole levels of a tree: all codes of a level move up together. The key is the step."""

    def __init__(
        self, codes: Sequence[str], groups: Groups, people: NDArray[np.float64], what: str
    ) -> None:
        super().__init__(codes, people)
        self.cuts = Cuts(codes, groups, people, what)
        self._chain = self.cuts.levels
        self.finest = (0,)
        self.total = (len(self._chain) - 1,)

    def coarser(self, key: Key) -> list[Key]:
        """Return the level above."""
        return [(key[0] + 1,)] if key != self.total else []

    def finer(self, key: Key) -> list[Key]:
        """Return the level below."""
        return [(key[0] - 1,)] if key != self.finest else []

    def refines(self, fine: Key, coarse: Key) -> bool:
        """Return whether the first level is not above the second."""
        return fine <= coarse

    def blocks(self, key: Key) -> list[tuple[str, NDArray[np.int64]]]:
        """Return the merged branches of a level."""
        return self.cuts.blocks(self._chain[key[0]])

    def kept(self, key: Key) -> frozenset[int]:
        """Return the steps that were not taken, each by the level below it."""
        return frozenset(range(key[0], self.total[0]))

    def keeping(self, kept: Iterable[int]) -> Key:
        """Return the lowest of these levels."""
        return (min(kept, default=self.total[0]),)

    def without(self, distinction: int) -> Key:
        """Return the level above."""
        return (distinction + 1,)

    def join(self, first: Key, second: Key) -> Key:
        """Return the higher level."""
        return max(first, second)


class Neighbours(Space):
    """Runs of ordered categories. The key is the places i where i and i + 1 are one category."""

    def __init__(self, codes: Sequence[str], people: NDArray[np.float64]) -> None:
        super().__init__(codes, people)
        self.finest = ()
        self.total = tuple(range(len(codes) - 1))
        self._apart: dict[Key, frozenset[int]] = {}

    def coarser(self, key: Key) -> list[Key]:
        """Return the cuts with one more pair of neighbours together."""
        there = set(key)
        return [tuple(sorted((*key, i))) for i in self.total if i not in there]

    def finer(self, key: Key) -> list[Key]:
        """Return the cuts with one pair of neighbours apart."""
        return [tuple(i for i in key if i != without) for without in key]

    def refines(self, fine: Key, coarse: Key) -> bool:
        """Return whether what is apart in the second is so in the first."""
        return self.kept(coarse).isdisjoint(fine)

    def blocks(self, key: Key) -> list[tuple[str, NDArray[np.int64]]]:
        """Return the runs of more than one category."""
        found: list[tuple[str, NDArray[np.int64]]] = []
        start = 0
        for at, place in enumerate(key):
            if at + 1 == len(key) or key[at + 1] != place + 1:
                members = np.arange(key[start], place + 2)
                whole = len(members) == len(self.codes)
                found.append((TOTAL if whole else self._run(key[start], place + 1), members))
                start = at + 1
        return found

    def size(self, key: Key) -> int:
        """Return how many categories a cut leaves."""
        return len(self.codes) - len(key)

    def kept(self, key: Key) -> frozenset[int]:
        """Return the places where neighbours are apart."""
        known = self._apart.get(key)
        if known is None:
            known = self._apart[key] = frozenset(self.total) - frozenset(key)
        return known

    def keeping(self, kept: Iterable[int]) -> Key:
        """Return the cut that is together everywhere else."""
        apart = set(kept)
        return tuple(i for i in self.total if i not in apart)

    def without(self, distinction: int) -> Key:
        """Return the cut with one pair of neighbours together."""
        return (distinction,)

    def join(self, first: Key, second: Key) -> Key:
        """Return the cut with together what is so in either."""
        return tuple(sorted({*first, *second}))

    def _run(self, first: int, last: int) -> str:
        """Return the code of a run: "15-24" of 15-19 and 20-24, "a..c" where codes are words."""
        plain = f"{self.codes[first]}..{self.codes[last]}"
        bands = [_BAND.fullmatch(self.codes[i]) for i in (first, last)]
        if bands[0] is None or bands[1] is None or bands[0][3]:
            return plain
        end = bands[1][2] or bands[1][1]
        name = f"{bands[0][1]}+" if bands[1][3] else f"{bands[0][1]}-{end}"
        return plain if name in self.codes else name
