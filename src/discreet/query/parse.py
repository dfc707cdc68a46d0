"""A question as it is typed: names not yet looked up in any data set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote

from discreet.errors import ParameterError

Where = str | Mapping[str, str | Iterable[str]] | None
"""Filters as they are given: a text, or plain codes by name."""
Named = tuple[tuple[str, tuple[str, ...]], ...]
"""Filters as they are read: names, each with its codes."""

MAX_VARIABLES = 6
MAX_TEXT = 100_000
"""The longest `by` or `where` that is read at all; a filter may list thousands of areas."""


@dataclass(frozen=True)
class Query:
    """Variables to tabulate by, and filters; `Question.of` looks the names up in a schema.

    `by` holds (name, level or None); `where` holds (name, codes).
    """

    by: tuple[tuple[str, str | None], ...]
    where: Named = ()

    def __post_init__(self) -> None:
        if not _pairs(self.by, str | None) or not _pairs(self.where, tuple):
            raise ParameterError(
                "a Query holds pairs of names and levels, and of names and codes. "
                "Make it of texts: Query.parse('age,sex', 'la=E01')."
            )
        if not 1 <= len(self.by) <= MAX_VARIABLES:
            raise ParameterError(
                f"a table must have 1 to {MAX_VARIABLES} variables. Got {len(self.by)}."
            )
        _check_filters(self.where)

    @classmethod
    def of(cls, asked: str | Sequence[str] | Query, where: Where = None) -> Query:
        """Return a query unchanged, or the one that the texts describe."""
        if not isinstance(asked, Query):
            return cls.parse(asked, where)
        if where is not None:
            raise ParameterError("where must be part of the Query when one is given.")
        return asked

    @classmethod
    def parse(cls, by: str | Sequence[str], where: Where = None) -> Query:
        """Return the query that the texts describe.

        `by` is "age@age_band,sex" or a list of such names; `where` is "sex=2,la=E01|E02" with
        `, = | @ %` inside a code percent-encoded, or a mapping of names to plain codes.

        >>> dc.Query.parse("sex,age@age_band", "la=E01|E02").where
        (('la', ('E01', 'E02')),)
        """
        names = parts(by, "by") if isinstance(by, str) else _listed(by)
        if not all(isinstance(name, str) for name in names):
            raise ParameterError(
                f"by must be a text like 'age,sex' or a list of such names. Got {by!r:.100}."
            )
        return cls(tuple(map(_variable, names)), tuple(_filters(where)))

    @classmethod
    def parse_canonical(cls, text: str) -> Query:
        """Return the query of a canonical text such as by=age,sex&where=la=E01."""
        by, _, where = text.removeprefix("by=").partition("&where=")
        return cls.parse(by, where or None)

    def __str__(self) -> str:
        by = ",".join(name if level is None else f"{name}@{level}" for name, level in self.by)
        where = ",".join(f"{name}={'|'.join(map(encode, codes))}" for name, codes in self.where)
        return f"{by} where {where}" if where else by


def parse_where(where: Where) -> Named:
    """Return the filters that a text or a mapping describes."""
    found = tuple(_filters(where))
    _check_filters(found)
    return found


def parts(text: str, what: str) -> list[str]:
    """Return the parts of a text between commas; `what` names it in the error for one too long."""
    if len(text) > MAX_TEXT:
        raise ParameterError(f"{what} must be at most {MAX_TEXT:,} characters. Got {len(text):,}.")
    return [part.strip() for part in text.split(",") if part.strip()]


def encode(code: str) -> str:
    """Return a code with the characters that have a meaning in a question percent-encoded."""
    return "".join(quote(c, safe="") if c in ",=|@%" else c for c in code)


def _decode(text: str) -> str:
    try:
        return unquote(text, errors="strict")
    except UnicodeDecodeError:
        raise ParameterError(f"'{text}' is not percent-encoded UTF-8.") from None


def _variable(name: str) -> tuple[str, str | None]:
    variable, at, level = name.strip().partition("@")
    if not variable or (at and not level) or "@" in level:
        raise ParameterError(f"by must be names like 'age' or 'age@age_band'. Got '{name}'.")
    return variable, level if at else None


def _filters(where: Where) -> Iterator[tuple[str, tuple[str, ...]]]:
    if isinstance(where, Mapping):
        for name, codes in where.items():
            listed = [codes] if isinstance(codes, str) else _listed(codes)
            if not isinstance(name, str) or not all(isinstance(c, str | int) for c in listed):
                raise ParameterError(
                    f"where must map names to codes, such as {{'sex': '2'}} or "
                    f"{{'la': ['a', 'b']}}. Got {name!r:.100}: {codes!r:.100}."
                )
            yield name, tuple(dict.fromkeys(map(str, listed)))
    elif isinstance(where, str):
        yield from map(_filter, parts(where, "where"))
    elif where is not None:
        raise ParameterError(
            "where must be a text like 'sex=2,la=a|b' or a mapping of names to codes. "
            f"Got {where!r:.100}."
        )


def _filter(part: str) -> tuple[str, tuple[str, ...]]:
    name, equals, text = part.partition("=")
    if not name.strip() or not equals:
        raise ParameterError(f"where must be filters like 'sex=2' or 'la=a|b'. Got '{part}'.")
    codes = tuple(dict.fromkeys(map(_decode, text.split("|"))))
    if "=" in text or "" in codes:
        raise ParameterError(
            f"the filter '{part}' must list codes that are not empty, joined by '|'; "
            "'=' inside a code is written %3D."
        )
    return name.strip(), codes


def _check_filters(where: Named) -> None:
    filtered = Counter(name for name, _ in where)
    for name, codes in where:
        if not codes:
            raise ParameterError(f"the filter on '{name}' must name at least one category.")
        if filtered[name] > 1:
            raise ParameterError(
                f"'{name}' must be filtered once; put its categories together: {name}=a|b."
            )


def _listed(values: object) -> list[Any]:
    """Return the entries of a list or the like; of anything else, one entry that is no text."""
    if isinstance(values, Iterable) and not isinstance(values, Mapping | bytes):
        return list(values)
    return [None]


def _pairs(values: object, second: Any) -> bool:
    if not isinstance(values, tuple):
        return False
    pairs = [pair for pair in values if isinstance(pair, tuple) and len(pair) == 2]
    fit = all(isinstance(a, str) and isinstance(b, second) for a, b in pairs)
    return fit and len(pairs) == len(values)
