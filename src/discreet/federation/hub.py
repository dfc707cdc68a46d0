"""The hub: tables whose data live at sites, for the same pipeline as any other.

`Combined` adds up what sites send masked, and the total is protected here. `Countries` shows side
by side what each site protected at home. Both answer from the versions that the hub's version
pins, of all its sites or not at all.
"""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from time import monotonic
from typing import Any

import numpy as np

from discreet.errors import InternalError, ParameterError, QueryRefused, SitesUnavailable
from discreet.federation.document import COMMON, Document
from discreet.federation.hub_keys import COMBINED
from discreet.federation.link import Conversation, Link, refusal
from discreet.federation.masks import decoded, total
from discreet.federation.messages import Message, digest
from discreet.federation.store import Pins, link_of, pins_of
from discreet.policy import Margins
from discreet.population import Version
from discreet.population.keys import DEFAULT_MODULUS, Secret
from discreet.query import Question, QuestionClass
from discreet.release.complete import counted, judged, protected
from discreet.release.steps import Allowed, Counted, Judged, Making, Protected
from discreet.risk.prior import impossible
from discreet.rules import Code
from discreet.table import CountTable
from discreet.table.transition import Transition
from discreet.tabulate.engine import check
from discreet.types import Flags, Integers

LATER = {
    "VERSION": "has another version than the hub began with",
    "DOCUMENT": "has variables or a policy that no longer fit the document",
    "ROUND": "no longer has the key of this table: it was restarted, or others were begun since",
    "UNAVAILABLE": "cannot write down what it answers",
    "TERMS": "does not take part in a table of these sites under its document",
    "SITES": "has answered for another set of sites in this edition, and does until the next",
}
"""Refusals that are about the moment or the hub, not about the question."""

_LASTING = {"VERSION", "DOCUMENT", "TERMS", "SITES"}  # until somebody changes something

_LOOK = 30.0  # seconds between two looks at the sites
_NOT_AGREED = "The offices that keep the data did not agree to this question."
_SIZE = "sent a table of another size"
_SOME_SITE = "One of the sites"  # which one cannot be told of a sum
_IMPOSSIBLE = "sent figures that the common method cannot make"
_TOO_MANY = "sent figures that are not those of its population"
_MOST = 2  # times the population that a document says: more than it grows from card to card


@dataclass
class _Sight:
    """Which sites were away when they were last looked at, and when that is to be done again."""

    away: dict[str, str] = field(default_factory=dict)
    again: float = 0.0


@dataclass(frozen=True, eq=False)
class Federation(ABC):
    """What both kinds of tables share: the document, the sites and how they are reached."""

    pins: Pins
    link: Link
    modulus: int = DEFAULT_MODULUS
    _sight: _Sight = field(default_factory=_Sight)

    @property
    def document(self) -> Document:
        """What was agreed."""
        return self.pins.document

    def _talk(self) -> Conversation:
        return Conversation(self.link, self.document, self.pins.sites)

    def _later(self, answers: dict[str, Message]) -> None:
        """Raise where a site refuses for a reason that may pass; nothing is kept of the table."""
        wrong = {
            self.document.member(site).label: LATER[refusal(message)]
            for site, message in answers.items()
            if refusal(message) in LATER
        }
        if wrong:
            lasting = any(refusal(message) in _LASTING for message in answers.values())
            raise SitesUnavailable(wrong, lasting)

    def look(self) -> None:
        """See now and then which sites answer, for whoever watches over the hub."""
        if monotonic() >= self._sight.again:
            try:
                with self._talk() as talk:
                    found = talk.away()
                away = {self.document.member(site).label: why for site, why in found.items()}
            except ParameterError:  # the authority's certificate
                away = {"The hub": "cannot check certificates"}
            self._sight.away = away
            self._sight.again = monotonic() + _LOOK

    @property
    def trouble(self) -> str:
        """Which sites did not answer when they were last looked at; empty if all did."""
        return "; ".join(f"{label} {why}" for label, why in self._sight.away.items())

    def covers(self, question: Question) -> bool:
        """Whether a table is at hand: never, it must be asked for."""
        return False

    @abstractmethod
    def tabulate(self, question: Question, stop: Event | None = None) -> CountTable:
        """Return the true counts of a table, or raise."""


