"""The stores that are served, each at its current version; a new version is noticed by itself."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from discreet.errors import DiscreetError, InternalError, ParameterError, QueryRefused
from discreet.policy import Policy, Tier, parse_policy
from discreet.population import Schema, Store, Version
from discreet.population.keys import Secret
from discreet.query import Query
from discreet.release.pipeline import Releaser
from discreet.release.signature import Signer
from discreet.tabulate import ScanEngine, ViewEngine

_TAG = b"discreet answer\0"


@dataclass(frozen=True, eq=False)
class Opened:
    """One version of a store with everything that answers questions about it."""

    store: Path
    version: Version
    policy: Policy
    tier: Tier
    engine: ViewEngine
    releaser: Releaser
    signer: Signer
    tag_key: bytes = field(repr=False)

    @property
    def id(self) -> str:
        """The id of the data set."""
        return self.version.schema.id

    @property
    def schema(self) -> Schema:
        """Variables, levels and categories."""
        return self.version.schema

    @property
    def public(self) -> bool:
        """Whether the answers are for everyone."""
        return self.tier.public

    def tag(self, *parts: str) -> bytes:
        """Return what an answer is known by: a keyed hash of the question, never of figures."""
        text = json.dumps([self.id, self.version.id, self.policy.version, self.tier.id, *parts])
        return hashlib.blake2b(text.encode(), digest_size=16, key=self.tag_key).digest()


def open_store(path: Path) -> Opened:
    """Return the current version of a store, ready to answer.

    Raises `ParameterError` for a store that cannot be served, and `InternalError` while a build is
    just switching its secret.
    """
    store = Store(path)
    version = store.open()
    policy = parse_policy(version.policy_values, "policy", str(version.path))
    tier = next((tier for tier in policy.tiers.values() if tier.public), None)
    if tier is None:
        raise ParameterError(
            f"the policy of {path} must have a public tier to be served: whoever asks over HTTP "
            "is the public."
        )
    try:
        secret = Secret.read(store.secret)
    except OSError as error:
        raise ParameterError(f"the secret of {path} cannot be read: {error.strerror}") from None
    if version.manifest.get("secret") not in (None, secret.fingerprint()):
        raise InternalError(f"{path} is just being given a new secret")
    engine = ViewEngine(version, ScanEngine(version), version.views)
    releaser = Releaser(version, engine, policy, secret, path / "records")
    _warm(Releaser(version, engine, policy, secret, log=None), tier.id)
    tag_key = hashlib.blake2b(digest_size=32, key=secret.value, person=_TAG).digest()
    return Opened(path, version, policy, tier, engine, releaser, Signer.of_store(path), tag_key)


def _warm(unrecorded: Releaser, tier: str) -> None:
    """Answer one small question, so that no reader waits for imports and compiled kernels."""
    levels = [
        level for variable in unrecorded.version.schema.variables for level in variable.levels
    ]
    with suppress(QueryRefused):
        unrecorded.release(Query.parse(min(levels, key=len).id), tier=tier)


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
        """Whether a store has another version than the one that is open; costs a stat each."""
        return any(_mark(path) != self._seen.get(path) for path in self.stores)

    def fresh(self) -> list[tuple[Path, tuple[int, ...], Opened | DiscreetError]]:
        """Open what has changed, in whichever thread; `take` makes it current."""
        found: list[tuple[Path, tuple[int, ...], Opened | DiscreetError]] = []
        for path in self.stores:
            mark = _mark(path)
            if mark == self._seen.get(path):
                continue
            try:
                opened = open_store(path)
            except DiscreetError as error:
                found.append((path, mark, error))
            else:
                found.append((path, mark, opened))
        return found

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
        "totals": ["none", opened.tier.protection.margins.value]
        if opened.tier.protection.margins.value != "none"
        else ["none"],
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
    """Return what a list of data sets says of one."""
    schema = opened.schema
    return {
        "id": schema.id,
        "title": schema.title,
        "unit": schema.unit,
        "data_version": opened.version.id,
        "data_date": str(opened.version.manifest["created"]),
        "policy_version": opened.policy.version,
    }
