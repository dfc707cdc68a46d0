"""What the button of the builder does: it publishes a table, and leads to its address."""

from __future__ import annotations

from dataclasses import replace
from hmac import compare_digest
from urllib.parse import parse_qsl

from fastapi import Request
from starlette.responses import RedirectResponse, Response

from discreet.errors import ParameterError, QueryRefused
from discreet.page import actions, pages, result
from discreet.page.actions import Pairs
from discreet.page.foresight import Foresight
from discreet.page.state import State
from discreet.page.visit import Visit
from discreet.service import Asked, Opened, Service

MOST_POSTED = 65_536
"""Bytes of a form."""


class Claims:
    """Publishes tables, for those who have read the verdict and press the button."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._under_way: set[bytes] = set()

    async def claim(self, opened: Opened, visit: Visit, pairs: Pairs) -> Response:
        """Publish the table of a form, if its token is the one of this question and verdict."""
        state = actions.edited(State.read(visit.values, opened.schema), pairs)[0]
        foresight, question = Foresight(self._service, opened), state.question
        folder = f"/datasets/{opened.id}"
        if question is None:
            return RedirectResponse(visit.link(f"{folder}/build", state), 303)
        asked = foresight.asked(question, result.totals(opened, visit))
        if foresight.decided(asked):
            note = "published" if "token" in visit.values else None
            return RedirectResponse(visit.link(f"{folder}/table", state, note=note), 303)
        token = foresight.of(question).token
        if not compare_digest(visit.values.get("token", "").encode(), token.encode()):
            given = {key: text or "" for key, text in state.values().items()}
            there = replace(visit, values={**visit.values, **given})
            return pages.build(foresight, there, 409, "build.again")
        note = await self._published(asked)
        return RedirectResponse(visit.link(f"{folder}/table", state, note=note), 303)

    async def _published(self, asked: Asked) -> str | None:
        """Publish a table; return the note for whoever came when another was about to."""
        first = asked.key not in self._under_way
        self._under_way.add(asked.key)
        try:
            await self._service.release(asked)
        except QueryRefused:
            return None  # its page says so
        finally:
            if first:
                self._under_way.discard(asked.key)
        return None if first else "published"


async def posted(request: Request) -> list[tuple[str, str]]:
    """Return what a form says, or complain that it is too long."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > MOST_POSTED:
            raise ParameterError(f"a form may have at most {MOST_POSTED:,} bytes.")
    return parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True)
