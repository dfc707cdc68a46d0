"""What the contract says of each route, with examples."""

from __future__ import annotations

from typing import Any

OF: dict[str, dict[str, Any]] = {
    name: {}
    for name in (
        "datasets", "dataset", "check", "table", "post_table", "config", "healthz", "readyz",
    )
}  # fmt: skip
