"""What is selected of a table, from an address or a body, as the question that it asks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any
from urllib.parse import parse_qsl

from discreet.errors import ParameterError, unknown
from discreet.population.schema import Level, Variable
from discreet.server.levels import default_level, first_table, levels_of, variables_of
from discreet.service.opened import Opened

_OF_VARIABLE = re.compile(r"(valueCodes|codelist|outputValues)\[(.+)\]", re.IGNORECASE)
_BETWEEN = re.compile(r",(?![^()\[\]]*[)\]])")  # commas that are inside no brackets
_PART = re.compile(r"(top|bottom|from|to|range)\((.+)\)", re.IGNORECASE)
_ONCE = ("lang", "outputFormat")
_IGNORED = ("outputFormatParams", "stub", "heading")  # how a page would lay it out


@dataclass(frozen=True)
class Selected:
    """A variable of the table: the level that is shown, and the codes of it that are wanted."""

    variable: Variable
    level: Level
    codes: tuple[str, ...]

    @property
    def whole(self) -> bool:
        """Whether every category is wanted."""
        return len(self.codes) == len(self.level)


def read_address(raw: bytes) -> tuple[dict[str, str], list[dict[str, Any]]]:
    """Return the plain parameters of an address, and the selection of each variable."""
    plain: dict[str, str] = {}
    chosen: dict[str, dict[str, Any]] = {}
    for name, value in parse_qsl(raw.decode("ascii", "replace"), keep_blank_values=True):
        found = _OF_VARIABLE.fullmatch(name)
        if found:
            key, code = found[1].lower(), found[2]
            entry = chosen.setdefault(code, {"variableCode": code})
            _once(name, key in entry)
            entry[key] = _BETWEEN.split(value) if key == "valuecodes" else value
        elif name in _ONCE:
            _once(name, name in plain)
            plain[name] = value
        elif name not in _IGNORED:
            choices = (*_ONCE, *_IGNORED, "valueCodes[…]", "codelist[…]", "outputValues[…]")
            raise unknown("parameter", name[:64], choices)
    return plain, list(chosen.values())


def _once(name: str, again: bool) -> None:
    if again:
        raise ParameterError(f"'{name[:64]}' must be given once. It is given again.")


def read_posted(given: object) -> list[dict[str, Any]]:
    """Return the selection of each variable in a body."""
    selection = given.get("selection", []) if isinstance(given, Mapping) else None
    if not isinstance(selection, list) or not all(isinstance(one, dict) for one in selection):
        raise ParameterError('the body must be {"selection": [{"variableCode", "valueCodes"}]}.')
    return [{key.lower(): value for key, value in one.items()} | one for one in selection]


def together(address: list[dict[str, Any]], body: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what an address and a body say of each variable.

    R's pxweb names code lists in the address and codes in the body.
    """
    said = {one["variableCode"]: one for one in address}
    found = []
    for one in body:
        name = one.get("variableCode")
        more = said.pop(name, {}) if isinstance(name, str) else {}
        for key in sorted((set(more) & set(one)) - {"variableCode"}):
            _once(f"{key}[{name}]", True)
        found.append({**more, **one})
    return [*found, *said.values()]


def selected(opened: Opened, chosen: list[dict[str, Any]]) -> tuple[Selected, ...]:
    """Return what is wanted of each variable; where nothing is, what is shown first."""
    found: dict[str, Selected] = {}
    for one in chosen:
        variable = _variable(opened, one.get("variableCode"))
        _once(variable.id, variable.id in found)
        codes = one.get("valuecodes") or []
        level = _level(opened, variable, one.get("codelist"))
        if one.get("outputvalues") not in (None, "aggregated"):
            raise ParameterError("outputValues must be 'aggregated': a level is shown as it is.")
        if not isinstance(codes, list) or not all(isinstance(code, str) for code in codes):
            raise ParameterError(f"the valueCodes of '{variable.id}' must be a list of texts.")
        if codes:
            found[variable.id] = Selected(variable, level, _codes(level, codes))
    if found:
        return tuple(found.values())
    return tuple(
        Selected(opened.schema.find(level.id)[0], level, level.codes)
        for level in first_table(opened)
    )


def _variable(opened: Opened, name: object) -> Variable:
    for variable in variables_of(opened):
        if variable.id == name:
            return variable
    raise unknown("variable", str(name)[:64], (v.id for v in variables_of(opened)))


def _level(opened: Opened, variable: Variable, name: object) -> Level:
    if name is None:
        return default_level(opened, variable)
    for level in levels_of(opened, variable):
        if name == codelist_id(opened, level):
            return level
    choices = (codelist_id(opened, level) for level in levels_of(opened, variable))
    raise unknown(f"code list of '{variable.id}'", str(name)[:64], choices)


def codelist_id(opened: Opened, level: Level) -> str:
    """Return what a level is called as a code list; the ids of levels are a data set's own."""
    return f"{opened.id}.{level.id}"


def _codes(level: Level, given: list[str]) -> tuple[str, ...]:
    """Return the codes that are meant, in the order of the level and each once."""
    wanted: set[int] = set()
    for text in given:
        wanted.update(_meant(level, text))
    if not wanted:
        raise ParameterError(f"the valueCodes of '{level.id}' must pick a category. None fits.")
    return tuple(level.codes[i] for i in sorted(wanted))


def _meant(level: Level, text: str) -> Iterator[int]:
    """Give the places of the categories that a code or an expression means."""
    if text in level.position:  # before anything else: a code may look like an expression
        yield level.position[text]
        return
    inner = text[1:-1] if text.startswith("[") and text.endswith("]") else text
    part = _PART.fullmatch(inner)
    if part:
        yield from _span(level, part[1].lower(), part[2])
    elif "*" in inner or "?" in inner:
        pattern = inner.replace("[", "[[]")
        yield from (i for i, code in enumerate(level.codes) if fnmatchcase(code, pattern))
    else:
        yield level.index(inner)


def _span(level: Level, kind: str, inside: str) -> range:
    """Return the places that top, bottom, from, to or range mean; the last codes are the top."""
    many = len(level)
    if kind in ("top", "bottom"):
        number = inside.split(",")[0].strip()
        if not number.isdecimal():
            raise ParameterError(f"{kind}() must have a whole number. Got '{inside[:64]}'.")
        n = min(int(number[:9]), many)
        return range(many - n, many) if kind == "top" else range(n)
    ends = [level.index(code.strip()) for code in inside.split(",")]
    if len(ends) != (2 if kind == "range" else 1):
        raise ParameterError(f"{kind}() must name its codes: range(a,b), from(a), to(a).")
    if kind == "range":
        return range(ends[0], ends[1] + 1)
    return range(ends[0], many) if kind == "from" else range(ends[0] + 1)
