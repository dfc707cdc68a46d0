"""What an office allows: tiers of users, each with its rules, its protection and its gate.

Every threshold is commented where it is set; `policy.read` reads them from policy.toml.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

from discreet.errors import ParameterError, unknown
from discreet.protect import CellwiseMethod, TablewiseMethod
from discreet.protect.named import method as make
from discreet.table.transition import Transition


class Margins(StrEnum):
    """How totals are made; the policy fixes it, a request can only leave them out."""

    NONE = "none"
    PROTECTED = "protected"  # each total protected on its own: consistent, not additive
    SUMMED = "summed"  # the sum of the released cells: additive, the noise adds up


class Place(StrEnum):
    """Where the data are protected."""

    OUTPUT = "output"  # each table
    INPUT = "input"  # the store, before any table
    BOTH = "both"


class Gate(StrEnum):
    """What the risk after protection is measured by, when it decides on a release."""

    PUBLIC = "public"  # a bound from the released table alone, not from the true counts
    TRANSITION = "transition"  # exact, from the true table: not for the public


# No variable has more.
MOST_CATEGORIES = 65_535


@dataclass(frozen=True)
class QuestionRules:
    """What may be asked; judged before anything is counted."""

    # More dimensions make nearly every table sparse.
    max_dimensions: int = 5
    # A page or a file of more cells serves nobody; large extracts are a matter of a licence.
    max_cells: int = 100_000
    # Categories of one dimension, areas aside: a longer list is a key, not a classification.
    max_categories: int = 1_000
    # Levels that this tier must not see at all, such as single years of age.
    levels_refused: tuple[str, ...] = ()
    # Variables (or "geography") by which this tier may not filter.
    filters_refused: tuple[str, ...] = ()
    # Categories that a filter on a variable outside the table may pick. Every union has noise of
    # its own: whoever may ask for all of them can average it (SECURITY.md).
    max_filter_categories: int = MOST_CATEGORIES

    def __post_init__(self) -> None:
        for name in ("max_dimensions", "max_cells", "max_categories", "max_filter_categories"):
            _whole(name, getattr(self, name), 1)


@dataclass(frozen=True)
class CountRules:
    """What the protected counts must be like; judged per area where a table has areas."""

    # People in the table (or the area), by their protected sum.
    minimum_population: int = 10
    # Protected people per cell: below it most cells are one person or none.
    minimum_mean: float = 1.0
    # Released values that count as "ones" and as "small" for the ratios below. A method that never
    # releases 1 and 2 needs larger ones here.
    one: int = 1
    small: int = 2
    # Small cells among all cells.
    max_small: float = 0.35
    # Ones, and small cells, among the cells that are not zero: the ABS TableBuilder's two ratios.
    max_ones_of_populated: float = 0.25
    max_small_of_populated: float = 0.50
    # Slices (rows, columns, …) with one populated cell: who is in the slice has that attribute.
    max_single_slices: float = 0.50

    def __post_init__(self) -> None:
        _whole("minimum_population", self.minimum_population, 1)
        _whole("one", self.one, 0)
        _whole("small", self.small, self.one)
        _number("minimum_mean", self.minimum_mean, 0, 1e9)
        for name in (
            "max_small", "max_ones_of_populated", "max_small_of_populated", "max_single_slices",
        ):  # fmt: skip
            _number(name, getattr(self, name), 0, 1)


@dataclass(frozen=True)
class RiskRules:
    """The measure of a whole table's risk after protection, and how much of it is too much."""

    # Of zeros, of concentration (entropy), of a small population [Shlomo2015, §4.1].
    weights: tuple[float, float, float] = (0.1, 0.8, 0.1)
    # How much of the entropy term survives the method: a figure of the method's that the policy
    # fixes, 0.33 for rounding to base 3 in print [Shlomo2015, §4.2].
    multiplier: float = 0.33
    # Above it a table is refused. The tables of Shlomo2015 lie between 0.07 and 0.29 after
    # protection; 0.15 was studied (docs/public-quality.md).
    maximum: float = 0.15
    gate: Gate = Gate.PUBLIC

    def __post_init__(self) -> None:
        if len(self.weights) != 3 or min(self.weights) < 0 or abs(sum(self.weights) - 1) > 1e-9:
            raise ParameterError(
                f"weights must be three numbers of at least 0 that sum to 1. Got {self.weights}."
            )
        _number("multiplier", self.multiplier, 0, 1)
        _number("maximum", self.maximum, 0, 1)


