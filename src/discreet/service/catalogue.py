"""The stores that are served, each at its current version; new versions are noticed."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

from discreet.compiling import SMALL, warm
from discreet.errors import (
    Damaged,
    DiscreetError,
    EngineUnavailable,
    InternalError,
    LedgerUnavailable,
    NotCertified,
    ParameterError,
    QueryRefused,
    RecordsUnreachable,
    Sealed,
)
from discreet.federation.hub import Federation
from discreet.population import Store, Version
from discreet.population.intact import Pause
from discreet.query import Question
from discreet.service.certificate import FOLDER, check_certified, served_instead
from discreet.service.opened import Opened, open_store
from discreet.service.verifying import views_of
from discreet.tabulate import PushDown, ScanEngine, ViewEngine
from discreet.tabulate.views import cells_of

LONGEST = 60.0
"""Seconds after which a store that cannot be opened is tried again, at the latest."""

_WARM_UPS = {
    "discreet.risk.kernels": "discreet.risk.kernels:warm_up",
    "discreet.release.formats.kernels": "discreet.release.formats.kernels:warm_up",
}
_AWAY = "records"  # elsewhere, and they cannot be counted now
_WORDS: tuple[tuple[type[Exception], str], ...] = (
    (Sealed, "sealed"),
    (Damaged, "damaged"),
    (LedgerUnavailable, "database"),
    (EngineUnavailable, _AWAY),
    (NotCertified, "not certified"),
    (OSError, "unreadable"),
    (ParameterError, "unusable"),
)

Mark = tuple[int, ...]
"""What changes when another version of a store becomes current."""


def open_served(path: Path) -> Opened:
    """Return the current version of a store, ready to be served; refuse one for no public."""
    return _ready(path)


def _ready(path: Path, name: str | None = None) -> Opened:
    opened = open_store(path, name=name)
    with suppress(RecordsUnreachable):  # what views cover is answered, and the rest may come back
        opened.version.verified()  # a server says at once what is damaged
    if not opened.public:
        raise ParameterError(
            f"the policy of {path} must have a public tier to be served: whoever asks over HTTP "
            "is the public."
        )
    check_certified(path, opened.version, opened.policy)
    opened.releaser.make_planned()
    _warm(opened)
    return opened


def _warm(opened: Opened) -> None:
    """Answer one small question, so that no reader waits for imports and compiled kernels."""
    opened.signer  # noqa: B018 - a key that cannot be read is told now
    if opened.releaser.elsewhere is not None:
        return  # other offices are asked when a reader asks
    levels = [level for variable in opened.schema.variables for level in variable.levels]
    smallest = Question(opened.schema, (min(levels, key=len),))
    with suppress(QueryRefused, EngineUnavailable):
        opened.releaser.quiet.release(smallest)
    if isinstance(opened.engine, ViewEngine) and isinstance(opened.engine.behind, ScanEngine):
        opened.engine.behind.warm()
    if opened.version.people > SMALL:
        warm(_WARM_UPS, patient=True)


@dataclass(frozen=True)
class Trouble:
    """Why the current version of a store is not served, and when it is tried again."""

    word: str
    mark: Mark
    tries: int
    again: float


class Catalogue:
    """The data sets by id; `refresh` opens what has changed on disk."""

    def __init__(self, stores: Sequence[Path]) -> None:
        if not stores:
            raise ParameterError("there must be at least one store to serve.")
        self.stores = tuple(Path(store) for store in stores)
        self._open: dict[Path, Opened] = {}
        self._seen: dict[Path, Mark] = {}
        self._by_id: dict[str, Opened] = {}
        self._troubles: dict[Path, Trouble] = {}
        self._lost = False  # whether the state database does not answer
        self._away = False  # whether records elsewhere cannot be counted
        self.looked = self.verified = monotonic()

    @property
    def ready(self) -> bool:
        """Whether every store is open."""
        return len(self._open) == len(self.stores)

    @property
    def datasets(self) -> dict[str, Opened]:
        """The open data sets by id, in the order of the stores."""
        return self._by_id

    @property
    def trouble(self) -> str:
        """Why something is not served as it should be, in a word; empty if all is well."""
        words = [trouble.word for trouble in self._troubles.values()]
        words += ["database"] * self._lost + [_AWAY] * self._away
        return next((word for word in [*words, *(one.trouble for one in self._hubs())] if word), "")

    def _hubs(self) -> list[Federation]:
        """Return how the data sets are reached whose data live at other offices."""
        engines = [opened.engine for opened in tuple(self._open.values())]
        return [engine for engine in engines if isinstance(engine, Federation)]

    @property
    def uncertified(self) -> tuple[Path, ...]:
        """The stores whose current version waits for a certificate."""
        word = dict(_WORDS)[NotCertified]
        return tuple(path for path, trouble in self._troubles.items() if trouble.word == word)

    def health(self) -> dict[str, str]:
        """Return whether all is well, or why not; raise `Damaged` if a data set has no answers."""
        for opened in self._by_id.values():
            opened.version.guard.check()
        return {"status": "degraded", "why": self.trouble} if self.trouble else {"status": "ready"}

    def look_at_state(self) -> None:
        """See whether the state database answers, and other offices whose data are asked for.

        Without it no new detail is released.
        """
        try:
            for opened in tuple(self._open.values()):
                with opened.releaser.ledgers.database.reading():
                    pass
            self._lost = False
        except LedgerUnavailable:
            self._lost = True
        for sites in self._hubs():
            sites.look()

    def look_at_engines(self) -> DiscreetError | None:
        """See whether records elsewhere can be counted; return why not when that is new.

        Files that were written to are read again: a damaged version answers nothing more.
        """
        try:
            for opened in tuple(self._open.values()):
                engine = opened.engine
                if isinstance(engine, ViewEngine) and isinstance(engine.behind, PushDown):
                    engine.behind.reach()
                    with suppress(Damaged):  # which is noticed and told as that of other files
                        opened.version.verified()
            self._away = False
        except DiscreetError as error:
            known, self._away = self._away, True
            return None if known else error
        return None

    def stale(self) -> bool:
        """Whether a store must be opened: it has another version, or a file of it was changed."""
        self.looked = monotonic()
        return bool(self._due())

    def fresh(self) -> list[tuple[Path, Mark, Opened | DiscreetError]]:
        """Open what has changed, in whichever thread; `take` makes it current."""
        found = [
            (path, mark, _open_or_error(path, path not in self._open)) for path, mark in self._due()
        ]
        for path, mark, opened in found:
            if isinstance(opened, DiscreetError):
                self._note(path, mark, opened)
        return found

    def _due(self) -> list[tuple[Path, Mark]]:
        """Return the stores that are to be opened now, each with its mark."""
        found, now = [], monotonic()
        for path in self.stores:
            mark, trouble = _mark(path), self._troubles.get(path)
            opened = self._open.get(path)
            changed = opened is None or mark != self._seen[path] or not _intact(opened)
            if changed and (trouble is None or trouble.mark != mark or trouble.again <= now):
                found.append((path, mark))
        return found

    def _note(self, path: Path, mark: Mark, error: DiscreetError) -> None:
        """Remember a failure: it is tried again, later each time unless the store changes."""
        before = self._troubles.get(path)
        tries = 0 if before is None or before.mark != mark else before.tries + 1
        again = monotonic() + min(LONGEST, 2.0**tries)
        cause = error.__cause__ if isinstance(error, InternalError) else error
        word = next((word for kind, word in _WORDS if isinstance(cause, kind)), "failed")
        self._troubles[path] = Trouble(word, mark, tries, again)

    def take(self, path: Path, mark: Mark, opened: Opened) -> Opened | None:
        """Answer from this version from now on, and return the one it takes the place of."""
        others = {o.id: o.store for p, o in self._open.items() if p != path}
        if opened.id in others:
            error = ParameterError(
                f"data sets served together must have different ids. Both {others[opened.id]} and "
                f"{path} hold '{opened.id}'."
            )
            self._note(path, mark, error)
            raise error
        before = self._open.get(path)
        self._open[path] = opened
        self._seen[path] = mark
        self._troubles.pop(path, None)
        with suppress(OSError):  # what is open answers all the same
            if opened.version.id != Store(path).current():
                self._note(path, mark, NotCertified("the current version has no certificate"))
        self._by_id = {self._open[p].id: self._open[p] for p in self.stores if p in self._open}
        if before is not None:
            before.close()
        return before

    def verify(self, pause: Pause) -> list[tuple[str, DiscreetError]]:
        """Read every file that is served once more; return what is damaged, with its version.

        A damaged version answers nothing more. A damaged view is removed: it is built again.
        """
        found: list[tuple[str, DiscreetError]] = []
        for opened in tuple(self._open.values()):
            version = opened.version
            try:
                version.verify(pause)
                found += [(version.id, error) for error in _without_damaged_views(version)]
            except RecordsUnreachable:
                continue  # which readiness says
            except Damaged as error:
                if self._by_id.get(opened.id) is opened:  # not if a build has removed it meanwhile
                    found.append((version.id, error))
        self.verified = monotonic()
        return found


def _without_damaged_views(version: Version) -> Iterator[DiscreetError]:
    for path in views_of(version):
        try:
            cells_of(version, path)
        except Damaged as error:
            path.unlink(missing_ok=True)
            yield error
        except OSError:
            continue  # it went meanwhile


def _intact(opened: Opened) -> bool:
    try:
        opened.version.guard.check()
    except Damaged:
        return False
    return True


def _open_or_error(path: Path, first: bool) -> Opened | DiscreetError:
    """Return an open store, or whatever went wrong: a damaged file may fail in any way.

    What is opened for the `first` time may be the last version that is certified, where the current
    one has no certificate; else one is open already.
    """
    try:
        try:
            return open_served(path)
        except NotCertified as error:
            if not first:
                raise
            return _ready(path, served_instead(path, error))
    except DiscreetError as error:
        return error
    except Exception as error:
        failed = InternalError(f"{path} could not be opened")
        failed.__cause__ = error
        return failed


def _mark(path: Path) -> Mark:
    """Return what changes when another version becomes current, or is certified."""
    try:
        found = os.stat(path / "CURRENT")
    except OSError:
        return ()
    mark: Mark = (found.st_ino, found.st_mtime_ns, found.st_size)
    with suppress(OSError):
        mark += (os.stat(path / FOLDER).st_mtime_ns,)
    return mark


def described(opened: Opened) -> dict[str, Any]:
    """Return what a data set holds, as plain values."""
    rules = opened.tier.question
    return {
        **summary(opened),
        "totals": list(dict.fromkeys(["none", opened.tier.protection.margins.value])),
        "limits": {
            "variables": rules.max_dimensions,
            "cells": rules.max_cells,
            "categories": rules.max_categories,
            "not_filtered": list(rules.filters_refused),
        },
        "variables": [
            {
                "id": variable.id,
                "label": variable.label,
                "definition": variable.definition,
                "geography": variable.is_geography,
                "levels": [
                    {
                        "id": level.id,
                        "label": level.label,
                        "available": level.id not in rules.levels_refused,
                        "of": None if level is variable.finest else level.of.tolist(),
                        "categories": [
                            {"code": code, "label": label}
                            for code, label in zip(level.codes, level.labels, strict=True)
                        ],
                    }
                    for level in variable.levels
                ],
            }
            for variable in opened.schema.variables
        ],
    }


def summary(opened: Opened) -> dict[str, Any]:
    """Return the entry of a data set in a list."""
    schema = opened.schema
    return {
        "id": schema.id,
        "title": schema.title,
        "unit": schema.unit,
        "data_version": opened.version.id,
        "data_date": str(opened.version.manifest["created"]),
        "policy_version": opened.policy.version,
    }
