"""What installed packages add, and what happens where one cannot be used."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from discreet.errors import ParameterError
from discreet.plugins import extended
from discreet.protect import Method
from discreet.protect.registry import METHODS, method, methods

Install = Callable[[str, str], None]

SOUND = """
from dataclasses import dataclass
from discreet.protect import Method

@dataclass(frozen=True)
class Stay(Method):
    cellwise = True
    times: int
    def draw(self, counts, uniforms):
        return counts.copy()
"""


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Make a package `extra` as pip would have left it: a module and its entry points."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def make(code: str, entry_points: str) -> None:
        (tmp_path / "extra_module.py").write_text(code)
        info = tmp_path / "extra-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: extra\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[discreet.methods]\n{entry_points}\n")
        methods.cache_clear()

    yield make
    methods.cache_clear()
    sys.modules.pop("extra_module", None)


def test_without_packages_there_is_what_is_built_in() -> None:
    assert extended("discreet.nothing", {"a": 1}) == {"a": 1}


def test_a_method_of_a_package_is_found_by_name(install: Install) -> None:
    install(SOUND, "stay = extra_module:Stay")
    assert list(methods()) == [*METHODS, "stay"]
    assert method("stay", {"times": "3"}).times == 3  # type: ignore[attr-defined]
    with pytest.raises(ParameterError, match="stay needs the option times, an integer"):
        method("stay", {})
    with pytest.raises(ParameterError, match="times must be an integer"):
        method("stay", {"times": "x"})


def test_a_package_that_cannot_be_loaded_is_named_and_refused(install: Install) -> None:
    install("import nowhere_to_be_found", "stay = extra_module:Stay")
    # Whatever is asked for: another method, too, might be one that the package was to replace.
    with pytest.raises(ParameterError, match="package 'extra' adds 'stay'"):
        method("random-rounding", {})


def test_a_name_that_is_taken_is_refused(install: Install) -> None:
    install(SOUND, "random-rounding = extra_module:Stay")
    with pytest.raises(ParameterError, match="a name that is taken"):
        methods()


def test_what_is_no_method_is_refused(install: Install) -> None:
    install("def make():\n    return 5\n", "five = extra_module:make")
    with pytest.raises(ParameterError, match="is no Method"):
        method("five", {})


def test_what_is_built_in_is_made_of_methods() -> None:
    assert all(isinstance(method(name, {}), Method) for name in METHODS if name != "sampling")
