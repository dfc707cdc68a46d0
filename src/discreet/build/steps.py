"""Protection before any table, as a data set describes it: the `[[protect]]` tables, in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from math import inf
from typing import TYPE_CHECKING, Any, ClassVar

from discreet import checks
from discreet.checks import whole
from discreet.errors import ParameterError, unknown
from discreet.protect.records.protected_base import NAME
from discreet.protect.registry import method
from discreet.toml import Section, texts

if TYPE_CHECKING:
    from discreet.protect import InputPerturbation, OverImputation, ProtectedBase, RecordSwapping

MEMBERS = "members"
"""A term of a profile: the number of members of the household."""

Term = tuple[str, ...]
"""Variables or levels whose combinations are counted: "sex*age_broad"."""
Profile = tuple[Term, ...]

DONORS = ("persons", "households")
"""What is copied whole into a protected base."""

MOST_EXACT = 0.5
"""A base in which more small figures are as they were protects nobody."""


@dataclass(frozen=True)
class LeftOut:
    """Records that are not swapped: those with one of the values in a column of the source."""

    column: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class SwapStep:
    """Households exchange areas; of a hypercube, persons do."""

    name: ClassVar[str] = "record-swapping"
    needs_households: ClassVar[bool] = True
    swapping: RecordSwapping
    within: str
    of: str | None
    profiles: tuple[Profile, ...]
    target: tuple[Term, ...] = ()
    below: int = 3
    left_out: LeftOut | None = None

    def names(self) -> Iterator[str]:
        """Return every variable or level that must exist."""
        yield from (name for p in self.profiles for term in p for name in term if name != MEMBERS)
        yield from chain.from_iterable(self.target)


@dataclass(frozen=True)
class PramStep:
    """Categories of one variable change by an invariant matrix."""

    name: ClassVar[str] = "pram"
    variable: str
    stay: float
    within: Term = ()
    household: bool = False

    @property
    def needs_households(self) -> bool:
        """Whether households must be known."""
        return self.household

    def names(self) -> Iterator[str]:
        """Return every variable or level that must exist."""
        yield from self.within


@dataclass(frozen=True)
class ImputeStep:
    """Values are blanked at random and taken from donors."""

    name: ClassVar[str] = "over-imputation"
    needs_households: ClassVar[bool] = False
    imputation: OverImputation
    variables: Term
    donors: tuple[Term, ...]
    never_create: tuple[Term, ...] = ()

    def names(self) -> Iterator[str]:
        """Return every variable or level that must exist."""
        yield from chain(*self.donors, *self.never_create)


@dataclass(frozen=True)
class CubeStep:
    """A table method changes the counts of the finest cells."""

    name: ClassVar[str] = "input-perturbation"
    needs_households: ClassVar[bool] = False
    perturbation: InputPerturbation
    table_method: str
    options: Mapping[str, str] = field(default_factory=dict)

    def names(self) -> Iterator[str]:
        """Return every variable or level that must exist: none."""
        return iter(())


@dataclass(frozen=True)
class BaseStep:
    """Records give way to a protected base, which is fitted to noisy figures of them."""

    name: ClassVar[str] = NAME
    base: ProtectedBase
    within: str | None
    # Tables that are fitted beside all of one variable and of two.
    tables: tuple[Term, ...] = ()
    # The mean absolute error of one- and two-way figures of any level, above which the build is
    # refused; and the share of small figures, of any level and order, that may be as they were.
    max_error: float = 8.0
    max_exact: float = 0.3
    # Whether households are copied whole, instead of persons.
    households: bool = False

    def __post_init__(self) -> None:
        checks.number("max_error", self.max_error, 0, 1e6)
        checks.number("max_exact", self.max_exact, 0, MOST_EXACT)

    @property
    def needs_households(self) -> bool:
        """Whether households must be known."""
        return self.households

    def names(self) -> Iterator[str]:
        """Return every variable or level that must exist."""
        yield from chain.from_iterable(self.tables)


Step = SwapStep | PramStep | ImputeStep | CubeStep | BaseStep


def read_steps(given: list[Any]) -> tuple[Step, ...]:
    """Return the steps that a description asks for, in their order."""
    steps = []
    for number, values in enumerate(given, 1):
        section = Section(values, f"protect {number}")
        kind = section.take("method", str)
        if kind not in _READERS:
            raise ParameterError(f"{section.name}: {unknown('method', kind, _READERS)}")
        try:
            step = _READERS[kind](section)
        except ParameterError as error:
            text = str(error)
            raise ParameterError(
                text if section.name in text else f"{section.name}: {text}"
            ) from None
        section.end()
        steps.append(step)
    if len(steps) > 1 and any(isinstance(step, BaseStep) for step in steps):
        raise ParameterError(
            f"{NAME} must be the only step: its ranges are for counts of the records that it is "
            "made of, which other steps would change."
        )
    if any(isinstance(step, CubeStep) for step in steps[:-1]):
        raise ParameterError(
            f"{CubeStep.name} must be the last step: after it there are no records, only cells."
        )
    return tuple(steps)


@dataclass(frozen=True)
class Given:
    """What a description says that steps refer to."""

    variables: tuple[str, ...]
    of: Mapping[str, str]  # the variable of every name; areas have none of their own: ""
    areas: tuple[str, ...]  # the smallest first
    record_id: bool
    household_id: bool
    hypercube: bool
    key: bool


def check_step(step: Step, given: Given) -> None:
    """Refuse a step that refers to what is not there, before any data are opened."""
    for name in step.names():
        if name not in given.of:
            raise ParameterError(f"{step.name}: {unknown('variable', name, given.of)}")
    if isinstance(step, SwapStep):
        _check_swap(step, given)
    elif isinstance(step, BaseStep):
        _check_base(step, given)
    elif isinstance(step, PramStep):
        if step.household and not given.household_id:
            raise ParameterError(f"{step.name}: 'household' needs a 'household_id' in the source.")
        _check_values(step.name, (step.variable,), step.within, given)
    elif isinstance(step, ImputeStep):
        _check_values(step.name, step.variables, chain(*step.donors), given)
        for table in step.never_create:
            if len({given.of[name] in step.variables for name in table}) < 2:
                raise ParameterError(
                    f"{step.name}: never_create must name tables of an imputed variable and "
                    f"another one. Got {'*'.join(table)}."
                )


def _check_values(name: str, changed: Term, conditions: Iterable[str], given: Given) -> None:
    """Refuse to change variables that are not there, or that the change itself depends on."""
    if given.hypercube or not given.record_id:
        raise ParameterError(f"{name} needs records with a 'record_id' in the source.")
    for variable in changed:
        if variable not in given.variables:
            raise ParameterError(f"{name}: {unknown('variable', variable, given.variables)}")
    for condition in conditions:
        if given.of[condition] in changed:
            raise ParameterError(
                f"{name}: '{condition}' is changed by the step, so it cannot be a condition."
            )


def _check_base(step: BaseStep, given: Given) -> None:
    if given.hypercube or given.key or not given.record_id:
        raise ParameterError("base needs records with a 'record_id' in the source, and no 'key'.")
    if step.households and not given.household_id:
        raise ParameterError("base: donors = 'households' needs a 'household_id' in the source.")
    if given.areas and step.within is None:
        raise ParameterError(
            f"base needs 'within', the level of geography whose records are donors for the areas "
            f"in it: {', '.join(given.areas)}."
        )
    if given.areas and step.within not in given.areas:
        raise ParameterError(f"base: {unknown('geography', str(step.within), given.areas)}")
    if step.within is not None and not given.areas:
        raise ParameterError("base: 'within' needs a [[geography]].")
    for table in step.tables:
        if any(name in given.areas for name in table):
            raise ParameterError(
                f"base: tables must be without areas, since each is fitted in every area. "
                f"Got {'*'.join(table)}."
            )
        if len({given.of[name] for name in table}) < len(table):
            raise ParameterError(
                f"base: tables must be of different variables. Got {'*'.join(table)}."
            )


def _check_swap(step: SwapStep, given: Given) -> None:
    if not given.areas:
        raise ParameterError("record-swapping needs a [[geography]].")
    for name in (step.within, step.of):
        if name is not None and name not in given.areas:
            raise ParameterError(f"record-swapping: {unknown('geography', name, given.areas)}")
    of = given.areas[0] if step.of is None else step.of
    if given.areas.index(of) >= given.areas.index(step.within):
        raise ParameterError(
            f"record-swapping: 'within' must be a larger area than 'of'. Got {step.within} and "
            f"{of}."
        )
    if given.hypercube:
        if given.key:
            raise ParameterError(
                "record-swapping of a hypercube needs cells without a 'key': what the keys of its "
                "persons are is not known."
            )
        if step.left_out:
            raise ParameterError("record-swapping: the persons of a hypercube have no marks.")
    elif not given.household_id:
        raise ParameterError("record-swapping needs a 'household_id' in the source.")


def _swap(section: Section) -> SwapStep:
    from discreet.protect import RecordSwapping

    profiles = [section.take("match", list), *section.take("fallback", list, default=[])]
    for profile in profiles:
        if not isinstance(profile, list):
            raise ParameterError(f"'fallback' must be a list of lists. Got {profile!r}.")
    target = _terms(section.take("target", list, default=[]))
    below = whole("below", section.take("below", int, default=3), 2)
    odds = section.take("odds", int, float, default=inf if target else 1)
    only = section.take("only_at_risk", bool, default=False)
    paired = section.take("match_risk", bool, default=False)
    if not target and (odds != 1 or only or paired):
        raise ParameterError("odds, only_at_risk and match_risk need 'target': tables to look at.")
    left_out = None
    if inner := section.inner("leave_out"):
        values = inner.take("values", list)
        left_out = LeftOut(inner.take("column", str), tuple(str(value) for value in values))
        inner.end()
    return SwapStep(
        RecordSwapping(section.take("rate", int, float), odds, only, paired),
        section.take("within", str),
        section.take("of", str, default=None),
        tuple(_terms(profile) for profile in profiles),
        target,
        below,
        left_out,
    )


def _pram(section: Section) -> PramStep:
    from discreet.protect import Pram

    stay = section.take("stay", int, float)
    Pram.staying(2, stay)  # refuses what is no probability
    return PramStep(
        section.take("variable", str),
        stay,
        texts(section.take("within", list, default=[])),
        section.take("household", bool, default=False),
    )


def _impute(section: Section) -> ImputeStep:
    from discreet.protect import OverImputation

    variables = texts(section.take("variables", list))
    if not variables:
        raise ParameterError("variables must name at least one variable.")
    donors = _terms(section.take("donors", list))
    if not donors:
        raise ParameterError('donors must have at least one class, such as "la*sex*age_band".')
    return ImputeStep(
        OverImputation(section.take("rate", int, float)),
        variables,
        donors,
        _terms(section.take("never_create", list, default=[])),
    )


def _cube(section: Section) -> CubeStep:
    from discreet.protect import InputPerturbation

    name = section.take("table_method", str)
    options = {key: str(value) for key, value in section.take("options", dict, default={}).items()}
    return CubeStep(InputPerturbation(method(name, options)), name, options)


def _base(section: Section) -> BaseStep:
    from discreet.protect import ProtectedBase

    base = ProtectedBase(
        section.take("share", int, float, default=ProtectedBase.share),
        section.take("bound", int, default=ProtectedBase.bound),
        section.take("variance", int, float, default=ProtectedBase.variance),
        section.take("variance_smallest", int, float, default=ProtectedBase.variance_smallest),
    )
    tables = _terms(section.take("tables", list, default=[]))
    for table in tables:
        if not 2 <= len(table) <= 3:
            raise ParameterError(
                f"tables must be of 2 or 3 variables. Got {'*'.join(table)}; all of one are there."
            )
    return BaseStep(
        base,
        section.take("within", str, default=None),
        tables,
        section.take("max_error", int, float, default=BaseStep.max_error),
        section.take("max_exact", int, float, default=BaseStep.max_exact),
        section.choice("donors", DONORS, default="persons") == "households",
    )


_READERS: dict[str, Callable[[Section], Step]] = {
    SwapStep.name: _swap,
    PramStep.name: _pram,
    ImputeStep.name: _impute,
    CubeStep.name: _cube,
    BaseStep.name: _base,
}


def _terms(values: list[Any]) -> tuple[Term, ...]:
    """Return "a*b" as the names a and b, for each text of a list."""
    return tuple(texts(text.split("*")) for text in texts(values))
