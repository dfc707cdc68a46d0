"""What the buttons of the builder do; each is a submit button, so that none needs a script."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.errors import ParameterError
from discreet.page.state import State

Pairs = Sequence[tuple[str, str]]


def is_edit(pairs: Pairs) -> bool:
    """Whether a request changes the state, so that its address is not the state's own."""
    return any(key == "do" or key.startswith(("level.", "tree.", "keep.")) for key, _ in pairs)


def edited(state: State, pairs: Pairs) -> tuple[State, str | None]:
    """Return the state after what the form says, and the variable whose categories are open."""
    given = dict(pairs)
    opened = given.get("open") or None
    for key, value in pairs:
        kind, _, variable = key.partition(".")
        if kind == "level" and state.level_of(variable) is not None:
            state = state.at_level(variable, value)
        elif kind == "tree":
            codes = [code for name, code in pairs if name == f"keep.{variable}"]
            state = state.kept(variable, state.schema.find(value)[1].members(codes))
    action = given.get("do", "")
    return _done(state, opened, action) if action else (state, opened)


def _done(state: State, opened: str | None, action: str) -> tuple[State, str | None]:
    kind, _, rest = action.partition(":")
    if kind == "swap":
        return state.swapped(), opened
    if kind == "update":
        return state, opened
    if kind == "close":
        return state, None
    variable, _, rest = rest.partition(":")
    found = state.schema.find(variable)[0].id
    if kind == "add":
        return state.added(found), opened
    if kind == "move":
        return state.moved(found, rest), opened
    if kind in ("earlier", "later"):
        return state.shifted(found, -1 if kind == "earlier" else 1), opened
    if kind == "remove":
        return state.without(found).kept(found, None), None if opened == found else opened
    if kind == "filter":
        return state.without(found), found
    if kind == "open":
        return state, found
    if kind == "clear":
        return state.kept(found, None), opened
    if kind in ("tick", "untick", "only", "also"):
        level, _, code = rest.partition(":")
        return _picked(state, kind, found, level, code), opened
    raise ParameterError(f"'{kind[:64]}' is not something that the form can do.")


def _picked(state: State, kind: str, variable: str, level: str, code: str) -> State:
    """Return the state with a category of any level ticked, unticked, alone or added."""
    owner, found = state.schema.find(level)
    if owner.id != variable:
        raise ParameterError(f"'{level}' must be a level of '{variable}'.")
    member = found.of == found.index(code)
    now = state.filter_of(variable)
    if kind == "only" or (kind == "also" and now is None):
        allowed = member
    elif kind == "also" and now is not None and not (member & ~now.allowed).any():
        # Whoever picks a part of what is counted already wants that part.
        allowed = member
    elif now is None:
        allowed = ~member if kind == "untick" else np.ones(len(member), bool)
    else:
        allowed = now.allowed & ~member if kind == "untick" else now.allowed | member
    # An area is said at the level at which it was picked, or at the finer of two.
    levels = owner.levels
    if now is not None and kind != "only":
        found = min(found, now.level, key=levels.index)
    return state.kept(variable, allowed, found if owner.is_geography else None)
