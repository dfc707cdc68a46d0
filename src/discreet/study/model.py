"""What a comparison study is made of: tables, settings of methods, and how they are judged.

The flow: a study file (or `dc.study`) becomes a `Study`; `run` draws every setting so many times
and measures every draw of every table; the means over draws are a `Results`, which prints, plots,
filters and writes the report.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass
from enum import StrEnum
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from discreet.errors import ParameterError, unknown
from discreet.protect import Method
from discreet.query.parse import Named
from discreet.risk import WEIGHTS
from discreet.study.cube import Cube, Cut
from discreet.types import Integers


class On(StrEnum):
    """What a method acts on: the table that is asked for, the hypercube below it, the records."""

    TABLE = "table"
    CUBE = "cube"
    RECORDS = "records"


def full_name(method: str, setting: str) -> str:
    """Return method and setting in one."""
    return f"{method}, {setting}" if setting else method


@dataclass(frozen=True, eq=False)
class Setting:
    """A method with its parameters: a point of the map.

    `name` is the method's and `label` says which setting of it this is. `made` is for methods that
    act on counts, `steps` for those on records, as a data set describes them.
    """

    name: str
    label: str
    method: str
    options: tuple[tuple[str, str], ...]
    on: On
    made: Method | None = None
    steps: tuple[Any, ...] = ()
    multiplier: tuple[float, ...] | None = None
    title: str = ""

    @property
    def full(self) -> str:
        """Method and setting in one."""
        return full_name(self.name, self.label)

    @property
    def key(self) -> str:
        """The name of its draws: other settings of a study do not change them."""
        what = _described(self.made or self.steps)
        return json.dumps([self.method, self.options, self.on.value, what])

    @property
    def untouched(self) -> bool:
        """Whether nothing is changed."""
        return self.method == "none"


def _described(value: Any) -> str:
    """Return the repr of a method with all that it is made of: that of an array may be cut.

    Chances that were solved for differ between processors in their last digits, and a draw must
    not: they count to six decimals.
    """
    if isinstance(value, np.ndarray):
        value = value.round(6) + 0.0 if value.dtype.kind == "f" else value
        return f"{value.dtype}{value.shape}{sha256(value.tobytes()).hexdigest()}"
    if isinstance(value, tuple):
        return f"({', '.join(map(_described, value))}{',' * (len(value) == 1)})"
    if is_dataclass(value):
        held = (f"{f.name}={_described(getattr(value, f.name))}" for f in fields(value) if f.repr)
        return f"{type(value).__qualname__}({', '.join(held)})"
    return repr(value)


@dataclass(frozen=True, eq=False)
class Table:
    """A table of the study: a part of one of its hypercubes, with the true counts."""

    name: str
    title: str
    cube: int
    cut: Cut
    by: tuple[str, ...]
    where: Named
    counts: Integers
    codes: tuple[tuple[str, ...], ...]
    of: int | None = None  # the table whose released figures it sums, instead of a hypercube

    @property
    def cube_of_its_own(self) -> Cube:
        """The table as a hypercube, of which others can be sums."""
        return Cube(self.by, self.codes, self.counts)


@dataclass(frozen=True)
class Judged:
    """How settings are judged: the two measures of the map, the others, weights and limit."""

    risk: str = "transition-seen"
    utility: str = "score"
    measures: tuple[str, ...] = ()
    weights: tuple[float, ...] = WEIGHTS
    limit: float = 0.15
    slices: bool = False
    subgroups: tuple[str, ...] = ()

    @property
    def every(self) -> tuple[str, ...]:
        """All measures that are taken, those of the map first."""
        return tuple(dict.fromkeys((self.risk, self.utility, *self.measures)))


@dataclass(frozen=True)
class Printed:
    """A published figure, to stand beside that of the study."""

    table: str
    setting: str
    measure: str
    value: float
    variable: str = ""
    category: str = ""


@dataclass(frozen=True)
class Told:
    """What the report says that no program can compute."""

    title: str = "A comparison of methods"
    question: str = ""
    office: str = ""
    data: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Study:
    """A study that can be run: every name in it was looked up, and every method made."""

    cubes: tuple[Cube, ...]
    tables: tuple[Table, ...]
    settings: tuple[Setting, ...]
    judged: Judged
    draws: int = 20
    seed: int = 1
    told: Told = Told()
    file: Path | None = None
    dataset: Path | None = None
    printed: tuple[Printed, ...] = ()

    def __post_init__(self) -> None:
        if not self.tables:
            raise ParameterError("a study must have at least one table.")
        if not self.settings:
            raise ParameterError("a study must have at least one method.")
        for what, names in (
            ("table", [table.name for table in self.tables]),
            ("setting", [setting.full for setting in self.settings]),
        ):
            refuse_twice(what, names)

    @property
    def fingerprint(self) -> str:
        """What the data are known by: all true counts, their names and codes."""
        found = sha256()
        for cube in self.cubes:
            found.update(repr((cube.names, cube.codes)).encode())
            found.update(cube.counts.tobytes())
        for table in self.tables:
            found.update(repr((table.name, table.by, table.where, table.cube)).encode())
        if self.dataset is not None:
            found.update(self.dataset.read_bytes())
        return found.hexdigest()


def refuse_twice(what: str, names: Sequence[str]) -> None:
    """Raise where two tables or settings have one name."""
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ParameterError(f"every {what} needs a name of its own. Twice: {twice[0]}.")


def named(kind: str, name: str, choices: Sequence[str]) -> str:
    """Return a name that is among the choices, or raise with the choices."""
    if name not in choices:
        raise unknown(kind, name, choices)
    return name
