"""Tiers over HTTP: whatever a request says, its answer is of the tier of the account or key."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode
from uuid import uuid4

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from applications import GENEROUS, Client, serving
from discreet.ledger import Database, Status
from discreet.people.model import Holder, Person
from discreet.people.people import People
from discreet.query import Query, Question
from discreet.server.mcp import create
from discreet.service.granted import granted
from persons import YEAR, licensed_town, person, project, quick_hashes
from stores import forget_releases

TABLE = "/api/v1/datasets/town/table"
COARSE = f"{TABLE}?by=sex,health"  # 10 cells, of which nobody's looks are used
FINE = f"{TABLE}?by=age_band,district,health,sex"  # 3 · 4 · 5 · 2 = 120 cells: fine detail
OTHER = f"{TABLE}?by=ward,sex"
THIRD = f"{TABLE}?by=ward,age_band"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return licensed_town(tmp_path_factory.mktemp("town"))


@pytest.fixture(scope="module")
def client(store: Path) -> Iterator[Client]:
    with serving([store]) as client:
        yield client


class Keys:
    """People with keys: two projects, a safe setting, a reader."""

    def __init__(self, people: People) -> None:
        self.people = people
        self.ada, self.bob, self.cyd = (
            person(people, f"{name}@example.org") for name in ("ada", "bob", "cyd")
        )
        project(people, "homes", self.ada, self.bob)
        project(people, "health", self.cyd)
        self.safe = person(people, "dan@example.org")
        people.accounts.allow(Holder.PERSON, str(self.safe.id), "town", "safe", YEAR)
        self.reader = person(people, "eve@example.org", "reader")

    def of(self, who: Person) -> dict[str, str]:
        key = self.people.entrance.make_key(who, "test")
        return {"Authorization": f"Bearer {key}"}

    def session(self, who: Person) -> dict[str, str]:
        return {"Cookie": f"discreet={self.people.entrance.begin(who, 'test')}"}


@pytest.fixture(scope="module")
def keys(client: Client) -> Iterator[Keys]:
    patch = pytest.MonkeyPatch()
    quick_hashes(patch)
    yield Keys(client.app.state.identity.people)
    patch.undo()


def figures(answer: httpx.Response) -> list[int]:
    assert answer.status_code == 200, answer.text
    return [int(row["value"]) for row in csv.DictReader(io.StringIO(answer.text))]


def tier_of(answer: httpx.Response) -> str:
    """Return what an answer says, having compared its figures with what they are multiples of."""
    said = answer.headers["discreet-tier"]
    if answer.status_code == 200 and answer.headers["content-type"].startswith("text/csv"):
        base = {"public": 5, "licensed": 2, "safe": 3}[said]
        assert all(value % base == 0 for value in figures(answer))
    return said


def asked(url: str) -> str:
    return f"{url}&format=csv"


def test_a_tier_comes_with_an_account_or_a_key(client: Client, keys: Keys) -> None:
    for headers, tier in (
        ({}, "public"),
        (keys.of(keys.ada), "licensed"),
        (keys.of(keys.safe), "safe"),
        (keys.of(keys.reader), "public"),
    ):
        answer = client.get(asked(COARSE), headers=headers)
        assert tier_of(answer) == tier
        told = client.get(COARSE, headers=headers).json()
        assert tier in json.dumps(told["extension"])
    # Public figures are multiples of 5, licensed ones of 2: they differ.
    mine = figures(client.get(asked(COARSE), headers=keys.of(keys.ada)))
    assert mine != figures(client.get(asked(COARSE)))


def test_a_cookie_of_a_session_does_as_well(client: Client, keys: Keys) -> None:
    cookie = keys.session(keys.ada)
    assert tier_of(client.get(asked(COARSE), headers=cookie)) == "licensed"
    page = client.get("/datasets/town/method", headers=cookie)
    assert page.headers["discreet-tier"] == "licensed"
    assert client.get("/datasets/town/method").headers["discreet-tier"] == "public"


@pytest.mark.parametrize(
    "headers",
    [
        {"Authorization": "Bearer dk_" + "x" * 43},
        {"Authorization": "Bearer "},
        {"Authorization": "bearer nothing"},
        {"Authorization": "Bearer dk_\x00"},
    ],
)
def test_a_key_that_is_not_known_is_refused(
    client: Client, keys: Keys, headers: dict[str, str]
) -> None:
    answer = client.get(COARSE, headers=headers)
    assert answer.status_code == 401
    assert answer.json()["error"]["code"] == "UNKNOWN_KEY"
    assert answer.headers["www-authenticate"] == "Bearer"


def test_a_tier_cannot_be_asked_for(client: Client, keys: Keys) -> None:
    for more in ("tier=licensed", "Tier=safe", "scope=project:homes", "project=homes", "who=1"):
        answer = client.get(f"{COARSE}&{more}")
        assert answer.status_code == 400
        assert tier_of(answer) == "public"
    for path in ("licensed/", "tiers/licensed/", "../licensed/"):
        answer = client.get(f"/api/v1/{path}datasets/town/table?by=sex")
        assert answer.status_code == 404
    answer = client.post(TABLE, json={"by": ["sex"], "tier": "licensed"})
    assert answer.status_code == 400
    for page in ("/datasets/town/table?by=sex,health&tier=licensed", "/datasets/town?tier=safe"):
        assert client.get(page).headers["discreet-tier"] == "public"


_NAMES = st.sampled_from(
    [
        "X-Tier", "Discreet-Tier", "Tier", "X-Forwarded-User", "X-Remote-User", "Remote-User",
        "X-Discreet-User", "X-Forwarded-For", "X-Original-URL", "X-Rewrite-URL", "X-API-Key-Tier",
        "X-HTTP-Method-Override", "Authorization", "Cookie", "Forwarded", "X-User", "X-Role",
        "X-Project", "From", "If-None-Match", "Host", "X-Forwarded-Proto", "Via", "Pragma",
    ]
)  # fmt: skip
_VALUES = st.one_of(
    st.sampled_from(
        [
            "licensed", "safe", "ada@example.org", "1", "project:homes", "Basic YWRhOg==",
            "discreet=1", "discreet=", "__Host-discreet=1", "127.0.0.1", "custodian", "https",
            "discreet=licensed; tier=licensed", "Digest username=ada", "*",
        ]
    ),
    st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=40),
)  # fmt: skip


@given(
    st.dictionaries(_NAMES, _VALUES, max_size=6),
    st.dictionaries(
        st.sampled_from(["tier", "lang", "scope", "project", "key", "session", "csrf", "user"]),
        _VALUES,
        max_size=3,
    ),
)
@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_no_header_and_no_parameter_gets_another_tier(
    client: Client, keys: Keys, headers: dict[str, str], more: dict[str, str]
) -> None:
    """Whatever is sent without a key or session: the public tier, or no answer."""
    for url in (asked(COARSE), "/datasets/town/method?"):
        answer = client.get(f"{url}&{urlencode(more)}", headers=headers)
        assert tier_of(answer) == "public"
        assert answer.status_code in (200, 304, 400, 401)


@given(st.dictionaries(_NAMES.filter(lambda n: n != "Authorization"), _VALUES, max_size=6))
@settings(
    max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_nor_does_somebody_with_a_key_of_another(
    client: Client, keys: Keys, headers: dict[str, str]
) -> None:
    mine = {"Authorization": _once(keys)}
    answer = client.get(asked(COARSE), headers={**headers, **mine})
    assert tier_of(answer) == "licensed"


def _once(keys: Keys) -> str:
    if not hasattr(keys, "header"):
        keys.header = keys.of(keys.ada)["Authorization"]  # type: ignore[attr-defined]
    return str(keys.header)  # type: ignore[attr-defined]


def test_no_cache_gives_an_answer_to_somebody_else(client: Client, keys: Keys) -> None:
    public = client.get(asked(COARSE))
    assert public.headers["cache-control"] == "public, no-cache"
    for headers in (keys.of(keys.ada), keys.session(keys.ada), keys.of(keys.reader)):
        mine = client.get(asked(COARSE), headers=headers)
        assert mine.headers["cache-control"] == "private, no-cache"
        for answer in (public, mine):
            varies = {part.strip() for part in answer.headers["vary"].split(",")}
            assert {"Authorization", "Cookie"} <= varies
    assert public.headers["access-control-allow-origin"] == "*"
    mine = client.get(asked(COARSE), headers=keys.of(keys.ada))
    assert "access-control-allow-origin" not in mine.headers
    assert mine.headers.get_list("cross-origin-resource-policy") == ["same-origin"]
    page = client.get("/datasets/town", headers=keys.session(keys.ada))
    assert page.headers["cache-control"] == "private, no-cache"
    assert "Cookie" in page.headers["vary"]


def test_a_tag_of_one_tier_is_worth_nothing_in_another(client: Client, keys: Keys) -> None:
    people = [{}, keys.of(keys.ada), keys.of(keys.cyd), keys.of(keys.safe)]
    tags = [client.get(asked(COARSE), headers=one).headers["etag"] for one in people]
    assert len(set(tags)) == 4  # of tiers, and of projects in one
    for i, one in enumerate(people):
        for j, tag in enumerate(tags):
            answer = client.get(asked(COARSE), headers={**one, "If-None-Match": tag})
            assert answer.status_code == (304 if i == j else 200)
        # A star says that anything is held: the answer is of one's own tier all the same.
        star = client.get(asked(COARSE), headers={**one, "If-None-Match": "*"})
        assert star.headers["etag"].split("-")[0].strip('"') == tags[i].split("-")[0].strip('"')


def test_what_one_project_asked_for_is_not_released_to_another(store: Path) -> None:
    """Also where the answer lies in the memory of the server."""
    with _fresh(store) as (client, keys):
        first = client.get(asked(FINE), headers=keys.of(keys.ada))
        assert tier_of(first) == "licensed"
        # A colleague of the same project has it, and uses nothing.
        colleague = client.get(asked(FINE), headers=keys.of(keys.bob))
        assert figures(colleague) == figures(first)
        assert _left(client, keys.of(keys.bob)) == (20, 39)
        # Somebody else's question is their own.
        quiet = client.request("HEAD", asked(FINE), headers=keys.of(keys.cyd))
        assert quiet.status_code == 403
        check = client.get(FINE.replace("/table", "/ledger"), headers=keys.of(keys.cyd)).json()
        assert check["state"] == "look"
        assert check["tier"] == "licensed"


def _left(client: Client, headers: dict[str, str]) -> tuple[int, int | None]:
    left = client.get("/api/v1/me", headers=headers).json()["left"]
    return left["person"], left["project"]


class _fresh:
    """The store with nothing released, and people; the state is put back after."""

    def __init__(self, store: Path) -> None:
        self.store = store

    def __enter__(self) -> tuple[Client, Keys]:
        self.patch = pytest.MonkeyPatch()
        quick_hashes(self.patch)
        place = self.store / f"{uuid4()}.db"
        forget_releases(self.store)
        self.patch.setenv("DISCREET_DATABASE_URL", f"sqlite:///{place}")
        with Database.of_store(self.store).reading():
            pass
        self.serving = serving([self.store])
        client = self.serving.__enter__()
        return client, Keys(client.app.state.identity.people)

    def __exit__(self, *error: object) -> None:
        self.serving.__exit__(None, None, None)
        self.patch.undo()
        forget_releases(self.store)


def test_what_is_left_is_shown_before_asking_and_used_up_after(store: Path) -> None:
    with _fresh(store) as (client, keys):
        mine = keys.of(keys.ada)
        before = client.get(FINE.replace("/table", "/check"), headers=mine).json()
        assert before["state"] == "look"
        assert before["left"] == {
            "person": 20, "of_person": 20, "project": 40, "of_project": 40,
        }  # fmt: skip
        assert client.get(FINE.replace("/table", "/check")).json()["left"] is None
        client.get(COARSE, headers=mine)
        assert _left(client, mine) == (20, 40)  # nothing fine in it
        client.get(FINE, headers=mine)
        assert _left(client, mine) == (19, 39)
        client.get(FINE, headers=mine)
        client.get(f"{TABLE}?by=age_band,district", headers=mine)  # 12 cells
        assert _left(client, mine) == (19, 39)


def test_nobody_gets_over_their_quota_nor_a_project_over_its(store: Path) -> None:
    with _fresh(store) as (client, keys):
        keys.people.accounts.change(keys.ada, quota=1)
        mine = keys.of(keys.ada)
        assert client.get(FINE, headers=mine).status_code == 200
        refused = client.get(OTHER, headers=mine)
        assert refused.status_code == 403
        assert refused.json()["error"]["code"] == "QUOTA"
        assert client.get(FINE, headers=mine).status_code == 200  # what is released is free
        assert client.get(OTHER, headers=keys.of(keys.bob)).status_code == 200
        keys.people.accounts.set_project("homes", "Homes", "To plan.", YEAR, quota=2)
        refused = client.get(THIRD, headers=keys.of(keys.bob))
        assert refused.json()["error"]["code"] == "QUOTA"


def test_accounts_that_collude_stay_under_the_total_of_the_office(store: Path) -> None:
    """Three tables may show a detail in all tiers that are not public, however many ask."""
    with _fresh(store) as (client, keys):
        people = keys.people
        answers = []
        for i in range(6):
            one = person(people, f"x{i}@example.org")
            project(people, f"x{i}", one)
            answers.append(client.get(FINE, headers=keys.of(one)).status_code)
        assert answers == [200, 200, 200, 403, 403, 403]
        # The safe setting is under the same total.
        assert client.get(FINE, headers=keys.of(keys.safe)).status_code == 403
        # And one project has one look at it, whoever of its members asks.
        person_of = keys.of(people.accounts.find("x0@example.org"))
        finer = f"{TABLE}?by=age,district,health,sex"
        assert client.get(finer, headers=person_of).json()["error"]["code"] == "USED_UP"


def test_a_session_uses_nothing_up_by_a_link(store: Path) -> None:
    """A page of anybody's could lead a browser to an address; it sends its cookie with it."""
    with _fresh(store) as (client, keys):
        cookie = keys.session(keys.ada)
        answer = client.get(FINE, headers=cookie)
        assert answer.status_code == 403
        assert answer.json()["error"]["code"] == "NOT_RELEASED"
        answer = client.post(TABLE, json={"by": ["ward", "sex"]}, headers=cookie)
        assert answer.json()["error"]["code"] == "KEY_NEEDED"
        assert client.get("/api/v1/me", headers=cookie).json()["left"]["person"] == 20


