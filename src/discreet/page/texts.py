"""The words of the pages, by language, and numbers as that language writes them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from importlib import resources
from typing import Any

from discreet.errors import ParameterError

LANGUAGES = ("en", "de")
DEFAULT = "en"


@dataclass(frozen=True, eq=False)
class Texts:
    """All texts of one language: `t("verdict.allowed")`, `t("cells", n=3)`.

    A text with forms for one and for many is a table with the keys `one` and `other`; which is
    taken depends on `n`.
    """

    lang: str
    words: Mapping[str, Any]

    def __call__(self, key: str, **values: object) -> str:
        """Return a text with its values filled in; numbers are written as the language does."""
        found = self._find(key)
        if found is None:
            raise ParameterError(f"no text '{key}' in language '{self.lang}'.")
        if isinstance(found, Mapping):
            if "other" not in found:
                raise ParameterError(f"text '{key}' in language '{self.lang}' is a group.")
            found = found["one" if values.get("n") == 1 else "other"]
        shown = {
            name: self.number(value) if type(value) is int else value
            for name, value in values.items()
        }
        return str(found).format(**shown) if shown else str(found)

    def has(self, key: str) -> bool:
        """Whether there is such a text."""
        return self._find(key) is not None

    def _find(self, key: str) -> Any:
        found: Any = self.words
        for part in key.split("."):
            found = found.get(part) if isinstance(found, Mapping) else None
        return found

    def number(self, value: int) -> str:
        """Return a whole number with the language's separator of thousands."""
        return f"{value:,}".replace(",", self("format.thousands"))

    def percent(self, share: float, digits: int = 1) -> str:
        """Return a share as a percentage."""
        text = f"{100 * share:.{digits}f}".replace(".", self("format.decimal"))
        return text + self("format.percent")

    def date(self, iso: str) -> str:
        """Return the day of a time stamp in words."""
        day = datetime.fromisoformat(iso)
        month = self("format.months").split()[day.month - 1]
        return self("format.date", day=str(day.day), month=month, year=str(day.year))

    def join(self, parts: Sequence[str]) -> str:
        """Return "a, b and c"."""
        if len(parts) < 2:
            return "".join(parts)
        return f"{', '.join(parts[:-1])} {self('format.and')} {parts[-1]}"

    def inside(self, label: str) -> str:
        """Return a label as it stands inside a sentence; abbreviations keep their capitals."""
        if self.lang == "de" or label[1:2].isupper():
            return label
        return label[:1].lower() + label[1:]


@cache
def texts(lang: str) -> Texts:
    """Return the texts of a language."""
    file = resources.files("discreet.page") / "texts" / f"{lang}.toml"
    return Texts(lang, tomllib.loads(file.read_text(encoding="utf-8")))


def choose(asked: str | None, accepted: str | None) -> str:
    """Return the language of a page: the one asked for, or else the first the browser accepts."""
    if asked in LANGUAGES:
        return asked or DEFAULT
    for part in (accepted or "")[:500].split(","):
        name = part.split(";")[0].strip().lower()[:2]
        if name in LANGUAGES:
            return name
    return DEFAULT
