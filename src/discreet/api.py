"""The public names: a population and what can be asked of it."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event
from typing import TYPE_CHECKING, Any

from discreet.errors import ParameterError
from discreet.policy import Policy
from discreet.population import Schema, Version
from discreet.query import Query, Question
from discreet.query.parse import Where
from discreet.release import Release
from discreet.service.opened import Opened, open_store
from discreet.table import CountTable
from discreet.table.showing import rows_html
from discreet.table.source import read_source
from discreet.toml import load

if TYPE_CHECKING:
    from discreet.release.verify import Verification


class Population:
    """An open version of a population: what it holds, its releases, its cross-tabulations.

    Keeps answering from the version it was opened on, whatever is built meanwhile.
    """

    def __init__(self, opened: Opened) -> None:
        self._opened = opened

    def __repr__(self) -> str:
        return f"Population({self.schema.id!r}, {len(self.schema.variables)} variables)"

    def _repr_html_(self) -> str:
        return schema_html(self.schema)

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
        if self._opened.releaser.elsewhere is not None:
            raise ParameterError(
                f"{self._opened.store} must have records of its own. It is of a hub: true totals "
                "of other offices are for nobody to see. Ask for the protected table."
            )
        return self._opened.engine.tabulate(self.question(by, where), stop)


def schema_html(schema: Schema) -> str:
    """Return variables and levels as an HTML table."""
    rows = [
        (variable.label, level.id, level.label, f"{len(level):,}")
        for variable in schema.variables
        for level in variable.levels
    ]
    return rows_html(schema.title, ("Variable", "Level", "Label", "Categories"), rows)


def open(
    path: str | PathLike[str],
    originals: str | PathLike[str] | None = None,
    database: str | None = None,
) -> Population:
    """Return the current version of the population in a store.

    `originals` is the custodian's folder in which the build kept the records as they were before
    protection: the records of releases then compare with them. `database` is the address of the
    state, in which the ledger is: by default a file in the store, "sqlite://" for an empty one in
    memory, which is forgotten afterwards: what is released is not recorded either.

    >>> population = dc.open("people")
    >>> population.schema.title
    'People of three towns'
    """
    if not isinstance(path, str | PathLike):
        raise ParameterError(f"path must be the folder of a store. Got {path!r}.")
    kept = None if originals is None else Path(originals)
    return Population(open_store(Path(path), kept, database))


def build(
    data: Any,
    description: str | PathLike[str] | Mapping[str, Any],
    out: str | PathLike[str],
    **options: Any,
) -> Population:
    """Build records into a store and return the population, open.

    `data` is a data frame (pandas, polars, Arrow) or a file of records, instead of the files that
    the description names; None for those. `description` is a dataset.toml, or its values. Options
    are those of the command, such as `keep=2`.

    >>> dc.build("people.csv", "people.toml", "people-again").schema.title
    'People of three towns'
    """
    from discreet.build import Dataset  # who opens a store does not wait for it
    from discreet.build import build as build_store

    if isinstance(description, Mapping):
        path, values = Path("description"), dict(description)
    else:
        path = Path(description)
        values = load(path)
    with TemporaryDirectory(prefix="discreet-") as folder:
        if data is not None:
            source = values.get("source")
            kept = {} if not isinstance(source, Mapping) else dict(source)
            values["source"] = {**kept, **_files(data, Path(folder))}
        build_store(Dataset.of(values, path), Path(out), **options)
    return open(out)


def _files(data: Any, folder: Path) -> dict[str, str]:
    """Return the source of a file of records, or of a data frame that is written to one."""
    if isinstance(data, str | PathLike):
        return {"files": str(Path(data).resolve())}
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = data if isinstance(data, pa.Table) else pa.table(data)
    except (TypeError, ValueError, pa.ArrowException):
        raise ParameterError(
            "data must be a data frame (pandas, polars, Arrow) or the path of a file of records. "
            f"Got {type(data).__name__}."
        ) from None
    (folder / "records.parquet").touch(0o600)  # for no other eyes
    pq.write_table(table, folder / "records.parquet")
    return {"files": str(folder / "records.parquet"), "format": "parquet"}


def verify(
    path: str | PathLike[str],
    store: str | PathLike[str] | None = None,
    key: str | PathLike[str] | None = None,
) -> Verification:
    """Return whether a file is an unaltered release of a store, or of the owner of a public key.

    `.genuine` says so, `.reasons` why not.

    >>> release = dc.open("people").release("town")
    >>> _ = release.write("towns.xlsx", "xlsx")
    >>> dc.verify("towns.xlsx", store="people").genuine
    True
    """
    from discreet.release.signature import read_public_key
    from discreet.release.verify import verify as verify_file

    if (store is None) == (key is None):
        raise ParameterError("either store or key must be given, and not both.")
    public = Path(store) / "signing.pub" if store is not None else Path(str(key))
    return verify_file(Path(path), read_public_key(public))


def convert(
    table: Any,
    out: str | PathLike[str],
    format: str,
    meta: Mapping[str, Any] | None = None,
) -> list[Path]:
    """Write a table of figures in a format of releases, as they are; return the files.

    `table` is a CSV file, or a data frame with columns of codes and then one of figures; `meta` has
    title, notes and labels. Nothing is protected or signed.

    >>> frame = {"town": ["Aston", "Bexby"], "count": [20, 14]}
    >>> [path.name for path in dc.convert(frame, "towns.csv", "csv")]
    ['towns.csv', 'towns.csv.meta.json']
    """
    from discreet.release.standalone import Sidecar
    from discreet.release.standalone import convert as convert_file

    sidecar = Sidecar() if meta is None else Sidecar.of(meta)
    if isinstance(table, str | PathLike):
        return convert_file(Path(table), sidecar).write(out, format)
    source = read_source(table)
    with TemporaryDirectory(prefix="discreet-") as folder:
        file = Path(folder) / "table.csv"
        with file.open("w", encoding="utf-8", newline="") as written:
            writer = csv.writer(written)
            writer.writerows([source.header, *(row for _, row in source.rows)])
        return convert_file(file, sidecar).write(out, format)


def init(path: str | PathLike[str]) -> str:
    """Return a draft of the description of a file of records, as the text of a dataset.toml.

    It says in comments what is guessed. Look it over before you build with it.

    >>> print(dc.init("people.csv").splitlines()[2])
    id = "people"
    """
    from discreet.build.draft import draft

    return draft(Path(path))
