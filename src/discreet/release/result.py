"""What comes out: a release that anyone may see, with a record that only the custodian may."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.query import Question
from discreet.risk import PublicQuality
from discreet.table import ProtectedTable
from discreet.table.showing import table_html
from discreet.types import Floats, Integers

if TYPE_CHECKING:
    from discreet.policy import Protection
    from discreet.release.record import Record
    from discreet.release.signature import Signer


@dataclass(frozen=True)
class Hint:
    """A coarser question that may be asked instead, and what it changes in words."""

    text: str
    question: Question

    @property
    def by(self) -> str:
        """The variables, as they are asked for."""
        return self.question.by

    @property
    def where(self) -> str:
        """The filters, as they are asked for."""
        return self.question.where


@dataclass(frozen=True)
class Provenance:
    """Where a release comes from; nothing in it helps an intruder."""

    dataset: str
    title: str
    unit: str
    question: str
    totals: str
    tier: str
    data_version: str
    data_date: str
    policy_version: str
    table: str = ""
    """The class of questions whose released table the figures are taken from."""


@dataclass(frozen=True)
class Withheld:
    """An area that is not available."""

    code: str
    label: str


@dataclass(frozen=True, eq=False, repr=False)
class Release:
    """A released table. Everything but `record` is a function of the released figures alone."""

    table: ProtectedTable
    population: str
    filters: tuple[tuple[str, tuple[str, ...]], ...]
    quality: Callable[[], PublicQuality] = field(repr=False)
    notes: tuple[str, ...]
    provenance: Provenance
    withheld: tuple[Withheld, ...] = ()
    areas: int = 0
    hints: tuple[Hint, ...] = ()
    record: Record | None = field(default=None, repr=False)
    signer: Signer | None = field(default=None, repr=False)
    heading: str = ""
    # What was applied to this very table: official figures have another one than their tier.
    protection: Protection | None = field(default=None, repr=False)

    @cached_property
    def public_quality(self) -> PublicQuality:
        """How close the figures are, as far as readers may know; worked out for who asks."""
        return self.quality()

    @property
    def title(self) -> str:
        """What the table shows, in words."""
        if self.heading:
            return self.heading
        names = [_in_sentence(dimension.label) for dimension in self.table.dimensions]
        head = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
        return f"{self.provenance.unit.capitalize()} by {head}"

    def __repr__(self) -> str:
        shape = " × ".join(map(str, self.table.shape))
        return f"Release({self.title!r}, {shape})"

    def _repr_html_(self) -> str:
        said = [text for text in (self.availability,) if text]
        caption = f"{self.title}. {self.population}"
        return table_html(caption, self.table.dimensions, self.table._shown(), [*said, *self.notes])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """Return the figures; there is no array where some are withheld."""
        return self.table.__array__(dtype, copy)

    def to_arrow(self, labels: bool = False) -> Any:
        """Return the cells as an Arrow table: codes (or labels), then the value.

        >>> dc.open("people").release("town").to_arrow(labels=True)["town"].to_pylist()
        ['Aston', 'Bexby', 'Corley']
        """
        return self.table.to_arrow(labels)

    def to_pandas(self, labels: bool = False) -> Any:
        """Return the cells as a pandas data frame: codes (or labels), then the value.

        >>> dc.open("people").release("town").to_pandas(labels=True)["town"].tolist()
        ['Aston', 'Bexby', 'Corley']
        """
        return self.table.to_pandas(labels)

    def to_polars(self, labels: bool = False) -> Any:
        """Return the cells as a polars data frame: codes (or labels), then the value.

        >>> dc.open("people").release("town").to_polars().columns
        ['town', 'value']
        """
        return self.table.to_polars(labels)

    def to_xarray(self, labels: bool = False) -> Any:
        """Return the figures as an xarray array with a coordinate for each dimension.

        >>> dc.open("people").release("town,health").to_xarray(labels=True).dims
        ('town', 'health')
        """
        return self.table.to_xarray(labels)

    def plot(self, ax: Any = None) -> Any:
        """Return a bar chart of the figures, totals left out; for tables of one or two variables.

        `ax` are axes of matplotlib to draw on. A withheld figure has no bar.

        >>> dc.open("people").release("town").plot().get_title()
        'People by town'
        """
        from discreet.table.plot import bars

        return bars(self.table, self.title, self.provenance.unit, ax)

    @property
    def availability(self) -> str | None:
        """How many areas are available, where some are not."""
        if not self.withheld:
            return None
        return f"{self.areas - len(self.withheld):,} of {self.areas:,} areas available"

    @cached_property
    def document(self) -> dict[str, Any]:
        """All that goes with the figures, as plain values."""
        from discreet.release.text import meta

        return meta(self)

    @cached_property
    def facts(self) -> list[tuple[str, str]]:
        """All that goes with the figures, as rows for people: a head and a text."""
        from discreet.release.text import facts

        return facts(self.document)

    @cached_property
    def proof(self) -> dict[str, Any] | None:
        """What shows that this release is the store's, unaltered; None without a key to sign."""
        from discreet.release.signature import statement

        if self.signer is None:
            return None
        return self.signer.sign(statement(self.table, self.document, self.facts))

    def write(
        self, path: str | PathLike[str], format: str = "csv", csvw: bool = False
    ) -> list[Path]:
        """Write the release to a file, whole or not at all; return the files, the table first.

        Formats: json-stat, csv, csv-layout, xlsx, px, sdmx-csv, sdmx-ml, parquet, html. Tidy
        files have their notes beside them in FILE.meta.json. With `csvw` a CSV file has its
        columns and their types beside it too, as CSV on the Web in FILE-metadata.json, which is
        not signed. The record is in none of them.

        >>> release = dc.open("people").release("town,health")
        >>> [path.name for path in release.write("health.csv")]
        ['health.csv', 'health.csv.meta.json']
        """
        from discreet.release.formats import write

        return write(self, path, format, csvw)

    def as_dict(self) -> dict[str, Any]:
        """Return everything that is public, as plain values.

        >>> found = dc.open("people").release("town").as_dict()
        >>> found["title"], found["withheld"]
        ('People by town', [])
        """
        table = self.table

        def shown(figures: Integers | Floats) -> list[float | None]:
            told = figures.astype(object)
            told[table.withheld] = None
            return list(told.ravel().tolist())

        found: dict[str, Any] = {
            "title": self.title,
            "population": self.population,
            "dimensions": [
                {
                    "variable": d.variable,
                    "level": d.level,
                    "label": d.label,
                    "codes": list(d.codes),
                    "labels": list(d.labels),
                }
                for d in table.dimensions
            ],
            "values": shown(table.values),
            "filters": {name: list(labels) for name, labels in self.filters},
            "notes": list(self.notes),
            "quality": self.public_quality.as_dict(),
            "withheld": [area.code for area in self.withheld],
            "availability": self.availability,
            "hints": [{"text": h.text, "by": h.by, "where": h.where} for h in self.hints],
            "provenance": vars(self.provenance),
        }
        return found | {name: shown(array) for name, array in table.told.items()}


def _in_sentence(label: str) -> str:
    """Return a label as it stands inside a sentence; abbreviations keep their capitals."""
    return label if label[1:2].isupper() else label[:1].lower() + label[1:]
