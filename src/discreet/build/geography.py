"""The geography of a data set: what lies in what, and the order that makes areas stretches."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.build.categories import Areas, Categories
from discreet.build.encode import CodeEncoder, Findings
from discreet.build.source import Batch
from discreet.errors import ParameterError
from discreet.population.names import GEOGRAPHY
from discreet.population.schema import Level, Variable


class Nesting:
    """Learns from parents given in files, or from the data, what each area lies in."""

    def __init__(self, areas: tuple[Areas, ...], categories: tuple[Categories, ...]) -> None:
        self.areas = areas
        self.categories = categories
        self._encoders = [
            level.column and CodeEncoder(level.column, level.id, found.codes, np.uint32)
            for level, found in zip(areas, categories, strict=True)
        ]
        # The parent of each area as an index at the next level, −1 where it is not known yet.
        self.parents: list[NDArray[np.int64]] = []
        for i, level in enumerate(areas[:-1]):
            known = np.full(len(categories[i].codes), -1, np.int64)
            if level.parents is not None:
                place = {code: j for j, code in enumerate(categories[i + 1].codes)}
                for j, parent in enumerate(level.parents):
                    if parent not in place:
                        raise ParameterError(
                            f"area '{categories[i].codes[j]}' of '{level.id}' lies in '{parent}', "
                            f"which is not an area of '{areas[i + 1].id}'."
                        )
                    known[j] = place[parent]
            self.parents.append(known)

    def encode(self, batch: Batch, findings: Findings) -> NDArray[np.uint32]:
        """Return the smallest area of each row; areas must be nested as known so far."""
        first = self._encoders[0]
        assert first
        smallest = index = first.encode(batch, findings)
        for i, parents in enumerate(self.parents):
            encoder = self._encoders[i + 1]
            if not encoder:
                index = parents[index].astype(np.uint32)
                continue
            larger = encoder.encode(batch, findings)
            new = parents[index] < 0
            # Backwards, so that of several parents for one area in a batch the first row's stays.
            parents[index[new][::-1]] = larger[new][::-1]
            bad = parents[index] != larger
            if bad.any() and not findings:  # a row with an unknown area says nothing about nesting
                small, large = self.areas[i].id, self.areas[i + 1].id
                rule = f"not the '{large}' in which the '{small}' of the row lies elsewhere"
                findings.note(batch, encoder.column, rule, bad)
            index = larger
        return smallest

    def variable(self) -> tuple[Variable, NDArray[np.uint32]]:
        """Return the geography in the order of its largest areas, and the new place of each area.

        In that order every area of any level is one stretch of the smallest ones.
        """
        for i, parents in enumerate(self.parents):
            lost = np.flatnonzero(parents < 0)
            if len(lost):
                code = self.categories[i].codes[lost[0]]
                raise ParameterError(
                    f"what area '{code}' of '{self.areas[i].id}' lies in is not known: it has no "
                    "record. Give the areas a 'parent' column in their categories file."
                )
        rank = np.arange(len(self.categories[-1].codes))
        orders, ranks = [rank], [rank]
        for parents in reversed(self.parents):
            order = np.argsort(ranks[0][parents], kind="stable")
            rank = np.empty(len(order), np.int64)
            rank[order] = np.arange(len(order))
            orders.insert(0, order)
            ranks.insert(0, rank)
        levels = []
        of = np.arange(len(orders[0]), dtype=np.uint32)
        for i, (level, categories, order) in enumerate(
            zip(self.areas, self.categories, orders, strict=True)
        ):
            levels.append(
                Level(
                    level.id,
                    level.label,
                    tuple(categories.codes[j] for j in order),
                    tuple(categories.labels[j] for j in order),
                    of,
                )
            )
            if i < len(self.parents):
                upwards = ranks[i + 1][self.parents[i][order]]
                of = upwards[of].astype(np.uint32)
        return Variable(GEOGRAPHY, "Geography", tuple(levels)), ranks[0].astype(np.uint32)
