"""The hub's two stores: versions without records, which pin the sites and their versions.

HUB/signing.key                 by which the hub signs the document and its requests
HUB/combined, HUB/countries     stores as any others, with a ledger, a secret and a key
    hub.json                    how sites are reached: paths and seconds
    hub.key                     a copy of HUB/signing.key, for backups of the store
    versions/<id>/federation.json   the document, the sites of this version, the version of each
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from discreet import __version__
from discreet.errors import Damaged, ParameterError
from discreet.federation.document import COMMON, NONE, Document, HubFile
from discreet.federation.hub_keys import COMBINED, COUNTRIES, copy_key, secret_for
from discreet.federation.link import Link
from discreet.federation.messages import digest
from discreet.files import read_bytes, sync, written
from discreet.json import canonical, parsed
from discreet.population import Level, Schema, Store, Variable, Version, signing, state
from discreet.population import manifest as manifests
from discreet.population.intact import checksum
from discreet.population.keys import DEFAULT_MODULUS, Secret
from discreet.population.names import GEOGRAPHY
from discreet.release.signature import Signer

FILE, HOW = manifests.FEDERATION, "hub.json"
_TOLD = {COMMON: "", NONE: " (not protected)"}


@dataclass(frozen=True, eq=False)
class Pins:
    """What a version of the hub holds: the sites of it, and the version and edition of each."""

    kind: str
    document: Document
    sites: tuple[str, ...]
    versions: Mapping[str, str]
    editions: Mapping[str, str]

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "kind": self.kind,
            "document": self.document.proof,
            "hub": self.document.proof["key"],
            "sites": list(self.sites),
            "versions": dict(self.versions),
            "editions": dict(self.editions),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Pins:
        """Return the pins that `to_json` wrote."""
        document = Document.of(data["document"], bytes.fromhex(data["hub"]))
        return cls(data["kind"], document, tuple(data["sites"]), data["versions"], data["editions"])

    @property
    def data(self) -> str:
        """What true totals follow from: the sites and the edition of each, as a digest."""
        return digest(sorted((site, self.editions[site]) for site in self.sites))

    @property
    def people(self) -> int:
        """The size of the population as its sites publish it."""
        return sum(self.document.member(site).population for site in self.sites)

    @property
    def title(self) -> str:
        """The title of the data set; who is not in it is named in every table."""
        document, title = self.document, str(self.document.statement["title"])
        gone = [one.label for one in document.members.values() if one.id not in self.sites]
        by = ", by country" if self.kind == COUNTRIES else ""
        return f"{title}{by}" + (f" (without {', '.join(gone)})" if gone else "")

    @property
    def schema(self) -> Schema:
        """The agreed variables; where countries are told apart they are the areas."""
        document = self.document
        if self.kind == COMBINED:
            return replace(document.schema, title=self.title)
        labels = tuple(
            document.member(site).label
            + _TOLD.get(document.protection(site), " (protected otherwise)")
            for site in self.sites
        )
        country = Level("country", "Country", self.sites, labels,
                        np.arange(len(self.sites), dtype=np.uint32))  # fmt: skip
        areas = Variable(GEOGRAPHY, "Country", (country,))
        return Schema(
            f"{document.id}-countries",
            self.title,
            document.schema.unit,
            (*document.schema.variables, areas),
        )

    @property
    def policy(self) -> dict[str, Any]:
        """The common policy for the hub: one public tier, no plan and no official figures."""
        values: dict[str, Any] = deepcopy(dict(self.document.statement["policy"]))
        values.pop("benchmark_totals", None)
        tier = self.document.policy.default_tier.id
        values["tiers"] = {tier: values["tiers"][tier]}
        space = values["tiers"][tier].get("space", {})
        for name in ("plan", "population"):
            space.pop(name, None)
        if self.kind == COUNTRIES:
            protection = values["tiers"][tier]["protection"]
            if protection.get("margins", "protected") == "protected":
                protection["margins"] = "summed"  # each site protects its own; none is added up
            if any(self.document.protection(site) != COMMON for site in self.sites):
                protection["published"] = False  # ranges hold for the common method alone
        return values


def pins_of(version: Version) -> Pins | None:
    """Return the sites of a version, None where its records are in the store."""
    if FILE not in version.manifest["files"]:
        return None
    try:
        return Pins.from_json(parsed(read_bytes(version.path / FILE), FILE))
    except (KeyError, TypeError) as error:
        raise Damaged(f"{version.path / FILE} is damaged.") from error


def link_of(store: Path, document: Document) -> Link:
    """Return how the hub reaches its sites."""
    how = parsed(read_bytes(store / HOW), str(store / HOW))
    signer = Signer.of_store(store.parent)
    if signer.public.hex() != document.proof["key"]:
        raise ParameterError(f"the key of {store.parent} must be the one that signed the document.")
    return Link(signer, None if how["ca"] is None else Path(how["ca"]), float(how["seconds"]))


def write(file: HubFile, pins: Pins) -> tuple[Path, bool]:
    """Return the store of a kind of tables, with a new version if the pins are not its current.

    Other sites, or another edition of one, make a new edition: all noise is drawn anew. Those that
    were there before have the edition they had: equal totals have equal noise.
    """
    store = Store(file.store / pins.kind)
    store.versions.mkdir(mode=0o700, parents=True, exist_ok=True)
    store.path.chmod(0o700)  # parents are made with the mode of the process
    _write_how(store.path, file)
    copy_key(file.store, store.path)
    held = None if store.current() is None else store.open()
    before = None if held is None else pins_of(held)
    if before is not None and canonical(before.to_json()) == canonical(pins.to_json()):
        return store.path, False
    numbered = _numbered(store)
    edition = numbered.setdefault(pins.data, 1 + max(numbered.values(), default=0))
    number = 1 + max((store.order(name)[0] for name in store.list()), default=0)
    secret = secret_for(store)
    if held is None:
        signing.make(store.path)
        state.make(store.path)
    described = _described(pins, secret, number, edition)
    _write_version(store, pins, {**described, "numbered": numbered})
    return store.path, True


def _numbered(store: Store) -> dict[str, int]:
    """Return which edition each set of data had; every version holds those before it too."""
    found: dict[str, int] = {}
    for name in store.list():
        version = store.open(name)
        pins = pins_of(version)
        found = {**version.manifest.get("numbered", {}), **found}
        if pins is not None:
            found.setdefault(pins.data, version.edition)
    return found


def _write_how(store: Path, file: HubFile) -> None:
    how = {"ca": None if file.ca is None else str(file.ca.resolve()), "seconds": file.seconds}
    with written(store / HOW, alone=True) as out:
        out.write(canonical(how))


def _write_version(store: Store, pins: Pins, described: dict[str, Any]) -> None:
    """Write a version without records and make it the current one."""
    name = f"{datetime.now(UTC):%Y%m%dT%H%M%S%f}-{secrets.token_hex(3)}"
    part = store.versions / f".{name}"
    part.mkdir(mode=0o700)
    try:
        schema = pins.schema
        contents = {
            "schema.json": json.dumps(schema.to_json(), ensure_ascii=False).encode(),
            "policy.json": json.dumps(pins.policy, ensure_ascii=False).encode(),
            FILE: canonical(pins.to_json()),
        }
        if schema.geography is not None:
            contents["areas.i64"] = bytes(8 * (len(schema.geography.finest) + 1))
        files = {}
        for each, content in contents.items():
            with written(part / each, alone=True) as out:
                out.write(content)
            files[each] = {"bytes": len(content), "blake2b": checksum(part / each)}
        manifests.write(part, {**described, "files": files})
        sync(part)
        os.replace(part, store.versions / name)
        sync(store.versions)
        store.switch(name)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise


def _described(pins: Pins, secret: Secret, number: int, edition: int) -> dict[str, Any]:
    return {
        "program": __version__,
        "dataset": pins.schema.id,
        "number": number,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "rows": 0,
        "people": pins.people,
        "hypercube": False,
        "modulus": DEFAULT_MODULUS,
        "keys": "given",
        "secret": secret.fingerprint(),
        "households": False,
        "accepted_differencing": [],
        "protected_beforehand": [],
        "edition": edition,
    }
