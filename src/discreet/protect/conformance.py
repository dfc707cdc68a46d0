"""One suite that every protection method passes, new ones included.

`failures(method)` returns what a method breaks, as sentences; an empty list is a pass. It is part
of the package because an office that writes a method of its own needs it too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from discreet.protect.base import CellwiseMethod, Counts, Effect, Promise, TablewiseMethod

GRID = 1000
"""Uniforms on the even grid: frequencies then equal probabilities to 1/1000."""

DRAWS = 600
"""Draws of a table-wise method for its mean, which must lie within 5 standard errors."""

SHAPES: tuple[tuple[int, ...], ...] = (
    (),
    (0,),
    (1,),
    (7,),
    (4, 5),
    (0, 3),
    (3, 4, 2),
    (2, 3, 2, 2),
)
LARGE = (2**31 - 101, 2**31)
TYPES = ("int32", "uint32", "int64", "uint64")


def failures(
    method: Any, shapes: tuple[tuple[int, ...], ...] = SHAPES, largest: int = LARGE[-1]
) -> list[str]:
    """Return what the method breaks of what every method promises; shapes are those it takes."""
    if getattr(method, "cellwise", None) not in (True, False):
        return ["the method does not say whether it is cellwise."]
    if not callable(getattr(method, "promise", None)):
        return ["the method does not say what it keeps."]
    if not callable(getattr(method, "effect", None)):
        return ["the method does not say what it does to a count."]
    if method.cellwise:
        checks: tuple[Callable[..., Iterator[str]], ...] = (_chances, _same_key, _mean)
    else:
        checks = (_seeded, _kept, _mean_of_draws, _chances_of_draws)
    found = []
    for check in (_forms, _large, _structural, _effect, *checks):
        try:
            found += list(check(method, shapes, largest))
        except Exception as error:  # whatever a method raises is its failure, not the suite's
            found.append(f"{check.__name__[1:]}: {type(error).__name__}: {error}")
    return found


def _table(shape: tuple[int, ...], dtype: str = "int64", seed: int = 1) -> Counts:
    """Return a census-like table: many zeros and small counts, a few large ones."""
    rng = np.random.default_rng(seed)
    counts = rng.poisson(rng.gamma(0.5, 8, shape))
    return np.asarray(counts, dtype)


def _run(method: Any, counts: Counts, seed: int = 7) -> Counts:
    """Return the method's answer, with the source of chance that it takes."""
    rng = np.random.default_rng(seed)
    source = rng.random(counts.shape) if method.cellwise else rng
    extra = {"structural": np.zeros(counts.shape, bool)} if _moves_zeros(method) else {}
    return cast(Counts, method.apply(counts, source, **extra))


def _moves_zeros(method: Any) -> bool:
    if not hasattr(method, "transition"):
        return False
    values, _ = method.transition().row(0)
    return bool(values.any())


def _forms(method: Any, shapes: tuple[tuple[int, ...], ...], largest: int) -> Iterator[str]:
    """Type and shape are kept; nothing is negative; the input is not touched."""
    del largest
    for shape in shapes:
        for dtype in TYPES:
            counts = _table(shape, dtype)
            before = counts.copy()
            released = _run(method, counts)
            if not isinstance(released, np.ndarray) or released.dtype != counts.dtype:
                yield f"{dtype} counts of shape {shape} change their type."
            elif released.shape != shape:
                yield f"{dtype} counts of shape {shape} change their shape."
            elif released.size and int(released.min()) < 0:
                yield f"a count of shape {shape} becomes negative."
            if not np.array_equal(counts, before):
                yield "the counts given are altered."


def _large(method: Any, shapes: tuple[tuple[int, ...], ...], largest: int) -> Iterator[str]:
    """Counts up to 2^31 are changed as little as any."""
    shape = max(shapes, key=lambda shape: int(np.prod(shape)))
    counts = _table(shape)
    counts.reshape(-1)[0] = largest - 1 if largest < LARGE[-1] else LARGE[-1]
    released = _run(method, counts)
    if released.size and not 0 <= int(released.min()) <= int(released.max()) <= 2 * largest:
        yield f"a count of {largest} leaves its range."


