"""Draws the pictures of docs/optimisers.md, and two of docs/methods.md, from the functions."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from drawing import AMBER, BLUE, INK, QUIET, save, set_style

from discreet import protect, risk
from discreet.solve import TableSystem, controlled_rounding


def census(shape: tuple[int, ...], seed: int, mean: float) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.poisson(rng.gamma(0.7, mean / 0.7, shape))


def intervals() -> None:
    """Every withheld cell of a table as the interval that can be proved, the true count inside."""
    counts = census((12, 10), 4, 12)
    system = TableSystem.of(counts.shape)
    values = system.values(counts)
    hidden = np.zeros(system.shape, bool)
    hidden[:-1, :-1] = (counts > 0) & (counts < 4)
    found = risk.audit(system, np.where(hidden, 0, values), np.where(hidden, np.inf, values))
    cells = np.flatnonzero(hidden)
    width = (found.high - found.low).flat[cells]
    order = cells[np.lexsort((cells, width))]
    figure, axes = plt.subplots(figsize=(7.2, 3.0), layout="constrained")
    for place, cell in enumerate(order):
        low, high = found.low.flat[cell], found.high.flat[cell]
        exact = low == high
        axes.plot([place, place], [low, high], color=AMBER if exact else BLUE, linewidth=5,
                  solid_capstyle="butt")  # fmt: skip
        axes.plot(place, values.flat[cell], "o", ms=6 if exact else 4,
                  color=AMBER if exact else "white", mec=INK, mew=0.8)  # fmt: skip
    axes.plot([], [], color=BLUE, linewidth=5, label="what can be proved")
    axes.plot([], [], "o", color="white", mec=INK, label="the true count")
    axes.plot([], [], "o", color=AMBER, mec=INK, label="proved exactly")
    axes.set_xlabel("withheld cells, the narrowest first")
    axes.set_ylabel("count")
    axes.set_xticks([])
    axes.legend(frameon=False, loc="upper left")
    del figure
    save("optimisers-intervals")


def unpicking() -> None:
    """Possible values of a cell, by how many cells its totals have, all rounded by themselves."""
    sizes = (2, 3, 4, 6, 10, 20)
    means = []
    for size in sizes:
        possible = []
        for seed in range(400 // size):
            rng = np.random.default_rng(seed)
            system = TableSystem.of((size,))
            true = system.values(census((size,), seed, 20))
            ups = rng.random(true.shape) * 3 < true % 3
            bounds = risk.rounded_range(3 * (true // 3 + ups), 3, random=True)
            possible += risk.audit(system, *bounds).risk.possible[:-1].tolist()
        sample = np.array(possible)
        means.append([(sample <= most).mean() for most in (1, 3, 4)])
    share = np.array(means)
    figure, axes = plt.subplots(figsize=(6.2, 2.8), layout="constrained")
    axes.bar(range(len(sizes)), share[:, 2], color="#d6e6f2", label="4 or fewer")
    axes.bar(range(len(sizes)), share[:, 1], color=BLUE, label="3 or fewer")
    axes.bar(range(len(sizes)), share[:, 0], color=AMBER, label="1: proved exactly")
    axes.set_xticks(range(len(sizes)), [str(size) for size in sizes])
    axes.set_xlabel("cells in a total; cells and total rounded to base 3 by themselves")
    axes.set_ylabel("share of cells")
    axes.legend(frameon=False, title="possible values")
    del figure
    save("optimisers-unpicking")


def controlled() -> None:
    """Change of all cells and totals of a two-way table: rounded freely, and under control."""
    counts = census((20, 20), 1, 8)
    system = TableSystem.of(counts.shape)
    true = system.values(counts)
    rng = np.random.default_rng(2)
    free, held = [], []
    for _ in range(200):
        loose = protect.RandomRounding(3).apply(counts, rng.random(counts.shape))
        free.append((system.values(loose) - true)[:-1, -1])
        tight = protect.ControlledRounding(3).apply(counts, rng)
        held.append((system.values(tight) - true)[:-1, -1])
    figure, axes = plt.subplots(figsize=(6.2, 2.6), layout="constrained")
    bins = np.arange(-19.5, 20)
    for sample, colour, label in (
        (free, QUIET, "each cell by itself"),
        (held, BLUE, "controlled"),
    ):
        share, _ = np.histogram(np.concatenate(sample), bins)
        where = share > 0
        axes.bar((bins[:-1] + 0.5)[where], share[where] / share.sum(), width=0.9, color=colour,
                 label=label)  # fmt: skip
    axes.set_xlabel("change of the total of a row of 20 cells, rounding to base 3")
    axes.set_ylabel("share of draws")
    axes.legend(frameon=False)
    del figure
    save("methods-controlled-rounding")


def small() -> None:
    """Change of the two-way totals of a three-way table when only small counts are rounded."""
    counts = census((12, 10, 8), 3, 2)
    system = TableSystem.of(counts.shape)
    true = system.values(counts)
    rng = np.random.default_rng(2)
    loose = [
        protect.SmallCellAdjustment(3).apply(counts, rng.random(counts.shape)) for _ in range(20)
    ]
    tight = [protect.SmallCountRounding(3).apply(counts, rng) for _ in range(20)]
    figure, axes = plt.subplots(figsize=(6.2, 2.6), layout="constrained")
    bins = np.arange(-24.5, 25)
    totals = np.ones(system.shape, bool)
    totals[:-1, :-1, :-1] = False
    for sample, colour, label in (
        (loose, QUIET, "each cell by itself"),
        (tight, BLUE, "chosen for the totals"),
    ):
        change = np.concatenate([(system.values(table) - true)[totals] for table in sample])
        share, _ = np.histogram(change, bins)
        where = share > 0
        axes.bar((bins[:-1] + 0.5)[where], share[where] / share.sum(), width=0.9, color=colour,
                 label=label, alpha=1 if colour == QUIET else 0.75)  # fmt: skip
    axes.set_xlabel("change of a total, counts of 1 and 2 rounded to 0 or 3")
    axes.set_ylabel("share of totals")
    axes.legend(frameon=False)
    del figure
    save("methods-small-count-rounding")


def bias() -> None:
    """Mean change of each cell over many draws, by its rest, two-way and three-way."""
    figure, both = plt.subplots(1, 2, figsize=(7.2, 2.8), layout="constrained", sharey=True)
    for axes, shape, title in (
        (both[0], (8, 8), "8 × 8: exactly unbiased"),
        (both[1], (4, 4, 4), "4 × 4 × 4: close to it"),
    ):
        counts = census(shape, 5, 8)
        draws = 300
        mean = np.mean(
            [
                controlled_rounding(counts, 5, np.random.default_rng(k)).values - counts
                for k in range(draws)
            ],
            axis=0,
        )
        rest = counts % 5
        rng = np.random.default_rng(1)
        axes.plot(rest.ravel() + rng.uniform(-0.25, 0.25, rest.size), mean.ravel(), "o", ms=4,
                  color=BLUE, mec="white", mew=0.5)  # fmt: skip
        level = np.arange(5)
        band = 2 * np.sqrt(level * (5 - level) / draws)
        axes.fill_between(level, -band, band, color="#d6e6f2", zorder=0)
        axes.axhline(0, color=QUIET, linewidth=0.8)
        axes.set_xticks(level)
        axes.set_xlabel("rest of the true count, base 5")
        axes.set_title(title, loc="left")
    both[0].set_ylabel(f"mean change, {draws} draws")
    del figure
    save("optimisers-bias")


def main() -> None:
    set_style()
    intervals()
    unpicking()
    controlled()
    small()
    bias()


if __name__ == "__main__":
    main()