def test_the_button_of_the_builder_is_of_a_session(store: Path) -> None:
    """The token of one session publishes nothing in another, nor does the public's."""
    question = "by=age_band,district,health,sex&columns=sex"
    build, table = f"/datasets/town/build?{question}", "/datasets/town/table"
    with _fresh(store) as (client, keys):
        ada, bob = keys.session(keys.ada), keys.session(keys.bob)
        tokens = [_token(client, build, one) for one in (ada, bob, {})]
        assert len(set(tokens)) == 3
        form = dict(pair.split("=") for pair in question.split("&"))
        for token in (*tokens[1:], ""):
            answer = client.post(table, data={**form, "token": token}, headers=ada)
            assert answer.status_code == 409
        answer = client.post(table, data={**form, "token": tokens[0]}, headers=ada)
        assert answer.status_code == 303
        assert client.get(f"{table}?{question}", headers=ada).status_code == 200
        assert client.get("/api/v1/me", headers=ada).json()["left"]["person"] == 19


def _token(client: Client, page: str, headers: dict[str, str]) -> str:
    found = re.search(r'name="token" value="(\w+)"', client.get(page, headers=headers).text)
    assert found is not None
    return found[1]


def test_an_account_has_a_rate_of_its_own(store: Path) -> None:
    settings = replace(GENEROUS, account_rate=1, burst=3)
    patch = pytest.MonkeyPatch()
    quick_hashes(patch)
    with serving([store], settings) as client:
        people = client.app.state.identity.people
        one = people.accounts.add("rate@example.org", "Rate", "reader")
        headers = {"Authorization": f"Bearer {people.entrance.make_key(one, 'a')}"}
        again = {"Authorization": f"Bearer {people.entrance.make_key(one, 'b')}"}
        codes = [client.get(COARSE, headers=h).status_code for h in (headers, again, headers)]
        assert codes == [200, 200, 200]
        assert client.get(COARSE, headers=again).status_code == 429
    patch.undo()


