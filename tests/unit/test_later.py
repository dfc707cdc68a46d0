"""What is imported when it is used, and not before."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pkgutil import iter_modules

import pytest

from discreet import population, protect
from discreet.later import Registry
from discreet.protect.records import protected_base
from discreet.protect.registry import METHODS

PACKAGES = (population, protect, protected_base)


def _loaded(code: str) -> set[str]:
    """Return the modules that are there after some code."""
    code += "; import sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_every_name_of_a_package_is_there(package: object) -> None:
    for name in package.__all__:  # type: ignore[attr-defined]
        assert getattr(package, name) is not None
        assert name in dir(package)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = package.nothing  # type: ignore[attr-defined]


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_no_name_is_that_of_a_module_too(package: object) -> None:
    modules = {found.name for found in iter_modules(package.__path__)}  # type: ignore[attr-defined]
    for name in modules & set(package.__all__):  # type: ignore[attr-defined]
        module = import_module(f"{package.__name__}.{name}")  # type: ignore[attr-defined]
        assert getattr(package, name) is module


def test_a_module_is_a_name_before_anything_else_is_used() -> None:
    assert "discreet.protect.lookup.design" in _loaded(
        "from discreet import protect; protect.lookup"
    )


def test_a_registry_imports_what_is_looked_up() -> None:
    found = Registry({"one": 1, "join": "os.path:join"})
    assert list(found) == ["one", "join"]
    assert len(found) == 2
    assert "none" not in found
    assert found["join"](".", "a") == "./a"
    assert dict(found.with_more({"two": 2})) == {"one": 1, "join": found["join"], "two": 2}


def test_every_method_that_is_built_in_can_be_imported() -> None:
    assert all(callable(METHODS[name]) for name in METHODS)


def test_a_method_does_not_bring_the_others() -> None:
    loaded = _loaded(
        "from discreet.protect.registry import method; method('random-rounding', {'base': '3'})"
    )
    assert "discreet.protect.cells.rounding" in loaded
    assert not {name for name in loaded if name.startswith("discreet.solve")}
    assert "discreet.protect.tables.controlled" not in loaded


def test_a_draft_needs_no_arrays() -> None:
    assert not _loaded("import discreet.build.draft") & {"numpy", "pyarrow", "discreet.policy"}


def test_who_opens_a_store_does_not_wait_for_what_only_some_need() -> None:
    loaded = _loaded("import discreet; discreet.open")
    assert "discreet.release.pipeline" in loaded
    unwanted = ("discreet.federation", "discreet.release.formats", "discreet.solve", "sqlalchemy")
    assert not {name for name in loaded if name.startswith(unwanted)}
