"""The description of a data set: dataset.toml, read and checked before any data are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from discreet.build.categories import (
    Areas,
    Categories,
    Grouping,
    read_areas,
    read_categories,
    read_grouping,
    taken_label,
)
from discreet.build.engine import EngineAt, read_engine
from discreet.build.formats import FORMATS
from discreet.build.steps import BaseStep, Given, Step, SwapStep, check_step, read_steps
from discreet.errors import ParameterError, unknown
from discreet.policy import PRESET, Place, Policy, parse_policy, policy_values
from discreet.population.keys import DEFAULT_MODULUS, check_modulus
from discreet.population.names import GEOGRAPHY, identifier
from discreet.protect.keys import FRACTIONS
from discreet.toml import Mistakes, Section, load, texts

DEFAULT = f"{PRESET}rounding-3"
"""The policy of a data set that names none: protected all the same."""

ENCODINGS = ("utf-8", "latin-1", "utf-16")


@dataclass(frozen=True)
class Source:
    """Where the records are: files of one structure, and the columns that are not variables."""

    files: tuple[Path, ...]
    format: str
    record_id: str | None = None
    household_id: str | None = None
    count: str | None = None
    key: tuple[str, int] | None = None
    delimiter: str = ","
    encoding: str = "utf-8"

    @property
    def modulus(self) -> int:
        """What record keys are below; those that are fractions are kept as whole numbers."""
        given = DEFAULT_MODULUS if self.key is None else self.key[1]
        return FRACTIONS if given == 1 else given


@dataclass(frozen=True)
class Column:
    """A variable as it is described: its column, its categories, its coarser levels."""

    id: str
    label: str
    definition: str
    column: str
    categories: Categories | None
    groupings: tuple[Grouping, ...]


@dataclass(frozen=True)
class Dataset:
    """A checked description; no file of data has been opened yet."""

    path: Path
    id: str
    title: str
    unit: str
    source: Source
    columns: tuple[Column, ...]
    areas: tuple[Areas, ...]
    policy: Policy
    policy_values: Mapping[str, Any]
    accept_differencing: tuple[str, ...] = ()
    protect: tuple[Step, ...] = ()
    impossible: tuple[str, ...] = ()
    engine: EngineAt = field(default_factory=EngineAt)

    @classmethod
    def read(cls, path: Path) -> Dataset:
        """Return the data set a dataset.toml describes, or every mistake in it at once."""
        return cls.of(load(path), path)

    @classmethod
    def of(cls, values: dict[str, Any], path: Path) -> Dataset:
        """Return the data set of these values; paths in them are relative to the folder of one."""
        mistakes = Mistakes(str(path))
        top = Section(values, path.name)
        folder = path.parent

        name = mistakes.gather(lambda: identifier(top.take("id", str), "the id of a data set"))
        title = mistakes.gather(lambda: top.take("title", str))
        unit = mistakes.gather(lambda: top.take("unit", str, default="records"))
        engine = (
            mistakes.gather(lambda: read_engine(top.take("engine", dict, default={}), folder))
            or EngineAt()
        )
        source = mistakes.gather(lambda: _source(top.take("source", str, dict), folder, engine))
        variables = mistakes.gather(lambda: top.take("variables", dict)) or {}
        columns = [
            mistakes.gather(partial(_column, key, values, folder))
            for key, values in variables.items()
        ]
        areas = mistakes.gather(lambda: _geography(top.take("geography", list, default=[]), folder))
        policy = mistakes.gather(lambda: _policy(top.take("policy", str, default=DEFAULT), folder))
        accepted = mistakes.gather(lambda: texts(top.take("accept_differencing", list, default=[])))
        protect = mistakes.gather(lambda: read_steps(top.take("protect", list, default=[])))
        impossible = mistakes.gather(lambda: texts(top.take("impossible", list, default=[])))
        mistakes.gather(top.end)
        mistakes.end()
        if not columns and not areas:
            raise ParameterError(f"{path}: a data set must have at least one variable.")
        dataset = cls(
            path, name, title, unit, source, tuple(columns), areas, policy[0], policy[1], accepted,
            protect, impossible, engine,
        )  # fmt: skip
        mistakes.gather(dataset._check_names)
        mistakes.gather(dataset._check_policy)
        for step in protect:
            mistakes.gather(partial(check_step, step, dataset.given()))
        mistakes.end()
        return dataset

    def _check_names(self) -> None:
        names = [column.id for column in self.columns] + [area.id for area in self.areas]
        names += [grouping.id for column in self.columns for grouping in column.groupings]
        for name in names:
            if name == GEOGRAPHY:
                raise ParameterError("no level may have the id 'geography', which is all of them.")
            if names.count(name) > 1:
                raise ParameterError(f"ids must be unique in a data set. Given twice: {name}.")
        for name in self.accept_differencing:
            choices = [grouping.id for column in self.columns for grouping in column.groupings]
            if name not in choices:
                raise unknown("grouping", name, choices)

    def _check_policy(self) -> None:
        """Refuse a policy that relies on protection or keys which the description lacks."""
        names = [step.name for step in self.protect]
        for tier in self.policy.tiers.values():
            number = None if tier.protection.build is None else tier.protection.build.keys
            if tier.protection.plain_keys and number and self.source.modulus % number:
                raise ParameterError(
                    f"the modulus of the keys must be a multiple of {number}, the keys of the "
                    f"look-up of tier '{tier.id}'. Got {self.source.modulus}."
                )
            if tier.protection.place is not Place.OUTPUT and not names:
                raise ParameterError(
                    f"tier '{tier.id}' of the policy needs records that are protected before any "
                    "table. Describe how in [[protect]]."
                )
            if tier.protection.beforehand and not {SwapStep.name, BaseStep.name} & {*names}:
                raise ParameterError(
                    f"tier '{tier.id}' of the policy leaves tables alone, so that [[protect]] must "
                    f"have {SwapStep.name}, whose risk is known, or {BaseStep.name}. "
                    f"Got {', '.join(names)}."
                )

    def given(self) -> Given:
        """Return what steps may refer to."""
        variables = {column.id: column.id for column in self.columns}
        levels = {g.id: column.id for column in self.columns for g in column.groupings}
        areas = tuple(area.id for area in self.areas)
        source = self.source
        return Given(
            tuple(variables),
            {**variables, **levels, **dict.fromkeys(areas, "")},
            areas,
            source.record_id is not None,
            source.household_id is not None,
            source.count is not None,
            source.key is not None,
        )


def _source(given: str | dict[str, Any], folder: Path, engine: EngineAt) -> Source:
    section = Section({"files": given} if isinstance(given, str) else given, "source")
    if (engine.path or engine.table) and "files" not in section:
        return _described(section, (), "parquet")
    files = section.take("files", str, list)
    paths = _files([files] if isinstance(files, str) else list(texts(files)), folder)
    suffixes = sorted({path.suffix.lower() for path in paths})
    form = section.choice("format", FORMATS.values(), default=None)
    if form is None:
        if len(suffixes) != 1 or suffixes[0] not in FORMATS:
            raise ParameterError(
                "the files of a source must all end in .csv or all in .parquet, or 'format' must "
                f"say which they are. Got {', '.join(suffixes)}."
            )
        form = FORMATS[suffixes[0]]
    return _described(section, paths, form)


def _described(section: Section, paths: tuple[Path, ...], form: str) -> Source:
    """Return the source whose files are known."""
    if section.take("weight", str, default=None) is not None:
        raise ParameterError(
            "weights are not supported yet: every record counts once, and protecting weighted "
            "counts needs methods of its own. Take 'weight' out of the source."
        )
    count = section.take("count", str, default=None)
    record_id = section.take("record_id", str, default=None)
    key = None
    if inner := section.inner("key"):
        key = (inner.take("column", str), check_modulus(inner.take("modulus", int)))
        inner.end()
    if record_id is None and count is None and key is None:
        raise ParameterError(
            "source must name the 'record_id' column (or the 'key' column if record keys are "
            "already assigned, or the 'count' column of a hypercube): without it the same person "
            "would get new noise at every build."
        )
    delimiter = section.take("delimiter", str, default=",")
    if len(delimiter) != 1 or delimiter in '"\n\r':
        raise ParameterError(f"delimiter must be one character. Got {delimiter!r}.")
    encoding = section.choice("encoding", ENCODINGS, default="utf-8")
    household = section.take("household_id", str, default=None)
    section.end()
    return Source(paths, form, record_id, household, count, key, delimiter, encoding)


def _files(patterns: list[str], folder: Path) -> tuple[Path, ...]:
    """Return the files that the patterns name, each once, in order; only files on this machine."""
    found: dict[Path, Path] = {}
    for pattern in patterns:
        if "://" in pattern:
            raise ParameterError(f"sources must be files on this machine. Got '{pattern}'.")
        if any(c in pattern for c in "*?"):
            base = Path(pattern).anchor or folder
            matched = sorted(Path(base).glob(str(Path(pattern).relative_to(Path(pattern).anchor))))
        else:
            matched = [folder / pattern]
        if not matched:
            raise ParameterError(f"no file matches '{pattern}' in {folder}.")
        for path in matched:
            if not path.is_file():
                raise ParameterError(f"there is no file {path}")
            if any(c in str(path.resolve()) for c in "*?["):
                raise ParameterError(f"the path of a source must not contain * ? or [. Got {path}.")
            found.setdefault(path.resolve(), path)
    return tuple(found.values())


def _column(key: str, values: object, folder: Path) -> Column:
    name = identifier(key, "the id of a variable")
    if name == GEOGRAPHY:
        raise ParameterError("'geography' is described by [[geography]], not as a variable.")
    section = Section(values, f"variables.{name}")
    label = taken_label(section, name)
    definition = section.take("definition", str, default="")
    column = section.take("column", str, default=name)
    span = section.take("range", list, default=None)
    listed = section.take("categories", str, dict, default=None)
    categories = read_categories(listed, span, folder, section.name)
    levels = section.take("levels", dict, default={})
    section.end()
    if levels and categories is None:
        raise ParameterError(
            f"{section.name} has levels, so its categories must be listed, not read from the data."
        )
    groupings = tuple(
        read_grouping(identifier(level, "the id of a level"), given, categories, folder, name)
        for level, given in levels.items()
        if categories is not None
    )
    return Column(name, label, definition, column, categories, groupings)


def _geography(levels: list[Any], folder: Path) -> tuple[Areas, ...]:
    areas = tuple(read_areas(level, i, len(levels), folder) for i, level in enumerate(levels))
    for smaller, larger in pairwise(areas):
        if smaller.parents is None and (larger.column is None or areas[0].column is None):
            raise ParameterError(
                f"geography '{smaller.id}' must say what each area lies in: a 'parent' column in "
                f"its categories file, or a 'column' of the data for '{larger.id}'."
            )
    if areas and areas[0].column is None:
        raise ParameterError(f"geography '{areas[0].id}', the smallest, must have a 'column'.")
    return areas


def _policy(given: str, folder: Path) -> tuple[Policy, dict[str, Any]]:
    values = policy_values(given, folder)
    return parse_policy(values, given, given), values
