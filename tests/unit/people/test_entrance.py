from __future__ import annotations

import re

import pytest
import sqlalchemy as sa

from discreet.errors import ParameterError
from discreet.people import entrance as module
from discreet.people import secrets
from discreet.people.entrance import Entrance
from discreet.people.model import Holder, Person
from discreet.people.people import People
from discreet.people.tables import metadata

from .conftest import Clock

PASSWORD = "correct horse battery"


@pytest.fixture
def signed(entrance: Entrance, ada: Person) -> Person:
    entrance.accept(entrance.invite(ada), PASSWORD)
    return ada


def everything(people: People) -> str:
    """Return all that is kept, as text."""
    with people.kept.reading() as connection:
        tables = metadata.tables.values()
        return "\n".join(str(connection.execute(sa.select(t)).all()) for t in tables)


def test_an_invitation_works_once(entrance: Entrance, ada: Person) -> None:
    assert entrance.sign_in(ada.email, "") is None
    token = entrance.invite(ada)
    assert entrance.invited(token) == ada
    assert entrance.invited(token) == ada  # looking does not use it
    assert entrance.accept(token, PASSWORD) == ada
    assert entrance.accept(token, "another password") is None
    assert entrance.sign_in(ada.email, PASSWORD) is not None


def test_an_invitation_ends_after_a_week_and_with_the_next(
    entrance: Entrance, ada: Person, clock: Clock
) -> None:
    first = entrance.invite(ada)
    second = entrance.invite(ada)
    assert entrance.invited(first) is None
    clock.wait(days=7)
    assert entrance.invited(second) is None


@pytest.mark.parametrize("password", ["short", "a" * 40, "ada is my name!", "x" * 300])
def test_a_weak_password_is_refused_and_the_invitation_stays(
    entrance: Entrance, ada: Person, password: str
) -> None:
    token = entrance.invite(ada)
    with pytest.raises(ParameterError, match="a password must"):
        entrance.accept(token, password)
    assert entrance.invited(token) == ada


def test_nothing_that_opens_a_door_is_kept(
    people: People, entrance: Entrance, signed: Person
) -> None:
    key = entrance.make_key(signed, "notebook")
    session = entrance.sign_in(signed.email, PASSWORD)
    invitation = entrance.invite(signed)
    kept = everything(people)
    assert signed.email in kept
    assert "$argon2id$" in kept
    assert session is not None
    for secret in (PASSWORD, key, key.removeprefix("dk_"), session, invitation):
        assert secret not in kept


def test_an_account_rests_after_five_tries_and_refuses_the_right_password_too(
    entrance: Entrance, signed: Person, clock: Clock
) -> None:
    for _ in range(4):
        assert entrance.sign_in(signed.email, "wrong") is None
    assert entrance.sign_in(signed.email, PASSWORD) is not None  # and begins to count anew
    for _ in range(5):
        assert entrance.sign_in(signed.email, "wrong") is None
    assert entrance.sign_in(signed.email, PASSWORD) is None
    clock.wait(minutes=14)
    assert entrance.sign_in(signed.email, PASSWORD) is None
    clock.wait(minutes=2)
    assert entrance.sign_in(signed.email, PASSWORD) is not None


def test_who_knocks_during_the_rest_does_not_make_it_longer(
    entrance: Entrance, signed: Person, clock: Clock
) -> None:
    for _ in range(8):
        entrance.sign_in(signed.email, "wrong")
        clock.wait(minutes=1)
    clock.wait(minutes=12)  # 4 + 12 minutes after the fifth
    assert entrance.sign_in(signed.email, PASSWORD) is not None


