"""What somebody has on the pages: keys, tables, history; what a custodian sees of all."""

from __future__ import annotations

import re

from sites import FINE, Site, publish


def test_a_key_is_shown_once_and_can_be_ended(site: Site) -> None:
    one = site.browser(site.ada)
    page = one.fill("/me", "/me/keys", name="notebook").text
    key = re.search(r"<code>(dk_[\w-]{43})</code>", page)
    assert key is not None
    assert key[1] not in one.get("/me").text
    assert site.people.entrance.by_key(key[1]) is not None
    id = site.people.entrance.keys(site.ada)[0].id
    other = site.browser(site.bob)
    assert other.fill("/me", "/me/keys/end", key=id).status_code == 400
    assert one.fill("/me", "/me/keys/end", key=id).status_code == 303
    assert site.people.entrance.by_key(key[1]) is None
    assert key[1] not in site.client.log


def test_what_an_answer_uses_is_said_before_and_a_table_can_be_saved_and_shared(
    site: Site,
) -> None:
    ada, bob, cyd = (site.browser(who) for who in (site.ada, site.bob, site.cyd))
    page = ada.get(f"/datasets/town/build?{FINE}").text
    assert "Uses 1 of your 20." in page
    assert "Uses 1" not in site.browser().get(f"/datasets/town/build?{FINE}").text
    assert publish(ada).status_code == 303
    address = f"/datasets/town/table?{FINE}"
    page = ada.get(address)
    assert page.headers["discreet-tier"] == "licensed"
    assert page.headers["cache-control"] == "private, no-cache"
    assert '<span class="figure">19</span>' in ada.get("/me").text
    assert ada.fill(address, "/me/tables", name="Health at home", shared="yes").status_code == 303
    mine = ada.get("/me/tables").text
    assert "Health at home" in mine
    assert "Released" in mine
    ours = bob.get("/me/tables?of=project").text
    assert "Health at home" in ours
    assert "Health at home" not in bob.get("/me/tables").text
    assert "Health at home" not in cyd.get("/me/tables?of=project").text
    # A link that was shared gives another project nothing: it is asked in their own tier and looks.
    assert "Uses 1 of your 20." in cyd.get(address).text
    assert cyd.fill("/me/tables", "/me/tables/change", id="1", do="drop").status_code == 400
    assert ada.fill("/me/tables", "/me/tables/change", id="1", do="unshare").status_code == 303
    assert "Health at home" not in bob.get("/me/tables?of=project").text


def test_somebody_reads_and_takes_their_own_history_alone(site: Site) -> None:
    ada, bob = site.browser(site.ada), site.browser(site.bob)
    publish(ada)
    bob.get("/datasets/town/table?by=sex,health&columns=sex")
    page = ada.get("/me/history").text
    assert "by=age_band,district,health,sex" in page or "age_band" in page
    assert "used one new table" in page
    assert "bob@example.org" not in page
    file = ada.get("/me/history.csv").text
    assert "ada@example.org" in file
    assert "bob@example.org" not in file


def test_a_custodian_sees_what_the_tables_of_a_project_tell_together(site: Site) -> None:
    ada, custodian = site.browser(site.ada), site.browser(site.custodian)
    # 640 cells for 4,000 people: there are small counts. The others overlap with it in what is
    # not fine: district, and sex.
    for question in ("by=age,district,sex", "by=health,ward", "by=sex,health"):
        publish(ada, f"{question}&columns={question.split(',')[-1]}")
    page = custodian.get("/office/projects/homes").text
    assert "3 different tables" in page
    assert "of 100" in page
    assert "Not for publication" in page
    assert "3 different tables" in custodian.get(f"/office/people/{site.ada.id}").text
    assert custodian.get("/office/people/999").status_code == 400


def test_the_record_page_finds_a_line_that_was_altered(site: Site) -> None:
    import sqlalchemy as sa

    from discreet.people.tables import record

    auditor = site.browser(site.auditor)
    assert "lines are as they were written" in auditor.get("/office/record").text
    with site.people.kept.database.writing("people") as transaction:
        transaction.connection.exec_driver_sql("DROP TRIGGER discreet_record_update")
        transaction.connection.execute(sa.update(record).where(record.c.n == 2).values(note="x"))
    assert "Line 2 is not as it was written" in auditor.get("/office/record").text
    assert auditor.get("/office/record.csv").status_code == 200
