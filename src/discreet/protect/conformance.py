"""One suite that every protection method passes, new ones included.

`failures(method)` returns what a method breaks, as sentences; an empty list is a pass. It is part
of the package because an office that writes a method of its own needs it too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from discreet.errors import ParameterError
from discreet.protect.base import Chances, Counts, Method
from discreet.types import Floats

GRID = 1000
"""Uniforms on the even grid: frequencies then equal probabilities to 1/1000."""

DRAWS = 600
"""Draws of a table-wise method for its mean, which must lie within 5 standard errors."""

Shape = tuple[int, ...]
SHAPES: tuple[Shape, ...] = ((), (0,), (1,), (7,), (4, 5), (0, 3), (3, 4, 2), (2, 3, 2, 2))
TYPES = ("int32", "uint32", "int64", "uint64")


def failures(method: object, shapes: tuple[Shape, ...] = SHAPES) -> list[str]:
    """Return what the method breaks of what every method promises."""
    return [sentence for _, broken in examine(method, shapes) for sentence in broken]


def examine(method: object, shapes: tuple[Shape, ...] = SHAPES) -> Iterator[tuple[str, list[str]]]:
    """Yield each check of a method, in words, with what the method breaks of it."""
    if not isinstance(method, Method):
        yield "It is a Method.", [f"{type(method).__name__} does not derive from Method."]
        return
    taken = tuple(shape for shape in shapes if _takes(method, len(shape)))
    if not any(map(_cells, taken)):
        yield "It takes some table.", ["no table of up to 4 dimensions is taken."]
        return
    for check in (*COMMON, *(CELLWISE if method.cellwise else TABLEWISE)):
        try:
            broken = list(check(method, taken))
        except Exception as error:  # whatever a method raises is its failure, not the suite's
            broken = [f"{type(error).__name__}: {error}"]
        yield (check.__doc__ or "").strip(), list(dict.fromkeys(broken))


def _takes(method: Method, dimensions: int) -> bool:
    try:
        method.check(dimensions)
    except ParameterError:
        return False
    return True


def _cells(shape: Shape) -> int:
    return int(np.prod(shape))


def _table(shape: Shape, dtype: str = "int64", seed: int = 1) -> Counts:
    """Return a census-like table: many zeros and small counts, a few large ones."""
    rng = np.random.default_rng(seed)
    return np.asarray(rng.poisson(rng.gamma(0.5, 8, shape)), dtype)


def _run(method: Method, counts: Counts, chance: int | Floats = 7) -> Counts:
    """Return the method's answer, from a seed or from uniforms; no zero is an impossible cell."""
    source = np.random.default_rng(chance) if isinstance(chance, int) else chance
    structural = np.zeros(counts.shape, bool) if method.needs_structural else None
    return method.apply(counts, source, structural)


def _forms(method: Method, shapes: tuple[Shape, ...]) -> Iterator[str]:
    """Type and shape are kept; the counts given are not altered."""
    for shape in shapes:
        for dtype in TYPES:
            counts = _table(shape, dtype)
            before = counts.copy()
            released = _run(method, counts)
            if released.dtype != counts.dtype or released.shape != shape:
                yield f"{dtype} counts of shape {shape} change their type or shape."
            if not np.array_equal(counts, before):
                yield "the counts given are altered."


def _large(method: Method, shapes: tuple[Shape, ...]) -> Iterator[str]:
    """Large counts keep their range."""
    counts = _table(max(shapes, key=_cells))
    counts.reshape(-1)[0] = method.largest
    if int(_run(method, counts).max()) > 2 * method.largest:
        yield f"a count of {method.largest} leaves its range."


def _structural(method: Method, shapes: tuple[Shape, ...]) -> Iterator[str]:
    """Zeros stay zero, but for those that the method says it moves."""
    for shape in shapes:
        counts = _table(shape)
        zeros = counts == 0
        if method.needs_structural:
            if method.apply(counts, np.random.default_rng(3), zeros)[zeros].any():
                yield f"a structural zero of shape {shape} changes."
        elif not method.moves_zeros and _run(method, counts)[zeros].any():
            yield f"a zero of shape {shape} changes, though the method says that zeros stay."


def _effect(method: Method, shapes: tuple[Shape, ...]) -> Iterator[str]:
    """No count changes by more than is said, or to a value that its chances exclude."""
    for shape in shapes:
        effect = method.effect(len(shape))
        for seed in range(10):
            counts = _table(shape, seed=seed)
            released = _run(method, counts, seed)
            moved = int(np.abs(released - counts).max(initial=0))
            if effect.largest_change is not None and moved > effect.largest_change:
                yield f"a count of shape {shape} changes by more than {effect.largest_change}."
            exact = released > (np.inf if effect.exact_above is None else effect.exact_above)
            if (released[exact] != counts[exact]).any():
                yield f"a figure of shape {shape} above {effect.exact_above} is not as counted."
            pairs = set(zip(counts.ravel().tolist(), released.ravel().tolist(), strict=True))
            if effect.chances is not None and any(
                j not in effect.chances.row(i)[0] for i, j in pairs
            ):
                yield f"a count of shape {shape} becomes a value that its chances exclude."


