"""Tables that people have saved under a name, for themselves or for their project.

What is kept is the question, and no figure: whoever opens one asks it in their own tier.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from discreet.errors import ParameterError
from discreet.people.model import Who, now, stamp
from discreet.people.tables import Kept, people, saved

MOST = 500
"""Tables of one person."""


@dataclass(frozen=True)
class SavedTable:
    """A question with a name; `project` is the one whose members see it, empty for none."""

    id: int
    person: int
    owner: str
    project: str
    dataset: str
    name: str
    address: str
    time: str


class Saved:
    """Keeps tables."""

    def __init__(self, kept: Kept) -> None:
        self._kept = kept

    def save(self, who: Who, dataset: str, name: str, address: str, shared: bool) -> None:
        """Keep a question under a name; one of the same name takes its place."""
        name = " ".join(name.split())
        if not 1 <= len(name) <= 100 or len(address) > 4_000:
            raise ParameterError("the name of a table must have 1 to 100 characters.")
        project = who.project.id if shared and who.project is not None else ""
        this = {"person": who.person.id, "dataset": dataset, "name": name}
        values = {"project": project, "address": address, "time": stamp(now())}
        with self._kept.writing() as connection:
            same = sa.and_(*(saved.c[key] == value for key, value in this.items()))
            if connection.execute(sa.update(saved).where(same).values(values)).rowcount:
                return
            mine = sa.select(sa.func.count()).where(saved.c.person == who.person.id)
            if (connection.scalar(mine) or 0) >= MOST:
                raise ParameterError(f"you may keep at most {MOST} tables.")
            connection.execute(sa.insert(saved), {**this, **values})

    def of(self, who: Who, projects: bool) -> list[SavedTable]:
        """Return the tables of somebody, or those shared in their project, the latest first."""
        wanted = sa.select(saved, people.c.name.label("owner"))
        wanted = wanted.join(people, people.c.id == saved.c.person).order_by(saved.c.time.desc())
        if projects:
            if who.project is None:
                return []
            wanted = wanted.where(saved.c.project == who.project.id)
        else:
            wanted = wanted.where(saved.c.person == who.person.id)
        with self._kept.reading() as connection:
            return [_saved(row) for row in connection.execute(wanted)]

    def share(self, who: Who, id: int, shared: bool) -> None:
        """Share a table of one's own in one's project, or no longer."""
        project = who.project.id if shared and who.project is not None else ""
        self._own(who, id, sa.update(saved).values(project=project))

    def drop(self, who: Who, id: int) -> None:
        """Forget a table of one's own."""
        self._own(who, id, sa.delete(saved))

    def _own(self, who: Who, id: int, change: Any) -> None:
        mine = sa.and_(saved.c.id == id, saved.c.person == who.person.id)
        with self._kept.writing() as connection:
            if connection.execute(change.where(mine)).rowcount == 0:
                raise ParameterError("you have no such table.")


def _saved(row: Any) -> SavedTable:
    names = SavedTable.__dataclass_fields__
    return SavedTable(**{name: row._mapping[name] for name in names})
