"""What loads when it is used: modules, names of a package, values of a registry.

And packages that are called as a function is.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any

from discreet.extras import with_extra


class _Later(ModuleType):
    def __getattr__(self, name: str) -> Any:
        with with_extra():
            return getattr(import_module(self.__name__), name)


def later(name: str) -> Any:
    """Return a module that is imported when something of it is first used."""
    return _Later(name)


def names(
    package: str, modules: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a package whose names are imported when first used.

    `modules` has the names by the module that they are in; those of "" are modules themselves. No
    other name may be that of a module too: what one gets would depend on what was imported before.
    """
    places = {name: module for module, of in modules.items() for name in of.split()}

    def get(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found: Any = import_module(f"{package}.{places[name] or name}")
        if places[name]:
            found = getattr(found, name)
        setattr(sys.modules[package], name, found)
        return found

    def listed() -> list[str]:
        return sorted({*vars(sys.modules[package]), *places})

    return get, listed


class Registry(Mapping[str, Any]):
    """Values by name. One that is given as a place, "module:name", is imported when looked up."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = dict(values)

    def __getitem__(self, name: str) -> Any:
        value = self._values[name]
        if isinstance(value, str):
            module, _, inside = value.partition(":")
            value = self._values[name] = getattr(import_module(module), inside)
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def with_more(self, values: Mapping[str, Any]) -> Registry:
        """Return these values and others after them."""
        return Registry({**self._values, **values})


def called(package: str, module: str, extra: str) -> None:
    """Let a package be called as the function of its name in a module: `dc.build(…)`.

    `extra` is what must be installed for it.
    """
    name = package.rpartition(".")[2]

    class Called(ModuleType):
        """A package that is called as the function it is named after."""

        @property
        def __wrapped__(self) -> Any:
            """The function, for help and signatures."""
            with with_extra(extra):
                return getattr(import_module(module), name)

        def __call__(self, *given: Any, **options: Any) -> Any:
            return self.__wrapped__(*given, **options)

    sys.modules[package].__class__ = Called
