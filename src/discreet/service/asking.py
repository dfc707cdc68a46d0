"""Who asks, as far as a service has to know, and what has to be told of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from discreet.ledger import Outlook
    from discreet.service.asked import Asked

Found = TypeVar("Found")


class Teller(Protocol):
    """Stands between somebody and the answers: counts what they use up, and writes it down."""

    async def __call__(
        self,
        asked: Asked,
        outlook: Callable[[], Outlook],
        claim: bool,
        work: Callable[[], Awaitable[Any]],
    ) -> Any:
        """Return what the work finds, if it may be had and is written down."""


@dataclass(frozen=True, eq=False)
class Asking:
    """Somebody who is known: their tier of a data set, and whose looks are used in it."""

    tier: str
    scope: str
    teller: Teller | None
    """None for a custodian who measures: nothing is answered then."""
    grants: frozenset[str] = field(default_factory=frozenset)
    """Questions that the rules refuse and that a custodian has released to them."""
    granted: bool = False
    left: Callable[[], int] = lambda: 0
    """How many new tables of fine detail they have left."""
    session: str = ""
    """What the forms of a session carry, so that nobody else can write one."""
