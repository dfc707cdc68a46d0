"""What an office allows: tiers of users, each with its rules, its protection and its gate.

Every threshold is commented where it is set; `policy.read` reads them from policy.toml.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property

from discreet.checks import checked_weights, number, whole
from discreet.errors import ParameterError, unknown
from discreet.policy.attack import AttackRules
from discreet.protect import Effect, Kept, Method, Multiplier
from discreet.protect.registry import method as make
from discreet.protect.registry import not_public
from discreet.table.transition import Transition


class Margins(StrEnum):
    """How totals are made; the policy fixes it, a request can only leave them out."""

    NONE = "none"
    PROTECTED = "protected"  # each total protected on its own: consistent, not additive
    SUMMED = "summed"  # the sum of the released cells: additive, the noise adds up

    @classmethod
    def of(cls, text: str) -> Margins:
        """Return the kind of totals that a text names, or complain with the choices."""
        try:
            return cls(text)
        except ValueError:
            raise unknown("kind of totals", text, cls) from None


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
# No table has more dimensions.
MOST_DIMENSIONS = 6


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

    def __post_init__(self) -> None:
        for name in ("max_dimensions", "max_cells", "max_categories"):
            whole(name, getattr(self, name), 1)


class Claim(StrEnum):
    """By which request over HTTP a table may be published that is not yet."""

    GET = "get"
    POST = "post"


@dataclass(frozen=True)
class SpaceRules:
    """What all tables together may tell: how many may show the same fine detail.

    A class of questions whose cells hold fewer than `guard_below` people on average is guarded: it
    may lie inside `looks` released tables, and no more. Decided from the schema and the size of
    the population alone.
    """

    # 0 guards nothing: for synthetic data and for a protected base alone.
    # Measured (docs/ledger.md): below 50 and one look, a table with its totals gives small cells
    # away in .21 to .27 of cases where reading gives .11 to .16; below 100 with two looks, or below
    # 30 with one, in .27 to .33. Guarding below 100 with one look refuses 5% more.
    guard_below: int = 50
    looks: int = 1
    # What the tiers that are not public may see of a class, all people together.
    office_looks: int = 10
    # Tables that are released before anybody asks, one question each: "by" or "by&where=…".
    plan: tuple[str, ...] = ()
    # A guarded table is summed from a finer one that is released, rather than released itself,
    # where each figure is the sum of up to this many: the look is saved for another.
    sums_up_to: float = 4.0
    # Cells of the complete table of a class: what is larger is not made.
    max_table: int = 5_000_000
    # Seconds that reading the records may take at 100 million people a second and variable.
    max_seconds: float = 60.0
    # Size of the population as the office publishes it; 0 is the number of records, rounded to
    # two digits.
    population: int = 0
    claim: Claim = Claim.GET

    def __post_init__(self) -> None:
        whole("guard_below", self.guard_below, 0)
        whole("looks", self.looks, 1)
        whole("office_looks", self.office_looks, self.looks)
        whole("max_table", self.max_table, 1)
        whole("population", self.population, 0)
        number("sums_up_to", self.sums_up_to, 1, 1e9)
        number("max_seconds", self.max_seconds, 0, 1e9)

    @property
    def guards(self) -> bool:
        """Whether anything is guarded at all."""
        return self.guard_below > 0


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
    # Lines (rows, columns, …: all variables but one or two fixed) with one populated cell: whoever
    # is in such a line has that attribute. Their share of all populated lines, and the share of
    # people in them, for the worst variable or pair. Half: the output tables of [Shlomo2015, §5]
    # reach 0.29 of the lines (docs/benchmarks.md), a variable that the others determine has 1.
    max_single_lines: float = 0.50

    def __post_init__(self) -> None:
        whole("minimum_population", self.minimum_population, 1)
        whole("one", self.one, 0)
        whole("small", self.small, self.one)
        number("minimum_mean", self.minimum_mean, 0, 1e9)
        for name in (
            "max_small", "max_ones_of_populated", "max_small_of_populated", "max_single_lines",
        ):  # fmt: skip
            number(name, getattr(self, name), 0, 1)


@dataclass(frozen=True)
class RiskRules:
    """The measure of a whole table's risk after protection, and how much of it is too much."""

    # Of zeros, of concentration (entropy), of a small population [Shlomo2015, §4.1]. Four numbers
    # split concentration into that of counts up to 6 and that of larger ones.
    weights: tuple[float, ...] = (0.1, 0.8, 0.1)
    # How much of the entropy term survives the method [Shlomo2015, §4.2]. None: the method's own.
    multiplier: float | None = None
    # Above it a table is refused. The tables of Shlomo2015 lie between 0.07 and 0.29 after
    # protection; 0.15 was studied (docs/public-quality.md).
    maximum: float = 0.15
    gate: Gate = Gate.PUBLIC

    def __post_init__(self) -> None:
        checked_weights(self.weights, 3, 4)
        if self.multiplier is not None:
            number("multiplier", self.multiplier, 0, 1)
        number("maximum", self.maximum, 0, 1)


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
    # The share of zeros that are released as something else, as a one would be, so that a figure
    # above zero does not prove that somebody is there. Zeros that are declared impossible stay.
    zeros: float = 0.0

    def __post_init__(self) -> None:
        number("zeros", self.zeros, 0, 0.5)
        if self.zeros and self.transition is None:
            raise ParameterError(
                f"zeros must be 0 with the method '{self.method}': only the chances of a method "
                "that acts cell by cell, with bounded changes, say what a zero becomes."
            )
        if self.place is Place.INPUT and self.method != "none":
            raise ParameterError(
                f"place must be 'both' with the method '{self.method}': 'input' leaves tables as "
                "they are counted."
            )
        if self.beforehand and self.margins is Margins.PROTECTED:
            raise ParameterError(
                "margins must be 'summed' or 'none' where place is 'input': a total that is shown "
                "beside areas that are withheld would give them away."
            )
        self.build  # noqa: B018 - built at once, so that a mistake in it is told here
        if not self.takes:
            raise ParameterError(
                f"the method '{self.method}' takes no table of up to {MOST_DIMENSIONS} dimensions."
            )
        effect = self._effect(self.takes[0])
        if effect.chances is not None and effect.chances.row(0)[0].any():
            raise ParameterError(
                f"the method '{self.method}' must leave zeros alone: which zeros are impossible "
                "cells is not known here."
            )
        if effect.told and not self.published:
            raise ParameterError(
                f"the method '{self.method}' must be told (published = true): its figures cannot "
                "be read without."
            )

    @property
    def beforehand(self) -> bool:
        """Whether all protection is of the records, and tables are left as they are counted."""
        return self.place is Place.INPUT

    @cached_property
    def build(self) -> Method | None:
        """The method, or None for "none"."""
        return None if self.method == "none" else make(self.method, self.options)

    @property
    def cellwise(self) -> bool:
        """Whether each cell is protected on its own, so that its chances are known."""
        return self.build is None or self.build.cellwise

    @property
    def transition(self) -> Transition | None:
        """Pr(released | true) of a method that acts cell by cell with bounded changes, or None."""
        return self._effect(1).transition if self.cellwise else None

    def effect(self, dimensions: int) -> Effect:
        """Return what is done to a count of a table with so many dimensions."""
        if dimensions not in self._effects:
            found = self._effect(dimensions)
            if self.zeros and found.transition is not None:
                moving = Effect.of(found.transition.moving_zeros(self.zeros), found.multiplier)
                change = moving.largest_change
                found = replace(found, chances=moving.chances, largest_change=change)
            self._effects[dimensions] = found
        return self._effects[dimensions]

    @cached_property
    def _effects(self) -> dict[int, Effect]:
        """The effects that were asked for: each is worked out once."""
        return {}

    def _effect(self, dimensions: int) -> Effect:
        return Effect.none() if self.build is None else self.build.effect(dimensions)

    def keeps(self, dimensions: int) -> Kept:
        """Return what is kept of a table with so many dimensions."""
        return Kept(unbiased=True) if self.build is None else self.build.keeps(dimensions)

    @cached_property
    def takes(self) -> tuple[int, ...]:
        """The numbers of dimensions of the tables that the method can protect."""
        found = []
        for dimensions in range(1, MOST_DIMENSIONS + 1):
            with suppress(ParameterError):
                self.effect(dimensions)
                found.append(dimensions)
        return tuple(found)


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
    space: SpaceRules = field(default_factory=SpaceRules)

    def __post_init__(self) -> None:
        wrong = [*self._not_public(), *self._no_totals(), *self._never_measured()]
        if wrong:
            raise ParameterError(" And ".join(wrong))

    def _not_public(self) -> Iterator[str]:
        """Yield what a public tier must not have."""
        name, method = f"tier '{self.id}'", self.protection.method
        if self.public and not self.protection.cellwise:
            yield (
                f"the method of {name} must act cell by cell: '{method}' draws a whole table, and "
                "its draws for overlapping questions could be averaged. It is for tiers that are "
                "not public."
            )
        elif self.public and self.protection.transition is None:
            yield (
                f"the method of {name} must have a bound on its changes: '{method}' has none. It "
                "is for tiers that are not public."
            )
        elif self.public and self.protection.build is not None:
            for reason in not_public(method, self.protection.options)[:1]:
                yield f"the method of {name} must be fit for the public. Of '{method}': {reason}"
        if self.public and self.risk.gate is not Gate.PUBLIC:
            yield (
                f"the gate of {name} must be 'public': a refusal decided on true counts is an "
                "answer about them."
            )

    def _no_totals(self) -> Iterator[str]:
        """Yield why totals cannot be protected on their own."""
        if self.protection.margins is Margins.PROTECTED and not self.protection.cellwise:
            yield (
                f"the margins of tier '{self.id}' must be 'none' or 'summed': "
                f"'{self.protection.method}' draws a whole table, and has no draw for a total on "
                "its own."
            )

    def _never_measured(self) -> Iterator[str]:
        """Yield why no table could ever pass the gate."""
        if any(map(self.measured, self.dimensions)):
            return
        method, start = self.protection.method, f"the gate of tier '{self.id}'"
        if not self.dimensions:
            most = self.question.max_dimensions
            things = "variable" if most == 1 else "variables"
            yield f"'{method}' takes no table of up to {most} {things}: no question could pass."
        elif self.risk.gate is Gate.TRANSITION and all(
            self.protection.effect(d).chances is None for d in self.dimensions
        ):
            yield (
                f"{start} must be 'public': the chances of '{method}' are not known, so that the "
                "exact measure cannot be computed and every table would be refused."
            )
        else:
            yield (
                f"{start} needs a multiplier: '{method}' has none of its own, and every table "
                "would be refused. Set one in risk (1 takes nothing off)."
            )

    @property
    def dimensions(self) -> tuple[int, ...]:
        """The numbers of dimensions that a table of this tier may have."""
        return tuple(d for d in self.protection.takes if d <= self.question.max_dimensions)

    def multiplier(self, dimensions: int) -> Multiplier | None:
        """Return the multiplier of the risk: the policy's, or else the method's, if it has one."""
        stated = self.risk.multiplier
        if stated is not None:
            return Multiplier(stated, stated, "stated by the policy")
        return self.protection.effect(dimensions).multiplier

    def measured(self, dimensions: int) -> bool:
        """Whether the gate can be computed for tables with so many dimensions."""
        known = self.protection.effect(dimensions).chances is not None
        exact = self.risk.gate is Gate.TRANSITION
        return self.multiplier(dimensions) is not None and (known or not exact)

    @property
    def as_counted(self) -> Tier:
        """This tier for official figures: nothing is changed, nothing taken off, and no limit."""
        protection = replace(self.protection, method="none", options={})
        risk = replace(self.risk, multiplier=None, maximum=1.0)
        return replace(self, protection=protection, risk=risk)

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
    # Tables over exactly these levels (comma-separated), and parts of them, are official figures
    # that are published elsewhere: they are released as counted.
    benchmark_totals: tuple[str, ...] = ()
    # Data that are invented need no protection. All others do: of tables, of records, or both.
    synthetic: bool = False
    # Records that must differ before a new edition is built: fewer would show who changed. In a
    # small population one record in a hundred is enough, but never fewer than ten.
    minimum_changes: int = 1_000
    # Years that the record of who asked what is kept.
    record_years: int = 5
    attack: AttackRules = field(default_factory=AttackRules)

    def __post_init__(self) -> None:
        whole("minimum_population", self.minimum_population, 1)
        whole("minimum_changes", self.minimum_changes, 1)
        whole("record_years", self.record_years, 1, 100)
        if not self.tiers:
            raise ParameterError("a policy must have at least one tier.")
        for tier in self.tiers.values():
            protection = tier.protection
            if self.attack.never(protection.place is Place.OUTPUT):
                raise ParameterError(
                    f"population must be 'own' in [attack]: the records of tier '{tier.id}' are "
                    "protected before any table, and invented ones are not."
                )
            if not tier.space.guards and not (self.synthetic or protection.beforehand):
                raise ParameterError(
                    f"guard_below must be at least 1 in tier '{tier.id}': without a guard all "
                    "tables together tell all that the records tell. 0 is for synthetic data "
                    "(synthetic = true) and for a protected base."
                )
            if protection.method == "none" and not (self.synthetic or protection.beforehand):
                raise ParameterError(
                    f"tier '{tier.id}' must have a method: 'none' is for synthetic data "
                    "(synthetic = true) and for records that are protected before any table "
                    '(place = "input").'
                )

    def changes_needed(self, records: int) -> int:
        """Return how many records must differ before a new edition of so many is built."""
        return 0 if self.synthetic else min(self.minimum_changes, max(records // 100, 10))

    @cached_property
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

    def applied(self, tier: Tier, levels: Iterable[str]) -> Tier:
        """Return the tier as it treats a table by these levels: official figures as counted."""
        return tier.as_counted if set(levels) in self.official else tier

    @property
    def official(self) -> list[set[str]]:
        """The levels of each table of official figures."""
        return [set(text.replace(" ", "").split(",")) for text in self.benchmark_totals]