class Vetoed(Exception):
    """A site does not take part in a table; said of the question, never of a count."""


class Combined(Federation):
    """Joint tables: true totals over all sites, in memory only, protected once."""

    def check(self, allowed: Allowed) -> None:
        """Refuse what was not agreed, before anything is claimed or asked."""
        if not self.document.agreed("combined", _at_sites(allowed.of, self.document)):
            raise QueryRefused(Code.SITES, _NOT_AGREED)

    def judged(self, making: Making, stop: Event | None, secret: Secret) -> Judged:
        """Return the joint table with its verdict; a veto is one, which says nothing of counts."""
        try:
            return judged(protected(counted(making, self, stop), secret))
        except Vetoed:
            return _refused(making)

    def tabulate(self, question: Question, stop: Event | None = None) -> CountTable:
        """Return the total over all sites of the table of a class, with its key sums."""
        of = QuestionClass.of(question)
        if of.question.canonical != question.canonical:
            raise ParameterError("sites count whole tables only: ask for all categories.")
        shape = tuple(map(len, question.axes))
        with self._talk() as talk:
            answers = self._round(talk, _at_sites(of, self.document).name, stop)
        words = [self._words(site, message, of.cells) for site, message in answers.items()]
        try:
            counts, keys = decoded(total(words), self.modulus)
        except InternalError:
            raise SitesUnavailable({_SOME_SITE: _TOO_MANY}) from None
        if int(counts.sum(dtype=np.uint64)) > _MOST * self.pins.people:
            raise SitesUnavailable({_SOME_SITE: _TOO_MANY})
        # Checked above: the question asks for its variables in the order of the schema.
        return CountTable(
            question.dimensions, counts.reshape(shape), keys.reshape(shape), self.modulus
        )

    def _round(self, talk: Conversation, name: str, stop: Event | None) -> dict[str, Message]:
        """Return what the sites send in one round, with keys and masks of its own."""
        round = secrets.token_hex(32)
        terms = {
            "round": round,
            "class": name,
            "tier": self.document.policy.default_tier.id,
            "sites": sorted(self.pins.sites),
            "versions": dict(self.pins.versions),
        }
        ready = talk.ask("ready", terms)
        self._taken(ready, {**terms, "document": self.document.digest})
        check(stop)
        proofs = [message.proof for message in ready.values()]
        sent = talk.ask("masked", {"round": round, "class": name, "sites": terms["sites"],
                                   "ready": proofs})  # fmt: skip
        self._taken(sent, {**terms, "document": self.document.digest})
        check(stop)
        return sent

    def _taken(self, answers: dict[str, Message], terms: dict[str, Any]) -> None:
        """Raise unless all sites take part in this very round."""
        self._later(answers)
        if any(map(refusal, answers.values())):
            raise Vetoed
        wanted = digest(terms)
        wrong = [s for s, message in answers.items() if message.body.get("terms") != wanted]
        if wrong:
            named = {self.document.member(site).label: "answered another round" for site in wrong}
            raise SitesUnavailable(named)

    def _words(self, site: str, message: Message, cells: int) -> np.ndarray[Any, Any]:
        if len(message.payload) != 16 * cells:
            raise SitesUnavailable({self.document.member(site).label: _SIZE})
        return np.frombuffer(message.payload, "<u8").astype(np.uint64)