@dataclass(frozen=True)
class Protection:
    """The method of a tier, with its options, and how totals and keys are treated."""

    method: str = "random-rounding"
    options: Mapping[str, str] = field(default_factory=dict)
    margins: Margins = Margins.PROTECTED
    place: Place = Place.OUTPUT
    # Whether key sums are used as they are: only for keys and look-ups already in use elsewhere.
    plain_keys: bool = False
    # Whether the public may know the method and its parameters, and bounds of each figure.
    published: bool = False

    def __post_init__(self) -> None:
        transition = self.transition
        if transition is not None and not _keeps_zeros(transition):
            raise ParameterError(
                f"the method '{self.method}' must leave zeros alone: which zeros are impossible "
                "cells is not known here."
            )

    @cached_property
    def build(self) -> CellwiseMethod | TablewiseMethod | None:
        """The method, or None for "none"."""
        return None if self.method == "none" else make(self.method, self.options)

    @property
    def cellwise(self) -> bool:
        """Whether each cell is protected on its own, so that its chances are known."""
        return self.build is None or bool(getattr(self.build, "cellwise", False))

    @property
    def transition(self) -> Transition | None:
        """Pr(released | true), or None where the method has none."""
        if self.build is None:
            return Transition.identity()
        if self.cellwise and isinstance(self.build, CellwiseMethod):
            chances = self.build.transition()
            return chances if isinstance(chances, Transition) else None
        return None


@dataclass(frozen=True)
class Tier:
    """A kind of user: the public, licensed researchers, a safe setting."""

    id: str
    label: str
    public: bool
    question: QuestionRules
    counts: CountRules
    # Other thresholds for tables with areas of a level: small areas may need stricter ones.
    counts_by_level: Mapping[str, CountRules]
    protection: Protection
    risk: RiskRules

    def __post_init__(self) -> None:
        if not self.public:
            return
        name, wrong = f"tier '{self.id}'", []
        if self.protection.transition is None:
            wrong.append(
                f"the method of {name} must act cell by cell: the chances of "
                f"'{self.protection.method}' are not known, and its draws for overlapping "
                "questions could be averaged. It is for tiers that are not public."
            )
        if self.risk.gate is not Gate.PUBLIC:
            wrong.append(
                f"the gate of {name} must be 'public': a refusal decided on true counts is an "
                "answer about them."
            )
        if wrong:
            raise ParameterError(" And ".join(wrong))

    def counts_at(self, level: str | None) -> CountRules:
        """Return the rules on counts for tables with areas of a level."""
        return self.counts if level is None else self.counts_by_level.get(level, self.counts)


@dataclass(frozen=True)
class Policy:
    """A validated policy; `version` is the office's own name for it."""

    version: str
    title: str
    tiers: Mapping[str, Tier]
    # A group with fewer people than this must not be obtainable by subtracting two groupings.
    minimum_population: int = 10
    # Tables without filters over exactly these levels (comma-separated) are official figures that
    # are published elsewhere: they are released as counted.
    benchmark_totals: tuple[str, ...] = ()
    # "none" protects nobody: only for data that are invented.
    synthetic: bool = False

    def __post_init__(self) -> None:
        _whole("minimum_population", self.minimum_population, 1)
        if not self.tiers:
            raise ParameterError("a policy must have at least one tier.")
        for tier in self.tiers.values():
            if tier.protection.method == "none" and not self.synthetic:
                raise ParameterError(
                    f"tier '{tier.id}' must have a method: 'none' is for synthetic data only, "
                    "which the policy must say (synthetic = true)."
                )

    @property
    def default_tier(self) -> Tier:
        """The tier of whoever does not say: the first public one, or else the first."""
        return next((t for t in self.tiers.values() if t.public), next(iter(self.tiers.values())))

    def tier(self, name: str | None) -> Tier:
        """Return a tier by name, the default one for None."""
        if name is None:
            return self.default_tier
        if name not in self.tiers:
            raise unknown("tier", name, self.tiers)
        return self.tiers[name]


def _keeps_zeros(chances: Transition) -> bool:
    values, probabilities = chances.row(0)
    return bool(values.tolist() == [0] and probabilities.tolist() == [1.0])


def _whole(name: str, value: object, least: int) -> None:
    if type(value) is not int or value < least:
        raise ParameterError(f"{name} must be an integer of at least {least}. Got {value!r}.")


def _number(name: str, value: object, least: float, most: float) -> None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not least <= value <= most:  # type: ignore[operator]
        raise ParameterError(f"{name} must be a number from {least:g} to {most:g}. Got {value!r}.")
