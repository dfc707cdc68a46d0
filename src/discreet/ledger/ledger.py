"""The ledger: which tables are released, and whether one more may be.

It holds classes and the number of looks at each, no figures and nothing about who asked. What it
decides follows from the schema, the size of the population and what was decided before.
"""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from discreet.errors import InternalError, LedgerUnavailable, QueryRefused
from discreet.ledger.database import Database, Place
from discreet.ledger.memory import Memory
from discreet.ledger.model import Entry, Look, Origin, Outlook, Route, State, Status
from discreet.ledger.settling import Recording, Settling
from discreet.ledger.space import Space
from discreet.query import QuestionClass
from discreet.rules import Code

if TYPE_CHECKING:
    from discreet.ledger.tables import Transaction

_REMEMBERED = 10_000  # classes that were refused

Decision = tuple[QuestionClass, QuestionClass, Origin, Status]
"""The class that is asked for, the one whose table answers it, why, and what became of it."""
Writing = Callable[[Sequence[Decision]], list[Route]]


class Ledger:
    """What is released of a data set in an edition, for the public or for one scope of a tier.

    `edition` names the records and the method. A class is answered from one table for as long as
    an edition lasts; looks are counted over all editions. Any number of processes and threads may
    ask; what is decided once costs no access to the database again.
    """

    def __init__(
        self,
        database: Database,
        dataset: str,
        edition: str,
        scope: str,
        space: Space,
        public: bool,
    ) -> None:
        self.database = database
        self.space = space
        self._place = Place(dataset, edition, scope, public)
        self._memory = Memory(space, self._place)
        self._turn = threading.RLock()
        self._queue: deque[Settling] = deque()
        self._writes = 0  # transactions that were begun or have ended: odd while one is open
        # Refused by this process, and how often since that was last written down.
        self._refused: set[QuestionClass] = set()
        self._uncounted: Counter[QuestionClass] = Counter()
        # Recorded, and not written down in the end: they are not recorded once more.
        self._recorded: set[tuple[QuestionClass, Status]] = set()

    # What is decided

    def route(self, asked: QuestionClass) -> Route | None:
        """Return the table that answers a class, None where that is not decided yet."""
        known = self._memory.routes.get(asked)
        if known is not None and known.status is not Status.CLAIMED:
            return known
        with self.database.reading() as transaction:
            row = transaction.find(self._place, asked.name)
        with self._turn:
            return known if row is None else self._memory.decided(row)

    def entries(self) -> list[Entry]:
        """Return all that is decided in this edition, in the order of time."""
        with self.database.reading() as transaction:
            rows = list(transaction.own(self._place))
        return [Entry(self._memory.route_of(row), Origin(row.origin), row.since) for row in rows]

    def looks(self) -> list[Look]:
        """Return the looks at each coarsest guarded class that a table shows, most used first.

        A class that is used up covers one of these that is, so no other need be listed.
        """
        with self._turn:
            self._read()
            return self._memory.looks()

    def tables(self) -> list[QuestionClass]:
        """Return the tables whose looks are used, of all editions."""
        with self._turn:
            self._read()
            return self._memory.tables()

    def unsettled(self, asked: QuestionClass | None = None) -> list[QuestionClass]:
        """Return tables that are claimed and not judged yet: planned, or left by a killed process.

        With a class, those of which it would be sums; none where its answer is decided.
        """
        if asked is not None and (asked in self._memory.routes or not self.space.guarded(asked)):
            return []
        with self._turn:
            self._read()
            return self._memory.unsettled(asked)

    def questions(self) -> Counter[QuestionClass]:
        """Return how often each class was asked for anew, answered or refused, by anybody."""
        with self.database.reading() as transaction:
            asked = transaction.questions(self._place.dataset)
        found: Counter[QuestionClass] = Counter()
        for name, number in asked.items():
            found[self._memory.named(name)] += number
        return found

    def outlook(self, asked: QuestionClass) -> Outlook:
        """Return what would become of a question of a class; nothing is written."""
        with self._turn:
            try:
                self._read()
            except LedgerUnavailable:
                if self.space.guarded(asked) and asked not in self._memory.routes:
                    raise
            state, source = self._memory.foreseen(asked)
            since = None if source is None else self._memory.since(source)
            detail = self._memory.fewest_left(asked)
            tables = () if detail is None else tuple(self._memory.showing(detail.of))
            return Outlook(state, source, since, detail, tables)

    def foreseen(self, asked: QuestionClass) -> State:
        """Return what would become of a question, as far as this process knows: nothing is read.

        It knows what others have decided up to the last table that was decided here.
        """
        if asked in self._memory.routes or not self.space.guarded(asked):
            return self._memory.foreseen(asked)[0]  # which needs no turn: it looks at no other
        with self._turn:
            return self._memory.foreseen(asked)[0]

    def decided(self, asked: QuestionClass) -> Route | None:
        """Return the table that answers a class, as far as this process knows: nothing is read."""
        return self._memory.routes.get(asked)

    # Deciding

    def claim(self, asked: QuestionClass, origin: Origin = Origin.ASKED) -> Route:
        """Return the table that answers a class; a new one is claimed, and its looks are used.

        Raises `QueryRefused` where no table can answer, and `LedgerUnavailable` where a claim
        cannot be written down.
        """
        found = self.claim_all([asked], origin)[0]
        if found is None:
            raise QueryRefused(Code.USED_UP, Code.USED_UP.sentence)
        return found

    def claim_all(
        self, asked: Sequence[QuestionClass], origin: Origin = Origin.ASKED
    ) -> list[Route | None]:
        """Claim several classes at once, in this order; None for each that no table can answer."""
        known = [self._memory.routes.get(one) for one in asked]
        if all(route is not None and route.status is not Status.CLAIMED for route in known):
            return known
        with self._turn:
            if self._refused.issuperset(asked) and self._still_refused(asked):
                self._uncounted.update(asked)
                return [None] * len(asked)
            return self._claimed(asked, origin)

    def preload(self, planned: Iterable[tuple[QuestionClass, Origin]]) -> list[QuestionClass]:
        """Claim the tables of a plan; return those for which no look was left."""
        left_out = []
        with self._turn, self._writing() as write:
            for asked, origin in planned:
                if asked in self._memory.routes:
                    continue
                if self._memory.may_claim(asked):
                    write([(asked, asked, origin, Status.CLAIMED)])
                else:
                    left_out.append(asked)
        return left_out

    def settle(self, made: QuestionClass, status: Status) -> bool:
        """Write down what became of a table; return whether that was not known yet."""
        return bool(self.settle_all({made: status}))

    def settle_all(
        self,
        made: Mapping[QuestionClass, Status],
        record: Recording | None = None,
    ) -> list[QuestionClass]:
        """Write down what became of tables at once; return those of which it was not known yet.

        These are handed to `record` first: what cannot be recorded is not settled. A guarded one
        was claimed before it was made. The others use no look: they are claimed here. A table
        that was left unjudged is judged again by whoever asks next. Its figures stay the same, but
        rules on them that have changed since may judge them otherwise.
        """
        before = self._writes
        known = not any(self._differs(one, status) for one, status in made.items())
        if known and before % 2 == 0 and before == self._writes:
            return []  # and nothing of it is known from a transaction that may yet fail
        mine = Settling(made, record)
        self._queue.append(mine)
        with self._turn:
            # Whoever has the turn writes down all that wait for it: one commit for many tables.
            if not mine.done:
                self._settle([self._queue.popleft() for _ in range(len(self._queue))])
        if mine.error is not None:
            raise mine.error
        return mine.first

    def _settle(self, waiting: list[Settling]) -> None:
        """Write down what became of tables, for all that wait; what fails alone fails alone."""
        try:
            with self._writing() as write:
                for one in waiting:
                    one.first = [of for of, now in one.made.items() if self._differs(of, now)]
                    write([(of, of, Origin.ASKED, one.made[of]) for of in one.first])
                for one in waiting:
                    self._record(one)
        except BaseException as error:
            if len(waiting) > 1 and isinstance(error, Exception):
                for one in waiting:
                    self._settle([one])
                return
            for one in waiting:
                one.error = error
        for one in waiting:
            one.done = True
            if one.error is None:
                self._recorded.difference_update(one.made.items())

    def _record(self, one: Settling) -> None:
        """Record what is new of it, but for what was recorded and could not be written down."""
        new = [of for of in one.first if (of, one.made[of]) not in self._recorded]
        if new and one.record is not None:
            one.record(new)
            self._recorded.update((of, one.made[of]) for of in new)

    def _differs(self, made: QuestionClass, status: Status) -> bool:
        """Whether something else is known of a table than this."""
        known = self._memory.routes.get(made)
        return known is None or (not known.summed and known.status is not status)

    # The database

    def _read(self) -> None:
        with self.database.reading() as transaction:
            self._catch_up(transaction)

    def _catch_up(self, transaction: Transaction) -> None:
        """Learn what others have decided, if anything has changed."""
        last = transaction.last(self._place.dataset)
        if last == self._memory.seen:
            return
        for row in transaction.after(self._place, self._memory.last):
            self._memory.learn(row)
        self._memory.seen = max(last, self._memory.last)

    @contextmanager
    def _writing(self) -> Iterator[Writing]:
        """Give the function that writes down decisions or their end, all others being known.

        What is not on the disk in the end is forgotten.
        """
        written: set[QuestionClass] = set()
        self._writes += 1
        try:
            with self.database.writing(self._place.dataset) as transaction:
                self._catch_up(transaction)

                def write(decisions: Sequence[Decision]) -> list[Route]:
                    written.update(asked for asked, *_ in decisions)
                    self._write(transaction, decisions)
                    return [self._memory.routes[asked] for asked, *_ in decisions]

                yield write
                if self._uncounted:
                    counted = {one.name: number for one, number in self._uncounted.items()}
                    transaction.want(self._place.dataset, counted)
        except BaseException:
            if written:
                self._memory = self._memory.without(written)
            raise
        finally:
            self._writes += 1
        self._uncounted.clear()

    def _write(self, transaction: Transaction, decisions: Sequence[Decision]) -> None:
        """Write down decisions, those that are new at once, and learn them."""
        new = []
        for asked, source, origin, status in decisions:
            row = None
            if asked in self._memory.routes:
                row = transaction.settle(self._place, asked.name, status)
            if row is None:
                self._check_claimed(asked, source, status)
                new.append((asked.name, source.name, status, origin))
            else:
                self._memory.learn(row)
        for row in transaction.add(self._place, new, self._memory.seen):
            self._memory.learn(row)

    def _check_claimed(self, asked: QuestionClass, source: QuestionClass, status: Status) -> None:
        """Complain about a guarded table of which only the end is to be written down."""
        if asked == source and status is not Status.CLAIMED and self.space.guarded(asked):
            raise InternalError(f"'{asked.name}' was not claimed before it was made")

    def _status(self, asked: QuestionClass, source: QuestionClass) -> Status:
        """Return the status of a new route: that of its source, which is released by now."""
        if asked == source:
            return Status.CLAIMED
        known = self._memory.routes.get(source)
        return Status.PARTIAL if known and known.status is Status.PARTIAL else Status.RELEASED

    def _still_refused(self, asked: Sequence[QuestionClass]) -> bool:
        """Whether no table can answer any of them; nothing need be written down for that."""
        self._read()
        routes, decide = self._memory.routes, self._memory.decide
        return not any(one in routes or decide(one) for one in asked)

    def _claimed(self, asked: Sequence[QuestionClass], origin: Origin) -> list[Route | None]:
        found: list[Route | None] = []
        with self._writing() as write:
            for one in asked:
                route = self._memory.routes.get(one)
                source = None if route else self._memory.decide(one)
                if source is not None:
                    route = write([(one, source, origin, self._status(one, source))])[0]
                elif route is None:
                    self._uncounted[one] += 1
                    if len(self._refused) >= _REMEMBERED:
                        self._refused.clear()
                    self._refused.add(one)
                found.append(route)
        return found
