"""Starting a hub: the document of its file, the state of its sites, its two stores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.errors import ParameterError, SitesUnavailable
from discreet.federation.document import Document, HubFile
from discreet.federation.hub import LATER
from discreet.federation.hub_keys import COMBINED, COUNTRIES, hub_signer
from discreet.federation.link import NO_ANSWER, Conversation, Link, refusal
from discreet.federation.store import Pins, pins_of, write
from discreet.files import written
from discreet.json import canonical
from discreet.population import Store
from discreet.release.signature import Signer


@dataclass(frozen=True)
class Started:
    """The stores of a hub, ready to be served, and what to say of them."""

    stores: tuple[Path, ...]
    notes: tuple[str, ...]


def document_of(file: HubFile) -> tuple[Document, Signer]:
    """Return the document that a hub's file makes, and the hub's key."""
    signer = hub_signer(file.store)
    return file.document(signer), signer


def write_document(document: Document, out: Path) -> None:
    """Write the document for the sites."""
    with written(out, 0o644) as file:
        file.write(canonical(dict(document.proof)) + b"\n")


def start(file: HubFile, without: Sequence[str] = ()) -> Started:
    """Ask all sites which versions they have, pin these, and return the stores to serve.

    Where the hub has its stores already and a site does not answer, it starts with what it pinned
    before: tables wait for that site, and say so.
    """
    document, signer = document_of(file)
    for site in without:
        document.member(site)
    sites = [id for id in document.members if id not in without]
    link = Link(signer, file.ca, file.seconds)
    with Conversation(link, document, sites) as talk:
        answers, wrong = talk.ask_each("state", {})
    for site, told in answers.items():
        if refusal(told) or not _is_state(told.body):
            code = refusal(told)
            wrong[site] = LATER.get(code, "does not answer") if code else NO_ANSWER
    notes = [f"{document.member(site).label} {why}." for site, why in wrong.items()]
    if wrong:
        before = _as_before(file, document, sites)
        if not before:
            raise SitesUnavailable({document.member(s).label: why for s, why in wrong.items()})
        return Started(before, (*notes, "Tables wait for it."))
    versions = {site: str(told.body["version"]) for site, told in answers.items()}
    editions = {site: str(told.body["edition"]) for site, told in answers.items()}
    stores: list[Path] = []
    for pins in _wanted(document, sites, versions, editions):
        path, new = write(file, pins)
        stores.append(path)
        if new:
            notes.append(f"New version of '{pins.schema.id}': {', '.join(pins.sites)}.")
    return Started(tuple(stores), tuple(notes))


def _is_state(body: dict[str, Any]) -> bool:
    """Whether a site says its version and its edition."""
    return all(isinstance(body.get(name), str) for name in ("version", "edition"))


def _wanted(
    document: Document, sites: Sequence[str], versions: dict[str, str], editions: dict[str, str]
) -> list[Pins]:
    """Return the data sets of a hub, each with its sites."""
    found = []
    if document.statement["combined"]:
        joint = tuple(site for site in sites if site in document.common)
        if len(joint) < document.least_sites:
            raise ParameterError(
                f"a combined table must be of at least {document.least_sites} sites under the "
                f"common policy. Left are {len(joint)}: {', '.join(joint) or 'none'}."
            )
        found.append(_pins(COMBINED, document, joint, versions, editions))
    if document.statement["comparative"]:
        found.append(_pins(COUNTRIES, document, tuple(sites), versions, editions))
    return found


def _pins(
    kind: str, document: Document, sites: tuple[str, ...], versions: dict[str, str],
    editions: dict[str, str],
) -> Pins:  # fmt: skip
    return Pins(
        kind, document, sites, {s: versions[s] for s in sites}, {s: editions[s] for s in sites}
    )


def _as_before(file: HubFile, document: Document, sites: Sequence[str]) -> tuple[Path, ...]:
    """Return the stores that were made for the same document and sites, none if some is not."""
    found = []
    for kind in (COMBINED, COUNTRIES):
        name = "combined" if kind == COMBINED else "comparative"
        if not document.statement[name]:
            continue
        store = Store(file.store / kind)
        pins = None if store.current() is None else pins_of(store.open())
        wanted = [s for s in sites if kind == COUNTRIES or s in document.common]
        if pins is None or pins.document.digest != document.digest or list(pins.sites) != wanted:
            return ()
        found.append(store.path)
    return tuple(found)
