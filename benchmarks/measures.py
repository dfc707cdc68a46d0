"""Speed of the measures of every row along every axis, beside plain NumPy row by row.

Measured are R1, R2 by conditional entropy, the risk by the transition, Hellinger distance, RAD and
AAD, of the whole table and of each row along each axis: median CPU time of 200 runs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from report import table, timed, write_section

from discreet import risk, utility
from discreet.protect.cells.rounding import RandomRounding

RUNS = 200
NAIVE_RUNS = 5
TARGETS = {"2,457 cells": 1.0, "245,700 cells": 30.0}
METHOD = RandomRounding(3).transition()
Integers = NDArray[np.int64]


def census(shape: tuple[int, ...], zeros: float, seed: int) -> tuple[Integers, Integers]:
    """A table with the share of zeros of the published one, and its rounding to base 3."""
    rng = np.random.default_rng(seed)
    populated = rng.random(shape) >= zeros
    counts = np.where(populated, 1 + np.floor(rng.pareto(0.55, shape)), 0)
    true = np.minimum(counts, 60_000).astype(np.int64)
    return true, np.asarray(METHOD.draw(true, rng.random(shape)))


def ours(true: Integers, released: Integers) -> list[float]:
    """Every measure of every row; returns the whole-table values."""
    distances = utility.distance_rows(true, released)
    return [
        risk.before_rows(true).whole,
        risk.after_rows(true, released).whole,
        risk.after_transition_rows(true, released, METHOD).whole,
        distances.hellinger.whole,
        distances.relative_absolute.whole,
        distances.average_absolute.whole,
    ]


def plain(true: Integers, released: Integers) -> list[float]:
    """The same in plain NumPy, one row after the other; returns the whole-table values."""
    for axis in range(true.ndim):
        for i in range(true.shape[axis]):
            _plain_one(true.take(i, axis=axis), released.take(i, axis=axis))
    return _plain_one(true, released)


def _plain_one(f: Integers, g: Integers) -> list[float]:
    with np.errstate(divide="ignore", invalid="ignore"):
        k, n, m = f.size, f.sum(), g.sum()
        d, e = f == 0, g == 0
        a, b = f / n, g / m
        h = -np.where(a > 0, a * np.log(a), 0).sum()
        t2, t3 = 1 - h / np.log(k), (1 + 0.5 * np.log(n)) / np.sqrt(n)
        r1 = 0.1 * d.mean() + 0.8 * t2 + 0.1 * t3
        first = d.mean() ** ((d | e).sum() / (d & e).sum())
        low = np.minimum(a, b)
        s = 1 - low.sum()
        given = -(
            np.where(low > 0, low * np.log(low / b), 0).sum()
            + np.where(a > low, (a - low) * np.log((a - low) / s), 0).sum()
            + np.where(b > low, (b - low) * np.log((b - low) / b), 0).sum()
        )
        r2 = 0.1 * first + 0.8 * t2 * given / h + 0.1 * t3
        # Contents by the matrix of rounding to 3, applied to each distinct true count.
        values, number = np.unique(f, return_counts=True)
        rest = values % 3
        mu: dict[int, float] = {}
        held: dict[int, float] = {}
        for j, p in ((values - rest, 1 - rest / 3), (values - rest + 3, rest / 3)):
            for value, target, weight in zip(values, j, number * p, strict=True):
                if weight:
                    mu[target] = mu.get(target, 0) + weight
                    held[target] = held.get(target, 0) + value * weight
        seen, inverse = np.unique(g, return_inverse=True)
        content = np.array([held[j] / mu[j] for j in seen])[inverse]
        c = content / content.sum()
        moved = 1 + np.where(c > 0, c * np.log(c), 0).sum() / np.log(k)
        r3 = min(0.1 * first + 0.8 * moved / 3 + 0.1 * t3, r1)
        hd = np.sqrt(0.5 * ((np.sqrt(f) - np.sqrt(g)) ** 2).sum())
        rad = (np.abs(g - f)[f > 0] / f[f > 0]).sum()
        aad = np.abs(g - f).mean()
    return [float(value) for value in (r1, r2, r3, hd, rad, aad)]


def _milliseconds(work: Callable[[], object], runs: int) -> tuple[float, float]:
    cpu, wall, _ = timed(work, runs, warm=1)
    return 1e3 * cpu, 1e3 * wall


def main() -> list[dict[str, object]]:
    """Run, print, write the section, and return the rows."""
    tables = {
        "2,457 cells": census((21, 9, 13), 0.624, 1),
        "245,700 cells": census((2, 2, 21, 5, 13, 9, 5), 0.924, 2),
    }
    rows: list[dict[str, object]] = []
    for name, (true, released) in tables.items():
        np.testing.assert_allclose(ours(true, released), plain(true, released), rtol=1e-9)
        cpu, wall = _milliseconds(lambda t=true, r=released: ours(t, r), RUNS)
        naive, _ = _milliseconds(lambda t=true, r=released: plain(t, r), NAIVE_RUNS)
        rows.append(
            {
                "work": f"all measures, all rows, {name}",
                "cpu_ms": cpu,
                "wall_ms": wall,
                "numpy_cpu_ms": naive,
                "target_ms": TARGETS[name],
            }
        )
    for name, (_, released) in tables.items():
        cpu, wall = _milliseconds(lambda r=released: risk.public_quality(r, METHOD), RUNS)
        rows.append(
            {"work": f"public quality, {name}", "cpu_ms": cpu, "wall_ms": wall, "target_ms": None}
        )
    text = report(rows)
    sys.stdout.write(text + "\n")
    write_section("measures", text)
    return rows


def report(rows: list[dict[str, object]]) -> str:
    """The section of the page."""
    lines = []
    for row in rows:
        naive = row.get("numpy_cpu_ms")
        lines.append(
            [
                str(row["work"]),
                f"{row['cpu_ms']:.2f}",
                f"{row['wall_ms']:.2f}",
                "" if row["target_ms"] is None else f"{row['target_ms']:g}",
                "" if naive is None else f"{naive:.1f}",
                "" if naive is None else f"{naive / row['cpu_ms']:.0f} times",  # type: ignore[operator]
            ]
        )
    header = ["work", "CPU, ms", "wall, ms", "target", "NumPy per row, CPU ms", "faster"]
    return "\n".join(
        [
            "## Measures",
            "",
            "R1, R2 by conditional entropy, risk by the transition, Hellinger distance, RAD and",
            "AAD, of the whole table and of every row along every axis: median of 200 runs. The",
            "plain NumPy version (median of 5) computes the same values, which is checked first.",
            "",
            table(header, lines),
        ]
    )


if __name__ == "__main__":
    main()
