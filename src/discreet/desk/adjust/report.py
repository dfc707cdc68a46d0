"""What `adjust` answers: what moved how far, and what is left unprotected."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.desk.adjust.audit import Digits, Exposure, digits
from discreet.desk.adjust.coarse import sums_off
from discreet.desk.adjust.complements import Withheld
from discreet.desk.adjust.method import AdjustedTable
from discreet.desk.charts import GREY, ORANGE, Chart, axis, chart, colours
from discreet.desk.report import Report, named
from discreet.errors import ParameterError
from discreet.table.jj import JJTable
from discreet.table.sheet import Sheet
from discreet.types import Flags, Floats, Integers
from discreet.utility.change import ChangeListing, change_listing, listing_text, plain_rows

# The distribution of values says something of tables of at least so many cells.
LISTED = 200
LOG = {"type": "log", "nice": False}
STOPPED = "STOPPED before the end: the changes may be larger than need be."


class ChangeReport(Report):
    """A report on figures that were moved: they are written where all that must be is protected."""

    name: str

    @property
    @abstractmethod
    def released(self) -> bool:
        """Whether the figures may be written: all is protected, or the rest withheld."""

    @property
    @abstractmethod
    def custodian(self) -> Sheet:
        """What the custodian must know beside what is released. Not for publication."""

    @abstractmethod
    def _outcome(self) -> list[str]:
        """Return the first lines of the report."""

    @property
    @abstractmethod
    def _moved(self) -> tuple[Floats, Floats, Flags, Integers]:
        """True and released figures, which are sensitive, and how many cells each stands for."""

    @cached_property
    def _listing(self) -> ChangeListing:
        return change_listing(*self._moved)

    def write(self, path: str | Path) -> None:
        """Write what is released as CSV; raise where cells are not protected."""
        if not self.released:
            raise ParameterError("\n".join(self._outcome()))
        super().write(path)

    def plot(self) -> Chart:
        """Return the percent change of each figure by its true value."""
        true, released, sensitive, many = self._moved
        there = (true > 0) & (many > 0)
        percent = 100 * (released[there] - true[there]) / true[there]
        rows = [
            {"value": value, "change": change, "cell": "sensitive" if flag else "other"}
            for value, change, flag in zip(
                true[there].tolist(), percent.tolist(), sensitive[there], strict=True
            )
        ]
        return chart(
            f"{self.name}: change of the cells",
            rows,
            mark={"type": "point", "filled": True, "opacity": 0.8},
            encoding={
                "x": axis("value", "quantitative", "True value", scale=LOG),
                "y": axis("change", "quantitative", "Change, percent"),
                "color": colours("cell", "Cell", {"sensitive": ORANGE, "other": GREY}),
            },
            width=420,
            height=260,
        )


@dataclass(frozen=True, eq=False, repr=False)
class AdjustReport(ChangeReport):
    """An adjusted table: `result` holds true and released figures, `exposure` what can be proved.

    `held` are the cells left empty: those that cannot be protected, those that changed too much,
    and others for their sake. Without it nothing is released while a cell is short.
    """

    name: str
    result: AdjustedTable
    above: float | None = None
    exposure: Exposure | None = None
    held: Withheld | None = None

    @property
    def released(self) -> bool:
        """Whether the table may be written: all is protected, or the rest left empty."""
        if self.result.status == "not converged":
            return False
        if self.held is None:
            return not self.result.short.any()
        return self.held.secondary is not None

    @property
    def _empty(self) -> Flags:
        """The cells without a figure, where there may be any."""
        return np.zeros(self.result.short.shape, bool) if self.held is None else self.held.cells

    @cached_property
    def _rounded(self) -> Flags:
        """The cells whose figures are shown rounded."""
        return np.asarray(self.result.rounded & ~self._empty & ~self.result.short)

    @property
    def _shown(self) -> Floats:
        """The figures as they are released, rounded ones too."""
        return np.where(self._rounded, self.result.shown, self.result.values)

    @property
    def _sums_off(self) -> float:
        """By how much released figures miss their sums at most, because they are rounded."""
        there = self.result.published & ~self._empty & ~self.result.short
        figures = np.where(there, self._shown, np.nan)
        return sums_off(figures, self.result.cells.hierarchies)

    @property
    def _moved(self) -> tuple[Floats, Floats, Flags, Integers]:
        result = self.result
        shown = result.published & ~self._empty & ~self._rounded
        true = result.cells.values[shown]
        return true, result.values[shown], result.sensitive[shown], np.ones(len(true), np.int64)

    @cached_property
    def facts(self) -> dict[str, Any]:
        """Everything the report says, as plain values."""
        result = self.result
        shown, true = result.published, result.cells.values
        safe = shown & ~result.short & ~self._empty
        facts: dict[str, Any] = {
            "file": self.name,
            "status": str(result.status),
            "sensitive": int((result.sensitive & (true > 0)).sum()),
            "short": [result.cells.name(int(cell)) for cell in np.flatnonzero(result.short)],
            "decimals": result.decimals,
            "digits": digit_facts(digits(true[safe], self._shown[safe])),
            "cost": result.cost,
            "above_bound": result.gap if np.isfinite(result.gap) else None,
            "cells": int((shown & (true > 0)).sum()),
            "cells_in_all": result.parts[0].cells,
            "equations": result.parts[0].equations,
            "percent_change": plain_rows(self._listing.changes),
            "value_distribution": plain_rows(self._listing.values),
        }
        if self.above is not None:
            part = result.parts[1]
            facts["part"] = {
                "above": self.above,
                "cells": part.cells,
                "equations": part.equations,
                "sensitive": int(part.sensitive.sum()),
            }
        if self.held is not None:
            named_cells = np.flatnonzero(self.held.primary)
            facts["withheld"] = [result.cells.name(int(cell)) for cell in named_cells]
            secondary = self.held.secondary
            facts["complements"] = None if secondary is None else int(secondary.sum())
            facts["contributors_known"] = self.held.insiders
        if result.coarse is not None:
            facts["rounded"] = int(self._rounded.sum())
            facts["sums_off"] = self._sums_off
        if result.coarse is not None or self.held is not None:
            facts["quality"] = self.quality
        if self.exposure is not None:
            facts["intruder"] = self._intruder(self.exposure)
        return facts

    @property
    def quality(self) -> dict[str, Any]:
        """What the cells that are not sensitive, and not 0, look like to a reader."""
        result = self.result
        others = result.published & ~result.sensitive & (result.cells.values > 0)
        exact = others & ~self._empty & ~self._rounded & ~result.short
        true = result.cells.values[exact]
        change = np.abs(result.values[exact] - true) / true
        return {
            "cells": int(others.sum()),
            "figures": int(exact.sum()),
            "mean_change": float(change.mean()) if len(change) else 0.0,
            "largest_change": float(change.max(initial=0.0)),
        }

    def _intruder(self, exposure: Exposure) -> dict[str, Any]:
        open_cells = self.result.sensitive & ~self.result.short
        width = (exposure.high - exposure.low)[open_cells]
        return {
            "cells": int(open_cells.sum()),
            "exact": int((exposure.exact & open_cells).sum()),
            "direction_known": int(exposure.sided.sum()),
            "narrowest": None if not np.isfinite(width).any() else float(width.min()),
            "proof": str(exposure.proof.status),
        }

    @property
    def lines(self) -> list[str]:
        """The report as a person reads it."""
        facts = self.facts
        lines = self._outcome()
        if facts["status"] == "stopped":
            lines.append(STOPPED)
        more = facts["cells_in_all"] - facts["cells"]
        hidden = f"{more:,} more that are not published, " if more else ""
        lines.append(
            f"{facts['cells']:,} cells that are not 0, {hidden}{facts['equations']:,} equations."
        )
        if "part" in facts:
            part = facts["part"]
            lines.append(
                f"Moved: the part above {part['above']:,g}, {part['cells']:,} cells, "
                f"{part['equations']:,} equations, {part['sensitive']:,} sensitive."
            )
        if facts["decimals"] is None:
            lines.append("Figures have six decimals: none as those given, with fewer, were found.")
        if facts["digits"] is not None:
            lines.append(
                f"{facts['digits']['said']} Take true figures with all their digits, ask for a "
                f"protection of at least {2 * facts['digits']['step']:,.15g}, or move more figures "
                "with the norm l2."
            )
        if facts.get("rounded"):
            many = facts["rounded"]
            said = "1 figure is rounded: it" if many == 1 else f"{many:,} figures are rounded: they"
            share = 100 * (self.result.coarse or 0)
            lines.append(f"{said} would change by more than {share:g}%.")
        if "intruder" in facts:
            lines.append(_proved(facts["intruder"]))
        return [*lines, "", *listing_text(self._listing, facts["cells"] >= LISTED).splitlines()]

    def _outcome(self) -> list[str]:
        sensitive, short = self.facts["sensitive"], self.facts["short"]
        if self.held is not None and self.held.primary.any():
            return self._withheld(self.held, short)
        if short:
            return [
                f"NOT PROTECTED: {len(short):,} of {sensitive:,} sensitive cells cannot reach "
                f"their protection: {named(short)}.",
                "Nothing is written. Free fixed totals, raise the capacity, or leave these cells "
                "empty (withhold).",
            ]
        if self.facts["status"] == "not converged":
            return [
                "NOT ADJUSTED: no table was found that keeps what is fixed and all capacities; "
                "nothing is written."
            ]
        return [protected(self.name, sensitive, self.facts.get("sums_off", 0.0))]

    def _withheld(self, held: Withheld, short: list[str]) -> list[str]:
        far = int((held.primary & ~self.result.short).sum())
        lines = []
        if short:
            lines.append(
                f"NOT PROTECTED: {len(short):,} of {self.facts['sensitive']:,} sensitive cells "
                f"cannot reach their protection: {named(short)}."
            )
        if far:
            lines.append(f"{far:,} cells changed too much to be published.")
        if held.secondary is None:
            from_whom = ", from contributors too" if held.insiders else ""
            return [
                *lines,
                f"Nothing is written: no pattern protects these cells when empty{from_whom}.",
            ]
        more = int(held.secondary.sum())
        covered = (
            "Audited: they are as uncertain as asked, to every contributor as well."
            if held.insiders
            else "Contributors are not in the file: what they know was not reckoned with."
        )
        return [
            *lines,
            f"They are empty in {self.name}, and so {'is' if more == 1 else 'are'} {more:,} more, "
            "from which they could be computed.",
            covered,
        ]

    @property
    def sheets(self) -> dict[str, Sheet]:
        """The released figures; those that are withheld are empty."""
        result = self.result
        cells = np.flatnonzero(result.published)
        empty = (self._empty | result.short).flat[cells].tolist()
        name = "count" if result.cells.counts else "value"
        columns: dict[str, list[Any]] = {
            name: [
                None if hidden else figure
                for figure, hidden in zip(self._figures(self._shown), empty, strict=True)
            ]
        }
        if (any(empty) and self.held is not None) or self._rounded.any():
            columns["status"] = self._status(cells).tolist()
        return {self.name: result.cells.sheet(columns, cells, {name: self._text})}

    def _status(self, cells: Integers) -> NDArray[np.str_]:
        """Return what became of cells, in a word."""
        status = np.where(self._rounded, "rounded", "published")
        if self.held is not None:
            status = np.where(self._empty, "secondary", status)
            status = np.where(self.held.primary, "primary", status)
        return np.asarray(status.flat[cells])

    @property
    def custodian(self) -> Sheet:
        """True and released figures side by side. Not for publication."""
        result = self.result
        columns = {
            "true": self._figures(result.cells.values),
            "released": self._figures(self._shown),
            "sensitive": self._figures(result.sensitive.astype(int)),
            "lower": self._figures(result.required.lower),
            "upper": self._figures(result.required.upper),
            "short": self._figures(result.short.astype(int)),
        }
        cells = np.flatnonzero(result.published)
        return result.cells.sheet(columns, cells, {"released": self._text})

    @property
    def problem(self) -> JJTable:
        """The table and its sensitive cells as a JJ file has them. Not for publication."""
        from discreet.desk.adjust.jj import jj_of

        return jj_of(self.result.cells, self.result.required)

    def _figures(self, values: Any) -> list[Any]:
        found: list[Any] = values[self.result.published].tolist()
        return found

    def _text(self, figure: float | None) -> str:
        """Return a released figure with as many decimals as the true ones have."""
        if figure is None:
            return ""
        decimals = 6 if self.result.decimals is None else max(0, self.result.decimals)
        text = f"{figure:.{decimals}f}"
        return text.rstrip("0").rstrip(".") if decimals else text


def protected(name: str, sensitive: int, off: float = 0.0) -> str:
    """Return the sentence on a table of which no sensitive cell is short; sums may be `off`."""
    if not sensitive:
        return f"{name}: no cell is sensitive, and no figure was changed."
    cells = "the sensitive cell is" if sensitive == 1 else f"all {sensitive:,} sensitive cells are"
    sums = f", but for rounded figures: sums are off by up to {off:,.15g}." if off else "."
    return f"{name}: {cells} at or beyond the protection needed, and everything adds up{sums}"


def digit_facts(odd: Digits | None) -> dict[str, Any] | None:
    """Return what the digits of moved figures tell, as plain values."""
    return None if odd is None else {**asdict(odd), "share": odd.share, "said": str(odd)}


def _proved(known: dict[str, Any]) -> str:
    width = known["narrowest"]
    return (
        f"Who knows the method and its largest change can prove {known['exact']:,} of "
        f"{known['cells']:,} cells exactly, and the direction of {known['direction_known']:,}; "
        f"the narrowest interval {'has no end' if width is None else f'is {width:,.6g} wide'}."
    )
