"""Questions that are reviewed, and the mail about them."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest

from applications import GENEROUS
from discreet.errors import NotCertified, ParameterError
from discreet.server.app import reload
from sites import Browser, Site, publish

REFUSED = "by=sex&where=ward=1,age=3"


def test_the_office_is_told_what_to_run_for_a_version_without_a_certificate(
    site: Site, town: Path
) -> None:
    custodian = site.browser(site.custodian)
    assert "discreet certify" not in custodian.get("/office").text
    catalogue = site.client.app.state.service.catalogue
    catalogue._note(town, (), NotCertified("no certificate"))
    assert f"<code>discreet certify {town.name}</code>" in custodian.get("/office").text


def test_a_refused_question_is_reviewed_and_released_to_the_project_alone(site: Site) -> None:
    """Sex by age by ward has 6,400 cells for 4,000 people, 0.625 in each.

    If they are Poisson counts, .28 of the cells round to 2 and .01 to more: 2 is in .95 of those
    that are not 0. The question itself may be asked: it has less than two cells for each person.
    """
    ada, bob, cyd = (site.browser(who) for who in (site.ada, site.bob, site.cyd))
    custodian, auditor = site.browser(site.custodian), site.browser(site.auditor)
    address = f"/datasets/town/table?{REFUSED}"
    publish(ada, REFUSED)
    assert "Not available" in ada.get(address).text
    form = f"/me/request?dataset=town&{REFUSED}"
    assert "Ask the office to look at it" in ada.get(form).text
    assert ada.fill(form, "/me/request", purpose="short").status_code == 400
    purpose = "To plan places for small children we need their number by ward."
    assert ada.fill(form, "/me/request", purpose=purpose).status_code == 303
    assert "In review" in ada.get("/me/tables").text
    assert "1 request waits" in custodian.get("/office").text
    page = custodian.get("/office/requests/1").text
    assert purpose in page
    assert "Risk after" in page
    # An auditor reads, and does not answer; nobody answers twice.
    assert auditor.fill("/office/requests/1", answer="refused").status_code == 403
    assert custodian.fill("/office/requests/1", words="x").status_code == 400
    chosen = unescape(re.findall(r'name="answer" value="(released[^"]*)"', page)[0])
    # Only what the page offers can be released, whatever a form says.
    other = "released&by=age,sex,ward,health&where="
    assert custodian.fill("/office/requests/1", answer=other, words="x").status_code == 400
    answer = custodian.fill("/office/requests/1", answer=chosen, words="For your plan.")
    assert answer.status_code == 303
    assert custodian.fill("/office/requests/1", answer=chosen).status_code in (400, 403)
    mine = ada.get("/me/tables").text
    assert "Answered: released" in mine
    assert "For your plan." in mine
    link = re.search(r'href="(/datasets/town/table\?by=[^"]+)"', mine)
    assert link is not None
    for one, available in ((ada, True), (bob, True), (cyd, False), (site.browser(), False)):
        page = one.get(unescape(link[1]))
        assert ("<caption" in page.text and page.status_code == 200) is available
    actions = [(w.line.action, w.line.verdict) for w in site.people.record.lines()]
    assert ("request", "NOT_AVAILABLE") in actions
    assert ("answer", "released") in actions
    # What else they ask is judged as before.
    other = REFUSED.replace("ward=1", "ward=2")
    assert "Not available" in ada.get(f"/datasets/town/table?{other}").text


def _until(folder: Path, number: int) -> list[Path]:
    """Return messages once there are as many; they are written by a thread."""
    for _ in range(600):
        if len(list(folder.glob("*.eml"))) >= number:
            break
        time.sleep(0.05)
    return sorted(folder.glob("*.eml"))


PURPOSE = "To plan places for small children we need their number by ward."


MAIL = replace(GENEROUS, mail_from="office@example.org", public_url="https://tables.example.org")


def _sent_for_review(ada: Browser) -> int:
    publish(ada, REFUSED)
    form = f"/me/request?dataset=town&{REFUSED}"
    return ada.fill(form, "/me/request", purpose=PURPOSE).status_code


def test_mail_tells_of_a_request_and_of_its_answer_and_holds_neither(
    site: Site, tmp_path: Path
) -> None:
    reload(site.client.app, replace(MAIL, mail_folder=str(tmp_path)))
    custodian = site.browser(site.custodian)
    assert _sent_for_review(site.browser(site.ada)) == 303
    (asked,) = _until(tmp_path, 1)
    page = custodian.get("/office/requests/1").text
    chosen = unescape(re.findall(r'name="answer" value="(released[^"]*)"', page)[0])
    words = "There are 17 of them."
    assert custodian.fill("/office/requests/1", answer=chosen, words=words).status_code == 303
    files = _until(tmp_path, 2)
    assert files[0] == asked
    texts = [file.read_text("utf-8") for file in files]
    assert "\nTo: cus@example.org\n" in texts[0]
    assert "\nhttps://tables.example.org/office/requests/1?lang=en\n" in texts[0]
    assert "\nTo: ada@example.org\n" in texts[1]
    assert "Answered: released." in texts[1]
    assert "Beantwortet: freigegeben." in texts[1]
    for text in texts:
        body = text.partition("\n\n")[2]
        for kept in (PURPOSE, words, "ward", "sex", "Ada", "homes"):
            assert kept not in body
        assert set(re.findall(r"\d+", body)) == {"1"}  # the number of the request


def test_mail_that_cannot_be_sent_stops_nothing_and_is_logged_without_its_text(
    site: Site, tmp_path: Path
) -> None:
    folder = tmp_path / "mail"
    folder.mkdir()
    reload(site.client.app, replace(MAIL, mail_folder=str(folder)))
    folder.rmdir()
    with pytest.raises(ParameterError, match="mail_folder must be a folder"):
        reload(site.client.app, replace(MAIL, mail_folder=str(folder), rate=1))
    assert site.client.app.state.live.settings.rate == MAIL.rate  # all stays as it was
    ada = site.browser(site.ada)
    assert _sent_for_review(ada) == 303
    assert "In review" in ada.get("/me/tables").text
    for _ in range(600):
        told = [line for line in site.client.log.splitlines() if '"event":"mail"' in line]
        if told:
            break
        time.sleep(0.05)
    (line,) = told
    assert '"error":"FileNotFoundError"' in line
    for kept in ("cus@", "office@", PURPOSE, "requests/1"):
        assert kept not in line


def test_a_question_that_is_not_refused_need_not_be_reviewed(site: Site) -> None:
    ada = site.browser(site.ada)
    form = "/me/request?dataset=town&by=sex,health"
    purpose = "To plan places for small children."
    assert ada.fill(form, "/me/request", purpose=purpose).status_code == 400
