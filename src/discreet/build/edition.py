"""Editions: records that changed since the last build, and what may be told of them.

Two editions of the same figures would show which of them changed, and with them who came, left or
was corrected. So a build whose records differ in a few is refused, one whose records differ in
many is a new edition with noise of its own, and one with the same records is the same edition.
Records are compared by their keys and by the codes of the variables that both versions have: other
labels, levels or variables are no other records.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from discreet.build.scratch import manifest
from discreet.errors import ParameterError
from discreet.policy import Policy
from discreet.population import Store, Version, state
from discreet.population import manifest as manifests
from discreet.population.coded import AREA, HIGH, LOW, column_of
from discreet.progress import Tell
from discreet.tabulate.engines.open import runner_of
from discreet.tabulate.engines.sql import RECORDS

_PRIME = np.uint64(0x9E3779B97F4A7C15)


def number_edition(store: Store, path: Path, policy: Policy, tell: Tell) -> tuple[str, ...]:
    """Write into the manifest of a finished version which edition it is; return what to say of it.

    Raises `ParameterError` where so few records changed that the two editions would show whose.
    """
    current = store.current()
    if current is None:
        return ()
    tell("comparing", 0, None)
    new, held = Version.open(path), manifest(store)
    last = max([int(held.get("edition", 1)), *(v.edition for v in _kept(store))])
    differ = new.rows
    for old in _kept(store):
        found = changes(old, new)
        if not found:
            return _numbered(new, old.edition, 0)  # the same records, whatever was built meanwhile
        needed = policy.changes_needed(new.rows)
        if found < needed and state.made(store.path):
            raise ParameterError(
                f"a new edition must differ in at least {needed:,} records from one that is "
                f"published: with fewer, comparing the two would show whose records changed. Here "
                f"{found:,} differ from version {old.id} (one that changed counts twice, as left "
                "and come). Collect more changes first (minimum_changes in the policy)."
            )
        if old.id == current:
            differ = found
    return _numbered(new, last + 1, differ)


def _kept(store: Store) -> list[Version]:
    """Return the versions that are kept and whole; a damaged one cannot be compared."""
    found = []
    for name in store.list():
        with suppress(ParameterError):
            found.append(Version.open(store.versions / name))
    return found


def _numbered(version: Version, edition: int, differ: int) -> tuple[str, ...]:
    if edition == 1:
        return ()
    manifests.write(version.path, {**version.manifest, "edition": edition})
    if not differ:
        return ()
    return (f"Edition {edition}: {differ:,} records differ, and all figures are drawn anew.",)


def changes(old: Version, new: Version) -> int:
    """Return how many records of two versions are not in both; all, where their keys differ."""
    if old.manifest.get("secret") != new.manifest.get("secret"):
        return old.rows + new.rows
    if old.elsewhere is not None or new.elsewhere is not None:
        return _changes_elsewhere(old, new)
    names = _codes(old).keys() & _codes(new).keys()
    mine, (kept, many) = _marks(new, names), np.unique(_marks(old, names), return_counts=True)
    found, number = np.unique(mine, return_counts=True)
    _, i, j = np.intersect1d(kept, found, assume_unique=True, return_indices=True)
    both = int(np.minimum(many[i], number[j]).sum())
    return old.rows + new.rows - 2 * both


def _changes_elsewhere(old: Version, new: Version) -> int:
    """Return how many records elsewhere are not in both versions, counted where they are."""
    if old.elsewhere is None or new.elsewhere is None or not _numbered_alike(old, new):
        raise ParameterError(
            f"version {old.id} cannot be compared with records that another engine holds, or that "
            "number areas otherwise: too few changes would show whose records changed. Build with "
            "the engine of that version, or into a new store with a copy of the secret."
        )
    runner = runner_of(new.elsewhere, {"before": old.elsewhere.coded})
    quote = runner.quote
    names = [column_of(variable.id) for variable in new.schema.columns]
    names += [AREA] if new.places is not None else []
    columns = ", ".join(f"{quote}{name}{quote}" for name in [*names, LOW, HIGH])
    sides = f"SELECT {columns}, 1 AS s FROM {RECORDS} UNION ALL SELECT {columns}, -1 FROM before"  # noqa: S608
    each = f"SELECT ABS(SUM(s)) AS d FROM ({sides}) AS a GROUP BY {columns}"  # noqa: S608
    try:
        query = f"SELECT CAST(SUM(d) AS BIGINT) AS n FROM ({each}) AS b"  # noqa: S608
        return int(runner.run(query, {}, None).column("n")[0].as_py())
    finally:
        runner.close()


def _numbered_alike(old: Version, new: Version) -> bool:
    if _codes(old) != _codes(new):
        return False
    if old.places is None or new.places is None:
        return old.places is new.places
    return bool(np.array_equal(old.places, new.places))


def _codes(version: Version) -> dict[str, tuple[str, ...]]:
    """Return the finest codes of every variable, the geography included."""
    return {variable.id: variable.finest.codes for variable in version.schema.variables}


def _marks(version: Version, names: Set[str]) -> NDArray[np.uint64]:
    """Return a number for each record that is the same for the same key and codes of variables."""
    found, schema = version.keys.astype(np.uint64), version.schema
    columns = [_words(v.finest.codes)[version.column(v)] for v in schema.columns if v.id in names]
    if version.areas is not None and schema.geography is not None and schema.geography.id in names:
        words = _words(schema.geography.finest.codes)
        columns.append(np.repeat(words, np.diff(version.areas)))
    if version.counts is not None:
        columns.append(version.counts.astype(np.uint64))
    for column in columns:
        found = (found ^ column) * _PRIME
        found ^= found >> np.uint64(29)
    return found


def _words(codes: Sequence[str]) -> NDArray[np.uint64]:
    """Return a word for each code, whatever number it has."""
    return np.frombuffer(
        b"".join(blake2b(code.encode(), digest_size=8).digest() for code in codes), np.uint64
    )
