"""Discreet: a flexible table server for census-like data, with protected tables."""

from __future__ import annotations

import sys
from types import ModuleType

TYPE_CHECKING = False  # what type checkers take for true; the module typing is not needed
if TYPE_CHECKING:
    from typing import Any

    from discreet.api import Population, convert, init, open, verify
    from discreet.errors import DiscreetError, InternalError, ParameterError, QueryRefused
    from discreet.query import Query
    from discreet.remote import Remote, connect
    from discreet.study.python import study

__version__ = "0.1.0"
__all__ = [
    "DiscreetError",
    "InternalError",
    "ParameterError",
    "Population",
    "Query",
    "QueryRefused",
    "Remote",
    "build",
    "connect",
    "convert",
    "init",
    "open",
    "study",
    "verify",
]
_MODULES = ("desk", "protect", "risk", "study", "utility")


def __dir__() -> list[str]:
    """List what there is, also what is not imported yet."""
    return sorted({*__all__, *_MODULES, "__version__"})


def __getattr__(name: str) -> Any:
    """Import the names when they are first used: `discreet --help` needs none of them."""
    if name in _MODULES:
        from importlib import import_module

        return import_module(f"discreet.{name}")
    if name in {"Remote", "connect"}:
        from discreet import remote

        return getattr(remote, name)
    if name in {"Population", "build", "convert", "init", "open", "verify"}:
        from discreet import api

        return getattr(api, name)
    if name in {"DiscreetError", "InternalError", "ParameterError", "QueryRefused"}:
        from discreet import errors

        return getattr(errors, name)
    if name == "Query":
        from discreet.query import Query

        return Query
    raise AttributeError(f"module 'discreet' has no attribute {name!r}")


class _Building(ModuleType):
    """The folder `build`, which is called as the function is: `dc.build(…)` means that one."""

    def __call__(self, *given: Any, **options: Any) -> Any:
        from discreet import api

        return api.build(*given, **options)


class _Package(ModuleType):
    """This package; whoever imports its folder `build` puts it where the function was."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "build" and isinstance(value, ModuleType):
            value.__class__ = _Building
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
