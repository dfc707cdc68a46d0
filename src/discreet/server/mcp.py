"""A server for clients of language models (MCP): the same service, with small answers.

Questions take the steps that they take everywhere: rules and ledger hold. Without a key they are
asked by the public; with one, in the tier of its account, and they are in its record. A refusal is
an answer that says why, and what to ask instead.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import ValidationError
from starlette.datastructures import Headers

from discreet import __version__
from discreet.errors import DiscreetError, Forbidden, NotReleased, ParameterError, QueryRefused
from discreet.people.people import People
from discreet.server.errors import Failure
from discreet.server.identity import Identity
from discreet.server.levels import levels_of, variables_of
from discreet.service import Limits, Service
from discreet.service.service import Known

MOST_CELLS = 300
"""Cells of an answer: a conversation has no room for more."""

MOST_FOUND = 40

INSTRUCTIONS = """Protected tables of official statistics. Search for variables first, check a
question, then ask for the table. Figures are altered on purpose and need not add up: say so when
you use them, and cite what you took them from. A refusal protects people; ask what it suggests."""


@dataclass
class Tools:
    """What a client can call. Each returns plain values; what cannot be answered says why."""

    service: Service
    identity: Identity
    key: str = ""

    async def _who(self, context: Context[Any, Any]) -> Known | None:
        """Return who asks: by the key of the request, or of whoever started the program."""
        given = (context.headers or {}).get("authorization", "")
        if not given and self.key:
            given = f"Bearer {self.key}"
        headers = Headers({"authorization": given} if given else {})
        found = await self.identity.known(headers, False, True)
        if found is None and given:
            raise Failure(401, "UNKNOWN_KEY", "Authorization must be Bearer and a key.")
        return None if found is None else found.of

    async def search(
        self, context: Context[Any, Any], words: str = "", dataset: str = ""
    ) -> dict[str, Any]:
        """Find variables and levels by words in their names, labels and categories."""
        wanted, found = words.casefold().split(), []
        try:
            who = await self._who(context)
        except Failure as error:
            return _not_known(error)
        for name in self.service.catalogue.datasets:
            if dataset not in ("", name):
                continue
            try:
                opened = self.service.opened(name, who)
            except Forbidden:
                continue  # what a key is not for is not found
            for variable in variables_of(opened):
                for level in levels_of(opened, variable):
                    text = " ".join(
                        [opened.schema.title, variable.label, level.id, level.label, *level.labels]
                    ).casefold()
                    if all(word in text for word in wanted):
                        pairs = zip(level.codes[:12], level.labels[:12], strict=True)
                        found.append(
                            {
                                "dataset": opened.id,
                                "name": level.id,
                                "label": level.label,
                                "variable": variable.id,
                                "categories": len(level),
                                "first": dict(pairs),
                            }
                        )
        return {"found": found[:MOST_FOUND], "more": max(len(found) - MOST_FOUND, 0)}

    async def check(
        self, context: Context[Any, Any], by: str, where: str = "", dataset: str = ""
    ) -> dict[str, Any]:
        """Say how many cells a question has and whether it may be asked. Nothing is counted."""
        try:
            who = await self._who(context)
            name = self._dataset(dataset)
            return self.service.check(self.service.ask(name, by, where or None, who=who))
        except Failure as error:
            return _not_known(error)
        except DiscreetError as error:
            return _told(error)

    async def ask(
        self,
        context: Context[Any, Any],
        by: str,
        where: str = "",
        totals: str = "none",
        dataset: str = "",
    ) -> dict[str, Any]:
        """Return a protected table: `by` like sex,age_band and `where` like region=1|2.

        `dataset` may be left out where there is only one.
        """
        try:
            who = await self._who(context)
            asked = self.service.ask(self._dataset(dataset), by, where or None, totals, who)
            if asked.question.cells > MOST_CELLS:
                raise ParameterError(
                    f"a table must have at most {MOST_CELLS} cells here. This one has "
                    f"{asked.question.cells:,}: use coarser levels, or keep some by a filter."
                )
            release = await self.service.release(asked, asked.claims)
        except Failure as error:
            return _not_known(error)
        except DiscreetError as error:
            return _told(error)
        columns = release.table.columns(labels=True)
        names = [d.level for d in release.table.dimensions]
        rows = [list(row) for row in zip(*(columns[n] for n in [*names, "value"]), strict=True)]
        return {
            "title": release.title,
            "tier": asked.opened.tier.id,
            "population": release.population,
            "columns": [*names, "value"],
            "rows": [[*row[:-1], None if row[-1] is None else int(row[-1])] for row in rows],
            "notes": list(release.document["notes"]),
            "cite": _cited(release.provenance),
            "address": asked.link(f"/datasets/{asked.opened.id}/table", ""),
        }

    def _dataset(self, named: str) -> str:
        """Return the data set of a name, or the only one that there is."""
        known = list(self.service.catalogue.datasets)
        if named or not known:
            return named
        if len(known) > 1:
            raise ParameterError(f"dataset must be given. Choices: {', '.join(known)}")
        return known[0]


class _Plain(MCPServer[Any]):
    """Says in a sentence of its own which argument is wrong."""

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> Any:
        """Return what a tool says; raise `ToolError` for arguments that it does not take."""
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            if not isinstance(error.__cause__, ValidationError):
                raise
            wrong = {
                f"{'.'.join(map(str, one['loc']))} must be "
                f"{'given' if one['type'] == 'missing' else 'a text'}."
                for one in error.__cause__.errors()
            }
            raise ToolError(" ".join(sorted(wrong))) from None


def _cited(origin: Any) -> str:
    return (
        f"{origin.title}, {origin.question}, data of {origin.data_date[:10]} "
        f"(version {origin.data_version}, policy {origin.policy_version}). Figures are protected."
    )


def _not_known(error: Failure) -> dict[str, Any]:
    """Return that a key is not known; nothing is answered as if it had not been given."""
    return {"refused": error.code, "message": error.message, "instead": []}


def _told(error: DiscreetError) -> dict[str, Any]:
    """Return why there is no answer, and what to ask instead."""
    code = "BAD_REQUEST"
    if isinstance(error, QueryRefused | Forbidden):
        code = error.code
    elif isinstance(error, NotReleased):
        code = "NOT_RELEASED"
    elif not isinstance(error, ParameterError):
        return {"refused": "UNAVAILABLE", "message": "There is no answer now. Ask again later."}
    hints = [{"text": h.text, "by": h.by, "where": h.where} for h in getattr(error, "hints", ())]
    return {"refused": code, "message": str(error), "instead": hints}


def create(stores: Sequence[Path], limits: Limits | None = None, key: str = "") -> MCPServer[Any]:
    """Return the server of some stores; `key` is whose questions those without a key are."""
    service = Service(stores, limits)
    identity = Identity(People.of_store(stores[0]))

    @asynccontextmanager
    async def living(server: MCPServer[Any]) -> AsyncIterator[None]:
        del server
        await service.refresh()
        await service.start()
        yield
        await service.stop()
        identity.people.close()

    made: MCPServer[Any] = _Plain(
        "discreet", instructions=INSTRUCTIONS, version=__version__, lifespan=living,
        log_level="ERROR",
    )  # fmt: skip
    tools = Tools(service, identity, key)
    for tool in (tools.search, tools.check, tools.ask):
        made.add_tool(tool)
    return made
