"""`discreet certify`, and a store that is served with a certificate only."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result
from typer.testing import CliRunner

from attacked import build_census, write_census
from discreet.build import build
from discreet.cli import app
from discreet.errors import NotCertified
from discreet.policy import BOUNDS, Bound, Over
from discreet.population import Store
from discreet.population.backup import backup, restore
from discreet.population.envelope import Passphrase
from discreet.server.run import serve
from discreet.server.settings import Settings
from discreet.service import certificate
from discreet.service.catalogue import Catalogue, open_served
from discreet.study import attacks
from discreet.study.attacks import Finding, Share, Target
from discreet.study.attacks.editions import Leaver
from discreet.study.attacks.finding import Clock
from discreet.study.attacks.reading import Reading

DEMAND = """
[attack]
before_serving = true
{more}

[attack.bounds]
reading = {most}
"""


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store whose policy demands nothing."""
    return build_census(tmp_path_factory.mktemp("certified"))


@pytest.fixture(scope="module")
def census(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The description of a small census."""
    return write_census(tmp_path_factory.mktemp("census"), persons=3_000)


def built(census: Path, out: Path, most: float = 1.0, more: str = "", looks: int = 1) -> Path:
    """Build a store whose policy demands a certificate."""
    text = census.read_text(encoding="utf-8").replace('"preset:rounding-3"', '"demand.toml"')
    policy = f'version = "demand/1"\n[tiers.public.space]\nlooks = {looks}\n'
    (census.parent / "demand.toml").write_text(policy + DEMAND.format(most=most, more=more))
    (census.parent / "demanding.toml").write_text(text, encoding="utf-8")
    build(census.parent / "demanding.toml", out, views=0)
    return out


@dataclass(frozen=True)
class Cheating(Reading):
    """An attacker who is right every time."""

    def run(self, target: Target, rng: np.random.Generator, clock: Clock) -> Finding:
        return replace(super().run(target, rng, clock), attack=Share.of(100, 100))


@pytest.fixture
def one_attack(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is one attack only, for speed."""
    monkeypatch.setattr(attacks, "ATTACKS", (Reading(tables=3),))
    bounds = {"reading": BOUNDS["reading"]}
    monkeypatch.setattr(certificate, "BOUNDS", bounds)


def certify(store: Path, *more: str) -> Result:
    return CliRunner().invoke(app, ["certify", str(store), "--workers", "1", *more])


def statement(store: Path) -> dict[str, object]:
    (path,) = (store / "certificates").glob("*.json")
    said: dict[str, object] = json.loads(path.read_text())["statement"]
    return said


@pytest.mark.usefixtures("one_attack")
def test_a_store_within_all_limits_is_certified(plain: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    shutil.copytree(plain, store)
    told = certify(store, "--out", str(tmp_path / "out"))
    assert told.exit_code == 0, told.output
    file = tmp_path / "out/attack.json"
    found = json.loads(file.read_text())["statement"]
    assert found["passed"]
    checked = CliRunner().invoke(app, ["verify", str(file), "--store", str(store)])
    assert checked.exit_code == 0, checked.output
    assert checked.output.startswith("attack.json (attacks): genuine\n")
    assert found["verdict"] in checked.output
    file.write_text(file.read_text().replace('"passed": true', '"passed": false'))
    checked = CliRunner().invoke(app, ["verify", str(file), "--store", str(store)])
    assert checked.exit_code == 1
    assert "altered or foreign" in checked.output
    assert [f["id"] for f in found["findings"]] == ["reading"]
    assert "reading" in (tmp_path / "out/attack.html").read_text()
    said = statement(store)
    assert (said["passed"], said["public"], said["population"]) == (True, True, "synthetic")
    assert said["findings"] == found["findings"]


@pytest.mark.usefixtures("one_attack")
def test_an_attack_beyond_its_limit_ends_with_4_and_is_named(
    census: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = built(census, tmp_path / "store", 0.05)
    monkeypatch.setattr(attacks, "ATTACKS", (Cheating(),))
    told = certify(store)
    assert told.exit_code == 4
    assert "Beyond them: reading." in told.output
    assert not statement(store)["passed"]
    with pytest.raises(NotCertified, match="is not passed"):
        open_served(store)


def test_what_could_not_be_tried_is_not_certified(
    plain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "store"
    shutil.copytree(plain, store)
    monkeypatch.setattr(attacks, "ATTACKS", (Leaver(),))
    told = CliRunner().invoke(app, ["attack", str(store), "--workers", "1"])
    assert told.exit_code == 0
    assert "not tried: there is one edition only" in told.output
    assert "Not tried: a leaver's attributes (there is one edition only)." in told.output


@pytest.mark.usefixtures("one_attack")
def test_a_store_is_served_only_with_the_certificate_that_its_policy_demands(
    census: Path, tmp_path: Path
) -> None:
    store = built(census, tmp_path / "store")
    do = f"Run: discreet certify {store}"
    with pytest.raises(NotCertified, match="has no certificate for policy demand/1") as error:
        open_served(store)
    assert str(error.value).endswith(do)
    with pytest.raises(NotCertified, match="before_serving in"):
        serve([store], "127.0.0.1", 0, Settings())
    assert certify(store).exit_code == 0
    assert open_served(store).id == "census"


@pytest.mark.usefixtures("one_attack")
def test_another_policy_plan_or_edition_needs_another_certificate(
    census: Path, tmp_path: Path
) -> None:
    store = built(census, tmp_path / "store")
    assert certify(store).exit_code == 0
    # A running server keeps to the version that is certified until the new one is.
    catalogue = Catalogue([store])
    for path, mark, opened in catalogue.fresh():
        catalogue.take(path, mark, opened)  # type: ignore[arg-type]
    first = catalogue.datasets["census"].version.id
    built(census, store, looks=2)
    assert isinstance(catalogue.fresh()[0][2], NotCertified)
    assert catalogue.datasets["census"].version.id == first
    assert catalogue.health() == {"status": "degraded", "why": "not certified"}
    assert not catalogue.stale()
    # So does one that is started now.
    later = Catalogue([store])
    for path, mark, opened in later.fresh():
        later.take(path, mark, opened)  # type: ignore[arg-type]
    assert later.datasets["census"].version.id == first
    assert later.health() == {"status": "degraded", "why": "not certified"}
    assert not later.stale()
    assert certify(store).exit_code == 0
    assert catalogue.stale()  # the certificate is noticed
    for path, mark, opened in catalogue.fresh():
        catalogue.take(path, mark, opened)  # type: ignore[arg-type]
    assert catalogue.datasets["census"].version.id != first
    # The same policy again has its certificate already.
    built(census, store)
    assert open_served(store).policy.tier(None).space.looks == 1


@pytest.mark.usefixtures("one_attack")
def test_what_is_served_instead_has_its_own_certificate_and_its_secret(
    census: Path, tmp_path: Path
) -> None:
    store = built(census, tmp_path / "store")
    built(census, store, looks=2)
    # There is an older version, which has no certificate either.
    assert isinstance(Catalogue([store]).fresh()[0][2], NotCertified)
    assert certify(store).exit_code == 0
    second = Store(store).current()
    build(census.parent / "demanding.toml", store, views=0, new_secret=True)
    # The same policy, plan and schema, but another edition; the old secret is gone.
    assert Store(store).current() != second
    assert isinstance(Catalogue([store]).fresh()[0][2], NotCertified)


@pytest.mark.usefixtures("one_attack")
def test_a_backup_keeps_certificates(census: Path, tmp_path: Path) -> None:
    store = built(census, tmp_path / "store")
    assert certify(store).exit_code == 0
    said = statement(store)
    key = Passphrase("correct horse battery staple")
    backup(store, tmp_path / "kept.backup", key)
    restore(tmp_path / "kept.backup", tmp_path / "again", key)
    assert statement(tmp_path / "again") == said
    assert open_served(tmp_path / "again").id == "census"


@pytest.mark.usefixtures("one_attack")
@pytest.mark.parametrize("change", ["passed", "edition", "seeds", "signature"])
def test_a_certificate_that_was_changed_is_none(change: str, census: Path, tmp_path: Path) -> None:
    store = built(census, tmp_path / "store")
    assert certify(store).exit_code == 0
    (path,) = (store / "certificates").glob("*.json")
    proof = json.loads(path.read_text())
    if change == "signature":
        proof["signature"] = "00" * 64
    else:
        proof["statement"][change] = 7
    path.write_text(json.dumps(proof))
    with pytest.raises(NotCertified, match="no certificate"):
        open_served(store)
    told = CliRunner().invoke(app, ["verify", str(path), "--store", str(store)])
    assert told.exit_code == 1
    assert "altered or foreign" in told.output


@pytest.mark.usefixtures("one_attack")
def test_a_certificate_can_be_verified_and_had_again_from_its_seed(
    census: Path, tmp_path: Path
) -> None:
    store = built(census, tmp_path / "store", more="seeds = [5, 6]")
    assert certify(store).exit_code == 0
    first = statement(store)
    (path,) = (store / "certificates").glob("*.json")
    told = CliRunner().invoke(app, ["verify", str(path), "--key", str(store / "signing.pub")])
    assert told.exit_code == 0
    assert "(certificate): genuine" in told.output
    assert "tested on invented people" in told.output
    assert "passed" in told.output
    assert certify(store, "--workers", "1").exit_code == 0
    assert {**statement(store), "tested": ""} == {**first, "tested": ""}


@pytest.mark.usefixtures("one_attack")
def test_of_the_offices_own_people_a_certificate_has_no_figures(
    census: Path, tmp_path: Path
) -> None:
    store = built(census, tmp_path / "store", more='population = "own"')
    assert certify(store).exit_code == 0
    said = statement(store)
    assert (said["public"], said["people"], said["findings"]) == (False, None, [])
    assert said["verdicts"] == {"reading": "within"}
    (path,) = (store / "certificates").glob("*.json")
    assert path.stat().st_mode & 0o777 == 0o600
    assert open_served(store).id == "census"


def test_an_attack_that_the_certificate_does_not_know_makes_it_void(
    census: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = built(census, tmp_path / "store")
    monkeypatch.setattr(attacks, "ATTACKS", (Reading(tables=3),))
    one = {"reading": BOUNDS["reading"]}
    monkeypatch.setattr(certificate, "BOUNDS", one)
    assert certify(store).exit_code == 0
    open_served(store)
    monkeypatch.setattr(certificate, "BOUNDS", {**one, "newer": Bound(Over.NOTHING, 0.5)})
    with pytest.raises(NotCertified, match="does not name every attack that is known"):
        open_served(store)


@pytest.mark.usefixtures("one_attack")
def test_what_is_known_now_counts(
    census: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = built(census, tmp_path / "store", 0.05)
    assert certify(store).exit_code == 0
    open_served(store)
    monkeypatch.setattr(attacks, "ATTACKS", (Cheating(),))
    assert certify(store).exit_code == 4
    with pytest.raises(NotCertified, match="is not passed"):
        open_served(store)


@pytest.mark.usefixtures("one_attack")
def test_a_run_that_was_stopped_leaves_the_certificate_alone(
    census: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = built(census, tmp_path / "store")
    assert certify(store).exit_code == 0

    def stopped(*given: object) -> Finding:
        raise KeyboardInterrupt

    monkeypatch.setattr(Reading, "run", stopped)
    told = certify(store)
    assert told.exit_code == 4
    assert "Not run: reading." in told.output
    open_served(store)


def test_a_certificate_is_of_every_attack() -> None:
    assert [attack.id for attack in attacks.ATTACKS] == list(certificate.BOUNDS)