def _structural(method: Any, shapes: tuple[tuple[int, ...], ...], largest: int) -> Iterator[str]:
    """Structural zeros stay zero; without a mask every zero does, unless margins are re-drawn."""
    del largest
    for shape in shapes:
        counts = _table(shape)
        zeros = counts == 0
        if _moves_zeros(method):
            rng = np.random.default_rng(3)
            source = rng.random(shape) if method.cellwise else rng
            if method.apply(counts, source, structural=zeros)[zeros].any():
                yield f"a structural zero of shape {shape} changes."
        elif getattr(method, "keeps_zeros", True) and _run(method, counts)[zeros].any():
            yield f"a zero of shape {shape} changes, though the method says that zeros stay."


def _effect(method: Any, shapes: tuple[tuple[int, ...], ...], largest: int) -> Iterator[str]:
    """No count changes by more than is said, or to a value that its chances exclude."""
    del largest
    for shape in shapes:
        effect: Effect = method.effect(len(shape))
        for seed in range(10):
            counts = _table(shape, seed=seed)
            released = _run(method, counts, seed)
            moved = int(np.abs(released - counts).max(initial=0))
            if effect.largest_change is not None and moved > effect.largest_change:
                yield f"a count of shape {shape} changes by more than {effect.largest_change}."
            pairs = set(zip(counts.ravel().tolist(), released.ravel().tolist(), strict=True))
            if effect.chances is not None and any(
                j not in effect.chances.row(i)[0] for i, j in pairs
            ):
                yield f"a count of shape {shape} becomes a value that its chances exclude."


def _described(method: CellwiseMethod) -> list[int]:
    """Return counts that meet every row of the method's description, and some far beyond."""
    rows = len(getattr(method.transition(), "changes", range(12)))
    return [*range(min(2 * rows + 3, 230)), 1000, *LARGE]


def _chances(
    method: CellwiseMethod, shapes: tuple[tuple[int, ...], ...], largest: int
) -> Iterator[str]:
    """Frequencies over an even grid of uniforms equal the transition to 1/n."""
    del shapes, largest
    grid = (np.arange(GRID) + 0.5) / GRID
    transition = method.transition()
    extra = {"structural": np.zeros(GRID, bool)} if _moves_zeros(method) else {}
    for count in _described(method):
        released = method.apply(np.full(GRID, count, np.int64), grid, **extra)
        values, probabilities = transition.row(count)
        got = np.array([np.count_nonzero(released == value) for value in values]) / GRID
        if len(values) > GRID:
            # Too many values for a frequency each: compare distribution functions.
            got, probabilities = (
                np.searchsorted(np.sort(released), values, side="right") / GRID,
                np.cumsum(probabilities),
            )
        elif not np.isin(released, values).all():
            yield f"a count of {count} becomes a value that its transition excludes."
        if np.abs(got - probabilities).max() > 1 / GRID + 1e-9:
            yield f"the frequencies of a count of {count} are not those of its transition."


def _same_key(
    method: CellwiseMethod, shapes: tuple[tuple[int, ...], ...], largest: int
) -> Iterator[str]:
    """The same key gives the same answer whatever the table around it."""
    del shapes, largest
    counts, rng = _table((4, 5, 3)), np.random.default_rng(5)
    uniforms = rng.random(counts.shape)

    def run(counts: Counts, uniforms: NDArray[np.float64]) -> Counts:
        extra = {"structural": np.zeros(counts.shape, bool)} if _moves_zeros(method) else {}
        return method.apply(counts, uniforms, **extra)

    whole = run(counts, uniforms)
    order = rng.permutation(counts.size)
    if not np.array_equal(
        run(counts.reshape(-1)[order], uniforms.reshape(-1)[order]), whole.reshape(-1)[order]
    ):
        yield "the answer of a cell depends on its place in the table."
    if not np.array_equal(run(counts[1:3, :, 1], uniforms[1:3, :, 1]), whole[1:3, :, 1]):
        yield "the answer of a cell depends on the other cells of the table."


