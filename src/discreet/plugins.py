"""Registries that installed packages extend by entry points."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import entry_points
from typing import TypeVar

from discreet.errors import ParameterError

T = TypeVar("T")


def extended(group: str, builtin: Mapping[str, T]) -> dict[str, T]:
    """Return what is built in and what installed packages add to a group, by name.

    A package names an object in its `pyproject.toml`: `[project.entry-points."GROUP"]`, then
    `NAME = "MODULE:OBJECT"`. It cannot replace what is built in: two of one name are an error.
    """
    found = dict(builtin)
    for entry in sorted(entry_points(group=group), key=lambda entry: entry.name):
        if entry.name in found:
            raise ParameterError(
                f"'{entry.name}' of {group} must be there once. "
                f"The package that adds {entry.value} adds it again."
            )
        try:
            found[entry.name] = entry.load()
        except Exception as error:
            raise ParameterError(
                f"'{entry.name}' of {group} could not be loaded from {entry.value}: {error}"
            ) from error
    return found
