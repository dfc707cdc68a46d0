"""A question as it is typed: names not yet looked up in any data set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote

from discreet.errors import ParameterError

MAX_VARIABLES = 6
MAX_TEXT = 100_000
"""The longest `by` or `where` that is read at all; a filter may list thousands of areas."""


def encode(code: str) -> str:
    """Return a code with the characters that have a meaning in a question percent-encoded."""
    return "".join(quote(c, safe="") if c in ",=|@%" else c for c in code)


def _decode(text: str) -> str:
    try:
        return unquote(text, errors="strict")
    except UnicodeDecodeError:
        raise ParameterError(f"'{text}' is not percent-encoded UTF-8.") from None


def _parts(text: str, what: str) -> list[str]:
    if len(text) > MAX_TEXT:
        raise ParameterError(f"{what} must be at most {MAX_TEXT:,} characters. Got {len(text):,}.")
    return [part.strip() for part in text.split(",") if part.strip()]


@dataclass(frozen=True)
class Query:
    """Variables to tabulate by, and filters; `Question.of` looks the names up in a schema.

    `by` holds (name, level or None); `where` holds (name, codes).
    """

    by: tuple[tuple[str, str | None], ...]
    where: tuple[tuple[str, tuple[str, ...]], ...] = ()

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
        filtered = Counter(name for name, _ in self.where)
        for name, codes in self.where:
            if not codes:
                raise ParameterError(f"the filter on '{name}' must name at least one category.")
            if filtered[name] > 1:
                raise ParameterError(
                    f"'{name}' must be filtered once; put its categories together: {name}=a|b."
                )

    @classmethod
    def of(
        cls,
        asked: str | Sequence[str] | Query,
        where: str | Mapping[str, str | Iterable[str]] | None = None,
    ) -> Query:
        """Return a query as it is, or the one that the texts say."""
        if not isinstance(asked, Query):
            return cls.parse(asked, where)
        if where is not None:
            raise ParameterError("where must be part of the Query when one is given.")
        return asked

    @classmethod
    def parse(
        cls,
        by: str | Sequence[str],
        where: str | Mapping[str, str | Iterable[str]] | None = None,
    ) -> Query:
        """Return the query that the texts say.

        `by` is "age@age_band,sex" or a list of such names; `where` is "sex=2,la=E01|E02" with
        `, = | @ %` inside a code percent-encoded, or a mapping of names to plain codes.

        >>> dc.Query.parse("sex,age@age_band", "la=E01|E02").where
        (('la', ('E01', 'E02')),)
        """
        names = _parts(by, "by") if isinstance(by, str) else _listed(by)
        if not all(isinstance(name, str) for name in names):
            raise ParameterError(
                f"by must be a text like 'age,sex' or a list of such names. Got {by!r:.100}."
            )
        asked: list[tuple[str, str | None]] = []
        for name in names:
            variable, at, level = name.strip().partition("@")
            if not variable or (at and not level) or "@" in level:
                raise ParameterError(
                    f"by must be names like 'age' or 'age@age_band'. Got '{name}'."
                )
            asked.append((variable, level if at else None))
        return cls(tuple(asked), tuple(_filters(where)))

    def __str__(self) -> str:
        by = ",".join(name if level is None else f"{name}@{level}" for name, level in self.by)
        where = ",".join(f"{name}={'|'.join(map(encode, codes))}" for name, codes in self.where)
        return f"{by} where {where}" if where else by


def _filters(
    where: str | Mapping[str, str | Iterable[str]] | None,
) -> Iterable[tuple[str, tuple[str, ...]]]:
    if where is None:
        return
    if isinstance(where, Mapping):
        for name, codes in where.items():
            listed = [codes] if isinstance(codes, str) else _listed(codes)
            if not isinstance(name, str) or not all(isinstance(c, str | int) for c in listed):
                raise ParameterError(
                    f"where must map names to codes, such as {{'sex': '2'}} or "
                    f"{{'la': ['a', 'b']}}. Got {name!r:.100}: {codes!r:.100}."
                )
            yield name, tuple(dict.fromkeys(str(code) for code in listed))
        return
    if not isinstance(where, str):
        raise ParameterError(
            "where must be a text like 'sex=2,la=a|b' or a mapping of names to codes. "
            f"Got {where!r:.100}."
        )
    for part in _parts(where, "where"):
        name, equals, text = part.partition("=")
        if not name.strip() or not equals:
            raise ParameterError(f"where must be filters like 'sex=2' or 'la=a|b'. Got '{part}'.")
        codes = tuple(dict.fromkeys(_decode(code) for code in text.split("|")))
        if "=" in text or "" in codes:
            raise ParameterError(
                f"the filter '{part}' must list codes that are not empty, joined by '|'; "
                "'=' inside a code is written %3D."
            )
        yield name.strip(), codes


def _listed(values: object) -> list[Any]:
    """Return what a list or the like holds; anything else as its only, unfitting entry."""
    if isinstance(values, Iterable) and not isinstance(values, Mapping | bytes):
        return list(values)
    return [None]


def _pairs(values: object, second: Any) -> bool:
    return isinstance(values, tuple) and all(
        isinstance(pair, tuple)
        and len(pair) == 2
        and isinstance(pair[0], str)
        and isinstance(pair[1], second)
        for pair in values
    )
