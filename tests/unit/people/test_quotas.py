from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from discreet.errors import Forbidden
from discreet.ledger import Database
from discreet.people.model import Holder, Person, Who
from discreet.people.people import People

YEAR = datetime.now(UTC).date() + timedelta(days=365)


def who(people: People, person: Person) -> Who:
    found = people.entrance.by_session(people.entrance.begin(person, "test"))
    assert found is not None
    return found


def use(people: People, who: Who, asked: str) -> bool:
    return people.uses.use(who, "census", "2021", who.scope, asked)


def test_a_person_has_so_many_new_tables(people: People, ada: Person) -> None:
    me = who(people, ada)  # of two
    assert use(people, me, "sex,age")
    assert not use(people, me, "sex,age")  # the same table is not new
    left = people.uses.left(me)["person"]
    assert (left.left, left.used, left.quota) == (1, 1, 2)
    assert use(people, me, "age,la")
    with pytest.raises(Forbidden, match="You have used all 2") as raised:
        use(people, me, "age,oa")
    assert raised.value.code == "QUOTA"
    assert not use(people, me, "sex,age")


def test_a_project_has_a_quota_of_its_own_for_all_its_members(people: People) -> None:
    people.accounts.set_project("health", "Health", "To plan.", YEAR, quota=3)
    members = []
    for name in "abc":
        person = people.accounts.add(f"{name}@example.org", name, "licensed", quota=2)
        people.accounts.join(Holder.PROJECT, "health", person)
        members.append(who(people, person))
    first, second, third = members
    assert use(people, first, "sex,age")
    assert not use(people, second, "sex,age")  # the project has it
    assert people.uses.left(second)["person"].left == 2
    assert use(people, first, "age,la")
    assert use(people, second, "age,oa")
    with pytest.raises(Forbidden, match="Your project has used all 3"):
        use(people, third, "sex,oa")


def test_a_quota_of_none_is_none(people: People) -> None:
    person = people.accounts.add("b@example.org", "Bob", "licensed", quota=0)
    with pytest.raises(Forbidden):
        use(people, who(people, person), "sex,age")


def test_many_at_once_do_not_get_over_it(tmp_path: Path) -> None:
    database = Database.of(tmp_path / "state.db")
    with database.reading():
        pass  # makes the file
    people = People(database)
    me = who(people, people.accounts.add("b@example.org", "Bob", "licensed", quota=5))

    def one(i: int) -> bool:
        try:
            return use(people, me, f"table {i}")
        except Forbidden:
            return False

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(one, range(40))) == 5
    people.close()
