"""Study of what can be said of a released table from itself alone; writes docs/public-quality.md.

Synthetic tables of many sizes and shapes are protected by six methods, many times. For each draw
the public estimates (released table and method alone) are set against the exact values (true
table), and the public gate against the custodian's measure.
"""

from __future__ import annotations

import csv
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from discreet import risk, utility
from discreet.protect.cells.rounding import RandomRounding
from discreet.risk.prior import LARGEST, dense_flow, fit_prior
from discreet.risk.public import draws_of
from discreet.risk.terms import smallness
from discreet.risk.transition import contents_term
from discreet.table.transition import Transition

ROOT = Path(__file__).parents[1]
LIMIT = 0.15
SIZES = (10, 50, 200, 2457)
SHAPES = ("even", "skewed", "sparse", "peaked")
DRAWS = 60


def designed(bound: int, variance: float, forbidden: tuple[int, ...] = ()) -> Transition:
    """A cell-key matrix: p ∝ exp(a·v + b·v²) on the allowed changes, mean 0, variance as asked.

    Where the variance asked cannot be had near zero, the flattest one with mean 0 stands.
    """
    last = 2 * bound + max(forbidden, default=0)
    matrix = np.zeros((last + 1, last + bound + 1))
    matrix[0, 0] = 1
    for i in range(1, last + 1):
        values = np.array(
            [j for j in range(max(0, i - bound), i + bound + 1) if j not in forbidden]
        )
        matrix[i, values] = _row((values - i).astype(float), variance)
    return Transition.from_matrix(matrix)


def _row(v: NDArray[np.float64], variance: float) -> NDArray[np.float64]:
    best = None
    for b in np.concatenate([[0.0], -np.geomspace(1e-3, 20, 400)]):
        low, high = -50.0, 50.0
        for _ in range(80):
            a = (low + high) / 2
            log = a * v + b * v**2
            p = np.exp(log - log.max())
            p /= p.sum()
            low, high = (a, high) if (p * v).sum() < 0 else (low, a)
        best = p
        if (p * v**2).sum() <= variance:
            break
    assert best is not None
    return best


def normal(variance: float = 2, bound: int = 5) -> Transition:
    """Discretised normal, truncated to −min(x, 5)…+5, zeros kept [Longhurst2007]."""
    matrix = np.zeros((bound + 1, 2 * bound + 1))
    matrix[0, 0] = 1
    for i in range(1, bound + 1):
        v = np.arange(-min(i, bound), bound + 1)
        p = np.exp(-(v**2) / (2 * variance))
        matrix[i, i + v] = p / p.sum()
    return Transition.from_matrix(matrix)


def stochastic() -> Transition:
    """The matrix in print [Shlomo2015, Table 3]: it never makes or removes a zero."""
    rows: list[tuple[int, list[int], float]] = [(0, [], 1.0)]
    rows += [(i, [j for j in range(1, 6) if j != i], 0.5) for i in (1, 2)]
    rows += [(i, [j for j in range(1, 8) if j != i], 0.9) for i in (3, 4)]
    rows += [(i, [j for j in range(i - 3, i + 4) if j != i], 0.9) for i in range(5, 12)]
    rows += [(10 + r, [j for j in range(9, 16) if j != 10 + r], 0.9) for r in range(2, 6)]
    matrix = np.zeros((16, 19))
    for i, others, stay in rows:
        matrix[i, i] = stay
        matrix[i, others] = (1 - stay) / max(len(others), 1)
    return Transition.from_matrix(matrix, period=5)


METHODS = {
    "rounding to 3": RandomRounding(3).transition(),
    "rounding to 5": RandomRounding(5).transition(),
    "cell keys, D 5, V 3": designed(5, 3),
    "cell keys, no 1s and 2s": designed(5, 3, (1, 2)),
    "normal, variance 2": normal(),
    "stochastic matrix": stochastic(),
}
MULTIPLIERS = {name: risk.mean_diagonal(method) for name, method in METHODS.items()}


