"""What the page and the API share: data sets, questions, releases kept and computed once.

Everything here runs on one event loop; what counts runs in threads. A release is known by a keyed
hash of the question and the versions of data and policy, never of a figure.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from threading import Event
from typing import Any, TypeVar

from discreet import __version__
from discreet.errors import (
    DiscreetError,
    InternalError,
    NotReleased,
    ParameterError,
    QueryRefused,
    Starting,
    UnknownDataset,
    unknown,
)
from discreet.ledger import Outlook, State
from discreet.lru import Lru
from discreet.query import Query, Question, QuestionClass
from discreet.query.parse import Where
from discreet.release.formats import FORMATS, file_name, to_bytes, with_beside
from discreet.release.formats.tidy import META
from discreet.release.result import Release
from discreet.release.steps import Allowed
from discreet.rules import Code
from discreet.service.asked import Asked, File, Kept, kept_bytes
from discreet.service.asking import Asking
from discreet.service.cache import Cache
from discreet.service.catalogue import Catalogue, described, summary
from discreet.service.lanes import Lane
from discreet.service.limits import Limits
from discreet.service.memory import Bound
from discreet.service.opened import Opened
from discreet.service.shared import Seat

Found = TypeVar("Found")
Known = Callable[[Opened], Asking]
"""Somebody who is known: says of a data set in which tier they ask."""
Value = TypeVar("Value", bound=Kept)

Then = Callable[[Release], None]
"""What is done with a release as soon as there is one."""

DEFAULT_FORMAT = "json-stat"
_POLL = 0.5  # seconds between looks at the stores
_STATE = 5.0  # …and at the state database…
_ENGINES = 15.0  # …and at records elsewhere
_LIGHT = 1  # threads of a process for light questions, however many are answered together
_MEMO = 10_000  # questions whose name is remembered as they were typed…
_MEMO_TEXT = 500  # …if they are no longer than this


_REFUSED = {State.USED: Code.USED_UP, State.REFUSED: Code.NOT_AVAILABLE}


class Service:
    """Answers questions about some stores, with bounds on what it spends."""

    def __init__(
        self,
        stores: Sequence[Path],
        limits: Limits | None = None,
        tell: Callable[[str, BaseException], None] = lambda event, error: None,
        seat: Seat | None = None,
    ) -> None:
        self.catalogue = Catalogue(stores)
        self.cache: Cache[Kept] = Cache(0)
        self._seat = seat
        self._tell = tell
        self._told: dict[Path, tuple[int, ...]] = {}
        self._names: Lru[tuple[str, ...], bytes] = Lru(_MEMO)
        self._flights: dict[bytes, asyncio.Task[Any]] = {}
        self._bound = Bound(self.cache, 1 if seat is None else seat.shared.workers)
        self._watches: list[asyncio.Task[None]] = []
        self.light, self.heavy = (
            Lane("light", 1, 0, 1, seat=seat, threads=_LIGHT),
            Lane("heavy", 1, 0, 1, seat=seat),
        )
        self.use(limits or Limits())

    def use(self, limits: Limits) -> None:
        """Have these limits from now on; one of several workers has its share of them.

        Of the memory for answers most is then common to all workers, the rest their own.
        """
        self.limits, seat = limits, self._seat
        own = (lambda whole: whole) if seat is None else seat.share
        self.cache.budget = limits.cache_bytes if seat is None else own(limits.own_bytes)
        for lane, workers in (
            (self.light, limits.light_workers),
            (self.heavy, limits.heavy_workers),
        ):
            lane.resize(own(workers), limits.queue, limits.seconds, limits.wait)

    # Stores

    @property
    def ready(self) -> bool:
        """Whether every store has been opened."""
        return self.catalogue.ready

    async def start(self) -> None:
        """Open the stores, and keep looking for new versions of them."""
        self._watches = [
            asyncio.create_task(self._look()),
            asyncio.create_task(self._look_at_state()),
            asyncio.create_task(self._look_at_engines()),
        ]

    async def stop(self) -> None:
        """Finish what runs, then let the threads go."""
        for watch in self._watches:
            watch.cancel()
            with suppress(asyncio.CancelledError):
                await watch
        if self._flights:
            await asyncio.wait(self._flights.values())
        self.light.close()
        self.heavy.close()

    async def _look(self) -> None:
        while True:
            if self.catalogue.stale():
                await self.refresh()
            elif self.ready:
                self._bound.look(self.catalogue.datasets.values())
            await asyncio.sleep(_POLL)

    async def _look_at_state(self) -> None:
        while True:
            await asyncio.to_thread(self.catalogue.look_at_state)
            await asyncio.sleep(_STATE)

    async def _look_at_engines(self) -> None:
        while True:
            if error := await asyncio.to_thread(self.catalogue.look_at_engines):
                self._tell("engine", error)
            await asyncio.sleep(_ENGINES if self.ready else _POLL)

    async def refresh(self) -> None:
        """Answer from the current versions from now on; the old ones answer until they are open."""
        for path, mark, found in await asyncio.to_thread(self.catalogue.fresh):
            try:
                if isinstance(found, DiscreetError):
                    raise found
                if self._seat is not None:
                    found.releaser.tables.common = self._seat.shared.answers
                before = self.catalogue.take(path, mark, found)
            except DiscreetError as error:
                # Said once, and tried again: a build may be in the middle of its switch.
                if self._told.get(path) != mark:
                    self._told[path] = mark
                    self._tell("store", error)
                continue
            if before is not None:
                self.cache.forget(before.version.id)
                self._names.clear()

    def datasets(self) -> list[dict[str, Any]]:
        """Return the data sets, each in brief."""
        return [summary(opened) for opened in self.catalogue.datasets.values()]

    async def description(self, opened: Opened) -> File:
        """Return a data set as JSON: variables, levels, categories and what may be asked; kept."""
        key = opened.tag("description", __version__)

        def write(stop: Event) -> File:
            body = json.dumps(described(opened), ensure_ascii=False).encode()
            file = File.of(body, "application/json", f"{opened.id}.json", key, opened.public)
            return file.zipped

        return await self._file(opened, key, lambda: self.light.run(write))

    def opened(self, dataset: str, who: Known | None = None) -> Opened:
        """Return the version of a data set that answers now, as somebody who is known sees it."""
        found = self.catalogue.datasets.get(dataset)
        if found is None:
            if not self.ready:
                raise Starting("The server is starting.")
            raise UnknownDataset(str(unknown("data set", dataset[:64], self.catalogue.datasets)))
        return found if who is None else found.seen_by(who(found))

    def config(self) -> dict[str, Any]:
        """Return the limits and the formats, for programs."""
        return {"version": __version__, "formats": list(FORMATS), "limits": asdict(self.limits)}

    # Questions

    def ask(
        self,
        dataset: str,
        by: str | Sequence[str],
        where: Where = None,
        totals: str = "none",
        who: Known | None = None,
    ) -> Asked:
        """Return the question of these texts; the error for an unknown name lists the choices."""
        opened = self.opened(dataset, who)
        query = Query.parse(by, where)
        codes = sum(len(codes) for _, codes in query.where)
        if len(query.where) > self.limits.max_filters or codes > self.limits.max_codes:
            raise ParameterError(
                f"a question may have at most {self.limits.max_filters} filters with "
                f"{self.limits.max_codes:,} codes in all. Got {len(query.where)} with {codes:,}."
            )
        return Asked.of(opened, Question.of(query, opened.schema), totals)

    def check(self, asked: Asked) -> dict[str, Any]:
        """Return whether the rules on questions allow it; nothing is counted."""
        found: dict[str, Any] = {
            "allowed": True,
            "cells": asked.question.cells,
            "question": asked.question.canonical,
            "totals": asked.totals.value,
            "tier": asked.opened.tier.id,
            "code": None,
            "message": None,
            "state": None,
        }
        try:
            self.allowed(asked)
            found["state"] = self.outlook(asked).state
            code = _REFUSED.get(found["state"])
            if code is not None:
                found |= {"allowed": False, "code": code, "message": code.sentence}
        except QueryRefused as refused:
            found |= {"allowed": False, "code": refused.code, "message": str(refused)}
        return found

    def outlook(self, asked: Asked) -> Outlook:
        """Return whether a table is released, would be added up or new, or is used up."""
        return asked.opened.ledger.outlook(QuestionClass.of(asked.question))

    def ledger(self, asked: Asked) -> dict[str, Any]:
        """Return where the figures would come from, and what they would use up; no count."""
        self.allowed(asked)
        found = self.outlook(asked)
        detail = found.detail
        tables = [
            {"table": s.name, "cells": s.cells, "origin": s.origin.value, "since": str(s.since)}
            for s in found.tables
        ]
        return {
            "state": found.state.value,
            "question": asked.question.canonical,
            "tier": asked.opened.tier.id,
            "table": None if found.source is None else found.source.name,
            "since": None if found.since is None else str(found.since),
            "detail": None
            if detail is None
            else {
                "variables": detail.of.name,
                "used": detail.used,
                "limit": detail.limit,
                "tables": tables,
            },
        }

    def allowed(self, asked: Asked) -> Allowed:
        """Return a question that the rules on questions allow, or raise `QueryRefused`."""
        tier = asked.opened.tier.id
        allowed = asked.opened.releaser.check(asked.question, asked.totals, tier)
        if asked.question.cells > self.limits.max_cells:
            raise QueryRefused(
                Code.MAX_CELLS,
                f"A table may have at most {self.limits.max_cells:,} cells. This one has "
                f"{asked.question.cells:,}.",
            )
        return allowed

    # Releases

    def published(self, asked: Asked) -> bool:
        """Whether the table that answers a question is decided on: asking it publishes nothing."""
        return asked.opened.ledger.route(QuestionClass.of(asked.question)) is not None

    async def release(self, asked: Asked, claim: bool = True) -> Release:
        """Return the release, computed once however many ask; raises `QueryRefused` likewise.

        Without `claim` a table that is not released yet is not made: raises `NotReleased`.
        """
        return await self._through(asked, claim, lambda: self._release(asked, claim))

    async def _through(
        self, asked: Asked, claim: bool, work: Callable[[], Coroutine[Any, Any, Found]]
    ) -> Found:
        """Return what the work finds; what somebody who is known asks for is written down first."""
        asking = asked.opened.asking
        if asking is None:
            return await work()

        def outlook() -> Outlook:
            self.allowed(asked)
            return self.outlook(asked)

        if asking.teller is None:
            raise InternalError("nobody writes down what is asked")
        found: Found = await asking.teller(asked, outlook, claim, work)
        return found

    async def _release(self, asked: Asked, claim: bool, then: Then | None = None) -> Release:
        held = self.cache.get(asked.key)
        if held is None and not claim and not self.published(asked):
            self.allowed(asked)
            raise NotReleased
        if held is None:
            return await self._once(asked.key, lambda: self._compute(asked, then))
        if isinstance(held, QueryRefused):
            raise QueryRefused(held.code, str(held), held.hints)  # one of its own to each reader
        assert isinstance(held, Release)
        return held

    async def file(
        self, asked: Asked, format: str, claim: bool = True, zipped: bool = False
    ) -> File:
        """Return the release in a format, in gzip too if need be, or raise `QueryRefused`."""
        key, kind = self.file_key(asked, format), FORMATS[format]
        link = asked.link("table/meta", format) if META in kind.beside else ""

        def write(release: Release) -> File:
            name, body = file_name(asked.stem, format), to_bytes(release, format)
            file = File.of(body, kind.media_type, name, key, asked.public, link)
            return file.zipped if zipped else file

        found = await self._written(asked, key, write, claim)
        if not zipped or found.compressed is not None or not found.long:
            return found
        found = await self._lane_of(asked).run(lambda stop: found.zipped)
        return self._kept(asked.opened, key, found)

    async def beside(self, asked: Asked, format: str, ending: str, claim: bool = True) -> File:
        """Return a file that belongs beside the release in a format, such as `.meta.json`."""
        if format not in with_beside(ending):
            raise unknown(f"format with a file {ending}", format[:64], with_beside(ending))
        key = asked.opened.tag(asked.key.hex(), format, ending, __version__)

        def write(release: Release) -> File:
            name, body = file_name(asked.stem, format), FORMATS[format].companions(release)[ending]
            kind = "application/json" if ending.endswith(".json") else "application/xml"
            return File.of(body, kind, name + ending, key, asked.public).zipped

        return await self._written(asked, key, write, claim)

    def file_key(self, asked: Asked, format: str) -> bytes:
        """Return the name of a release in a format; it is the same after a restart."""
        if format not in FORMATS:
            raise unknown("format", format[:64], FORMATS)
        return asked.opened.tag(asked.key.hex(), format, __version__)

    def holds(self, asked: Asked, file: bytes | None = None) -> bool:
        """Whether the release or the refusal of a question is at hand, or the file of a name."""
        if self.cache.get(asked.key) is not None:
            return True
        return file is not None and self._held(asked.opened, file) is not None

    def at_hand(self, *typed: str) -> File | None:
        """Return the answer to a question typed exactly like an earlier one, if it is kept."""
        key = self._names.get(typed)
        held = None if key is None else self.cache.get(key)
        return held if isinstance(held, File) else None

    def remember(self, key: bytes, *typed: str) -> None:
        """Remember how the question of an answer was typed."""
        if sum(map(len, typed)) <= _MEMO_TEXT:
            self._names.put(typed, key)

    async def _once(self, key: bytes, work: Callable[[], Coroutine[Any, Any, Found]]) -> Found:
        """Run the work of this name once at a time; whoever asks meanwhile gets its result."""
        task = self._flights.get(key)
        if task is None:
            task = asyncio.create_task(work())
            self._flights[key] = task
            task.add_done_callback(lambda _: self._flights.pop(key, None))
        # Whoever goes away must not take the answer from the others.
        return await asyncio.shield(task)

    async def _file(
        self, opened: Opened, key: bytes, work: Callable[[], Coroutine[Any, Any, File]]
    ) -> File:
        """Return the file of this name if it is kept, or else the one that the work makes."""
        held = self._held(opened, key)
        if held is not None:
            return held

        async def kept() -> File:
            return self._kept(opened, key, await work())

        return await self._once(key, kept)

    def _held(self, opened: Opened, key: bytes) -> File | None:
        """Return the file of this name if this worker keeps it, or another has made it."""
        held: Kept | None = self.cache.get(key)
        if held is None and self._seat is not None and opened.version.guard.wrong is None:
            held = self._seat.shared.answers.get(key)
            if held is not None:
                self._own(opened, key, held)
        return held if isinstance(held, File) else None

    async def made(self, opened: Opened, key: bytes, work: Callable[[], File]) -> File:
        """Return what a data set looks like to a program, written once and kept; no figures."""
        return await self._file(opened, key, lambda: self.light.run(lambda stop: work()))

    async def _written(
        self, asked: Asked, key: bytes, write: Callable[[Release], File], claim: bool
    ) -> File:
        async def work() -> File:
            lane, new, written = self._lane_of(asked), not self.holds(asked), list[File]()
            try:
                # What is made for this file is written at once, by the thread that made it.
                release = await self._release(asked, claim, lambda one: written.append(write(one)))
            except QueryRefused as refused:
                if new and not written and refused.code == Code.NOT_AVAILABLE:
                    await lane.run(lambda stop: write(_stand_in(asked)))
                raise
            return written[0] if written else await lane.run(lambda stop: write(release))

        return await self._through(asked, claim, lambda: self._file(asked.opened, key, work))

    def _lane_of(self, asked: Asked) -> Lane:
        light = asked.question.cells <= self.limits.light_cells
        return self.light if light else self.heavy

    async def _compute(self, asked: Asked, then: Then | None) -> Release:
        """Return the release, kept, after the same thread did something with it."""
        opened, allowed = asked.opened, self.allowed(asked)

        def work(stop: Event) -> Release | QueryRefused:
            try:
                found = replace(opened.releaser.answer(allowed, stop), signer=opened.signer)
                if then is not None:
                    then(found)
                return found
            except QueryRefused as refused:
                if then is not None and refused.code == Code.NOT_AVAILABLE:
                    then(_stand_in(asked))
                # Without its record, which is nothing to keep where readers are served.
                return QueryRefused(refused.code, str(refused), refused.hints)
            except ParameterError as error:
                # The question was fine: this is ours, and its message is not for the caller.
                raise InternalError(
                    "a question that was looked up could not be answered"
                ) from error

        complete = allowed.of.question
        light = opened.engine.covers(complete) and complete.cells <= self.limits.light_cells
        lane = self._lane_of(asked) if light else self.heavy
        found = await lane.run(work, opened.releaser.make_together, allowed)
        # What is used up may yet be added up from a table that somebody else asks for.
        if not isinstance(found, QueryRefused) or found.code == Code.NOT_AVAILABLE:
            self._kept(opened, asked.key, found)
        if isinstance(found, QueryRefused):
            raise found
        return found

    def _kept(self, opened: Opened, key: bytes, value: Value) -> Value:
        """Keep an answer; a file is for the other workers too."""
        if self._seat is not None and isinstance(value, File):
            self._seat.shared.answers.put(key, value)
        return self._own(opened, key, value)

    def _own(self, opened: Opened, key: bytes, value: Value) -> Value:
        # A version that is no longer current is not asked for again.
        current = self.catalogue.datasets.get(opened.id)
        if current is not None and current.version is opened.version:
            self.cache.put(key, value, kept_bytes(value), opened.version.id)
        return value


def _stand_in(asked: Asked) -> Release:
    """Return made-up figures, to be written and thrown away.

    A question that is refused for its counts takes as long by them as one that is released.
    """
    return asked.opened.stand_in(asked.question, asked.totals)
