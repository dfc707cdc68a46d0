"""Anonymous memory of a build, extrapolated to a census of 60 million."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

GIBIBYTE = 2**30
CENSUS = 60_000_000
AREAS = 20_000


def anonymous(process: int) -> int:
    """The bytes of anonymous memory of a process and all below it; mapped files are not its own."""
    total = 0
    try:
        for line in Path(f"/proc/{process}/status").read_text().splitlines():
            if line.startswith("RssAnon:"):
                total += int(line.split()[1]) * 1024
        for task in Path(f"/proc/{process}/task").iterdir():
            for child in (task / "children").read_text().split():
                total += anonymous(int(child))
    except OSError:
        pass  # it has just ended
    return total


def write_census(folder: Path, rows: int) -> Path:
    """Twelve variables of one byte, ids and areas in no order."""
    rng = np.random.default_rng(3)
    columns: dict[str, object] = {
        f"v{i}": rng.integers(0, 8 + 8 * i, rows, dtype=np.uint8) for i in range(12)
    }
    columns["oa"] = rng.integers(0, AREAS, rows, dtype=np.uint32)
    columns["id"] = rng.permutation(rows)
    pq.write_table(pa.table(columns), folder / "p.parquet", row_group_size=500_000)
    variables = "".join(f"v{i} = {{ range = [0, {7 + 8 * i}] }}\n" for i in range(12))
    (folder / "dataset.toml").write_text(
        'id = "census"\ntitle = "Census"\nsource = { files = "p.parquet", record_id = "id" }\n'
        f'[variables]\n{variables}[[geography]]\nid = "oa"\ncolumn = "oa"\n'
    )
    return folder / "dataset.toml"


def peak(folder: Path, program: list[str], rows: int) -> int:
    dataset = write_census(folder, rows)
    running = subprocess.Popen(
        [*program, "build", str(dataset), "--out", str(folder / f"store-{rows}")],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    most = 0
    while running.poll() is None:
        most = max(most, anonymous(running.pid))
        time.sleep(0.005)
    assert running.returncode == 0
    return most


@pytest.mark.slow
def test_sixty_million_rows_within_four_gibibytes(
    tmp_path: Path, program: list[str], record_property: Callable[[str, object], None]
) -> None:
    small, large = (peak(tmp_path, program, rows) for rows in (3_000_000, 6_000_000))
    per_row = (large - small) / 3_000_000
    expected = large + max(0.0, per_row) * (CENSUS - 6_000_000)
    record_property("bytes_per_row", round(per_row, 1))
    record_property("gibibytes_at_60_million", round(expected / GIBIBYTE, 2))
    assert small > 50 * 2**20, "nothing was measured"
    assert expected < 4 * GIBIBYTE, f"{per_row:.0f} bytes a row, {expected / GIBIBYTE:.1f} GiB"
