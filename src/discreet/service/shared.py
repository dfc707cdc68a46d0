"""Memory that the worker processes of one server share: answers, tallies and token buckets.

It is made before the workers are, has no name under which anybody else could open it, and goes with
the last of them. Of the data it holds what was released and nothing else: files, as they are sent,
and figures. A worker may be killed at any moment; the others then find what it had finished, and
nothing torn.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import math
import mmap
import os
import struct
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from types import TracebackType

import orjson

from discreet.service.asked import File

_DIGEST = 16  # bytes of a checksum
_HEAD = 8  # bytes that say how many were ever written
_ENTRY = struct.Struct("<16sQQ")  # name, place among all bytes ever written, length
_BUCKET = struct.Struct("<16sdd")  # client, tokens, when that was
_WAYS = 8  # places at which an entry may be
_TYPICAL = 4_096  # bytes of an answer, by which the index is sized
_AGAIN = 0.0005  # seconds until a turn that was broken off is asked for again
_LARGEST = 4  # an answer that takes more than one part in so many is not kept


class Turn:
    """A turn at changing something; one that a killed process had is over."""

    def __init__(self) -> None:
        try:
            self._file = os.memfd_create("discreet")
        except (AttributeError, OSError):  # not on Linux
            with tempfile.TemporaryFile() as file:
                self._file = os.dup(file.fileno())
        self._threads = threading.Lock()

    def __enter__(self) -> None:
        self._threads.acquire()
        try:
            while not self._taken():
                time.sleep(_AGAIN)
        except BaseException:
            self._threads.release()
            raise

    def _taken(self) -> bool:
        """Wait for the other processes; return whether it was not broken off.

        Where a thread waits for one turn while another of its process has a second, and two of
        another process the other way round, the system takes them for a deadlock. It is none: who
        has a turn waits for no other.
        """
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX)
        except OSError as error:
            if error.errno != errno.EDEADLK:
                raise
            return False
        return True

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            fcntl.lockf(self._file, fcntl.LOCK_UN)
        finally:
            self._threads.release()


class Answers:
    """What was released by name, in a ring of `budget` bytes: the oldest is written over first.

    Whoever reads takes no turn. What was written over meanwhile lacks its checksum, which is keyed,
    and counts as not there.
    """

    def __init__(self, budget: int) -> None:
        self.budget = budget
        self._sets = max(1, budget // _TYPICAL // _WAYS)
        self._begin = _HEAD + self._sets * _WAYS * _ENTRY.size
        self._memory = _reserved(self._begin + budget)
        self._key = os.urandom(32)
        self._turn = Turn()

    @property
    def used(self) -> int:
        """The bytes of everything held."""
        return min(self.budget, self._written)

    @property
    def _written(self) -> int:
        return int.from_bytes(self._memory[:_HEAD], "little")

    def get(self, name: bytes) -> File | None:
        """Return the file of a name, or None."""
        raw = self.found(name)
        return None if raw is None else _unpacked(raw)

    def found(self, name: bytes) -> bytes | None:
        """Return the bytes of a name, or None."""
        for place in self._places(name):
            known, at, length = _ENTRY.unpack_from(self._memory, place)
            if known == name and self._written - at <= self.budget:
                begin = self._begin + at % self.budget
                body = begin + _DIGEST
                mark, raw = self._memory[begin:body], self._memory[body : begin + length]
                return raw if mark == self._digest(name, raw) else None
        return None

    def put(self, name: bytes, file: File) -> None:
        """Keep a file, unless it would take the place of most others."""
        self.keep(name, *_packed(file))

    def keep(self, name: bytes, *parts: bytes) -> None:
        """Keep bytes, unless they would take the place of most others."""
        length = _DIGEST + sum(map(len, parts))
        if length > self.budget // _LARGEST:
            return
        mark = self._digest(name, *parts)
        with self._turn:
            at = self._written
            left = self.budget - at % self.budget
            if left < length:
                at += left  # a file lies in one piece
            begin = self._begin + at % self.budget
            # First this: what is written over now is past, and nobody looks for it any more.
            self._memory[:_HEAD] = (at + length).to_bytes(_HEAD, "little")
            for part in (mark, *parts):
                self._memory[begin : begin + len(part)] = part
                begin += len(part)
            _ENTRY.pack_into(self._memory, self._free(name), name, at, length)

    def _free(self, name: bytes) -> int:
        """Return where the entry of a name goes: where it is, or where the oldest is."""
        found = [(_ENTRY.unpack_from(self._memory, place), place) for place in self._places(name)]
        return min(found, key=lambda one: (one[0][0] != name, one[0][1]))[1]

    def _places(self, name: bytes) -> Iterator[int]:
        first = _HEAD + int.from_bytes(name[:8], "little") % self._sets * _WAYS * _ENTRY.size
        return (first + i * _ENTRY.size for i in range(_WAYS))

    def _digest(self, name: bytes, *parts: bytes) -> bytes:
        found = hashlib.sha256(self._key + name)  # processors have it built in
        for part in parts:
            found.update(part)
        return found.digest()[:_DIGEST]


def _reserved(size: int) -> mmap.mmap:
    """Return memory that is the server's from the beginning, and not only when it is filled."""
    if not hasattr(mmap, "MAP_POPULATE"):  # not on Linux
        return mmap.mmap(-1, size)
    return mmap.mmap(-1, size, mmap.MAP_SHARED | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE)


