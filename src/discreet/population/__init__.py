"""A population: its schema, its store on disk, its record keys."""

from discreet.population.schema import Level, Schema, Variable
from discreet.population.store import Store, Version

__all__ = ["Level", "Schema", "Store", "Variable", "Version"]