class Countries(Federation):
    """Tables by country: each site's own released figures, side by side."""

    def check(self, allowed: Allowed) -> None:
        """Refuse what was not agreed, and sums of figures that are protected differently."""
        document, of = self.document, allowed.of
        if not document.agreed("comparative", _at_sites(of, document)):
            raise QueryRefused(Code.SITES, _NOT_AGREED)
        if not any(level.id == "country" for level in of.levels):
            raise QueryRefused(
                Code.SITES,
                "Figures are by country here: ask for country too. All countries together are in "
                f"the data set '{document.id}'.",
            )
        added = self._added(allowed)
        if len(added) > 1 and any(document.protection(site) != COMMON for site in added):
            raise QueryRefused(Code.MIXED, Code.MIXED.sentence)

    def _added(self, allowed: Allowed) -> list[str]:
        """Return the countries whose figures a question adds up, none where it does not."""
        question, geography = allowed.question, allowed.version.schema.geography
        f = question.filter_on(geography)
        picked = range(len(self.pins.sites)) if f is None else f.picked.tolist()
        if question.geography is not None and allowed.totals is Margins.NONE:
            return []
        return [self.pins.sites[i] for i in picked]

    def tabulate(self, question: Question, stop: Event | None = None) -> CountTable:
        """Raise: no true count of a country leaves it."""
        raise ParameterError("sites do not tell true counts by country.")

    def judged(self, making: Making, stop: Event | None, secret: Secret) -> Judged:
        """Return the figures of all sites; a site that refuses is withheld, and named."""
        inner = _at_sites(making.of, self.document)
        shape = tuple(map(len, inner.levels))
        with self._talk() as talk:
            check(stop)
            answers = self._asked(talk, inner)
        figures = np.zeros((*shape, len(self.pins.sites)), np.int64)
        withheld = np.zeros(len(self.pins.sites), bool)
        chances = making.protection.effect(max(len(shape), 1)).transition
        for i, site in enumerate(self.pins.sites):
            found = self._figures(site, answers[site], inner.cells, chances)
            withheld[i] = found is None
            if found is not None:
                figures[..., i] = found.reshape(shape)
        alike = all(self.document.protection(site) == COMMON for site in self.pins.sites)
        return _beside(making, figures, withheld, alike)

    def _asked(self, talk: Conversation, of: QuestionClass) -> dict[str, Message]:
        """Return the answer of each site at the version that is pinned for it."""
        body = {
            "class": of.name,
            "tier": self.document.policy.default_tier.id,
            "versions": dict(self.pins.versions),
        }
        answers = talk.ask("figures", body)
        self._later(answers)
        return answers

    def _figures(
        self, site: str, message: Message, cells: int, chances: Transition | None
    ) -> Integers | None:
        """Return the figures of a site, None where it withholds them; raise on impossible ones."""
        if refusal(message):
            return None
        member = self.document.member(site)
        if len(message.payload) != 9 * cells:
            raise SitesUnavailable({member.label: _SIZE})
        figures = np.frombuffer(message.payload[: 8 * cells], "<i8")
        hidden = np.frombuffer(message.payload[8 * cells :], np.uint8)
        if hidden.any():
            return None
        if (figures < 0).any() or (figures > _MOST * member.population).any():
            raise SitesUnavailable({member.label: _TOO_MANY})
        common = self.document.protection(site) == COMMON
        if common and chances is not None and impossible(figures, chances):
            raise SitesUnavailable({member.label: _IMPOSSIBLE})
        return figures.astype(np.int64)


def _at_sites(of: QuestionClass, document: Document) -> QuestionClass:
    """Return a class of the hub as the sites know it: without the country."""
    levels = [document.schema.find(level.id)[1] for level in of.levels if level.id != "country"]
    return QuestionClass.of(Question(document.schema, tuple(levels)))


def _refused(making: Making) -> Judged:
    nothing = np.zeros([len(level) for level in making.of.levels], np.int64)
    table = CountTable(making.question.dimensions, nothing.astype(np.uint32),
                       nothing.astype(np.uint32), 2)  # fmt: skip
    return Judged(Protected(Counted(making, table), nothing), Code.SITES, measured=False)


def _beside(making: Making, figures: Integers, withheld: Flags, alike: bool) -> Judged:
    """Return released figures as a table that is judged already, site by site, at home."""
    known = figures.astype(np.uint32)
    table = CountTable(making.question.dimensions, known, np.zeros_like(known), 2)
    code = Code.SITES if withheld.all() else None
    return Judged(
        Protected(Counted(making, table), figures), code, withheld, measured=False, alike=alike
    )


def federation_of(store: Path, version: Version) -> Combined | Countries | None:
    """Return how the data of a version are reached, None where they are in the store."""
    pins = pins_of(version)
    if pins is None:
        return None
    kind = Combined if pins.kind == COMBINED else Countries
    return kind(pins, link_of(store, pins.document))
