"""All attackers on one data set, in several processes, within a time.

Each attack has random numbers of its own, by the seed and its name. So the figures are the same for
any number of processes and however busy the machine is, unless the time runs out, which is told.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from multiprocessing import TimeoutError, get_context
from multiprocessing.pool import IMapIterator
from pathlib import Path
from time import time
from typing import Protocol
from zlib import crc32

import numpy as np

from discreet.policy import AttackRules
from discreet.progress import Tell, silent
from discreet.service.opened import open_store
from discreet.study.attacks.finding import Attack, Finding, tried
from discreet.study.attacks.invented import invented_target
from discreet.study.attacks.target import Target

# One attack may take so many times its equal part of the time that is left.
_SLACK = 4.0
_POLL = 0.5  # seconds
# The longest first, so that no process waits for another in the end.
_LONGEST = ("search", "refusals", "somebody", "equality", "unique-person")


Result = tuple["Task", Finding | None]
"""A task, and what was found; None where the time was over before it began."""


class Source(Protocol):
    """Where targets come from; it is sent to other processes, and makes them there."""

    def __hash__(self) -> int: ...

    def target(self, seed: int) -> Target:
        """Return the target for a seed."""
        ...


@dataclass(frozen=True)
class Own:
    """The people of a store, with its next edition and its original records, if they are there."""

    store: Path
    edition: Path | None = None
    originals: Path | None = None

    def target(self, seed: int) -> Target:
        """Return the same people whatever the seed."""
        return Target.open(self.store, None, self.edition, self.originals)


@dataclass(frozen=True)
class Invented:
    """Invented people of a store's schema under its policy."""

    store: Path

    def target(self, seed: int) -> Target:
        """Return other people for each seed."""
        opened = open_store(self.store, database="sqlite://")
        return invented_target(opened.version, opened.policy, seed)


@dataclass(frozen=True)
class Task:
    """An attack to be run with a seed; `left` tasks, it among them, were not begun before it."""

    seed: int
    attack: Attack
    left: int


@dataclass(frozen=True)
class Work:
    """What every process knows."""

    source: Source
    rules: AttackRules
    end: float
    workers: int

    def done(self, task: Task) -> Result:
        """Return what an attack found, None where the time was over before it began."""
        left = self.end - time()
        if left <= 0:
            return task, None
        target = _target(self.source, task.seed)
        seconds = min(left, _SLACK * left * self.workers / task.left)
        rng = np.random.default_rng([task.seed, crc32(task.attack.id.encode())])
        return task, tried(task.attack, target, rng, seconds, self.rules)


@lru_cache(maxsize=2)
def _target(source: Source, seed: int) -> Target:
    return source.target(seed)


def run(
    source: Source,
    attacks: Sequence[Attack],
    rules: AttackRules,
    workers: int = 1,
    tell: Tell = silent,
) -> tuple[tuple[Finding, ...], tuple[str, ...]]:
    """Return what each attack found over all seeds, and the names of those that were not run.

    Ctrl-C ends the run and keeps what was found.
    """
    order = sorted(attacks, key=lambda attack: attack.id not in _LONGEST)
    every = list(product(rules.seeds, order))
    tasks = [Task(seed, one, len(every) - i) for i, (seed, one) in enumerate(every)]
    work = Work(source, rules, time() + rules.seconds, workers)
    found: dict[tuple[str, int], Finding] = {}
    try:
        for number, (task, finding) in enumerate(_results(work, tasks, workers)):
            tell("attacks", number + 1, len(tasks))
            if finding is not None:
                found[task.attack.id, task.seed] = finding
    except KeyboardInterrupt:
        pass  # what was found is kept; what was not run is told
    return _in_order(attacks, rules.seeds, found)


def _in_order(
    attacks: Sequence[Attack], seeds: Sequence[int], found: Mapping[tuple[str, int], Finding]
) -> tuple[tuple[Finding, ...], tuple[str, ...]]:
    """Return the findings over all seeds; an attack that lacks one seed was not run."""
    findings, out = [], []
    for attack in attacks:
        mine = [found[attack.id, seed] for seed in seeds if (attack.id, seed) in found]
        if mine:
            findings.append(Finding.pooled(mine))
        if len(mine) < len(seeds):
            out.append(attack.name)
    return tuple(findings), tuple(out)


def _results(work: Work, tasks: Sequence[Task], workers: int) -> Iterator[Result]:
    """Yield results as they come: here, or from several processes."""
    if workers == 1:
        yield from map(work.done, tasks)
        return
    # New processes, not copies of this one: it may have threads that a copy would wait for. They
    # do not hear Ctrl-C, which whoever started them does.
    quiet = (signal.SIGINT, signal.SIG_IGN)
    with get_context("spawn").Pool(workers, signal.signal, quiet) as pool:
        waiting = pool.imap_unordered(work.done, tasks)
        while (found := _next(waiting)) is not None:
            yield found


def _next(waiting: IMapIterator[Result]) -> Result | None:
    """Return the next result, None after the last; Ctrl-C is noticed between looks."""
    while True:
        try:
            return waiting.next(_POLL)
        except TimeoutError:
            continue
        except StopIteration:
            return None
