"""What the benchmarks share: clocks, folders, and their sections of docs/benchmarks.md.

Each benchmark owns what stands between its markers on the page.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

ROOT = Path(__file__).parents[1]
BENCH = ROOT / "var" / "bench"
"""Where a benchmark keeps the data that it draws."""

PEERS = Path(os.environ.get("DISCREET_PEERS") or ROOT.parent / "shared" / "peers")
"""Where the tables are that other programs worked on."""

PAGE = ROOT / "docs" / "benchmarks.md"
TITLE = "# Benchmarks\n\nWritten by the scripts in `benchmarks/`; `make bench` runs them all.\n"


def timed(work: Callable[[], Any], runs: int = 1, warm: int = 0) -> tuple[float, float, Any]:
    """Return the median CPU and wall seconds of some runs, and the last result.

    The `warm` runs before them, in which kernels are compiled or loaded, do not count.
    """
    cpu, wall, result = [], [], None
    for _ in range(warm + runs):
        used, began = process_time(), perf_counter()
        result = work()
        cpu.append(process_time() - used)
        wall.append(perf_counter() - began)
    return median(cpu[warm:]), median(wall[warm:]), result


def write_section(name: str, text: str, page: Path = PAGE) -> None:
    """Put the text between `<!-- name:begin -->` and `<!-- name:end -->`, at the end if new."""
    begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
    section = f"{begin}\n{text.strip()}\n{end}"
    old = page.read_text(encoding="utf-8") if page.exists() else TITLE
    if (begin in old) != (end in old):
        raise ValueError(f"{page.name} has one of the two markers of '{name}' only.")
    if begin in old:
        head, _, rest = old.partition(begin)
        tail = rest.partition(end)[2]
        new = head + section + tail
    else:
        new = f"{old.rstrip()}\n\n{section}\n"
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(new, encoding="utf-8")


def kept_rows(name: str, number: int, row: Callable[[int], Sequence[str]]) -> list[list[str]]:
    """Return the rows measured so far, by size, with this one measured now.

    Rows that take minutes are kept in a file, so that one can be taken after another.
    """
    path = BENCH / f"{name}.json"
    rows = json.loads(path.read_text()) if path.exists() else {}
    rows[str(number)] = [str(number), *row(number)]
    print(*rows[str(number)], sep=" | ", flush=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(rows))
    return [rows[size] for size in sorted(rows, key=int)]


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a markdown table, the first column left and the others right."""
    lines = ["| " + " | ".join(header) + " |"]
    lines.append("|---|" + "---:|" * (len(header) - 1))
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines)
