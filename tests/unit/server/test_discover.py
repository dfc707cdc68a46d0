"""What portals, browsers and other programs find out without asking for a table."""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path
from urllib.parse import urljoin

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


def test_the_catalogue_has_what_dcat_ap_demands(client: Client) -> None:
    # DCAT-AP 3.0: the mandatory properties of catalogues, data sets, distributions and services.
    from rdflib import DCAT, DCTERMS, FOAF, RDF, Graph, Literal

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of rdflib by itself
        graph = Graph().parse(data=client.get("/api/v1/catalogue").text, format="json-ld")
    demanded = {
        DCAT.Catalog: [DCTERMS.title, DCTERMS.description, DCTERMS.publisher],
        DCAT.Dataset: [DCTERMS.title, DCTERMS.description],
        DCAT.Distribution: [DCAT.accessURL],
        DCAT.DataService: [DCTERMS.title, DCAT.endpointURL],
        FOAF.Agent: [FOAF.name],
    }
    for kind, properties in demanded.items():
        found = list(graph.subjects(RDF.type, kind))
        assert found, kind
        for one in found:
            for name in properties:
                assert (one, name, None) in graph, (kind, name)
    # An address is a resource and no text.
    for name in (DCAT.accessURL, DCAT.endpointURL, DCAT.landingPage):
        assert not any(isinstance(value, Literal) for value in graph.objects(None, name))


def test_a_csv_says_which_column_is_what(client: Client, tmp_path: Path) -> None:
    answer = client.get(
        TABLE, params={"by": "sex,age_band", "totals": "protected", "format": "csv"}
    )
    links = re.findall(r"<([^>]+)>; rel=\"describedby\"; type=\"([^\"]+)\"", answer.headers["link"])
    (address,) = [link for link, kind in links if kind == "application/csvm+json"]
    told = client.get(f"/api/v1/datasets/town/{address}")
    assert told.headers["content-type"] == "application/csvm+json"
    # The address in it leads back to the file.
    found = urljoin(f"http://x/api/v1/datasets/town/{address}", told.json()["url"])
    assert client.get(found.removeprefix("http://x")).text == answer.text
    # A reader of CSVW finds no fault and takes codes for texts, figures for whole numbers.
    (tmp_path / "t.csv").write_bytes(answer.content)
    (tmp_path / "t.csv-metadata.json").write_text(json.dumps({**told.json(), "url": "t.csv"}))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what csvw itself is made of
        from csvw import CSVW

        read = CSVW(str(tmp_path / "t.csv-metadata.json"), validate=True)
    assert read.is_valid, read.warnings
    rows = list(read.tables[0])
    assert len(rows) == 12  # 3 · 4: two sexes and three bands, each with a total
    assert rows[-1]["c0"] == "_T"
    assert isinstance(rows[-1]["c4"], int)


def test_other_files_say_nothing_of_columns(client: Client) -> None:
    for format in ("csv-layout", "sdmx-csv", "json-stat"):
        answer = client.get(TABLE, params={"by": "sex", "format": format})
        assert "csvm" not in answer.headers.get("link", "")


@pytest.mark.parametrize(
    ("path", "name"),
    [("/datasets/town", "The town"), ("/datasets/town/table?by=sex", "sex")],
)
def test_search_engines_read_a_page(client: Client, path: str, name: str) -> None:
    page = client.get(path).text
    (block,) = re.findall(r'<script type="application/ld\+json">(.*?)</script>', page)
    found = json.loads(block)
    assert found["@context"] == "https://schema.org"
    assert found["@type"] == "Dataset"
    assert name in found["name"].lower() or name == found["name"]
    # What a search for data sets asks for: a name, 50 to 5,000 characters of words, an address.
    assert 50 <= len(found["description"]) <= 5_000
    assert path in found["url"]
    assert client.get(found["url"]).status_code == 200
    if "distribution" in found:
        address = found["distribution"]["contentUrl"]
        answer = client.get(address[address.index("/api/") :])
        assert answer.headers["content-type"].startswith("text/csv")


def test_the_openapi_document_is_valid(client: Client) -> None:
    document = client.get("/api/openapi.json").json()
    assert document["openapi"].startswith("3.")
    # All references lead somewhere, and every route says what it answers.
    text = json.dumps(document)
    for reference in set(re.findall(r'"\$ref": "#/components/schemas/(\w+)"', text)):
        assert reference in document["components"]["schemas"]
    for path in document["paths"].values():
        assert all("200" in one["responses"] for one in path.values())
