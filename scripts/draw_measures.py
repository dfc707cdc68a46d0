"""Draws the pictures of docs/measures.md from the measures themselves.

Every measure has one picture of three panels: how it moves as the share of zero cells, the
concentration and the size of a table change. Run: python scripts/draw_measures.py [--png FOLDER]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from drawing import save, set_style
from numpy.typing import NDArray

from discreet import risk, utility
from discreet.protect.cells.rounding import RandomRounding
from discreet.risk.public import draws_of
from discreet.risk.terms import concentration, smallness, x_log_x, zero_share
from discreet.table.transition import Transition

Integers = NDArray[np.int64]
SHAPE = (10, 20)
DRAWS = 24
# Okabe and Ito's colours, told apart by everyone.
BLUE, ORANGE, GREEN, GREY, RED = "#0072B2", "#D55E00", "#009E73", "#555555", "#CC79A7"
ROUNDING = RandomRounding(3).transition()
# One person more or less, each with a quarter, zeros kept: the simplest noise.
NOISE = Transition.from_matrix([[1, 0, 0], [0.25, 0.5, 0.25]])
METHODS = (("rounding to 3", ROUNDING, BLUE), ("noise of one", NOISE, ORANGE))

STYLE = {
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "axes.grid": True,
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.8,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "lines.linewidth": 1.8,
}


def family(zeros: float = 0.2, spread: float = 1.2, mean: float = 6.0) -> Integers:
    """A table of 10 × 20 cells with a share of zeros, a lognormal spread and a mean cell."""
    rng = np.random.default_rng(7)
    cells = SHAPE[0] * SHAPE[1]
    weights = np.exp(spread * rng.standard_normal(cells))
    weights[np.argsort(rng.random(cells), kind="stable")[: round(zeros * cells)]] = 0
    exact = weights / weights.sum() * mean * cells
    counts = np.floor(exact + rng.random(cells) * (exact > 0)).astype(np.int64)
    counts[np.argmax(weights)] += counts.sum() == 0
    return counts.reshape(SHAPE)


PANELS: tuple[tuple[str, str, NDArray[Any], bool], ...] = (
    ("zeros", "share of zero cells", np.linspace(0, 0.9, 19), False),
    ("spread", "concentration (spread of log counts)", np.linspace(0, 3, 19), False),
    ("mean", "size (people per cell)", np.geomspace(1, 300, 19), True),
)
Line = tuple[str, str, str]
Measured = Callable[[Integers], list[tuple[float, float, float]]]


def three_panels(name: str, lines: list[Line], measured: Measured, label: str, **axis: Any) -> None:
    """Draw lines over the three ways a table changes; each point is a value with low and high."""
    figure, panels = plt.subplots(1, 3, figsize=(9.6, 2.9), sharey=True, layout="constrained")
    for panel, (knob, text, values, logarithmic) in zip(panels, PANELS, strict=True):
        found = np.array([measured(family(**{knob: float(v)})) for v in values])
        for i, (line, colour, style) in enumerate(lines):
            middle, low, high = found[:, i].T
            panel.plot(values, middle, style, color=colour, label=line)
            if (high > low).any():
                panel.fill_between(values, low, high, color=colour, alpha=0.18, linewidth=0)
        panel.set_xlabel(text)
        if logarithmic:
            panel.set_xscale("log")
    panels[0].set_ylabel(label)
    panels[0].set(**axis)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(lines))
    save(f"measures-{name}")


def exact(*values: float) -> list[tuple[float, float, float]]:
    return [(value, value, value) for value in values]


def releases(true: Integers, method: Transition) -> list[Integers]:
    rng = np.random.default_rng(11)
    return [np.asarray(method.draw(true, rng.random(true.shape))) for _ in range(DRAWS)]


def drawn(
    true: Integers, method: Transition, measure: Callable[[Integers, Integers], float]
) -> tuple[float, float, float]:
    """The mean over releases, and the range that holds nine in ten."""
    values = np.array([float(measure(true, released)) for released in releases(true, method)])
    values = values[np.isfinite(values)]
    if not len(values):
        return (np.nan, np.nan, np.nan)
    return (float(values.mean()), *(float(v) for v in np.quantile(values, [0.05, 0.95])))


def by_method(
    name: str, measure: Callable[[Integers, Integers], float], label: str, **axis: Any
) -> None:
    """Draw a measure of the release under both methods."""
    three_panels(
        name,
        [(method, colour, "-") for method, _, colour in METHODS],
        lambda true: [drawn(true, method, measure) for _, method, _ in METHODS],
        label,
        **axis,
    )


def figure_1() -> None:
    """The three terms of the risk [Shlomo2015, Figure 1], redrawn from the functions."""
    _, (left, middle, right) = plt.subplots(1, 3, figsize=(9.6, 2.9), layout="constrained")
    zeros = np.arange(101)
    left.plot(zeros / 100, zero_share(zeros, 100), color=BLUE)
    left.set(xlabel="proportion of zero cells", ylabel="first term", ylim=(0, 1.02))
    steps = np.arange(10)
    values = []
    for empty in steps:
        table = np.append(np.full(10 - empty, 2520 // (10 - empty)), np.zeros(empty))
        values.append(concentration(table.sum(), x_log_x(table).sum(), 10))
    middle.plot(steps, values, "o-", color=BLUE, markersize=4)
    middle.set(xlabel="zero cells among ten, the rest even", ylabel="second term", ylim=(0, 1.02))
    people = np.geomspace(1, 1e6, 200)
    right.plot(people, smallness(people), color=BLUE)
    right.set(xlabel="people in the table", ylabel="third term", xscale="log", ylim=(0, 1.02))
    save("measures-figure-1")


def sensitivity() -> None:
    """Which cells two rules on magnitudes call sensitive, by the two largest shares."""
    _, panels = plt.subplots(1, 2, figsize=(7.6, 3.6), layout="constrained", sharey=True)
    share = np.linspace(0, 1, 241)
    first, second = np.meshgrid(share, share)
    rest = np.maximum(1 - first - second, 0)
    # The rest is spread over a hundred, so that the second largest is what it says.
    small = np.repeat(rest[..., None] / 100, 100, axis=-1)
    cells = np.concatenate([first[..., None], second[..., None], small], axis=-1)
    valid = (second <= first) & (first + second <= 1) & (small[..., 0] <= second)
    rules = (
        ("dominance, n = 1, k = 60%", risk.dominance(cells, 1, 60)),
        ("p% rule, p = 10", risk.p_percent(cells, 10)),
    )
    for panel, (title, flag) in zip(panels, rules, strict=True):
        shown = np.where(valid, flag.astype(float), np.nan)
        panel.contourf(share, share, shown, levels=[-0.5, 0.5, 1.5], colors=["#dbe9f4", "#f3c9a8"])
        for x, y, text in ((0.59, 0.40, "(59, 40, 1)"), (0.61, 0.20, "(61, 20, 19)")):
            panel.plot(x, y, "o", color=GREY, markersize=5)
            panel.annotate(text, (x, y), textcoords="offset points", xytext=(8, 4), color=GREY)
        panel.set(
            title=title, xlabel="share of the largest contributor", xlim=(0, 1), ylim=(0, 0.55)
        )
        panel.grid(visible=False)
    panels[0].set_ylabel("share of the second largest")
    panels[1].plot([], [], "s", color="#f3c9a8", label="sensitive")
    panels[1].plot([], [], "s", color="#dbe9f4", label="safe")
    panels[1].legend(loc="upper left")
    save("measures-sensitivity")


def public_quality(true: Integers) -> list[tuple[float, float, float]]:
    released = releases(true, ROUNDING)[0]
    values, number = np.unique(released, return_counts=True)
    estimates = draws_of(values, number, ROUNDING)["score"]
    low, high = np.quantile(estimates[1:], [0.025, 0.975])
    score = utility.score(true, released)
    return [(score, score, score), (float(estimates[0]), float(low), float(high))]


def channel(true: Integers) -> list[tuple[float, float, float]]:
    row = true[:1] if true[0].any() else true[:2]
    by_channel = float(risk.after_channel(row, np.stack(releases(row, ROUNDING))))
    return [
        drawn(row, ROUNDING, lambda f, g: float(risk.after(f, g))),
        (by_channel, by_channel, by_channel),
    ]


def margins(true: Integers, released: Integers) -> float:
    changes = utility.margin_differences(true, released)
    both = np.concatenate([np.abs(changes[(0,)]), np.abs(changes[(1,)])])
    return float(both[np.isfinite(both)].mean())


def terms(true: Integers) -> list[tuple[float, float, float]]:
    found = risk.before(true)
    return exact(found.value, found.zeros, found.entropy, found.size)


def split(true: Integers) -> list[tuple[float, float, float]]:
    found = risk.before_split(true)
    return exact(found.value, found.entropy_small, found.entropy_large)


def posterior(true: Integers) -> list[tuple[float, float, float]]:
    rounded, noised = (risk.posterior(method, true) for method in (ROUNDING, NOISE))
    return exact(
        rounded.zeros_true, rounded.correct_claims, noised.small_true, noised.correct_claims
    )


def transition(true: Integers) -> list[tuple[float, float, float]]:
    lines = exact(float(risk.before(true)))
    for _, method, _ in METHODS:
        middle = float(risk.expected_after_transition(true, method))
        _, low, high = drawn(
            true, method, lambda f, g, m=method: float(risk.after_transition(f, g, m))
        )
        lines.append((middle, low, high))
    return lines


def main() -> None:
    set_style(options=STYLE)
    figure_1()
    share = {"ylim": (-0.02, 1.02)}
    before = ("R1 before", GREY, "--")
    three_panels(
        "before",
        [("R1", BLUE, "-"), ("zeros", GREY, ":"), ("entropy", ORANGE, "--"), ("size", GREEN, "-.")],
        terms, "risk", **share,
    )  # fmt: skip
    three_panels(
        "split",
        [("split risk", BLUE, "-"), ("small counts", ORANGE, "--"), ("large counts", GREEN, "-.")],
        split, "risk", **share,
    )  # fmt: skip
    three_panels(
        "slices",
        [
            ("whole table", GREY, "--"),
            ("median row", BLUE, "-"),
            ("median column (bands: nine in ten)", ORANGE, "-"),
        ],
        lambda true: [
            *exact(float(risk.before(true))),
            *(
                (float(np.nanmedian(s)), *(float(v) for v in np.nanquantile(s, [0.05, 0.95])))
                for s in risk.before_rows(true).axes
            ),
        ],
        "R1", **share,
    )  # fmt: skip
    three_panels(
        "after-entropy",
        [before, *((f"R2, {name}", colour, "-") for name, _, colour in METHODS)],
        lambda true: [
            *exact(float(risk.before(true))),
            *(drawn(true, m, lambda f, g: float(risk.after(f, g))) for _, m, _ in METHODS),
        ],
        "risk", ylim=(0, None),
    )  # fmt: skip
    three_panels(
        "after-transition",
        [before, *((name, colour, "-") for name, _, colour in METHODS)],
        transition, "risk", ylim=(0, None),
    )  # fmt: skip
    three_panels(
        "channel",
        [("mean of R2 of a row", BLUE, "-"), ("R2 of its averaged channel", ORANGE, "-")],
        channel, "risk", ylim=(0, None),
    )  # fmt: skip
    three_panels(
        "posterior",
        [
            ("zeros true, rounding", BLUE, "-"),
            ("best guesses right, rounding", BLUE, "--"),
            ("1s and 2s true, noise", ORANGE, "-"),
            ("best guesses right, noise", ORANGE, "--"),
        ],
        posterior, "share", **share,
    )  # fmt: skip
    three_panels(
        "public-quality",
        [("exact utility", GREY, "--"), ("estimate with interval", BLUE, "-")],
        public_quality, "1 − HD/√N",
    )  # fmt: skip
    three_panels(
        "public-gate",
        [("public gate", BLUE, "-"), ("exact risk after", GREY, "--")],
        lambda true: [
            drawn(true, ROUNDING, lambda f, g: float(risk.public_gate(g, 1 / 3))),
            drawn(true, ROUNDING, lambda f, g: float(risk.after_transition(f, g, ROUNDING))),
        ],
        "risk", ylim=(0, None),
    )  # fmt: skip
    sensitivity()
    three_panels(
        "attribute",
        [("columns with 1 or 2 populated cells", BLUE, "-"), ("cells of 1 and 2", ORANGE, "-")],
        lambda true: exact(risk.attribute_disclosure(true, 0).lines, risk.small_share(true)),
        "share", **share,
    )  # fmt: skip
    by_method("small-unchanged", risk.unchanged_small_records, "share of people", **share)
    three_panels(
        "entropy",
        [("before", GREY, "--"), *((name, colour, "-") for name, _, colour in METHODS)],
        lambda true: [
            *exact(risk.median_entropy(true, 0)),
            *(drawn(true, m, lambda f, g: risk.median_entropy(g, 0)) for _, m, _ in METHODS),
        ],
        "median entropy of rows", ylim=(0, None),
    )  # fmt: skip
    by_method("hellinger", utility.hellinger, "Hellinger distance", ylim=(0, None))
    by_method("score", utility.score, "1 − HD/√N", ylim=(None, 1.01))
    by_method("relative-absolute", utility.relative_absolute, "RAD", ylim=(0, None))
    by_method("average-absolute", utility.average_absolute, "AAD", ylim=(0, None))
    by_method("margins", margins, "mean relative change of margins", ylim=(0, None))
    by_method("variance-ratio", lambda f, g: utility.variance_ratio(f, g).mean, "variance ratio")
    by_method("rank-change", lambda f, g: utility.rank_change(f, g).mean, "share of cells", **share)
    three_panels(
        "cramers-v",
        [("before", GREY, "--"), *((name, colour, "-") for name, _, colour in METHODS)],
        lambda true: [
            *exact(utility.cramers_v(true)),
            *(drawn(true, m, lambda f, g: utility.cramers_v(g)) for _, m, _ in METHODS),
        ],
        "Cramér's V", **share,
    )  # fmt: skip


if __name__ == "__main__":
    main()
