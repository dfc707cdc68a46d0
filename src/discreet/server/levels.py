"""What other protocols show of a data set: the levels that may be asked for, and which first."""

from __future__ import annotations

from discreet.population.schema import Level, Variable
from discreet.service.opened import Opened


def levels_of(opened: Opened, variable: Variable) -> tuple[Level, ...]:
    """Return the levels of a variable that the policy lets anybody ask for, the finest first."""
    refused = opened.tier.question.levels_refused
    return tuple(level for level in variable.levels if level.id not in refused)


def variables_of(opened: Opened) -> tuple[Variable, ...]:
    """Return the variables that have a level to ask for."""
    return tuple(v for v in opened.schema.variables if levels_of(opened, v))


def default_level(opened: Opened, variable: Variable) -> Level:
    """Return the level that is meant where none is named: the finest, of areas the largest."""
    levels = levels_of(opened, variable)
    return levels[-1] if variable.is_geography else levels[0]


def first_table(opened: Opened) -> tuple[Level, ...]:
    """Return the levels of the table that is shown first: two variables at their coarsest."""
    found = [min(levels_of(opened, variable), key=len) for variable in variables_of(opened)]
    many = min(2, opened.tier.question.max_dimensions)
    return tuple(sorted(found, key=len)[:many])
