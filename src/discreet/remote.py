"""A server asked as a population is, without numba, solvers or anything else that computes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlencode
from urllib.request import Request, urlopen

import numpy as np

from discreet.errors import InternalError, ParameterError, QueryRefused, UnknownDataset, unknown
from discreet.population.schema import Level, Schema, Variable
from discreet.table import Dimension, ProtectedTable
from discreet.table.showing import rows_html, table_html

SECONDS = 60
"""How long an answer may take."""

_REFUSED = (403, 413)


@dataclass(frozen=True)
class Suggestion:
    """A coarser question that would be answered."""

    text: str
    by: str
    where: str


@dataclass(frozen=True, eq=False, repr=False)
class RemoteRelease:
    """A table that a server released: the figures and what is said of them, as it sent them."""

    remote: Remote
    question: dict[str, Any]
    data: dict[str, Any]

    @property
    def title(self) -> str:
        """What the table shows, in words."""
        return str(self.data["label"])

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader must know."""
        return tuple(self.data.get("note", ()))

    @property
    def document(self) -> dict[str, Any]:
        """All that goes with the figures, as plain values."""
        found: dict[str, Any] = self.data["extension"]["discreet"]
        return found

    @property
    def provenance(self) -> dict[str, Any]:
        """Where the figures come from."""
        found: dict[str, Any] = self.document["provenance"]
        return found

    @cached_property
    def table(self) -> ProtectedTable:
        """The figures, one axis for each of its dimensions."""
        dimensions = []
        for name in self.data["id"]:
            described = self.data["dimension"][name]
            codes = tuple(described["category"]["index"])
            labels = tuple(described["category"]["label"][code] for code in codes)
            variable = self.remote.schema.find(name)[0].id
            dimensions.append(Dimension(variable, name, described["label"], codes, labels))
        shape = tuple(self.data["size"])
        withheld = np.array([v is None for v in self.data["value"]]).reshape(shape)
        told = {
            name: np.array([0 if v is None else v for v in column], np.int64).reshape(shape)
            for name, column in {"value": self.data["value"], **self.data["extension"]}.items()
            if isinstance(column, list)
        }
        return ProtectedTable(tuple(dimensions), told.pop("value"), withheld, **told)

    def __repr__(self) -> str:
        return f"RemoteRelease({self.title!r}, {' × '.join(map(str, self.table.shape))})"

    def _repr_html_(self) -> str:
        caption = f"{self.title}. {self.document['population']}"
        return table_html(caption, self.table.dimensions, self.table._shown(), self.notes)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """Return the figures; there is no array where some are withheld."""
        return self.table.__array__(dtype, copy)

    def to_pandas(self, labels: bool = False) -> Any:
        """Return the cells as a pandas data frame: codes (or labels), then the value."""
        return self.table.to_pandas(labels)

    def to_polars(self, labels: bool = False) -> Any:
        """Return the cells as a polars data frame: codes (or labels), then the value."""
        return self.table.to_polars(labels)

    def to_xarray(self, labels: bool = False) -> Any:
        """Return the figures as an xarray array with a coordinate for each dimension."""
        return self.table.to_xarray(labels)

    def plot(self, ax: Any = None) -> Any:
        """Return a bar chart of the figures, totals left out; for tables of one or two variables.

        `ax` are axes of matplotlib to draw on. A withheld figure has no bar.
        """
        from discreet.table.plot import bars

        return bars(self.table, self.title, self.provenance["unit"], ax)

    def write(self, path: str | PathLike[str], format: str = "csv") -> Path:
        """Write the file that the server signed, in any of its formats; return where it is."""
        target = Path(path)
        target.write_bytes(self.remote._table({**self.question, "format": format}))
        return target


