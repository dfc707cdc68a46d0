"""Hierarchy files (.hrc): a code a line, one leading mark for each level below the top.

    North
    @Northport
    @Northfield
    South

North is the sum of Northport and Northfield; North and South add up to the total, which is not
written. This is the layout τ-ARGUS and sdcTable read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from discreet.errors import ParameterError

LEADING = "@"


def read_hrc(path: str | Path, leading: str = LEADING) -> dict[str, list[str]]:
    """Return every code that is a sum with the codes it is the sum of, in the order of the file.

    Codes at the top that have no parts are not mentioned: they are parts of the total.
    """
    name = Path(path).name
    if len(leading) != 1 or leading.isspace():
        raise ParameterError(f"leading must be one visible character. Got '{leading}'.")
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise ParameterError(f"there is no file '{path}'.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ParameterError(f"'{name}' must be a readable text file in UTF-8. {error}") from None
    groups: dict[str, list[str]] = {}
    above: list[str] = []
    seen: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        marked = line.strip()
        code = marked.lstrip(leading).strip()
        depth = len(marked) - len(marked.lstrip(leading))
        if not code:
            raise ParameterError(f"line {number} of '{name}' must have a code after '{leading}'.")
        if code in seen:
            raise ParameterError(
                f"'{name}' must have every code once. '{code}' is in lines {seen[code]} and "
                f"{number}."
            )
        if depth > len(above):
            raise ParameterError(
                f"line {number} of '{name}' must be at most one level below the line before: "
                f"at most {len(above)} '{leading}'. Got {depth}."
            )
        seen[code] = number
        above = [*above[:depth], code]
        if depth:
            groups.setdefault(above[depth - 1], []).append(code)
    if not seen:
        raise ParameterError(f"'{name}' must have at least one code.")
    return groups


def write_hrc(
    path: str | Path,
    groups: Mapping[str, Sequence[str]],
    tops: Sequence[str],
    leading: str = LEADING,
) -> None:
    """Write the codes at the top, each followed by its parts."""
    lines: list[str] = []

    def put(code: str, depth: int) -> None:
        lines.append(leading * depth + code)
        for part in groups.get(code, ()):
            put(part, depth + 1)

    for code in tops:
        put(code, 0)
    Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")
