"""A site answers the hub alone, for what was agreed, and keeps its own record."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from discreet.cli import app
from discreet.errors import Forbidden, Sealed
from discreet.federation.accepting import accept
from discreet.federation.asked import SiteRecord, make
from discreet.federation.messages import WINDOW, Message, request
from discreet.federation.site import Site
from discreet.query import Query, Question
from discreet.release.signature import Signer
from discreet.service.opened import open_store
from federations import Federated, connect, copied, make_federation


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Federated:
    return make_federation(tmp_path_factory.mktemp("north"))


@pytest.fixture
def north(made: Federated, tmp_path: Path) -> Federated:
    found = copied(made, tmp_path / "north")
    found.begin()
    return found


def asked(
    north: Federated, kind: str, body: dict[str, Any], site: str = "borg", **changed: Any
) -> Message:
    given = {"signer": north.hub, "document": north.document.digest, "now": time.time()} | changed
    raw = request(given["signer"], given["document"], site, kind, body, given["now"]).pack()
    return Message.unpack(north.sites["borg"].answer(raw))


def terms(north: Federated, **changed: Any) -> dict[str, Any]:
    versions = {name: site._current().version for name, site in north.sites.items()}
    found = {
        "round": "0" * 64,
        "class": "sex",
        "tier": "public",
        "sites": ["aland", "borg", "cove"],
        "versions": versions,
    }
    return found | changed


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"signer": Signer.throwaway()}, "not signed by the hub"),
        ({"document": "0" * 64}, "another document"),
        ({"site": "aland"}, "for another site"),
        ({"now": time.time() - 10 * WINDOW}, "too old or too new"),
    ],
)
def test_a_request_that_is_not_the_hubs_is_turned_away_and_counted(
    north: Federated, changed: dict[str, Any], reason: str
) -> None:
    for _ in range(2):
        with pytest.raises(Forbidden):
            asked(north, "state", {}, **changed)
    record = north.sites["borg"].record
    assert record.turned_away() == {reason: 2}
    assert record.asked() == []


@pytest.mark.parametrize("raw", [b"", b"GET", b"{}\n", b"\xff" * 100])
def test_nonsense_is_turned_away(north: Federated, raw: bytes) -> None:
    with pytest.raises(Forbidden):
        north.sites["borg"].answer(raw)


def test_a_request_is_not_answered_again_after_a_restart(north: Federated) -> None:
    raw = request(north.hub, north.document.digest, "borg", "state", {}, time.time()).pack()
    north.sites["borg"].answer(raw)
    north.begin()
    with pytest.raises(Forbidden):
        north.sites["borg"].answer(raw)


def test_nonces_are_kept_for_as_long_as_their_request_could_be_taken(tmp_path: Path) -> None:
    make(tmp_path)
    record = SiteRecord(tmp_path)
    assert record.first_time("a", 1_000)
    # A request of 1,000 + WINDOW may come until 1,000 + 2 WINDOW.
    assert not record.first_time("a", 1_000 + 2 * WINDOW)


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"class": "sex,borg_town"}, "NOT_AGREED"),
        ({"class": "age,sex"}, "NOT_AGREED"),  # not its name: that is sex,age
        ({"class": 5}, "NOT_AGREED"),
        ({"tier": "licensed"}, "NOT_AGREED"),
        ({"sites": ["aland", "cove"]}, "SITES"),
        ({"sites": ["borg"]}, "SITES"),
        ({"sites": ["borg", "aland", "cove"]}, "SITES"),  # not in order
        ({"sites": ["aland", "borg", "cove", "dune"]}, "SITES"),
        ({"sites": None}, "SITES"),
        ({"versions": {}}, "SITES"),
        ({"round": "1"}, "ROUND"),
    ],
)
def test_a_round_with_wrong_terms_is_refused(
    north: Federated, changed: dict[str, Any], code: str
) -> None:
    assert asked(north, "ready", terms(north, **changed)).body == {"code": code}
    assert north.sites["borg"].record.asked()[-1].outcome == code


def test_a_round_for_another_version_is_refused(north: Federated) -> None:
    versions = dict.fromkeys(("aland", "borg", "cove"), "another")
    assert asked(north, "ready", terms(north, versions=versions)).body == {"code": "VERSION"}


def test_fewer_sites_than_agreed_are_refused(north: Federated) -> None:
    two = terms(north, sites=["aland", "borg"])
    two["versions"].pop("cove")
    assert asked(north, "ready", two).body == {"code": "SITES"}


def test_masked_values_are_sent_when_all_sites_signed_this_round_and_not_before(
    north: Federated,
) -> None:
    def ready(name: str, body: dict[str, Any]) -> Any:
        raw = request(north.hub, north.document.digest, name, "ready", body, time.time()).pack()
        return Message.unpack(north.sites[name].answer(raw)).proof

    def masked(round: str, proofs: list[Any]) -> Any:
        return asked(north, "masked", {"round": round, "ready": proofs})

    for i, spoil in enumerate(("missing", "twice", "another round", "forged", "none")):
        body, other = terms(north, round=f"{i:064x}"), terms(north, round=f"{i + 16:064x}")
        proofs = [ready(name, body) for name in ("aland", "borg", "cove")]
        if spoil == "missing":
            proofs.pop()
        elif spoil == "twice":
            proofs[2] = proofs[0]
        elif spoil == "another round":
            proofs[2] = ready("cove", other)
        elif spoil == "forged":  # by the hub, for a key of its own
            said = {**proofs[2]["statement"], "body": {**proofs[2]["statement"]["body"]}}
            said["body"]["public"] = "ab" * 32
            proofs[2] = north.hub.sign(said, b"discreet federation answer\0")
        found = masked(body["round"], proofs)
        if spoil == "none":
            assert found.statement["kind"] == "masked"
            assert len(found.payload) == 2 * 16
        else:
            assert found.body["code"] in ("ROUND", "SITES"), spoil
            assert found.payload == b""
            # A round that was spoilt is over, whatever comes.
            assert masked(body["round"], proofs).body == {"code": "ROUND"}
    edition = north.sites["borg"]._current().edition
    assert not north.sites["borg"].record.answers_for(edition, ["aland", "borg"])


def test_everything_that_the_hub_asked_is_in_the_record(north: Federated) -> None:
    asked(north, "state", {})
    body = {"class": "sex", "tier": "public", "versions": terms(north)["versions"]}
    assert asked(north, "figures", body).statement["kind"] == "figures"
    asked(north, "ready", terms(north))
    asked(north, "everything", {"class": "sex"})
    found = SiteRecord(north.stores["borg"][0]).asked()
    assert [(one.kind, one.of, one.outcome) for one in found] == [
        ("figures", "sex", "answered"),
        ("ready", "sex", "answered"),
        ("everything", "sex", "NOT_AGREED"),
    ]
    assert found[1].sites == ("aland", "borg", "cove")
    assert (north.stores["borg"][0] / "site.db").stat().st_mode & 0o077 == 0


def test_rounds_that_were_begun_and_left_do_not_pile_up(north: Federated) -> None:
    now = [time.time()]
    stores = north.stores["borg"]
    north.sites["borg"] = site = Site(
        stores, lambda path: open_store(path).releaser, lambda: now[0]
    )
    asked(north, "ready", terms(north))
    now[0] += 601
    asked(north, "ready", terms(north, round="1" * 64), now=now[0])
    assert list(site._rounds) == ["1" * 64]


# The record


def test_a_site_whose_record_is_gone_is_sealed(north: Federated) -> None:
    store = north.stores["borg"][0]
    for spoil in (lambda path: path.write_bytes(b""), lambda path: path.unlink()):
        north.sites["borg"].record.close()
        spoil(store / "site.db")
        with pytest.raises(Sealed, match="would answer for others in the same edition"):
            north.begin()
    # Not even an acceptance makes it anew.
    with pytest.raises(Sealed, match=r"discreet site log .* --new"):
        accept(
            north.document,
            north.hub.public,
            store,
            [open_store(store).releaser],
            Signer.of_store(store),
        )
    # Nothing was asked: the custodian may say so.
    assert CliRunner().invoke(app, ["site", "log", str(store), "--new"]).exit_code == 0
    north.begin()


def test_a_record_is_not_made_anew_after_a_joint_table(
    north: Federated, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = connect(monkeypatch, north).open()
    opened.releaser.release(Question.of(Query.parse("sex"), opened.schema))
    store = north.stores["borg"][0]
    north.sites["borg"].record.close()
    (store / "site.db").unlink()
    told = CliRunner().invoke(app, ["site", "log", str(store), "--new"])
    assert "joint tables were made" in str(told.exception)
    assert not (store / "site.db").exists()


def test_a_set_is_fixed_for_as_long_as_one_cube_is_the_same(tmp_path: Path) -> None:
    make(tmp_path)
    record = SiteRecord(tmp_path)
    three, two = ["aland", "borg", "cove"], ["aland", "borg"]
    assert record.fix("one:1+two:1", three)
    # A new edition of one cube: the other still shares its margins with what was answered.
    for edition in ("one:2+two:1", "one:1", "two:1+one:7"):
        assert not record.answers_for(edition, two)
        assert not record.fix(edition, two)
        assert record.answers_for(edition, three)
    assert record.fix("one:2+two:2", two)
