"""Methods by name, with options as text: for the command line and for policies in files.

Installed packages add methods by entry points of the group `discreet.methods` (docs/extending.md).
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from functools import cache
from inspect import Parameter, signature
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

import numpy as np

from discreet.errors import ParameterError, unknown
from discreet.later import Registry
from discreet.plugins import added
from discreet.protect.base import Method
from discreet.types import Floats

GROUP = "discreet.methods"


def _integers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.replace("|", ",").split(",") if part.strip())


def _yes(text: str) -> bool:
    return {"yes": True, "true": True, "no": False, "false": False}[text.lower()]


KINDS: dict[Any, tuple[Callable[[str], Any], str]] = {
    int: (int, "an integer"),
    float: (float, "a number"),
    bool: (_yes, "yes or no"),
    str: (str, "a text"),
    tuple[int, ...]: (_integers, "integers, separated by commas"),
}
"""The types that an option may have: how its text is read, and what it must be."""


def _cell_key(
    file: str | None = None,
    design: str = "max-entropy",
    bound: int = 5,
    variance: float | None = None,
    forbid: tuple[int, ...] = (),
    stay: float | None = None,
) -> Method:
    from discreet.protect import CellKeyPerturbation, LookupTable, lookup

    if file is not None:
        return CellKeyPerturbation(LookupTable.read_csv(file))
    if design == "max-entropy":
        spread = 3.0 if variance is None else variance
        return CellKeyPerturbation(lookup.max_entropy(bound, spread, forbid, stay))
    if design != "normal":
        raise unknown("design", design, ("max-entropy", "normal"))
    if forbid or stay is not None:
        raise ParameterError("forbid and stay are options of the design max-entropy.")
    return CellKeyPerturbation(lookup.normal(2.0 if variance is None else variance, bound))


def _stochastic(matrix: str = "published", exact: bool = False, invariant: bool = False) -> Method:
    from discreet.protect import InvariantPerturbation, StochasticPerturbation

    if matrix == "published":
        method = StochasticPerturbation.published(exact)
    else:
        method = StochasticPerturbation(_read_matrix(matrix), exact)
    return InvariantPerturbation(method) if invariant else method


def _read_matrix(path: str) -> Floats:
    """Return the numbers of a CSV file without labels: row i, column j is Pr(j | i)."""
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            return np.array([[float(x) for x in line] for line in csv.reader(file) if line])
    except (OSError, ValueError) as error:
        raise ParameterError(
            f"matrix must be 'published' or a CSV file of numbers without labels. {error}"
        ) from None


METHODS = Registry({
    "random-rounding": "discreet.protect.cells.rounding:RandomRounding",
    "conventional-rounding": "discreet.protect.cells.rounding:ConventionalRounding",
    "small-cell-adjustment": "discreet.protect.cells.rounding:SmallCellAdjustment",
    "semi-controlled-rounding": "discreet.protect.tables.semi_controlled:SemiControlledRounding",
    "controlled-rounding": "discreet.protect.tables.controlled:ControlledRounding",
    "small-count-rounding": "discreet.protect.tables.controlled:SmallCountRounding",
    "count-adjustment": "discreet.protect.tables.count_adjustment:CountAdjustment",
    "stochastic-perturbation": _stochastic,
    "cell-key-perturbation": _cell_key,
    "sampling": "discreet.protect.cells.sampling:Sampling",
    "same-margins": "discreet.protect.tables.same_margins:SameMargins",
})  # fmt: skip
"""What is built in: a class, or a function that makes a method, whose parameters are options."""


@cache
def methods() -> Mapping[str, Callable[..., Method]]:
    """Return every method there is, those of installed packages after those that are built in."""
    return METHODS.with_more(added(GROUP, METHODS))


def _named(name: str, more: Mapping[str, Callable[..., Method]]) -> Callable[..., Method]:
    """Return what makes the methods of a name; those of the caller come first."""
    known = methods()
    if name not in more and name not in known:
        raise unknown("method", name, [*known, *more])
    return more[name] if name in more else known[name]


def options(
    name: str, more: Mapping[str, Callable[..., Method]] | None = None
) -> dict[str, Parameter]:
    """Return the options of a method: the parameters of a type that a text can give."""
    parameters = signature(_named(name, more or {}), eval_str=True).parameters
    return {key: value for key, value in parameters.items() if _kind(value) in KINDS}


def _kind(parameter: Parameter) -> Any:
    """Return the type of a parameter's values, None and choices of texts aside."""
    kind = parameter.annotation
    if get_origin(kind) in (Union, UnionType):
        kind = next(part for part in get_args(kind) if part is not type(None))
    return str if get_origin(kind) is Literal else kind


def method(
    name: str, given: Mapping[str, str], more: Mapping[str, Callable[..., Method]] | None = None
) -> Method:
    """Return the method of that name with those options; unknown ones are refused.

    `more` are methods that are known to the caller alone, such as those of a study.
    """
    known = options(name, more)
    values = {}
    for option, text in given.items():
        if option not in known:
            raise unknown(f"option of {name}", option, known)
        read, rule = KINDS[_kind(known[option])]
        try:
            values[option] = read(text)
        except (ValueError, KeyError):
            raise ParameterError(f"{option} must be {rule}. Got {text}.") from None
    for option, parameter in known.items():
        if parameter.default is parameter.empty and option not in values:
            raise ParameterError(f"{name} needs the option {option}, {KINDS[_kind(parameter)][1]}.")
    made = _named(name, more or {})(**values)
    if not isinstance(made, Method):
        raise ParameterError(f"'{name}' of {GROUP} is no Method. Got {type(made).__name__}.")
    return made


def example(name: str) -> Method:
    """Return the method of that name with its defaults, and where there are none its example."""
    return method(name, getattr(methods().get(name), "example", {}))


def not_public(name: str, given: Mapping[str, str]) -> tuple[str, ...]:
    """Return why a method is not fit for a public tier: it does not say so, or breaks its word.

    The methods that are built in pass the suite before every release of this program; those of
    installed packages are held to it here, once for each set of options.
    """
    return _not_public(name, tuple(given.items()))


@cache
def _not_public(name: str, given: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
    made = method(name, dict(given))
    if not made.public:
        return ("it does not say that it is for the public.",)
    if name in METHODS:
        return ()
    from discreet.protect.conformance import failures

    return tuple(failures(made))
