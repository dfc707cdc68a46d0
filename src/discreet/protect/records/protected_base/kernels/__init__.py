"""Fast loops of the protected base: cells of records, and the fit.

Glossary: a table has cells, which lie one after the other in a vector of all tables' cells; F
tables, C cells in all; `cells[i, f]` is the cell of record i in table f. Residuals are those of
the base less the targets, a row for each area of each level. `chain[a, l]` is the row of the area
of level l around smallest area a. Donor d is records first[d] to first[d + 1], and donors of size k
are those from bounds[k] to bounds[k + 1].
"""

from __future__ import annotations

from discreet.protect.records.protected_base.kernels.balancing import balance
from discreet.protect.records.protected_base.kernels.cells import (
    add_cells,
    add_triples,
    compare,
    table_cells,
    tally,
)
from discreet.protect.records.protected_base.kernels.exchanging import exchange, shuffle
from discreet.protect.records.protected_base.kernels.pivoting import pivot

__all__ = [
    "add_cells",
    "add_triples",
    "balance",
    "compare",
    "exchange",
    "pivot",
    "shuffle",
    "table_cells",
    "tally",
]
