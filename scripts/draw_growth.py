"""Draws the picture of growth in docs/benchmarks.md from what benchmarks/growth.py measured."""

from __future__ import annotations

import json

import matplotlib.pyplot as plt
from drawing import AMBER, BLUE, INK, QUIET, ROOT, save, set_style

MEASURED = ROOT / "benchmarks" / "growth.json"
FURTHEST = 10**9
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
BOUNDS = {"release": (1, 100), "building": (50, 5000), "memory": (50, 5000)}


def panel(axes: plt.Axes, title: str, ours: str, theirs: str, factor: float) -> None:
    """Draw one quantity by the number of records; beyond the last point it is not measured."""
    filed = json.loads(MEASURED.read_text(encoding="utf-8"))
    sizes = sorted(map(int, filed))
    for name, (label, colour) in PROGRAMS.items():
        key = ours if name == "discreet" else theirs
        if ours == "release" and name != "discreet":
            continue
        values = [factor * filed[str(size)][name][key] for size in sizes]
        axes.plot(sizes, values, "o-", color=colour, ms=4, label=label)
        if ours in {"build", "scanned"}:
            more = [values[-1], values[-1] * FURTHEST / sizes[-1]]
            axes.plot([sizes[-1], FURTHEST], more, "--", color=colour, linewidth=1)
        if ours == "scanned" and name == "discreet":
            covered = [factor * filed[str(size)][name]["covered"] for size in sizes]
            axes.plot(sizes, covered, "o-", color=colour, ms=4, mfc="white")
            axes.annotate("from a view", (sizes[-1], covered[-1]), (6, -3), color=INK,
                          textcoords="offset points", fontsize=8)  # fmt: skip
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_title(title)
    axes.set_xlim(sizes[0] / 2, FURTHEST * 1.5)
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
