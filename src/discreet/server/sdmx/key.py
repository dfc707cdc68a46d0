"""The key of a data query as the question that it asks.

A position with codes shows these categories. One that is left open is not shown: the figures are
of everybody (`_T`), for all levels of all variables at once would be no table.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from discreet.errors import ParameterError
from discreet.population.schema import Level
from discreet.release.formats.sdmx import original
from discreet.server.levels import first_table
from discreet.server.parts import Picked
from discreet.server.sdmx.names import Flow
from discreet.table import TOTAL

_OPEN = ("", "*")
_FILTER = re.compile(r"c\[(\w+)\]")


def picked(flow: Flow, key: str, given: Mapping[str, str]) -> Picked:
    """Return the levels that are shown and the codes that are wanted of each.

    `given` are the parameters: `c[DIMENSION]` picks codes or all (`ne:_T`), and the dimension at
    the observation is shown whole where no code of it is picked.
    """
    asked = _positions(flow, key)
    for name, text in given.items():
        found = _FILTER.fullmatch(name)
        if found:
            flow.dimension(found[1])
            if asked.get(found[1], "") not in _OPEN:
                raise ParameterError(f"'{found[1]}' must be in the key or in {name}, not in both.")
            asked[found[1]] = text.removeprefix("eq:").replace(",", "+")
    along = given.get("dimensionAtObservation", "")
    if along not in ("", "AllDimensions", "TIME_PERIOD"):
        flow.dimension(along)
        if asked.get(along, "") in _OPEN:
            asked[along] = f"ne:{TOTAL}"
    shown = {name: text for name, text in asked.items() if text not in _OPEN}
    if not shown:
        shown = {flow.of_level[lv.id]: f"ne:{TOTAL}" for lv in first_table(flow.opened)}
    return _shown(flow, shown)


def _positions(flow: Flow, key: str) -> dict[str, str]:
    """Return what stands at each dimension of a key."""
    if key in ("", "all", "*", "ALL"):
        return {}
    parts = key.split(".")
    if len(parts) != len(flow.dimensions):
        raise ParameterError(
            f"the key must have {len(flow.dimensions)} positions, one for each of "
            f"{', '.join(flow.dimensions)}. Got {len(parts)}."
        )
    return dict(zip(flow.dimensions, parts, strict=True))


def _shown(flow: Flow, asked: Mapping[str, str]) -> Picked:
    found: dict[str, tuple[Level, tuple[str, ...]]] = {}
    for name in flow.dimensions:
        text = asked.get(name, TOTAL)
        if text == TOTAL:
            continue
        variable, level = flow.dimensions[name]
        if variable.id in found:
            raise ParameterError(
                f"'{variable.id}' must be shown at one level. Both "
                f"{flow.of_level[found[variable.id][0].id]} and {name} are asked for."
            )
        found[variable.id] = (level, _codes(level, text))
    if not found:
        raise ParameterError(f"one dimension at least must be shown, not '{TOTAL}'.")
    return found


def _codes(level: Level, text: str) -> tuple[str, ...]:
    """Return the codes of one position, in the order of the level."""
    if text == f"ne:{TOTAL}":
        return level.codes
    parts = text.split("+")
    if TOTAL in parts:
        raise ParameterError(f"'{TOTAL}' must be asked for alone, not with other codes.")
    wanted = {level.index(original(part)) for part in parts}
    return tuple(level.codes[i] for i in sorted(wanted))