@pytest.mark.parametrize("email", ["ada@example.org", "nobody@example.org", "no address", ""])
def test_every_try_computes_one_hash_whoever_is_asked_for(
    entrance: Entrance, signed: Person, email: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Time of log-in: what is slow is done equally often, known or not, resting or not."""
    compared: list[str] = []
    true = secrets.matches

    def counting(password: str, kept: str) -> bool:
        compared.append(kept)
        return true(password, kept)

    monkeypatch.setattr(module.secrets, "matches", counting)
    for times in range(1, 8):
        assert entrance.sign_in(email, "wrong password") is None
        assert len(compared) == times


def test_a_hash_of_nobody_costs_what_one_of_somebody_does() -> None:
    """The same parameters of argon2id, so that the same work is done."""
    parameters = re.compile(r"\$argon2id\$v=\d+\$m=\d+,t=\d+,p=\d+\$")
    nobodys, somebodys = secrets._nobodys(), secrets.hashed(PASSWORD)
    found = [parameters.match(text) for text in (nobodys, somebodys)]
    assert found[0] is not None
    assert found[1] is not None
    assert found[0][0] == found[1][0]
    assert not secrets.matches("", "")


def test_hashes_cost_what_rfc_9106_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()  # the quick ones of the other tests
    # RFC 9106, section 4, second recommended option: 3 passes, 4 lanes, 64 MiB.
    assert "$argon2id$v=19$m=65536,t=3,p=4$" in secrets.hashed(PASSWORD)


def test_signing_in_begins_another_session(entrance: Entrance, signed: Person) -> None:
    """Fixation: a token that somebody knew before is worth nothing after."""
    before = entrance.sign_in(signed.email, PASSWORD)
    assert before is not None
    after = entrance.sign_in(signed.email, PASSWORD, before)
    assert after is not None
    assert after != before
    assert entrance.by_session(before) is None
    assert entrance.by_session("a token of the attacker's choice") is None
    assert entrance.sign_in(signed.email, PASSWORD, "chosen") != "chosen"


def test_a_session_ends_when_it_is_idle_or_old_or_signed_out(
    entrance: Entrance, signed: Person, clock: Clock
) -> None:
    first, second = entrance.begin(signed, "a"), entrance.begin(signed, "b")
    for _ in range(23):
        clock.wait(minutes=30)
        assert entrance.by_session(first) is not None
    assert entrance.by_session(second) is None  # idle for more than an hour
    clock.wait(minutes=31)
    assert entrance.by_session(first) is None  # twelve hours
    third = entrance.begin(signed, "c")
    who = entrance.by_session(third)
    assert who is not None
    entrance.sign_out(who)
    assert entrance.by_session(third) is None


def test_a_new_password_ends_all_sessions(entrance: Entrance, signed: Person) -> None:
    session = entrance.begin(signed, "test")
    entrance.accept(entrance.invite(signed), "another password!")
    assert entrance.by_session(session) is None


def test_a_key_works_until_it_ends(entrance: Entrance, signed: Person, clock: Clock) -> None:
    key = entrance.make_key(signed, "notebook", days=30)
    assert key.startswith("dk_")
    found = entrance.by_key(key)
    assert found is not None
    assert found.person.email == signed.email
    assert not found.by_session
    assert entrance.by_key(key + "x") is None
    assert entrance.by_session(key) is None
    clock.wait(days=30)
    assert entrance.by_key(key) is None


def test_a_key_can_be_ended_by_its_owner_alone(
    people: People, entrance: Entrance, signed: Person
) -> None:
    key = entrance.make_key(signed, "notebook")
    id = entrance.keys(signed)[0].id
    other = people.accounts.add("b@example.org", "Bob", "licensed")
    with pytest.raises(ParameterError, match="no key"):
        entrance.end_key(id, other)
    assert entrance.by_key(key) is not None
    entrance.end_key(id, signed)
    assert entrance.by_key(key) is None


def test_a_key_of_a_project_ends_with_the_membership(
    people: People, entrance: Entrance, signed: Person, clock: Clock
) -> None:
    with pytest.raises(ParameterError, match="no member"):
        entrance.make_key(signed, "notebook", project="health")
    day = clock.now.date().replace(year=clock.now.year + 1)
    people.accounts.set_project("health", "Health", "To plan.", day)
    people.accounts.join(Holder.PROJECT, "health", signed)
    key = entrance.make_key(signed, "notebook", project="health")
    found = entrance.by_key(key)
    assert found is not None
    assert found.scope == "project:health"
    people.accounts.leave(Holder.PROJECT, "health", signed)
    assert entrance.by_key(key) is None


@pytest.mark.parametrize("days", [0, 731])
def test_a_key_does_not_last_forever(entrance: Entrance, signed: Person, days: int) -> None:
    with pytest.raises(ParameterError, match="1 to 730"):
        entrance.make_key(signed, "notebook", days=days)
