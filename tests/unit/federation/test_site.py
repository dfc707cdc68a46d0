"""A site answers the hub alone, for what was agreed, and keeps its own record."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from discreet.build import build
from discreet.cli import app
from discreet.errors import Forbidden, InternalError, ParameterError, Sealed
from discreet.federation.accepting import accept
from discreet.federation.asked import SiteRecord
from discreet.federation.kept import make
from discreet.federation.messages import WINDOW, Message, request
from discreet.federation.site import Site
from discreet.query import Query, Question
from discreet.release.record import append
from discreet.release.signature import Signer
from discreet.service.opened import open_store
from federations import Federated, build_country, connect, copied, make_federation


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
    assert record.why_not("a", 1_000) == ""
    # A request of 1,000 + WINDOW may come until 1,000 + 2 WINDOW.
    assert record.why_not("a", 1_000 + 2 * WINDOW) == "seen before"


def test_a_clock_that_is_set_back_makes_no_request_new_again(tmp_path: Path) -> None:
    make(tmp_path)
    record = SiteRecord(tmp_path)
    assert record.why_not("a", 1_000) == ""
    assert record.why_not("b", 1_000 + 4 * WINDOW) == ""  # "a" is forgotten
    assert record.why_not("a", 1_000) == "the clock of the site was set back"
    assert record.why_not("c", 1_000 + 3 * WINDOW) == ""  # within the window: nothing is forgotten


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"class": "sex,borg_town"}, "NOT_AGREED"),
        ({"class": "age,sex"}, "NOT_AGREED"),  # not its name: that is sex,age
        ({"class": 5}, "NOT_AGREED"),
        ({"tier": "licensed"}, "NOT_AGREED"),
        ({"sites": ["aland", "cove"]}, "TERMS"),
        ({"sites": ["borg"]}, "TERMS"),
        ({"sites": ["borg", "aland", "cove"]}, "TERMS"),  # not in order
        ({"sites": ["aland", "borg", "cove", "dune"]}, "TERMS"),
        ({"sites": None}, "TERMS"),
        ({"versions": {}}, "TERMS"),
        ({"round": "1"}, "ROUND"),
        ({"round": "\ud800" * 64}, "ROUND"),
        ({"class": "sex\n2026 masked age"}, "NOT_AGREED"),
        ({"class": "\ud800"}, "NOT_AGREED"),
        ({"versions": dict.fromkeys(("aland", "borg", "cove"), "\ud800")}, "TERMS"),
        ({"sites": ["x" * 900] * 1_000}, "TERMS"),
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
    assert asked(north, "ready", two).body == {"code": "TERMS"}


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
        ("state", "", "answered"),
        ("figures", "sex", "answered"),
        ("ready", "sex", "answered"),
        ("everything", "sex", "NOT_AGREED"),
    ]
    assert found[2].sites == ("aland", "borg", "cove")
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


def joint_table(north: Federated, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a joint table, end all sites as by a kill, and return the store of one."""
    opened = connect(monkeypatch, north).open()
    opened.releaser.release(Question.of(Query.parse("sex"), opened.schema))
    return north.stores["borg"][0]