@dataclass(frozen=True, eq=False, repr=False)
class Remote:
    """A data set on a server. Asked like a `Population`, in the tier of the key."""

    url: str
    dataset: str
    key: str | None = None

    def __repr__(self) -> str:
        return f"Remote({self.dataset!r} on {self.url})"

    def _repr_html_(self) -> str:
        rows = [
            (variable.label, level.id, level.label, f"{len(level):,}")
            for variable in self.schema.variables
            for level in variable.levels
        ]
        return rows_html(self.schema.title, ("Variable", "Level", "Label", "Categories"), rows)

    @cached_property
    def description(self) -> dict[str, Any]:
        """The data set as the server describes it: variables, and what may be asked."""
        found: dict[str, Any] = json.loads(self._get(""))
        return found

    @cached_property
    def schema(self) -> Schema:
        """The variables, levels and categories."""
        variables = [
            Variable(one["id"], one["label"], tuple(map(_level, one["levels"])), one["definition"])
            for one in self.description["variables"]
        ]
        said = self.description
        return Schema(said["id"], said["title"], said["unit"], tuple(variables))

    def check(self, by: str | Sequence[str], where: Any = None) -> dict[str, Any]:
        """Return whether the rules on questions allow it; nothing is counted."""
        given = {"by": ",".join(_by(by))}
        if where:
            given["where"] = _where_text(where)
        found: dict[str, Any] = json.loads(self._get(f"/check?{urlencode(given)}"))
        return found

    def release(
        self, by: str | Sequence[str], where: Any = None, totals: str = "none"
    ) -> RemoteRelease:
        """Return a table, protected, or raise `QueryRefused` with the `code` of the rule."""
        question: dict[str, Any] = {"by": _by(by), "totals": totals}
        if where:
            question["where"] = _where(where)
        return RemoteRelease(self, question, json.loads(self._table(question)))

    def _table(self, question: dict[str, Any]) -> bytes:
        return _asked(f"{self._base}/table", self.key, json.dumps(question).encode())

    @property
    def _base(self) -> str:
        return f"{self.url}/api/v1/datasets/{quote(self.dataset)}"

    def _get(self, path: str) -> bytes:
        return _asked(self._base + path, self.key)


def connect(url: str, key: str | None = None, dataset: str | None = None) -> Remote:
    """Return a data set on a server, which answers as a population does.

    `dataset` may be left out where the server has one. `key` is sent as a bearer token. Needs
    neither numba nor a solver: figures are computed by the server.

    >>> try:
    ...     dc.connect("people")
    ... except dc.ParameterError as error:
    ...     print(error)
    url must be the address of a server, http://… Got 'people'.
    """
    if not isinstance(url, str) or not url.startswith(("http://", "https://")):
        raise ParameterError(f"url must be the address of a server, http://… Got {url!r}.")
    base = url.rstrip("/")
    listed = json.loads(_asked(f"{base}/api/v1/datasets", key))["datasets"]
    ids = [one["id"] for one in listed]
    if dataset is None and len(ids) == 1:
        dataset = ids[0]
    if dataset is None or dataset not in ids:
        raise unknown("data set", dataset or "", ids)
    return Remote(base, dataset, key)


def _asked(url: str, key: str | None, body: bytes | None = None) -> bytes:
    """Return an answer, or raise what the server says of its failure."""
    headers = {"Accept": "*/*"}
    if body is not None:
        headers["Content-Type"] = "application/json"
    if key is not None:
        headers["Authorization"] = f"Bearer {key}"
    try:
        with urlopen(Request(url, body, headers), timeout=SECONDS) as answer:  # noqa: S310
            return bytes(answer.read())
    except HTTPError as error:
        with error:
            raise _failure(error.code, error.read()) from None
    except (URLError, TimeoutError) as error:
        raise InternalError(f"{url} cannot be reached: {getattr(error, 'reason', error)}") from None


def _failure(status: int, body: bytes) -> Exception:
    try:
        told = json.loads(body)["error"]
        code, message = str(told["code"]), str(told["message"])
    except (ValueError, KeyError, TypeError):
        return InternalError(f"the server answered with status {status} and no reason.")
    if status in _REFUSED:
        hints = tuple(Suggestion(**hint) for hint in told.get("hints", ()))
        return QueryRefused(code, message, hints)
    if status == 404:
        return UnknownDataset(message)
    if status == 400:
        return ParameterError(message)
    return InternalError(f"{message} ({code})")


def _level(told: Mapping[str, Any]) -> Level:
    codes = tuple(one["code"] for one in told["categories"])
    labels = tuple(one["label"] for one in told["categories"])
    of = range(len(codes)) if told["of"] is None else told["of"]
    return Level(told["id"], told["label"], codes, labels, np.array(of, np.uint32))


def _by(by: str | Sequence[str]) -> list[str]:
    names = by.split(",") if isinstance(by, str) else list(by)
    if not names or not all(isinstance(name, str) and name.strip() for name in names):
        raise ParameterError(
            f"by must be a text like 'age,sex' or a list of such names. Got {by!r:.100}."
        )
    return [name.strip() for name in names]


def _where(where: str | Mapping[str, str | Iterable[str]]) -> dict[str, list[str]]:
    """Return filters as a body has them: plain codes by name."""
    if isinstance(where, str):
        from discreet.query.parse import parse_where

        return {name: list(codes) for name, codes in parse_where(where)}
    return {
        name: [codes] if isinstance(codes, str) else [str(code) for code in codes]
        for name, codes in where.items()
    }


def _where_text(where: Any) -> str:
    if isinstance(where, str):
        return where
    from discreet.query.parse import encode

    return ",".join(f"{n}={'|'.join(map(encode, codes))}" for n, codes in _where(where).items())
