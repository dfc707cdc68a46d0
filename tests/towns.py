"""Stores of the town under policies that refuse little, for tests of single rules and states."""

from __future__ import annotations

from pathlib import Path

from discreet.build import build
from stores import write_town

POLICY = """
version = "t"
minimum_population = 1
{top}
[tiers.public.question]
max_cells = 100000
{question}
[tiers.public.counts]
{counts}
[tiers.public.protection]
method = "{method}"
published = {published}
margins = "{margins}"
[tiers.public.risk]
maximum = {risk}
multiplier = 0.5
[tiers.public.space]
{space}
"""
LENIENT = {
    "minimum_population": 1, "minimum_mean": 0, "max_small": 1, "max_ones_of_populated": 1,
    "max_small_of_populated": 1, "max_single_lines": 1,
}  # fmt: skip


def town_of(
    folder: Path, rows: int = 4_000, *, counts: dict[str, float] | None = None, risk: float = 1,
    space: str = "", question: str = "", top: str = "", method: str = "random-rounding",
    published: str = "true", margins: str = "none",
) -> Path:  # fmt: skip
    """Return a store of the town under a policy that refuses nothing but what is given.

    4,000 people: what has more than 40 cells is fine detail, of which two tables may be.
    """
    given = dict(line.split(" = ", 1) for line in space.splitlines())
    space = "\n".join(f"{k} = {v}" for k, v in {"guard_below": 100, "looks": 2, **given}.items())
    rules = "\n".join(f"{key} = {value}" for key, value in {**LENIENT, **(counts or {})}.items())
    described = write_town(folder, rows=rows, policy="policy.toml")
    text = POLICY.format(
        counts=rules, risk=risk, space=space, question=question, published=published,
        margins=margins, top=top, method=method,
    )  # fmt: skip
    (folder / "policy.toml").write_text(text, "utf-8")
    store = folder / "store"
    store.mkdir(mode=0o700)
    (store / "secret").write_text("5eed" * 16 + "\n", encoding="ascii")
    (store / "secret").chmod(0o600)
    build(described, store, views=0)
    return store
