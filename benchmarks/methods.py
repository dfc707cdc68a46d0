"""Speed of the protection methods, beside other programs doing the same work.

The cube is census-like: 1.5 million records, 7 variables, 245,700 inner cells, 997,920 with all
margins. `pip install cell-key-perturbation==3.1.0` into the environment puts that package beside
ours, on the same records, keys and look-up; the results must be equal. The R packages' figures
are those of a run on the same kind of cube, on another day: compare orders of magnitude.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from report import table, timed, write_section

from discreet import protect
from discreet.protect import lookup
from discreet.solve import round_matrix

SHAPE = (2, 2, 21, 5, 13, 9, 5)
NAMES = ("nuts2", "sex", "age", "activity", "occupation", "education", "citizenship")
RECORDS = 1_500_000
MODULUS = 2**32
CELLKEY_CPU = 39.0  # R package cellKey 1.0.3, seconds
PTABLE_CPU = 0.10  # R package ptable 1.0.0, D = 5, V = 3, seconds
SECRET = b"a secret for benchmarks only"
Codes = list[NDArray[np.uint8]]


def census() -> tuple[Codes, NDArray[np.uint32]]:
    """Records with skewed variables, so that most inner cells are empty; and their keys."""
    rng = np.random.default_rng(1)
    codes = []
    shared = rng.random(RECORDS)
    for size in SHAPE:
        chances = 1 / np.arange(1, size + 1) ** 1.5
        chances = np.cumsum(chances / chances.sum())
        # Half of each variable follows one hidden number: cells cluster as in a census.
        draws = np.where(rng.random(RECORDS) < 0.5, shared, rng.random(RECORDS))
        codes.append(np.searchsorted(chances, draws).clip(0, size - 1).astype(np.uint8))
    return codes, rng.integers(0, MODULUS, RECORDS, dtype=np.uint32)


def tabulate(
    codes: Codes, keys: NDArray[np.uint32], modulus: int = MODULUS
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Counts and key sums of the inner cells."""
    cell = np.zeros(RECORDS, np.int64)
    for column, size in zip(codes, SHAPE, strict=True):
        cell *= size
        cell += column
    cells = int(np.prod(SHAPE))
    counts = np.bincount(cell, minlength=cells).reshape(SHAPE)
    # Sums of 32-bit keys over 1.5 million records are exact in a double.
    sums = np.bincount(cell, keys, minlength=cells).astype(np.int64) % modulus
    return counts, sums.reshape(SHAPE)


