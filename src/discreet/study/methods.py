"""The methods of a study by name: those of the registry, and those that act before any table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from discreet.build.steps import read_steps
from discreet.checks import number, whole
from discreet.errors import ParameterError, unknown
from discreet.protect import IndividualSwapping, Method, Multiplier, Pram, Transition, registry
from discreet.protect.base import Kept
from discreet.protect.records.protected_base import NAME as BASE
from discreet.study.model import On, Setting
from discreet.table.transition import Chances
from discreet.types import Integers


@dataclass(frozen=True)
class Untouched(Method):
    """Leaves everything as it is: what the others are compared with."""

    cellwise = True

    def draw(self, counts: Integers, source: Any, /) -> Integers:
        """Return the counts as they are."""
        del source
        return counts

    def transition(self) -> Transition:
        """Return the identity."""
        return Transition.identity()

    @property
    def multiplier(self) -> Multiplier:
        """Nothing is taken off."""
        return Multiplier(1.0, 1.0, "nothing is changed")


@dataclass(frozen=True)
class CountPram(Method):
    """PRAM of one variable where only counts are at hand: each person of a cell draws alone.

    Notes
    -----
    `Pram.staying` in its invariant form with the whole table as one stratum: the frequencies of the
    variable are kept on average, every margin without it exactly, and zeros may fill.
    """

    cellwise = False
    moves_zeros = True
    axis: int = 0
    stay: float = 0.95

    def __post_init__(self) -> None:
        whole("axis", self.axis, 0, 31)
        number("stay", self.stay, 0, 1)

    def check(self, dimensions: int) -> None:
        """Raise where the table has no such axis."""
        if self.axis >= dimensions:
            raise ParameterError(
                f"axis must be below the number of dimensions, {dimensions}. Got {self.axis}."
            )

    def draw(self, counts: Integers, rng: np.random.Generator, /) -> Integers:
        """Return the counts after everybody has drawn a category."""
        first = np.moveaxis(counts, self.axis, -1)
        rows = first.reshape(-1, counts.shape[self.axis])
        if rows.shape[1] < 2:
            return counts
        chances = Pram.staying(rows.shape[1], self.stay).chances(rows.sum(axis=0))[0]
        released = np.zeros_like(rows)
        for category in np.flatnonzero(rows.any(axis=0)):
            there = np.flatnonzero(rows[:, category])
            released[there] += rng.multinomial(rows[there, category], chances[category])
        return np.moveaxis(released.reshape(first.shape), -1, self.axis)

    def keeps(self, dimensions: int) -> Kept:
        """Return what is kept: every margin without the variable."""
        others = tuple(axis for axis in range(dimensions) if axis != self.axis)
        return Kept(unbiased=False, margins=(others,))


@dataclass(frozen=True, eq=False)
class Within(Method):
    """Applies a method to each category of a variable by itself, as to tables of their own."""

    cellwise = False
    method: Method
    axis: int

    @property
    def moves_zeros(self) -> bool:
        """Whether a true zero may be released as something else."""
        return self.method.moves_zeros

    @property
    def multiplier(self) -> Multiplier | None:
        """That of the method."""
        return self.method.multiplier

    def transition(self) -> Chances | None:
        """Return the chances of the method."""
        return self.method.transition()

    def draw(self, counts: Integers, rng: np.random.Generator, /) -> Integers:
        """Return the counts, one category after the other."""
        released = np.empty_like(counts)
        for place in range(counts.shape[self.axis]):
            part = (slice(None),) * self.axis + (place,)
            released[part] = drawn(self.method, counts[part], rng)
        return released


def drawn(method: Method, counts: Integers, rng: np.random.Generator) -> Integers:
    """Return a draw of a method; zeros stay where it must be told which of them can change."""
    structural = counts == 0 if method.needs_structural else None
    return method.apply(counts, rng, structural).astype(np.int64, copy=False)


Maker = Callable[..., Method]

BEFORE: dict[str, Maker] = {
    "none": Untouched,
    "individual-swapping": IndividualSwapping,
    "pram": CountPram,
}
"""What a study knows beside the registry; all act on counts."""

STEPS = ("record-swapping", "pram", "over-imputation", "input-perturbation", BASE)
"""What acts on records, as a step of a build describes it."""

ON_CUBE = ("individual-swapping", "pram")

TITLES = {
    "none": "Nothing is changed",
    "random-rounding": "Up or down to a multiple of the base, without bias",
    "conventional-rounding": "To the nearest multiple of the base",
    "small-cell-adjustment": "Counts below the base become 0 or the base, without bias",
    "semi-controlled-rounding": "Random rounding that keeps totals close",
    "controlled-rounding": "Rounding of cells and totals together, so that all adds up",
    "small-count-rounding": "Small counts rounded, totals kept close",
    "count-adjustment": "Ones and twos moved to 0 or 3, the others as little as possible",
    "stochastic-perturbation": "Small counts changed by a matrix of chances",
    "cell-key-perturbation": "Each cell gets noise drawn by the keys of its people",
    "sampling": "Counted from a sample of the people",
    "same-margins": "Another table with the same margins",
    "individual-swapping": "Pairs of people exchange their categories of one variable",
    "pram": "Categories of a variable changed at random, frequencies kept on average",
    "record-swapping": "Pairs of households exchange areas before counting",
    "over-imputation": "Values blanked and imputed again from donors",
    "input-perturbation": "The finest cells are perturbed before counting",
    BASE: "One population fitted to noisy figures",
}
"""A line for the report on what a method does."""


def names() -> list[str]:
    """Return every method that a study may name."""
    return list(dict.fromkeys([*BEFORE, *registry.methods(), *STEPS]))


def settings_of(
    values: Mapping[str, Any], names_of: Mapping[On, Sequence[Sequence[str]]]
) -> list[Setting]:
    """Return the settings that one `[[methods]]` of a study asks for: lists are swept.

    `names_of` has the variables of the tables and of the hypercubes, for the option `axis`.
    """
    given = dict(values)
    method = _text(given, "method", None)
    if method not in names():
        raise unknown("method", method, names())
    name = _text(given, "name", method.replace("-", " ").capitalize())
    pattern, title = _text(given, "label", ""), _text(given, "about", TITLES.get(method, ""))
    on = _on(given.pop("on", None), method)
    multiplier = _multiplier(given.pop("multiplier", None))
    swept = _swept(given) if on is not On.RECORDS else _steps_swept(given)
    found = []
    for options in swept:
        label = _label(pattern, options, swept)
        if on is On.RECORDS:
            steps = read_steps([{"method": method, **options}])
            texts = tuple((key, repr(value)) for key, value in options.items())
            found.append(Setting(name, label, method, texts, on, None, steps, multiplier, title))
            continue
        made = make(method, options, names_of.get(on, ()))
        texts = tuple((key, str(value)) for key, value in options.items())
        about = _about(title, options)
        found.append(Setting(name, label, method, texts, on, made, (), multiplier, about))
    return found


INSTEAD = {
    "record-swapping": "individual-swapping acts on counts",
    "pram": 'with on = "cube" it acts on counts',
    "input-perturbation": 'cell-key-perturbation or stochastic-perturbation with on = "cube" '
    "acts on counts",
}


def refuse_records(values: Mapping[str, Any]) -> None:
    """Raise where a method acts on records and only counts are there: what would act on them."""
    method = values.get("method")
    given = values.get("on")
    if method in STEPS and (given == On.RECORDS or (method not in BEFORE and given is None)):
        acting = f"the methods of discreet protect act on counts, {' and '.join(ON_CUBE)} too"
        instead = INSTEAD.get(method, acting)
        raise ParameterError(
            f"{method} acts on records, and these data are counts: data must name a 'dataset'. "
            f"Without records, {instead}."
        )


def make(method: str, options: Mapping[str, Any], variables: Sequence[Sequence[str]]) -> Method:
    """Return a method on counts; an axis is given by the name of a variable, or its place."""
    texts = {key: _option(value) for key, value in options.items()}
    within = texts.pop("within", None)
    if "axis" in texts and not texts["axis"].isdecimal():
        texts["axis"] = str(_place(method, "axis", texts["axis"], variables))
    made = registry.method(method, texts, BEFORE)
    for listed in variables:
        made.check(len(listed) - (within is not None))
    if within is None:
        return made
    return Within(made, _place(method, "within", within, variables))


def _place(method: str, option: str, name: str, variables: Sequence[Sequence[str]]) -> int:
    """Return the axis of a variable, which must be the same in all that the method acts on."""
    places = {listed.index(name) if name in listed else -1 for listed in map(list, variables)}
    if len(places) != 1 or -1 in places:
        every = sorted({name for listed in variables for name in listed})
        raise ParameterError(
            f"{method}: {option} must be a variable that is at one place in everything the method "
            f"acts on. Got '{name}' among {', '.join(every)}."
        )
    return places.pop()


def _on(given: Any, method: str) -> On:
    if given is None:
        if method in ON_CUBE:
            return On.CUBE
        return On.TABLE if method in BEFORE or method in registry.methods() else On.RECORDS
    if given not in list(On):
        raise ParameterError(f"'on' must be {', '.join(On)}. Got {given!r}.")
    on = On(given)
    if on is On.RECORDS and method not in STEPS:
        raise ParameterError(f"{method} does not act on records: {', '.join(STEPS)} do.")
    if on is not On.RECORDS and method not in BEFORE and method not in registry.methods():
        raise ParameterError(f"{method} acts on records alone.")
    return on


def _text(given: dict[str, Any], key: str, default: str | None) -> str:
    value = given.pop(key, default)
    if not isinstance(value, str):
        raise ParameterError(f"a method must have '{key}', a text. Got {value!r}.")
    return value.strip()


def _multiplier(given: Any) -> tuple[float, ...] | None:
    if given is None:
        return None
    listed = given if isinstance(given, list) else [given]
    if not 1 <= len(listed) <= 2:
        raise ParameterError(f"multiplier must be one number, or two. Got {given!r}.")
    return tuple(number("multiplier", value, 0, 1) for value in listed)


def _swept(options: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return every combination of the values that are lists."""
    lists = [value if isinstance(value, list) else [value] for value in options.values()]
    if not all(lists):
        raise ParameterError("a list of values to sweep must not be empty.")
    return [dict(zip(options, chosen, strict=True)) for chosen in product(*lists)]


