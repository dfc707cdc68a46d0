"""How many records of two versions differ, whatever their categories are called.

Records are compared by their keys and by the categories of the variables that both versions have:
other labels, levels or variables are no other records, and neither are other codes where all
records of one code have one other. Which code became which is learnt from the records whose key is
in both versions, once in each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.population import Version
from discreet.population.coded import AREA, column_of
from discreet.tabulate.engines.open import runner_of
from discreet.tabulate.engines.sql import RECORDS

_PRIME = np.uint64(0x9E3779B97F4A7C15)
Words = Mapping[str, NDArray[np.uint64]]


def changes(old: Version, new: Version) -> int:
    """Return how many records of two versions are not in both; all, where their keys differ."""
    if old.manifest.get("secret") != new.manifest.get("secret"):
        return old.rows + new.rows
    if old.elsewhere is not None or new.elsewhere is not None:
        return _changes_elsewhere(old, new)
    before, after = _words_of(old, new), _words_of(new, old)
    found = _apart(_marks(old, before), _marks(new, after))
    if not found:
        return 0
    recoded = _Matched.of(old, new).recoded(before, after)
    return (
        found if recoded is None else min(found, _apart(_marks(old, recoded), _marks(new, after)))
    )


def surely(old: Version, new: Version) -> int:
    """Return how many records differ at least in what they say, whoever they are said of.

    It is for versions that differ by their keys: new keys, by a new secret or by other names for
    the same people, are no other people; nor are other codes, or more or less detail. Where keys
    cannot be matched it is the least number with which the frequencies of each variable could
    become the others, its codes taken in any order.
    """
    if old.elsewhere is not None or new.elsewhere is not None:
        return abs(old.rows - new.rows)
    matched = _Matched.of(old, new)
    if 2 * len(matched.rows[0]) < old.rows:
        return max([abs(old.rows - new.rows), *_frequencies_apart(old, new)])
    before, after = matched.coarsened(_words_of(old, new), _words_of(new, old))
    return _apart(_marks(old, before, False), _marks(new, after, False))


@dataclass(frozen=True, eq=False)
class _Matched:
    """Two versions and the rows of those records of theirs that have one key."""

    old: Version
    new: Version
    rows: tuple[NDArray[np.int64], NDArray[np.int64]]

    @classmethod
    def of(cls, old: Version, new: Version) -> _Matched:
        """Return what can be matched: nobody, under another secret."""
        if old.manifest.get("secret") != new.manifest.get("secret"):
            nobody = np.empty(0, np.int64)
            return cls(old, new, (nobody, nobody))
        (mine, i), (theirs, j) = _single(old), _single(new)
        _, a, b = np.intersect1d(mine, theirs, assume_unique=True, return_indices=True)
        return cls(old, new, (i[a], j[b]))

    def _pairs(self, name: str, many: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Return which code of a variable became which, and how often, the most frequent last."""
        old, new = (_column(v, name)[rows].astype(np.int64)
                    for v, rows in zip((self.old, self.new), self.rows, strict=True))  # fmt: skip
        pairs, times = np.unique(old * many + new, return_counts=True)
        order = np.argsort(times, kind="stable")
        return (*np.divmod(pairs[order], many), times[order])

    def recoded(self, before: Words, after: Words) -> Words | None:
        """Return the words of old codes where each became one other; None if none has another."""
        found = dict(before)
        for name, words in after.items():
            was, is_, _ = self._pairs(name, len(words))
            mostly = dict(zip(was.tolist(), is_.tolist(), strict=True))
            if len(set(mostly.values())) == len(mostly):
                found[name] = _renamed(before[name], mostly, words)
        same = all(np.array_equal(found[name], before[name]) for name in found)
        return None if same else found

    def coarsened(self, before: Words, after: Words) -> tuple[Words, Words]:
        """Return the words of both where codes were renamed, put together or split, for all."""
        old, new = dict(self.recoded(before, after) or before), dict(after)
        for name, words in after.items():
            was, is_, _ = self._pairs(name, len(words))
            if len(np.unique(was)) == len(was):
                old[name] = _renamed(old[name], dict(zip(was, is_, strict=True)), words)
            elif len(np.unique(is_)) == len(is_):
                new[name] = _renamed(words, dict(zip(is_, was, strict=True)), old[name])
        return old, new


