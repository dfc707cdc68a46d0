"""Who asks: by a key in `Authorization`, by the cookie of a session, or nobody who is known.

Nothing else in a request has a say in it, but for a header of a trusted proxy where one is set.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic

from starlette.datastructures import Headers
from starlette.requests import cookie_parser

from discreet.page.signing import session_cookie
from discreet.people.model import Who
from discreet.people.people import People
from discreet.people.telling import asking
from discreet.server.errors import Failure
from discreet.service import Opened
from discreet.service.asking import Asking

_LOOK_AGAIN = 5.0  # seconds after which it is asked again whether there are accounts


@dataclass
class Known:
    """Somebody who is known."""

    who: Who
    of: Callable[[Opened], Asking]


def session_of(headers: Headers, secure: bool) -> str:
    """Return the token of a session in the cookies of a request."""
    found = "; ".join(headers.getlist("cookie"))
    return cookie_parser(found).get(session_cookie(secure), "")[:200] if found else ""


class Identity:
    """Says who asks."""

    def __init__(self, people: People) -> None:
        self.people = people
        self._any = False
        self._looked = float("-inf")

    async def accounts(self) -> bool:
        """Whether there are accounts at all."""
        if not self._any and monotonic() - self._looked > _LOOK_AGAIN:
            self._looked = monotonic()
            self._any = await asyncio.to_thread(lambda: self.people.any)
        return self._any

    async def known(
        self, headers: Headers, secure: bool, api: bool, said: str = ""
    ) -> Known | None:
        """Return who sent a request; raises for a key that is not known.

        `said` is whom a trusted proxy says it is from.
        """
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if api and scheme.lower() == "bearer":
            return await self._by_key(given.strip())
        token = session_of(headers, secure)
        if not token or not await self.accounts():
            return None
        who = await asyncio.to_thread(self.people.entrance.by_session, token)
        if who is None or (said and said.strip().casefold() != who.person.email):
            return None  # a proxy that says who it is has the last word
        return await self._of(who)

    async def _by_key(self, given: str) -> Known:
        who = None
        if given.startswith("dk_") and await self.accounts():
            who = await asyncio.to_thread(self.people.entrance.by_key, given[:200])
        if who is None:
            raise Failure(
                401,
                "UNKNOWN_KEY",
                "The key in Authorization is not known here.",
                headers={"WWW-Authenticate": "Bearer"},
            )
        return await self._of(who)

    async def _of(self, who: Who) -> Known:
        grants = await asyncio.to_thread(self.people.reviews.granted, who.scope)

        def of(opened: Opened) -> Asking:
            return asking(self.people, who, grants.get(opened.id, frozenset()), opened)

        return Known(who, of)