def test_what_the_set_hangs_on_is_in_the_one_file(
    north: Federated, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    store = joint_table(north, monkeypatch)
    # As a copy of the file alone has it, while the site runs.
    with sqlite3.connect(tmp_path / "copy.db") as copy:
        (tmp_path / "copy.db").write_bytes((store / "site.db").read_bytes())
        ((sites,),) = copy.execute("SELECT sites FROM sets").fetchall()
    assert sites == '["aland", "borg", "cove"]'
    north.sites["borg"].close()
    assert not (store / "site.db-wal").exists()


@pytest.mark.parametrize("how", ["older", "overwritten", "cut", "another's", "no tables"])
def test_a_record_that_is_not_the_newest_of_this_store_whole_is_sealed(
    how: str, north: Federated, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = north.stores["borg"][0] / "site.db"
    before = file.read_bytes()  # of the time when nothing was asked
    store = joint_table(north, monkeypatch)
    for site in north.sites.values():
        site.close()
    held = file.read_bytes()
    file.write_bytes(
        {
            "older": before,
            "overwritten": held[:4096] + bytes(len(held) - 4096),
            "cut": held[: len(held) // 2],
            "another's": (north.stores["cove"][0] / "site.db").read_bytes(),
            "no tables": b"",
        }[how]
    )
    if how == "no tables":
        with sqlite3.connect(file) as fresh:
            fresh.execute("PRAGMA application_id = 1")
    with pytest.raises(Sealed, match=r"site\.db is .* Put the file back from a backup"):
        north.begin()
    told = CliRunner().invoke(app, ["site", "log", str(store)])
    assert isinstance(told.exception, Sealed)
    file.write_bytes(held)
    north.begin()


def test_a_kill_between_the_set_and_the_records_seals_nothing(
    north: Federated, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = joint_table(north, monkeypatch)
    with (store / "records").open("ab") as file:
        file.write(b'{"verdict": "joint", "data_ver')  # what a kill leaves of a line
    with SiteRecord(store)._open() as db:
        db.execute("INSERT INTO joint VALUES ('later', 'age')")  # its line was never written
    north.begin()


def test_no_acceptance_makes_the_record_anew_after_a_joint_table(
    north: Federated, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = joint_table(north, monkeypatch)
    (store / "site.db").unlink()
    (store / "federation.json").unlink()
    cubes = [open_store(store).releaser]
    with pytest.raises(ParameterError, match="joint tables were made from this edition"):
        accept(north.document, north.hub.public, store, cubes, Signer.of_store(store))


def test_with_a_new_edition_a_lost_record_may_be_made_anew(
    north: Federated, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = joint_table(north, monkeypatch)
    build_country(store.parent, "borg", seed=77)  # everybody else
    (store / "site.db").unlink()
    assert CliRunner().invoke(app, ["site", "log", str(store), "--new"]).exit_code == 0
    north.begin()  # the old lines of the records do not seal it
    assert north.sites["borg"].record.answers_for("borg:2", ["aland", "borg"])


def test_new_keys_for_the_same_people_do_not_free_the_set(
    north: Federated, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = joint_table(north, monkeypatch)
    build(store.parent / "dataset.toml", store, views=0, new_secret=True)
    north.begin()
    site = north.sites["borg"]
    assert asked(north, "state", {}).body["edition"] == "borg:2"  # the hub draws noise anew
    assert not site.record.answers_for(site._current().people, ["aland", "borg"])
    assert site.record.answers_for(site._current().people, ["aland", "borg", "cove"])
    (store / "site.db").unlink()
    told = CliRunner().invoke(app, ["site", "log", str(store), "--new"])
    assert "joint tables were made" in str(told.exception)


def test_a_set_is_fixed_for_as_long_as_one_cube_is_the_same(tmp_path: Path) -> None:
    make(tmp_path)
    record = SiteRecord(tmp_path)
    three, two = ["aland", "borg", "cove"], ["aland", "borg"]
    assert record.fix("one:1+two:1", three, ("v1", "sex"))
    # A new edition of one cube: the other still shares its margins with what was answered.
    for edition in ("one:2+two:1", "one:1", "two:1+one:7"):
        assert not record.answers_for(edition, two)
        assert not record.fix(edition, two, ("v2", "sex"))
        assert record.answers_for(edition, three)
    assert record.fix("one:2+two:2", two, ("v2", "sex"))


def ready(north: Federated, name: str, body: dict[str, Any]) -> Any:
    raw = request(north.hub, north.document.digest, name, "ready", body, time.time()).pack()
    return Message.unpack(north.sites[name].answer(raw)).proof


def test_a_line_of_the_record_is_of_the_round_and_not_of_what_the_hub_says(
    north: Federated,
) -> None:
    body = terms(north, **{"class": "sex,age"})
    proofs = [ready(north, name, body) for name in ("aland", "borg", "cove")]
    asked(north, "masked", {"round": "0" * 64, "ready": proofs, "class": "sex", "sites": ["borg"]})
    asked(north, "x\n\x1b[2Jmasked", {"class": "sex\n", "sites": ["y" * 1_000] * 3})
    lines = [(o.kind, o.of, o.sites, o.outcome) for o in north.sites["borg"].record.asked()]
    three = ("aland", "borg", "cove")
    assert lines[1:] == [
        ("masked", "sex,age", three, "answered"),
        ("unknown", "", (), "NOT_AGREED"),
    ]


def test_a_request_that_fails_leaves_a_line(
    north: Federated, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: Site) -> None:
        raise ParameterError("broken")

    monkeypatch.setattr(Site, "_current", broken)
    with pytest.raises(ParameterError):
        asked(north, "state", {})
    (line,) = north.sites["borg"].record.asked()
    assert (line.kind, line.outcome) == ("state", "failed")


def test_rounds_that_came_to_nothing_make_room(north: Federated) -> None:
    for i in range(12):
        body = terms(north, round=f"{i:064x}")
        assert asked(north, "ready", body).statement["kind"] == "ready"
    assert list(north.sites["borg"]._rounds) == [f"{i:064x}" for i in range(4, 12)]


def test_no_look_is_used_before_all_sites_are_ready(north: Federated) -> None:
    own = open_store(north.stores["borg"][0])
    ready(north, "borg", terms(north, **{"class": "sex,age,health"}))
    # At home 4,000 people in 800 cells are guarded with one look: it is still there.
    own.releaser.release(Question.of(Query.parse("sex,age,health"), own.schema))


@pytest.mark.parametrize("public", ["0" * 64, "é" * 64, "a " * 32, "z" * 64, 5, None])
def test_an_odd_key_is_refused(north: Federated, public: object) -> None:
    # A point of small order, which shares no secret, and what is no key at all.
    body = terms(north)
    proofs = [ready(north, name, body) for name in ("aland", "borg", "cove")]
    said = proofs[2]["statement"]
    said = {**said, "body": {**said["body"], "public": public}}
    proofs[2] = north.sites["cove"].signer.sign(said, b"discreet federation answer\0")
    assert asked(north, "masked", {"round": "0" * 64, "ready": proofs}).body == {"code": "ROUND"}


@pytest.mark.parametrize("odd", [{"time": 10**400}, {"nonce": "\ud800" * 32}, {"kind": 5}])
def test_odd_requests_of_the_hub_are_turned_away(north: Federated, odd: dict[str, Any]) -> None:
    said = request(north.hub, north.document.digest, "borg", "state", {}, time.time()).statement
    raw = Message(north.hub.sign({**said, **odd}, b"discreet federation request\0")).pack()
    with pytest.raises(Forbidden):
        north.sites["borg"].answer(raw)


def test_the_record_of_the_store_is_written_before_the_table_is_settled(
    north: Federated, monkeypatch: pytest.MonkeyPatch
) -> None:
    # By that line a build knows of the joint table. If it cannot be written, nothing is released,
    # and it is written when the table is asked for again.
    full = [True]

    def append_if_room(path: Path, record: Any) -> None:
        if full[0]:
            raise InternalError("the disk is full")
        append(path, record)

    monkeypatch.setattr("discreet.federation.site.append", append_if_room)
    for i in range(2):
        body = terms(north, round=f"{i:064x}")
        proofs = [ready(north, name, body) for name in ("aland", "borg", "cove")]
        given = {"round": body["round"], "ready": proofs}
        if full[0]:
            with pytest.raises(InternalError):
                asked(north, "masked", given)
        else:
            assert asked(north, "masked", given).statement["kind"] == "masked"
        full[0] = False
    assert '"joint"' in (north.stores["borg"][0] / "records").read_text()
