"""PxWebApi 2, asked by pxwebpy as it comes from PyPI, and by the requests of R's pxweb."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pxweb import PxApi
from requests.exceptions import HTTPError

import discreet as dc
from applications import GENEROUS, Client, listening, serving
from discreet.ledger import Status
from discreet.service import Limits
from towns import town_of

PX = "/px/v2"
DATA = f"{PX}/tables/town/data"


@pytest.fixture(scope="module")
def api(address: str) -> PxApi:
    return PxApi(f"{address}{PX}", disable_cache=True)


def test_tables_are_searched(api: PxApi) -> None:
    assert api.number_of_tables == 1
    assert [one["id"] for one in api.search("HEALTH ward")["tables"]] == ["town"]
    assert api.search("earnings")["tables"] == []
    assert api.all_tables()[0]["variableNames"][:2] == ["Sex", "Age"]


def test_the_configuration_has_the_limits(api: PxApi) -> None:
    config = api.get_config()
    assert config["maxDataCells"] == 100_000  # of the preset rounding-3
    assert config["defaultLanguage"] == "en"


def test_variables_have_values_and_code_lists(api: PxApi) -> None:
    found = api.get_table_variables("town")
    assert list(found) == ["sex", "age", "health", "rare", "geography"]
    assert found["sex"]["category"]["label"] == {"1": "Male", "2": "Female"}
    assert all(one["elimination"] for one in found.values())
    assert [one["id"] for one in found["age"]["codelists"]] == ["town.age", "town.age_band"]
    # Areas begin with the largest: four districts, not forty wards.
    assert len(found["geography"]["category"]["label"]) == 4


def test_a_level_is_a_code_list(api: PxApi) -> None:
    bands = api.get_code_list("town.age_band")
    assert bands["type"] == "Aggregation"
    assert [one["code"] for one in bands["values"]] == ["young", "adult", "old"]
    assert bands["values"][0]["valueMap"] == [str(age) for age in range(20)]
    assert api.get_code_list("town.ward")["type"] == "Valueset"


def test_figures_are_those_of_the_release(api: PxApi, store: Path) -> None:
    rows = api.get_table_data(
        "town", {"sex": ["*"], "age": ["*"]}, code_list={"age": "town.age_band"}
    )
    release = dc.open(store).release("sex,age_band", tier="public")
    assert [row["value"] for row in rows] == release.table.values.ravel().tolist()
    assert rows[0] == {"Sex": "Male", "Age band": "0 to 19", "value": rows[0]["value"]}
    codes = api.get_table_data("town", {"sex": "2"}, show="code")
    assert [row["Sex"] for row in codes] == ["2"]


def test_what_is_picked_is_by_and_where(api: PxApi, store: Path) -> None:
    rows = api.get_table_data("town", {"sex": ["2"], "health": ["1", "3"]})
    release = dc.open(store).release("sex,health", "sex=2,health=1|3", tier="public")
    assert [row["value"] for row in rows] == release.table.values.ravel().tolist()


def test_without_a_selection_a_small_table_is_answered(api: PxApi, client: Client) -> None:
    rows = api.get_table_data("town")
    # The two variables with the fewest categories at their coarsest: sex (2), age band (3).
    assert len(rows) == 6
    chosen = client.get(f"{PX}/tables/town/defaultselection").json()["selection"]
    assert [one["variableCode"] for one in chosen if one["valueCodes"]] == ["sex", "age"]
    assert client.post(DATA, json={"selection": chosen}).json()["value"] == [
        row["value"] for row in rows
    ]


def test_a_client_is_told_why_it_is_refused(api: PxApi) -> None:
    with pytest.raises(HTTPError, match=r"(?s)Error 403.*NOT_AVAILABLE"):
        api.get_table_data("town", {"rare": ["*"], "geography": ["*"]}, {"geography": "town.ward"})
    with pytest.raises(HTTPError, match=r"(?s)Error 400.*No variable 'agee'"):
        api.get_table_data("town", {"agee": ["1"]})
    with pytest.raises(HTTPError, match=r"(?s)Error 404.*UNKNOWN_DATASET"):
        api.get_table_data("city")


@pytest.mark.parametrize(
    ("given", "picked"),
    [
        ("*", [0, 1, 2, 3, 4]),
        ("TOP(2)", [3, 4]),
        ("bottom(1)", [0]),
        ("[range(2,4)]", [1, 2, 3]),
        ("from(4)", [3, 4]),
        ("to(2),5", [0, 1, 4]),
        ("?", [0, 1, 2, 3, 4]),
        ("5,1,5", [0, 4]),
    ],
)
def test_expressions_pick_categories(client: Client, given: str, picked: list[int]) -> None:
    whole = client.get(DATA, params={"valueCodes[health]": "*"}).json()["value"]
    found = client.get(DATA, params={"valueCodes[health]": given}).json()
    assert found["value"] == [whole[i] for i in picked]
    assert found["dimension"]["health"]["category"]["index"] == {
        str(code + 1): i for i, code in enumerate(picked)
    }


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"valueCodes[health]": "9"}, "No category of 'health' '9'"),
        ({"valueCodes[health]": "top(x)"}, "whole number"),
        ({"valueCodes[health]": "range(1)"}, "must name its codes"),
        ({"valueCodes[health]": "*", "codelist[health]": "town.ward"}, "No code list of 'health'"),
        ({"valueCodes[health]": "*", "outputValues[health]": "single"}, "must be 'aggregated'"),
        ({"valuecode": "1"}, "No parameter 'valuecode'"),
        ({"lang": "xx"}, "No language 'xx'"),
        ({"outputFormat": "json-px"}, "No format 'json-px'"),
    ],
)
def test_mistakes_are_told(client: Client, given: dict[str, str], message: str) -> None:
    answer = client.get(DATA, params=given)
    assert answer.status_code == 400
    assert message in answer.json()["error"]["message"]
    assert answer.json()["title"] == answer.json()["error"]["message"]


@pytest.mark.parametrize("body", [b"[]", b'{"selection": 1}', b'{"selection": [1]}', b"{"])
def test_a_body_must_be_a_selection(client: Client, body: bytes) -> None:
    assert client.post(DATA, content=body).status_code == 400


@pytest.mark.parametrize("kind", ["csv", "px", "xlsx", "html", "parquet"])
def test_other_formats_are_the_files_of_the_api(client: Client, kind: str) -> None:
    given = {"valueCodes[sex]": "*", "outputFormat": kind}
    ours = client.get("/api/v1/datasets/town/table", params={"by": "sex", "format": kind})
    assert client.get(DATA, params=given).content == ours.content


def test_an_answer_has_an_etag(client: Client) -> None:
    first = client.get(DATA, params={"valueCodes[sex]": "*"})
    held = {"If-None-Match": first.headers["etag"]}
    assert client.get(DATA, params={"valueCodes[sex]": "*"}, headers=held).status_code == 304
    assert client.get(DATA, params={"valueCodes[sex]": "1"}, headers=held).status_code == 200
    assert first.headers["access-control-allow-origin"] == "*"


# Batches: a client that splits a table must get the whole of it, and nothing else.


def _batched(store: Path, cells: int, ask: Callable[[PxApi], Any]) -> tuple[Any, Any]:
    """Return what a client gets that may fetch so many cells at once, and the application."""
    settings = replace(GENEROUS, limits=Limits(wait=30, max_cells=cells))
    with listening([store], settings) as (url, app):
        return ask(PxApi(url + PX, disable_cache=True, max_workers=1)), app


def test_batches_make_up_the_whole_table_and_use_one_look(tmp_path: Path) -> None:
    store = town_of(tmp_path)
    wanted = {"age": ["*"], "sex": ["*"]}  # 160 cells of 25 people: guarded
    rows, app = _batched(store, 50, lambda api: api.get_table_data("town", wanted))
    whole = dc.open(store).release("age,sex", tier="public").table
    assert [row["value"] for row in rows] == whole.values.ravel().tolist()
    opened = app.state.service.opened("town")
    tables = opened.ledger.outlook(opened.ledger.entries()[0].route.asked).tables
    assert [(one.name, one.status) for one in tables] == [("sex,age", Status.RELEASED)]


def test_a_batch_that_is_withheld_is_a_part_of_the_whole(tmp_path: Path) -> None:
    # A ward has 100 of 4,000 people, more or less: where fewer are not told, some wards are not.
    store = town_of(tmp_path, counts={"minimum_population": 100})
    wanted, lists = {"geography": ["*"], "sex": ["*"]}, {"geography": "town.ward"}
    rows, _ = _batched(store, 2, lambda api: api.get_table_data("town", wanted, lists))
    whole = dc.open(store).release("ward,sex", tier="public").table
    assert whole.withheld.any()
    assert not whole.withheld.all()
    expected = [None if w else v for v, w in zip(whole.values.ravel().tolist(),
                                                  whole.withheld.ravel(), strict=True)]  # fmt: skip
    assert [row["value"] for row in rows] == expected


def test_a_table_that_is_refused_is_refused_in_every_batch(tmp_path: Path) -> None:
    store = town_of(tmp_path, counts={"minimum_population": 10_000})
    with serving([store]) as client:
        for ward in map(str, range(3)):
            given = {"valueCodes[geography]": ward, "codelist[geography]": "town.ward"}
            answer = client.get(DATA, params=given)
            assert answer.json()["error"]["code"] == "NOT_AVAILABLE"


def test_categories_are_picked_of_a_variable_that_limits_no_table(tmp_path: Path) -> None:
    store = town_of(tmp_path, question='filters_refused = ["health"]')
    with serving([store]) as client:
        whole = client.get(DATA, params={"valueCodes[health]": "*"}).json()["value"]
        some = client.get(DATA, params={"valueCodes[health]": "2,4"})
        assert some.json()["value"] == [whole[1], whole[3]]
        as_csv = client.get(DATA, params={"valueCodes[health]": "2", "outputFormat": "csv"})
        assert as_csv.status_code == 400


def test_an_address_releases_nothing_where_the_policy_says_so(tmp_path: Path) -> None:
    store = town_of(tmp_path, space='claim = "post"')
    with serving([store]) as client:
        assert client.get(DATA).json()["error"]["code"] == "NOT_RELEASED"
        body = {"selection": [{"variableCode": "sex", "valueCodes": ["1"]}]}
        assert client.post(DATA, json=body).status_code == 200
        assert client.get(DATA, params={"valueCodes[sex]": "2"}).status_code == 200


R = "?lang=en"
"""R's pxweb keeps the language of the address; requests as its tests of version 0.19 show them."""


