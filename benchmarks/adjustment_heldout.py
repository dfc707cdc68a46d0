"""Adjustment of tables in which much is sensitive, beside an integer programme of its own.

The tables are of other seeds and shapes than those the search was made on.
"""

from __future__ import annotations

import json
import sys
from time import process_time
from typing import Any

import numpy as np
from report import BENCH, ROOT, table, timed, write_section

sys.path.insert(0, str(ROOT / "benchmarks" / "fuzz_desk"))
from adjust import Case, adjusted, twin

SHAPES = ((10, 10), (11, 13), (12, 15), (5, 5, 5), (4, 6, 6), (6, 20))
SHARES = (0.3, 0.45, 0.6, 0.75)
# What the integer programme may take, in nodes: the machine may be busy.
NODES = 5_000
ROWS = BENCH / "adjustment-heldout.json"


def example(shape: tuple[int, ...], share: float, seed: int) -> Case:
    """Skewed values, a tenth of them 0; this share of inner cells and a tenth of sums sensitive."""
    rng = np.random.default_rng(seed)
    inner = np.round(rng.lognormal(5, 1.3, shape)) * (rng.random(shape) > 0.1)
    values = inner
    for axis in range(len(shape)):
        values = np.concatenate([values, values.sum(axis=axis, keepdims=True)], axis=axis)
    sums = np.ones(values.shape, bool)
    sums[tuple(slice(0, size) for size in shape)] = False
    sensitive = (values > 0) & (rng.random(values.shape) < np.where(sums, 0.1, share))
    need = np.maximum(np.ceil(rng.uniform(0.05, 0.3, values.shape) * values), 1.0)
    options: dict[str, Any] = {"weight": ("value", "one")[seed % 2], "margins": 1.0}
    parents = tuple((*([size] * size), -1) for size in shape)
    return Case(
        parents, values, sensitive, need, need, np.ones(values.shape, bool),
        np.zeros(values.shape, bool), options | {"capacity": 1.0}, seed,
    )  # fmt: skip


def row(number: int) -> list[str]:
    """One table: what this program and the integer programme make of it."""
    share, shape = SHARES[number // len(SHAPES)], SHAPES[number % len(SHAPES)]
    case = example(shape, share, 2100 + number + number // len(SHAPES))
    cpu, _, found = timed(lambda: adjusted(case), warm=1)
    assert not found.short.any()
    began = process_time()
    best = twin(case, found.cost, 0, NODES)
    took = process_time() - began
    return [
        " × ".join(map(str, shape)), case.options["weight"], f"{int(case.sensitive.sum())}",
        str(found.status), f"{cpu:.1f}", "proved" if best.status == 0 else "stopped",
        f"{took:.1f}",
        # In reals and with all that ours costs it found nothing.
        "none found" if best.x is None else f"{found.cost / float(best.fun) - 1:+.2%}",
    ]  # fmt: skip


def section(rows: list[list[str]]) -> str:
    """The rows with what they come to."""
    away = [(one[5], float(one[7].rstrip("%"))) for one in rows if one[7] != "none found"]
    ends = [far for ended, far in away if ended == "proved"]
    rest = [far for ended, far in away if ended != "proved"]
    solved = sum(one[3] == "solved" for one in rows)
    return (
        "## Adjustment where much is sensitive\n\n"
        f"{len(rows)} random tables with seeds and shapes that the search was not made on. The "
        f"integer programme is written for the purpose (HiGHS, up to {NODES:,} nodes) and works in "
        "reals, this program in whole figures. It is told what this program's table costs, so that "
        "it need not look at dearer ones. It proved the optimum of "
        f"{len(ends)} tables: the cost is above it by {max(ends, default=0):.2f}% at most. Of the "
        f"others the cost is {max(rest, default=0):+.2f}% at most beside its best table. {solved} "
        "tables are proved to be the least by this program itself.\n\n"
        + table(
            (
                "table", "weight", "sensitive", "status", "CPU s", "integer programme",
                "its CPU s", "cost beside its table",
            ),
            rows,
        )
    )  # fmt: skip


def main() -> None:
    """Run the tables that are not yet done, up to a number of them, and write the section."""
    number = int(sys.argv[1]) if len(sys.argv) > 1 else len(SHAPES) * len(SHARES)
    rows = json.loads(ROWS.read_text()) if ROWS.exists() else []
    for one in range(len(rows), number):
        rows.append(row(one))
        print(*rows[-1], sep=" | ", flush=True)
        ROWS.parent.mkdir(parents=True, exist_ok=True)
        ROWS.write_text(json.dumps(rows))
    write_section("adjustment-heldout", section(rows))


if __name__ == "__main__":
    main()
