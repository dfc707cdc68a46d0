"""Discreet: a flexible table server for census-like data that discloses nobody."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.errors import DiscreetError, InternalError, ParameterError, QueryRefused

if TYPE_CHECKING:
    from discreet.api import Population, open
    from discreet.query import Query

__version__ = "0.1.0"
__all__ = [
    "DiscreetError",
    "InternalError",
    "ParameterError",
    "Population",
    "Query",
    "QueryRefused",
    "open",
]


def __getattr__(name: str) -> Any:
    """Import the heavy names when they are first used: `discreet --help` needs none of them."""
    if name in {"desk", "protect", "risk", "utility"}:
        from importlib import import_module

        return import_module(f"discreet.{name}")
    if name in {"Population", "open"}:
        from discreet import api

        return getattr(api, name)
    if name == "Query":
        from discreet.query import Query

        return Query
    raise AttributeError(f"module 'discreet' has no attribute {name!r}")