def test_an_auditor_can_find_out_what_somebody_was_given(store: Path) -> None:
    """From the lines of the record alone: asked again, they give the figures that were given."""
    with _fresh(store) as (client, keys):
        given = {}
        for url in (COARSE, FINE, f"{TABLE}?by=age_band,district&where=sex=1"):
            given[url] = figures(client.get(asked(url), headers=keys.of(keys.ada)))
        client.get(f"{TABLE}?by=rare,ward,age", headers=keys.of(keys.ada))  # too many cells
        lines = [one.line for one in keys.people.record.lines("ada@example.org", action="asked")]
        assert [line.verdict for line in lines] == ["released", "released", "released", "MAX_CELLS"]
        assert [line.uses for line in lines] == ["", "sex,age_band,health,district", "", ""]
        opened = client.service.opened("town")
        found = []
        for line in lines[:3]:
            assert (line.dataset, line.tier, line.policy) == ("town", "licensed", "p1")
            assert line.data == opened.version.id
            parts = dict(part.split("=", 1) for part in line.question.split("&"))
            query = Query.parse(parts["by"], parts.get("where"))
            question = Question.of(query, opened.schema)
            release = opened.releaser.quiet
            ledgers = release.ledgers.scoped(f"project:{line.project}")
            again = replace(release, ledgers=ledgers).release(question, tier=line.tier)
            found.append(sorted(again.table.values.ravel().tolist()))
        assert found == [sorted(values) for values in given.values()]
        assert keys.people.record.verify().broken is None


