"""Patterns of many linked tables that are margins of one large structure, of which no cube is made.

A change of linked tables takes two codes of one, two or three dimensions and holds a code of every
other: it is a cube in the tables that have all of its dimensions, and nothing in the others. So the
search for one looks at a table, or at the few that share two dimensions, and never at all cells.
"""

from discreet.desk.suppress.solver.margins.search import fits, suppress_arrays, suppress_margins

__all__ = ["fits", "suppress_arrays", "suppress_margins"]
