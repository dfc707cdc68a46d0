"""How many new tables of fine detail somebody and their project have used, and have left."""

from __future__ import annotations

import sqlalchemy as sa

from discreet.errors import Forbidden
from discreet.people.model import Left, Quotas, Who, now, stamp
from discreet.people.tables import Kept, uses

USED = "QUOTA"
"""The code of a refusal because nothing is left."""


class Uses:
    """Counts new tables. A table is counted once for a project, whoever asks for it again."""

    def __init__(self, kept: Kept) -> None:
        self._kept = kept

    def left(self, who: Who) -> Quotas:
        """Return what is left to somebody, and to their project."""
        with self._kept.reading() as connection:
            return _left(connection, who)

    def use(self, who: Who, dataset: str, edition: str, scope: str, asked: str) -> bool:
        """Use one up for a class of questions, before it is claimed; return whether it was new.

        Check and use are one transaction. Raises `Forbidden` where nothing is left.
        """
        same = {"dataset": dataset, "edition": edition, "scope": scope, "asked": asked}
        with self._kept.writing() as connection:
            known = sa.select(uses.c.id).where(*(uses.c[k] == v for k, v in same.items()))
            if connection.scalar(known) is not None:
                return False
            for kind, found in _left(connection, who).items():
                if not found.left:
                    whose = "You have" if kind == "person" else "Your project has"
                    raise Forbidden(
                        USED,
                        f"{whose} used all {found.quota} new tables of fine detail. Released "
                        "tables and sums of them can still be asked for.",
                    )
            project = "" if who.project is None else who.project.id
            values = {"person": who.person.id, "project": project, "time": stamp(now())}
            connection.execute(sa.insert(uses), {**same, **values})
            return True


def _left(connection: sa.Connection, who: Who) -> dict[str, Left]:
    def used(column: str, value: object) -> int:
        chosen = uses.c[column] == value
        return connection.scalar(sa.select(sa.func.count()).where(chosen)) or 0

    found = {"person": _of(who.person.quota, used("person", who.person.id))}
    if who.project is not None:
        found["project"] = _of(who.project.quota, used("project", who.project.id))
    return found


def _of(quota: int, used: int) -> Left:
    return Left(max(quota - used, 0), quota)
