"""What portals, browsers and other programs find out without asking for a table."""

from __future__ import annotations

import pytest

from applications import Client

TABLE = "/api/v1/datasets/town/table"


def test_a_collection_leads_to_tables(client: Client) -> None:
    found = client.get("/api/v1/collection").json()
    assert (found["class"], found["version"]) == ("collection", "2.0")
    (item,) = found["link"]["item"]
    assert item["label"] == "The town"
    answer = client.get(item["href"])
    assert answer.json()["class"] == "dataset"
    assert answer.json()["size"] == [2, 3]  # sex and age bands
    assert client.get("/api/v1/collection?x=1").status_code == 400


def test_data_sets_are_described_for_portals(client: Client) -> None:
    answer = client.get("/api/v1/catalogue")
    assert answer.headers["content-type"] == "application/ld+json"
    found = answer.json()
    assert found["@type"] == "dcat:Catalog"
    (town,) = found["dcat:dataset"]
    assert (town["dct:identifier"], town["dct:title"]) == ("town", "The town")
    kinds = {one["dct:title"]: one["dcat:accessURL"]["@id"] for one in town["dcat:distribution"]}
    assert len(kinds) == 9
    for url in kinds.values():
        assert client.get(url).status_code == 200
    assert client.get(town["dcat:landingPage"]["@id"]).status_code == 200


@pytest.mark.parametrize(
    ("accept", "type"),
    [
        ("text/csv", "text/csv"),
        ("application/vnd.apache.parquet, */*", "application/vnd.apache.parquet"),
        ("*/*", "application/json"),
        ("text/html,application/xhtml+xml", "application/json"),
        ("application/pdf", "application/json"),
    ],
)
def test_a_format_may_be_asked_for_by_its_type(client: Client, accept: str, type: str) -> None:
    answer = client.get(TABLE, params={"by": "sex,age"}, headers={"Accept": accept})
    assert answer.headers["content-type"].partition(";")[0] == type
    assert "Accept" in answer.headers["vary"]
    named = {"by": "sex,age", "format": "xlsx"}
    answer = client.get(TABLE, params=named, headers={"Accept": accept})
    assert "spreadsheet" in answer.headers["content-type"]


def test_a_page_of_anybody_may_post(client: Client) -> None:
    asked = {"Origin": "https://example.org", "Access-Control-Request-Method": "POST"}
    for path in (TABLE, "/px/v2/tables/town/data"):
        answer = client.request("OPTIONS", path, headers=asked)
        assert answer.status_code == 204
        assert answer.headers["access-control-allow-origin"] == "*"
        assert "POST" in answer.headers["access-control-allow-methods"]
        assert "Content-Type" in answer.headers["access-control-allow-headers"]
    # Pages are no API: nobody else's page may post to them.
    assert client.request("OPTIONS", "/datasets/town", headers=asked).status_code == 405
    assert client.request("OPTIONS", TABLE).status_code == 405
