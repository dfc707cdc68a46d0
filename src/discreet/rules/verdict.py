"""The verdict on a table of counts, for the custodian: what it discloses, how, and the worst of it.

Three findings beside each other: identity disclosure by small cells, attribute disclosure along
lines, and the measure of the whole table. The limits are the defaults of a policy, where each is
commented with its source: `CountRules` and `RiskRules` in `policy.model`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from discreet.policy import CountRules, RiskRules
from discreet.risk.attribute import LineShares, SmallCells, identity_disclosure, near_empty_lines
from discreet.rules.codes import Code
from discreet.rules.counts import every_broken_rule

LIMITS = CountRules()
RISK_LIMIT = RiskRules().maximum


class Verdict(StrEnum):
    """Whether what a table discloses is within the limits."""

    LOW = "low risk"
    HIGH = "high risk"


@dataclass(frozen=True)
class Finding:
    """One kind of disclosure: its verdict, how far it is above its limit, and why in words."""

    kind: str
    verdict: Verdict
    over: float
    reason: str


@dataclass(frozen=True)
class Identity(Finding):
    """Small cells: the people in them may be recognised."""

    rules: CountRules
    cells: SmallCells


@dataclass(frozen=True)
class Attribute(Finding):
    """Lines with one populated cell, by variable and pair of variables; the worst of them.

    For information also the lines with one or two populated cells, where they have more.
    """

    rules: CountRules
    lines: dict[tuple[str, ...], LineShares]
    one_or_two: dict[tuple[str, ...], LineShares]
    worst: tuple[str, ...]


def worst(findings: Sequence[Finding]) -> Finding:
    """Return the finding that is furthest above its limit, or least below it."""
    return max(findings, key=lambda finding: (finding.verdict is Verdict.HIGH, finding.over))


def smallest(figure: int) -> CountRules:
    """Return the limits for a method whose smallest figure is this: it stands for ones and twos."""
    most = LIMITS.max_small_of_populated
    return replace(LIMITS, one=figure, small=figure, max_ones_of_populated=most)


def identity(counts: NDArray[np.int64], rules: CountRules = LIMITS) -> Identity:
    """Return whether too many of the populated cells are small."""
    cells = identity_disclosure(counts, rules.one, rules.small)
    over = max(
        cells.ones_of_populated - rules.max_ones_of_populated,
        cells.small_of_populated - rules.max_small_of_populated,
    )
    broken = bool(every_broken_rule(counts[None], rules)[Code.SPARSE][0])
    return Identity(
        "identity disclosure", _verdict(broken), over, _small(cells, rules), rules, cells
    )


def _small(cells: SmallCells, rules: CountRules) -> str:
    if not cells.small:
        return f"no cell is {_up_to(rules.small)}"
    both = f"{cells.small_of_populated:.1%} are {_up_to(rules.small)}"
    limits = f"limit {rules.max_small_of_populated:.0%}"
    if rules.one != rules.small:
        both = f"{cells.ones_of_populated:.1%} are {_up_to(rules.one)}, {both}"
        limits = f"limits {rules.max_ones_of_populated:.0%} and {rules.max_small_of_populated:.0%}"
    return f"of the populated cells {both} ({limits})"


def _up_to(most: int) -> str:
    return {1: "1", 2: "1 or 2"}.get(most, f"1 to {most}")


def attribute(
    counts: NDArray[np.int64], names: Sequence[str], rules: CountRules = LIMITS
) -> Attribute:
    """Return whether too many lines, or lines with too many people, have one populated cell."""
    lines, one_or_two = (_lines(counts, names, populated) for populated in (1, 2))
    most = max(lines, key=lambda variables: lines[variables].larger, default=())
    found = lines.get(most, LineShares(0.0, 0.0))
    broken = bool(every_broken_rule(counts[None], rules)[Code.SINGLE_LINES][0])
    reason = "no line has one populated cell"
    if found.larger:
        reason = (
            f"of the lines along {' and '.join(most)} {found.lines:.1%} have one populated cell, "
            f"with {found.people:.1%} of the people (limit {rules.max_single_lines:.0%})"
        )
    over = found.larger - rules.max_single_lines
    return Attribute(
        "attribute disclosure", _verdict(broken), over, reason, rules, lines, one_or_two, most
    )


def _lines(
    counts: NDArray[np.int64], names: Sequence[str], populated: int
) -> dict[tuple[str, ...], LineShares]:
    return {
        tuple(names[axis] for axis in axes): LineShares(float(share[0]), float(people[0]))
        for axes, (share, people) in near_empty_lines(counts[None], populated).items()
    }


def whole(value: float, limit: float = RISK_LIMIT) -> Finding:
    """Return whether the measure of the whole table is above its limit."""
    broken = value > limit
    reason = f"the risk of the whole table is {value:.3f} (limit {limit:g})"
    return Finding("the table as a whole", _verdict(broken), value - limit, reason)


def _verdict(broken: bool) -> Verdict:
    return Verdict.HIGH if broken else Verdict.LOW
