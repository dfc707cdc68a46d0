"""Draws the pictures of docs/pretabular.md: what swapping does to a map, and what a rate buys."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from drawing import AMBER, BLUE, INK, QUIET, save, set_style
from matplotlib.colors import LinearSegmentedColormap
from numpy.typing import NDArray
from town import AREAS, town

from discreet import risk, utility
from discreet.protect import RecordSwapping
from discreet.protect.records.swapping import combined, composition

SCALE = LinearSegmentedColormap.from_list(
    "share", ["#f5f7fa", "#b9d3e6", "#5f9bc4", BLUE, "#0d2f4f"]
)
SHIFT = LinearSegmentedColormap.from_list("shift", [AMBER, "#ffffff", BLUE])
RELIGION = 5  # a minority of 3% that lives clustered
TIGHT = {"bbox_inches": "tight", "pad_inches": 0.08}
RATE = 0.1
# After the targeted swap of a tenth 0.506/0.72 of the records in small cells were left in print
# (0.72 were not imputed), so 0.30 of them moved: odds of 4 (docs/comparison.md).
ODDS = 4.0
RATES = (0.01, 0.02, 0.05, 0.1, 0.2)


def snake(number: int, wide: int = 34, high: int = 4) -> NDArray[np.int64]:
    """Places in strips, up and down, to and fro: areas that follow each other are neighbours."""
    n = np.arange(number)
    strip, rest = n // (wide * high), n % (wide * high)
    column, row = rest // high, rest % high
    x = np.where(strip % 2 == 0, column, wide - 1 - column)
    y = strip * high + np.where(column % 2 == 0, row, high - 1 - row)
    return np.stack([x, y], axis=1)


def grid(values: NDArray[Any], places: NDArray[np.int64]) -> NDArray[np.float64]:
    high, wide = places[:, 1].max() + 1, places[:, 0].max() + 1
    shown = np.full((high, wide), np.nan)
    shown[places[:, 1], places[:, 0]] = values
    return shown


def outlines(axes: Any, groups: NDArray[np.float64]) -> None:
    """Lines where a ward ends."""
    high, wide = groups.shape
    for y in range(high):
        for x in range(wide):
            if x + 1 < wide and _differ(groups[y, x], groups[y, x + 1]):
                axes.plot([x + 0.5] * 2, [y - 0.5, y + 0.5], color=INK, lw=0.6)
            if y + 1 < high and _differ(groups[y, x], groups[y + 1, x]):
                axes.plot([x - 0.5, x + 0.5], [y + 0.5] * 2, color=INK, lw=0.6)


def _differ(one: float, other: float) -> bool:
    return one != other and not (np.isnan(one) and np.isnan(other))


def draw_map() -> None:
    """One authority before a swap, after it, and who went where."""
    here = town()
    members = composition(
        here.household, here.households, [(here.codes["sex"], 2), (here.codes["broad"], 3)]
    )
    control, _ = combined(
        [(members, int(members.max()) + 1), (here.hard_to_count[here.home], 5)], here.households
    )
    swapped = RecordSwapping(RATE, odds=1).apply(
        here.home, here.authority[here.home], [control], here.keys, at_risk=here.flagged()
    )
    inside = np.flatnonzero(here.authority == 1)
    places = snake(len(inside))
    of = here.codes["religion"] == RELIGION

    def share(home: NDArray[np.int64]) -> NDArray[np.float64]:
        area = home[here.household]
        people = np.bincount(area, minlength=AREAS)
        return 100 * np.bincount(area[of], minlength=AREAS)[inside] / people[inside]

    before, after = share(here.home), share(swapped.exchange(here.home))
    wards = grid(here.ward[inside], places)
    most = np.percentile(before, 99)
    figure, panels = plt.subplots(3, 1, figsize=(6.6, 8.6), layout="constrained")
    for axes, values, title in (
        (panels[0], before, "As recorded"),
        (panels[1], after, "After a random swap of a tenth of the households"),
    ):
        shown = axes.imshow(grid(values, places), cmap=SCALE, vmin=0, vmax=most)
        outlines(axes, wards)
        axes.set_title(f"{title}: share of a minority religion, %", loc="left")
        figure.colorbar(shown, ax=axes, shrink=0.8, extend="max")
    axes = panels[2]
    change = after - before
    limit = np.percentile(np.abs(change), 99)
    shown = axes.imshow(grid(change, places), cmap=SHIFT, vmin=-limit, vmax=limit)
    outlines(axes, wards)
    axes.set_title("The difference, percentage points", loc="left")
    figure.colorbar(shown, ax=axes, shrink=0.8, extend="both")
    for axes in panels:
        axes.set_xticks([])
        axes.set_yticks([])
        for side in axes.spines.values():
            side.set_visible(False)
    print(
        f"map: spread of the share over areas {before.std():.3f} before, {after.std():.3f} after; "
        f"largest {before.max():.1f} and {after.max():.1f}"
    )
    save("pretabular-map", **TIGHT)


def draw_rates() -> None:
    """Risk and distance by the rate, random and with those at risk first."""
    here = town()
    true = here.table_a(here.home)
    members = composition(
        here.household, here.households, [(here.codes["sex"], 2), (here.codes["broad"], 3)]
    )
    risky = here.flagged()
    _, panels = plt.subplots(1, 2, figsize=(8.2, 3.4), layout="constrained")
    for method, colour, label in (
        ({"odds": 1.0}, QUIET, "random"),
        ({"odds": ODDS, "match_risk": True}, BLUE, "at risk 4 times as likely"),
        ({"match_risk": True}, AMBER, "at risk first"),
    ):
        left, far = [], []
        for rate in RATES:
            swapped = RecordSwapping(rate, **method).apply(  # type: ignore[arg-type]
                here.home, here.authority[here.home], [members], here.keys, at_risk=risky
            )
            stays = ~swapped.swapped[here.household]
            kept = here.table_a(here.home, stays)
            left.append(risk.unchanged_small_records_swapped(true, kept))
            moved = here.table_a(swapped.exchange(here.home))
            far.append(utility.hellinger_rows(true, moved).mean)
        for axes, values in zip(panels, (left, far), strict=True):
            axes.plot(RATES, values, "o-", color=colour, lw=1.8, ms=4.5, label=label)
    panels[0].set_ylabel("records in small cells left in place")
    panels[0].set_ylim(0, 1.02)
    panels[1].set_ylabel("Hellinger distance of an output area")
    panels[1].set_ylim(0)
    for axes in panels:
        axes.set_xlabel("share of households that move")
        axes.set_xscale("log")
        axes.set_xticks(RATES, [f"{rate:.0%}" for rate in RATES])
        axes.minorticks_off()
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="y", color="#e4e7eb", lw=0.8)
    panels[1].legend(frameon=False, loc="upper left")
    save("pretabular-rates", **TIGHT)


if __name__ == "__main__":
    set_style(frame=True)
    draw_map()
    draw_rates()
