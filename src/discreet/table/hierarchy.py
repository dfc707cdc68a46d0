"""Hierarchies: the codes of a dimension as a tree, and the files (.hrc) that hold one.

A file has a code on each line, with one leading mark for each level below the top:

    North
    @Northport
    @Northfield
    South

North is the sum of Northport and Northfield; North and South add up to the total, which is not
written. This is the layout τ-ARGUS and sdcTable read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from discreet.errors import ParameterError, unknown
from discreet.files import OPEN, written
from discreet.later import later
from discreet.table.argus import text_of
from discreet.table.dimension import TOTAL
from discreet.types import Integers

sparse = later("scipy.sparse")

LEADING = "@"

Groups = Mapping[str, Mapping[str, Sequence[str]]]
"""Dimension → group → the codes it is made of."""


class CodeList(dict[str, list[str]]):
    """Groups with the codes they are made of, and all codes that a list of codes has (`listed`).

    A listed code that no row of a table has is an empty category. Other members must be there.
    """

    def __init__(self, groups: Mapping[str, Sequence[str]], listed: Iterable[str]) -> None:
        super().__init__({group: list(members) for group, members in groups.items()})
        self.listed = frozenset(listed)


@dataclass(frozen=True)
class Hierarchy:
    """The codes of a dimension as a tree: `parents[i]` is the code that i is part of, or −1.

    Codes that are nobody's parent are the inner ones. Several roots are allowed: they have no
    total.
    """

    parents: tuple[int, ...]

    def __post_init__(self) -> None:
        size = len(self.parents)
        if not size:
            raise ParameterError("a hierarchy must have a code.")
        if any(not -1 <= parent < size for parent in self.parents):
            raise ParameterError(f"a parent must be −1 or a code below {size}.")
        for code in range(size):
            self.path(code)

    @classmethod
    def flat(cls, size: int, total: bool = True) -> Hierarchy:
        """Return so many codes and, last, their total."""
        if size < 1:
            raise ParameterError(f"a dimension must have at least 1 code. Got {size}.")
        return cls((*([size] * size), -1) if total else (-1,) * size)

    def __len__(self) -> int:
        return len(self.parents)

    def path(self, code: int) -> list[int]:
        """Return a code and all it is part of, upwards."""
        path, at = [], code
        while at >= 0:
            path.append(at)
            at = self.parents[at]
            if len(path) > len(self):
                raise ParameterError(f"code {code} must not be part of itself.")
        return path

    @cached_property
    def leaves(self) -> Integers:
        """The inner codes."""
        return np.setdiff1d(np.arange(len(self)), np.array(self.parents))

    @cached_property
    def families(self) -> tuple[tuple[int, Integers], ...]:
        """Every parent with its children, children before their parents."""
        children: dict[int, list[int]] = {}
        for code, parent in enumerate(self.parents):
            if parent >= 0:
                children.setdefault(parent, []).append(code)
        order = sorted(children, key=lambda code: len(self.path(code)), reverse=True)
        return tuple((parent, np.array(children[parent], np.int64)) for parent in order)

    @cached_property
    def members(self) -> Any:
        """The sparse matrix with a 1 where a code (row) holds an inner code (column)."""
        matrix = sparse.lil_matrix((len(self), len(self.leaves)), dtype=np.int8)
        for column, leaf in enumerate(self.leaves.tolist()):
            matrix[self.path(leaf), column] = 1
        return matrix.tocsr()

    def levels(self, codes: Integers) -> list[Integers]:
        """Return the codes, then what each is part of, and so on; −1 above the top."""
        above = np.array([*self.parents, -1], np.int64)  # −1 is the last index, and stays −1
        levels, at = [], np.asarray(codes, np.int64)
        while (at >= 0).any():
            levels.append(at)
            at = above[at]
        return levels


def is_total_code(code: str) -> bool:
    """Return whether a code stands for the sum over its dimension."""
    return code == TOTAL or code.lower() == "total"


def tree(
    used: Iterable[str], groups: Mapping[str, Sequence[str]], what: str
) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Return the codes in order of appearance, total last, and the parent of each."""
    codes = dict.fromkeys(code for code in used if not is_total_code(code))
    totals = list(dict.fromkeys(code for code in used if is_total_code(code)))
    if len(totals) > 1:
        raise ParameterError(f"{what} must have one code for its total. Got {', '.join(totals)}.")
    owner: dict[str, str] = {}
    for group, members in groups.items():
        if not members:
            raise ParameterError(f"the group '{group}' of {what} must have a member.")
        if is_total_code(group):
            raise ParameterError(
                f"a group of {what} must not be named as its total is. Got {group}: the total "
                "needs no group."
            )
        codes.setdefault(group)
        for member in members:
            codes.setdefault(member)
            if member in owner or member == group:
                raise ParameterError(f"'{member}' of {what} must be part of one other code only.")
            owner[member] = group
    listed = (*codes, *totals)
    place = {code: i for i, code in enumerate(listed)}
    top = len(codes) if totals else -1
    parents = tuple(place[owner[code]] if code in owner else top for code in codes)
    parents += (-1,) * len(totals)
    try:
        Hierarchy(parents)
    except ParameterError:
        raise ParameterError(f"the groups of {what} must not be part of themselves.") from None
    return listed, parents


def refuse_strange_members(
    used: Iterable[str],
    groups: Mapping[str, Sequence[str]],
    what: str,
    unpublished: bool = False,
) -> None:
    """Raise where a group has a member that is no code of the dimension, in no list, and no group.

    A mistyped code would be an empty category, and its group another sum than the one meant. With
    `unpublished` a group that is among the codes may have no member there at all.
    """
    codes = dict.fromkeys(code for code in used if not is_total_code(code))
    listed = groups.listed if isinstance(groups, CodeList) else frozenset()
    known = {*codes, *groups, *listed}
    for group, members in groups.items():
        strange = [member for member in members if member not in known]
        if not strange or (unpublished and group in codes and len(strange) == len(members)):
            continue
        choices = [code for code in dict.fromkeys([*codes, *groups]) if code != group]
        no_such = unknown("code", strange[0], choices, listed)
        raise ParameterError(f"the group '{group}' must be made of codes of {what}: {no_such}")


def read_hrc(path: str | Path, leading: str = LEADING) -> CodeList:
    """Return every code that is a sum with the codes it is the sum of, in the order of the file.

    Codes at the top that have no parts are not mentioned: they are parts of the total.
    """
    name = Path(path).name
    if len(leading) != 1 or leading.isspace():
        raise ParameterError(f"leading must be one visible character. Got '{leading}'.")
    if not Path(path).exists():
        raise ParameterError(f"there is no file '{path}'.")
    text = text_of(Path(path))
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
    # A file may begin with its total, as those of sdcTable do.
    kept = {code: parts for code, parts in groups.items() if not is_total_code(code)}
    return CodeList(kept, seen)


def write_hrc(
    path: str | Path, codes: Sequence[str], groups: Mapping[str, Sequence[str]], mode: int = OPEN
) -> None:
    """Write the codes of a dimension as a file that τ-ARGUS and sdcTable read; totals are left out.

    `groups` has the codes that each sum is made of.
    """
    inside = {member for members in groups.values() for member in members}
    lines: list[str] = []

    def add(code: str, depth: int) -> None:
        lines.append(LEADING * depth + code)
        for member in groups.get(code, ()):
            add(member, depth + 1)

    for code in dict.fromkeys([*codes, *groups]):
        if code not in inside and not is_total_code(code):
            add(code, 0)
    with written(Path(path), mode) as file:
        file.write(("\n".join(lines) + "\n").encode())