def _mean(method: Any, shapes: tuple[tuple[int, ...], ...], largest: int) -> Iterator[str]:
    """The transition has no bias where none is admitted, and some where it is."""
    del shapes, largest
    transition = method.transition()
    shifts = []
    for count in _described(method):
        values, probabilities = transition.row(count)
        shifts.append(float((values - count) @ probabilities))
    worst = max(abs(shift) for shift in shifts)
    if method.promise(1).unbiased and worst > 1e-6:
        yield f"the method says that it is unbiased; its transition has a bias of {worst:.3g}."
    if not method.promise(1).unbiased and worst <= 1e-9:
        yield "the method says that it is biased; its transition is not."


def _seeded(
    method: TablewiseMethod, shapes: tuple[tuple[int, ...], ...], largest: int
) -> Iterator[str]:
    """The same seed gives the same table; no other state matters."""
    del largest
    for shape in shapes:
        counts = _table(shape)
        first = _run(method, counts, seed=11)
        np.random.default_rng(0).random(10)
        if not np.array_equal(first, _run(method, counts, seed=11)):
            yield f"two draws of shape {shape} with one seed differ."


def _kept(
    method: TablewiseMethod, shapes: tuple[tuple[int, ...], ...], largest: int
) -> Iterator[str]:
    """The totals that the method claims to keep are kept."""
    del largest
    for shape in shapes:
        promise: Promise = method.promise(len(shape))
        for seed in range(20):
            counts = _table(shape, seed=seed)
            released = _run(method, counts, seed=seed)
            for axes in promise.margins:
                others = tuple(axis for axis in range(len(shape)) if axis not in axes)
                gap = np.abs(released.sum(axis=others) - counts.sum(axis=others))
                if gap.max(initial=0) >= promise.within:
                    yield f"a total over {axes} of shape {shape} is {promise.within} or more off."


def _mean_of_draws(
    method: TablewiseMethod, shapes: tuple[tuple[int, ...], ...], largest: int
) -> Iterator[str]:
    """The mean of many draws is the true table where the method says that it is unbiased."""
    del largest
    shape = max(shapes, key=lambda shape: int(np.prod(shape)))
    if not method.promise(len(shape)).unbiased:
        return
    counts = _table(shape) % 50
    draws = np.stack([_run(method, counts, seed) for seed in range(DRAWS)]).astype(float)
    error = np.maximum(draws.std(axis=0), 0.3) / np.sqrt(DRAWS)
    if (np.abs(draws.mean(axis=0) - counts) > 5 * error).any():
        yield "the mean of many draws is not the true table."


def _chances_of_draws(
    method: TablewiseMethod, shapes: tuple[tuple[int, ...], ...], largest: int
) -> Iterator[str]:
    """The frequencies of many draws are the chances that are told of a cell."""
    del largest
    known = [shape for shape in shapes if method.effect(len(shape)).chances is not None]
    shape = max(known, key=lambda shape: int(np.prod(shape)), default=())
    chances = method.effect(len(shape)).chances if known else None
    if chances is None:
        return
    counts = _table(shape)
    draws = np.stack([_run(method, counts, seed) for seed in range(DRAWS)])
    for index in np.ndindex(shape):
        for value, chance in zip(*chances.row(int(counts[index])), strict=True):
            seen = float((draws[(slice(None), *index)] == value).mean())
            if abs(seen - chance) > 5 * np.sqrt(max(chance * (1 - chance), 0.01) / DRAWS):
                yield f"a count becomes {value} less or more often than its chances say."
