"""The stores that are served, each at its current version; new versions are noticed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from discreet.errors import DiscreetError, ParameterError, QueryRefused
from discreet.query import Question
from discreet.service.opened import Opened, open_store


def open_served(path: Path) -> Opened:
    """Return the current version of a store, ready to be served; refuse one for no public."""
    opened = open_store(path)
    if not opened.public:
        raise ParameterError(
            f"the policy of {path} must have a public tier to be served: whoever asks over HTTP "
            "is the public."
        )
    _warm(opened)
    return opened


def _warm(opened: Opened) -> None:
    """Answer one small question, so that no reader waits for imports and compiled kernels."""
    levels = [level for variable in opened.schema.variables for level in variable.levels]
    smallest = Question(opened.schema, (min(levels, key=len),))
    with suppress(QueryRefused):
        opened.releaser.quiet.release(smallest)
    opened.signer  # noqa: B018 - a key that cannot be read is told now


class Catalogue:
    """The data sets by id; `refresh` opens what has changed on disk."""

    def __init__(self, stores: Sequence[Path]) -> None:
        if not stores:
            raise ParameterError("there must be at least one store to serve.")
        self.stores = tuple(Path(store) for store in stores)
        self._open: dict[Path, Opened] = {}
        self._seen: dict[Path, tuple[int, ...]] = {}
        self._by_id: dict[str, Opened] = {}

    @property
    def ready(self) -> bool:
        """Whether every store is open."""
        return len(self._open) == len(self.stores)

    @property
    def datasets(self) -> dict[str, Opened]:
        """The open data sets by id, in the order of the stores."""
        return self._by_id

    def stale(self) -> bool:
        """Whether a store has another version than the one that is open; one stat per store."""
        return any(_mark(path) != self._seen.get(path) for path in self.stores)

    def fresh(self) -> list[tuple[Path, tuple[int, ...], Opened | DiscreetError]]:
        """Open what has changed, in whichever thread; `take` makes it current."""
        marks = ((path, _mark(path)) for path in self.stores)
        changed = [(path, mark) for path, mark in marks if mark != self._seen.get(path)]
        return [(path, mark, _open_or_error(path)) for path, mark in changed]

    def take(self, path: Path, mark: tuple[int, ...], opened: Opened) -> Opened | None:
        """Answer from this version from now on, and return the one it takes the place of."""
        others = {o.id: o.store for p, o in self._open.items() if p != path}
        if opened.id in others:
            raise ParameterError(
                f"data sets served together must have different ids. Both {others[opened.id]} and "
                f"{path} hold '{opened.id}'."
            )
        before = self._open.get(path)
        self._open[path] = opened
        self._seen[path] = mark
        self._by_id = {self._open[p].id: self._open[p] for p in self.stores if p in self._open}
        return before


def _open_or_error(path: Path) -> Opened | DiscreetError:
    try:
        return open_served(path)
    except DiscreetError as error:
        return error


def _mark(path: Path) -> tuple[int, ...]:
    """Return what changes when another version becomes current."""
    try:
        found = os.stat(path / "CURRENT")
    except OSError:
        return ()
    return (found.st_ino, found.st_mtime_ns, found.st_size)


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
