"""The harmonised document: what hub and sites agreed on, signed by the hub.

hub.toml and the cards of the sites make it; every site compares it with its own store and accepts
it. Its digest is in every message.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from discreet.checks import whole
from discreet.errors import ParameterError, unknown
from discreet.federation.card import (
    Card,
    Member,
    class_named,
    policy_differences,
    policy_of,
    schema_differences,
)
from discreet.federation.messages import digest
from discreet.files import read_bytes
from discreet.json import parsed
from discreet.policy import Policy
from discreet.population import Schema
from discreet.population.names import identifier
from discreet.query import QuestionClass
from discreet.release.signature import Signer, is_proof
from discreet.toml import Section, load, texts

VERSION = 1
LEAST_SITES = 3
COMMON, OWN, NONE = "common", "own", "none"
"""How a site protects: under the common policy, otherwise, or not at all."""

_DOMAIN = b"discreet federation document\0"
_NAMES = {
    "version", "id", "title", "unit", "schema", "policy", "combined", "comparative", "least_sites",
    "sites", "protection",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Document:
    """What was agreed. `statement` is what is signed, and all else is read from it."""

    statement: Mapping[str, Any]
    proof: Mapping[str, Any]
    schema: Schema
    policy: Policy
    members: Mapping[str, Member]

    @classmethod
    def of(cls, proof: Mapping[str, Any], hub: bytes, where: str = "the document") -> Document:
        """Return a document that the hub signed, or complain."""
        if not is_proof(dict(proof), hub, _DOMAIN, VERSION):
            raise ParameterError(f"{where} must be a document signed with the hub's key.")
        said = proof["statement"]
        if set(said) != _NAMES:
            raise ParameterError(f"{where} must have {', '.join(sorted(_NAMES))}.")
        try:
            schema = Schema.from_json(said["schema"])
            sites = [Member.from_json(one) for one in said["sites"]]
        except (KeyError, TypeError, AttributeError):
            raise ParameterError(f"{where} is not a document of this program.") from None
        made = cls(said, proof, schema, policy_of(said["policy"]), {one.id: one for one in sites})
        made._check()
        return made

    @classmethod
    def read(cls, path: Path, hub: bytes) -> Document:
        """Return the document in a file."""
        return cls.of(parsed(read_bytes(path), str(path)), hub, str(path))

    def _check(self) -> None:
        sites = self.statement["sites"]
        if len(self.members) != len(sites) or len({one["key"] for one in sites}) != len(sites):
            raise ParameterError("sites must have different ids and different keys.")
        protection = self.statement["protection"]
        if set(protection) != set(self.members) or set(protection.values()) - {COMMON, OWN, NONE}:
            raise ParameterError("the document must say of every site how it protects.")
        whole("least_sites", self.least_sites, 2)
        for name in (*self.statement["combined"], *self.statement["comparative"]):
            class_named(name, self.schema)

    @property
    def id(self) -> str:
        """The id of the combined data set."""
        return str(self.statement["id"])

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of the statement."""
        return digest(self.statement)

    @property
    def least_sites(self) -> int:
        """The fewest sites of which a combined table is made."""
        return int(self.statement["least_sites"])

    @property
    def common(self) -> tuple[str, ...]:
        """The sites that protect under the common policy, in order."""
        return tuple(id for id in self.members if self.protection(id) == COMMON)

    def protection(self, site: str) -> str:
        """Return how a site protects."""
        return str(self.statement["protection"][site])

    def member(self, id: str) -> Member:
        """Return a site by its id."""
        if id not in self.members:
            raise unknown("site", id, self.members)
        return self.members[id]

    def agreed(self, kind: str, of: QuestionClass) -> bool:
        """Whether questions of a class were agreed on: a class below a listed one is."""
        return any(class_named(name, self.schema).covers(of) for name in self.statement[kind])


@dataclass(frozen=True)
class HubFile:
    """What hub.toml says."""

    path: Path
    id: str
    title: str
    cards: tuple[Path, ...]
    variables: tuple[str, ...]
    combined: tuple[str, ...]
    comparative: tuple[str, ...]
    least_sites: int
    store: Path
    ca: Path | None
    seconds: int

    @classmethod
    def read(cls, path: Path) -> HubFile:
        """Return what a file says; paths in it are relative to its folder."""
        top, folder = Section(load(path), path.name), path.parent
        ca = top.take("ca", str, default=None)
        made = cls(
            path,
            identifier(top.take("id", str), "the id of a data set"),
            top.take("title", str),
            tuple(folder / name for name in texts(top.take("cards", list))),
            texts(top.take("variables", list, default=[])),
            texts(top.take("combined", list, default=[])),
            texts(top.take("comparative", list, default=[])),
            whole("least_sites", top.take("least_sites", int, default=LEAST_SITES), 2),
            folder / top.take("store", str, default="hub"),
            None if ca is None else folder / ca,
            whole("seconds", top.take("seconds", int, default=10), 1, 600),
        )
        top.end()
        if len(made.cards) < 2:
            raise ParameterError(f"{path} must name the cards of at least two sites.")
        if not made.combined and not made.comparative:
            raise ParameterError(f"{path} must name classes in 'combined' or 'comparative'.")
        return made

    def document(self, signer: Signer) -> Document:
        """Return the document of the cards, or tell by name where they differ."""
        cards = [Card.read(path) for path in self.cards]
        schema = harmonised(self.id, self.title, cards[0].schema, self.variables)
        told, protection = [], {}
        for card in cards:
            id = card.member.id
            told += [f"{id}: {text}" for text in schema_differences(card.schema, schema)]
            protection[id] = protected_how(card.policy, cards[0].policy)
        if told:
            listed = "".join(f"\n  - {text}" for text in told)
            raise ParameterError(f"{self.path}: the sites do not have the same variables:{listed}")
        statement = {
            "version": VERSION,
            "id": self.id,
            "title": self.title,
            "unit": schema.unit,
            "schema": schema.to_json(),
            "policy": cards[0].policy,
            "combined": list(self.combined),
            "comparative": list(self.comparative),
            "least_sites": self.least_sites,
            "sites": [card.member.to_json() for card in cards],
            "protection": protection,
        }
        return Document.of(signer.sign(statement, _DOMAIN), signer.public, str(self.path))


def harmonised(id: str, title: str, model: Schema, names: Sequence[str]) -> Schema:
    """Return the variables of a site that are agreed on, all if none is named; no areas."""
    chosen = [v for v in model.columns if not names or v.id in names]
    for name in names:
        if name not in {v.id for v in chosen}:
            raise unknown("variable", name, (v.id for v in model.columns))
    return Schema(id, title, model.unit, tuple(chosen))


def protected_how(mine: Mapping[str, Any], common: Mapping[str, Any]) -> str:
    """Return how a site with this policy protects, beside the common one."""
    if not policy_differences(mine, common):
        return COMMON
    tiers = mine.get("tiers", {})
    methods = {tier.get("protection", {}).get("method") for tier in tiers.values()}
    return NONE if methods == {"none"} else OWN
