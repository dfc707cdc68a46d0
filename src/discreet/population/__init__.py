"""A population: its schema, its store on disk, its record keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.later import names

if TYPE_CHECKING:
    from discreet.population.schema import Level, Schema, Variable
    from discreet.population.store import Store, Version

__all__ = ["Level", "Schema", "Store", "Variable", "Version"]

__getattr__, __dir__ = names(
    __name__,
    {
        "schema": "Level Schema Variable",
        "store": "Store Version",
    },
)