def _renamed(
    words: NDArray[np.uint64], became: Mapping[int, int], others: NDArray[np.uint64]
) -> NDArray[np.uint64]:
    found = words.copy()
    found[list(became)] = others[list(became.values())]
    return found


def _single(version: Version) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the keys that one record has, sorted, and its row."""
    keys, rows, times = np.unique(version.keys, return_index=True, return_counts=True)
    return keys[times == 1], rows[times == 1]


def _apart(one: NDArray[np.uint64], other: NDArray[np.uint64]) -> int:
    """Return how many marks are in one of two lists and not in the other."""
    kept, many = np.unique(one, return_counts=True)
    found, number = np.unique(other, return_counts=True)
    _, i, j = np.intersect1d(kept, found, assume_unique=True, return_indices=True)
    return len(one) + len(other) - 2 * int(np.minimum(many[i], number[j]).sum())


def _frequencies_apart(old: Version, new: Version) -> list[int]:
    """Return for each variable how far its frequencies are apart, in whatever order of codes."""
    found = []
    for name in _words_of(old, new):
        sizes = [
            np.sort(np.bincount(_column(v, name), weights=v.counts).astype(np.int64))[::-1]
            for v in (old, new)
        ]
        both = np.zeros((2, max(map(len, sizes))), np.int64)
        for row, size in zip(both, sizes, strict=True):
            row[: len(size)] = size
        found.append(int(np.abs(both[0] - both[1]).sum()))
    return found


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
    columns = ", ".join(f"{quote}{name}{quote}" for name in names)
    now, before = (f"SELECT {columns}, {v.elsewhere.key} AS k" for v in (new, old))  # type: ignore[union-attr]
    sides = f"{now}, 1 AS s FROM {RECORDS} UNION ALL {before}, -1 FROM before"
    each = f"SELECT ABS(SUM(s)) AS d FROM ({sides}) AS a GROUP BY {columns}, k"  # noqa: S608
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


def _words_of(version: Version, other: Version) -> dict[str, NDArray[np.uint64]]:
    """Return a word for each code of the variables that both versions have."""
    shared = _codes(other)
    return {name: _words(codes) for name, codes in _codes(version).items() if name in shared}


def _column(version: Version, name: str) -> NDArray[Any]:
    """Return the numbers of a variable's codes, or of areas, record by record."""
    geography = version.schema.geography
    if geography is not None and geography.id == name and version.areas is not None:
        return np.repeat(np.arange(len(geography.finest)), np.diff(version.areas))
    return version.column(next(v for v in version.schema.columns if v.id == name))


def _marks(version: Version, words: Words, keyed: bool = True) -> NDArray[np.uint64]:
    """Return a number for each record, the same for the same words and, if `keyed`, key."""
    found = version.keys.astype(np.uint64) if keyed else np.zeros(version.rows, np.uint64)
    for name in sorted(words):
        found = _mixed(found, words[name][_column(version, name)])
    return found if version.counts is None else _mixed(found, version.counts.astype(np.uint64))


def _mixed(found: NDArray[np.uint64], column: NDArray[np.uint64]) -> NDArray[np.uint64]:
    found = (found ^ column) * _PRIME
    found ^= found >> np.uint64(29)
    return found


def _words(codes: Sequence[str]) -> NDArray[np.uint64]:
    """Return a word for each code, whatever number it has."""
    return np.frombuffer(
        b"".join(blake2b(code.encode(), digest_size=8).digest() for code in codes), np.uint64
    )
