"""The server for language models, asked by the client of the official SDK."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

import discreet as dc
from discreet.server.mcp import create
from towns import town_of


def asked(store: Path, calls: Callable[[Client], Awaitable[Any]]) -> Any:
    """Return what calls of a client of a server over a store give."""

    async def run() -> Any:
        async with Client(create([store])) as client:
            return await calls(client)

    return asyncio.run(run())


def called(store: Path, tool: str, **given: str) -> dict[str, Any]:
    async def call(client: Client) -> Any:
        return (await client.call_tool(tool, given)).structured_content

    found: dict[str, Any] = asked(store, call)
    return found


def test_the_tools_are_listed(store: Path) -> None:
    async def names(client: Client) -> list[str]:
        return [tool.name for tool in (await client.list_tools()).tools]

    assert asked(store, names) == ["search", "check", "ask"]


def test_variables_are_searched(store: Path) -> None:
    found = called(store, "search", words="age")["found"]
    assert [one["name"] for one in found] == ["age", "age_band"]
    assert found[1]["first"] == {"young": "0 to 19", "adult": "20 to 59", "old": "60 to 79"}
    assert called(store, "search", words="nothing")["found"] == []


def test_a_table_is_the_released_one(store: Path) -> None:
    found = called(store, "ask", dataset="town", by="sex,age_band")
    release = dc.open(store).release("sex,age_band", tier="public")
    assert [row[-1] for row in found["rows"]] == release.table.values.ravel().tolist()
    assert found["rows"][0][:2] == ["Male", "0 to 19"]
    assert found["notes"] == release.document["notes"]
    assert "by=sex,age_band" in found["cite"]


def test_refusals_say_why_and_what_instead(store: Path) -> None:
    found = called(store, "ask", dataset="town", by="rare,district", where="sex=1")
    assert found["refused"] == "BAD_REQUEST"
    assert "at most 300 cells" in found["message"]
    found = called(store, "ask", dataset="town", by="rare", where="ward=1")
    assert found["refused"] == "NOT_AVAILABLE"
    assert found["instead"]
    assert "no variable 'agee'" in called(store, "ask", dataset="town", by="agee")["message"]
    assert called(store, "check", dataset="town", by="ward,rare,age")["code"] == "MAX_CELLS"


def test_the_only_data_set_need_not_be_named(store: Path) -> None:
    found = called(store, "ask", by="sex")
    assert found == called(store, "ask", dataset="town", by="sex")
    assert called(store, "check", by="sex")["allowed"]


@pytest.mark.parametrize(
    ("given", "said"), [({}, "by must be given."), ({"by": ["sex"]}, "by must be a text.")]
)
def test_wrong_arguments_are_told_in_a_sentence(
    store: Path, given: dict[str, Any], said: str
) -> None:
    async def call(client: Client) -> Any:
        return await client.call_tool("ask", given)

    answer = asked(store, call)
    assert answer.is_error
    assert answer.content[0].text == said


def test_nothing_is_released_that_an_address_would_not(tmp_path: Path) -> None:
    store = town_of(tmp_path, space='claim = "post"')
    assert called(store, "ask", dataset="town", by="sex")["refused"] == "NOT_RELEASED"


def test_the_command_speaks_over_its_streams(store: Path) -> None:
    code = "from discreet.cli import main; main()"
    server = StdioServerParameters(
        command=sys.executable, args=["-c", code, "mcp", str(store)], env=dict(os.environ)
    )

    async def run() -> Any:
        async with Client(stdio_client(server)) as client:
            return (await client.call_tool("search", {"words": "sex"})).structured_content

    assert asyncio.run(run())["found"][0]["name"] == "sex"
