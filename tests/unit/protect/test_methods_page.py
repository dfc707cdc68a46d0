"""docs/methods.md speaks of every method, with its picture and its true defaults."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from discreet.protect.registry import METHODS, options

DOCS = Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "methods.md").read_text(encoding="utf-8")


def _section(name: str) -> str:
    return PAGE.partition(f"\n## {name}\n")[2].partition("\n## ")[0]


@pytest.mark.parametrize("name", METHODS)
def test_every_method_has_a_section(name: str) -> None:
    section = _section(name)
    for heading in ("**Protects against**", "**Does not protect", "**Keeps**"):
        assert heading in section
    if name != "same-margins":  # it has no transition to draw, and says so
        assert f"pictures/methods-{name}.svg" in section
    for option in options(name):
        if option not in {"file", "design"}:  # how the command names a look-up
            assert f"`{option}" in section or f"{option}=" in section or f"({option}" in section


def test_every_picture_exists_and_is_used() -> None:
    used = set(re.findall(r"pictures/(methods-[a-z-]+\.svg)", PAGE))
    assert used == {path.name for path in (DOCS / "pictures").glob("methods-*.svg")}


def test_signatures_are_true() -> None:
    import inspect

    from discreet import protect

    shown = re.findall(r"^`([A-Z]\w+)\((.*)\)`$", PAGE, flags=re.MULTILINE)
    assert len(shown) == len(METHODS)
    for name, parameters in shown:
        signature = inspect.signature(getattr(protect, name))
        expected = [
            key if value.default is value.empty else f"{key}={value.default!r}".replace("'", '"')
            for key, value in signature.parameters.items()
        ]
        assert parameters.split(", ") == expected
