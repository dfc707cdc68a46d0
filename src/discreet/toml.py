"""Reading TOML strictly: every key is known, every value has its type, every mistake is told."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from discreet.errors import ParameterError, unknown

_DEEPEST = 50
# Names joined by dots, each a table in the last: the parser takes seconds for a few thousand.
_DEEP = re.compile(rf"""(?<![\w"'-])(?:[\w"'-]++[ \t]*+\.[ \t]*+){{{_DEEPEST}}}""")
_KINDS: dict[type, str] = {
    str: "a text",
    int: "an integer",
    float: "a number",
    list: "a list",
    dict: "a table",
    bool: "true or false",
}


def load(path: Path) -> dict[str, Any]:
    """Return what a TOML file says, or one sentence on why it cannot be read."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
        if _DEEP.search(text):
            raise ParameterError(f"{path} must not be nested more than {_DEEPEST} deep.")
        return tomllib.loads(text)
    except FileNotFoundError:
        raise ParameterError(f"there is no file {path}") from None
    except OSError as error:
        raise ParameterError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise ParameterError(f"{path} is not UTF-8: byte {error.start}") from None
    except tomllib.TOMLDecodeError as error:
        raise ParameterError(f"{path} is not TOML: {error}") from None


class Section:
    """A TOML table whose keys are taken one by one; what is left over is a mistake."""

    def __init__(self, values: object, name: str) -> None:
        if not isinstance(values, dict):
            raise ParameterError(f"{name} must be a table. Got {values!r}.")
        self._values = dict(values)
        self._known: list[str] = []
        self.name = name

    def take(self, key: str, *kinds: type, default: Any = ...) -> Any:
        """Return the value of a key, of one of the kinds; without a default it must be there."""
        self._known.append(key)
        if key not in self._values:
            if default is ...:
                raise ParameterError(f"{self.name} must have '{key}'.")
            return default
        value = self._values.pop(key)
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            wanted = " or ".join(_KINDS[kind] for kind in kinds)
            raise ParameterError(f"'{key}' in {self.name} must be {wanted}. Got {value!r}.")
        return value

    def __contains__(self, key: str) -> bool:
        """Whether a key is given."""
        return key in self._values

    def choice(self, key: str, choices: Iterable[str], default: Any = ...) -> Any:
        """Return the value of a key, which must be one of the choices, or the default."""
        value = self.take(key, str, default=default)
        if value not in (default, *choices):
            raise unknown(key, value, choices)
        return value

    def inner(self, key: str) -> Section | None:
        """Return the table of a key, None where it is not there."""
        values = self.take(key, dict, default=None)
        return None if values is None else Section(values, f"{self.name}.{key}")

    def end(self) -> None:
        """Complain about the first key that nobody took."""
        for key in self._values:
            raise ParameterError(f"{self.name}: {unknown('setting', key, self._known)}")


def texts(values: list[Any]) -> tuple[str, ...]:
    """Return a list of names, each without the blanks around it."""
    for value in values:
        if not isinstance(value, str) or not value.strip():
            raise ParameterError(f"a list of names must hold texts. Got {value!r}.")
    return tuple(value.strip() for value in values)


class Mistakes:
    """Collects what is wrong so that all of it can be said at once."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.found: list[str] = []

    def gather(self, function: Callable[[], Any]) -> Any:
        """Return what the function returns, or None with its mistake noted."""
        try:
            return function()
        except ParameterError as error:
            self.found.append(str(error))
            return None

    def end(self) -> None:
        """Raise one error with every mistake noted so far."""
        if len(self.found) == 1:
            only, name = self.found[0], Path(self.title).name
            # A sentence that names the file need not be told twice which one it is.
            named = name and re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", only)
            if named:
                raise ParameterError(only[: named.start()] + self.title + only[named.end() :])
            raise ParameterError(f"{self.title}: {only}")
        if self.found:
            listed = "".join(f"\n  - {mistake}" for mistake in self.found)
            raise ParameterError(f"{self.title} has {len(self.found)} mistakes:{listed}")
