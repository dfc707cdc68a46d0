"""The parameters of the R package cellKey for counts, as `ck_params_cnts(…, path=)` writes them."""

from __future__ import annotations

import re

from discreet.errors import ParameterError

COLUMNS = {"lb": "p_int_lb", "ub": "p_int_ub"}
"""What cellKey calls two columns of ptable."""

_ENTRY = re.compile(r"( *)(- +)?(?:([A-Za-z_]\w*):)?(?: +|$)?(.*)")


def read_yaml(text: str) -> tuple[list[str], list[list[str]]]:
    """Return the columns of the look-up in such a file, and its rows.

    What R writes of a data frame is read, not YAML at large: a name on each line, or one value of
    the column named last after a dash.
    """
    columns: dict[str, list[str]] = {}
    facts: dict[str, str] = {}
    values: list[str] = []
    for line in text.splitlines():
        if not line.strip() or line.startswith(("#", "---")):
            continue
        indent, dash, name, value = _ENTRY.fullmatch(line).groups()  # type: ignore[union-attr]
        if dash and not name:
            values.append(_plain(value))
        elif name and not dash and value and not indent:
            facts[name] = _plain(value)
        elif name and not dash and not value:
            values = columns.setdefault(name, [])
        else:
            raise ParameterError(f"this line is not as cellKey writes it: {line.strip()}")
    if facts.get("ptype") != "params_cnts":
        raise ParameterError(
            f"ptype must be params_cnts, parameters for counts. Got {facts.get('ptype', 'none')}."
        )
    held = {COLUMNS.get(name, name): given for name, given in columns.items() if given}
    if len({len(given) for given in held.values()}) != 1:
        raise ParameterError("the columns of a look-up must have the same length.")
    return list(held), [list(row) for row in zip(*held.values(), strict=True)]


def _plain(value: str) -> str:
    """Return a value without quotes, and a whole number without R's decimal nought."""
    return re.sub(r"^(-?\d+)\.0*$", r"\1", value.strip().strip("'\""))