def table(cells: int, shape: str, rng: np.random.Generator) -> NDArray[np.int64]:
    """A table of Poisson counts: lognormal means, structural zeros, or a few cells with most."""
    if shape == "peaked":
        rates = 10.0 * cells * np.arange(1, cells + 1) ** -rng.uniform(1.0, 2.5)
        counts = rng.poisson(rng.permutation(rates))
        counts[0] += counts.sum() == 0
        return counts.astype(np.int64)
    mean, sigma, empty = {
        "even": (60.0, 0.6, 0.0),
        "skewed": (15.0, 1.6, 0.1),
        "sparse": (4.0, 2.2, 0.5),
    }[shape]
    rates = mean * np.exp(rng.normal(0, sigma, cells)) * (rng.random(cells) >= empty)
    counts = rng.poisson(np.minimum(rates, 1e6))
    counts[0] += counts.sum() == 0
    return counts.astype(np.int64)


@dataclass
class Draw:
    """One released table: its size and kind, and every estimate beside the exact value."""

    method: str
    shape: str
    cells: int
    mean: float
    score: float
    estimate: float
    low: float
    high: float
    shown: bool
    unchanged: float
    unchanged_estimate: float
    unchanged_low: float
    unchanged_high: float
    naive: float
    free: float
    exact_gate: float
    gate: float
    point: float
    over: bool
    over_printed: bool


def naive_and_free(released: NDArray[np.int64], method: Transition) -> tuple[float, float]:
    """HD estimates without smoothness: the released table as if true, and a free prior by EM."""
    values, number = np.unique(released, return_counts=True)
    naive = float(np.sqrt(utility.expected_hellinger_square(released, method)))
    flow = dense_flow(method)
    seen = np.zeros(flow.shape[1])
    np.add.at(seen, np.minimum(values, flow.shape[1] - 1), number)
    shares = np.full(len(flow), 1 / len(flow))
    for _ in range(500):
        chance = np.maximum(shares @ flow, 1e-300)
        shares = shares * (flow @ (seen / chance)) / seen.sum()
    true = np.arange(len(flow) - 1)[:, None]
    square = 0.5 * np.square(np.sqrt(true) - np.sqrt(np.arange(flow.shape[1] - 1)))
    small = seen.sum() * (shares[:-1, None] * flow[:-1, :-1] * square).sum()
    large = released[released >= flow.shape[1] - 1]
    rest = utility.expected_hellinger_square(large, method) if len(large) else 0.0
    return naive, float(np.sqrt(small + rest))


def point_gate(released: NDArray[np.int64], name: str) -> float:
    """The custodian's measure with the fitted prior in the place of the true table."""
    values, number = np.unique(released, return_counts=True)
    prior = fit_prior(values, number, METHODS[name])
    true = np.arange(len(prior.flow) - 1)
    joint = prior.shares[:-1, None] * prior.flow[:-1, :-1]
    chance = joint / np.maximum(joint.sum(axis=0), 1e-300)
    contents = np.concatenate([true @ chance, values[values > LARGEST]])
    held = np.zeros(LARGEST + 1)
    held[values[values <= LARGEST]] = number[values <= LARGEST]
    cells = np.concatenate([held, number[values > LARGEST]])
    entropy = MULTIPLIERS[name] * contents_term(contents, cells)
    share, true_zero = float(prior.shares[0]), float(chance[0, 0])
    zeros = share ** (1 / true_zero) if share > 0 and true_zero > 0 else 0.0
    return 0.1 * zeros + 0.8 * entropy + 0.1 * float(smallness(max(released.sum(), 1)))


def one(name: str, shape: str, true: NDArray[np.int64], rng: np.random.Generator) -> Draw:
    """Protect one table and measure it both ways."""
    method, cells = METHODS[name], true.size
    released = method.draw(true, rng.random(true.shape))
    values, number = np.unique(released, return_counts=True)
    quality = risk.public_quality(released, method)
    drawn = draws_of(values, number, method)
    low, high = np.quantile(drawn["score"][1:], [0.025, 0.975])
    naive, free = naive_and_free(released, method)
    exact = utility.hellinger(true, released)
    psi = MULTIPLIERS[name]
    after = risk.after_transition(true, released, method, multiplier=psi)
    printed = risk.after_transition(true, released, method, multiplier=psi, contents="observed")
    ratio = max(exact, 1e-12)
    return Draw(
        name, shape, cells, float(released.mean()), utility.score(true, released),
        float(drawn["score"][0]), float(low), float(high), quality.score is not None,
        float((true == released).mean()), float(drawn["unchanged"][0]),
        *(float(q) for q in np.quantile(drawn["unchanged"][1:], [0.025, 0.975])),
        naive / ratio - 1, free / ratio - 1,
        float(after), float(risk.public_gate(released, psi)), point_gate(released, name),
        after.capped, printed.capped,
    )  # fmt: skip


