from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest

from discreet.errors import Forbidden, ParameterError
from discreet.people.entrance import Entrance
from discreet.people.model import Holder, Person, Role, Who
from discreet.people.people import People
from discreet.policy import Policy, parse_policy

TODAY = datetime.now(UTC).date()
YEAR = TODAY + timedelta(days=365)
YESTERDAY = TODAY - timedelta(days=1)


@pytest.fixture(scope="module")
def policy() -> Policy:
    space = {"space": {"guard_below": 50}}
    tiers = {"public": space, "licensed": {"public": False, **space}, "safe": {"public": False}}
    return parse_policy({"tiers": tiers}, "policy", "policy")


def who(entrance: Entrance, person: Person) -> Who:
    found = entrance.by_session(entrance.begin(person, "test"))
    assert found is not None
    return found


def test_an_account_has_one_address_whatever_the_case(people: People, ada: Person) -> None:
    assert ada.email == "ada@example.org"
    assert people.accounts.find("ADA@example.org") == ada
    with pytest.raises(ParameterError, match="already"):
        people.accounts.add("ada@EXAMPLE.org", "Another", "reader")


@pytest.mark.parametrize("email", ["", "ada", "a@b@c", "a b@c.org", "<a>@b.org", "a@" + "b" * 200])
def test_what_is_no_address_is_refused(people: People, email: str) -> None:
    with pytest.raises(ParameterError, match="e-mail"):
        people.accounts.add(email, "Ada", "reader")


def test_an_unknown_role_is_refused_with_the_choices(people: People) -> None:
    with pytest.raises(ParameterError, match="reader, licensed, custodian, auditor"):
        people.accounts.add("a@b.org", "Ada", "root")


def test_a_tier_comes_from_a_licence_of_the_person_the_group_or_the_project(
    people: People, entrance: Entrance, ada: Person, policy: Policy
) -> None:
    accounts = people.accounts
    assert who(entrance, ada).tier("census", policy) == "public"
    accounts.allow(Holder.PERSON, str(ada.id), "census", "licensed", YEAR)
    assert who(entrance, ada).tier("census", policy) == "licensed"
    assert who(entrance, ada).tier("houses", policy) == "public"
    accounts.join(Holder.GROUP, "staff", ada)
    accounts.allow(Holder.GROUP, "staff", "houses", "safe", YEAR)
    assert who(entrance, ada).tier("houses", policy) == "safe"
    accounts.set_project("health", "Health", "To plan.", YEAR)
    accounts.join(Holder.PROJECT, "health", ada)
    accounts.allow(Holder.PROJECT, "health", "census", "safe", YEAR)
    assert who(entrance, ada).tier("census", policy) == "safe"


def test_what_is_over_gives_nothing(
    people: People, entrance: Entrance, ada: Person, policy: Policy
) -> None:
    accounts = people.accounts
    accounts.allow(Holder.PERSON, str(ada.id), "census", "licensed", TODAY)
    assert who(entrance, ada).tier("census", policy) == "licensed"
    accounts.allow(Holder.PERSON, str(ada.id), "census", "licensed", YESTERDAY)
    assert who(entrance, ada).tier("census", policy) == "public"
    accounts.set_project("health", "Health", "To plan.", YESTERDAY)
    accounts.join(Holder.PROJECT, "health", ada)
    accounts.allow(Holder.PROJECT, "health", "census", "safe", YEAR)
    assert who(entrance, ada).project is None
    # The licence of a project that is over would still hold by its own date.
    assert who(entrance, ada).tier("census", policy) == "public"


def test_a_licence_for_a_tier_that_there_is_not_is_the_public_one(
    people: People, entrance: Entrance, ada: Person, policy: Policy
) -> None:
    people.accounts.allow(Holder.PERSON, str(ada.id), "census", "everything", YEAR)
    assert who(entrance, ada).tier("census", policy) == "public"


@pytest.mark.parametrize("role", [Role.READER, Role.CUSTODIAN, Role.AUDITOR])
def test_other_roles_have_what_the_public_has(
    people: People, entrance: Entrance, role: Role, policy: Policy
) -> None:
    person = people.accounts.add("b@example.org", "Bob", role)
    people.accounts.allow(Holder.PERSON, str(person.id), "census", "safe", YEAR)
    assert who(entrance, person).tier("census", policy) == "public"


def test_a_licence_that_is_taken_away_ends_at_once(
    people: People, entrance: Entrance, ada: Person, policy: Policy
) -> None:
    people.accounts.allow(Holder.PERSON, str(ada.id), "census", "licensed", YEAR)
    session = entrance.begin(ada, "test")
    people.accounts.forbid(people.accounts.licences()[0])
    found = entrance.by_session(session)
    assert found is not None
    assert found.tier("census", policy) == "public"


def test_somebody_in_two_projects_works_in_the_one_they_chose(
    people: People, entrance: Entrance, ada: Person, policy: Policy
) -> None:
    for name in ("health", "homes", "others"):
        people.accounts.set_project(name, name, "To plan.", YEAR)
    people.accounts.join(Holder.PROJECT, "health", ada)
    assert who(entrance, ada).scope == "project:health"
    people.accounts.join(Holder.PROJECT, "homes", ada)
    session = entrance.begin(ada, "test")
    found = entrance.by_session(session)
    assert found is not None
    assert found.scope == f"person:{ada.id}"
    people.accounts.allow(Holder.PROJECT, "homes", "census", "licensed", YEAR)
    assert found.tier("census", policy) == "public"
    entrance.work_in(found, "homes")
    found = entrance.by_session(session)
    assert found is not None
    assert found.scope == "project:homes"
    assert found.tier("census", policy) == "licensed"
    with pytest.raises(ParameterError, match="no member"):
        entrance.work_in(found, "others")


def test_a_key_is_for_its_data_sets(
    people: People, entrance: Entrance, ada: Person, policy: Policy
) -> None:
    found = entrance.by_key(entrance.make_key(ada, "notebook", datasets=["census"]))
    assert found is not None
    assert found.tier("census", policy) == "public"
    with pytest.raises(Forbidden) as raised:
        found.tier("houses", policy)
    assert raised.value.code == "KEY_SCOPE"


def test_whoever_loses_a_role_is_signed_out_and_an_ended_account_has_no_way_in(
    people: People, entrance: Entrance, ada: Person
) -> None:
    session = entrance.begin(ada, "test")
    people.accounts.change(ada, role="reader")
    assert entrance.by_session(session) is None
    session, key = entrance.begin(ada, "test"), entrance.make_key(ada, "notebook")
    token = entrance.invite(ada)
    people.accounts.end(ada)
    assert entrance.by_session(session) is None
    assert entrance.by_key(key) is None
    assert entrance.accept(token, "correct horse battery") is None


def test_groups_can_be_set_as_a_sign_on_says(people: People, ada: Person) -> None:
    people.accounts.set_groups(ada, ["staff", "health"])
    people.accounts.set_groups(ada, ["health", "homes"])
    assert people.accounts.memberships(ada) == [
        (Holder.GROUP, "health"),
        (Holder.GROUP, "homes"),
    ]


def test_a_project_needs_a_purpose(people: People) -> None:
    with pytest.raises(ParameterError, match="purpose"):
        people.accounts.set_project("health", "Health", " ", date(2040, 1, 1))
