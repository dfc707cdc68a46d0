"""`study.toml`: read, looked up in the data, and every mistake told before anything runs."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from discreet.build.dataset import Dataset
from discreet.build.steps import check_step
from discreet.checks import checked_weights, number, whole
from discreet.errors import ParameterError
from discreet.query.parse import parse_where, parts
from discreet.risk import SPLIT_WEIGHTS, WEIGHTS
from discreet.study.cube import Cube
from discreet.study.data import (
    KINDS,
    Asked,
    cube_of,
    joint_of,
    opened,
    own_of,
    part_of,
    table_of,
)
from discreet.study.measures import MEASURES, RISK, USUAL
from discreet.study.methods import ON_CUBE, Untouched, refuse_records, settings_of
from discreet.study.model import (
    Judged,
    On,
    Printed,
    Setting,
    Study,
    Table,
    Told,
    named,
    refuse_twice,
)
from discreet.toml import Mistakes, Section, load, texts

MOST_DRAWS = 100_000


@dataclass(frozen=True)
class Source:
    """Where the data are: the kind, and the files or the folder."""

    kind: str
    paths: tuple[Path, ...]
    about: str = ""
    absent_zero: bool = False
    sums_are_cells: bool = False


def read(path: Path, data: Path | None = None) -> Study:
    """Return the study that a file describes, or every mistake in it at once.

    `data` stands in for where the file says that its data are.
    """
    mistakes = Mistakes(str(path))
    top = Section(load(path), path.name)
    told = mistakes.gather(lambda: _told(top)) or Told()
    draws = mistakes.gather(
        lambda: whole("draws", top.take("draws", int, default=20), 2, MOST_DRAWS)
    )
    seed = mistakes.gather(lambda: whole("seed", top.take("seed", int, default=1), 0, 2**63 - 1))
    source = mistakes.gather(lambda: _source(_inner(top, "data"), path.parent, data))
    asked = _listed(top, "tables", _asked, mistakes)
    judged = mistakes.gather(lambda: _judged(_inner(top, "measures", {}), top)) or Judged()
    printed = mistakes.gather(lambda: _printed(top.take("printed", str, default=None), path.parent))
    methods = mistakes.gather(lambda: top.take("methods", list)) or []
    mistakes.gather(top.end)
    own = [table for table in asked if not table.of]
    cubes, tables = _data(source, own, methods, mistakes) if source else ((), ())
    for one in asked if tables else ():
        summed = mistakes.gather(partial(part_of, one, tables)) if one.of else None
        tables = tables if summed is None else (*tables, summed)
    settings = _settings(methods, cubes, tables, source, mistakes)
    for what, names in (
        ("table", [table.name for table in tables]),
        ("setting", [setting.full for setting in settings]),
    ):
        mistakes.gather(partial(refuse_twice, what, names))
    mistakes.end()
    assert source is not None
    if source.about:
        told = replace(told, data=source.about)
    dataset = source.paths[0] if source.kind == "dataset" else None
    return Study(
        cubes, tables, settings, judged, draws, seed, told, path, dataset, printed or ()
    )  # fmt: skip


def _inner(top: Section, key: str, default: Any = ...) -> Section:
    return Section(top.take(key, dict, default=default), key)


def _told(top: Section) -> Told:
    return Told(
        top.take("title", str),
        top.take("question", str, default=""),
        top.take("office", str, default=""),
        "",
        texts(top.take("notes", list, default=[])),
    )


def _source(section: Section, folder: Path, instead: Path | None = None) -> Source:
    given = {kind: section.take(kind, str, list, default=None) for kind in KINDS}
    about = section.take("about", str, default="")
    absent_zero = section.take("absent_zero", bool, default=False)
    sums_are_cells = section.take("sums_are_cells", bool, default=False)
    section.end()
    there = [kind for kind, value in given.items() if value is not None]
    if len(there) != 1:
        raise ParameterError(
            f"data must name one of {', '.join(KINDS)}. Got {', '.join(there) or 'none'}."
        )
    kind, value = there[0], given[there[0]]
    listed = texts(value if isinstance(value, list) else [value])
    if not listed or (kind != "tables" and len(listed) > 1):
        raise ParameterError(f"data.{kind} must be {'files' if kind == 'tables' else 'one text'}.")
    paths = tuple(folder / name for name in listed)
    if instead is not None and kind == "tables":
        paths = tuple(instead / path.name for path in paths)
    elif instead is not None:
        kind, paths = _kind(instead), (instead,)
    for path in paths:
        if not path.exists():
            raise ParameterError(f"data.{kind}: there is no {path}.")
    return Source(kind, paths, about, absent_zero, sums_are_cells)


def _kind(path: Path) -> str:
    """Return what a path must be: a folder is a store, and a description says of records."""
    return "store" if path.is_dir() else "dataset" if path.suffix == ".toml" else "cube"


def _listed(top: Section, key: str, reader: Any, mistakes: Mistakes) -> list[Any]:
    given = mistakes.gather(lambda: top.take(key, list, default=[])) or []
    found = [mistakes.gather(partial(reader, values, i)) for i, values in enumerate(given, 1)]
    return [one for one in found if one is not None]


def _asked(values: Any, place: int) -> Asked:
    section = Section(values, f"table {place}")
    name = section.take("name", str, default="")
    by = tuple(parts(section.take("by", str, default=""), "by"))
    where = parse_where(section.take("where", str, default=None))
    title = section.take("title", str, default="") or _title(by, where)
    of = section.take("of", str, default="")
    section.end()
    return Asked(name or title or str(place), title, by, where, of)


def _title(by: Sequence[str], where: Any) -> str:
    named_ = " × ".join(name.replace("_", " ") for name in by)
    picked = ", ".join(f"{name} {'|'.join(codes)}" for name, codes in where)
    return f"{named_}, {picked}" if picked else named_


def _judged(section: Section, top: Section) -> Judged:
    mistakes = Mistakes("measures")
    take = section.take
    every = list(MEASURES)
    risk = mistakes.gather(lambda: named("measure", take("risk", str, default=RISK), every))
    utility = mistakes.gather(
        lambda: named("measure", take("utility", str, default="score"), every)
    )
    also = mistakes.gather(lambda: texts(take("also", list, default=list(USUAL)))) or ()
    for name in also:
        mistakes.gather(partial(named, "measure", name, every))
    split = {"split": list(SPLIT_WEIGHTS)}.get(risk, list(WEIGHTS))
    weights = mistakes.gather(lambda: checked_weights(take("weights", list, default=split), 3, 4))
    slices = mistakes.gather(lambda: take("slices", bool, default=False))
    groups = mistakes.gather(lambda: texts(take("subgroups", list, default=[])))
    limit = mistakes.gather(
        lambda: number("limit", top.take("limit", int, float, default=0.15), 0, 1)
    )
    mistakes.gather(section.end)
    mistakes.end()
    return Judged(risk, utility, also, weights, limit, slices, groups)


def _printed(name: str | None, folder: Path) -> tuple[Printed, ...]:
    """Return published figures, to stand beside those of the study."""
    if name is None:
        return ()
    try:
        with (folder / name).open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file))
        return tuple(Printed(**{**row, "value": float(row["value"])}) for row in rows)  # type: ignore[arg-type]
    except (OSError, KeyError, ValueError, TypeError) as error:
        raise ParameterError(
            "printed must be a CSV file with the columns table, setting, measure, value, and "
            f"perhaps variable and category. {name}: {error}."
        ) from None


def _data(
    source: Source, asked: list[Asked], methods: list[Any], mistakes: Mistakes
) -> tuple[tuple[Cube, ...], tuple[Table, ...]]:
    """Return the hypercubes and the tables, with the mistakes of every question noted."""
    if source.kind in ("cube", "tables"):
        how = source.absent_zero, source.sums_are_cells
        cubes = [mistakes.gather(partial(cube_of, path, *how)) for path in source.paths]
        if None in cubes:
            return (), ()
        if not asked:
            asked = [Asked(path.stem, "", ()) for path in source.paths]
            asked = [
                replace(a, title=_title(c.names, ())) for a, c in zip(asked, cubes, strict=True)
            ]
        elif len(cubes) > 1:
            mistakes.found.append("[[tables]] must be left out where data.tables lists the tables.")
            return (), ()
        places = range(len(cubes)) if len(cubes) > 1 else [0] * len(asked)
        made = [
            mistakes.gather(partial(table_of, a, cubes[i], i))
            for a, i in zip(asked, places, strict=True)
        ]
        return tuple(cubes), tuple(table for table in made if table is not None)
    if not asked:
        mistakes.found.append(f"[[tables]] must say which tables of the {source.kind} to study.")
        return (), ()
    return _counted(source, asked, methods, mistakes)


def _counted(
    source: Source, asked: list[Asked], methods: list[Any], mistakes: Mistakes
) -> tuple[tuple[Cube, ...], tuple[Table, ...]]:
    """Return the tables of a store: of one hypercube where a method acts on it, else each alone."""
    joint = any(isinstance(m, dict) and _acts_on_cube(m) for m in methods)
    with ExitStack() as stack:
        version = mistakes.gather(lambda: stack.enter_context(opened(source.kind, source.paths[0])))
        if version is None:
            return (), ()
        if joint:
            names = list(dict.fromkeys(name for table in asked for name in table.names))
            cube = mistakes.gather(lambda: joint_of(version, names))
            if cube is None:
                return (), ()
            made = [mistakes.gather(partial(table_of, table, cube, 0)) for table in asked]
            return (cube,), tuple(table for table in made if table is not None)
        owned = [mistakes.gather(partial(own_of, version, table)) for table in asked]
    found = [(one, a) for one, a in zip(owned, asked, strict=True) if one is not None]
    tables = []
    for place, ((cube, own), whole_) in enumerate(found):
        table = mistakes.gather(partial(table_of, own, cube, place))
        if table is not None:
            tables.append(replace(table, where=whole_.where))
    return tuple(cube for (cube, _), _ in found), tuple(tables)


def _acts_on_cube(values: dict[str, Any]) -> bool:
    default = On.CUBE if values.get("method") in ON_CUBE else On.TABLE
    return bool(values.get("on", default) == On.CUBE)


def _settings(
    methods: list[Any],
    cubes: Sequence[Cube],
    tables: Sequence[Table],
    source: Source | None,
    mistakes: Mistakes,
) -> tuple[Setting, ...]:
    """Return every setting, the untouched table first; what cannot act on the data is a mistake."""
    found = [Setting("None", "", "none", (), On.TABLE, Untouched())]
    variables = {
        On.TABLE: [t.by for t in tables if t.of is None],
        On.CUBE: [c.names for c in cubes],
    }
    for place, values in enumerate(methods, 1):
        made = mistakes.gather(partial(_one, values, place, variables, source))
        found += made or []
    if not methods:
        mistakes.found.append("[[methods]] must have at least one method.")
    largest = max((int(cube.counts.max()) for cube in cubes), default=0)
    for setting in found:
        if setting.made is not None and largest > setting.made.largest:
            mistakes.found.append(
                f"{setting.full} takes counts up to {setting.made.largest:,}; there are larger."
            )
    return tuple(setting for i, setting in enumerate(found) if not (i and setting.untouched))


def _one(values: Any, place: int, variables: dict[On, Any], source: Source | None) -> list[Setting]:
    where = f"method {place}"
    if not isinstance(values, dict):
        raise ParameterError(f"{where} must be a table. Got {values!r}.")
    try:
        if source is not None and source.kind != "dataset":
            refuse_records(values)
        found = settings_of(values, variables)
    except ParameterError as error:
        raise ParameterError(f"{where}: {error}") from None
    if found[0].on is On.RECORDS and source is not None:
        given = Dataset.read(source.paths[0]).given()
        for setting in found:
            for step in setting.steps:
                check_step(step, given)
    return found
