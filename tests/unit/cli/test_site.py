"""Cards, the document, acceptance and the log, by commands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from discreet.cli import app
from federations import NAMES, build_country


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("site")
    for i, name in enumerate(NAMES):
        build_country(place / name, name, 1_000, i)
    return place


def run(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


def test_a_federation_is_set_up_by_commands(folder: Path) -> None:
    for name in NAMES:
        made = run(
            "site", "card", folder / name / "store", "--id", name, "--label", name.capitalize(),
            "--address", f"https://{name}.example", "--out", folder / f"{name}.json",
        )  # fmt: skip
        assert made.exit_code == 0, made.exception
    cards = json.dumps([f"{name}.json" for name in NAMES])
    (folder / "hub.toml").write_text(
        f'id = "north"\ntitle = "The North"\ncards = {cards}\ncombined = ["sex,age_band"]\n'
    )
    document = folder / "north.json"
    written = run("hub", folder / "hub.toml", "--document", document)
    assert written.exit_code == 0, written.exception
    key = written.output.splitlines()[-1].removeprefix("The hub's key is ")
    held = document.read_bytes()
    again = run("hub", folder / "hub.toml", "--document", document)
    assert str(again.exception) == f"{document} is there already. Give --force to write over it."
    assert run("hub", folder / "hub.toml", "--document", document, "--force").exit_code == 0
    assert document.read_bytes() == held
    into = run("hub", folder / "hub.toml", "--document", folder)
    assert str(into.exception) == f"--document must be a file. {folder} is a folder."
    store = folder / "borg" / "store"
    accepted = run("site", "accept", document, "--store", store, "--hub", key)
    lines = accepted.output.splitlines()
    assert lines[0].startswith("Accepted as 'borg'. Document ")
    keys = {name: json.loads((folder / f"{name}.json").read_text())["key"] for name in NAMES}
    assert lines[1:9] == [
        "The hub's data set: north, The North",
        "Combined tables of sex,age_band, and all below",
        "Combined tables are of at least 3 sites.",
        "This site, as in your card: Borg, https://borg.example, 1,000 people",
        "Sites:",
        *(f"  {name.capitalize()}: protected under the common policy" for name in NAMES),
    ]
    assert lines[10:12] == [f"  Aland: {keys['aland']}", f"  Cove: {keys['cove']}"]
    assert "started again" in lines[12]
    assert run("site", "log", store).output == "Nothing was asked.\n"
    assert json.loads(run("site", "log", store, "--json").output) == {
        "asked": [],
        "turned_away": {},
    }


def test_an_acceptance_warns_of_two_sites_and_of_another_population(folder: Path) -> None:
    card = json.loads((folder / "borg.json").read_text())
    (folder / "fewer.json").write_text(json.dumps({**card, "population": 900}))
    (folder / "two.toml").write_text(
        'id = "two"\ntitle = "Two"\ncards = ["aland.json", "fewer.json"]\nleast_sites = 2\n'
        'combined = ["sex"]\n'
    )
    written = run("hub", folder / "two.toml", "--document", folder / "two.json")
    key = written.output.splitlines()[-1].removeprefix("The hub's key is ")
    store = folder / "borg" / "store"
    told = run("site", "accept", folder / "two.json", "--store", store, "--hub", key).output
    assert "Warning: of a table of two sites" in told
    assert "Warning: the store publishes 1,000 people." in told


def test_a_document_is_checked_against_the_key_that_came_another_way(folder: Path) -> None:
    store = folder / "borg" / "store"
    other = run("site", "accept", folder / "north.json", "--store", store, "--hub", "ab" * 32)
    assert "signed with the hub's key" in str(other.exception)
    short = run("site", "accept", folder / "north.json", "--store", store, "--hub", "ab")
    assert "64 hexadecimal digits" in str(short.exception)


def test_a_site_is_served_over_tls_only(folder: Path) -> None:
    refused = run("serve", folder / "borg" / "store", "--site", "--port", "0")
    assert "a site must have a certificate" in str(refused.exception)


def test_a_store_that_accepted_nothing_is_no_site(folder: Path, tmp_path: Path) -> None:
    from discreet.federation.certificates import make_certificates

    make_certificates(tmp_path, ["borg"])
    (tmp_path / "site.toml").write_text(
        f'certificate = "{tmp_path / "borg.pem"}"\ncertificate_key = "{tmp_path / "borg.key"}"\n'
    )
    refused = run(
        "serve", folder / "cove" / "store", "--site", "--settings", tmp_path / "site.toml"
    )
    assert "has accepted no document" in str(refused.exception)