def published() -> dict[str, NDArray[np.int64]]:
    """The four tables of [Antal2014]: real counts, which no constant here was fitted to."""
    tables = {}
    for path in sorted((ROOT / "tests" / "published" / "antal2014").glob("*.csv")):
        lines = list(csv.reader(path.read_text(encoding="utf-8").splitlines()))
        width = sum(name.startswith("c") for name in lines[0])
        rows = [[int(x) for x in line[1 : width + 1]] for line in lines if line[0].isdigit()]
        tables[path.stem] = np.array(rows).ravel()
    return tables


def heaped() -> tuple[float, float]:
    """A table of multiples of 5 rounded to 5: nothing changes, and nothing released shows it."""
    rng = np.random.default_rng(5)
    true = 5 * np.maximum(table(2457, "skewed", rng) // 5, 1)
    draw = one("rounding to 5", "heaped", true, rng)
    return draw.score, draw.estimate


def main() -> None:
    rng = np.random.default_rng(20)
    draws = [
        one(name, shape, table(cells, shape, rng), rng)
        for name in METHODS
        for shape in SHAPES
        for cells in SIZES
        for _ in range(DRAWS)
    ]
    draws += [
        one(name, shape, table(245_700, shape, rng), rng) for name in METHODS for shape in SHAPES
    ]
    real = [
        one(name, shape, counts, rng)
        for name in METHODS
        for shape, counts in published().items()
        for _ in range(DRAWS)
    ]
    (ROOT / "docs" / "public-quality.md").write_text(report(draws, real), encoding="utf-8")
    sys.stdout.write(report(draws, real))


def rms(values: list[float]) -> float:
    return float(np.sqrt(np.mean(np.square(values)))) if values else float("nan")


def bias(draws: list[Draw], kind: str) -> str:
    """The mean relative error of the Hellinger distance, in percent."""
    if kind == "smooth":
        errors = [(1 - d.estimate) / max(1 - d.score, 1e-9) - 1 for d in draws if d.score < 1]
    else:
        errors = [getattr(d, kind) for d in draws if d.score < 1]
    return f"{100 * float(np.mean(errors)):+.0f}%"


def published_line(name: str, draws: list[Draw]) -> str:
    """One published table over all methods."""
    error = rms([d.estimate - d.score for d in draws])
    held = np.mean([d.low <= d.score <= d.high for d in draws])
    same = np.mean([d.unchanged_low <= d.unchanged <= d.unchanged_high for d in draws])
    shown = np.mean([d.shown for d in draws])
    unsafe = sum(d.gate <= LIMIT < d.exact_gate for d in draws)
    mean = np.mean([d.mean for d in draws])
    return (
        f"| {name} | {draws[0].cells} | {mean:.0f} | {error:.4f} | {held:.0%} | {same:.0%} "
        f"| {shown:.0%} | {unsafe} |"
    )


def report(draws: list[Draw], real: list[Draw]) -> str:
    """The page, with its figures."""
    lines = [
        "# What the public may know about the quality of a table",
        "",
        "<!-- Written by scripts/study_public_quality.py: edit there. -->",
        "",
        f"{len(draws):,} tables were drawn, protected and measured twice: by `public_quality` and",
        "`public_gate`, which know only the released table and the method; and exactly, from the",
        "true table. Tables are Poisson counts around lognormal means: *even* (mean 60), *skewed*",
        "(about 50, a tenth of the cells empty) and *sparse* (about 20, half of the cells empty);",
        "or *peaked*: means fall with a power of the rank, and a few cells hold most people.",
        "",
        "## Hellinger utility: error of the estimate",
        "",
        "The root mean square error of the estimated score 1 − HD/√N, the share of 95% intervals",
        "that hold the exact score, the same for the share of cells unchanged, and how often the",
        "score is shown rather than withheld.",
        "",
        "| cells | error, mean cell ≥ 5 | below 5 | score held | share held | score shown |",
        "|---:|---:|---:|---:|---:|---:|",
    ]
    for cells in (*SIZES, 245_700):
        chosen = [d for d in draws if d.cells == cells]
        big = [d.estimate - d.score for d in chosen if d.mean >= 5]
        low = [d.estimate - d.score for d in chosen if d.mean < 5]
        inside = float(np.mean([d.low <= d.score <= d.high for d in chosen]))
        shown = float(np.mean([d.shown for d in chosen]))
        same = float(np.mean([d.unchanged_low <= d.unchanged <= d.unchanged_high for d in chosen]))
        below = f"{rms(low):.4f}" if low else "none"
        lines.append(
            f"| {cells:,} | {rms(big):.4f} | {below} | {inside:.0%} | {same:.0%} | {shown:.0%} |"
        )
    wrong = [d for d in draws if d.shown]
    lines += [
        "",
        f"Where it is shown ({len(wrong):,} tables) the score is off by more than 0.02 in "
        f"{sum(abs(d.estimate - d.score) > 0.02 for d in wrong)} tables; the largest error is "
        f"{max(abs(d.estimate - d.score) for d in wrong):.3f}.",
        "",
        "## Why a smooth prior",
        "",
        "The mean relative error of the Hellinger distance at 2,457 cells: with the released table",
        "taken as the true one, with a free prior (EM), and with the smooth prior in use. The",
        "last column is the error of the estimated share of cells unchanged.",
        "",
        "| method | table | as if true | free | smooth | share unchanged |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for name in METHODS:
        for shape in SHAPES:
            chosen = [d for d in draws if (d.method, d.shape, d.cells) == (name, shape, SIZES[-1])]
            share = rms([d.unchanged_estimate - d.unchanged for d in chosen])
            lines.append(
                f"| {name} | {shape} | {bias(chosen, 'naive')} | {bias(chosen, 'free')} "
                f"| {bias(chosen, 'smooth')} | {share:.3f} |"
            )
    score, guess = heaped()
    lines += [
        "",
        "Rounding to base b identifies only quantities that are linear between multiples of b:",
        "the number of cells and the total, not how many ones there are. Two tables with the same",
        "released figures can differ in utility; the smooth prior picks one answer. This is why",
        "every estimate is shown with the words *assuming that counts vary smoothly, which cannot",
        "be checked*. It can fail: a table of multiples of 5, rounded to 5, is released unchanged,",
        f"with utility {score:.2f}; the estimate is {guess:.2f}, and no reader can know better.",
        "",
        "## Published tables",
        "",
        "The four tables of [Antal2014], ten output areas of the 2001 UK census: real counts to",
        f"which nothing was fitted. {DRAWS} draws of each of the six methods; columns as above.",
        "",
        "| table | cells | mean cell | error | score held | share held | score shown | unsafe |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
        *(published_line(name, [d for d in real if d.shape == name]) for name in published()),
        "",
        "## The public gate",
        "",
        f"At a limit of {LIMIT}: *unsafe* is a table that the gate passes although the exact",
        "measure (`after_transition`, the same multiplier) is above the limit; *strict* is one",
        "that it refuses although the exact measure is not.",
        "",
        "| method | multiplier | tables | unsafe | strict | largest shortfall |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for name in METHODS:
        chosen = [d for d in draws if d.method == name]
        unsafe = sum(d.gate <= LIMIT < d.exact_gate for d in chosen)
        strict = sum(d.exact_gate <= LIMIT < d.gate for d in chosen)
        short = max(d.exact_gate - d.gate for d in chosen)
        lines.append(
            f"| {name} | {MULTIPLIERS[name]:.3f} | {len(chosen)} | {unsafe} | {strict} "
            f"| {max(short, 0):.4f} |"
        )
    unsafe = sum(d.gate <= LIMIT < d.exact_gate for d in draws)
    strict = sum(d.exact_gate <= LIMIT < d.gate for d in draws)
    point = sum(d.point <= LIMIT < d.exact_gate for d in draws)
    lines += [
        "",
        f"In all, {unsafe} of {len(draws):,} unsafe and {strict / len(draws):.1%} strict. Where",
        "zeros stay zero, the first term is proved to be large enough. For the entropy term this",
        "was only observed.",
        "",
        "A gate on a point estimate instead (the custodian's measure with the fitted prior in the",
        f"place of the true table) would have been unsafe in {point} tables "
        f"({point / len(draws):.1%}).",
        "",
        "## Contents by expected or by observed numbers of cells",
        "",
        "The risk after protection exceeded the risk before, and was cut to it, in "
        f"{sum(d.over for d in draws)}",
        "tables with expected numbers of cells μ_j (the default) and in "
        f"{sum(d.over_printed for d in draws)} with the observed",
        "numbers n'_j (the printed form).",
        "",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
