"""Draws businesses: each column has its own stream, so that more records leave the first as is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.synth.business.codes import (
    DIMENSIONS,
    INDUSTRY,
    PRODUCT,
    REGION,
    SIZES,
    BusinessDimension,
)
from discreet.types import Floats

Places = NDArray[np.int32]

COLUMNS = 14
# Shares of leaf codes fall like 1/rank^SKEW within each tree: a few codes hold most records.
SKEW = {"region": 0.8, "industry": 0.9, "product": 0.7}
# How often an industry makes the product that its division makes most.
TYPICAL = 0.55
# Turnover in thousands: lognormal, with a Pareto tail on the top TAIL of the records.
MEDIAN, SPREAD = 900.0, 1.5
TAIL, TAIL_INDEX = 0.03, 1.15
# Employees grow more slowly than turnover.
PER_EMPLOYEE, ELASTICITY, LABOUR_SPREAD = 140.0, 0.85, 0.5
# The chance that an establishment belongs to the holding of one drawn before.
SAME_HOLDING = 0.12
# Shares of the flat codes: rows are what they depend on.
FORM_BY_SIZE = ((0.45, 0.15, 0.38, 0.02), (0.72, 0.14, 0.1, 0.04), (0.85, 0.07, 0.02, 0.06),
                (0.88, 0.02, 0.0, 0.1), (0.83, 0.0, 0.0, 0.17))  # fmt: skip
OWNER_BY_SIZE = ((0.96, 0.02, 0.02), (0.92, 0.04, 0.04), (0.86, 0.08, 0.06),
                 (0.72, 0.18, 0.1), (0.5, 0.34, 0.16))  # fmt: skip
AGE = ((0.14, 0.31, 0.38, 0.17),)
EXPORT_BY_SIZE = ((0.86, 0.11, 0.03), (0.74, 0.2, 0.06), (0.62, 0.28, 0.1),
                  (0.45, 0.36, 0.19), (0.34, 0.4, 0.26))  # fmt: skip
MARKET = ((0.42, 0.49, 0.09),)


@dataclass(frozen=True, eq=False)
class Businesses:
    """Records: the place of each one's code in each dimension, its holding and its magnitudes."""

    codes: Places  # a row for each record, a column for each dimension
    holding: NDArray[np.int64]
    turnover: NDArray[np.int64]
    employees: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.holding)


def draw(records: int, seed: int = 1) -> Businesses:
    """Return so many businesses; fewer records with the same seed are the first of these."""
    seeds = np.random.SeedSequence(seed).spawn(COLUMNS)
    streams = iter([np.random.default_rng(one) for one in seeds])
    region = _from_tree(REGION, _uniform(streams, records))
    industry = _from_tree(INDUSTRY, _uniform(streams, records))
    product = _products(industry, _uniform(streams, records), _uniform(streams, records))
    normal = next(streams).standard_normal(records)
    tail = _uniform(streams, records)
    # The tail multiplies by a Pareto number of at least 1.
    heavy = np.where(tail < TAIL, (tail / TAIL + 1e-9) ** (-1 / TAIL_INDEX), 1.0)
    turnover = np.maximum(1, np.rint(MEDIAN * np.exp(SPREAD * normal) * heavy)).astype(np.int64)
    labour = np.exp(LABOUR_SPREAD * next(streams).standard_normal(records))
    employees = np.rint((turnover / PER_EMPLOYEE) ** ELASTICITY * labour).astype(np.int64)
    size = np.searchsorted(list(SIZES.values()), employees, side="right") - 1
    alike = np.zeros(records, np.int64)
    columns = [
        region,
        industry,
        product,
        size,
        _by_row(FORM_BY_SIZE, size, _uniform(streams, records)),
        _by_row(OWNER_BY_SIZE, size, _uniform(streams, records)),
        _by_row(AGE, alike, _uniform(streams, records)),
        _by_row(EXPORT_BY_SIZE, size, _uniform(streams, records)),
        _by_row(MARKET, alike, _uniform(streams, records)),
    ]
    codes = np.stack(columns, axis=1).astype(np.int32)
    assert codes.shape[1] == len(DIMENSIONS)
    holding = _holdings(_uniform(streams, records), _uniform(streams, records))
    return Businesses(codes, holding, turnover, employees)


def _uniform(streams: Iterator[np.random.Generator], records: int) -> Floats:
    return np.asarray(next(streams).random(records))


def _pick(shares: Floats, uniforms: Floats) -> NDArray[np.int64]:
    """Return a number drawn with given shares for each uniform number."""
    cuts = np.cumsum(shares / shares.sum())
    cuts[-1] = 1.0
    return np.searchsorted(cuts, uniforms, side="right")


def _shares(dimension: BusinessDimension) -> Floats:
    """Return the shares of the leaves: products of 1/rank^skew down the tree."""
    skew = SKEW[dimension.id]
    share = np.ones(len(dimension.codes))
    rank: dict[int, int] = {}
    for place, parent in enumerate(dimension.parents):
        rank[parent] = rank.get(parent, 0) + 1
        share[place] = (share[parent] if parent >= 0 else 1.0) / rank[parent] ** skew
    return share[list(dimension.leaves)]


def _from_tree(dimension: BusinessDimension, uniforms: Floats) -> NDArray[np.int64]:
    """Return the place of a leaf for each uniform number."""
    return np.array(dimension.leaves)[_pick(_shares(dimension), uniforms)]


def _products(industry: NDArray[np.int64], uniforms: Floats, typical: Floats) -> NDArray[np.int64]:
    """Return products: often the typical one of the industry's division, else any."""
    leaves = np.array(PRODUCT.leaves)
    # The parent of a group is its division; a division without groups stands for itself.
    sections = {place for place, parent in enumerate(INDUSTRY.parents) if parent < 0}
    division = np.array(
        [place if parent in sections else parent for place, parent in enumerate(INDUSTRY.parents)]
    )
    # 7 and the number of products have no common factor: neighbours differ.
    usual = leaves[(division[industry] * 7) % len(leaves)]
    return np.where(typical < TYPICAL, usual, _from_tree(PRODUCT, uniforms))


def _by_row(
    rows: tuple[tuple[float, ...], ...], given: NDArray[np.int64], uniforms: Floats
) -> NDArray[np.int64]:
    """Return a code for each uniform number, by the row of shares that belongs to it."""
    cuts = np.cumsum(np.array(rows), axis=1)[given]
    return np.asarray((uniforms[:, None] >= cuts[:, :-1]).sum(axis=1))


def _holdings(joins: Floats, which: Floats) -> NDArray[np.int64]:
    """Return holdings numbered from 1; a new record joins any earlier one, so large ones grow."""
    before = np.arange(len(joins))
    follows = np.where((joins < SAME_HOLDING) & (before > 0), (which * before).astype(int), before)
    root = follows
    # Every record points to itself or to an earlier one: jumping twice as far ends soon.
    while not np.array_equal(root, root[root]):
        root = root[root]
    return np.cumsum(root == before)[root]
