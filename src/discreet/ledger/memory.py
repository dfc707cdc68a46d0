"""What a process knows of a ledger, and what follows from it; it reads and writes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from discreet.ledger.database import Place, Row
from discreet.ledger.index import Index, numbers
from discreet.ledger.model import Look, Origin, Route, Shown, State, Status
from discreet.ledger.space import Space
from discreet.query import QuestionClass
from discreet.query.classes import EVERYBODY


class Memory:
    """The tables of all editions, for their looks, and what is decided in this one.

    `last` is the number of the latest change that is known, `seen` that of the latest which there
    was when this was looked up: it may be of another scope.
    """

    def __init__(self, space: Space, place: Place) -> None:
        self.space = space
        self.place = place
        self.routes: dict[QuestionClass, Route] = {}
        self.last = self.seen = 0
        self._index = Index(space.schema)
        self._numbers: dict[int, int] = {}  # of tables, by the id of their row
        self._rows: list[Row] = []  # by number
        # Sets of tables: of this scope in all editions; of all that are not public; and those of
        # this edition that are claimed only, or released whole or in part.
        self._own = self._office = self._claimed = self._released = self._partial = 0
        self._ranks = {
            level.id: (i, variable.ranks[level.id])
            for i, variable in enumerate(space.schema.variables)
            for level in variable.levels
        }

    def without(self, classes: set[QuestionClass]) -> Memory:
        """Return a memory to be filled again, with the routes that cannot change but for some."""
        made = Memory(self.space, self.place)
        made.routes = {
            asked: route
            for asked, route in self.routes.items()
            if asked not in classes and route.status is not Status.CLAIMED
        }
        return made

    # Learning

    def learn(self, row: Row) -> None:
        """Take in a row that was added or has changed, in the order of changes."""
        if row.asked == row.source:
            self._learn_table(row)
        self.decided(row)
        self.last = row.changed
        self.seen = max(self.seen, row.changed)

    def decided(self, row: Row) -> Route | None:
        """Take in what a row of this edition decides, and return it."""
        if (row.edition, row.scope) != (self.place.edition, self.place.scope):
            return None
        route = self.route_of(row)
        known = self.routes.get(route.asked)
        if known is not None and route.status is Status.CLAIMED:
            return known  # a row that was read before it was settled
        self.routes[route.asked] = route
        return route

    def route_of(self, row: Row) -> Route:
        """Return what a row decides."""
        asked, source = self.named(row.asked), self.named(row.source)
        return Route(asked, source, Status(row.status))

    def named(self, name: str) -> QuestionClass:
        """Return the class of a name.

        An earlier edition may have had levels that are gone: what is left of its tables still
        shows the rest.
        """
        ranks = [0] * len(self.space.schema.variables)
        for level in () if name == EVERYBODY else name.split(","):
            i, rank = self._ranks.get(level, (0, 0))
            ranks[i] = max(ranks[i], rank)
        return QuestionClass.at(self.space.schema, tuple(ranks))

    def _learn_table(self, row: Row) -> None:
        own = row.scope == self.place.scope
        if row.id not in self._numbers:
            number = self._index.add(self.named(row.asked))
            self._numbers[row.id] = number
            self._rows.append(row)
            self._own |= own << number
            self._office |= (not self.place.public) << number
        number, status = self._numbers[row.id], Status(row.status)
        self._rows[number] = row
        if own and row.edition == self.place.edition:
            others = ~(1 << number)
            self._claimed = self._claimed & others | (status is Status.CLAIMED) << number
            self._released = self._released & others | (status is Status.RELEASED) << number
            self._partial = self._partial & others | (status is Status.PARTIAL) << number

    # Looks

    def look(self, detail: QuestionClass) -> Look:
        """Return the looks at a guarded class: this scope's, or the office's if fewer are left."""
        rules, showing = self.space.rules, self._index.covering(detail)
        own = Look(detail, (showing & self._own).bit_count(), rules.looks)
        office = Look(detail, (showing & self._office).bit_count(), rules.office_looks)
        return min(own, office, key=lambda look: look.left)

    def fewest_left(self, asked: QuestionClass) -> Look | None:
        """Return the looks at the guarded class below with the fewest left, if one is guarded."""
        found = (self.look(detail) for detail in self.space.edge(asked))
        return min(found, key=lambda look: (look.left, look.of.cells, look.of.name), default=None)

    def looks(self) -> list[Look]:
        """Return the looks at each coarsest guarded class that a table shows, most used first."""
        tables = {self._index[number] for number in numbers(self._own | self._office)}
        details = {detail for table in tables for detail in self.space.edge(table)}
        found = [self.look(detail) for detail in details]
        return sorted(found, key=lambda look: (look.left, look.of.cells, look.of.name))

    def tables(self) -> list[QuestionClass]:
        """Return the tables of this scope, of all editions."""
        return [self._index[number] for number in numbers(self._own)]

    def unsettled(self, asked: QuestionClass | None) -> list[QuestionClass]:
        """Return the tables of this edition that are claimed and not judged, which cover a class.

        All of them for None.
        """
        some = self._claimed if asked is None else self._claimed & self._index.covering(asked)
        return sorted((self._index[number] for number in numbers(some)), key=lambda c: c.cells)

    def showing(self, detail: QuestionClass) -> Iterator[Shown]:
        """Yield the tables of this scope that use a look at a class, of all editions."""
        for number in numbers(self._index.covering(detail) & self._own):
            table, row = self._index[number], self._rows[number]
            status, origin = Status(row.status), Origin(row.origin)
            yield Shown(table.name, table.cells, status, origin, row.since)

    def since(self, table: QuestionClass) -> date | None:
        """Return the day on which a table of this edition was decided on."""
        for number in numbers(self._index.covering(table) & (self._released | self._partial)):
            if self._index[number] == table:
                return self._rows[number].since
        return None

    # Deciding

    def may_claim(self, asked: QuestionClass) -> bool:
        """Whether every guarded class below has a look left."""
        return all(self.look(detail).left for detail in self.space.edge(asked))

    def decide(self, asked: QuestionClass) -> QuestionClass | None:
        """Return the table that is to answer a class on which nothing is decided, if any can."""
        if not self.space.guarded(asked):
            return asked
        finer = self._finer(asked)
        if finer is not None and finer.parts(asked) <= self.space.rules.sums_up_to:
            return finer
        return asked if self.may_claim(asked) else finer

    def _finer(self, asked: QuestionClass) -> QuestionClass | None:
        """Return the smallest released table that covers a class.

        One with areas withheld answers only for its own areas: larger ones would lack a part.
        """
        shown = self._released | self._partial & self._index.same_areas(asked)
        return self._index.fewest_cells(self._index.covering(asked) & shown)

    def foreseen(self, asked: QuestionClass) -> tuple[State, QuestionClass | None]:
        """Return what would become of a question, and the released table that would answer it."""
        route = self.routes.get(asked)
        if route is None:
            source = self.decide(asked)
            if source is None:
                return State.USED, None
            if source != asked:
                return State.SUMS, source
            return (State.LOOK if self.space.guarded(asked) else State.FREE), None
        if route.summed:
            return State.SUMS, route.source
        if route.status is Status.CLAIMED:  # its looks are used already
            return State.FREE, None
        return (State.RELEASED, asked) if route.status.shown else (State.REFUSED, None)
