"""Draws the pictures of docs/methods.md from the methods themselves."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from drawing import AMBER, BLUE, INK, QUIET, save, set_style
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, PowerNorm

from discreet import protect
from discreet.protect import lookup

SCALE = LinearSegmentedColormap.from_list("chance", ["#ffffff", "#d6e6f2", "#6ca6cd", BLUE])
SHIFT = LinearSegmentedColormap.from_list("shift", [AMBER, "#ffffff", BLUE])


def chances(axes: Axes, matrix: np.ndarray, title: str, columns: int) -> None:
    """A square a pair of true and released count, darker the likelier, with percent inside."""
    shown = np.zeros((len(matrix), columns))
    width = min(columns, matrix.shape[1])
    shown[:, :width] = matrix[:, :width]
    axes.imshow(shown, cmap=SCALE, norm=PowerNorm(0.6, 0, 1), aspect="equal")
    for i, j in zip(*np.nonzero(shown >= 0.005), strict=True):
        axes.text(
            j,
            i,
            f"{shown[i, j] * 100:.0f}",
            ha="center",
            va="center",
            fontsize=6.5,
            color="white" if shown[i, j] > 0.7 else INK,
        )
    axes.set_xticks(range(columns))
    axes.set_yticks(range(len(matrix)))
    axes.set_xticks(np.arange(-0.5, columns), minor=True)
    axes.set_yticks(np.arange(-0.5, len(matrix)), minor=True)
    axes.grid(which="minor", color="#e4e7eb", linewidth=0.5)
    axes.tick_params(which="both", length=0)
    axes.set_xlabel("released count")
    axes.set_ylabel("true count")
    axes.set_title(title, loc="left", pad=8)


def one(name: str, matrix: np.ndarray, title: str, columns: int) -> None:
    figure, axes = plt.subplots(
        figsize=(0.33 * columns + 0.9, 0.33 * len(matrix) + 1.0), layout="constrained"
    )
    chances(axes, matrix, title, columns)
    del figure
    save(f"methods-{name}")


def two(name: str, pairs: list[tuple[str, np.ndarray]], columns: int) -> None:
    rows = len(pairs[0][1])
    figure, both = plt.subplots(
        1, 2, figsize=(0.66 * columns + 1.8, 0.33 * rows + 1.0), layout="constrained"
    )
    for axes, (title, matrix) in zip(both, pairs, strict=True):
        chances(axes, matrix, title, columns)
    del figure
    save(f"methods-{name}")


def totals() -> None:
    """How far the total of a table moves under independent and semi-controlled rounding."""
    counts = np.random.default_rng(1).poisson(4, 500)
    rng = np.random.default_rng(2)
    free = [
        int(protect.RandomRounding(3).apply(counts, rng.random(500)).sum() - counts.sum())
        for _ in range(4000)
    ]
    held = [
        int(protect.SemiControlledRounding(3).apply(counts, rng).sum() - counts.sum())
        for _ in range(4000)
    ]
    figure, axes = plt.subplots(figsize=(6.2, 2.6), layout="constrained")
    limit = max(map(abs, free))
    values = np.arange(-limit, limit + 1)
    share = np.bincount(np.array(free) + limit, minlength=len(values)) / len(free)
    where = share > 0
    axes.bar(values[where], share[where], width=2.4, color=QUIET, label="each cell by itself")
    share = np.bincount(np.array(held) + limit, minlength=len(values)) / len(held)
    where = share > 0
    axes.bar(values[where], share[where], width=1, color=BLUE, label="semi-controlled")
    axes.set_xlabel("change of the total of 500 cells, rounding to base 3")
    axes.set_ylabel("share of draws")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    del figure
    save("methods-semi-controlled-rounding")


def unions() -> None:
    """What the noise of two cells tells of that of their union, with plain sums and the mix."""
    rng = np.random.default_rng(3)
    first, second = rng.integers(0, 2**32, (2, 2_000_000))
    method = protect.CellKeyPerturbation(lookup.max_entropy(5, 3))
    mix = protect.KeyMix(b"a secret for pictures only")
    figure, both = plt.subplots(1, 2, figsize=(7.6, 3.6), layout="constrained")
    image = None
    for axes, title, uniforms in (
        (both[0], "plain key sums", lambda keys: protect.plain_uniforms(keys, 2**32)),
        (both[1], "keyed mix", mix.uniforms),
    ):
        noise = [
            method.apply(np.full(len(first), 50), uniforms(keys)) - 50
            for keys in (first, second, (first + second) % 2**32)
        ]
        group = (noise[0] + 5) * 11 + noise[1] + 5
        size = np.bincount(group, minlength=121)
        mean = np.bincount(group, noise[2], minlength=121) / np.maximum(size, 1)
        explained = np.var(mean[group]) / np.var(noise[2])
        mean[size < 200] = np.nan
        image = axes.imshow(
            mean.reshape(11, 11),
            cmap=SHIFT,
            vmin=-4,
            vmax=4,
            origin="lower",
            extent=(-5.5, 5.5) * 2,
        )
        axes.set_xlabel("noise of the second cell")
        axes.set_ylabel("noise of the first cell")
        axes.set_xticks(range(-4, 5, 2))
        axes.set_yticks(range(-4, 5, 2))
        axes.set_title(f"{title}: R² = {explained:.2f}", loc="left")
    figure.colorbar(image, ax=both, label="mean noise of their union", shrink=0.85)
    save("methods-union-noise")


def main() -> None:
    set_style(frame=True)
    one(
        "random-rounding",
        protect.RandomRounding(3).transition().matrix(9),
        "Random rounding to base 3, percent",
        13,
    )
    one(
        "conventional-rounding",
        protect.ConventionalRounding(3).transition().matrix(9),
        "Conventional rounding to base 3, percent",
        13,
    )
    one(
        "small-cell-adjustment",
        protect.SmallCellAdjustment(3).transition().matrix(6),
        "Small-cell adjustment to base 3, percent",
        10,
    )
    totals()
    published = protect.StochasticPerturbation.published()
    frequencies = [400, 60, 35, 25, 20, 16, 13, 11, 9, 8, 7]
    two(
        "stochastic-perturbation",
        [
            ("The printed matrix, percent", published.transition().matrix(10)),
            (
                "Invariant for given frequencies, percent",
                published.invariant(frequencies).transition().matrix(10),
            ),
        ],
        14,
    )
    two(
        "cell-key-perturbation",
        [
            ("Bound 5, variance 3, percent", lookup.max_entropy(5, 3).transition().matrix(9)),
            (
                "The same without 1 and 2, percent",
                lookup.max_entropy(5, 3, forbid=(1, 2)).transition().matrix(9),
            ),
        ],
        15,
    )
    one(
        "normal-lookup",
        lookup.normal().transition().matrix(7),
        "Truncated normal, variance 2, percent",
        13,
    )
    one(
        "sampling",
        protect.Sampling(0.25).transition().matrix(8),
        "Sampling of one record in four, percent",
        9,
    )
    unions()


if __name__ == "__main__":
    main()
