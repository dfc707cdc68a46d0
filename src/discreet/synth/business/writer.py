"""Writes synthetic businesses: a file of records, a hierarchy file for each tree, and a README."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

from discreet.errors import ParameterError
from discreet.synth.business.codes import DIMENSIONS
from discreet.synth.business.draw import Businesses, draw
from discreet.synth.folder import Signature, check_seed

FEWEST, MOST = 10, 10_000_000
RECORDS = "records.csv"
DESCRIPTION = "README.md"
MARK = "# Synthetic businesses, made by `discreet synth --kind business`"
TREES = tuple(f"{dimension.id}.hrc" for dimension in DIMENSIONS if dimension.hierarchical)
BUSINESSES = Signature(DESCRIPTION, MARK, frozenset({RECORDS, DESCRIPTION, *TREES}))


def check(records: int, out: Path, seed: int) -> None:
    """Raise the error that `write` would raise for these values, if any."""
    if not FEWEST <= records <= MOST:
        raise ParameterError(f"records must be from {FEWEST:,} to {MOST:,}. Got {records:,}.")
    check_seed(seed)
    BUSINESSES.check(out)


def write(records: int, out: Path, seed: int = 1) -> Businesses:
    """Return the businesses written into the folder `out`.

    The folder gets `records.csv` (one line for each record), a hierarchy file for each
    dimension with levels, and `README.md`; it appears when all is written, and nothing is left
    behind on an error. The same records and seed give the same files.
    """
    out = Path(out).absolute()
    check(records, out, seed)
    with BUSINESSES.replaced(out) as fresh:
        businesses = draw(records, seed)
        _write_records(fresh / RECORDS, businesses)
        for dimension in DIMENSIONS:
            if dimension.hierarchical:
                (fresh / f"{dimension.id}.hrc").write_text(dimension.hrc(), encoding="utf-8")
        text = _description(records, seed)
        (fresh / DESCRIPTION).write_text(text, encoding="utf-8")
    return businesses


def _write_records(path: Path, businesses: Businesses) -> None:
    columns: dict[str, pa.Array] = {
        "record": pa.array(range(1, len(businesses) + 1)),
        "holding": pa.array(businesses.holding.tolist()),
    }
    for number, dimension in enumerate(DIMENSIONS):
        codes = np.array(dimension.codes)[businesses.codes[:, number]]
        columns[dimension.id] = pa.array(codes.tolist())
    columns["turnover"] = pa.array(businesses.turnover.tolist())
    columns["employees"] = pa.array(businesses.employees.tolist())
    options = pa.csv.WriteOptions(quoting_style="needed", quoting_header="none")
    pa.csv.write_csv(pa.table(columns), path, options)


def _description(records: int, seed: int) -> str:
    """Return the text that says what is in the folder."""
    rows = []
    for dimension in DIMENSIONS:
        leaves = len(dimension.leaves)
        tree = f"`{dimension.id}.hrc`" if dimension.hierarchical else ""
        rows.append(f"| `{dimension.id}` | {dimension.label} | {leaves} | {tree} |")
    table = "\n".join(rows)
    return f"""{MARK}

{records:,} invented establishments, seed {seed}. Nobody should learn anything about a real economy
from them: shares were written down by hand, turnovers are lognormal with a Pareto tail.

`{RECORDS}` has one line for each establishment: `record`, `holding` (establishments of the same
enterprise share it), nine dimensions, and the magnitudes `turnover` (thousands, at least 1) and
`employees` (0 or more).

| dimension | meaning | codes of records | levels |
|---|---|---:|---|
{table}

A hierarchy file lists one code on each line, from the top, with one `@` in front for each level;
the total has no code. The first n records of a larger file with the same seed are the file of n.
"""
