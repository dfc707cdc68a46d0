"""The one place that opens a store: a version with everything that answers questions about it."""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.errors import ParameterError
from discreet.later import later
from discreet.ledger import Database, Ledger, Ledgers
from discreet.ledger.belonging import Belonging
from discreet.policy import Margins, Policy, Tier, parse_policy
from discreet.population import Schema, Store, Version
from discreet.population.manifest import FEDERATION
from discreet.population.sealed import secret_of, unsealed
from discreet.query import Question
from discreet.release.originals import open_originals
from discreet.release.pipeline import Releaser
from discreet.release.result import Release
from discreet.release.signature import Signer
from discreet.service.certificate import Subject
from discreet.tabulate import PushDown, ScanEngine, ViewEngine, engine_of

if TYPE_CHECKING:
    from discreet.federation.hub import Combined, Countries
    from discreet.service.asking import Asking

_hub = later("discreet.federation.hub")
_TAG = b"discreet answer\0"


@dataclass(frozen=True, eq=False)
class Opened:
    """One version of a store, open to questions."""

    store: Path
    version: Version
    policy: Policy
    engine: ViewEngine | Combined | Countries
    releaser: Releaser
    asking: Asking | None = None
    """Who asks, if that is known; it decides on the tier, and on whose looks are used."""

    @property
    def id(self) -> str:
        """The id of the data set."""
        return self.version.schema.id

    @property
    def schema(self) -> Schema:
        """Variables, levels and categories."""
        return self.version.schema

    @property
    def tier(self) -> Tier:
        """The tier of whoever asks; of whoever is not known the public, if there is one for it."""
        return self.policy.tier(None if self.asking is None else self.asking.tier)

    @property
    def public(self) -> bool:
        """Whether the answers are for everyone."""
        return self.tier.public

    @property
    def ledger(self) -> Ledger:
        """What is released to whoever asks."""
        return self.releaser.ledgers.of(self.tier)

    @cached_property
    def signer(self) -> Signer:
        """The key by which files are signed."""
        return Signer.of_store(self.store)

    @cached_property
    def _nobody(self) -> Signer:
        """A key of nobody's, by which stand-ins are signed."""
        return Signer.throwaway()

    def stand_in(self, question: Question, totals: Margins) -> Release:
        """Return a release of made-up figures that nobody sees: it takes as long as a real one."""
        made_up = self.releaser.stand_in(question, totals, self.tier.id)
        return replace(made_up, signer=self._nobody)

    @cached_property
    def subject(self) -> Subject:
        """What a certificate of attacks on it is for."""
        return Subject.of(self.version, self.policy)

    @cached_property
    def _tag_key(self) -> bytes:
        secret = self.releaser.secret.value
        return hashlib.blake2b(digest_size=32, key=secret, person=_TAG).digest()

    def seen_by(self, asking: Asking) -> Opened:
        """Return the same version as somebody sees it: in their tier, with their looks."""
        ledgers = self.releaser.ledgers.scoped(asking.scope)
        return replace(self, asking=asking, releaser=replace(self.releaser, ledgers=ledgers))

    def close(self) -> None:
        """End the threads; whoever still asks is answered in their own."""
        if isinstance(self.engine, ViewEngine) and isinstance(
            self.engine.behind, ScanEngine | PushDown
        ):
            self.engine.behind.close(wait=False)

    def tag(self, *parts: str) -> bytes:
        """Return what an answer is known by: a keyed hash of the question, never of figures."""
        scope = self.releaser.ledgers.scope_of(self.tier)
        if self.asking is not None and self.asking.granted:
            scope += "/granted"
        text = json.dumps([self.id, self.version.id, self.policy.version, scope, *parts])
        return hashlib.blake2b(text.encode(), digest_size=16, key=self._tag_key).digest()


def open_store(
    path: Path,
    originals: Path | None = None,
    database: str | None = None,
    name: str | None = None,
    new: bool = False,
) -> Opened:
    """Return the current version of a store, or the one of this name, ready to answer.

    `originals` is the custodian's folder of the records as they came; `database` is the address of
    the state, by default a file in the store; with "sqlite://", a fresh one in memory, what is
    released is not recorded either. Raises `Sealed` where secret, signing key or state is not the
    store's, and `Damaged` where a file is not as it was written. The columns, which are nearly all
    of it, are compared with their checksums before a record is first read; what views answer needs
    none. With `new` a state that lacks something is made the store's: what is recorded is entered.
    """
    store = Store(path)
    version = store.open(name)
    secret = unsealed(store, version)
    policy = parse_policy(version.policy_values, "policy", str(version.path))
    if version.counts is not None:
        version.verified()  # how many people there are is added up from the counts
    sites = _hub.federation_of(path, version) if FEDERATION in version.manifest["files"] else None
    engine = sites or ViewEngine(version, engine_of(version), version.views)
    kept = None if originals is None else open_originals(originals, version)
    state = Database.of_store(path.resolve()) if database is None else Database.of(database)
    ledgers, records = Ledgers(version, policy, secret, state), records_of(path)
    if state.lasting:
        belonging = Belonging(path, records, version.schema.id)
        if new:
            belonging.begin(state, {**_earlier(store, state), version.id: ledgers})
        belonging.check(ledgers)
    # What a ledger in memory allowed is forgotten with it: the store's own would miss it.
    log = records if state.lasting else None
    releaser = Releaser(version, engine, policy, secret, ledgers, log, kept, elsewhere=sites)
    return Opened(path, version, policy, engine, releaser)


def _earlier(store: Store, state: Database) -> dict[str, Ledgers]:
    """Return the ledgers of the versions that are kept and whole, by their ids."""
    found = {}
    for name in store.list():
        with suppress(ParameterError):
            version = store.open(name)
            policy = parse_policy(version.policy_values, "policy", str(version.path))
            found[name] = Ledgers(version, policy, secret_of(store, version.manifest), state)
    return found


def records_of(store: Path) -> Path:
    """Return where releases are recorded: in the store, or beside it where it is read-only.

    That is the folder that systemd gives a service, or else that of the user's own state.
    """
    if os.access(store, os.W_OK):
        return store / "records"
    home = os.environ.get("STATE_DIRECTORY") or os.environ.get("XDG_STATE_HOME")
    state = Path(home) if home else Path.home() / ".local" / "state"
    place = hashlib.sha256(str(store.resolve()).encode()).hexdigest()[:8]
    folder = state / "discreet" / f"{store.name}-{place}"
    with suppress(OSError):  # told when the first release cannot be recorded
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder / "records"
