"""Discreet: a flexible table server for census-like data, with protected tables."""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # what type checkers take for true; the module typing is not needed
if TYPE_CHECKING:
    from typing import Any

    from discreet.api import Population, build, convert, init, open, verify
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
_MODULES = ("build", "desk", "protect", "risk", "study", "utility")


_NAMES = {
    **dict.fromkeys(("Remote", "connect"), "discreet.remote"),
    **dict.fromkeys(("Population", "convert", "init", "open", "verify"), "discreet.api"),
    **dict.fromkeys(
        ("DiscreetError", "InternalError", "ParameterError", "QueryRefused"), "discreet.errors"
    ),
    "Query": "discreet.query",
}

if sys.platform == "win32":
    raise ImportError(
        "Discreet does not run on Windows: it locks files as Linux and macOS do. Use the Windows "
        "Subsystem for Linux, a container, or a server from elsewhere."
    )


def __dir__() -> list[str]:
    """List what there is, also what is not imported yet."""
    return sorted({*__all__, *_MODULES, "__version__"})


def __getattr__(name: str) -> Any:
    """Import the names when they are first used: `discreet --help` needs none of them."""
    if name not in _NAMES and name not in _MODULES:
        raise AttributeError(f"module 'discreet' has no attribute {name!r}")
    from importlib import import_module

    from discreet.extras import with_extra

    with with_extra():
        if name in _MODULES:
            return import_module(f"discreet.{name}")
        return getattr(import_module(_NAMES[name]), name)
