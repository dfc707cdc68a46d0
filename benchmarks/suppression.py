"""Cells and values withheld, beside what other programs gave on the same tables.

The tables are read from the folder named by DISCREET_PEERS, or from shared/peers beside the
checkout; without them their lines are left out, with a message.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from time import process_time

import numpy as np
import suppression_gconfid
from report import BENCH, PEERS, table, timed, write_section

from discreet import solve
from discreet.desk.cells import CellTable, read_cells
from discreet.desk.suppress import Objective
from discreet.desk.suppress.method import Suppression
from discreet.desk.suppress.solver import Mark, Problem, optimum, suppress
from discreet.desk.suppress.solver.lines import Lines, relaxed
from discreet.solve.system import TableSystem
from discreet.table.hierarchy import Hierarchy

# Best of gconfid 2.0.4, GaussSuppression 1.2.3 and sdcTable 0.32.7: cells withheld in all, and the
# CPU seconds of that one. It is gconfid for all of them; the largest none finished.
PEER = {
    "tab_1k": ("12", "1.6"),
    "tab_1ks": ("136", "2.7"),
    "tab_2k": ("184", "5.5"),
    "tab_10k": ("1,385", "149.8"),
    "tab_100k": ("not finished", "> 295"),
}
ROWS = BENCH / "suppression.json"
# Columns of the table; after them a row says which code it is of.
WIDTH = 10


def peers(names: Sequence[str]) -> list[list[str]]:
    """These tables with two objectives, the largest with one, and those measured before."""
    rows = json.loads(ROWS.read_text()) if ROWS.exists() else {}
    for name in names:
        path = PEERS / f"{name}.csv"
        if not path.exists():
            print(f"{path.name} is not there: left out")
            continue
        read = read_cells(path)
        for objective in (Objective.NUMBER, Objective.INFORMATION):
            if name == "tab_100k" and objective is not Objective.NUMBER:
                continue
            row = [name, str(objective), *peer(name, read, objective)]
            rows[f"{name} {objective}"] = [*row, _code()]
            print(*row, flush=True)
            ROWS.parent.mkdir(parents=True, exist_ok=True)
            ROWS.write_text(json.dumps(rows))
    order = [f"{name} {objective}" for name in PEER for objective in Objective]
    return [rows[key] for key in order if key in rows]


def peer(name: str, read: CellTable, objective: Objective) -> list[str]:
    """What one table comes to, beside the best of other programs."""
    spent, _, found = timed(lambda: Suppression(objective=objective).apply(read))
    withheld = found.number(Mark.PRIMARY) + found.number(Mark.SECONDARY)
    gap, bare = found.pattern.gap, withheld - (found.singleton_cost or 0)
    return [
        f"{bare:,}", _bare_gap(read, objective, bare - found.number(Mark.PRIMARY)),
        f"{withheld:,}", f"{found.share:.2%}", f"{gap:.0%}" if np.isfinite(gap) else "",
        f"{spent:.1f}", *PEER[name],
    ]  # fmt: skip


def _bare_gap(read: CellTable, objective: Objective, secondary: int) -> str:
    """The gap of a pattern without protection from contributors, where cells cost about 1 each."""
    system, _, problem = Suppression(objective=objective).stated([read])
    bound = relaxed(Lines.of(system, problem, insiders=False)).bound
    if objective is not Objective.NUMBER or not bound:
        return ""
    return f"{max(0.0, 1 - bound / secondary):.1%}"


def squares() -> list[tuple[str, ...]]:
    """Square tables of skewed counts, a tenth of them ones and twos: heuristic and optimum."""
    rows = []
    for size in (10, 20):
        for seed in range(3):
            draws = np.random.default_rng(seed).lognormal(2.6, 1.25, (size, size))
            counts = np.floor(draws).astype(np.int64)
            for axis in range(2):
                counts = np.concatenate([counts, counts.sum(axis, keepdims=True)], axis)
            primary = (counts > 0) & (counts <= 2)
            weights = np.where(counts == 0, np.inf, 1.0)
            problem = Problem.of(counts, primary, weights, width=np.where(primary, 1.0, 0.0))
            before = process_time()
            known = suppress([Hierarchy.flat(size)] * 2, problem)
            middle = process_time()
            best = optimum(TableSystem.of((size, size)), problem, known, seconds=300)
            rows.append(
                (
                    f"{size} × {size}, {seed + 1}",
                    f"{int(primary.sum())}",
                    f"{int((known.values == Mark.SECONDARY).sum())}",
                    f"{int((best.values == Mark.SECONDARY).sum())}",
                    str(best.status),
                    f"{middle - before:.1f}",
                    f"{process_time() - middle:.1f}",
                )
            )
    return rows


def _won(rows: list[list[str]]) -> str:
    """Return on which tables the peer is faster, and on which it withholds no more."""
    ended = [one for one in rows if not one[9].startswith(">")]
    faster = dict.fromkeys(one[0] for one in ended if float(one[7]) > float(one[9]))
    cells = [[int(one[at].replace(",", "")) for at in (2, 8)] for one in ended]
    few = dict.fromkeys(
        one[0] for one, (ours, its) in zip(ended, cells, strict=True) if ours >= its
    )
    said = (", ".join(names) or "none" for names in (faster, few))
    return "is faster on {}, and withholds no more on {}".format(*said)


def _code() -> str:
    """A digest of the search: rows of another one were measured before."""
    digest = sha256()
    ours = Path(solve.__file__).parent
    for path in sorted([*ours.glob("*.py"), *(ours.parent / "desk" / "suppress").rglob("*.py")]):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _earlier(rows: list[list[str]]) -> str:
    """Say which rows are of an earlier search."""
    kept = [f"{row[0]} ({row[1]})" for row in rows if row[WIDTH:] != [_code()]]
    return f" Measured before, by the search as it was then: {', '.join(kept)}." if kept else ""


def main() -> None:
    """Run everything and write the sections; or the tables that are named, and theirs."""
    small = np.array([[1, 5, 6], [7, 8, 9], [13, 13, 15]])
    suppress([Hierarchy.flat(2)] * 2, Problem.of(small, small == 1, width=(small == 1) * 1.0))
    named = sys.argv[1:]
    rows = peers(named or list(PEER))
    text = (
        "## Suppression\n\n"
        "Counts of 1 and 2 are primary, zeros and all margins are published, nothing may be known "
        "exactly; cells withheld in all, first without and then with protection against "
        "contributors (which the others do not give). The best peer is gconfid 2.0.4; it "
        f"{_won(rows)}. CPU seconds "
        "of both together, one run, kernels compiled before. The gap is proved: no safe pattern "
        "with the same protection is cheaper by more than this share. Primary cells cost nothing, "
        f"so it is a share of the secondary ones.{_earlier(rows)}\n\n"
    )
    header = ("table", "objective", "withheld, no singletons", "its gap", "withheld",
              "of all values", "gap", "CPU s", "best peer", "its CPU s")  # fmt: skip
    write_section("suppression", text + table(header, [row[:WIDTH] for row in rows]))
    if named:
        return
    text = (
        "Square tables of skewed counts, about 10% primary, number objective, no singletons: "
        "secondary cells.\n\n"
    )
    header = ("table", "primary", "heuristic", "optimum", "proof", "heuristic CPU s", "proof CPU s")
    write_section("suppression-squares", text + table(header, squares()))
    suppression_gconfid.main()


if __name__ == "__main__":
    main()
