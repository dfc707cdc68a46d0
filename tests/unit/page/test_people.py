"""The pages of people over HTTP: signing in, licence, tables, history, governance, the record."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import replace
from html import unescape
from pathlib import Path
from uuid import uuid4

import httpx
import pytest

from applications import GENEROUS, Client, serving
from discreet.errors import NotCertified, ParameterError
from discreet.ledger import Database
from discreet.page.people import PAGES
from discreet.page.signing import local
from discreet.people.model import Person
from discreet.people.people import People
from discreet.server.app import reload
from persons import PASSWORD, licensed_town, person, project, quick_hashes

FINE = "by=age_band,district,health,sex&columns=sex"


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return licensed_town(tmp_path_factory.mktemp("town"))


class Site:
    """A server with people, and what a browser without scripts does."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.people: People = client.app.state.identity.people
        self.ada, self.bob = (person(self.people, f"{n}@example.org") for n in ("ada", "bob"))
        project(self.people, "homes", self.ada, self.bob)
        self.cyd = person(self.people, "cyd@example.org")
        project(self.people, "health", self.cyd)
        self.custodian = person(self.people, "cus@example.org", "custodian")
        self.auditor = person(self.people, "aud@example.org", "auditor")

    def browser(self, who: Person | None = None) -> Browser:
        made = Browser(self.client)
        if who is not None:
            made.cookies["discreet"] = self.people.entrance.begin(who, "test")
        return made


