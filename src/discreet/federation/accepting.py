"""What a site accepted: the document compared with its own stores, and signed by it.

STORE/federation.json holds the document and the acceptance. Where a site has several stores, such
as hypercubes, the first is its own: it has the key, the record and the acceptance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

import numpy as np

from discreet.errors import ParameterError
from discreet.federation import kept
from discreet.federation.card import Member, policy_differences, schema_differences
from discreet.federation.document import COMMON, NONE, OWN, Document, protected_how
from discreet.files import read_bytes, written
from discreet.json import canonical, parsed
from discreet.ledger.space import public_population
from discreet.population import Schema
from discreet.population.keys import DEFAULT_MODULUS
from discreet.query import Question, QuestionClass
from discreet.release.pipeline import Releaser
from discreet.release.signature import Signer, is_proof

FILE = kept.ACCEPTED
VERSION = 1
_DOMAIN = b"discreet federation acceptance\0"
_MOST_COMPARED = 2**22  # cells of a table by which two cubes are compared


@dataclass(frozen=True, eq=False)
class Accepted:
    """A document that a site accepted, and which of its sites it is."""

    document: Document
    hub: bytes
    member: Member

    @classmethod
    def read(cls, store: Path, signer: Signer) -> Accepted:
        """Return what a site accepted, or say how to."""
        path = store / FILE
        if not path.exists():
            raise ParameterError(
                f"{store} has accepted no document. Do so with: discreet site accept FILE "
                f"--store {store}"
            )
        data = parsed(read_bytes(path), str(path))
        if not is_proof(data.get("acceptance", {}), signer.public, _DOMAIN, VERSION):
            raise ParameterError(f"{path} must be signed with the key of {store}. Accept again.")
        said = data["acceptance"]["statement"]
        hub = bytes.fromhex(said["hub"])
        document = Document.of(data["document"], hub, str(path))
        if said["document"] != document.digest:
            raise ParameterError(f"{path} holds another document than was accepted. Accept again.")
        return cls(document, hub, document.member(said["site"]))


def accept(
    document: Document, hub: bytes, store: Path, cubes: Sequence[Releaser], signer: Signer,
    own_protection: bool = False,
) -> Accepted:  # fmt: skip
    """Write that a site accepts a document, or tell every difference by name."""
    key = signer.public.hex()
    member = next((one for one in document.members.values() if one.key == key), None)
    if member is None:
        raise ParameterError(
            f"the document must name this site: none of {', '.join(document.members)} has its key."
        )
    protection = document.protection(member.id)
    # Whoever protects otherwise must say that this is meant.
    meant = protection != COMMON and own_protection
    told = differences(document, cubes, protection if meant else COMMON)
    if told:
        listed = "".join(f"\n  - {text}" for text in told)
        raise ParameterError(f"the document does not fit {store}:{listed}")
    said = {
        "version": VERSION,
        "document": document.digest,
        "hub": hub.hex(),
        "site": member.id,
        "protection": protection,
        "policy": [cube.policy.version for cube in cubes],
    }
    content = {"document": document.proof, "acceptance": signer.sign(said, _DOMAIN)}
    if not (store / FILE).exists():  # once accepted, a record that is missing is not made anew
        kept.make(store)
    kept.check(store)
    kept.own(store)
    with written(store / FILE, alone=True) as file:
        file.write(canonical(content))
    return Accepted(document, hub, member)


def differences(document: Document, cubes: Sequence[Releaser], protection: str) -> list[str]:
    """Return by name what the stores of a site lack or have otherwise; empty if they fit.

    `protection` is how the site is known to protect: under the common policy or in another way.
    """
    found = _policies(document, cubes, protection)
    for variable in document.schema.variables:
        one = replace(document.schema, variables=(variable,))
        held = [c for c in cubes if variable.id in {v.id for v in c.version.schema.variables}]
        for cube in held or cubes[:1]:
            told = schema_differences(cube.version.schema, one)
            found += [_of(cube, text, cubes) for text in told if not text.startswith("unit")]
    for cube in cubes:
        unit = cube.version.schema.unit
        if unit != document.schema.unit:
            found.append(_of(cube, f"unit: {unit!r}, not {document.schema.unit!r}", cubes))
        if cube.version.modulus != DEFAULT_MODULUS:
            rule = f"record keys must have the modulus {DEFAULT_MODULUS}."
            found.append(_of(cube, f"{rule} They have {cube.version.modulus}", cubes))
    return found or disagreements(document.schema, cubes)


def _policies(document: Document, cubes: Sequence[Releaser], protection: str) -> list[str]:
    """Return how the policies of a site differ from what the document says of them."""
    common = document.statement["policy"]
    mine = [cube.version.policy_values for cube in cubes]
    if protection == COMMON:
        return sorted({text for one in mine for text in policy_differences(one, common)})
    if {protected_how(one, common) for one in mine} == {protection}:
        return []
    return [f"the document says that this site protects in the way '{protection}'"]


def _of(cube: Releaser, text: str, cubes: Sequence[Releaser]) -> str:
    return text if len(cubes) == 1 else f"{cube.version.schema.id}: {text}"


def disagreements(schema: Schema, cubes: Sequence[Releaser]) -> list[str]:
    """Return which cubes count the variables that they share differently; for the custodian."""
    found = []
    for one, other in combinations(cubes, 2):
        shared = [
            variable.finest.id
            for variable in schema.variables
            if holds(one, [variable.finest.id]) and holds(other, [variable.finest.id])
        ]
        for names in _compared(shared, schema):
            tables = [cube.engine.tabulate(_question(cube, names)).dense() for cube in (one, other)]
            if not np.array_equal(tables[0].counts, tables[1].counts):
                ids = f"'{one.version.schema.id}' and '{other.version.schema.id}'"
                found.append(f"{ids} do not agree on {' by '.join(names) or 'the total'}")
    return found


def _compared(names: list[str], schema: Schema) -> list[list[str]]:
    """Return the tables by which two cubes are compared: of all they share, if it is not large."""
    cells = 1
    for name in names:
        cells *= len(schema.find(name)[1])
    return [names] if cells <= _MOST_COMPARED else [[name] for name in names]


def holds(cube: Releaser, names: Sequence[str]) -> bool:
    """Whether a store has all these levels."""
    known = {level.id for v in cube.version.schema.variables for level in v.levels}
    return known.issuperset(names)


def _question(cube: Releaser, names: Sequence[str]) -> Question:
    schema = cube.version.schema
    return Question(schema, tuple(schema.find(name)[1] for name in names))


def question_of(cubes: Sequence[Releaser], of: QuestionClass) -> tuple[Releaser, Question] | None:
    """Return the first store that holds the levels of a class, with the question; or None."""
    names = [level.id for level in of.levels]
    found = next((cube for cube in cubes if holds(cube, names)), None)
    return None if found is None else (found, _question(found, names))


_PROTECTED = {
    COMMON: "protected under the common policy",
    OWN: "protected in another way",
    NONE: "not protected",
}


def summary(document: Document, me: Member, cube: Releaser) -> list[str]:
    """Return what a site accepts, in words, for whoever answers for it."""
    held = public_population(cube.policy.default_tier.space, cube.version.people)
    lines = [f"The hub's data set: {document.id}, {document.statement['title']}"]
    for kind in ("combined", "comparative"):
        classes = document.statement[kind]
        lines += [f"{kind.capitalize()} tables of {name}, and all below" for name in classes]
    lines.append(f"Combined tables are of at least {document.least_sites} sites.")
    if document.least_sites == 2:
        lines.append(
            "Warning: of a table of two sites, each can take its own part off the figures and has "
            "the other's, but for the noise of one draw."
        )
    lines.append(f"This site, as in your card: {me.label}, {me.address}, {me.population:,} people")
    if me.population != held:
        lines.append(f"Warning: the store publishes {held:,} people. Write a new card.")
    lines.append("Sites:")
    lines += [f"  {o.label}: {_PROTECTED[document.protection(o.id)]}"
              for o in document.members.values()]  # fmt: skip
    return lines
