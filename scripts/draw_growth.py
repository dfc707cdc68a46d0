"""Draws the picture of growth in docs/benchmarks.md from what benchmarks/growth.py measured."""

from __future__ import annotations

import json

import matplotlib.pyplot as plt
from drawing import AMBER, BLUE, INK, QUIET, ROOT, save, set_style
from matplotlib.ticker import NullLocator

MEASURED = ROOT / "benchmarks" / "growth.json"
ON_DISK = 10**8  # from which on nothing is loaded
PROGRAMS = {
    "discreet": ("Discreet", BLUE),
    "duckdb": ("DuckDB", AMBER),
    "polars": ("Polars", QUIET),
}
PANELS = (
    ("build or load, CPU s", "build", "build", 1.0),
    ("question, CPU ms", "scanned", "scanned", 1e3),
    ("release, CPU ms", "release", "covered", 1e3),
    ("build or load, MiB", "building", "memory", 1.0),
    ("question and release, MiB", "memory", "memory", 1.0),
)
# Of what hardly grows: by itself the axis would make mountains of it.
BOUNDS = {"release": (0.1, 100), "building": (50, 5000), "memory": (50, 5000)}


def panel(axes: plt.Axes, title: str, ours: str, theirs: str, factor: float) -> None:
    """Draw one quantity by the number of records."""
    filed = json.loads(MEASURED.read_text(encoding="utf-8"))
    sizes = sorted(map(int, filed))
    for name, (label, colour) in PROGRAMS.items():
        key = ours if name == "discreet" else theirs
        if ours == "release" and name != "discreet":
            continue
        there = [size for size in sizes if key in filed[str(size)][name]]
        if ours in {"build", "building"}:  # who loads nothing has no memory for it either
            there = [size for size in there if "build" in filed[str(size)][name]]
        values = [factor * filed[str(size)][name][key] for size in there]
        loaded = sum(size < ON_DISK for size in there)
        axes.plot(there[:loaded], values[:loaded], "o-", color=colour, ms=4, label=label)
        axes.plot(there[loaded:], values[loaded:], "s-", color=colour, ms=4)
        if ours == "build" and name == "discreet" and there[-1] < sizes[-1]:
            more = [values[-1], values[-1] * sizes[-1] / there[-1]]
            axes.plot([there[-1], sizes[-1]], more, "--", color=colour, linewidth=1)
        if ours == "scanned" and name == "discreet":
            covered = [factor * filed[str(size)][name]["covered"] for size in sizes]
            loaded = sum(size < ON_DISK for size in sizes)
            axes.plot(sizes[:loaded], covered[:loaded], "o-", color=colour, ms=4, mfc="white")
            axes.plot(sizes[loaded:], covered[loaded:], "s-", color=colour, ms=4, mfc="white")
            axes.annotate("from a view", (sizes[0], covered[0]), (0, 7), color=INK,
                          textcoords="offset points", fontsize=8)  # fmt: skip
            axes.annotate("from the records", (sizes[2], values[2]), (8, -10), color=INK,
                          textcoords="offset points", fontsize=8)  # fmt: skip
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_title(title)
    axes.set_xlim(sizes[0] / 2, sizes[-1] * 2)
    axes.set_xticks([size for size in sizes if f"{size:e}".startswith("1.0")])
    axes.xaxis.set_minor_locator(NullLocator())
    if ours in BOUNDS:
        axes.set_ylim(*BOUNDS[ours])
    axes.grid(True, color="#e4e7eb", linewidth=0.6)


def main() -> None:
    """Draw the panels of time above those of memory."""
    set_style()
    figure, rows = plt.subplots(2, 3, figsize=(8.4, 4.8), layout="constrained")
    places = (rows[0, 0], rows[0, 1], rows[0, 2], rows[1, 0], rows[1, 1])
    for axes, one in zip(places, PANELS, strict=True):
        panel(axes, *one)
    for axes in rows[1, :2]:
        axes.set_xlabel("records")
    rows[1, 2].axis("off")
    handles, labels = rows[0, 0].get_legend_handles_labels()
    rows[1, 2].legend(handles, labels, frameon=False, loc="center")
    del figure
    save("growth")


if __name__ == "__main__":
    main()
