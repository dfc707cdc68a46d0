"""The ledgers of a version: one for each tier, in one state database."""

from __future__ import annotations

import hashlib
import json
from threading import Lock

from discreet.ledger.database import Database
from discreet.ledger.ledger import Ledger
from discreet.ledger.model import Origin
from discreet.ledger.space import Space, public_population
from discreet.policy import Policy, Tier
from discreet.population import Version
from discreet.population.keys import Secret
from discreet.query import Question, QuestionClass
from discreet.rules.space import planned


class Ledgers:
    """The ledger of each tier for one version; plans are claimed when one is first opened."""

    def __init__(
        self,
        version: Version,
        policy: Policy,
        secret: Secret,
        database: Database,
        scope: str = "",
    ) -> None:
        self.version = version
        self.policy = policy
        self._secret = secret
        self.database = database
        self.scope = scope
        self._scoped: dict[str, Ledgers] = {}
        self._lock = Lock()
        self._open: dict[str, Ledger] = {}
        self.left_out: dict[str, list[QuestionClass]] = {}

    def scoped(self, scope: str, policy: Policy | None = None) -> Ledgers:
        """Return the ledgers of some people: in a tier that is not public they have their own.

        With another policy they are not kept: it is for one question.
        """
        if policy is not None:
            return Ledgers(self.version, policy, self._secret, self.database, scope)
        with self._lock:
            if scope not in self._scoped:
                self._scoped[scope] = Ledgers(
                    self.version, self.policy, self._secret, self.database, scope
                )
            return self._scoped[scope]

    def scope_of(self, tier: Tier) -> str:
        """Return whose looks are counted in a tier: everybody's, or those of the scope."""
        return f"{tier.id}/{self.scope}" if self.scope and not tier.public else tier.id

    def of(self, tier: Tier) -> Ledger:
        """Return the ledger of a tier."""
        with self._lock:
            if tier.id not in self._open:
                self._open[tier.id] = self._opened(tier)
            return self._open[tier.id]

    def space(self, tier: Tier) -> Space:
        """Return the space of questions of a tier."""
        people = public_population(tier.space, self.version.people)
        return Space(self.version.schema, people, tier.space)

    def _opened(self, tier: Tier) -> Ledger:
        ledger = Ledger(
            self.database,
            self.version.schema.id,
            self.edition(tier),
            self.scope_of(tier),
            self.space(tier),
            tier.public,
        )
        planned = [(one, Origin.OFFICIAL) for one in self._official()]
        if not self.scope:  # a plan is of a tier: others claim its tables when they ask for them
            planned += [(one, Origin.PLAN) for one in self._planned(tier)]
        self.left_out[tier.id] = ledger.preload(planned) if planned else []
        return ledger

    def edition(self, tier: Tier) -> str:
        """Return what figures depend on: the records, the secret, the method, what levels hold.

        Other figures for the same people are a new look at them, whatever made them differ.
        """
        protection = tier.protection
        parts = [
            self.version.edition,
            self.version.schema.structure,
            self._secret.fingerprint(),
            protection.method,
            dict(sorted(protection.options.items())),
            protection.plain_keys,
            protection.zeros,
        ]
        return hashlib.blake2b(json.dumps(parts).encode(), digest_size=12).hexdigest()

    def _official(self) -> list[QuestionClass]:
        schema = self.version.schema
        found = []
        for levels in self.policy.official:
            chosen = tuple(schema.find(name)[1] for name in sorted(levels))
            found.append(QuestionClass.of(Question(schema, chosen)))
        return found

    def _planned(self, tier: Tier) -> list[QuestionClass]:
        return [planned(text, self.version.schema) for text in tier.space.plan]
