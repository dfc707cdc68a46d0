"""Modules that load when they are used, and packages that are called as a function is."""

from __future__ import annotations

import sys
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
