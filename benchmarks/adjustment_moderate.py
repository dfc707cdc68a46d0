"""Adjustment of moderate tables beside an integer programme."""

from __future__ import annotations

import numpy as np
from report import table, timed, write_section

from discreet.desk.adjust.magnitudes import Problem, adjust, adjust_exactly, problem
from discreet.solve.system import TableSystem

SHAPES = ((10, 10), (30, 30), (100, 100), (20, 20, 20))
SENSITIVE, PERCENT = 0.1, 0.1
# What the integer programme may take for a table.
SECONDS = 60.0


def example(shape: tuple[int, ...], in_proportion: bool) -> Problem:
    """Skewed values, a fifth of them 0, a tenth sensitive by 10% of themselves."""
    rng = np.random.default_rng(1)
    inner = np.round(rng.lognormal(5, 1.5, shape)) * (rng.random(shape) > 0.2)
    chosen = rng.choice(np.flatnonzero(inner), int(SENSITIVE * inner.size), replace=False)
    flags = np.zeros(inner.size, bool)
    flags[chosen] = True
    system = TableSystem.of(shape)
    sensitive = np.zeros(system.shape, bool)
    sensitive[tuple(slice(0, size) for size in shape)] = flags.reshape(shape)
    values = system.values(inner)
    need = PERCENT * values
    return problem(system, values, sensitive, need, need, None if in_proportion else 1.0)


def main() -> None:
    """Run and write the section."""
    rows = []
    for shape in SHAPES:
        for in_proportion in (True, False):
            this = example(shape, in_proportion)
            cpu, wall, found = timed(lambda t=this: adjust(t), warm=1)
            took, _, best = timed(lambda t=this: adjust_exactly(t, SECONDS))
            assert not found.short.any()
            rows.append(
                (
                    f"{' × '.join(map(str, shape))}, change "
                    + ("in proportion" if in_proportion else "by itself"),
                    f"{len(this.movers):,}",
                    f"{cpu:.1f}",
                    f"{wall:.1f}",
                    f"{took:.0f}",
                    str(best.status),
                    f"{found.cost / best.cost - 1:+.2%}",
                    f"{found.cost / best.bound - 1:+.2%}",
                )
            )
            print(*rows[-1], sep=" | ", flush=True)
    write_section(
        "adjustment-moderate",
        "## Adjustment of moderate tables\n\n"
        f"Random values, a fifth of the cells 0, a tenth sensitive by 10%. The integer programme "
        f"(HiGHS) had {SECONDS:.0f} s for each table; where it is stopped, its best table is not "
        "the optimum, and the optimum is between its bound and the better of the two. Three-way "
        "tables have a weak bound: that of 20 × 20 × 20, change by itself, is far below any table "
        "that was found, this program's and its own, so that the distance says little of either."
        "\n\n"
        + table(
            (
                "table",
                "sensitive",
                "CPU s",
                "wall s",
                "integer programme CPU s",
                "it ended",
                "cost against its best",
                "cost against its bound",
            ),
            rows,
        ),
    )


if __name__ == "__main__":
    main()
