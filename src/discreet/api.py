"""The public names: a population and what can be asked of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from threading import Event

from discreet.errors import ParameterError
from discreet.policy import Policy
from discreet.population import Schema, Version
from discreet.query import Query, Question
from discreet.query.parse import Where
from discreet.release import Release
from discreet.service.opened import Opened, open_store
from discreet.table import CountTable


class Population:
    """An open version of a population: what it holds, its releases, its cross-tabulations.

    Keeps answering from the version it was opened on, whatever is built meanwhile.
    """

    def __init__(self, opened: Opened) -> None:
        self._opened = opened

    @property
    def version(self) -> Version:
        """The version of the data."""
        return self._opened.version

    @property
    def policy(self) -> Policy:
        """What may be released of it."""
        return self._opened.policy

    @property
    def schema(self) -> Schema:
        """The variables, levels and categories."""
        return self._opened.schema

    def question(self, by: str | Sequence[str] | Query, where: Where = None) -> Question:
        """Return a query looked up in the schema; an unknown name is an error with the choices.

        >>> dc.open("people").question("sex,age_band").canonical
        'by=sex,age_band'
        """
        return Question.of(Query.of(by, where), self.schema)

    def release(
        self,
        by: str | Sequence[str] | Query,
        where: Where = None,
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
        release = self._opened.releaser.release(self.question(by, where), totals, tier)
        return replace(release, signer=self._opened.signer)

    def again(self, origin: Mapping[str, str]) -> Release | None:
        """Return the release that a file claims to be, made once more and recorded nowhere.

        None where this version of the data or of the policy is not the one of the file.
        """
        now = (self.schema.id, self.version.id, self.policy.version)
        if now != (origin["dataset"], origin["data_version"], origin["policy_version"]):
            return None
        question = self.question(Query.parse_canonical(origin["question"]))
        return self._opened.releaser.quiet.release(question, origin["totals"], origin["tier"])

    def tabulate(
        self,
        by: str | Sequence[str] | Query,
        where: Where = None,
        *,
        stop: Event | None = None,
    ) -> CountTable:
        """Return the true counts of a cross-tabulation, for the custodian only.

        Setting `stop` ends a running tabulation with `Stopped`.

        >>> counts = dc.open("people").tabulate("town")
        >>> counts.counts.tolist()
        [2000, 1400, 600]
        >>> counts.dimensions[0].labels
        ('Aston', 'Bexby', 'Corley')
        """
        return self._opened.engine.tabulate(self.question(by, where), stop)


def open(
    path: str | PathLike[str],
    originals: str | PathLike[str] | None = None,
    database: str | None = None,
) -> Population:
    """Return the current version of the population in a store.

    `originals` is the custodian's folder in which the build kept the records as they were before
    protection: the records of releases then compare with them. `database` is the address of the
    state, in which the ledger is: by default a file in the store, "sqlite://" for an empty one in
    memory that is forgotten afterwards.

    >>> population = dc.open("people")
    >>> population.schema.title
    'People of three towns'
    """
    if not isinstance(path, str | PathLike):
        raise ParameterError(f"path must be the folder of a store. Got {path!r}.")
    kept = None if originals is None else Path(originals)
    return Population(open_store(Path(path), kept, database))
