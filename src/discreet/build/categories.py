"""Categories, groupings and areas as dataset.toml and its CSV files describe them."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

from discreet.errors import ParameterError, first_few, unknown
from discreet.population.names import identifier
from discreet.population.schema import MAX_CATEGORIES
from discreet.toml import Section

TOTAL = "_T"
"""The code by which a total is asked for and released; no category may have it."""

FROM_DATA = "from data"
"""The word by which a custodian asks for the categories to be whatever the data hold."""

_SPAN = re.compile(r"\s*(-?\d{1,18})\s*\.\.\s*(-?\d{1,18})\s*", re.ASCII)


@dataclass(frozen=True)
class Categories:
    """Codes with their labels, in order."""

    codes: tuple[str, ...]
    labels: tuple[str, ...]


@dataclass(frozen=True)
class Grouping:
    """A coarser level: its own categories, and the place among them of each finest category."""

    id: str
    label: str
    categories: Categories
    of: tuple[int, ...]


@dataclass(frozen=True)
class Areas:
    """A level of geography; parents are codes of the next larger level, if a file gives them."""

    id: str
    label: str
    column: str | None
    categories: Categories | None
    parents: tuple[str, ...] | None


def read_rows(path: Path, wanted: tuple[str, ...], optional: tuple[str, ...]) -> list[list[str]]:
    """Return the wanted columns of a CSV file of categories, '' where an optional one is not."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True)
            head = next(reader, [])
            for name in wanted:
                if name not in head:
                    raise ParameterError(f"{path} must have a column '{name}'. It has {head}.")
            places = [head.index(name) if name in head else None for name in wanted + optional]
            rows = []
            for row in reader:
                if not row:
                    continue  # an empty line, as editors leave at the end
                if len(row) != len(head):
                    raise ParameterError(
                        f"{path}, line {reader.line_num}: {len(row)} fields where the head has "
                        f"{len(head)}."
                    )
                rows.append(["" if place is None else row[place] for place in places])
                if not rows[-1][0]:
                    raise ParameterError(f"{path}, line {reader.line_num}: empty '{wanted[0]}'.")
            return rows
    except FileNotFoundError:
        raise ParameterError(f"there is no file {path}") from None
    except OSError as error:
        raise ParameterError(f"{path} cannot be read: {error.strerror}") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise ParameterError(f"{path} is not a CSV file in UTF-8: {error}") from None


def why_no_code(code: str) -> str | None:
    """Return why a text cannot be the code of a category, or None if it can."""
    if code == TOTAL:
        return f"a category must not have the code of totals, {TOTAL}"
    if not code or "\0" in code:
        return "a code must be a text without NUL, not empty"
    return None


def taken_label(section: Section, name: str) -> str:
    """Return the label that a section gives, or one made of the name."""
    label: str = section.take("label", str, default=name.replace("_", " ").capitalize())
    return label


def _checked(codes: Sequence[str], labels: Iterable[str], where: str, most: float) -> Categories:
    if not codes:
        raise ParameterError(f"{where} must list at least one category.")
    for code in codes:
        reason = why_no_code(code)
        if reason is not None:
            raise ParameterError(f"{where}: {reason}. Got {code!r}.")
    twice = [code for code, number in Counter(codes).items() if number > 1]
    if twice:
        raise ParameterError(f"{where} must list a code once. Twice: '{twice[0]}'.")
    _check_number(len(codes), where, most)
    return Categories(
        tuple(codes), tuple(label or code for code, label in zip(codes, labels, strict=True))
    )


def _check_number(count: int, where: str, most: float) -> None:
    if count > most:
        raise ParameterError(
            f"{where} must have at most {most:,} categories, the most a column can hold. "
            f"Got {count:,}."
        )


