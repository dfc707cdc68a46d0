"""A town with a licensed tier, and people who may use it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from argon2 import PasswordHasher

from discreet.build import build
from discreet.people import secrets
from discreet.people.model import Holder, Person
from discreet.people.people import People
from stores import write_town

YEAR = datetime.now(UTC).date() + timedelta(days=365)
PASSWORD = "correct horse battery"
# 4,000 people: what has more than 40 cells is fine detail. One table may show it to the public, one
# to each project, and three to all projects together.
POLICY = """
version = "p1"
minimum_population = 1
[tiers.public.question]
max_cells = 2000
levels_refused = ["rare"]
[tiers.public.counts]
{counts}
[tiers.public.protection]
method = "random-rounding"
options = {{ base = 5 }}
published = true
margins = "none"
[tiers.public.risk]
maximum = 1
multiplier = 0.5
[tiers.public.space]
guard_below = 100
[tiers.licensed]
label = "Licensed"
public = false
[tiers.licensed.question]
max_cells = 100000
[tiers.licensed.counts]
{licensed}
[tiers.licensed.protection]
method = "random-rounding"
options = {{ base = 2 }}
published = true
margins = "none"
[tiers.licensed.risk]
maximum = 1
multiplier = 0.5
[tiers.licensed.space]
guard_below = 100
looks = 1
office_looks = 3
[tiers.safe]
label = "Safe setting"
public = false
[tiers.safe.question]
max_cells = 100000
[tiers.safe.counts]
{counts}
[tiers.safe.protection]
method = "random-rounding"
options = {{ base = 3 }}
published = true
margins = "none"
[tiers.safe.risk]
maximum = 1
multiplier = 0.5
[tiers.safe.space]
guard_below = 100
looks = 1
office_looks = 3
"""
COUNTS = """minimum_mean = 0
max_small = 1
max_ones_of_populated = 1
max_small_of_populated = 1
max_single_lines = 1"""
# What has more than two cells for each person is refused to the licensed by the question; by its
# counts, what has people by ones and twos in more than three of four cells that anybody is in.
LICENSED = COUNTS.replace("minimum_mean = 0", "minimum_mean = 0.5").replace(
    "max_small_of_populated = 1", "max_small_of_populated = 0.75"
)


def licensed_town(folder: Path, rows: int = 4_000) -> Path:
    """Return a store of the town with tiers for the public, the licensed and a safe setting."""
    described = write_town(folder, rows=rows, policy="policy.toml")
    (folder / "policy.toml").write_text(POLICY.format(counts=COUNTS, licensed=LICENSED), "utf-8")
    build(described, folder / "store", views=0)
    return folder / "store"


def quick_hashes(patch: pytest.MonkeyPatch) -> None:
    """Hash passwords at little cost; what they cost is tested where they are made."""
    patch.setattr(secrets, "_hasher", PasswordHasher(time_cost=1, memory_cost=64, parallelism=1))
    secrets._nobodys.cache_clear()


def person(people: People, email: str, role: str = "licensed", **more: int) -> Person:
    """Return a new person who has chosen the password."""
    made = people.accounts.add(email, email.split("@")[0].capitalize(), role, **more)
    people.entrance.accept(people.entrance.invite(made), PASSWORD)
    return made


def project(
    people: People, id: str, *members: Person, tier: str = "licensed", quota: int = 40
) -> None:
    """Make a project with a licence for a tier of the town."""
    people.accounts.set_project(id, id.capitalize(), "To plan places.", YEAR, quota)
    for one in members:
        people.accounts.join(Holder.PROJECT, id, one)
    people.accounts.allow(Holder.PROJECT, id, "town", tier, YEAR)
