"""Many marginal tables at once: from records that were condensed, through a few wide tables.

Each table by a scan of its own would read the records thousands of times. Here records that are
alike become one, which also brings records of near cells together; a few wide tables are counted
from these; and what is wanted is added up from the wide tables.
"""

from discreet.tabulate.lattice.counting import tables, warm_up

__all__ = ["tables", "warm_up"]