def _steps_swept(options: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the steps to try: of steps, only lists of numbers are swept."""
    plain = {
        key: value
        if isinstance(value, list) and value and all(isinstance(x, int | float) for x in value)
        else [value]
        for key, value in options.items()
    }
    return _swept(plain)


def _option(value: Any) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def _label(pattern: str, options: Mapping[str, Any], swept: Sequence[Mapping[str, Any]]) -> str:
    """Return the words for a setting: as the study has them, or the options that differ."""
    if pattern:
        try:
            return pattern.format_map({**options, **_percents(options)})
        except (KeyError, ValueError, IndexError, AttributeError) as error:
            raise ParameterError(
                f"label must be a text with options in braces, as 'base {{base}}'. Got "
                f"'{pattern}': {error}."
            ) from None
    told = [key for key in options if len({str(one.get(key)) for one in swept}) > 1] or options
    return ", ".join(f"{key.replace('_', ' ')} {_shown(options[key])}" for key in told)


def _about(title: str, options: Mapping[str, Any]) -> str:
    """Return what a method does, with the variable that people exchange or that changes."""
    axis = options.get("axis")
    return (
        title.replace("of one variable", f"of {axis}").replace("of a variable", f"of {axis}")
        if axis is not None and not str(axis).isdecimal()
        else title
    )


def _percents(options: Mapping[str, Any]) -> dict[str, str]:
    numbers = {key: value for key, value in options.items() if isinstance(value, int | float)}
    return {f"{key}_percent": f"{100 * value:g}%" for key, value in numbers.items()}


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, int | float) else str(value)
