"""A hub's data sets on the server that serves any others; a site has one route and no more."""

from __future__ import annotations

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from applications import serving
from discreet.federation.link import Conversation, Wrong
from discreet.federation.messages import PATH
from discreet.federation.start import start
from discreet.server.site import MOST_BODY, create_site
from federations import Federated, connect, copied, make_federation


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Federated:
    return make_federation(tmp_path_factory.mktemp("north"))


@pytest.fixture
def north(made: Federated, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Federated:
    return connect(monkeypatch, copied(made, tmp_path / "north"))


def test_pages_and_api_of_a_hub(north: Federated) -> None:
    def gone(site: str, raw: bytes, answer: object) -> bytes:
        raise Wrong("cannot be reached")

    with serving(start(north.file).stores) as client:
        listed = client.get("/api/v1/datasets").json()["datasets"]
        assert [one["id"] for one in listed] == ["north", "north-countries"]
        joint = client.get("/api/v1/datasets/north/table?by=sex,age_band&format=csv")
        assert joint.status_code == 200, joint.text
        assert len(joint.text.splitlines()) == 1 + 6
        side = client.get("/api/v1/datasets/north-countries/table?by=country&format=csv")
        assert [line.split(",")[0] for line in side.text.splitlines()[1:]] == [
            "aland",
            "borg",
            "cove",
        ]
        assert "People of the North" in client.get("/datasets/north").text
        page = client.table("/datasets/north-countries/table?by=country,sex")
        assert "Cove" in page.text
        refused = client.get("/api/v1/datasets/north-countries/table?by=sex")
        assert (refused.status_code, refused.json()["error"]["code"]) == (403, "SITES")
        check = client.get("/api/v1/datasets/north/check?by=health").json()
        assert check["allowed"]
        north.between = gone
        lost = client.get("/api/v1/datasets/north/table?by=health")
        assert lost.status_code == 503
        assert "Aland cannot be reached" in lost.json()["error"]["message"]
        assert lost.headers["retry-after"] == "30"
        again = client.get("/api/v1/datasets/north/table?by=sex,age_band&format=csv")
        assert again.text == joint.text


def test_a_hub_without_one_of_its_sites_is_degraded_and_names_it(
    north: Federated, monkeypatch: pytest.MonkeyPatch
) -> None:
    away = {"borg": "cannot be reached"}
    monkeypatch.setattr(Conversation, "_away", lambda self, member: away.get(member.id, ""))
    monkeypatch.setattr("discreet.federation.hub._LOOK", 0.0)
    with serving(start(north.file).stores) as client:
        client.app.state.service.catalogue.look_at_state()
        told = client.get("/readyz")
        assert told.json() == {"status": "degraded", "why": "Borg cannot be reached"}
        away.clear()
        client.app.state.service.catalogue.look_at_state()
        assert client.get("/readyz").json()["status"] == "ready"


def test_another_set_of_sites_is_not_said_to_pass(north: Federated) -> None:
    record = north.sites["borg"].record
    assert record.fix("borg:1", ["borg", "dune"], ("v", "sex"))
    with serving(start(north.file).stores) as client:
        lost = client.get("/api/v1/datasets/north/table?by=sex")
    assert lost.status_code == 503
    assert "until the next" in lost.json()["error"]["message"]
    assert "again later" not in lost.text
    assert "retry-after" not in lost.headers


def test_a_site_has_one_route_and_tells_strangers_nothing(north: Federated) -> None:
    with TestClient(create_site(north.sites["borg"])) as client:
        for method, path in (("GET", "/"), ("GET", "/api/v1/datasets"), ("GET", "/datasets/borg")):
            assert client.request(method, path).status_code == 404
        assert client.get(PATH).status_code == 405
        stranger = client.post(PATH, content=b"{}")
        assert (stranger.status_code, stranger.content) == (403, b"")
        assert client.post(PATH, content=bytes(MOST_BODY + 1)).status_code == 413
        assert client.get("/healthz").text == "ok\n"
