"""Methods by name, with options as text: for the command line and for policies in files."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError, unknown
from discreet.protect import lookup
from discreet.protect.base import CellwiseMethod, TablewiseMethod
from discreet.protect.cells.cell_key import CellKeyPerturbation
from discreet.protect.cells.rounding import ConventionalRounding, RandomRounding
from discreet.protect.cells.small_cell import SmallCellAdjustment
from discreet.protect.cells.stochastic import InvariantPerturbation, StochasticPerturbation
from discreet.protect.lookup import LookupTable
from discreet.protect.tables.controlled import ControlledRounding, SmallCountRounding
from discreet.protect.tables.count_adjustment import CountAdjustment
from discreet.protect.tables.same_margins import SameMargins
from discreet.protect.tables.sampling import Sampling
from discreet.protect.tables.semi_controlled import SemiControlledRounding


def _integer(text: str) -> int:
    return int(text)


def _number(text: str) -> float:
    return float(text)


def _integers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.replace("|", ",").split(",") if part.strip())


def _yes(text: str) -> bool:
    return {"yes": True, "true": True, "no": False, "false": False}[text.lower()]


def _text(text: str) -> str:
    return text


KINDS: dict[Callable[[str], Any], str] = {
    _integer: "an integer",
    _number: "a number",
    _integers: "integers, separated by commas",
    _yes: "yes or no",
    _text: "a text",
}


@dataclass(frozen=True)
class Named:
    """A method that can be asked for by name: how to build it, and the options it takes."""

    build: Callable[..., CellwiseMethod | TablewiseMethod]
    options: Mapping[str, Callable[[str], Any]]
    summary: str


def _cell_key(
    file: str | None = None,
    design: str = "max-entropy",
    bound: int = 5,
    variance: float | None = None,
    **more: Any,
) -> CellKeyPerturbation:
    if file is not None:
        return CellKeyPerturbation(LookupTable.read_csv(file))
    if design == "max-entropy":
        spread = 3.0 if variance is None else variance
        return CellKeyPerturbation(lookup.max_entropy(bound, spread, **more))
    if design == "normal" and not more:
        return CellKeyPerturbation(lookup.normal(2.0 if variance is None else variance, bound))
    if design == "normal":
        raise ParameterError("forbid and stay are options of the design max-entropy.")
    raise unknown("design", design, ("max-entropy", "normal"))


def _stochastic(
    matrix: str = "published", exact: bool = False, invariant: bool = False
) -> StochasticPerturbation | InvariantPerturbation:
    if matrix == "published":
        method = StochasticPerturbation.published(exact)
    else:
        method = StochasticPerturbation(_read_matrix(matrix), exact)
    return InvariantPerturbation(method) if invariant else method


def _read_matrix(path: str) -> NDArray[np.float64]:
    """Return the numbers of a CSV file without labels: row i, column j is Pr(j | i)."""
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            return np.array([[float(x) for x in line] for line in csv.reader(file) if line])
    except (OSError, ValueError) as error:
        raise ParameterError(
            f"matrix must be 'published' or a CSV file of numbers without labels. {error}"
        ) from None


METHODS: dict[str, Named] = {
    "random-rounding": Named(
        RandomRounding, {"base": _integer}, "each cell to a multiple of the base, at random"
    ),
    "conventional-rounding": Named(
        ConventionalRounding, {"base": _integer}, "each cell to the nearest multiple of the base"
    ),
    "small-cell-adjustment": Named(
        SmallCellAdjustment, {"base": _integer}, "only counts below the base are rounded"
    ),
    "semi-controlled-rounding": Named(
        SemiControlledRounding,
        {"base": _integer, "axis": _integer, "form": _text},
        "rounding that keeps a total, or those along an axis, close",
    ),
    "controlled-rounding": Named(
        ControlledRounding,
        {"base": _integer},
        "cells and totals to neighbouring multiples of the base, all adding up",
    ),
    "small-count-rounding": Named(
        SmallCountRounding,
        {"base": _integer},
        "only counts below the base are rounded, with the least change of totals",
    ),
    "count-adjustment": Named(
        CountAdjustment,
        {"smallest_safe": _integer},
        "small counts to 0 or the smallest safe one, others moved to keep the totals",
    ),
    "stochastic-perturbation": Named(
        _stochastic,
        {"matrix": _text, "exact": _yes, "invariant": _yes},
        "counts changed by a matrix of chances",
    ),
    "cell-key-perturbation": Named(
        _cell_key,
        {
            "bound": _integer,
            "variance": _number,
            "forbid": _integers,
            "stay": _number,
            "design": _text,
            "file": _text,
        },
        "noise from a look-up table",
    ),
    "sampling": Named(Sampling, {"fraction": _number}, "counts of a random sample of records"),
    "same-margins": Named(
        SameMargins,
        {"order": _integer, "steps": _integer},
        "a random table with the true margins",
    ),
}


def method(name: str, options: Mapping[str, str]) -> CellwiseMethod | TablewiseMethod:
    """Return the method of that name with those options; unknown ones are refused."""
    if name not in METHODS:
        raise unknown("method", name, METHODS)
    named = METHODS[name]
    values = {}
    for option, text in options.items():
        if option not in named.options:
            raise unknown(f"option of {name}", option, named.options)
        read = named.options[option]
        try:
            values[option] = read(text)
        except (ValueError, KeyError):
            raise ParameterError(f"{option} must be {KINDS[read]}. Got {text}.") from None
    if name == "sampling" and "fraction" not in values:
        raise ParameterError("sampling needs a fraction, such as fraction=0.1.")
    return named.build(**values)