class Browser:
    """Keeps cookies, and fills in forms."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.cookies: dict[str, str] = {}

    def _sent(self, method: str, url: str, **options: object) -> httpx.Response:
        cookie = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        headers = {**({"Cookie": cookie} if cookie else {}), **options.pop("headers", {})}  # type: ignore[dict-item]
        answer = self.client.request(method, url, headers=headers, **options)
        for line in answer.headers.get_list("set-cookie"):
            name, value = line.split(";")[0].split("=", 1)
            if "Max-Age=0" in line or value == '""':
                self.cookies.pop(name, None)
            else:
                self.cookies[name] = value
        return answer

    def get(self, url: str, **options: object) -> httpx.Response:
        return self._sent("GET", url, **options)

    def post(self, url: str, data: dict[str, str], **options: object) -> httpx.Response:
        return self._sent("POST", url, data=data, **options)

    def fill(self, page: str, to: str | None = None, **values: str) -> httpx.Response:
        """Send a form of a page: what is hidden in it, and these values."""
        text = self.get(page).text
        hidden = dict(re.findall(r'type="hidden" name="([\w.]+)" value="([^"]*)"', text))
        return self.post(to or page, {k: unescape(v) for k, v in hidden.items()} | values)

    def sign_in(self, email: str, password: str, **more: str) -> httpx.Response:
        return self.fill("/sign-in", email=email, password=password, **more)


@pytest.fixture
def site(town: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    quick_hashes(monkeypatch)
    monkeypatch.setenv("DISCREET_DATABASE_URL", f"sqlite:///{town / str(uuid4())}.db")
    with Database.of_store(town).reading():
        pass
    with serving([town]) as client:
        yield Site(client)


# Signing in


def test_without_accounts_there_is_nothing_to_sign_in_to(
    town: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISCREET_DATABASE_URL", f"sqlite:///{town / str(uuid4())}.db")
    with Database.of_store(town).reading():
        pass
    with serving([town]) as client:
        assert "/sign-in" not in client.get("/").text
        assert client.get("/sign-in").status_code == 404


def test_somebody_signs_in_and_out(site: Site) -> None:
    one = site.browser()
    assert 'href="/sign-in"' in one.get("/").text
    answer = one.sign_in("ada@example.org", PASSWORD)
    assert (answer.status_code, answer.headers["location"]) == (303, "/me")
    cookie = answer.headers.get_list("set-cookie")[0]
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    assert "Path=/" in cookie
    page = one.get("/me").text
    assert "My licence" in page
    assert '<span class="figure">20</span> of 20 new tables left' in page
    assert "Licensed" in page
    answer = one.fill("/me", "/sign-out")
    assert answer.status_code == 303
    assert one.get("/me").headers["location"] == "/sign-in?next=%2Fme"


def test_with_tls_the_cookie_is_secure_and_of_this_host(site: Site) -> None:
    from discreet.page.signing import session_cookie

    assert session_cookie(True) == "__Host-discreet"
    transport = httpx.ASGITransport(site.client.app)

    async def ask() -> httpx.Response:
        async with httpx.AsyncClient(transport=transport, base_url="https://test") as http:
            return await http.get("/sign-in")

    answer = site.client.run(ask())
    assert "Secure" in answer.headers["set-cookie"]


def test_a_failure_says_the_same_whatever_was_wrong(site: Site) -> None:
    """Enumeration: nobody learns whether there is an account, or whether it rests."""
    pages = []
    for email, password in (
        ("ada@example.org", "wrong"),
        ("nobody@example.org", PASSWORD),
        ("", ""),
        *[("bob@example.org", "wrong")] * 5,
        ("bob@example.org", PASSWORD),  # it rests by now
    ):
        answer = site.browser().sign_in(email, password)
        assert answer.status_code == 401
        text = re.sub(r'value="[^"]*"', "", answer.text)
        pages.append(text)
        assert PASSWORD not in answer.text
    assert len(set(pages)) == 1
    assert "E-mail or password is not right." in pages[0]


def test_a_session_is_another_after_signing_in(site: Site) -> None:
    """Fixation: whoever planted a cookie before does not know the one after."""
    one = site.browser()
    one.cookies["discreet"] = planted = site.people.entrance.begin(site.bob, "planted")
    # Signed in already: the form leads away. The session of the attacker is taken over by none.
    assert one.get("/sign-in").status_code == 303
    one.cookies["discreet"] = "chosen-by-somebody-else"
    one.sign_in("ada@example.org", PASSWORD)
    assert one.cookies["discreet"] not in (planted, "chosen-by-somebody-else")
    assert site.people.entrance.by_session("chosen-by-somebody-else") is None


@pytest.mark.parametrize(
    "address",
    [
        "https://evil.example", "//evil.example", "/\\evil.example", "\\\\evil.example",
        "javascript:alert(1)", "/%0d%0aSet-Cookie:x", "evil", "", "/\t/evil.example",
        "///evil.example", "http:/evil.example", " //evil.example",
    ],
)  # fmt: skip
def test_nobody_is_led_elsewhere(site: Site, address: str) -> None:
    """Open redirects: only an address of this server is gone to."""
    if address.startswith("/%"):
        assert local(address) == address  # it stays encoded, and is ours
    else:
        assert local(address) == "/me"
        answer = site.browser().sign_in("ada@example.org", PASSWORD, next=address)
        assert answer.headers["location"] == "/me"


def test_an_own_address_is_gone_to(site: Site) -> None:
    answer = site.browser().sign_in("ada@example.org", PASSWORD, next="/me/tables?of=project")
    assert answer.headers["location"] == "/me/tables?of=project"


def test_an_invitation_is_used_on_its_page(site: Site) -> None:
    new = site.people.accounts.add("new@example.org", "New", "licensed")
    page = f"/invitation/{site.people.entrance.invite(new)}"
    one = site.browser()
    assert "Welcome, New" in one.get(page).text
    # Its address is a secret: it is told to nobody, not even to another page of ours.
    assert one.get(page).headers.get_list("referrer-policy") == ["no-referrer"]
    assert one.fill(page, password="short", again="short").status_code == 400
    assert one.fill(page, password=PASSWORD, again="another").status_code == 400
    assert one.fill(page, password=PASSWORD, again=PASSWORD).headers["location"] == "/sign-in"
    assert one.get(page).status_code == 404
    assert one.sign_in("new@example.org", PASSWORD).status_code == 303


# Forms of others


def test_no_form_is_taken_from_another_page(site: Site) -> None:
    """CSRF: every form that changes something, without its token or from elsewhere."""
    licensed, custodian = site.browser(site.ada), site.browser(site.custodian)
    posts = [page.path for page in PAGES if page.post is not None]
    assert len(posts) >= 8
    for path in posts:
        path = path.replace("{id}", "1").replace("{token}", "x")
        for one in (licensed, custodian):
            for data in ({}, {"csrf": "x" * 43}, {"form": "x" * 43}):
                assert one.post(path, data).status_code == 403, path
    csrf = dict(re.findall(r'name="(csrf)" value="([^"]*)"', licensed.get("/me").text))
    for headers in (
        {"Origin": "https://evil.example"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Origin": "null"},
    ):
        answer = licensed.post("/me/keys", {**csrf, "name": "x"}, headers=headers)
        assert answer.status_code == 403
    other = dict(
        re.findall(r'name="(csrf)" value="([^"]*)"', site.browser(site.bob).get("/me").text)
    )
    assert licensed.post("/me/keys", {**other, "name": "x"}).status_code == 403
    assert site.people.entrance.keys(site.ada) == []
    assert licensed.post("/me/keys", {**csrf, "name": "x"}).status_code == 200


def test_nobody_sees_a_page_of_another_role(site: Site) -> None:
    """Every page, for everybody: nobody, licensed, custodian, auditor."""
    browsers = {
        None: site.browser(), "licensed": site.browser(site.ada),
        "custodian": site.browser(site.custodian), "auditor": site.browser(site.auditor),
    }  # fmt: skip
    for page in PAGES:
        if page.get is None or page.roles is None:
            continue
        path = page.path.replace("{id}", str(site.ada.id))
        for role, one in browsers.items():
            status = one.get(path).status_code
            if role is None:
                assert status == 303, path
            elif role not in page.roles:
                assert status == 403, (path, role)
            else:
                assert status in (200, 400), (path, role)
    assert browsers["custodian"].get("/office/record").status_code == 403
    assert browsers["custodian"].get("/office/record.csv").status_code == 403
    assert browsers["auditor"].get("/office/record").status_code == 200


# What is somebody's own


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


def _publish(one: Browser, question: str = FINE) -> httpx.Response:
    page = one.get(f"/datasets/town/build?{question}")
    token = re.search(r'name="token" value="(\w+)"', page.text)
    assert token is not None, page.text
    form = dict(pair.split("=", 1) for pair in question.split("&"))
    return one.post("/datasets/town/table", {**form, "token": token[1]})


def test_what_an_answer_uses_is_said_before_and_a_table_can_be_saved_and_shared(
    site: Site,
) -> None:
    ada, bob, cyd = (site.browser(who) for who in (site.ada, site.bob, site.cyd))
    page = ada.get(f"/datasets/town/build?{FINE}").text
    assert "Uses 1 of your 20." in page
    assert "Uses 1" not in site.browser().get(f"/datasets/town/build?{FINE}").text
    assert _publish(ada).status_code == 303
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
    _publish(ada)
    bob.get("/datasets/town/table?by=sex,health&columns=sex")
    page = ada.get("/me/history").text
    assert "by=age_band,district,health,sex" in page or "age_band" in page
    assert "used one new table" in page
    assert "bob@example.org" not in page
    file = ada.get("/me/history.csv").text
    assert "ada@example.org" in file
    assert "bob@example.org" not in file


# Review and governance

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
    _publish(ada, REFUSED)
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
    _publish(ada, REFUSED)
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


def test_the_sign_on_is_that_of_the_settings_as_they_were_last_read(site: Site) -> None:
    start, says = "/sign-in/organisation", {"X-Remote-User": "ada@example.org"}
    assert site.browser().get(start, headers=says).status_code == 404
    assert start not in site.browser().get("/sign-in").text
    by_proxy = replace(
        GENEROUS, proxies=("127.0.0.1",), proxy_user_header="X-Remote-User", passwords="no"
    )
    reload(site.client.app, by_proxy)
    page = site.browser().get("/sign-in").text
    assert start in page
    assert 'name="password"' not in page
    assert site.browser().get(start, headers=says).status_code == 303
    site.client._http.cookies.clear()  # which the client keeps too
    reload(site.client.app, GENEROUS)
    assert site.browser().get(start, headers=says).status_code == 404
    assert 'name="password"' in site.browser().get("/sign-in").text


def test_a_question_that_is_not_refused_need_not_be_reviewed(site: Site) -> None:
    ada = site.browser(site.ada)
    form = "/me/request?dataset=town&by=sex,health"
    purpose = "To plan places for small children."
    assert ada.fill(form, "/me/request", purpose=purpose).status_code == 400


def test_a_custodian_sees_what_the_tables_of_a_project_tell_together(site: Site) -> None:
    ada, custodian = site.browser(site.ada), site.browser(site.custodian)
    # 640 cells for 4,000 people: there are small counts. The others overlap with it in what is
    # not fine: district, and sex.
    for question in ("by=age,district,sex", "by=health,ward", "by=sex,health"):
        _publish(ada, f"{question}&columns={question.split(',')[-1]}")
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


def test_every_page_is_there_in_german(site: Site) -> None:
    ada, custodian = site.browser(site.ada), site.browser(site.custodian)
    for one, path in (
        (site.browser(), "/sign-in"), (ada, "/me"), (ada, "/me/tables"), (ada, "/me/history"),
        (custodian, "/office"), (custodian, "/office/projects/homes"),
        (site.browser(site.auditor), "/office/record"),
    ):  # fmt: skip
        english, german = one.get(path), one.get(f"{path}?lang=de")
        assert english.status_code == german.status_code == 200
        assert '<html lang="de">' in german.text
        heads = [re.findall(r"<h1>(.*?)</h1>", page.text) for page in (english, german)]
        assert heads[0] != heads[1] or "projects" in path
