"""What adjustment, suppression and the mixtures of both, and of rounding, leave of tables."""

from __future__ import annotations

from typing import Any

from report import BENCH, table, write_section

from discreet.desk import adjust, suppress
from discreet.synth.business import write

RECORDS = 5_000
TABLES = ("size region", "industry size")
# Percent beyond which a figure is left empty, or rounded.
LIMIT = 3
WAYS: dict[str, dict[str, Any]] = {
    "adjustment": {},
    f"rounded beyond {LIMIT}%": {"coarse": LIMIT},
    f"empty beyond {LIMIT}%": {"beyond": LIMIT},
}


def main() -> None:
    """Run everything and write the section."""
    folder = BENCH / "register-3"
    write(RECORDS, folder, 3)
    rows = []
    for name in TABLES:
        given = {"by": name.split(), "value": "turnover", "holding": "holding"}
        path = folder / "records.csv"
        for way, options in WAYS.items():
            found = adjust(path, "p=10", seed=1, **given, **options)
            facts, quality = found.facts, found.quality
            empty = len(facts.get("withheld", ())) + (facts.get("complements") or 0)
            rows.append(
                (
                    name.replace(" ", " × "), way, f"{quality['cells']:,}",
                    f"{facts['sensitive']:,}", f"{quality['figures']:,}",
                    f"{facts.get('rounded', 0):,}", f"{empty:,}",
                    f"{quality['mean_change']:.2%}", f"{quality['largest_change']:.1%}",
                )
            )  # fmt: skip
            print(*rows[-1], sep=" | ", flush=True)
        hidden = suppress(path, "p=10", **given).facts["tables"][0]
        others = int(rows[-1][2].replace(",", "")) - hidden["secondary"]
        rows.append(
            (
                name.replace(" ", " × "), "suppression", rows[-1][2], rows[-1][3], f"{others:,}",
                "0", f"{hidden['primary'] + hidden['secondary']:,}", "0.00%", "0.0%",
            )
        )  # fmt: skip
        print(*rows[-1], sep=" | ", flush=True)
    write_section(
        "adjustment-hybrid",
        "## Adjustment, suppression and mixtures\n\n"
        f"Turnover of the synthetic register ({RECORDS:,} records, seed 3), p = 10. Cells that are "
        "not sensitive and not 0: how many keep a figure to the last digit, and how far that is "
        "from the truth; cells of any kind that are rounded or empty. Cells are empty so "
        "that no contributor comes too close to them either.\n\n"
        + table(
            ("table", "way", "cells", "sensitive", "figures", "rounded", "empty", "mean change",
             "largest change"),
            rows,
        ),
    )  # fmt: skip


if __name__ == "__main__":
    main()
