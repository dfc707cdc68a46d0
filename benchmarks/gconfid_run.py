"""Run gconfid's suppression: started by `suppression_gconfid.py` in gconfid's own environment.

gconfid_run.py CELLS CONSTRAINTS COST OUT: the statuses of the cells are written to OUT, and the CPU
seconds are printed.
"""

from __future__ import annotations

import logging
import sys
from time import process_time

import gconfid
import pandas as pd


def main() -> None:
    """Read the two tables and run once; what is imported is not on the clock."""
    cells, constraints = (pd.read_csv(path) for path in sys.argv[1:3])
    logger = logging.getLogger("gconfid")
    logger.addHandler(logging.NullHandler())
    logger.propagate = False
    began = process_time()
    found = gconfid.Suppression(
        incell=cells, inconstraint=constraints, cost_function1=sys.argv[3], logger=logger
    )
    seconds = process_time() - began
    statuses = found.outsuppress.to_pandas()[["CellId", "OutStatus"]]
    statuses.to_csv(sys.argv[4], index=False)
    print(seconds)


if __name__ == "__main__":
    main()
