"""A site: answers the hub, for agreed classes, and nobody else.

What it decides before counting follows from the question, its ledger and what was asked before:
a refusal says nothing about anybody.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from discreet.errors import Forbidden, LedgerUnavailable, ParameterError, QueryRefused
from discreet.federation.accepting import Accepted, differences, question_of
from discreet.federation.asked import JOINT, SiteRecord
from discreet.federation.card import class_named
from discreet.federation.document import COMMON
from discreet.federation.masks import encoded, masked
from discreet.federation.messages import (
    REFUSED,
    Message,
    answer,
    digest,
    is_site_statement,
    why_not,
)
from discreet.json import canonical
from discreet.ledger import Ledger, Route, State, Status
from discreet.policy import Tier
from discreet.population import Store
from discreet.query import Question, QuestionClass
from discreet.release.pipeline import Releaser
from discreet.release.record import Record, append
from discreet.release.signature import Signer

VETO, NOT_AGREED, VERSIONS, ROUND = "VETO", "NOT_AGREED", "VERSION", "ROUND"
DOCUMENT = "DOCUMENT"
SITES, TERMS = "SITES", "TERMS"  # another set is fixed; no set that the document allows
_MOST_ROUNDS = 256
_MOST_OF_A_CLASS = 8  # rounds at a time: one for each process of the hub
_ROUND_SECONDS = 600.0
_KIND = re.compile(r"[a-z_]{1,32}")
_CLASS = re.compile(r"[a-z0-9_-]{1,64}(,[a-z0-9_-]{1,64}){0,31}")
_HEX = re.compile(r"[0-9a-f]{64}")
_PRINTED = re.compile(r"[!-~]{1,4000}")


class Unfit(ParameterError):
    """Stores that are not, or no longer, what the document says."""


class Refused(Exception):
    """A request of the hub that is refused; the code is all that is told."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


@dataclass(frozen=True, eq=False)
class Round:
    """A combined table that this site said it is ready for; its key is used once."""

    terms: dict[str, Any]
    asked: tuple[Releaser, Question, Tier]
    private: X25519PrivateKey = field(repr=False)
    since: float


@dataclass(frozen=True, eq=False)
class Cubes:
    """The current versions of the stores of a site, in their order."""

    releasers: tuple[Releaser, ...]

    @property
    def version(self) -> str:
        """The versions of data and policy that an answer is pinned to."""
        return "+".join(f"{one.version.id}/{one.policy.version}" for one in self.releasers)

    @property
    def edition(self) -> str:
        """The edition of each store: what noise is drawn for."""
        parts = [(one.version.schema.id, one.version.edition) for one in self.releasers]
        return JOINT.join(f"{id}:{edition}" for id, edition in parts)

    @property
    def people(self) -> str:
        """The editions with the people of each store: what the set of sites is fixed for."""
        parts = [(one.version.schema.id, one.version.alike) for one in self.releasers]
        return JOINT.join(f"{id}:{edition}" for id, editions in parts for edition in editions)


