"""The routes: what they answer, and how answers are named, kept and compressed."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import pandas as pd
import pytest
from typer.testing import CliRunner

import discreet as dc
from applications import Client
from discreet.cli import app
from discreet.release.formats import FORMATS
from discreet.server import models, routes
from stores import build_town

TABLE = "/api/v1/datasets/town/table"
CHECK = "/api/v1/datasets/town/check"
CSV = {"by": "sex,age_band", "format": "csv"}


def figures(text: str) -> list[int]:
    return pd.read_csv(io.StringIO(text))["value"].tolist()


def test_data_sets_are_listed_and_described(client: Client) -> None:
    listed = client.get("/api/v1/datasets").json()["datasets"]
    assert [one["id"] for one in listed] == ["town"]
    town = client.get("/api/v1/datasets/town").json()
    assert [v["id"] for v in town["variables"]] == ["sex", "age", "health", "rare", "geography"]
    sex = town["variables"][0]["levels"][0]
    assert sex["categories"] == [{"code": "1", "label": "Male"}, {"code": "2", "label": "Female"}]


def test_a_description_has_an_etag(client: Client) -> None:
    first = client.get("/api/v1/datasets/town")
    again = client.get("/api/v1/datasets/town", headers={"If-None-Match": first.headers["etag"]})
    assert again.status_code == 304


def test_a_table_is_the_one_python_releases(client: Client, store: Path) -> None:
    answer = client.get(TABLE, params=CSV)
    release = dc.open(store).release("sex,age_band", tier="public")
    assert figures(answer.text) == release.table.values.ravel().tolist()


def test_a_post_asks_the_same(client: Client) -> None:
    got = client.get(TABLE, params={**CSV, "where": "health=1|2"})
    posted = client.post(
        TABLE, json={"by": ["sex", "age_band"], "where": {"health": ["2", "1"]}, "format": "csv"}
    )
    assert posted.status_code == 200
    assert posted.content == got.content
    assert posted.headers["etag"] == got.headers["etag"]


@pytest.mark.parametrize("format", ["csv", "sdmx-csv", "parquet"])
def test_a_downloaded_file_verifies_with_what_its_link_leads_to(
    client: Client, store: Path, tmp_path: Path, format: str
) -> None:
    given = {"by": "sex,age_band", "where": "health=1|2", "totals": "protected", "format": format}
    answer = client.get(TABLE, params=given)
    form = r'<([^>]+)>; rel="describedby"; type="application/json"'
    found = re.search(form, answer.headers["link"])
    assert found is not None
    beside = client.get(urljoin(TABLE, found[1]))
    assert beside.status_code == 200
    names = [re.findall('filename="(.+)"', a.headers["content-disposition"])[0]
             for a in (answer, beside)]  # fmt: skip
    assert names[1] == f"{names[0]}.meta.json"
    for name, one in zip(names, (answer, beside), strict=True):
        (tmp_path / name).write_bytes(one.content)
    done = CliRunner().invoke(app, ["verify", str(tmp_path / names[0]), "--store", str(store)])
    assert done.exit_code == 0, done.output
    assert f"({format}): genuine" in done.output
    # The same bytes as `discreet table` writes.
    release = dc.open(store).release("sex,age_band", "health=1|2", "protected", "public")
    written = release.write(tmp_path / "by-hand", format)
    assert written[0].read_bytes() == answer.content
    assert written[1].read_bytes() == beside.content
    (tmp_path / names[0]).write_bytes(answer.content.replace(b"Female", b"Femail"))
    if format == "csv":
        done = CliRunner().invoke(app, ["verify", str(tmp_path / names[0]), "--store", str(store)])
        assert done.exit_code == 1


def test_the_file_beside_is_refused_where_the_table_is(client: Client) -> None:
    for path in (TABLE, f"{TABLE}/meta"):
        assert client.get(path, params={"by": "ward,rare"}).status_code == 403
        assert client.get(path, params={"by": "ward,rare,age"}).status_code == 413
    unknown = client.get(f"{TABLE}/meta", params={"by": "sex", "format": "xlsx"})
    assert unknown.status_code == 400
    assert "csv, sdmx-csv, parquet" in unknown.json()["error"]["message"]
    assert "link" not in client.get(TABLE, params={"by": "sex", "format": "xlsx"}).headers
    meta = client.get(f"{TABLE}/meta", params={"by": "sex"})
    again = client.get(
        f"{TABLE}/meta", params={"by": "sex"}, headers={"If-None-Match": meta.headers["etag"]}
    )
    assert again.status_code == 304


def test_the_structure_is_served(client: Client) -> None:
    found = client.get(f"{TABLE}/structure", params={"by": "sex"})
    assert found.headers["content-type"].startswith("application/xml")
    assert b"DataStructure" in found.content


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"by": "sex,age_band", "format": "csv"}, "town-sex-age_band.csv"),
        ({"by": "sex,age_band", "format": "csv-layout"}, "town-sex-age_band-csv-layout.csv"),
        ({"by": "sex", "where": "district=1,health=1|2"}, "town-sex-health-1-2-district-1.json"),
        # The twenty youngest years are an age band; the file says what was asked.
        (
            {"by": "sex", "where": "age=" + "|".join(map(str, range(20)))},
            "town-sex-age-" + "-".join(map(str, range(20))) + ".json",
        ),
    ],
)
def test_a_file_is_named_after_its_question(
    client: Client, given: dict[str, str], name: str
) -> None:
    found = client.get(TABLE, params=given).headers["content-disposition"]
    assert found == f'inline; filename="{name}"'


def test_a_name_that_would_be_too_long_is_cut_and_still_another_for_another_question(
    client: Client,
) -> None:
    names = set()
    for last in (60, 61):
        codes = "|".join(str(age) for age in (*range(20, 60), last))
        given = {"by": "sex", "where": f"age={codes}", "format": "csv"}
        names.add(client.get(TABLE, params=given).headers["content-disposition"])
    assert len(names) == 2
    assert all(len(name) < 130 for name in names)


def test_a_file_says_the_filter_as_it_was_asked(client: Client) -> None:
    # The same people in other words: the band, or its ages one by one.
    ages = "|".join(str(age) for age in range(20))
    band, single = (
        client.get(TABLE, params={"by": "sex", "where": where})
        for where in ("age_band=young", f"age={ages}")
    )
    filters = [one.json()["extension"]["discreet"]["filters"] for one in (band, single)]
    assert [f[0]["name"] for f in filters] == ["Age band", "Age"]
    assert band.json()["value"] == single.json()["value"]
    assert band.headers["etag"] != single.headers["etag"]


def test_check_counts_nothing(client: Client, store: Path) -> None:
    records = (store / "records").read_bytes() if (store / "records").exists() else b""
    found = client.get(CHECK, params={"by": "sex,age_band"}).json()
    assert found == {
        "allowed": True,
        "cells": 6,  # 2 sexes, 3 bands
        "question": "by=sex,age_band",
        "tier": "public",
        "left": None,
        "totals": "none",
        "code": None,
        "message": None,
        "state": found["state"],
    }
    assert found["state"] in ("free", "released")
    # 2 * 80 * 5 * 200 = 160,000 cells are above the policy's 100,000.
    found = client.get(CHECK, params={"by": "sex,age,health,rare"}).json()
    assert (found["allowed"], found["code"], found["cells"]) == (False, "MAX_CELLS", 160_000)
    after = (store / "records").read_bytes() if (store / "records").exists() else b""
    assert after == records


def test_an_etag_is_honoured_and_the_same_after_a_restart(
    start: Callable[..., Client],
) -> None:
    first = start().get(TABLE, params=CSV)
    assert first.headers["cache-control"] == "public, no-cache"
    other = start()
    again = other.get(TABLE, params=CSV, headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert other.get(TABLE, params=CSV).headers["etag"] == first.headers["etag"]


@pytest.mark.parametrize(
    "other",
    [
        {"by": "age_band,sex", "format": "csv"},  # the order is no part of the question, but here
        {"by": "sex,age_band", "format": "json-stat"},
        {"by": "sex,age_band", "format": "csv", "totals": "protected"},
        {"by": "sex,age_band", "format": "csv", "where": "health=1"},
    ],
)
def test_other_answers_have_other_etags(client: Client, other: dict[str, str]) -> None:
    tags = {client.get(TABLE, params=p).headers["etag"] for p in (CSV, other)}
    assert len(tags) == 2


@pytest.mark.parametrize("given", ["*", 'W/{tag}, "x"', '"x", {tag}'])
def test_forms_of_if_none_match(client: Client, given: str) -> None:
    tag = client.get(TABLE, params=CSV).headers["etag"]
    headers = {"If-None-Match": given.format(tag=tag)}
    assert client.get(TABLE, params=CSV, headers=headers).status_code == 304


def test_a_star_does_not_hide_a_refusal(client: Client) -> None:
    refused = {"by": "ward,rare,age"}
    answer = client.get(TABLE, params=refused, headers={"If-None-Match": "*"})
    assert answer.status_code in (403, 413)


def test_gzip_where_it_is_asked_for(client: Client) -> None:
    params = {"by": "age,health", "format": "csv"}
    plain = client.get(TABLE, params=params, headers={"Accept-Encoding": "identity"})
    packed = client.get(TABLE, params=params, headers={"Accept-Encoding": "gzip"})
    refused = client.get(TABLE, params=params, headers={"Accept-Encoding": "gzip;q=0"})
    assert "content-encoding" not in plain.headers
    assert packed.headers["content-encoding"] == "gzip"
    assert "content-encoding" not in refused.headers
    assert plain.content == packed.content == refused.content
    assert plain.headers["vary"] == "Accept, Accept-Encoding, Authorization, Cookie"
    assert plain.headers["etag"] != packed.headers["etag"]


def test_a_head_request_has_no_body(client: Client) -> None:
    released = client.get(TABLE, params=CSV)  # a HEAD releases nothing that is not released yet
    answer = client.request("HEAD", TABLE, params=CSV)
    assert answer.status_code == 200
    assert answer.content == b""
    assert answer.headers["etag"] == released.headers["etag"]


def test_refusals_say_what_would_do(client: Client) -> None:
    answer = client.get(TABLE, params={"by": "ward,rare"})
    error = answer.json()["error"]
    assert answer.status_code == 403
    assert error["hint"]
    for hint in error["hints"]:
        params = {"by": hint["by"], "where": hint["where"]}
        assert client.get(CHECK, params=params).json()["allowed"], hint


def test_a_question_is_recorded_once_however_often_it_is_asked(tmp_path: Path, start: Any) -> None:
    store = build_town(tmp_path / "data", tmp_path / "store", rows=2_000)
    client = start(stores=[store])
    for _ in range(5):
        client.get(TABLE, params={"by": "sex", "format": "csv"})
        client.get(TABLE, params={"by": "sex", "format": "json-stat"})
    assert len((store / "records").read_text().splitlines()) == 1


def test_several_stores_are_served_together(tmp_path: Path, store: Path, start: Any) -> None:
    village = build_town(tmp_path / "data", tmp_path / "store", rows=3_000, id="village", seed=5)
    client = start(stores=[store, village])
    assert [d["id"] for d in client.get("/api/v1/datasets").json()["datasets"]] == [
        "town",
        "village",
    ]
    values = {
        name: figures(
            client.get(f"/api/v1/datasets/{name}/table", params={"by": "sex", "format": "csv"}).text
        )
        for name in ("town", "village")
    }
    assert sum(values["town"]) > 3 * sum(values["village"])


def test_openapi_names_every_route_with_an_example(client: Client) -> None:
    paths = client.get("/api/openapi.json").json()["paths"]
    assert {path for path in paths if path.startswith("/api")} == {
        "/api/v1/datasets",
        "/api/v1/datasets/{dataset}",
        "/api/v1/datasets/{dataset}/check",
        "/api/v1/datasets/{dataset}/ledger",
        "/api/v1/datasets/{dataset}/table",
        "/api/v1/datasets/{dataset}/table/meta",
        "/api/v1/datasets/{dataset}/table/structure",
        "/api/v1/me",
        "/api/v1/config",
    }
    for path in paths.values():
        for operation in path.values():
            for status, answer in operation["responses"].items():
                for media, content in answer.get("content", {}).items():
                    if media == "application/json" and status != "200":
                        assert content["example"]["error"]["code"]


def test_answers_are_what_the_document_says(client: Client) -> None:
    """What is kept as bytes is not made by the models: nothing in it is unknown to them."""
    models.DataSet.model_validate_json(client.get("/api/v1/datasets/town").content)
    meta = client.get(f"{TABLE}/meta", params={"by": "sex"}).json()
    assert set(meta) == set(models.Meta.model_fields)
    models.Meta.model_validate(meta)


def test_config_tells_limits_and_formats(client: Client) -> None:
    config = client.get("/api/v1/config").json()
    assert "csv" in config["formats"]
    assert config["limits"]["query_bytes"] == 8_192


@pytest.mark.parametrize("format", list(FORMATS))
def test_an_answer_that_is_made_again_is_the_same_to_the_byte(
    start: Callable[..., Client], format: str
) -> None:
    """A strong ETag promises it: the answer may have been dropped, or made by another server."""
    params = {"by": "sex,age_band", "where": "health=1|2", "format": format}
    answers = [start().get(TABLE, params=params) for _ in range(2)]
    assert answers[0].status_code == 200
    assert answers[0].headers["content-type"] == FORMATS[format].media_type
    assert FORMATS[format].suffix in answers[0].headers["content-disposition"]
    assert answers[0].headers["etag"] == answers[1].headers["etag"]
    assert answers[0].content == answers[1].content


def test_official_figures_are_answered_as_counted(
    tmp_path: Path, start: Callable[..., Client]
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "policy.toml").write_text('benchmark_totals = ["sex,district"]\n')
    store = build_town(tmp_path / "data", tmp_path / "store", policy="policy.toml")
    answer = start(stores=[store]).get(TABLE, params={"by": "district,sex", "format": "csv"})
    assert answer.status_code == 200
    counted = dc.open(store).tabulate("district,sex").counts
    assert figures(answer.text) == counted.ravel().tolist()


LEDGER = "/api/v1/datasets/town/ledger"


def test_the_ledger_says_what_a_question_would_use(tmp_path: Path, start: Any) -> None:
    """5,000 people; 40 wards by 5 healths are 25 a cell: guarded, in one table and no more."""
    client = start(stores=[build_town(tmp_path / "data", tmp_path / "store", rows=5_000)])
    fine = {"by": "ward,health"}
    assert client.get(LEDGER, params={"by": "sex"}).json()["state"] == "free"
    before = client.get(LEDGER, params=fine).json()
    assert before["state"] == "look"
    assert (before["detail"]["used"], before["detail"]["limit"]) == (0, 1)
    assert client.get(LEDGER, params=fine).json() == before, "asking uses nothing"
    assert client.get(TABLE, params=fine).status_code == 200
    after = client.get(LEDGER, params=fine).json()
    assert (after["state"], after["table"]) == ("released", "health,ward")
    assert after["detail"]["tables"][0]["table"] == "health,ward"
    # A part of it is a part of the same table; another cut of the wards is used up.
    assert client.get(LEDGER, params={"by": "health", "where": "ward=1|2"}).json()["state"] == (
        "released"
    )
    other = client.get(LEDGER, params={"by": "ward,health,sex"}).json()
    assert other["state"] == "used"
    refused = client.get(TABLE, params={"by": "ward,health,sex"})
    assert refused.status_code == 403
    assert refused.json()["error"]["code"] == "USED_UP"
    assert client.get(CHECK, params={"by": "ward,health,sex"}).json()["state"] == "used"


def test_a_request_that_wants_no_table_releases_none(tmp_path: Path, start: Any) -> None:
    client = start(stores=[build_town(tmp_path / "data", tmp_path / "store", rows=5_000)])
    fine = {"by": "ward,health"}
    assert client.request("HEAD", TABLE, params=fine).status_code == 403
    ahead = client.get(TABLE, params=fine, headers={"Sec-Purpose": "prefetch"})
    assert ahead.json()["error"]["code"] == "NOT_RELEASED"
    assert client.get(LEDGER, params=fine).json()["state"] == "look"
    assert "noindex" in ahead.headers["x-robots-tag"]


def test_a_policy_may_ask_for_post(tmp_path: Path, start: Any) -> None:
    policy = tmp_path / "data" / "policy.toml"
    policy.parent.mkdir()
    policy.write_text('[tiers.public.space]\nclaim = "post"\n')
    store = build_town(tmp_path / "data", tmp_path / "store", rows=5_000, policy="policy.toml")
    client = start(stores=[store])
    answer = client.get(TABLE, params={"by": "sex"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "NOT_RELEASED")
    assert client.post(TABLE, json={"by": ["sex"]}).status_code == 200
    assert client.get(TABLE, params={"by": "sex"}).status_code == 200


_WAYS: list[tuple[str, str, dict[str, str]]] = [
    ("GET", f"{TABLE}?by=sex,age_band&format=csv", {}),
    ("GET", f"{TABLE}?by=sex,age_band&format=csv", {"Accept-Encoding": "gzip"}),
    ("GET", f"{TABLE}?by=sex,age_band", {"Accept": "text/csv"}),
    ("GET", f"{TABLE}?by=sex,health&totals=protected", {}),
    ("GET", f"{TABLE}?by=health,rare", {}),
    ("GET", f"{TABLE}?by=sex,nothing", {}),
    ("GET", f"{TABLE}?by=sex&by=age", {}),
    ("GET", f"{TABLE}?by=sex&tier=licensed", {}),
    ("GET", f"{TABLE}?by=%FF", {}),
    ("GET", TABLE, {}),
    ("GET", f"{TABLE}/?by=sex", {}),
    ("GET", "/api/v1/datasets/other/table?by=sex", {}),
    ("GET", "/api/v1/datasets//table?by=sex", {}),
    ("GET", "/api/v1/datasets/town/x/table?by=sex", {}),
    ("GET", "/api/v1/datasets/to%2Fwn/table?by=sex", {}),
    ("GET", "/api/v1/datasets/t%C3%B6wn/table?by=sex", {}),
    ("GET", f"{TABLE}?by=sex", {"X-API-Key": "unknown"}),
    ("HEAD", f"{TABLE}?by=sex", {}),
    ("PUT", f"{TABLE}?by=sex", {}),
    ("OPTIONS", f"{TABLE}?by=sex", {"Access-Control-Request-Method": "GET"}),
]


@pytest.mark.parametrize(("method", "path", "headers"), _WAYS)
def test_the_direct_way_answers_as_all_layers_do(
    client: Client, monkeypatch: pytest.MonkeyPatch,
    method: str, path: str, headers: dict[str, str],
) -> None:  # fmt: skip
    def answered() -> tuple[int, dict[str, str], bytes]:
        found = client.request(method, path, headers=headers)
        told = {k: v for k, v in found.headers.items() if k not in ("x-request-id", "date")}
        said = found.headers["x-request-id"].encode()
        return found.status_code, told, found.content.replace(said, b"")

    answered()  # what is kept then, is kept for either
    lines = client.log.count("\n")
    direct = answered()
    monkeypatch.setattr(routes.Direct, "takes", lambda *given: False)
    assert answered() == direct
    first, second = (json.loads(line) for line in client.log.splitlines()[lines : lines + 2])
    assert [first[k] for k in ("method", "route", "status", "cache")] == [
        second[k] for k in ("method", "route", "status", "cache")
    ]
