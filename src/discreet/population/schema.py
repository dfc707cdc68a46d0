"""What a population knows about its variables: categories, coarser levels, geography.

Inside the program a category is its index; codes and labels are for people. The first level of a
variable is its finest, and every other level maps each of its indices to one of its own.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError, first_few, unknown
from discreet.population.names import GEOGRAPHY, identifier
from discreet.types import Flags

_KEPT = 4_096  # what is remembered of a schema

MAX_CATEGORIES = 65_535
"""The most categories a code column can hold (two bytes); areas are not held in a column."""


@dataclass(frozen=True, eq=False, repr=False)
class Level:
    """One way of grouping a variable: its categories, and where each finest category goes.

    `of[i]` is the category of this level that finest category i belongs to.
    """

    id: str
    label: str
    codes: tuple[str, ...]
    labels: tuple[str, ...]
    of: NDArray[np.uint32]

    def __post_init__(self) -> None:
        identifier(self.id, "the id of a level")
        if len(self.codes) != len(self.labels) or len(set(self.codes)) != len(self.codes):
            raise ParameterError(f"level '{self.id}' must have one label for each distinct code.")
        if not self.codes:
            raise ParameterError(f"level '{self.id}' must have at least one category.")
        if len(self.of) and int(self.of.max()) >= len(self.codes):
            raise ParameterError(f"level '{self.id}' maps to a category that it does not have.")
        self.of.setflags(write=False)

    def __len__(self) -> int:
        return len(self.codes)

    def __repr__(self) -> str:
        return f"Level({self.id!r}, {len(self)} categories)"

    @cached_property
    def position(self) -> dict[str, int]:
        """The index of each code."""
        return {code: i for i, code in enumerate(self.codes)}

    @cached_property
    def member(self) -> NDArray[np.intp]:
        """A finest category that belongs to each category, −1 where none does."""
        found = np.full(len(self), -1, np.intp)
        found[self.of] = np.arange(len(self.of))
        return found

    @cached_property
    def full(self) -> bool:
        """Whether a finest category belongs to each category."""
        return bool(self.member.min() >= 0)

    @cached_property
    def labelled(self) -> dict[str, list[int]]:
        """The indices of the categories with each label, in whatever case it is written."""
        found: dict[str, list[int]] = {}
        for i, label in enumerate(self.labels):
            found.setdefault(label.casefold(), []).append(i)
        return found

    def holding(self, finest: Flags) -> Flags:
        """Return which categories hold at least one of the finest categories marked."""
        found = np.zeros(len(self), bool)
        found[self.of[finest]] = True
        return found

    def can_say(self, finest: Flags) -> bool:
        """Whether the finest categories marked are whole categories of this level."""
        return bool(np.array_equal(self.holding(finest)[self.of], finest))

    def refines(self, other: Level) -> bool:
        """Whether each category of this level lies in one category of the other."""
        joint = np.unique(self.of.astype(np.int64) * len(other) + other.of)
        return len(joint) == len(np.unique(self.of))

    def members(self, codes: Iterable[str]) -> Flags:
        """Return which finest categories belong to one of these codes."""
        chosen = np.zeros(len(self), bool)
        chosen[[self.index(code) for code in codes]] = True
        return chosen[self.of]

    def index(self, code: str) -> int:
        """Return the index of a code, or of a label of one category; else name the choices."""
        if code in self.position:
            return self.position[code]
        meant = self.labelled.get(code.casefold(), [])
        if len(meant) > 1:
            raise ParameterError(
                f"'{code}' must be one category of '{self.id}'. It is the label of {len(meant)}; "
                f"use a code: {first_few([self.codes[i] for i in meant], 20)}"
            )
        if not meant:
            raise unknown(f"category of '{self.id}'", code, self.codes, self.labels)
        return meant[0]


@dataclass(frozen=True, eq=False)
class Variable:
    """A variable with its levels, the finest first."""

    id: str
    label: str
    levels: tuple[Level, ...]
    definition: str = ""

    def __post_init__(self) -> None:
        identifier(self.id, "the id of a variable")
        for level in self.levels:
            if len(level.of) != len(self.finest):
                raise ParameterError(
                    f"level '{level.id}' must map each of the {len(self.finest)} categories of "
                    f"'{self.id}'. It maps {len(level.of)}."
                )

    @property
    def finest(self) -> Level:
        """The level at which records are held."""
        return self.levels[0]

    @cached_property
    def chain(self) -> tuple[Level, ...]:
        """The levels that are nested in one another, the finest first.

        Tables are made at these. A grouping that cuts across a finer one is not among them: its
        figures are sums.
        """
        found = [self.finest]
        for level in sorted(self.levels[1:], key=len, reverse=True):
            if len(level) < len(found[-1]) and found[-1].refines(level):
                found.append(level)
        return tuple(found)

    @cached_property
    def ranks(self) -> dict[str, int]:
        """By level the place, from the coarsest, of the coarsest of the chain that refines it."""
        chain = list(enumerate(reversed(self.chain), 1))
        return {
            level.id: next(rank for rank, other in chain if other is level or other.refines(level))
            for level in self.levels
        }

    @property
    def is_geography(self) -> bool:
        """Whether the levels are areas, each nested in the next."""
        return self.id == GEOGRAPHY

    def level(self, name: str) -> Level:
        """Return a level by its id; the error for an unknown one lists the choices."""
        for level in self.levels:
            if level.id == name:
                return level
        raise unknown(f"level of '{self.id}'", name, (level.id for level in self.levels))

    def above(self, level: Level) -> tuple[Level, ...]:
        """Return the levels after this one: for areas, the larger ones."""
        return self.levels[self.levels.index(level) + 1 :]

    def coarsest(self, finest: Flags) -> Level:
        """Return the coarsest level that can say which finest categories are marked."""
        return next(level for level in reversed(self.levels) if level.can_say(finest))

    def to_json(self) -> dict[str, Any]:
        """Return what `from_json` reads back; the finest level maps to itself."""
        levels = [
            {
                "id": level.id,
                "label": level.label,
                "codes": level.codes,
                "labels": level.labels,
                "of": None if level is self.finest else level.of.tolist(),
            }
            for level in self.levels
        ]
        return {
            "id": self.id,
            "label": self.label,
            "definition": self.definition,
            "levels": levels,
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Variable:
        """Return the variable that `to_json` wrote."""
        levels = []
        for level in data["levels"]:
            codes, labels = tuple(level["codes"]), tuple(level["labels"])
            of = np.arange(len(codes)) if level["of"] is None else level["of"]
            levels.append(
                Level(level["id"], level["label"], codes, labels, np.asarray(of, np.uint32))
            )
        return cls(data["id"], data["label"], tuple(levels), data["definition"])


@dataclass(frozen=True, eq=False, repr=False)
class Schema:
    """The variables of a data set in their order; the geography, if there is one, is the last."""

    id: str
    title: str
    unit: str
    variables: tuple[Variable, ...]
    # Combinations of categories that nobody can have, each as the text of filters.
    impossible: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        identifier(self.id, "the id of a data set")
        names = [level.id for variable in self.variables for level in variable.levels]
        names += [v.id for v in self.variables if v.id != v.finest.id]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ParameterError(f"ids must be unique in a data set. Given twice: {twice[0]}.")

    def __repr__(self) -> str:
        return f"Schema({self.id!r}, {len(self.variables)} variables)"

    @property
    def geography(self) -> Variable | None:
        """The geography, if there is one."""
        return next((v for v in self.variables if v.is_geography), None)

    @property
    def columns(self) -> tuple[Variable, ...]:
        """The variables that are held as code columns: all but the geography."""
        return tuple(v for v in self.variables if not v.is_geography)

    @cached_property
    def structure(self) -> str:
        """A digest of what tables can be made: variables, levels and codes, without any label."""
        found = hashlib.blake2b(digest_size=12)
        for variable in self.variables:
            for level in variable.levels:
                found.update(json.dumps([variable.id, level.id, level.codes]).encode())
                found.update(level.of.astype("<u4").tobytes())
        return found.hexdigest()

    @cached_property
    def memo(self) -> dict[Any, Any]:
        """What follows from the schema alone and was worked out, see `kept`."""
        return {}

    def kept(self, key: Any, make: Callable[[], Any]) -> Any:
        """Return what follows from the schema under a key, made once while there is room."""
        found = self.memo.get(key)
        if found is None:
            if len(self.memo) >= _KEPT:
                self.memo.clear()
            found = self.memo[key] = make()
        return found

    @cached_property
    def _names(self) -> dict[str, tuple[Variable, Level]]:
        found = {}
        for variable in self.variables:
            found[variable.id] = (variable, variable.finest)
            found |= {level.id: (variable, level) for level in variable.levels}
        return found

    def find(self, name: str, level: str | None = None) -> tuple[Variable, Level]:
        """Return the variable and level that a name stands for (`age`, `age_band`, `la`)."""
        if name not in self._names:
            raise unknown("variable", name, self._names)
        variable, found = self._names[name]
        return variable, found if level is None else variable.level(level)

    def to_json(self) -> dict[str, Any]:
        """Return what `from_json` reads back."""
        variables = [variable.to_json() for variable in self.variables]
        found = {"id": self.id, "title": self.title, "unit": self.unit, "variables": variables}
        return {**found, "impossible": list(self.impossible)} if self.impossible else found

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Schema:
        """Return the schema that `to_json` wrote."""
        variables = tuple(Variable.from_json(variable) for variable in data["variables"])
        impossible = tuple(data.get("impossible", ()))
        return cls(data["id"], data["title"], data["unit"], variables, impossible)
