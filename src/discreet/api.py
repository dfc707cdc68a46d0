"""The public names: a population and what can be asked of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from threading import Event

from discreet.errors import ParameterError
from discreet.policy import Policy, parse_policy
from discreet.population import Schema, Store, Version
from discreet.population.keys import Secret
from discreet.query import Query, Question
from discreet.release import Release, Releaser
from discreet.release.originals import open_originals
from discreet.release.signature import Signer
from discreet.table import CountTable
from discreet.tabulate import Engine, ScanEngine, ViewEngine


class Population:
    """An open version of a population: what it holds, its releases, its cross-tabulations.

    Keeps answering from the version it was opened on, whatever is built meanwhile.
    """

    def __init__(
        self,
        version: Version,
        store: Store,
        engine: Engine | None = None,
        originals: Version | None = None,
    ) -> None:
        self.version = version
        self._store = store
        self._engine = engine or ViewEngine(version, ScanEngine(version), version.views)
        self.policy: Policy = parse_policy(version.policy_values, "policy", str(version.path))
        self.releaser = Releaser(
            version, self._engine, self.policy, Secret.read(store.secret), store.path / "records",
            originals,
        )  # fmt: skip

    @property
    def schema(self) -> Schema:
        """The variables, levels and categories."""
        return self.version.schema

    def question(self, query: str | Sequence[str] | Query) -> Question:
        """Return a query looked up in the schema; an unknown name is an error with the choices.

        >>> dc.open("people").question("sex,age_band").canonical
        'by=sex,age_band'
        """
        return Question.of(Query.of(query), self.schema)

    def release(
        self,
        by: str | Sequence[str] | Query,
        where: str | Mapping[str, str | Iterable[str]] | None = None,
        totals: str = "none",
        tier: str | None = None,
    ) -> Release:
        """Return a table, protected, or raise `QueryRefused` with the `code` of the rule.

        >>> release = dc.open("people").release("town,health", totals="protected")
        >>> release.title
        'People by town and general health'
        >>> release.table.shape
        (4, 4)
        """
        return self.signed(self.releaser.release(Query.of(by, where), totals, tier))

    def signed(self, release: Release) -> Release:
        """Return a release with the key of the store, by which its files are signed."""
        return replace(release, signer=Signer.of_store(self._store.path))

    def again(self, origin: Mapping[str, str]) -> Release | None:
        """Return the release that a file says it is, made once more and not recorded.

        None where this version of the data or of the policy is not the one of the file.
        """
        now = (self.schema.id, self.version.id, self.policy.version)
        if now != (origin["dataset"], origin["data_version"], origin["policy_version"]):
            return None
        by, _, where = origin["question"].removeprefix("by=").partition("&where=")
        quiet = Releaser(
            self.version, self._engine, self.policy, Secret.read(self._store.secret), None
        )
        return quiet.release(Query.parse(by, where or None), origin["totals"], origin["tier"])

    def tabulate(self, query: str | Sequence[str] | Query, stop: Event | None = None) -> CountTable:
        """Return the true counts of a cross-tabulation, for the custodian only.

        The query may be a text or a list of names if there is no filter. Setting `stop` ends a
        running tabulation with `Stopped`.

        >>> counts = dc.open("people").tabulate("town")
        >>> counts.counts.tolist()
        [2000, 1400, 600]
        >>> counts.dimensions[0].labels
        ('Aston', 'Bexby', 'Corley')
        """
        return self._engine.tabulate(self.question(query), stop)


def open(path: str | PathLike[str], originals: str | PathLike[str] | None = None) -> Population:
    """Return the current version of the population in a store.

    `originals` is the custodian's folder in which the build kept the records as they were before
    protection: the records of releases then compare with them.

    >>> population = dc.open("people")
    >>> population.schema.title
    'People of three towns'
    """
    if not isinstance(path, str | PathLike):
        raise ParameterError(f"path must be the folder of a store. Got {path!r}.")
    store = Store(Path(path))
    version = store.open()
    kept = None if originals is None else open_originals(Path(originals), version)
    return Population(version, store, originals=kept)
