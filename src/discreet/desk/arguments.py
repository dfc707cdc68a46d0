"""What the functions of the desk are given, checked by what their signatures say."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from inspect import signature
from numbers import Real
from typing import Any, ParamSpec, TypeVar

from discreet.errors import ParameterError

P = ParamSpec("P")
R = TypeVar("R")

KINDS: dict[str, tuple[tuple[type, ...], str]] = {
    "int": ((Real,), "an integer"),
    "float": ((Real,), "a number"),
    "bool": ((bool, Real), "True or False"),
    "str": ((str,), "a text"),
    "Secret": ((str, bytes, os.PathLike), "the path of a file, or bytes"),
    "PathLike[str]": ((os.PathLike,), "a path"),
    "Hierarchies": ((Mapping,), "a mapping: dimension → file (.hrc) or groups of codes"),
    "Mapping[str, float]": ((Mapping,), "a mapping: dimension → number"),
    "Sequence[str]": ((Iterable,), "a list of names"),
    "Collection[str]": ((Iterable,), "a list of names"),
    "Sequence[Sequence[str]]": ((Iterable,), "a list of names"),
    "Sequence[tuple[Mapping[str, str], float]]": (
        (list, tuple),
        "a list of pairs: the codes of a cell by dimension, and an amount",
    ),
}
"""What a value must be an instance of, by its annotation, and what that is called."""


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """Return a function that refuses what its annotations do not name, before anything is read.

    Annotations that are not among `KINDS` (tables, rules, words to choose from) are left to it.
    """
    declared = signature(function)
    said = {name: one.annotation.split(" | ") for name, one in declared.parameters.items()}
    kinds = {name: parts for name, parts in said.items() if {"None", *KINDS} >= set(parts)}

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        for name, value in declared.bind(*args, **kwargs).arguments.items():
            if name in kinds:
                _check(name, value, kinds[name])
        return function(*args, **kwargs)

    return call


def _check(name: str, value: Any, parts: list[str]) -> None:
    if value is None and "None" in parts:
        return
    known = [KINDS[part] for part in parts if part != "None"]
    if not any(isinstance(value, types) for types, _ in known):
        said = " or ".join(dict.fromkeys(words for _, words in known))
        none = ", or None" if "None" in parts else ""
        raise ParameterError(f"{name} must be {said}{none}. Got {value!r}.")
    if isinstance(value, list | tuple) and any(one is None for one in value):
        raise ParameterError(f"{name} must be {known[0][1]}. Got None among them.")
