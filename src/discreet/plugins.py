"""What installed packages add to the program: methods, formats.

A package adds something by an entry point in a group of this program, such as `discreet.methods`
(docs/extending.md). One that is installed and cannot be used is named and refused. Going on without
it could mean another protection than the office has chosen.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from importlib.metadata import entry_points
from typing import Any, TypeVar

from discreet.errors import ParameterError

T = TypeVar("T")


def extended(group: str, builtin: Mapping[str, T]) -> dict[str, T]:
    """Return what is built in, and after it what installed packages add to a group, by name."""
    return {**builtin, **added(group, builtin)}


def added(group: str, builtin: Container[str]) -> dict[str, Any]:
    """Return what installed packages add to a group, by names that are not built in."""
    found: dict[str, Any] = {}
    for point in sorted(entry_points(group=group), key=lambda point: point.name):
        package = point.dist.name if point.dist else point.value
        start = f"the installed package '{package}' adds '{point.name}' to {group}"
        if point.name in builtin or point.name in found:
            raise ParameterError(f"{start}, a name that is taken. Rename one, or uninstall it.")
        try:
            found[point.name] = point.load()
        except Exception as error:  # whatever a package raises on import
            raise ParameterError(
                f"{start}, and cannot be loaded: {type(error).__name__}: {error}. "
                "Repair the package, or uninstall it."
            ) from error
    return found
