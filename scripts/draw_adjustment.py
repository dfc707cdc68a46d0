"""Draws the pictures of docs/adjustment.md from the functions."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from drawing import AMBER, BLUE, INK, QUIET, save, set_style
from matplotlib.patches import Rectangle

from discreet.desk.adjust.method import ControlledAdjustment
from discreet.desk.cells import read_cells
from discreet.desk.sensitivity import Given
from discreet.protect import CountAdjustment, SmallCountRounding
from discreet.solve import TableSystem

ROOT = Path(__file__).parents[1]
TOTALS = {
    "level": {"3": ["1", "2"]},
    "row": {"8": list("1234567")},
    "column": {"7": list("123456")},
}


def table_of_changes() -> None:
    """Dandekar's table, adjusted as a whole and in part: what moved, and by how many percent."""
    table = read_cells(ROOT / "tests" / "published" / "dandekar" / "table.csv", TOTALS)
    assert table.sensitive is not None
    _, axes = plt.subplots(2, 3, figsize=(9.6, 6.2), layout="constrained")
    for row, (above, how) in enumerate(((None, "whole table"), (3_000.0, "part above 3,000"))):
        found = ControlledAdjustment(above=above).adjust(
            table, [Given(10)], np.random.default_rng(1)
        )
        change = found.values - table.values
        with np.errstate(divide="ignore", invalid="ignore"):
            percent = np.where(table.values > 0, 100 * change / table.values, 0)
        for level in range(3):
            axis = axes[row, level]
            axis.set_title(f"{('level 1', 'level 2', 'both levels')[level]}, {how} adjusted")
            _cells(axis, table, found.values, percent, level)
    save("adjustment-dandekar")


def counts() -> None:
    """Changes of totals: small counts rounded, and adjusted with the help of larger ones."""
    rng = np.random.default_rng(4)
    true = rng.poisson(rng.gamma(0.5, 8, (12, 10, 6)))
    system = TableSystem.of(true.shape)
    sums = np.diff(system.members.indptr)[system.variable].reshape(system.shape) > 1
    before = system.values(true)
    _, axes = plt.subplots(figsize=(6.4, 2.9), layout="constrained")
    methods = (
        (SmallCountRounding(3), "small counts rounded, others stay", AMBER),
        (CountAdjustment(3), "adjusted: larger counts give way", BLUE),
    )
    for k, (method, label, colour) in enumerate(methods):
        after = system.values(method.apply(true, np.random.default_rng(1)))
        size = np.abs(after - before)[sums].astype(int)
        shares = np.bincount(size, minlength=8)[:8] / len(size)
        axes.bar(np.arange(8) + 0.4 * k - 0.2, 100 * shares, 0.38, color=colour, label=label)
    axes.set_xlabel("change of a total, in people")
    axes.set_ylabel("percent of totals")
    axes.legend(frameon=False)
    save("methods-count-adjustment")


def _cells(axis, table, released, percent, level) -> None:
    rows, columns = table.shape[1:]
    for i in range(rows):
        for j in range(columns):
            value, moved = released[level, i, j], percent[level, i, j]
            colour = BLUE if moved > 0 else AMBER
            strength = min(abs(moved) / 10, 1) * 0.55 if abs(moved) > 1e-9 else 0
            axis.add_patch(Rectangle((j, i), 1, 1, color=colour, alpha=strength, lw=0))
            if table.values[level, i, j]:
                bold = "bold" if table.sensitive[level, i, j] else "normal"
                axis.text(j + 0.93, i + 0.5, f"{value:,.0f}", ha="right", va="center",
                          weight=bold, fontsize=7)  # fmt: skip
                if table.sensitive[level, i, j]:
                    axis.add_patch(
                        Rectangle((j + 0.04, i + 0.04), 0.92, 0.92, fill=False, ec=INK, lw=0.9)
                    )
    axis.axhline(rows - 1, color=QUIET, lw=0.8)
    axis.axvline(columns - 1, color=QUIET, lw=0.8)
    axis.set(xlim=(0, columns), ylim=(rows, 0))
    axis.set_xticks(np.arange(columns) + 0.5, [*"123456", "total"])
    axis.set_yticks(np.arange(rows) + 0.5, [*"1234567", "total"])
    axis.tick_params(length=0, colors=QUIET)
    for spine in axis.spines.values():
        spine.set_color(QUIET)


if __name__ == "__main__":
    set_style()
    counts()
    set_style(frame=True)
    plt.rcParams.update({"font.size": 8, "axes.titlesize": 9})
    table_of_changes()
