"""Draws the pictures of docs/redesign.md from the search itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from drawing import AMBER, BLUE, INK, PALE, QUIET, save, set_style

from discreet.desk.redesign.method import least_coarsening
from discreet.desk.redesign.model import Redesign
from discreet.desk.redesign.rules import SmallShare
from discreet.table import Dimension

AGES = ("16-24", "25-34", "35-44", "45-54", "55-64", "65-74", "75+")
OCCUPATIONS = {
    "professional": ["managers", "engineers", "public service"],
    "public service": ["teachers", "nurses"],
    "service": ["clerks", "sales"],
    "manual": ["farmers", "trades", "cleaners"],
    "trades": ["builders", "drivers"],
}
AREAS = {"north": ["n1", "n2", "n3"], "south": ["s1", "s2", "s3", "s4"]}


@dataclass(frozen=True)
class Table:
    counts: Any
    dimensions: tuple[Dimension, ...]


def leaves(groups: dict[str, list[str]]) -> tuple[str, ...]:
    return tuple(code for part in groups.values() for code in part if code not in groups)


def workers() -> Table:
    """Return age by occupation by area of about 4,000 people, drawn from a fixed seed."""
    rng = np.random.default_rng(7)
    jobs, areas = leaves(OCCUPATIONS), leaves(AREAS)
    age = np.array([12, 22, 24, 22, 15, 4, 1])
    job = np.array([9, 5, 7, 8, 12, 12, 1.2, 9, 8, 6])
    area = np.array([5, 3, 1.2, 6, 4, 2, 0.8])
    mean = age[:, None, None] * job[:, None] * area
    mean = mean * rng.gamma(3, 1, mean.shape)
    counts = rng.poisson(4_000 * mean / mean.sum())
    codes = (("age", AGES), ("occupation", jobs), ("area", areas))
    return Table(
        counts, tuple(Dimension(name, name, name, listed, listed) for name, listed in codes)
    )


def way(found: Redesign, limit: float) -> None:
    """Every design that was tried, by its cost and its share of small cells; the way drawn in."""
    assert found.design is not None
    figure, axes = plt.subplots(figsize=(7.2, 3.6), layout="constrained")
    tried = np.array([(entry.cost, limit + (entry.verdict.score or 0)) for entry in found.rejected])
    axes.plot(*tried.T, "o", ms=3.5, color=PALE, mec=QUIET, mew=0.3, label="tried, too many small")
    costs = np.cumsum([0.0, *(step.cost for step in found.steps)])
    shares = [limit + (step.before.score or 0) for step in found.steps]
    shares.append(float(((found.design.counts > 0) & (found.design.counts < 3)).mean()))
    axes.plot(costs, shares, "-o", color=BLUE, ms=4.5, linewidth=1.5, label="the way to the answer")
    for step, cost, share in zip(found.steps, costs[1:], shares[1:], strict=True):
        name = f"{step.variable} {', '.join(step.merged)}".replace("_T", "dropped")
        last = step is found.steps[-1]
        axes.annotate(
            name, (cost, share), (-8, -9) if last else (-6, -3), textcoords="offset points",
            ha="right", va="center" if last else "top", fontsize=7.5,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 1, "alpha": 0.85},
        )  # fmt: skip
    for place, runner in enumerate(found.runners):
        share = float(((runner.counts > 0) & (runner.counts < 3)).mean())
        axes.plot(runner.cost, share, "D", ms=5, color="white", mec=AMBER, mew=1.3,
                  label="next best" if place == 0 else None)  # fmt: skip
    axes.plot(costs[-1], shares[-1], "o", ms=9, color=BLUE, mec=INK, label="the answer")
    axes.axhline(limit, color=AMBER, linewidth=1)
    axes.text(0, limit - 0.004, f"passes: at most {limit:.0%} of the cells are 1 or 2",
              color=AMBER, va="top", fontsize=8)  # fmt: skip
    axes.set_xlabel("cost in nats: log of the cells before over the cells left")
    axes.set_ylabel("share of cells of 1 or 2")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    axes.set_xlim(left=-0.2)
    axes.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1), ncols=4)
    del figure
    save("redesign-way")


def tree(found: Redesign) -> None:
    """The tree of occupations with the cut through it: what is below the line is merged."""
    assert found.design is not None
    left = set(found.design.dimensions[1].codes)
    jobs = leaves(OCCUPATIONS)
    order = [code for code in _walk("all") if code in jobs]
    place: dict[str, tuple[float, int]] = {}

    def put(code: str, depth: int) -> float:
        parts = OCCUPATIONS.get(code, [])
        if code == "all":
            parts = ["professional", "service", "manual"]
        x = float(np.mean([put(part, depth + 1) for part in parts])) if parts else order.index(code)
        place[code] = (x, depth)
        return x

    put("all", 0)
    figure, axes = plt.subplots(figsize=(7.2, 3.0), layout="constrained")
    state = {code: _state(code, left) for code in place}
    for code in place:
        parts = (
            ["professional", "service", "manual"] if code == "all" else OCCUPATIONS.get(code, [])
        )
        for part in parts:
            gone = state[part] == "merged"
            axes.plot(*zip(place[code], place[part], strict=True), color=PALE if gone else QUIET,
                      linewidth=1.2, linestyle=":" if gone else "-", zorder=0)  # fmt: skip
    for code, (x, depth) in place.items():
        kind = state[code]
        axes.text(
            x, depth, code, ha="center", va="center", fontsize=8,
            color={"left": "white", "merged": QUIET, "above": INK}[kind],
            bbox={
                "boxstyle": "round,pad=0.3",
                "facecolor": {"left": BLUE, "merged": "white", "above": "white"}[kind],
                "edgecolor": {"left": BLUE, "merged": PALE, "above": QUIET}[kind],
            },
        )  # fmt: skip
    axes.set_xlim(-0.6, len(order) - 0.4)
    axes.set_ylim(3.4, -0.4)
    axes.axis("off")
    axes.text(-0.55, 3.35, "filled: categories of the answer; dotted: merged into them",
              fontsize=8, color=QUIET)  # fmt: skip
    del figure
    save("redesign-tree")


def _walk(code: str) -> list[str]:
    parts = ["professional", "service", "manual"] if code == "all" else OCCUPATIONS.get(code, [])
    return [code, *(below for part in parts for below in _walk(part))]


def _state(code: str, left: set[str]) -> str:
    if code in left:
        return "left"
    return "above" if left & set(_walk(code)) else "merged"


def main() -> None:
    set_style()
    limit = 0.05
    found = least_coarsening(
        workers(),
        {"occupation": OCCUPATIONS, "area": AREAS},
        SmallShare(limit),
        ordered=["age"],
        keep=["age", "occupation", "area"],
    )
    way(found, limit)
    tree(found)


if __name__ == "__main__":
    main()
