"""The most that a service spends on questions."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, fields

from discreet.checks import whole


def _cores() -> int:
    return len(os.sched_getaffinity(0))


@dataclass(frozen=True)
class Limits:
    """Bounds on memory, time and concurrency; every one has a default that suits two cores."""

    # Releases, refusals and finished answers that are kept, in bytes of memory.
    cache_bytes: int = 256 * 2**20
    # Questions answered from marginal views at a time, and those that read the records.
    # Of the former there are many more than cores: a thread takes all that there are, makes their
    # tables and writes them down together, so that they wait for the disk once.
    light_workers: int = field(default_factory=lambda: 16 * _cores())
    heavy_workers: int = field(default_factory=_cores)
    # Questions of either kind that wait for a worker; the next one is turned away.
    queue: int = 200
    # Seconds that a question may wait for a worker; one that would wait longer is turned away.
    wait: int = 2
    # Cells above which a question counts as heavy even if a view answers it: writing them takes
    # longer than counting.
    light_cells: int = 10_000
    # Seconds from asking to the answer, waiting included; after that the kernels are stopped.
    seconds: int = 30
    # Cells of a table, whatever a policy allows: memory is bounded by it.
    max_cells: int = 1_000_000
    # Filters, and codes in all of them together.
    max_filters: int = 50
    max_codes: int = 10_000

    def __post_init__(self) -> None:
        for one in fields(self):
            whole(one.name, getattr(self, one.name), 0 if one.name == "queue" else 1)

    @property
    def common_bytes(self) -> int:
        """Memory for answers that several workers have in common: files, which all of them need."""
        return max(1, 3 * self.cache_bytes // 4)

    @property
    def own_bytes(self) -> int:
        """The rest of it, which they share out."""
        return max(1, self.cache_bytes - self.common_bytes)
