"""What the page and the API share: data sets, questions, releases kept and computed once.

Everything here runs on one event loop; what counts runs in threads. A release is known by a keyed
hash of the question and the versions of data and policy, never of a figure.
"""

from __future__ import annotations

import asyncio
import gzip
import json
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from threading import Event
from typing import Any, TypeVar
from urllib.parse import quote

from discreet import __version__
from discreet.errors import (
    DiscreetError,
    InternalError,
    ParameterError,
    QueryRefused,
    Starting,
    UnknownDataset,
    unknown,
)
from discreet.query import Query, Question
from discreet.release.formats import FORMATS, file_name, to_bytes, with_beside
from discreet.release.formats.tidy import META
from discreet.release.result import Release
from discreet.release.text import stem
from discreet.rules import Code
from discreet.service.cache import Cache
from discreet.service.catalogue import Catalogue, Opened, described, summary
from discreet.service.lanes import Lane
from discreet.service.limits import Limits

Where = str | Mapping[str, str | Iterable[str]] | None
Found = TypeVar("Found")

DEFAULT_FORMAT = "json-stat"
_POLL = 0.5  # seconds between looks at the stores
_MEMO = 10_000  # questions whose name is remembered as they were typed…
_MEMO_TEXT = 500  # …if they are no longer than this
_COMPRESSED = 1_000  # bytes from which compression is worth it


@dataclass(frozen=True, eq=False)
class Asked:
    """A question looked up in a data set, with the totals asked for; `key` is its name."""

    opened: Opened
    query: Query
    question: Question
    totals: str
    key: bytes

    @property
    def public(self) -> bool:
        """Whether the answer is for everyone."""
        return self.opened.public

    @property
    def stem(self) -> str:
        """What its files are called after it, without an ending."""
        return stem(self.opened.id, self.question)

    def link(self, path: str, format: str) -> str:
        """Return an address that asks the same, from the folder of the data set."""
        given = {
            "by": ",".join(axis.level.id for axis in self.question.axes),
            "where": ",".join(f.canonical() for f in self.question.filters),
            "totals": self.totals if self.totals != "none" else "",
            "format": format,
        }
        parts = (f"{key}={quote(text, safe=',|=@')}" for key, text in given.items() if text)
        return f"{path}?{'&'.join(parts)}"


@dataclass(frozen=True, eq=False)
class Answer:
    """A release, and whether it was at hand."""

    release: Release
    hit: bool


@dataclass(frozen=True, eq=False)
class File:
    """A release in a format; `tag` names it and `compressed` is it in gzip, where that pays."""

    body: bytes
    compressed: bytes | None
    media_type: str
    name: str
    tag: str
    public: bool
    link: str = ""
    """Where what belongs beside it is, from where it is; empty where it carries all itself."""


_Kept = Release | QueryRefused | File
Value = TypeVar("Value", bound=_Kept)