def _transition(method: Method) -> Chances:
    """Return the chances that a cellwise method must have."""
    chances = method.transition()
    if chances is None:
        raise ParameterError("a cellwise method must have a transition.")
    return chances


def _described(method: Method) -> list[int]:
    """Return counts that meet every row of the method's description, and some far beyond."""
    rows = len(getattr(_transition(method), "changes", range(12)))
    return [*range(min(2 * rows + 3, 230)), 1000, method.largest - 101, method.largest]


def _chances(method: Method, shapes: tuple[Shape, ...]) -> Iterator[str]:
    """Frequencies over an even grid of uniforms are those of the transition."""
    del shapes
    grid = (np.arange(GRID) + 0.5) / GRID
    for count in _described(method):
        released = _run(method, np.full(GRID, count, np.int64), grid)
        values, probabilities = _transition(method).row(count)
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


def _same_key(method: Method, shapes: tuple[Shape, ...]) -> Iterator[str]:
    """The same key gives the same figure, whatever the table around it."""
    del shapes
    counts, rng = _table((4, 5, 3)), np.random.default_rng(5)
    uniforms = rng.random(counts.shape)
    whole = _run(method, counts, uniforms)
    order = rng.permutation(counts.size)
    turned = _run(method, counts.reshape(-1)[order], uniforms.reshape(-1)[order])
    if not np.array_equal(turned, whole.reshape(-1)[order]):
        yield "the answer of a cell depends on its place in the table."
    part = _run(method, counts[1:3, :, 1], uniforms[1:3, :, 1])
    if not np.array_equal(part, whole[1:3, :, 1]):
        yield "the answer of a cell depends on the other cells of the table."


def _mean(method: Method, shapes: tuple[Shape, ...]) -> Iterator[str]:
    """The transition has no bias where none is admitted, and some where it is."""
    del shapes
    rows = ((count, *_transition(method).row(count)) for count in _described(method))
    worst = max(abs(float((values - count) @ chances)) for count, values, chances in rows)
    if method.keeps(1).unbiased and worst > 1e-6:
        yield f"the method says that it is unbiased; its transition has a bias of {worst:.3g}."
    if not method.keeps(1).unbiased and worst <= 1e-9:
        yield "the method says that it is biased; its transition is not."


def _seeded(method: Method, shapes: tuple[Shape, ...]) -> Iterator[str]:
    """The same seed gives the same table; no other state matters."""
    for shape in shapes:
        counts = _table(shape)
        if not np.array_equal(_run(method, counts, 11), _run(method, counts, 11)):
            yield f"two draws of shape {shape} with one seed differ."


def _kept(method: Method, shapes: tuple[Shape, ...]) -> Iterator[str]:
    """The totals that the method says it keeps are kept."""
    for shape in shapes:
        kept = method.keeps(len(shape))
        for seed in range(20):
            counts = _table(shape, seed=seed)
            released = _run(method, counts, seed)
            for axes in kept.margins:
                others = tuple(axis for axis in range(len(shape)) if axis not in axes)
                gap = np.abs(released.sum(axis=others) - counts.sum(axis=others))
                if gap.max(initial=0) >= kept.within:
                    yield f"a total over {axes} of shape {shape} is {kept.within} or more off."


def _mean_of_draws(method: Method, shapes: tuple[Shape, ...]) -> Iterator[str]:
    """The mean of many draws is the true table where the method says that it is unbiased."""
    shape = max(shapes, key=_cells)
    if not method.keeps(len(shape)).unbiased:
        return
    counts = _table(shape) % 50
    draws = np.stack([_run(method, counts, seed) for seed in range(DRAWS)]).astype(float)
    error = np.maximum(draws.std(axis=0), 0.3) / np.sqrt(DRAWS)
    if (np.abs(draws.mean(axis=0) - counts) > 5 * error).any():
        yield "the mean of many draws is not the true table."


def _chances_of_draws(method: Method, shapes: tuple[Shape, ...]) -> Iterator[str]:
    """The frequencies of many draws are the chances that are told of a cell."""
    known = [shape for shape in shapes if method.effect(len(shape)).chances is not None]
    shape = max(known, key=_cells, default=())
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


Check = Callable[[Method, tuple[Shape, ...]], Iterator[str]]
COMMON: tuple[Check, ...] = (_forms, _large, _structural, _effect)
CELLWISE: tuple[Check, ...] = (_chances, _same_key, _mean)
TABLEWISE: tuple[Check, ...] = (_seeded, _kept, _mean_of_draws, _chances_of_draws)