class Site:
    """Answers requests; `opening` opens a store. Stores that changed are opened again."""

    def __init__(
        self,
        stores: Sequence[Path],
        opening: Callable[[Path], Releaser],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._stores = [Path(store) for store in stores]
        self._opening = opening
        self._clock = clock
        self.signer = Signer.of_store(self._stores[0])
        self.accepted = Accepted.read(self._stores[0], self.signer)
        self.record = SiteRecord(*self._stores)
        self._lock = Lock()
        self._rounds: dict[str, Round] = {}
        self._joint: dict[tuple[str, str], Ledger] = {}
        self._names: list[str | None] = []
        self._cubes = self._opened()

    def close(self) -> None:
        """Let the record go, whole in its one file."""
        self.record.close()

    def _opened(self) -> Cubes:
        names = [Store(store).current() for store in self._stores]
        cubes = Cubes(tuple(self._opening(store) for store in self._stores))
        document = self.accepted.document
        told = differences(document, cubes.releasers, document.protection(self.accepted.member.id))
        if told:
            listed = "".join(f"\n  - {text}" for text in told)
            raise Unfit(f"the document does not fit {self._stores[0]}:{listed}")
        self._names = names
        return cubes

    def _current(self) -> Cubes:
        with self._lock:
            if [Store(store).current() for store in self._stores] != self._names:
                try:
                    self._cubes = self._opened()
                except Unfit:
                    raise Refused(DOCUMENT) from None
                self._rounds.clear()
                self._joint.clear()
            return self._cubes

    # Requests

    def answer(self, raw: bytes) -> bytes:
        """Return the answer to a request, or raise `Forbidden`, which says nothing."""
        reason, message, now = "not a request", None, self._clock()
        document = self.accepted.document
        try:
            message = Message.unpack(raw)
            reason = why_not(
                message, self.accepted.hub, document.digest, self.accepted.member.id, now
            )
        except ParameterError:
            pass
        if not reason and message:
            reason = self.record.why_not(message.statement["nonce"], now)
        if reason or message is None:
            self.record.turn_away(reason)
            raise Forbidden("FORBIDDEN", "Not for you.")
        return self._answered(message).pack()

    def _answered(self, message: Message) -> Message:
        """Return the answer, after a line was written of the request, whatever became of it."""
        kind, body = message.statement["kind"], message.body
        said = kind if _KIND.fullmatch(kind) else "unknown"
        asked, sites = self._about(kind, body)
        outcome = "failed"
        try:
            found, payload = self._kinds(kind)(body)
            outcome = "answered"
        except Refused as refused:
            found, payload, kind, outcome = {"code": refused.code}, b"", REFUSED, refused.code
        finally:
            self.record.write(said, asked, sites, outcome)
        return answer(self.signer, message, kind, found, payload)

    def _about(self, kind: str, body: dict[str, Any]) -> tuple[str, list[str]]:
        """Return the class and the sites that a request is really about, as far as it is sound.

        The second half of a round is about what its first half said, not about what it says.
        """
        if kind == "masked":
            with self._lock:
                round = self._rounds.get(str(body.get("round")))
            body = {} if round is None else round.terms
        asked, sites = body.get("class"), body.get("sites")
        if not isinstance(asked, str) or not _CLASS.fullmatch(asked):
            asked = ""
        members = self.accepted.document.members
        if not isinstance(sites, list) or len(sites) > len(members):
            sites = []
        return asked, [one for one in sites if isinstance(one, str) and one in members]

    def _kinds(self, kind: str) -> Callable[[dict[str, Any]], tuple[dict[str, Any], bytes]]:
        known = {
            "state": self._state,
            "figures": self._figures,
            "ready": self._ready,
            "masked": self._masked,
        }
        if kind not in known:
            raise Refused(NOT_AGREED)
        return known[kind]

    def _state(self, body: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
        cubes = self._current()
        return {"version": cubes.version, "edition": cubes.edition}, b""

    # Tables by country

    def _figures(self, body: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
        """Release a table as to any reader, with a look in the site's own ledger."""
        versions = body.get("versions")
        mine = versions.get(self.accepted.member.id) if isinstance(versions, dict) else None
        cubes = self._pinned(str(mine))
        cube, question, tier = self._asked(cubes, body, "comparative")
        try:
            release = cube.release(question, tier=tier.id)
        except QueryRefused as refused:
            raise Refused(refused.code) from None
        except LedgerUnavailable:
            raise Refused("UNAVAILABLE") from None
        table = release.table
        if table.parts is not None:  # sums of finer figures have another uncertainty
            raise Refused("USED_UP")
        withheld = np.asarray(table.withheld, np.uint8).tobytes()
        figures = np.where(table.withheld, 0, table.values)
        return {"cells": int(figures.size)}, figures.astype("<i8").tobytes() + withheld

    def _pinned(self, version: str) -> Cubes:
        cubes = self._current()
        if cubes.version != version:
            raise Refused(VERSIONS)
        return cubes

    def _asked(
        self, cubes: Cubes, body: dict[str, Any], kind: str
    ) -> tuple[Releaser, Question, Tier]:
        """Return the store and the question of an agreed class; the site's own rules can veto."""
        document, name = self.accepted.document, body.get("class")
        if not isinstance(name, str) or not _CLASS.fullmatch(name):
            raise Refused(NOT_AGREED)
        try:
            of = class_named(name, document.schema)
            found = question_of(cubes.releasers, of)
            if not document.agreed(kind, of) or of.name != name or found is None:
                raise Refused(NOT_AGREED)
            cube, question = found
            tier = cube.policy.default_tier
            if not tier.public or body.get("tier") != document.policy.default_tier.id:
                raise Refused(NOT_AGREED)
            cube.check(question, tier=tier.id)
        except ParameterError:
            raise Refused(NOT_AGREED) from None
        except QueryRefused:
            raise Refused(VETO) from None
        return cube, question, tier

    # Combined tables

    def _ready(self, body: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
        """Say that this site takes part in a round, with a key for it alone; nothing is counted."""
        terms = self._terms(body)
        cubes = self._pinned(terms["versions"][self.accepted.member.id])
        cube, question, tier = self._asked(cubes, terms, "combined")
        if not self.record.answers_for(cubes.people, terms["sites"]):
            raise Refused(SITES)
        self._foresee(cube, tier, QuestionClass.of(question))
        private = X25519PrivateKey.generate()
        asked = (cube, question, tier)
        self._keep(terms["round"], Round(terms, asked, private, self._clock()))
        public = private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
        return {"terms": digest(terms), "public": public.hex()}, b""

    def _terms(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return what a round is about: its class, its sites and the version of each."""
        document, me = self.accepted.document, self.accepted.member.id
        names = ("round", "class", "tier", "sites", "versions")
        terms = {name: body.get(name) for name in names}
        sites, versions, round = terms["sites"], terms["versions"], terms["round"]
        if not isinstance(round, str) or not _HEX.fullmatch(round):
            raise Refused(ROUND)
        if not isinstance(sites, list) or not isinstance(versions, dict):
            raise Refused(TERMS)
        common = set(document.common)
        sound = sites == sorted(set(map(str, sites))) and set(versions) == set(sites)
        told = (isinstance(one, str) and _PRINTED.fullmatch(one) for one in versions.values())
        if not sound or not all(told) or me not in sites or not common.issuperset(sites):
            raise Refused(TERMS)
        if len(sites) < document.least_sites or document.protection(me) != COMMON:
            raise Refused(TERMS)
        return {**terms, "document": document.digest}

    def _keep(self, name: str, round: Round) -> None:
        """Keep a round that is begun. One key for one round: a name that is taken is refused.

        Rounds that came to nothing make room for new ones, of the same class first.
        """
        with self._lock:
            now, of = self._clock(), round.terms["class"]
            if name in self._rounds:
                raise Refused(ROUND)
            kept = {n: r for n, r in self._rounds.items() if now - r.since <= _ROUND_SECONDS}
            same = [n for n, r in kept.items() if r.terms["class"] == of]
            for each in same[: max(0, len(same) - _MOST_OF_A_CLASS + 1)]:
                del kept[each]
            for each in list(kept)[: max(0, len(kept) - _MOST_ROUNDS + 1)]:
                del kept[each]
            self._rounds = {**kept, name: round}

    def _foresee(self, cube: Releaser, tier: Tier, of: QuestionClass) -> None:
        """Refuse a class for which no look is left; none is used before all sites are ready."""
        try:
            state = self._ledger(cube, tier).outlook(of).state
        except LedgerUnavailable:
            raise Refused("UNAVAILABLE") from None
        if state in (State.USED, State.REFUSED, State.SUMS):  # sums the hub adds up itself
            raise Refused(VETO)

    def _claim(self, cube: Releaser, tier: Tier, of: QuestionClass) -> Route:
        """Count a look in the site's own ledger: a cell may hold people of this site alone."""
        try:
            found = self._ledger(cube, tier).claim(of)
        except QueryRefused:
            raise Refused(VETO) from None
        except LedgerUnavailable:
            raise Refused("UNAVAILABLE") from None
        if found.source != of:
            raise Refused(VETO)
        return found

    def _ledger(self, cube: Releaser, tier: Tier) -> Ledger:
        """Return the ledger of joint tables: looks are counted over all editions, this one too."""
        own = cube.ledgers.of(tier)
        edition = f"{cube.ledgers.edition(tier)}/joint/{self.accepted.document.id}"
        with self._lock:
            key = (cube.version.schema.id, tier.id)
            if key not in self._joint:
                self._joint[key] = Ledger(
                    own.database,
                    cube.version.schema.id,
                    hashlib.blake2b(edition.encode(), digest_size=12).hexdigest(),
                    cube.ledgers.scope_of(tier),
                    own.space,
                    tier.public,
                )
            return self._joint[key]

    def _masked(self, body: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
        """Return this site's counts and key sums under the masks of a round, once."""
        with self._lock:
            round = self._rounds.pop(str(body.get("round")), None)
        if round is None:  # restarted since, or answered already
            raise Refused(ROUND)
        terms, me = round.terms, self.accepted.member.id
        publics = self._publics(body.get("ready"), terms)
        mine = round.private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
        if publics[me] != mine:
            raise Refused(ROUND)
        cubes = self._pinned(terms["versions"][me])
        if not self.record.answers_for(cubes.people, terms["sites"]):
            raise Refused(SITES)
        cube, question, tier = round.asked
        of = QuestionClass.of(question)
        known = self._claim(cube, tier, of)
        made = (cube.version.id, of.question.canonical)
        if not self.record.fix(cubes.people, terms["sites"], made):
            raise Refused(SITES)
        words = encoded(cube.engine.tabulate(question))
        try:
            sent = masked(words, me, round.private, publics, salt(terms, publics))
        except ParameterError:
            raise Refused(ROUND) from None
        if known.status is not Status.RELEASED and cube.log is not None:
            append(cube.log, _recorded(cube, tier, of))  # first: by it a build knows of the table
        self._ledger(cube, tier).settle(of, Status.RELEASED)
        return {"terms": digest(terms)}, sent.astype("<u8").tobytes()

    def _publics(self, proofs: object, terms: dict[str, Any]) -> dict[str, bytes]:
        """Return the public keys of all sites, each signed by its site for this round."""
        document, wanted = self.accepted.document, digest(terms)
        found: dict[str, bytes] = {}
        for proof in proofs if isinstance(proofs, list) else ():
            said = proof.get("statement", {}) if isinstance(proof, dict) else {}
            site = said.get("site") if isinstance(said, dict) else None
            if not isinstance(site, str) or site not in terms["sites"] or site in found:
                raise Refused(ROUND)
            key = bytes.fromhex(document.member(site).key)
            if not is_site_statement(proof, key) or said.get("kind") != "ready":
                raise Refused(ROUND)
            found[site] = _public(said.get("body"), wanted)
        if sorted(found) != terms["sites"]:
            raise Refused(SITES)
        return found


def _recorded(cube: Releaser, tier: Tier, of: QuestionClass) -> Record:
    """Return the line of a joint table in the custodian's records of the store.

    By these a build knows that tables were made, and refuses an edition in which few records
    differ: the hub could subtract one total from the other.
    """
    canonical, version = of.question.canonical, cube.version.id
    policy = cube.policy.version
    return Record(canonical, tier.id, version, policy, "joint", of.cells, None, None, None, {}, ())


def _public(body: object, terms: str) -> bytes:
    public = body.get("public") if isinstance(body, dict) and body.get("terms") == terms else None
    if not isinstance(public, str) or not _HEX.fullmatch(public):
        raise Refused(ROUND)
    return bytes.fromhex(public)


def salt(terms: dict[str, Any], publics: dict[str, bytes]) -> bytes:
    """Return a hash of all that a round is about, so that its masks are of no other."""
    named = {site: public.hex() for site, public in publics.items()}
    return hashlib.sha256(b"discreet round\0" + canonical([terms, named])).digest()
