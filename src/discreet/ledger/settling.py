"""What waits to be written down: whoever has the turn at the database does it for all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from discreet.ledger.model import Status
from discreet.query import QuestionClass

Recording = Callable[[list[QuestionClass]], None]
"""Records tables, before they are settled: all of them or none."""


@dataclass(eq=False)
class Settling:
    """Tables whose end is to be written down, and what came of it."""

    made: Mapping[QuestionClass, Status]
    record: Recording | None
    first: list[QuestionClass] = field(default_factory=list)
    error: BaseException | None = None
    done: bool = False