def _packed(file: File) -> tuple[bytes, ...]:
    said = [file.media_type, file.name, file.tag, file.public, file.link, len(file.body)]
    head = orjson.dumps([*said, file.compressed is not None])
    return len(head).to_bytes(4, "little"), head, file.body, file.compressed or b""


def _unpacked(raw: bytes) -> File:
    begin = 4 + int.from_bytes(raw[:4], "little")
    media_type, name, tag, public, link, length, compressed = orjson.loads(raw[4:begin])
    end = begin + length
    return File(raw[begin:end], raw[end:] if compressed else None, media_type, name, tag, public,
                link)  # fmt: skip


class Tally:
    """A number of each worker; a worker writes its own and adds up all."""

    def __init__(self, workers: int) -> None:
        self._values = memoryview(mmap.mmap(-1, 8 * workers)).cast("d")
        for i in range(workers):
            self._values[i] = math.nan

    def set(self, worker: int, value: float) -> None:
        """Write down the number of a worker."""
        self._values[worker] = value

    def of(self, worker: int) -> float:
        """Return the number of a worker, NaN where there is none."""
        return float(self._values[worker])

    @property
    def known(self) -> list[float]:
        """The numbers of all workers that there are."""
        return self.besides(-1)

    def besides(self, worker: int) -> list[float]:
        """Return the numbers of all workers but one."""
        return [v for i, v in enumerate(self._values) if i != worker and not math.isnan(v)]

    @property
    def total(self) -> float:
        """The sum over all workers."""
        return sum(self.known)


class Tokens:
    """What is left in token buckets, by client; the one seen longest ago makes room."""

    def __init__(self, clients: int) -> None:
        self._sets = max(1, clients // _WAYS)
        self._memory = mmap.mmap(-1, self._sets * _WAYS * _BUCKET.size)
        self.turn = Turn()

    def get(self, client: str) -> tuple[float, float] | None:
        """Return the tokens of a client, and when that was."""
        name, places = self._places(client)
        for place in places:
            known, tokens, when = _BUCKET.unpack_from(self._memory, place)
            if known == name:
                return tokens, when
        return None

    def put(self, client: str, held: tuple[float, float]) -> None:
        """Write down the tokens of a client."""
        name, places = self._places(client)
        found = [(_BUCKET.unpack_from(self._memory, place), place) for place in places]
        place = min(found, key=lambda one: (one[0][0] != name, one[0][2]))[1]
        _BUCKET.pack_into(self._memory, place, name, *held)

    def _places(self, client: str) -> tuple[bytes, list[int]]:
        name = hashlib.blake2b(client.encode(), digest_size=16).digest()
        first = int.from_bytes(name[:8], "little") % self._sets * _WAYS * _BUCKET.size
        return name, [first + i * _BUCKET.size for i in range(_WAYS)]


TALLIES = (
    "cache_bytes", "waiting_light", "waiting_heavy", "running_light", "running_heavy", "ready",
    "degraded", "look_age_seconds", "verify_age_seconds", "connections", "seen",
)  # fmt: skip
"""What is known of each worker; `seen` is when it last went round its loop."""


class Shared:
    """All that the workers of a server share."""

    def __init__(self, workers: int, answers: int, clients: int) -> None:
        self.workers = workers
        self.answers = Answers(answers)
        self.tokens = Tokens(clients)
        self.tallies = {name: Tally(workers) for name in TALLIES}

    def clear(self, worker: int) -> None:
        """Forget the numbers of a worker that has ended."""
        for tally in self.tallies.values():
            tally.set(worker, math.nan)


@dataclass(frozen=True)
class Seat:
    """The place of one worker among all."""

    shared: Shared
    number: int
    parent: int = 0
    """The process that started this worker."""

    def share(self, whole: int) -> int:
        """Return this worker's part of what all may have, one at least."""
        return max(1, -(-whole // self.shared.workers))

    def tell(self, name: str, value: float) -> None:
        """Write down a number of this worker."""
        self.shared.tallies[name].set(self.number, value)

    def total(self, name: str) -> float:
        """Return the sum of a number over all workers."""
        return self.shared.tallies[name].total

    def others(self, name: str) -> list[float]:
        """Return a number of every other worker."""
        return self.shared.tallies[name].besides(self.number)