def test_what_rs_pxweb_reads_before_it_asks(client: Client) -> None:
    # Its constructor reads the limits and its query the metadata; of these it uses the table's id,
    # the names of the codes in order, whether a variable may be left out, and the code lists.
    config = client.get(f"{PX}/config").json()
    assert {"maxDataCells", "maxCallsPerTimeWindow", "timeWindow"} <= set(config)
    links = client.get(f"{PX}/tables/town{R}").json()["links"]
    assert {"metadata", "data"} <= {one["rel"] for one in links}
    metadata = client.get(f"{PX}/tables/town/metadata{R}").json()
    assert metadata["extension"]["px"]["tableid"] == "town"
    assert metadata["id"] == list(metadata["dimension"])
    sex, age = (metadata["dimension"][name] for name in ("sex", "age"))
    assert sex["category"]["index"] == {"1": 0, "2": 1}
    assert sex["extension"]["elimination"] is True
    assert [one["id"] for one in age["extension"]["codelists"]] == ["town.age", "town.age_band"]


def test_what_rs_pxweb_posts_is_answered(client: Client, store: Path) -> None:
    asked = f"{DATA}{R}&outputFormat=json-stat2"
    body = {
        "selection": [
            {"variableCode": "sex", "valueCodes": ["1", "2"]},
            {"variableCode": "age", "valueCodes": ["*"]},
        ]
    }
    release = dc.open(store).release("sex,age")
    answer = client.request("POST", asked, json=body)
    assert answer.json()["value"] == release.table.values.ravel().tolist()
    # pxweb_aggregation("…"): the code list is in the address, not in the body.
    level = "&codelist%5Bage%5D=town.age_band&outputValues%5Bage%5D=aggregated"
    answer = client.request("POST", asked + level, json=body)
    release = dc.open(store).release("sex,age_band")
    assert answer.json()["size"] == [2, 3]
    assert answer.json()["value"] == release.table.values.ravel().tolist()
    twice = client.request("POST", asked + "&valueCodes%5Bage%5D=1", json=body)
    assert twice.status_code == 400
    assert "'valuecodes[age]' must be given once" in twice.json()["error"]["message"]
    strange = {"selection": [{"variableCode": ["sex"], "valueCodes": ["1"]}]}
    assert client.request("POST", asked + level, json=strange).status_code == 400


def test_the_first_version_is_not_spoken(client: Client) -> None:
    # What R's pxweb up to 0.17.1 asks first, at every part of the address; without an answer that
    # has maxValues, maxCalls, timeWindow and CORS it says that this is not a PXWEB API.
    for path in ("/px?config", f"{PX}?config", f"{PX}/tables?config"):
        answer = client.get(path)
        assert answer.status_code in (400, 404)
