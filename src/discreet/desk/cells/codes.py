"""The codes and numbers of a file of cells or records, parsed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import prod

from discreet.errors import ParameterError, unknown
from discreet.table.files import TOTAL
from discreet.table.published import MAX_CELLS, Groups, tree

_NUMBER = re.compile(r"\d{1,18}([.,]\d+)?([eE][+-]?\d{1,2})?")


def trees(
    name: str, variables: list[str], used: list[list[str]], groups: Groups
) -> tuple[tuple[tuple[str, ...], ...], tuple[tuple[int, ...], ...]]:
    """Return the codes of each dimension, and the code that each is part of, total included."""
    for variable in groups:
        if variable not in variables:
            raise unknown("dimension", variable, variables)
    codes, parents = [], []
    for variable, column in zip(variables, used, strict=True):
        if "" in column:
            raise ParameterError(
                f"'{name}' must have a code in every dimension. One of {variable} is empty."
            )
        mine = groups.get(variable, {})
        if mine:
            _refuse_strangers(name, variable, column, mine)
        listed, above = tree(column, mine, f"{variable} of '{name}'")
        # One code above all others is the total, whatever it is called.
        if above.count(-1) > 1 or len(listed) == 1:
            listed, above = tree([*column, TOTAL], mine, f"{variable} of '{name}'")
        if len(listed) < 2:
            raise ParameterError(f"{variable} of '{name}' must have a code beside its total.")
        codes.append(listed)
        parents.append(above)
    return tuple(codes), tuple(parents)


def _refuse_strangers(
    name: str,
    variable: str,
    column: list[str],
    groups: Mapping[str, Sequence[str]],
) -> None:
    """Raise where no code of a column is in its hierarchy: it is the hierarchy of another."""
    if set(groups).union(*groups.values()).isdisjoint(column):
        raise ParameterError(
            f"the groups of {variable} must be made of its codes in '{name}'. None is: the groups "
            f"are {', '.join(list(groups)[:5])}, the codes {', '.join(sorted(set(column))[:5])}."
        )


def number_of(text: str, where: str, whole: bool, delimiter: str) -> float:
    """Return a figure of 0 or more; raise with the place where it is none.

    A comma is a decimal mark where columns have another delimiter. In "1,000" between commas it
    would set thousands apart, and no count has one: both are refused rather than read as 1.
    """
    if _NUMBER.fullmatch(text) and not ("," in text and (whole or delimiter == ",")):
        number = float(text.replace(",", "."))
        if not whole or number == int(number):
            return number
    kind = "a whole number" if whole else "a number"
    hint = " Thousands must not be set apart." if "," in text else ""
    raise ParameterError(f"a figure must be {kind} of 0 or more. Got '{text}' in {where}.{hint}")


def checked_size(name: str, shape: tuple[int, ...]) -> int:
    """Return the number of cells; raise where they are too many to hold."""
    if prod(shape) > MAX_CELLS:
        raise ParameterError(
            f"'{name}' must have at most {MAX_CELLS:,} combinations of codes. Got {prod(shape):,}."
        )
    return prod(shape)
