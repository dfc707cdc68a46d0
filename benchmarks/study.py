"""How long the full study of [Shlomo2015, §5] takes: CPU seconds and memory of all its processes.

    python benchmarks/study.py [--workers 2] [--folder var/bench]

The folder gets the hypercube and the study's files, which `scripts/write_comparison.py` reads.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage

from report import BENCH, ROOT, write_section

PROGRAM = [sys.executable, "-c", "from discreet.cli import main; main()"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--folder", type=Path, default=BENCH)
    options = parser.parse_args()
    cube, out = options.folder / "country.parquet", options.folder / "shlomo2015"
    options.folder.mkdir(parents=True, exist_ok=True)
    subprocess.run([sys.executable, ROOT / "scripts" / "country.py", cube], check=True)
    before = getrusage(RUSAGE_CHILDREN)
    study = ["study", "shlomo2015", "--data", cube, "--workers", str(options.workers)]
    subprocess.run([*PROGRAM, *study, "--out", out, "--force"], check=True)
    after = getrusage(RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    text = f"""## The study of Shlomo, Antal and Elliot (2015)

`discreet study shlomo2015`: a hypercube of 245,700 cells, 4 tables, 12 settings, 100 draws. With
{options.workers} workers it takes {cpu:.0f} CPU seconds, reading and report included; no process
has more than {after.ru_maxrss / 1024:,.0f} MiB. On two cores 3 minutes are 360 CPU seconds."""
    write_section("study", text)


if __name__ == "__main__":
    main()
