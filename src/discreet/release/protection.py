"""Step 3: true counts in, released figures out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.policy import Protection
from discreet.population.keys import Secret
from discreet.protect import Chance, KeyMix
from discreet.table import CountTable
from discreet.types import Flags


def protect(
    table: CountTable,
    protection: Protection,
    secret: Secret,
    question: str,
    structural: Flags | None = None,
) -> NDArray[np.int64]:
    """Return the released figures; cells that `structural` marks stay zero whatever the policy.

    `question` is the canonical text that seeds a table-wise method; a cellwise one is keyed by
    the cell keys, so that a cell has the same figure in every table that shows it.
    """
    counts = np.asarray(table.counts, np.int64)
    method = protection.build
    if method is None:
        return counts
    keys = np.asarray(table.keys, np.int64)
    modulus = table.modulus if protection.plain_keys else None
    chance = Chance.keyed(
        secret.value, question.encode(), keys, modulus=modulus, number=method.keys
    )
    figures = np.asarray(method.apply(counts, chance), np.int64)
    return _zeros(figures, counts, protection, secret, question, structural)


def _zeros(
    figures: NDArray[np.int64],
    counts: NDArray[np.int64],
    protection: Protection,
    secret: Secret,
    question: str,
    structural: Flags | None,
) -> NDArray[np.int64]:
    """Return the figures with some of the zeros released as something else.

    Empty cells have no people to take their chance from: it is that of the cell's place in the
    table of its class.
    """
    chances = protection.effect(max(counts.ndim, 1)).transition
    if not protection.zeros or chances is None:
        return figures
    empty = counts == 0 if structural is None else (counts == 0) & ~structural
    places = np.flatnonzero(empty).astype(np.uint64)
    drawn = KeyMix(secret.value, f"zeros\0{question}").uniforms(places)
    figures[empty] = chances.draw(np.zeros(len(places), np.int64), drawn)
    return figures
