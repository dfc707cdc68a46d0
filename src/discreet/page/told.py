"""What a page says of figures, from what was applied to them: notes, and how far off they may be.

The same facts that the notes of a release tell, in the words and the language of the page.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from discreet.page.grid import of_sums
from discreet.page.quality import Quality, SumLine, Worked, quality, sum_lines
from discreet.page.ranges import AreaRanges, by_area, of_figures
from discreet.page.texts import Texts
from discreet.policy import Margins, Protection
from discreet.query import QuestionClass
from discreet.release import Release
from discreet.release.beforehand import is_base
from discreet.release.told import BASE, BEFOREHAND, NINE_IN_TEN, PERTURBED
from discreet.service import Opened


@dataclass(frozen=True)
class Told:
    """What readers are told; the kind is unaltered, changed, beforehand or both.

    Beforehand means that records were altered before any table was made, changed that figures
    were, after they were counted.
    """

    kind: str
    notes: tuple[str, ...]
    far: str
    source: str
    quality: Quality | None
    lines: tuple[SumLine, ...] = ()
    """How far off sums of so many figures may be; empty where no figure is a sum."""
    usual: bool = False
    """Whether ranges hold the true count in nine of ten cases, not always."""
    worked: tuple[Worked, ...] = ()
    """Some of the figures with such ranges."""
    by_area: tuple[AreaRanges, ...] = ()
    """Such ranges by area and number of variables."""

    @property
    def changed(self) -> bool:
        """Whether figures were changed after they were counted."""
        return self.kind in ("changed", "both")


def of_release(release: Release, opened: Opened, t: Texts) -> Told:
    """Return what is told of a table: of the protection applied to it, not of its tier's.

    Whether figures were changed, and records altered, is what the notes of the release say.
    """
    protection = release.protection
    assert protection is not None  # the pipeline says it with every release
    source = QuestionClass.named(release.provenance.table, opened.schema)
    totals, dimensions = Margins.of(release.provenance.totals), max(len(source.levels), 1)
    kind = _kind(PERTURBED in release.notes, BEFOREHAND in release.notes)
    found = told(protection, totals, dimensions, kind, t)
    if BASE in release.notes:
        found = _of_base(found, NINE_IN_TEN in release.notes, t)
        found = replace(found, worked=of_figures(release.table, t) if found.usual else ())
    return found if release.table.parts is None else _of_sums(found, release, dimensions, t)


def _of_base(told: Told, ranges: bool, t: Texts) -> Told:
    """Return what is told of tables counted on a protected base, with ranges or without."""
    before, *after = told.notes
    if not ranges:
        return replace(told, notes=(before, t("notes.base"), *after))
    notes = (before, t("notes.base"), t("notes.nine_in_ten"), *after)
    return replace(told, notes=notes, far=t("quality.base"), usual=True)


def _of_sums(told: Told, release: Release, dimensions: int, t: Texts) -> Told:
    """Return what is told of a table in which figures are sums of published ones."""
    table, protection = release.table, release.protection
    assert table.parts is not None
    assert protection is not None
    outer = np.ones(table.parts.shape, bool)
    outer[table.inner] = False
    notes = list(told.notes)
    if release.provenance.totals == Margins.PROTECTED and (table.parts[outer] > 1).any():
        notes[-1] = t("notes.some")
    if not of_sums(table) or not told.changed:
        return replace(told, notes=tuple(notes))
    notes.insert(-1, t("notes.sums"))
    shown = [int(number) for number in np.unique(table.parts[~table.withheld])]
    lines = sum_lines(protection, dimensions, told.kind == "both", shown)
    far = told.far
    if told.kind != "both":
        far = t("sums.far" if lines else "sums.far_untold")
    return replace(told, notes=tuple(notes), far=far, lines=lines)


def of_tier(opened: Opened, t: Texts) -> Told:
    """Return what is told of the tables of a data set, official figures aside."""
    protection = opened.tier.protection
    dimensions = 2 if 2 in protection.takes else protection.takes[0]
    beforehand = bool(opened.version.manifest.get("protected_beforehand"))
    kind = _kind(protection.build is not None, beforehand)
    found = told(protection, protection.margins, dimensions, kind, t)
    if not is_base(opened.version):
        return found
    lines = by_area(opened, t)
    found = _of_base(found, bool(lines), t)
    return replace(found, by_area=lines, far=t("quality.base_by_area") if lines else found.far)


def _kind(changed: bool, beforehand: bool) -> str:
    return (("unaltered", "beforehand"), ("changed", "both"))[changed][beforehand]


def told(protection: Protection, totals: Margins, dimensions: int, kind: str, t: Texts) -> Told:
    """Return what is told of a table with so many dimensions and these totals."""
    found = None
    if kind in ("changed", "both"):
        found = quality(protection, dimensions, kind == "both", t)
    far = t(f"quality.{kind}") if found is None or kind == "both" else found.said(t)
    notes = _notes(protection, totals, dimensions, kind, t)
    return Told(kind, notes, far, t(f"chart.said.{kind}"), found)


def _notes(
    protection: Protection, totals: Margins, dimensions: int, kind: str, t: Texts
) -> tuple[str, ...]:
    if kind == "unaltered":
        return (t("notes.unaltered"),)
    if kind == "beforehand":
        return (t("notes.beforehand"), t(f"notes.{_unchanged(protection)}"))
    method = protection.effect(dimensions).told
    before = (t("notes.beforehand"),) if kind == "both" else ()
    adding = t(f"notes.{_adding_up(protection, totals, dimensions)}")
    return (t("notes.perturbed"), *((method,) if method else ()), *before, adding)


def _unchanged(protection: Protection) -> str:
    """Return which text says that altered records were counted and no more was done.

    Official figures do not add up to other tables, whose figures are changed.
    """
    return "adds_up" if protection.beforehand else "no_further"


def _adding_up(protection: Protection, totals: Margins, dimensions: int) -> str:
    """Return which text says whether parts add up to totals."""
    if totals is Margins.PROTECTED:
        bounded = protection.effect(dimensions).largest_change is not None
        return "protected" if bounded else "protected_unbounded"
    if totals is Margins.SUMMED:
        every = {a for size in range(dimensions) for a in combinations(range(dimensions), size)}
        return "summed_kept" if every <= set(protection.keeps(dimensions).margins) else "summed"
    return "none"