def read_categories(
    listed: str | dict[str, Any] | None,
    span: list[Any] | None,
    folder: Path,
    where: str,
    most: float = MAX_CATEGORIES,
) -> Categories | None:
    """Return the categories, or None if they are to be read from the data."""
    if (listed is None) == (span is None):
        raise ParameterError(
            f"{where} must have 'categories' (a table of codes and labels, a CSV file, or "
            f"\"{FROM_DATA}\") or 'range' (like [0, 100]), one of the two."
        )
    if span is not None:
        if len(span) != 2 or not all(type(end) is int for end in span) or span[0] > span[1]:
            raise ParameterError(f"'range' in {where} must be two integers in order. Got {span}.")
        _check_number(span[1] - span[0] + 1, where, most)
        codes = [str(code) for code in range(span[0], span[1] + 1)]
        return _checked(codes, codes, where, most)
    if listed == FROM_DATA:
        return None
    if isinstance(listed, str):
        rows = read_rows(folder / listed, ("code",), ("label",))
        return _checked([r[0] for r in rows], [r[1] for r in rows], where, most)
    assert listed is not None
    for label in listed.values():
        if not isinstance(label, str):
            raise ParameterError(f"'categories' in {where} must give a label to each code.")
    return _checked(list(listed), list(listed.values()), where, most)


def read_grouping(
    name: str, given: object, finest: Categories, folder: Path, variable: str
) -> Grouping:
    """Return a coarser level; it must put every finest category into exactly one group."""
    section = Section(given, f"variables.{variable}.levels.{name}")
    label = taken_label(section, name)
    groups = section.take("groups", str, dict)
    section.end()
    place = {code: i for i, code in enumerate(finest.codes)}
    codes: dict[str, str] = {}
    members: list[tuple[str, str]] = []
    if isinstance(groups, str):
        for code, group, text in read_rows(folder / groups, ("code", "group"), ("label",)):
            codes[group] = codes.get(group) or text
            members.append((code, group))
    else:
        for group, of in groups.items():
            text = ""
            if isinstance(of, dict):
                inner = Section(of, f"{section.name}.groups.{group}")
                text = inner.take("label", str, default="")
                of = inner.take("of", str, list, int)
                inner.end()
            codes[group] = text
            members += [(code, group) for code in _members(of, section.name)]
    categories = _checked(list(codes), list(codes.values()), section.name, MAX_CATEGORIES)
    order = {code: i for i, code in enumerate(categories.codes)}
    of_each = [-1] * len(finest.codes)
    for code, group in members:
        if code not in place:
            raise ParameterError(
                f"{section.name}: {unknown(f'category of {variable}', code, finest.codes)}"
            )
        if of_each[place[code]] >= 0:
            raise ParameterError(f"{section.name} must put category '{code}' into one group.")
        of_each[place[code]] = order[group]
    left = [code for code, group in zip(finest.codes, of_each, strict=True) if group < 0]
    if left:
        shown = first_few([f"'{code}'" for code in left])
        raise ParameterError(
            f"{section.name} must cover every category of '{variable}'. Left out: {shown}."
        )
    return Grouping(name, label, categories, tuple(of_each))


def _members(of: object, where: str) -> list[str]:
    """Return the codes that '0..4', 'a', 7 or a list of these mean."""
    if isinstance(of, list):
        return [code for item in of for code in _members(item, where)]
    if isinstance(of, int) and not isinstance(of, bool):
        return [str(of)]
    if not isinstance(of, str):
        raise ParameterError(f"{where} must list codes. Got {of!r}.")
    span = _SPAN.fullmatch(of)
    if not span:
        return [of]
    first, last = int(span[1]), int(span[2])
    if not first <= last <= first + MAX_CATEGORIES:
        raise ParameterError(f"{where}: the span '{of}' must be two integers in order.")
    return [str(code) for code in range(first, last + 1)]


def read_areas(given: object, i: int, levels: int, folder: Path) -> Areas:
    """Return one level of geography, the smallest first."""
    section = Section(given, f"geography {i + 1} of {levels}")
    name = identifier(section.take("id", str), "the id of a geography level")
    label = taken_label(section, name)
    column = section.take("column", str, default=None)
    listed = section.take("categories", str, dict, default=FROM_DATA)
    section.end()
    where = f"geography '{name}'"
    categories = read_categories(listed, None, folder, where, most=inf)
    parents = None
    if isinstance(listed, str) and categories is not None and i + 1 < levels:
        rows = read_rows(folder / listed, ("code",), ("parent",))
        given_parents = [row[1] for row in rows]
        if any(given_parents):
            if not all(given_parents):
                code = categories.codes[given_parents.index("")]
                raise ParameterError(f"{where}: area '{code}' has no parent.")
            parents = tuple(given_parents)
    return Areas(name, label, column, categories, parents)
