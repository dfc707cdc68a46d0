"""A part of a canonical table, as protocols ask for it whose clients fetch a table in batches.

The table of the class is judged, whole, and every batch is a slice of it. So a batch is answered
wherever the whole is: one whose cells are all withheld is a slice of them and no refusal, and
categories may be picked of a variable by which tables cannot be limited.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from discreet.errors import QueryRefused
from discreet.ledger import State
from discreet.population.schema import Level
from discreet.release.result import Release
from discreet.rules import Code
from discreet.service import Asked, Service
from discreet.service.opened import Opened
from discreet.service.service import Known
from discreet.table import ProtectedTable

Picked = Mapping[str, tuple[Level, tuple[str, ...]]]
"""The level that is shown of each variable, and the codes of it that are wanted."""


@dataclass(frozen=True, eq=False)
class Part:
    """Released figures with what is said of them; `release` is None where all are withheld."""

    asked: Asked
    table: ProtectedTable
    release: Release | None
    root: str = ""
    """The path under which readers find the server."""

    def signed(self, format: str) -> str:
        """Return the address of the signed file of the whole table."""
        return self.asked.link(f"{self.root}/api/v1/datasets/{self.asked.opened.id}/table", format)

    @property
    def title(self) -> str:
        """What the table shows, in words."""
        return self.asked.opened.schema.title if self.release is None else self.release.title

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader must know."""
        if self.release is None:
            return (Code.NOT_AVAILABLE.sentence,)
        return tuple(self.release.document["notes"])


def ask_part(service: Service, dataset: str, picked: Picked, who: Known | None = None) -> Asked:
    """Return the question for a part of a table, asked in the tier of whoever asks."""
    opened = service.opened(dataset, who)
    by = [level.id for level, _ in picked.values()]
    where = {
        level.id: codes
        for name, (level, codes) in picked.items()
        if len(codes) < len(level) and _filtered(opened, name)
    }
    return service.ask(dataset, by, where or None, who=who)


def _filtered(opened: Opened, variable: str) -> bool:
    return variable not in opened.tier.question.filters_refused


async def part_of(
    service: Service, asked: Asked, picked: Picked, claim: bool, root: str = ""
) -> Part:
    """Return the figures of a part, or raise `QueryRefused` where the whole is refused."""
    try:
        release = await service.release(asked, claim)
    except QueryRefused as refused:
        told = refused.code == Code.NOT_AVAILABLE and bool(asked.question.filters)
        if not told or service.outlook(asked).state not in (State.RELEASED, State.SUMS):
            raise
        shape = tuple(len(axis) for axis in asked.question.axes)
        none, all_of = np.zeros(shape, np.int64), np.ones(shape, bool)
        table = ProtectedTable(asked.question.dimensions, none, all_of)
        return Part(asked, cut(table, picked), None, root)
    return Part(asked, cut(release.table, picked), release, root)


def cut(table: ProtectedTable, picked: Picked) -> ProtectedTable:
    """Return the table with the codes that are wanted along each dimension, and no others."""
    wanted: list[Sequence[int]] = []
    for d in table.dimensions:
        codes = set(picked[d.variable][1])
        wanted.append([i for i, code in enumerate(d.codes) if code in codes])
    if tuple(map(len, wanted)) == table.shape:
        return table
    at = np.ix_(*wanted)
    dimensions = tuple(
        replace(d, codes=tuple(d.codes[i] for i in w), labels=tuple(d.labels[i] for i in w))
        for d, w in zip(table.dimensions, wanted, strict=True)
    )
    told = {name: array[at] for name, array in table.told.items()}
    return ProtectedTable(dimensions, table.values[at], table.withheld[at], **told)