def with_margins(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """The table with a total at the end of every axis."""
    for axis in range(values.ndim):
        values = np.concatenate([values, values.sum(axis=axis, keepdims=True)], axis=axis)
    return values


def peer(codes: Codes, keys: NDArray[np.int64], table: lookup.LookupTable) -> Any:
    """The work of cell-key-perturbation on inner cells, ready to run; None where not installed."""
    try:
        import pandas as pd
        from cell_key_perturbation.create_perturbed_table import create_perturbed_table
    except ImportError:
        return None
    data = pd.DataFrame(dict(zip(NAMES, codes, strict=True)))
    data["record_key"] = keys
    pcv, ckey = (axis.ravel() for axis in np.meshgrid(range(1, 751), range(256), indexing="ij"))
    uniforms = protect.plain_uniforms(ckey, 256)
    pvalue = protect.CellKeyPerturbation(table).apply(pcv, uniforms) - pcv
    ptable = pd.DataFrame({"pcv": pcv, "ckey": ckey, "pvalue": pvalue})
    return lambda: create_perturbed_table(
        data=data,
        ptable=ptable,
        geog=[NAMES[0]],
        tab_vars=list(NAMES[1:]),
        record_key="record_key",
        use_existing_ons_id=False,
        threshold=0,
    )


def main() -> None:
    codes, keys = census()
    design = lookup.max_entropy(5, 3)
    method = protect.CellKeyPerturbation(design)
    mix = protect.KeyMix(SECRET)

    def inner() -> NDArray[np.int64]:
        counts, sums = tabulate(codes, keys)
        return method.apply(counts, mix.uniforms(sums))

    def cube() -> NDArray[np.int64]:
        counts, sums = tabulate(codes, keys)
        return method.apply(with_margins(counts), mix.uniforms(with_margins(sums) % MODULUS))

    cube()  # compile before the clock runs
    rows: list[tuple[str, float, float, str, str]] = []

    def line(work: str, cpu: float, wall: float, beside: str = "", ratio: str = "") -> None:
        rows.append((work, cpu, wall, beside, ratio))

    cpu, wall, released = timed(cube, 7)
    assert released.size == 997_920
    line(
        "cube of 7 variables with all margins, 1.5 million records, 997,920 cells",
        cpu,
        wall,
        f"cellKey (R): {CELLKEY_CPU:.0f}",
        f"{CELLKEY_CPU / cpu:.0f}, at least 100 wanted",
    )
    small_keys = keys.astype(np.int64) % 256

    def inner_plain() -> NDArray[np.int64]:
        counts, sums = tabulate(codes, small_keys, 256)
        return method.apply(counts, protect.plain_uniforms(sums, 256))

    theirs = peer(codes, small_keys, design)
    cpu, wall, ours = timed(inner_plain, 7)
    if theirs is None:
        beside, ratio = "cell-key-perturbation: not installed", ""
    else:
        peer_cpu, _, frame = timed(theirs, 3)
        counts = np.zeros(SHAPE, np.int64)
        counts[tuple(frame[name].to_numpy() for name in NAMES)] = frame["count"].to_numpy(int)
        assert np.array_equal(counts, ours), "the two programs disagree"
        beside = f"cell-key-perturbation: {peer_cpu:.2f}, same figures"
        ratio = f"{peer_cpu / cpu:.0f}, at least 5 wanted"
    line("inner cells, 245,700, plain key sums modulo 256", cpu, wall, beside, ratio)
    line("inner cells, 245,700, mixed keys", *timed(inner, 7)[:2])

    rng = np.random.default_rng(2)
    many = rng.poisson(3, 10_000_000).astype(np.uint32)
    many_keys = rng.integers(0, MODULUS, many.size, dtype=np.uint32)
    cpu, wall, uniforms = timed(lambda: mix.uniforms(many_keys), 3)
    line("keyed mix of 10 million cell keys", cpu, wall)
    cpu, wall, _ = timed(lambda: method.apply(many, uniforms), 3)
    line("look-up of 10 million cells, under 1 s of CPU wanted", cpu, wall)
    cpu, wall, _ = timed(lambda: lookup.max_entropy(5, 3), 21)
    line(
        "design of a look-up, bound 5, variance 3",
        cpu,
        wall,
        f"ptable (R): {PTABLE_CPU:.2f}",
        f"{PTABLE_CPU / cpu:.0f}",
    )
    matrix = rng.random((1000, 1000))
    round_matrix(matrix[:2, :2], rng)
    cpu, wall, _ = timed(lambda: round_matrix(matrix, rng), 3)
    line("unbiased controlled rounding of a 1,000 × 1,000 matrix", cpu, wall)
    cells = rng.poisson(3, 1_000_000)
    for name, tablewise in (
        ("semi-controlled rounding of a million cells", protect.SemiControlledRounding(3)),
        (
            "exact stochastic draw of a million cells",
            protect.StochasticPerturbation.published(True),
        ),
    ):
        draw = tablewise.apply
        line(name, *timed(lambda draw=draw: draw(cells, rng), 3)[:2])
    text = table(
        ("work", "CPU, s", "wall, s", "beside, CPU s", "times faster"),
        [(work, f"{cpu:.4f}", f"{wall:.4f}", *rest) for work, cpu, wall, *rest in rows],
    )
    write_section(
        "methods",
        "## Protection\n\nMedians. Tabulation of the records is part of the first three lines. "
        "The R packages ran on another day, on a cube of the same shape and number of records: "
        "compare orders of magnitude. cell-key-perturbation ran beside, on the same records.\n\n"
        + text,
    )
    print(text)


if __name__ == "__main__":
    main()
