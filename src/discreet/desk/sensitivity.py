"""How much protection sensitive cells need: the rules of `sensitivity` on tables of cells.

A rule says which cells of a table are sensitive, and how far from the true value a figure must be,
below and above, for nobody to come too close to a contribution. All for the custodian.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

import numpy as np

from discreet.desk.cells import RANKS, CellTable
from discreet.desk.cells.given import several
from discreet.errors import ParameterError, unknown
from discreet.risk.sensitivity import dominance_amount, prior_posterior_amount, threshold
from discreet.table.decimals import added, exact, share_of
from discreet.types import Flags, Floats, Integers

# What a cell must move by where no rule says an amount, in percent of its value.
PERCENT = 10.0


@dataclass(frozen=True, eq=False)
class Required:
    """Which cells are sensitive, and by how much a figure must be below or above the true one."""

    sensitive: Flags
    lower: Floats
    upper: Floats


Sides = tuple[Floats, Floats]
"""How far below, and how far above the true value."""


class Rule(Protocol):
    """What finds sensitive cells."""

    def required(self, cells: CellTable) -> Required:
        """Return the sensitive cells and their protection."""

    def lacks(self, cells: CellTable, below: Floats, above: Floats) -> Flags:
        """Return the sensitive cells that may lie less far below or above than they need."""

    def against(self, cells: CellTable, place: Integers, amount: Floats) -> Sides:
        """Return how far below and above cells must be able to lie, each against a contributor.

        `place` numbers the cells, and the contributors have these amounts in them; 0: nothing.
        """


@dataclass(frozen=True)
class Threshold:
    """Cells of fewer than `minimum` contributors; of counts, the counts below it.

    Notes
    -----
    The threshold rule [Domingo2002, §2]. A count x needs x below (down to 0) and minimum − x above
    (up to the first safe count); a magnitude `percent` of its value to either side, since the rule
    itself says nothing of amounts. Zeros: never sensitive.
    """

    minimum: int = 3
    percent: float = 10.0

    def __post_init__(self) -> None:
        if isinstance(self.minimum, bool) or self.minimum != int(self.minimum) or self.minimum < 2:
            raise ParameterError(f"minimum must be an integer of at least 2. Got {self.minimum}.")
        if not 0 < self.percent <= 100:
            raise ParameterError(f"percent must be above 0, at most 100. Got {self.percent}.")

    def required(self, cells: CellTable) -> Required:
        """Return the sensitive cells and their protection."""
        values = cells.values
        if cells.counts:
            return _required(threshold(values, self.minimum), values, self.minimum - values)
        if cells.contributors is None:
            raise ParameterError(
                "the threshold rule on magnitudes needs the number of contributors: a column "
                "'contributors', or records."
            )
        flags = threshold(cells.contributors, self.minimum) & (values > 0)
        amount = share_of(values, exact(self.percent) / 100)
        return _required(flags, amount, amount)

    def lacks(self, cells: CellTable, below: Floats, above: Floats) -> Flags:
        """Return the sensitive cells with too little room; a count must not be known exactly."""
        found = self.required(cells)
        if cells.counts:
            return found.sensitive & (below + above < 1)
        return _lacks(found, cells, below, above)

    def against(self, cells: CellTable, place: Integers, amount: Floats) -> Sides:
        """Return how far cells must be able to lie: the same against everybody."""
        return _everybody(self.required(cells), place)


@dataclass(frozen=True)
class PriorPosterior:
    """Cells that let a contributor come within p percent of another's contribution.

    Notes
    -----
    The pq rule [Domingo2002, §2]; q = 100 is the p% rule. With x1 ≥ x2 the largest contributions
    and R the rest, sensitive if q·R < p·x1; the figure must be at least p·x1/q − R off, for the
    second largest contributor to be p percent of x1 off. Zeros: a cell of value 0 is not sensitive.
    """

    p: float
    q: float = 100.0

    def __post_init__(self) -> None:
        if not 0 < self.p < self.q <= 100:
            raise ParameterError(
                f"p and q must be percentages with 0 < p < q ≤ 100. Got {self.p:g} and {self.q:g}."
            )

    @classmethod
    def of_p(cls, p: float) -> PriorPosterior:
        """Return the p% rule, of which nobody knows a q."""
        if not 0 < p < 100:
            raise ParameterError(f"p must be a percentage above 0 and below 100. Got {p:g}.")
        return cls(p)

    def required(self, cells: CellTable) -> Required:
        """Return the sensitive cells and their protection."""
        ranked = _ranked(cells, 2)
        amount = self.amount(cells.values, ranked[..., 0], ranked[..., 1])
        return _required(amount > 0, amount, amount)

    def amount(self, value: Floats, largest: Floats, second: Floats) -> Floats:
        """Return the protection of cells of a value and two largest contributions; 0 if safe."""
        return prior_posterior_amount(value, largest, second, self.p, self.q)

    def lacks(self, cells: CellTable, below: Floats, above: Floats) -> Flags:
        """Return the sensitive cells that would be sensitive still with the room in their rest."""
        return _lacks_within(self, cells, below, above)

    def against(self, cells: CellTable, place: Integers, amount: Floats) -> Sides:
        """Return how far off figures must be for each contributor to be p percent of others off.

        Notes
        -----
        p·m/q − R with m the largest contribution of another and R what is left beside the two
        [Domingo2002, §2]; of all contributors the second largest asks for the most.
        """
        ranked = _ranked(cells, 2).reshape(cells.values.size, -1)[place]
        others = np.where(amount >= ranked[:, 0], ranked[:, 1], ranked[:, 0])
        found = self.amount(cells.values.reshape(-1)[place], others, amount)
        return found, found


@dataclass(frozen=True)
class Dominance:
    """Cells whose n largest contributions exceed k percent.

    Notes
    -----
    The (n, k) rule [Domingo2002, §2]. The figure must be off by as much as would make the n largest
    k percent of it: 100·(x1 + … + xn)/k − X. Zeros: a cell of value 0 is not sensitive.
    """

    n: int
    k: float

    def __post_init__(self) -> None:
        if isinstance(self.n, bool) or self.n != int(self.n) or not 1 <= self.n <= RANKS:
            raise ParameterError(f"n must be an integer from 1 to {RANKS}. Got {self.n}.")
        if not 0 < self.k < 100:
            raise ParameterError(f"k must be a percentage between 0 and 100. Got {self.k:g}.")

    def required(self, cells: CellTable) -> Required:
        """Return the sensitive cells and their protection."""
        amount = dominance_amount(cells.values, _ranked(cells, self.n), self.n, self.k)
        return _required(amount > 0, amount, amount)

    def lacks(self, cells: CellTable, below: Floats, above: Floats) -> Flags:
        """Return the sensitive cells that would be sensitive still with the room in their rest."""
        return _lacks_within(self, cells, below, above)

    def against(self, cells: CellTable, place: Integers, amount: Floats) -> Sides:
        """Return how far cells must be able to lie: the same against everybody."""
        return _everybody(self.required(cells), place)


@dataclass(frozen=True)
class Given:
    """Cells that the file says are sensitive, with its amounts or `percent` of their value."""

    percent: float = 10.0

    def __post_init__(self) -> None:
        if not 0 < self.percent <= 100:
            raise ParameterError(f"percent must be above 0, at most 100. Got {self.percent}.")

    def required(self, cells: CellTable) -> Required:
        """Return the sensitive cells and their protection.

        Notes
        -----
        A column `sensitive` says which cells; without one those with an amount above 0 are. Zeros:
        a cell of value 0 cannot be sensitive.
        """
        amounts = [side for side in (cells.lower, cells.upper) if side is not None]
        if cells.sensitive is None and not amounts:
            raise ParameterError(
                "a rule is needed, or a column 'sensitive', 'lower' or 'upper' in the table."
            )
        flags = cells.sensitive
        if flags is None:
            flags = np.any([np.nan_to_num(side) > 0 for side in amounts], axis=0)
        flags = flags & (cells.values > 0)
        share = share_of(cells.values, exact(self.percent) / 100)
        sides = [
            share if side is None else np.where(np.isnan(side), share, side)
            for side in (cells.lower, cells.upper)
        ]
        return _required(flags, *sides)

    def lacks(self, cells: CellTable, below: Floats, above: Floats) -> Flags:
        """Return the sensitive cells with less room than the file asks for."""
        return _lacks(self.required(cells), cells, below, above)

    def against(self, cells: CellTable, place: Integers, amount: Floats) -> Sides:
        """Return how far cells must be able to lie: the same against everybody."""
        return _everybody(self.required(cells), place)


Made = TypeVar("Made")

RULES: dict[str, Callable[..., Threshold | PriorPosterior | Dominance]] = {
    "minimum": lambda minimum: Threshold(int(minimum)),
    "p": lambda p: PriorPosterior.of_p(float(p)),
    "pq": lambda p, q: PriorPosterior(float(p), float(q)),
    "dominance": lambda n, k: Dominance(int(n), float(k)),
}
"""The names of the rules in a text, and how each reads its numbers."""

EXAMPLES = {"minimum": "minimum=3", "p": "p=10", "pq": "pq=10,50", "dominance": "dominance=2,80"}


def parsed(
    text: str,
    makers: Mapping[str, Callable[..., Made]],
    examples: Mapping[str, str],
    kind: str = "rule",
) -> Made:
    """Return what a text such as "pq=10,50" names: a name, and its numbers after "="."""
    name, _, value = (part.strip() for part in text.partition("="))
    if name not in makers:
        raise unknown(kind, name, makers)
    try:
        return makers[name](*(part.strip() for part in value.split(",") if part.strip()))
    except ParameterError:
        raise
    except (ValueError, TypeError):
        raise ParameterError(
            f"the rule {name} must look like {examples[name]}. Got {text}."
        ) from None


def rules_of(cells: CellTable, rule: Any = None, percent: float = 10.0) -> list[Rule]:
    """Return the rules asked for, one or several, and what the file says; for counts at least 3.

    A rule may be given as a text such as "p=10".
    """
    rules = _read(rule, percent)
    if any(said is not None for said in (cells.sensitive, cells.lower, cells.upper)):
        rules.append(Given(percent))
    if not rules and cells.counts:
        rules.append(Threshold(3, percent))
    if not rules:
        raise ParameterError(
            f"a table of values needs a rule: {', '.join(EXAMPLES.values())}, or a column "
            "sensitive, lower or upper."
        )
    return rules


def check_percent(percent: float | None, cells: CellTable | None, rules: Sequence[Rule]) -> None:
    """Raise where a percentage was given for what no rule has an amount for, and it does nothing.

    Of records there are no `cells`: only the threshold rule has no amounts of its own.
    """
    if percent is not None and not any(_without_amount(rule, cells) for rule in rules):
        raise ParameterError(
            "percent does nothing here: the rules, or the columns lower and upper, say all amounts."
        )


def _without_amount(rule: Rule, cells: CellTable | None) -> bool:
    """Return whether a rule leaves the amount of a cell to the percentage."""
    if isinstance(rule, Threshold):
        return cells is None or not cells.counts
    if not isinstance(rule, Given) or cells is None:
        return False
    flags = rule.required(cells).sensitive
    sides = (cells.lower, cells.upper)
    return any(side is None or bool(np.isnan(side[flags]).any()) for side in sides)


def record_rules(rule: Any, percent: float = 10.0) -> list[Rule]:
    """Return the rules for cells of records: a number is p of the p% rule."""
    number = isinstance(rule, int | float) and not isinstance(rule, bool)
    rules = _read(PriorPosterior.of_p(float(rule)) if number else rule, percent)
    if not rules:
        raise ParameterError(f"a rule is needed: {', '.join(EXAMPLES.values())}.")
    return rules


def _read(rule: Any, percent: float) -> list[Rule]:
    rules: list[Rule] = []
    for one in several(rule):
        found = parsed(one, RULES, EXAMPLES) if isinstance(one, str) else one
        if not hasattr(found, "required"):
            raise ParameterError(
                f"a rule must be a text such as {', '.join(EXAMPLES.values())}. Got {one!r}."
            )
        by_text = isinstance(one, str) and isinstance(found, Threshold)
        rules.append(replace(found, percent=percent) if by_text else found)
    return rules


def known_too_closely(
    cells: CellTable, rules: Sequence[Rule], low: Floats, high: Floats
) -> tuple[Flags, Flags]:
    """Return the sensitive cells, and those of them whose interval is narrower than a rule asks.

    Notes
    -----
    `low` and `high` are what an intruder can prove of each cell, as `risk.audit` does. A magnitude
    must be able to lie as far below the true value, down to 0, and as far above it as its rule says
    [Domingo2002, §2]; a count must not be known exactly. Zeros: never sensitive.
    """
    found = required(cells, rules)
    below, above = added(cells.values, -low), added(high, -cells.values)
    return found.sensitive, np.any([rule.lacks(cells, below, above) for rule in rules], axis=0)


def required(cells: CellTable, rules: Sequence[Rule]) -> Required:
    """Return the cells that any rule finds sensitive, with the most that a rule asks of each.

    Notes
    -----
    Rules as in [Domingo2002, §2], each with its own amounts. Zeros: never sensitive.
    """
    if not rules:
        raise ParameterError("at least one rule must be given.")
    found = [rule.required(cells) for rule in rules]
    return Required(
        np.any([one.sensitive for one in found], axis=0),
        np.max([one.lower for one in found], axis=0),
        np.max([one.upper for one in found], axis=0),
    )


def required_against(
    cells: CellTable, rules: Sequence[Rule], place: Integers, amount: Floats
) -> Sides:
    """Return how far below and above cells must be able to lie, each against a contributor.

    Notes
    -----
    The most that a rule [Domingo2002, §2] asks. Zeros: nothing is asked of a cell that no rule
    finds sensitive.
    """
    sides = [rule.against(cells, place, amount) for rule in rules]
    lower, upper = (np.max([side[i] for side in sides], axis=0) for i in (0, 1))
    return lower, upper


def _everybody(found: Required, place: Integers) -> Sides:
    return found.lower.reshape(-1)[place], found.upper.reshape(-1)[place]


def _lacks(found: Required, cells: CellTable, below: Floats, above: Floats) -> Flags:
    down = np.minimum(found.lower, cells.values)
    return np.asarray(found.sensitive & ((below < down) | (above < found.upper)))


def _lacks_within(
    rule: PriorPosterior | Dominance, cells: CellTable, below: Floats, above: Floats
) -> Flags:
    """Return the sensitive cells with too little room.

    Their amounts are what the rest of a cell must grow by to make it safe. So there is room enough
    where the cell would be safe with the room added: the same comparison, as exact.
    """
    # Room without end is enough, and so is room down to 0.
    rooms = [np.where(below < cells.values, below, np.inf), above]
    lacking = np.zeros(cells.shape, bool)
    for room in rooms:
        some = np.isfinite(room)
        grown = replace(cells, values=added(cells.values, np.where(some, room, 0.0)))
        lacking |= some & rule.required(grown).sensitive
    return lacking & rule.required(cells).sensitive


def _required(flags: Flags, lower: Floats, upper: Floats) -> Required:
    return Required(
        np.asarray(flags, bool), np.where(flags, lower, 0.0), np.where(flags, upper, 0.0)
    )


def _ranked(cells: CellTable, most: int) -> Floats:
    if cells.counts:
        raise ParameterError(
            "this rule is for magnitudes: a table of counts has no largest contribution. Use the "
            "threshold rule."
        )
    if cells.ranked is None or cells.ranked.shape[-1] < most:
        raise ParameterError(
            f"this rule needs the {most} largest contributions to each cell: columns max1, max2 …, "
            "or records."
        )
    return cells.ranked
