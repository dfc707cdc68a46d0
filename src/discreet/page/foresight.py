"""What is known of a question before it is asked: where its figures would come from.

From the rules on questions and what is published already. Nothing is counted.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from discreet.errors import QueryRefused
from discreet.ledger import Outlook, State, Status
from discreet.page.quality import off_by
from discreet.policy import Margins
from discreet.query import Question, QuestionClass
from discreet.rules import Code
from discreet.service import Asked, Opened, Service


@dataclass(frozen=True, eq=False)
class Foresight:
    """Says of any question about a data set what would become of it, for one page."""

    service: Service
    opened: Opened
    _seen: dict[Question, Foreseen] = field(default_factory=dict)

    def of(self, question: Question) -> Foreseen:
        """Return what would become of a question; a page asks some of them many times."""
        if question not in self._seen:
            self._seen[question] = self._of(question)
        return replace(self._seen[question], question=question)

    def _of(self, question: Question) -> Foreseen:
        asked = Asked.of(self.opened, question, Margins.NONE.value)
        try:
            self.service.allowed(asked)
        except QueryRefused as refused:
            return Foreseen(self.opened, question, refused.code)
        return Foreseen(self.opened, question, None, self.service.outlook(asked))

    def decided(self, asked: Asked) -> bool:
        """Whether all tables that answer a question are decided on: getting it publishes nothing.

        Totals that are not fine detail have tables of their own; those of official figures do not.
        """
        ledger = self.opened.ledger
        route = ledger.route(QuestionClass.of(asked.question))
        if route is None or route.status is Status.REFUSED:
            return route is not None
        applied = self.opened.policy.applied(
            self.opened.tier, (level.id for level in route.source.levels)
        )
        if asked.totals is not Margins.PROTECTED or applied.protection.build is None:
            return True
        classes = {QuestionClass.of(other) for _, other in asked.question.margins}
        free = (one for one in classes if not ledger.space.guarded(one))
        return all(ledger.route(one) is not None for one in free)

    def asked(self, question: Question, totals: str | None = None) -> Asked:
        """Return a question with the totals of the policy, or others."""
        usual = self.opened.tier.protection.margins.value
        return Asked.of(self.opened, question, usual if totals is None else totals)


@dataclass(frozen=True, eq=False)
class Foreseen:
    """What would become of a question: the rule that refuses it, or where its figures are from."""

    opened: Opened
    question: Question
    code: str | None
    outlook: Outlook | None = None

    @cached_property
    def kind(self) -> str:
        """One of published, sum, new, look, last, used, refused, large and barred.

        `look` uses up a part of what there may be of a detail, and `last` all that is left.
        """
        if self.outlook is None:
            return "large" if self.code == Code.TOO_LARGE else "barred"
        detail = self.outlook.detail
        if self.outlook.state is State.RELEASED:
            return "published" if self.parts[1] == 1 else "sum"
        if self.outlook.state is State.LOOK:
            return "last" if detail is not None and detail.left == 1 else "look"
        named = {State.SUMS: "sum", State.FREE: "new", State.USED: "used"}
        return named.get(self.outlook.state, "refused")

    @property
    def available(self) -> bool:
        """Whether there would be a table, as far as that is known without counting."""
        return self.kind in ("published", "sum", "new", "look", "last")

    @property
    def uses_up(self) -> bool:
        """Whether it would use up some of what there may be of a detail."""
        return self.kind in ("look", "last")

    @cached_property
    def source(self) -> QuestionClass:
        """The class whose table answers the question, or would."""
        found = None if self.outlook is None else self.outlook.source
        return found or QuestionClass.of(self.question)

    @cached_property
    def parts(self) -> tuple[int, int]:
        """The least and the most published figures that one figure is the sum of."""
        return parts_of(self.question, self.source)

    @cached_property
    def off(self) -> tuple[int | None, int | None]:
        """By how much a figure is off at most, and in nine of ten; None where it is not told."""
        opened, levels = self.opened, self.source.levels
        protection = opened.policy.applied(opened.tier, (v.id for v in levels)).protection
        beforehand = bool(opened.version.manifest.get("protected_beforehand"))
        return off_by(protection, max(len(levels), 1), beforehand, self.parts[1])

    @property
    def token(self) -> str:
        """Return what only the server can make: leave to publish this table as it was foreseen.

        Where the verdict has changed since, the token no longer holds.
        """
        detail = None if self.outlook is None else self.outlook.detail
        used = "" if detail is None else f"{detail.used} of {detail.limit}"
        asking = self.opened.asking
        session = [] if asking is None else [asking.session]
        return self.opened.tag("claim", self.question.canonical, self.kind, used, *session).hex()


def parts_of(question: Question, source: QuestionClass) -> tuple[int, int]:
    """Return the least and the most figures of a table that one of a question is the sum of."""
    least = most = 1
    for level in source.levels:
        place = question.place_of(question.schema.find(level.id)[0], level)
        many = np.bincount(place[place >= 0])
        least *= int(many[many > 0].min(initial=len(level)))
        most *= int(many.max(initial=1))
    return least, most
