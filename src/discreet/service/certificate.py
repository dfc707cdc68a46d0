"""Certificates: what the attackers found, signed, for one policy, plan and edition.

STORE/certificates/<id>.json    one for each policy, plan and edition; public

A certificate of invented people holds all figures. One of the office's own holds verdicts alone,
because the figures depend on true counts. A policy that demands a certificate is not served without
one; it must be for this very policy, plan and edition, of all attacks that are known, and passed.
While a new version has none, the last one that is certified is served on.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from discreet import __version__
from discreet.errors import DiscreetError, NotCertified, ParameterError
from discreet.files import read_bytes, written
from discreet.json import canonical, parsed
from discreet.policy import BOUNDS, People, Policy, parse_policy
from discreet.population import Store, Version
from discreet.population.sealed import secret_of
from discreet.population.signing import PUBLIC
from discreet.release.signature import Signer, is_proof, read_public_key

FOLDER = "certificates"
DOMAIN = b"discreet certificate\0"
KIND, VERSION = "certificate", 1
REPORT, REPORT_DOMAIN = "attacks", b"discreet attacks\0"
_GOOD = ("within", "told")
_MOST = 2**20  # bytes; a certificate has some thousand


@dataclass(frozen=True)
class Subject:
    """What a certificate is for: all that decides what attackers can learn, but for the records."""

    dataset: str
    policy: str
    tables: int
    edition: int
    digests: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, version: Version, policy: Policy) -> Subject:
        """Return the subject of a version under its policy.

        The policy holds the plan. A method that reads a file is told apart by its chances.
        """
        values = version.policy_values
        chances = {
            tier.id: None if (t := tier.protection.transition) is None else _hash_of(t.matrix(30))
            for tier in policy.tiers.values()
        }
        plan = {tier.id: list(tier.space.plan) for tier in policy.tiers.values()}
        parts = {
            "policy": [values, chances],
            "plan": plan,
            "schema": version.schema.to_json(),
        }
        digests = tuple((name, _digest(part)) for name, part in parts.items())
        tables = len(policy.default_tier.space.plan)
        return cls(version.schema.id, policy.version, tables, version.edition, digests)

    def as_dict(self) -> dict[str, Any]:
        """Return it as a statement holds it."""
        return {
            "dataset": self.dataset,
            "policy": self.policy,
            "plan": self.tables,
            "edition": self.edition,
            "digests": dict(self.digests),
        }

    @property
    def id(self) -> str:
        """The name of its certificate."""
        return _digest(self.as_dict())[:16]


@dataclass(frozen=True)
class Certificate:
    """A certificate whose signature is that of the store."""

    proof: dict[str, Any]

    @property
    def statement(self) -> dict[str, Any]:
        """What was signed."""
        said: dict[str, Any] = self.proof["statement"]
        return said

    @property
    def public(self) -> bool:
        """Whether its figures may be shown: those of invented people."""
        return bool(self.statement["public"])

    @property
    def tested(self) -> str:
        """When the attacks were run."""
        return str(self.statement["tested"])

    def covers(self, subject: Subject) -> bool:
        """Whether it is for this policy, plan and edition, of the people whom the policy names."""
        held = {key: self.statement.get(key) for key in subject.as_dict()}
        return held == subject.as_dict()

    @property
    def passed(self) -> bool:
        """Whether all attacks that are known were tried, and none went beyond its bound.

        An attack that the certificate does not name was not known when it was made.
        """
        verdicts, untried = self.statement["verdicts"], self.statement["untried"]
        judged = all(verdicts.get(name) in _GOOD or name in untried for name in BOUNDS)
        beyond = any(verdict == "beyond" for verdict in verdicts.values())
        return bool(self.statement["passed"]) and judged and not beyond


def issue(store: Path, subject: Subject, report: dict[str, Any], population: People) -> Path:
    """Write the certificate of a report, passed or not, and return its file.

    One that is not passed takes the place of one that was: what is known now counts.
    """
    public, passed, found = report["public"], report["passed"], report["findings"]
    statement = {
        "version": VERSION,
        "kind": KIND,
        **subject.as_dict(),
        "title": report["title"],
        "program": __version__,
        "tested": datetime.now(UTC).isoformat(timespec="seconds"),
        "population": population.value,
        "public": public,
        "seeds": report["seeds"],
        "people": report["people"] if public else None,
        "passed": passed,
        "untried": report["untried"],
        # Which attack on real people succeeds depends on them.
        "verdicts": {one["id"]: one["verdict"] for one in found} if public or passed else {},
        "findings": found if public else [],
    }
    path = store / FOLDER / f"{subject.id}.json"
    path.parent.mkdir(mode=0o755, exist_ok=True)
    text = json.dumps(Signer.of_store(store).sign(statement, DOMAIN), indent=1)
    with written(path, 0o644 if public else 0o600) as file:
        file.write(text.encode())
    return path


def read(path: Path, key: bytes | None) -> Certificate | None:
    """Return the certificate in a file, None where there is none that the owner of a key signed.

    For None it is the key that the file itself names.
    """
    try:
        proof = parsed(read_bytes(path, _MOST), path.name)
        key = bytes.fromhex(str(proof.get("key"))) if key is None else key
    except (ParameterError, ValueError):
        return None
    return Certificate(proof) if is_proof(proof, key, DOMAIN, VERSION) else None


def kind_of(path: Path) -> str | None:
    """Return what a file says that it is, genuine or not: a certificate, or a report of attacks."""
    try:
        said = parsed(read_bytes(path, _MOST), path.name).get("statement")
    except ParameterError:
        return None
    kind = said.get("kind") if isinstance(said, dict) else None
    return kind if kind in (KIND, REPORT) else None


def signed_report(store: Path, report: dict[str, Any]) -> dict[str, Any]:
    """Return a report of attacks with the signature of the store whose people were attacked."""
    statement = {"version": VERSION, "kind": REPORT, "program": __version__, **report}
    return Signer.of_store(store).sign(statement, REPORT_DOMAIN)


def read_report(path: Path, key: bytes) -> dict[str, Any] | None:
    """Return the report of attacks in a file, None where the owner of a key did not sign it."""
    proof = parsed(read_bytes(path, _MOST), path.name)
    said: dict[str, Any] = proof["statement"]
    return said if is_proof(proof, key, REPORT_DOMAIN, VERSION) else None


def of_subject(store: Path, subject: Subject, key: bytes) -> Certificate | None:
    """Return the certificate for a policy, plan and edition, None where there is none."""
    found = read(store / FOLDER / f"{subject.id}.json", key)
    return found if found is not None and found.covers(subject) else None


def latest(store: Path, dataset: str, key: bytes) -> Certificate | None:
    """Return the last certificate of a data set, for whatever policy."""
    every = (read(path, key) for path in sorted((store / FOLDER).glob("*.json")))
    mine = [one for one in every if one is not None and one.statement.get("dataset") == dataset]
    return max(mine, key=lambda one: one.tested, default=None)


def check_certified(store: Path, version: Version, policy: Policy) -> None:
    """Raise `NotCertified` where the policy demands a certificate and there is none that holds."""
    if not policy.attack.before_serving:
        return
    do = f"Run: discreet certify {store}"
    try:
        found = of_subject(store, Subject.of(version, policy), read_public_key(store / PUBLIC))
    except ParameterError as error:
        raise NotCertified(f"the certificate of {store} cannot be read: {error} {do}") from error
    for_what = f"policy {policy.version}, its plan and edition {version.edition}"
    if found is None:
        raise NotCertified(
            f"{store} has no certificate for {for_what}, and its policy demands one "
            f"(before_serving in [attack]). {do}"
        )
    if not found.passed:
        raise NotCertified(
            f"the certificate of {store} for {for_what} is not passed, or does not name every "
            f"attack that is known. {do}"
        )


def last_certified(store: Path) -> str | None:
    """Return the newest version on disk, but for the current one, that has its certificate.

    It may be served on while the current one has none. None where there is no such version, or its
    secret is gone.
    """
    held, key = Store(store), read_public_key(store / PUBLIC)
    for name in reversed(held.list()):
        if name == held.current():
            continue
        try:
            version = held.open(name)
            secret_of(held, version.manifest)
            policy = parse_policy(version.policy_values, "policy", str(version.path))
        except DiscreetError:
            continue
        found = of_subject(store, Subject.of(version, policy), key)
        if found is not None and found.passed:
            return name
    return None


def served_instead(store: Path, error: NotCertified) -> str:
    """Return the version that is served instead of one without a certificate, or raise."""
    with suppress(ParameterError):
        name = last_certified(store)
        if name is not None:
            return name
    raise error


def _digest(value: Any) -> str:
    return hashlib.sha256(canonical(value)).hexdigest()


def _hash_of(matrix: Any) -> str:
    """Return the hash of chances to six decimals: processors differ in their last digits."""
    return hashlib.sha256((matrix.astype("<f8").round(6) + 0.0).tobytes()).hexdigest()
