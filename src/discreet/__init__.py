"""Discreet: a flexible table server for census-like data, with protected tables."""

from __future__ import annotations

TYPE_CHECKING = False  # what type checkers take for true; the module typing is not needed
if TYPE_CHECKING:
    from typing import Any

    from discreet.api import Population, open
    from discreet.errors import DiscreetError, InternalError, ParameterError, QueryRefused
    from discreet.query import Query
    from discreet.study.python import study

__version__ = "0.1.0"
__all__ = [
    "DiscreetError",
    "InternalError",
    "ParameterError",
    "Population",
    "Query",
    "QueryRefused",
    "open",
    "study",
]


def __getattr__(name: str) -> Any:
    """Import the names when they are first used: `discreet --help` needs none of them."""
    if name in {"desk", "protect", "risk", "study", "utility"}:
        from importlib import import_module

        return import_module(f"discreet.{name}")
    if name in {"Population", "open"}:
        from discreet import api

        return getattr(api, name)
    if name in {"DiscreetError", "InternalError", "ParameterError", "QueryRefused"}:
        from discreet import errors

        return getattr(errors, name)
    if name == "Query":
        from discreet.query import Query

        return Query
    raise AttributeError(f"module 'discreet' has no attribute {name!r}")
