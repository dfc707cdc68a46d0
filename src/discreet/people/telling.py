"""What stands between somebody who is known and the answers: their quota, and the record."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from discreet.errors import Forbidden, QueryRefused
from discreet.ledger import Outlook, State
from discreet.people.model import Who
from discreet.people.people import People
from discreet.people.record import Line
from discreet.policy import Margins
from discreet.query import QuestionClass
from discreet.service import Asked, Opened
from discreet.service.asking import Asking

ASKED = "asked"
"""The action of a question in the record."""


@dataclass(frozen=True, eq=False)
class Telling:
    """Counts what somebody uses up before it is claimed, and writes down what they are given."""

    people: People
    who: Who

    async def __call__(
        self,
        asked: Asked,
        outlook: Callable[[], Outlook],
        claim: bool,
        work: Callable[[], Awaitable[Any]],
    ) -> Any:
        """Return what the work finds. Nothing is answered that cannot be written down."""
        used = ""
        try:
            foreseen = await asyncio.to_thread(outlook)
            if claim and foreseen.state is State.LOOK and not asked.public:
                used = await asyncio.to_thread(self._use, asked)
            found = await work()
        except (QueryRefused, Forbidden) as refused:
            await asyncio.to_thread(self._write, asked, refused.code, used)
            raise
        verdict = "sums" if foreseen.state is State.SUMS else "released"
        await asyncio.to_thread(self._write, asked, verdict, used)
        return found

    def _use(self, asked: Asked) -> str:
        """Use one of the quota up, unless the project has this table; return what was used."""
        opened, of = asked.opened, QuestionClass.of(asked.question).name
        ledgers, tier = opened.releaser.ledgers, opened.tier
        place = (opened.id, ledgers.edition(tier), ledgers.scope_of(tier))
        return of if self.people.uses.use(self.who, *place, of) else ""

    def _write(self, asked: Asked, verdict: str, uses: str) -> None:
        opened = asked.opened
        facts = {
            "dataset": opened.id, "tier": opened.tier.id, "policy": opened.policy.version,
            "data": opened.version.id, "question": question_text(asked), "verdict": verdict,
            "uses": uses, "note": "by review" if _granted(asked) else "",
        }  # fmt: skip
        self.people.record.add(Line.of(self.who, ASKED, **facts))


def _granted(asked: Asked) -> bool:
    return asked.opened.asking is not None and asked.opened.asking.granted


def question_text(asked: Asked) -> str:
    """Return a question as the record has it: whoever asks this again is given the same."""
    totals = "" if asked.totals is Margins.NONE else f"&totals={asked.totals.value}"
    return f"{asked.question.canonical}{totals}"


def asking(people: People, who: Who, grants: frozenset[str], opened: Opened) -> Asking:
    """Return how somebody asks about a data set: in the tier of their licence."""
    tier = who.tier(opened.id, opened.policy)

    def left() -> int:
        return min(one.left for one in people.uses.left(who).values())

    return Asking(tier, who.scope, Telling(people, who), grants, left=left, session=who.csrf)
