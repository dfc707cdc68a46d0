"""`dc.study`: a comparison of methods from Python."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from time import monotonic
from typing import Any

from discreet.checks import checked_weights, number, whole
from discreet.errors import ParameterError
from discreet.progress import Tell, silent
from discreet.protect import Method
from discreet.query.parse import parse_where, parts
from discreet.risk import WEIGHTS
from discreet.study.collect import collected
from discreet.study.cube import Cube
from discreet.study.data import (
    Asked,
    array_cube,
    cube_of,
    joint_of,
    of_file,
    table_of,
)
from discreet.study.file import MOST_DRAWS, read
from discreet.study.measures import MEASURES, USUAL
from discreet.study.methods import Untouched, make, refuse_records, settings_of
from discreet.study.model import Judged, On, Setting, Study, Told, named
from discreet.study.quick import usual
from discreet.study.results import Results
from discreet.study.run import run
from discreet.table.files import PUT_RIGHT, TOTALS, read_table

Methods = Mapping[str, Method | Sequence[Method]] | Iterable[str | Mapping[str, Any]] | None


def study(
    data: Any,
    methods: Methods = None,
    tables: Mapping[str, str] | Sequence[str] | None = None,
    *,
    draws: int = 20,
    seed: int = 1,
    limit: float = 0.15,
    weights: Sequence[float] = WEIGHTS,
    risk: str = "transition-seen",
    utility: str = "score",
    title: str = "A comparison of methods",
    workers: int = 1,
    sums_are_cells: bool = False,
    tell: Tell | None = None,
) -> Results:
    """Return risk and utility of a table, or several, under settings of protection methods.

    `data` is a study file (.toml, which says all the rest), an array of counts, several by name, a
    data frame or file of counts, or an open population. `methods` are objects of `dc.protect` by
    name, or names with options as a study file has them; without any, eight usual ones at three
    strengths each. `tables` are questions such as "age,sex" or "age,sex where area=1", by name or
    in a list; of a table, itself. The result prints, plots, filters, and is a data frame.

    For the custodian: the figures are computed from true counts.

    >>> rounding = [dc.protect.RandomRounding(3), dc.protect.RandomRounding(5)]
    >>> found = dc.study([[40, 2, 9], [1, 58, 12]], {"Rounding": rounding}, draws=10)
    >>> found.tables, len(found.points)
    (('table',), 2)
    """
    began = monotonic()
    if isinstance(data, str | PathLike) and str(data).endswith(".toml"):
        asked = read(Path(data))
    else:
        cubes, places = _cubes(data, tables, sums_are_cells)
        made = tuple(table_of(one, cubes[i], i) for one, i in places)
        names = {On.TABLE: [table.by for table in made], On.CUBE: [cube.names for cube in cubes]}
        judged = Judged(
            named("measure", risk, list(MEASURES)),
            named("measure", utility, list(MEASURES)),
            USUAL,
            checked_weights(weights, 3, 4),
            number("limit", limit, 0, 1),
        )
        whole("draws", draws, 2, MOST_DRAWS)
        whole("seed", seed, 0, 2**63 - 1)
        settings = _settings(usual(cubes[0]) if methods is None else methods, names)
        asked = Study(cubes, made, settings, judged, draws, seed, Told(title))
    parts_ = run(asked, None, whole("workers", workers, 1, 1024), tell or silent)
    return collected(asked, parts_, monotonic() - began)


def _cubes(
    data: Any, tables: Any, sums_are_cells: bool
) -> tuple[tuple[Cube, ...], list[tuple[Asked, int]]]:
    """Return the hypercubes of whatever was given, and the tables asked of each."""
    asked = _asked(tables)
    if isinstance(data, Mapping):
        cubes = tuple(array_cube(counts, str(name)) for name, counts in data.items())
        if asked or not cubes:
            raise ParameterError("data by name are tables already: leave 'tables' out.")
        return cubes, [(Asked(str(name), "", ()), i) for i, name in enumerate(data)]
    if hasattr(data, "version") and hasattr(data, "schema"):
        if not asked:
            raise ParameterError("tables must say what to study of a population: 'age,sex'.")
        names = list(dict.fromkeys(name for one in asked for name in one.names))
        cube = joint_of(data.version, names)
    elif isinstance(data, str | PathLike):
        cube = cube_of(Path(data), absent_zero=False, sums_are_cells=sums_are_cells)
    elif hasattr(data, "columns") or hasattr(data, "column_names"):
        file = read_table(data, absent_is_zero=True)
        file.refuse_gap(PUT_RIGHT)
        if not sums_are_cells:
            file.refuse_hidden_totals(f"{TOTALS}; if it is no total, say sums_are_cells=True.")
        cube = of_file(file)
    else:
        cube = array_cube(data, "data")
    return (cube,), [(one, 0) for one in asked or [Asked("table", "", ())]]


def _asked(tables: Any) -> list[Asked]:
    if tables is None:
        return []
    if isinstance(tables, str):
        tables = [tables]
    pairs = tables.items() if isinstance(tables, Mapping) else ((text, text) for text in tables)
    found = []
    for name, text in pairs:
        if not isinstance(text, str):
            raise ParameterError(
                f"a table must be a text like 'age,sex where area=1'. Got {text!r}."
            )
        by, _, where = text.partition(" where ")
        found.append(Asked(str(name), "", tuple(parts(by, "by")), parse_where(where or None)))
    return found


def _settings(methods: Any, names: Mapping[On, Any]) -> tuple[Setting, ...]:
    found = [Setting("None", "", "none", (), On.TABLE, Untouched())]
    if not methods or (isinstance(methods, Mapping) and not all(map(_there, methods.values()))):
        raise ParameterError("methods must name at least one method, each with a setting.")
    if isinstance(methods, Mapping):
        for name, given in methods.items():
            for one in [given] if isinstance(given, Method) else given:
                found.append(_of_object(str(name), one, names))
        return tuple(found)
    for given in [methods] if isinstance(methods, str) else methods:
        if isinstance(given, str):
            refuse_records({"method": given})
            made = make(given, {}, names[On.CUBE])
            title = given.replace("-", " ").capitalize()
            found.append(Setting(title, _parameters(made), given, (), On.TABLE, made))
        elif isinstance(given, Mapping):
            refuse_records(given)
            found += settings_of(given, names)
        else:
            raise ParameterError(
                "methods must be objects of dc.protect by name, names, or mappings with 'method'. "
                f"Got {given!r}."
            )
    return tuple(found)


def _there(given: Any) -> bool:
    return isinstance(given, Method) or bool(given)


def _of_object(name: str, one: Any, names: Mapping[On, Any]) -> Setting:
    if not isinstance(one, Method):
        raise ParameterError(f"'{name}' must be a method of dc.protect. Got {type(one).__name__}.")
    for listed in names[On.TABLE]:
        one.check(len(listed))
    return Setting(name, _parameters(one), type(one).__name__, (), On.TABLE, one)


def _parameters(method: Method) -> str:
    """Return the parameters of a method that are plain values, as a label."""
    plain = {k: v for k, v in vars(method).items() if isinstance(v, int | float | str | bool)}
    return ", ".join(f"{key} {value}" for key, value in plain.items() if not key.startswith("_"))
