"""The card of a site: who it is, what it has, how it protects; no count but its published size."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from discreet.checks import whole
from discreet.errors import ParameterError
from discreet.files import read_bytes
from discreet.json import parsed
from discreet.ledger.space import public_population
from discreet.policy import Policy, parse_policy
from discreet.population import Level, Schema, Variable, Version
from discreet.population.names import identifier
from discreet.query import Question, QuestionClass
from discreet.query.classes import EVERYBODY

_KEY = re.compile(r"[0-9a-f]{64}")
_NAMES = {"version", "id", "label", "address", "key", "population", "schema", "policy"}
# What may differ from site to site under one policy: the size of its population, and its plans.
_OWN = re.compile(r"title|benchmark_totals|tiers\.[^.]+\.(label|space\.(population|plan))")


@dataclass(frozen=True)
class Member:
    """A site as the document names it."""

    id: str
    label: str
    address: str
    key: str
    population: int

    def __post_init__(self) -> None:
        identifier(self.id, "the id of a site")
        whole("population", self.population, 1)
        parts = urlsplit(self.address)
        if parts.scheme != "https" or not parts.hostname or parts.query or parts.fragment:
            raise ParameterError(
                f"the address of site '{self.id}' must begin with https://. Got {self.address!r}."
            )
        if not isinstance(self.label, str) or not self.label.strip():
            raise ParameterError(f"site '{self.id}' must have a label.")
        if not _KEY.fullmatch(self.key):
            raise ParameterError(
                f"the key of site '{self.id}' must be 64 hexadecimal digits. Got {self.key!r}."
            )

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "id": self.id,
            "label": self.label,
            "address": self.address,
            "key": self.key,
            "population": self.population,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Member:
        """Return the site that `to_json` wrote."""
        names = ("id", "label", "address", "key")
        if any(not isinstance(data.get(name), str) for name in names):
            raise ParameterError(f"a site must have texts for {', '.join(names)}.")
        id, label, address, key = (data[name] for name in names)
        return cls(id, label, address, key, data.get("population", 0))


@dataclass(frozen=True, eq=False)
class Card:
    """What a site sends to the hub before there is a document."""

    member: Member
    schema: Schema
    policy: Mapping[str, Any]

    @classmethod
    def of(cls, cubes: Sequence[Version], id: str, label: str, address: str, key: bytes) -> Card:
        """Return the card of a site: of its store, or of its cubes taken together.

        Areas stay at home: a hub shows none of them.
        """
        first = cubes[0]
        policy = parse_policy(first.policy_values, "policy", str(first.path))
        size = public_population(policy.default_tier.space, first.people)
        member = Member(id, label, address.rstrip("/"), key.hex(), size)
        variables: dict[str, Variable] = {}
        for cube in cubes:
            for variable in cube.schema.columns:
                variables.setdefault(variable.id, variable)
        schema = replace(first.schema, variables=tuple(variables.values()))
        return cls(member, schema, first.policy_values)

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        schema = self.schema.to_json()
        return {"version": 1, **self.member.to_json(), "schema": schema, "policy": self.policy}

    @classmethod
    def read(cls, path: Path) -> Card:
        """Return the card in a file."""
        data = parsed(read_bytes(path), str(path))
        if data.get("version") != 1 or set(data) != _NAMES:
            raise ParameterError(f"{path} must be a card written by: discreet site card")
        try:
            return cls(Member.from_json(data), Schema.from_json(data["schema"]), data["policy"])
        except (KeyError, TypeError, AttributeError):
            raise ParameterError(f"{path} must be a card written by: discreet site card") from None


def flat(values: Mapping[str, Any], start: str = "") -> dict[str, Any]:
    """Return nested values by dotted names."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            found |= flat(value, f"{start}{name}.")
        else:
            found[f"{start}{name}"] = value
    return found


def policy_differences(mine: Mapping[str, Any], common: Mapping[str, Any]) -> list[str]:
    """Return by name where a policy is not the common one; what each site has its own is left."""
    one, other = flat(mine), flat(common)
    names = sorted(name for name in {*one, *other} if not _OWN.fullmatch(name))
    return [
        f"policy: {name} is {one.get(name, 'not set')!r} here and "
        f"{other.get(name, 'not set')!r} in the document"
        for name in names
        if one.get(name) != other.get(name)
    ]


def schema_differences(mine: Schema, common: Schema) -> list[str]:
    """Return by name what a site lacks or codes differently; more detail may differ.

    So may labels, as languages do. A label that the other has on another code does not: what is
    called Female here would be added to what is called Male there.
    """
    found = [] if mine.unit == common.unit else [f"unit: {mine.unit!r}, not {common.unit!r}"]
    here = {variable.id: variable for variable in mine.variables}
    for variable in common.variables:
        own = here.get(variable.id)
        if own is None:
            found.append(f"variable '{variable.id}' is missing")
            continue
        levels = {level.id: level for level in own.levels}
        finest = levels.get(variable.finest.id)
        for level in variable.levels:
            name = f"level '{level.id}' of '{variable.id}'"
            held = levels.get(level.id)
            if held is None:
                found.append(f"{name} is missing")
            elif held.codes != level.codes:
                found.append(f"{name} has {_codes(held.codes, level.codes)}")
            elif (
                finest is not None
                and finest.codes == variable.finest.codes
                and (level.of[finest.of] != held.of).any()
            ):
                found.append(f"{name} groups the categories of '{finest.id}' in another way")
            else:
                found += [f"{name} has {text}" for text in _crossed(held, level)]
    return found


def _crossed(mine: Level, common: Level) -> list[str]:
    """Return the labels that stand on other codes than in the document, up to five."""
    agreed: dict[str, list[str]] = {}
    for code, label in zip(common.codes, common.labels, strict=True):
        agreed.setdefault(_plain(label), []).append(code)
    found = [
        f"the label {label!r} on the code {code}, which the document has on {', '.join(codes)}"
        for code, label in zip(mine.codes, mine.labels, strict=True)
        if (codes := agreed.get(_plain(label))) and code not in codes
    ]
    return found[:5]


def _plain(label: str) -> str:
    return " ".join(label.casefold().split())


def _codes(mine: tuple[str, ...], common: tuple[str, ...]) -> str:
    more = [code for code in mine if code not in common]
    fewer = [code for code in common if code not in mine]
    if not more and not fewer:
        return "its codes in another order"
    told = [f"codes that are not agreed: {', '.join(more[:5])}"] if more else []
    told += [f"not the codes {', '.join(fewer[:5])}"] if fewer else []
    return "; ".join(told)


def policy_of(values: Mapping[str, Any]) -> Policy:
    """Return the common policy if a federation can be run under it."""
    policy = parse_policy(dict(values), "policy", "the document")
    tier = policy.default_tier
    if not tier.public:
        raise ParameterError("the policy must have a public tier: a hub answers the public.")
    protection = tier.protection
    if protection.build is None or not protection.cellwise or protection.place.value != "output":
        raise ParameterError(
            f"the policy must protect tables cell by cell, and nothing before: '{tier.id}' has "
            f"the method '{protection.method}', applied to the {protection.place.value}."
        )
    if protection.plain_keys:
        raise ParameterError(
            "plain_keys must be false: who sees key sums, as a hub does, could take the noise off."
        )
    return policy


def class_named(name: str, schema: Schema) -> QuestionClass:
    """Return the class of a list of levels, in whatever order they are given."""
    names = [] if name == EVERYBODY else [one.strip() for one in name.split(",")]
    levels = tuple(schema.find(one)[1] for one in names)
    return QuestionClass.of(Question(schema, levels))