def test_no_figure_and_no_key_is_in_the_record_or_the_log(store: Path) -> None:
    with _fresh(store) as (client, keys):
        headers, cookie = keys.of(keys.ada), keys.session(keys.bob)
        values = figures(client.get(asked(COARSE), headers=headers))
        client.get(COARSE, headers=cookie)
        client.get(f"{TABLE}?by=nothing", headers=headers)
        client.get(f"{COARSE}&key={quote(headers['Authorization'])}", headers=headers)
        said = client.log + str([one.as_dict() for one in keys.people.record.lines()])
        secret = headers["Authorization"].removeprefix("Bearer ")
        for text in (secret, secret[3:], cookie["Cookie"].split("=")[1], "ada@example.org"):
            assert text not in client.log
        assert secret[3:] not in said
        words = {
            word
            for one in keys.people.record.lines()
            for name, text in asdict(one.line).items()
            if name != "data"
            for word in re.findall(r"\w+", text)
        }
        assert max(values) > 100
        assert not words & {str(value) for value in values if value > 100}


def test_what_cannot_be_written_down_is_not_answered(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from discreet.errors import LedgerUnavailable

    with _fresh(store) as (client, keys):
        headers = keys.of(keys.ada)

        def fail(*_: object) -> None:
            raise LedgerUnavailable("the disk is full")

        monkeypatch.setattr(keys.people.record, "add", fail)
        assert client.get(COARSE, headers=headers).status_code == 503
        assert client.get(COARSE).status_code == 200  # the public is not written down


def test_what_a_custodian_released_is_answered_for_the_project_alone(store: Path) -> None:
    """The rules refuse 'rare' by 'ward' to everybody; the figures are those of the same method."""
    with _fresh(store) as (client, keys):
        opened = client.service.opened("town")
        question = Question.of(Query.parse("sex,health", "ward=1,age=3"), opened.schema)
        assert question.canonical
        known = client.run(
            client.app.state.identity.known(_headers(keys.of(keys.ada)), False, True)
        )
        seen = client.service.opened("town", known.of)
        eased = granted(seen, claims=True)
        assert eased.tier.protection == seen.tier.protection
        assert eased.tier.counts.minimum_population == 1
        release = eased.releaser.release(question, tier=eased.tier.id)
        assert all(value % 2 == 0 for value in release.table.values.ravel())
        route = eased.ledger.entries()[-1].route
        assert route.status is Status.RELEASED


def _headers(given: dict[str, str]) -> object:
    from starlette.datastructures import Headers

    return Headers(given)


PX = "/px/v2/tables/town/data?valueCodes[sex]=*"
SDMX = "/sdmx/data/TOWN/all?dimensionAtObservation=SEX"


def _px(answer: httpx.Response) -> list[int]:
    return [int(value) for value in answer.json()["value"]]


def _sdmx(answer: httpx.Response) -> list[int]:
    return [int(row["OBS_VALUE"]) for row in csv.DictReader(io.StringIO(answer.text))]


@pytest.mark.parametrize(("url", "read"), [(PX, _px), (SDMX, _sdmx)], ids=["px", "sdmx"])
def test_other_protocols_answer_in_the_tier_of_the_key_and_are_in_its_record(
    client: Client, keys: Keys, url: str, read: Callable[[httpx.Response], list[int]]
) -> None:
    lines = len(keys.people.record.lines(action="asked"))
    for headers, tier, base in (
        ({}, "public", 5),
        (keys.of(keys.ada), "licensed", 2),
        (keys.of(keys.safe), "safe", 3),
    ):
        answer = client.get(url, headers={**headers, "Accept": "text/csv, application/json"})
        assert answer.status_code == 200, answer.text
        assert answer.headers["discreet-tier"] == tier
        assert all(value % base == 0 for value in read(answer))
    told = keys.people.record.lines(action="asked")[lines:]
    assert [one.line.tier for one in told] == ["licensed", "safe"]


@pytest.mark.parametrize("path", ["/px/v2/tables", PX, SDMX, "/sdmx/dataflow"])
def test_other_protocols_refuse_a_key_that_is_not_known(client: Client, path: str) -> None:
    answer = client.get(path, headers={"Authorization": "Bearer dk_nobody"})
    assert answer.status_code == 401


def test_a_session_does_not_post_to_another_protocol(client: Client, keys: Keys) -> None:
    body = {"selection": [{"variableCode": "sex", "valueCodes": ["*"]}]}
    cookie = keys.session(keys.ada)
    answer = client.request("POST", PX.partition("?")[0], json=body, headers=cookie)
    assert answer.status_code == 403
    assert answer.json()["error"]["code"] == "KEY_NEEDED"


def test_a_language_model_asks_in_the_tier_of_the_key(store: Path) -> None:
    from mcp.client.client import Client as Model

    with _fresh(store) as (_, keys):
        key = keys.of(keys.ada)["Authorization"].removeprefix("Bearer ")

        async def ask(key: str) -> Any:
            async with Model(create([store], key=key)) as model:
                given = {"dataset": "town", "by": "sex"}
                return (await model.call_tool("ask", given)).structured_content

        mine, public = asyncio.run(ask(key)), asyncio.run(ask(""))
        assert (mine["tier"], public["tier"]) == ("licensed", "public")
        assert all(row[-1] % 2 == 0 for row in mine["rows"])
        assert all(row[-1] % 5 == 0 for row in public["rows"])
        told = keys.people.record.lines(action="asked")
        assert [one.line.question for one in told] == ["by=sex"]
        assert asyncio.run(ask("dk_nobody"))["refused"] == "UNKNOWN_KEY"


def test_over_http_a_language_model_sends_its_key(store: Path) -> None:
    import httpx2
    from mcp.client.client import Client as Model
    from mcp.client.streamable_http import streamable_http_client

    async def ask(headers: dict[str, str]) -> Any:
        server = create([store])
        app = server.streamable_http_app()
        transport = httpx2.ASGITransport(app)
        async with (
            app.router.lifespan_context(app),
            httpx2.AsyncClient(transport=transport, headers=headers) as http,
            Model(streamable_http_client("http://127.0.0.1:8000/mcp", http_client=http)) as model,
        ):
            given = {"dataset": "town", "by": "sex"}
            return (await model.call_tool("ask", given)).structured_content

    with _fresh(store) as (_, keys):
        mine, public = asyncio.run(ask(keys.of(keys.ada))), asyncio.run(ask({}))
        assert (mine["tier"], public["tier"]) == ("licensed", "public")
        # Figures of the two tiers are rounded to the base of each, 2 and 5.
        assert all(row[-1] % 2 == 0 for row in mine["rows"])
        assert all(row[-1] % 5 == 0 for row in public["rows"])
        told = keys.people.record.lines(action="asked")
        assert [one.line.question for one in told] == ["by=sex"]
        for wrong in ("Bearer dk_nobody", "Basic YTpi", "dk_nobody"):
            assert asyncio.run(ask({"Authorization": wrong}))["refused"] == "UNKNOWN_KEY"
