"""Speed and quality of the optimisers, beside what other programs gave on the same tables.

The tables of other programs are read from the folder named by DISCREET_PEERS, or from
shared/peers beside the checkout; without them their lines are left out, with a message.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from report import PEERS, table, timed, write_section

from discreet.risk import audit, rounded_range
from discreet.solve import (
    Solution,
    TableSystem,
    closest_additive,
    controlled_rounding,
    round_small_counts,
    tightened,
)
from discreet.table.files import read_table

RUNS = 3
# SmallCountRounding 1.2.5 (R) on the same tables: largest difference, RMSE where known, CPU s.
PEER = {"tab_1ks": (3, None, 0.3), "tab_10k": (5, None, 0.5), "tab_100k": (9, 0.784, 5.0)}


def census(shape: tuple[int, ...], seed: int, mean: float = 10) -> NDArray[np.int64]:
    """Counts like those of a census table: many small ones, a few large."""
    rng = np.random.default_rng(seed)
    return np.asarray(rng.poisson(rng.gamma(0.5, 2 * mean, shape)), np.int64)


def audits() -> list[tuple[str, ...]]:
    rows = []
    rng = np.random.default_rng(1)
    for shape, share, wanted in (
        ((100, 100), 0.2, "2"),
        ((100, 100), 0.5, ""),
        ((10, 10, 10), 0.3, ""),
    ):
        counts = census(shape, 1)
        system = TableSystem.of(shape)
        values = system.values(counts)
        hidden = np.zeros(system.shape, bool)
        hidden[tuple(slice(0, size) for size in shape)] = rng.random(shape) < share
        low, high = np.where(hidden, 0, values), np.where(hidden, np.inf, values)
        cpu, wall, found = timed(lambda s=system, a=low, b=high: audit(s, a, b), RUNS)
        first = tightened(system.equations, *system.merge(low, high))
        flat = hidden.ravel()
        same = (first.low == found.low.ravel()) & (first.high == found.high.ravel())
        name = " × ".join(map(str, shape))
        rows.append(
            (
                f"{name}, {share:.0%} withheld, {int(hidden.sum()):,} cells",
                f"{cpu:.2f}",
                f"{wall:.2f}",
                wanted,
                f"{found.proof.status}; {same[flat].mean():.1%} by tightening alone; "
                f"{found.risk.certain.ravel()[flat].mean():.1%} exact",
            )
        )
    rows.append(many())
    counts = census((30, 30), 2)
    system = TableSystem.of((30, 30))
    true = system.values(counts)
    ups = rng.random(true.shape) * 3 < true % 3
    bounds = rounded_range(3 * (true // 3 + ups), 3, random=True)
    cpu, wall, found = timed(lambda: audit(system, *bounds), RUNS)
    rows.append(
        (
            "30 × 30, all figures and totals rounded at random by themselves",
            f"{cpu:.2f}",
            f"{wall:.2f}",
            "",
            f"{found.proof.status}; {found.risk.certain.mean():.1%} exact; mean possible values "
            f"{found.risk.possible.mean():.2f} (rounding alone: "
            f"{(bounds[1] - bounds[0] + 1).mean():.2f})",
        )
    )
    return rows


def many() -> tuple[str, ...]:
    """A three-way table of 8,000 cells: which ends are final for reals, and which for integers."""
    shape, share = (20, 20, 20), 0.2
    system = TableSystem.of(shape)
    values = system.values(census(shape, 1))
    hidden = np.zeros(system.shape, bool)
    hidden[tuple(slice(0, size) for size in shape)] = np.random.default_rng(3).random(shape) < share
    low, high = np.where(hidden, 0, values), np.where(hidden, np.inf, values)
    cpu, wall, found = timed(lambda: audit(system, low, high))
    flat = hidden.ravel()
    reals = found.proof.linear[:, system.variable][:, flat]
    whole = found.attained.reshape(2, -1)[:, flat]
    return (
        f"20 × 20 × 20, {share:.0%} withheld, {int(hidden.sum()):,} cells, one run",
        f"{cpu:.2f}",
        f"{wall:.2f}",
        "",
        f"{found.proof.status}; {reals.mean():.1%} of ends final for reals, {whole.mean():.1%} for "
        "integers",
    )


def roundings() -> list[tuple[str, ...]]:
    rows = []
    for shape, wanted in (
        ((1000, 1000), "1"),
        ((10, 10, 10), ""),
        ((20, 20, 20), ""),
        ((4, 4, 4, 4), ""),
    ):
        counts = census(shape, 1)

        def work(counts: NDArray[np.int64] = counts) -> Solution:
            return controlled_rounding(counts, 3, np.random.default_rng(1))

        cpu, wall, found = timed(work, RUNS)
        rows.append(
            (
                f"controlled rounding, {' × '.join(map(str, shape))}, base 3",
                f"{cpu:.2f}",
                f"{wall:.2f}",
                wanted,
                f"{found.status}; largest distance {found.gap:.0f}",
            )
        )
    return rows


def additive() -> list[tuple[str, ...]]:
    rows = []
    for shape, wanted in (
        ((100, 100), ""),
        ((20, 20, 20), "3, within 1.4 of the bound"),
        ((8, 8, 8, 8), ""),
    ):
        rng = np.random.default_rng(1)
        system = TableSystem.of(shape)
        values = system.values(census(shape, 1))
        noise = np.rint(rng.normal(0, np.sqrt(3), values.shape)).clip(-5, 5)
        target = np.where(values > 0, np.maximum(values + noise, 0), 0).astype(np.int64)

        def work(system: TableSystem = system, target: NDArray[np.int64] = target) -> Solution:
            return closest_additive(system, target, np.random.default_rng(1))

        cpu, wall, found = timed(work, RUNS)
        distance = int(np.abs(system.values(found.values) - target).sum())
        rows.append(
            (
                f"closest additive table, {' × '.join(map(str, shape))}, all margins",
                f"{cpu:.2f}",
                f"{wall:.2f}",
                wanted,
                f"{found.status}; change {distance:,}, {1 + found.gap:.3f} times the lower bound",
            )
        )
    return rows


def peers() -> list[tuple[str, ...]]:
    rows = []
    for name, (largest, root, seconds) in PEER.items():
        path = PEERS / f"{name}.csv"
        if not path.exists():
            print(f"{name}: no file in {PEERS.name}; set DISCREET_PEERS. Left out.")
            continue
        counts = read_table(path).counts

        def work(counts: NDArray[np.int64] = counts) -> Solution:
            system = TableSystem.of(counts.shape)
            return round_small_counts(system, counts, 3, np.random.default_rng(1))

        cpu, wall, found = timed(work, RUNS)
        system = TableSystem.of(counts.shape)
        change = system.values(found.values) - system.values(counts)
        theirs = f"{largest}" + (f" and {root}" if root else "")
        rows.append(
            (
                f"counts below 3 rounded, {name}, {change.size:,} cells",
                f"{cpu:.2f}",
                f"{wall:.2f}",
                f"{seconds:g}",
                f"largest change {found.gap:.0f}, RMSE {np.sqrt((change**2).mean()):.3f} "
                f"(SmallCountRounding: {theirs}, {seconds:g} s)",
            )
        )
    return rows


def main() -> None:
    rng = np.random.default_rng(0)
    # Compile before the clock runs.
    audit(TableSystem.of((3, 3)), np.zeros((4, 4)), np.full((4, 4), 9.0))
    controlled_rounding(census((3, 3), 1), 3, rng)
    controlled_rounding(census((3, 3, 3), 1), 3, rng)
    text = table(
        ("work", "CPU, s", "wall, s", "CPU wanted, s", "result"),
        [*audits(), *roundings(), *additive(), *peers()],
    )
    write_section(
        "optimisers",
        "## Optimisers\n\nMedians of three runs; the last column is the result. "
        "SmallCountRounding (R) ran on another day: compare orders of magnitude.\n\n" + text,
    )
    print(text)


if __name__ == "__main__":
    main()