class Service:
    """Answers questions about some stores, with bounds on what it spends."""

    def __init__(
        self,
        stores: Sequence[Path],
        limits: Limits | None = None,
        tell: Callable[[str, BaseException], None] = lambda event, error: None,
    ) -> None:
        self.limits = limits or Limits()
        self.catalogue = Catalogue(stores)
        self.cache: Cache[_Kept] = Cache(self.limits.cache_bytes)
        self._tell = tell
        self._told: dict[Path, tuple[int, ...]] = {}
        self._names: OrderedDict[tuple[str, ...], bytes] = OrderedDict()
        self._flights: dict[bytes, asyncio.Task[Any]] = {}
        self._watch: asyncio.Task[None] | None = None
        self.light = self._lane("light", self.limits.light_workers)
        self.heavy = self._lane("heavy", self.limits.heavy_workers)

    def _lane(self, name: str, workers: int) -> Lane:
        return Lane(name, workers, self.limits.queue, self.limits.seconds)

    # Stores

    @property
    def ready(self) -> bool:
        """Whether every store has been opened."""
        return self.catalogue.ready

    async def start(self) -> None:
        """Open the stores, and keep looking for new versions of them."""
        self._watch = asyncio.create_task(self._look())

    async def stop(self) -> None:
        """Finish what runs, then let the threads go."""
        if self._watch is not None:
            self._watch.cancel()
            with suppress(asyncio.CancelledError):
                await self._watch
        if self._flights:
            await asyncio.wait(self._flights.values())
        self.light.close()
        self.heavy.close()

    async def _look(self) -> None:
        while True:
            if self.catalogue.stale():
                await self.refresh()
            await asyncio.sleep(_POLL)

    async def refresh(self) -> None:
        """Answer from the current versions from now on; the old ones answer until they are open."""
        for path, mark, found in await asyncio.to_thread(self.catalogue.fresh):
            try:
                if isinstance(found, DiscreetError):
                    raise found
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
        """Return what there is, shortly."""
        return [summary(opened) for opened in self.catalogue.datasets.values()]

    def dataset(self, dataset: str) -> dict[str, Any]:
        """Return what a data set holds: variables, levels, categories, what may be asked."""
        return described(self.opened(dataset))

    async def description(self, dataset: str) -> File:
        """Return what a data set holds as JSON; kept, for long lists of areas take a while."""
        opened = self.opened(dataset)
        key = opened.tag("description", __version__)
        held = self.cache.get(key)
        if isinstance(held, File):
            return held

        async def work() -> File:
            def write(stop: Event) -> File:
                body = json.dumps(described(opened), ensure_ascii=False).encode()
                return _packed(body, "application/json", f"{opened.id}.json", key, opened.public)

            return self._kept(opened, key, await self.light.run(write))

        return await self._once(key, work)

    def opened(self, dataset: str) -> Opened:
        """Return the version of a data set that answers now."""
        found = self.catalogue.datasets.get(dataset)
        if found is None:
            if not self.ready:
                raise Starting("The server is starting.")
            raise UnknownDataset(str(unknown("data set", dataset[:64], self.catalogue.datasets)))
        return found

    def config(self) -> dict[str, Any]:
        """Return the limits and the formats, for programs."""
        return {"version": __version__, "formats": list(FORMATS), "limits": asdict(self.limits)}

    # Questions

    def ask(
        self, dataset: str, by: str | Sequence[str], where: Where = None, totals: str = "none"
    ) -> Asked:
        """Return the question looked up, or complain with the choices; no rule is applied yet."""
        opened = self.opened(dataset)
        query = Query.parse(by, where)
        codes = sum(len(codes) for _, codes in query.where)
        if len(query.where) > self.limits.max_filters or codes > self.limits.max_codes:
            raise ParameterError(
                f"a question may have at most {self.limits.max_filters} filters with "
                f"{self.limits.max_codes:,} codes in all. Got {len(query.where)} with {codes:,}."
            )
        question = Question.of(query, opened.schema)
        if totals not in ("none", "protected", "summed"):
            raise unknown("kind of totals", totals[:64], ("none", "protected", "summed"))
        # The order of the variables and the levels at which filters are named are no part of the
        # canonical question, but of what its answer says.
        order = ",".join(axis.level.id for axis in question.axes)
        named = ",".join(f.level.id for f in question.filters)
        key = opened.tag(question.canonical, order, named, totals)
        return Asked(opened, query, question, totals, key)

    def check(self, asked: Asked) -> dict[str, Any]:
        """Return whether the rules on questions allow it; nothing is counted."""
        found: dict[str, Any] = {
            "allowed": True,
            "cells": asked.question.cells,
            "question": asked.question.canonical,
            "totals": asked.totals,
            "code": None,
            "message": None,
        }
        try:
            self._allow(asked)
        except QueryRefused as refused:
            found |= {"allowed": False, "code": refused.code, "message": str(refused)}
        return found

    def _allow(self, asked: Asked) -> None:
        asked.opened.releaser.check(asked.query, asked.totals, asked.opened.tier.id)
        if asked.question.cells > self.limits.max_cells:
            raise QueryRefused(
                Code.MAX_CELLS,
                f"A table may have at most {self.limits.max_cells:,} cells. This one has "
                f"{asked.question.cells:,}.",
            )

    # Releases

    async def release(self, asked: Asked) -> Answer:
        """Return the release, computed once however many ask; raises `QueryRefused` likewise."""
        self._allow(asked)
        held = self.cache.get(asked.key)
        if held is None:
            return Answer(await self._once(asked.key, lambda: self._compute(asked)), hit=False)
        if isinstance(held, QueryRefused):
            raise QueryRefused(held.code, str(held), held.hints)  # one of its own to each reader
        assert isinstance(held, Release)
        return Answer(held, hit=True)

    async def file(self, asked: Asked, format: str) -> File:
        """Return the release in a format, or raise `QueryRefused`."""
        key = self.file_key(asked, format)
        held = self.cache.get(key)
        if isinstance(held, File):
            return held
        answer = await self.release(asked)
        return await self._once(key, lambda: self._write(asked, answer.release, format, key))

    async def beside(self, asked: Asked, format: str, ending: str) -> File:
        """Return a file that belongs beside the release in a format, such as `.meta.json`."""
        if format not in with_beside(ending):
            raise unknown(f"format with a file {ending}", format[:64], with_beside(ending))
        key = asked.opened.tag(asked.key.hex(), format, ending, __version__)
        held = self.cache.get(key)
        if isinstance(held, File):
            return held
        release = (await self.release(asked)).release

        async def work() -> File:
            def write(stop: Event) -> File:
                body = FORMATS[format].companions(release)[ending]
                kind = "application/json" if ending.endswith(".json") else "application/xml"
                name = file_name(asked.stem, format) + ending
                return _packed(body, kind, name, key, asked.public)

            return self._kept(asked.opened, key, await self.light.run(write))

        return await self._once(key, work)

    def file_key(self, asked: Asked, format: str) -> bytes:
        """Return the name of a release in a format; it is the same after a restart."""
        if format not in FORMATS:
            raise unknown("format", format[:64], FORMATS)
        return asked.opened.tag(asked.key.hex(), format, __version__)

    def holds(self, asked: Asked) -> bool:
        """Whether the release or the refusal of a question is at hand."""
        return self.cache.get(asked.key) is not None

    def at_hand(self, *typed: str) -> File | None:
        """Return the answer to a question typed exactly like an earlier one, if it is kept."""
        key = self._names.get(typed)
        held = None if key is None else self.cache.get(key)
        return held if isinstance(held, File) else None

    def remember(self, key: bytes, *typed: str) -> None:
        """Remember how the question of an answer was typed."""
        if sum(map(len, typed)) <= _MEMO_TEXT:
            self._names[typed] = key
            if len(self._names) > _MEMO:
                self._names.popitem(last=False)

    async def _once(self, key: bytes, work: Callable[[], Coroutine[Any, Any, Found]]) -> Found:
        """Run what has this name once at a time; all who ask meanwhile get its result."""
        task = self._flights.get(key)
        if task is None:
            task = asyncio.create_task(work())
            self._flights[key] = task
            task.add_done_callback(lambda _: self._flights.pop(key, None))
        # Whoever goes away must not take the answer from the others.
        return await asyncio.shield(task)

    def _lane_of(self, asked: Asked) -> Lane:
        light = asked.question.cells <= self.limits.light_cells
        return self.light if light and asked.opened.engine.covers(asked.question) else self.heavy

    async def _compute(self, asked: Asked) -> Release:
        opened = asked.opened

        def work(stop: Event) -> Release | QueryRefused:
            try:
                found = opened.releaser.release(asked.query, asked.totals, opened.tier.id, stop)
                return replace(found, signer=opened.signer)
            except QueryRefused as refused:
                # Without its record, which is nothing to keep where readers are served.
                return QueryRefused(refused.code, str(refused), refused.hints)
            except ParameterError as error:
                # The question was fine: this is ours, and its message is not for the caller.
                raise InternalError(
                    "a question that was looked up could not be answered"
                ) from error

        found = self._kept(opened, asked.key, await self._lane_of(asked).run(work))
        if isinstance(found, QueryRefused):
            raise found
        return found

    async def _write(self, asked: Asked, release: Release, format: str, key: bytes) -> File:
        kind = FORMATS[format]

        def work(stop: Event) -> File:
            name = file_name(asked.stem, format)
            file = _packed(to_bytes(release, format), kind.media_type, name, key, asked.public)
            if META in kind.beside:
                file = replace(file, link=asked.link("table/meta", format))
            return file

        light = asked.question.cells <= self.limits.light_cells
        return self._kept(asked.opened, key, await (self.light if light else self.heavy).run(work))

    def _kept(self, opened: Opened, key: bytes, value: Value) -> Value:
        # A version that is no longer current is not asked for again.
        if self.catalogue.datasets.get(opened.id) is opened:
            self.cache.put(key, value, _bytes(value), opened.version.id)
        return value


def _packed(body: bytes, media_type: str, name: str, key: bytes, public: bool) -> File:
    compressed = gzip.compress(body, 6, mtime=0) if len(body) >= _COMPRESSED else None
    if compressed is not None and len(compressed) > 0.9 * len(body):
        compressed = None  # the format is compressed already
    return File(body, compressed, media_type, name, key.hex(), public)


def _bytes(found: _Kept) -> int:
    """Return about how much memory an answer takes."""
    if isinstance(found, File):
        return 500 + len(found.body) + len(found.compressed or b"")
    if isinstance(found, QueryRefused):
        return 2_000
    table = found.table
    arrays = [table.values, table.withheld, table.low, table.high]
    names = sum(len(d.codes) for d in table.dimensions)
    return 4_000 + 100 * names + sum(a.nbytes for a in arrays if a is not None)
