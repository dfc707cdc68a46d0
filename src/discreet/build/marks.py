"""What is kept of the records behind a protected base: enough to count how many changed.

The people of a base say nothing of that, for one person fewer makes another base. Each record has a
mark, made of the secret, its id and its codes. Marks are added up in buckets, and what is kept are
the sums. A bucket in which two editions differ has a record that changed. A bucket has marks of
many people, so that no sum tells whether a guess at one record is right.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from math import log1p
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.protect.keys import purposes

EACH = 50
"""Buckets have at least so many records on average."""

MOST = 4_096
"""The most buckets."""

TOLD = 10_000
"""Changes are told apart up to so many: with more, hardly a bucket is as it was."""

_CHUNK = 2**20  # records whose codes are mixed at a time


@dataclass(frozen=True, eq=False)
class Marks:
    """Sums of the marks of people, by their ids alone, and of their records, by buckets.

    `kind` is a digest of the variables and their codes: marks of records are comparable only where
    these are the same.
    """

    people: NDArray[np.uint64]
    records: NDArray[np.uint64]
    kind: str

    @classmethod
    def of(
        cls, words: NDArray[np.uint64], columns: Mapping[str, tuple[NDArray[Any], Sequence[str]]]
    ) -> Marks:
        """Return the marks of records with these words, and the codes of each column by number."""
        buckets = min(max(2 ** (len(words) // EACH).bit_length() // 2, 1), MOST)
        people, records = np.zeros((2, buckets), np.uint64)
        kind = blake2b(digest_size=16)
        texts = {}
        for name in sorted(columns):
            codes = columns[name][1]
            kind.update(repr((name, sorted(codes))).encode())
            texts[name] = np.array([_word(name, code) for code in codes], np.uint64)
        for start in range(0, len(words), _CHUNK):
            own = slice(start, start + _CHUNK)
            mixed = words[own]
            np.add.at(people, mixed % np.uint64(buckets), purposes(mixed, 7))
            for name, found in texts.items():
                mixed = purposes(mixed ^ found[columns[name][0][own]], 2)
            np.add.at(records, mixed % np.uint64(buckets), purposes(mixed, 7))
        return cls(people, records, kind.hexdigest())

    def as_dict(self) -> dict[str, str]:
        """Return the sums as text."""
        return {
            "people": b64encode(self.people.astype("<u8").tobytes()).decode(),
            "records": b64encode(self.records.astype("<u8").tobytes()).decode(),
            "kind": self.kind,
        }

    @classmethod
    def from_dict(cls, held: Mapping[str, str]) -> Marks:
        """Return the marks that `as_dict` wrote down."""
        people, records = (
            np.frombuffer(b64decode(held[name], validate=True), "<u8").astype(np.uint64)
            for name in ("people", "records")
        )
        return cls(people, records, held["kind"])

    def apart(self, other: Marks) -> int:
        """Return about how many records differ; one that changed counts twice, as left and come.

        Of records with other variables or codes, only who came and left is told.
        """
        name = "records" if self.kind == other.kind else "people"
        ours, theirs = getattr(self, name), getattr(other, name)
        buckets = min(len(ours), len(theirs))
        differ = int((_folded(ours, buckets) != _folded(theirs, buckets)).sum())
        if differ == buckets:
            return TOLD
        # Of so many buckets a change hits each alike: some are hit twice.
        return min(round(-buckets * log1p(-differ / buckets)), TOLD)


def _folded(sums: NDArray[np.uint64], buckets: int) -> NDArray[np.uint64]:
    """Return the sums in fewer buckets; numbers of buckets are powers of two."""
    return np.asarray(sums.reshape(-1, buckets).sum(axis=0, dtype=np.uint64))


def _word(name: str, code: str) -> int:
    digest = blake2b(repr((name, code)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little")
