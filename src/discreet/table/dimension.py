"""A dimension of a table: one variable at one level, with its categories in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from discreet.errors import ParameterError

TOTAL = "_T"
"""The code of a total; it is the last along its dimension."""


@dataclass(frozen=True)
class Dimension:
    """One axis of a table; `codes[i]` and `labels[i]` describe index i along it."""

    variable: str
    level: str
    label: str
    codes: tuple[str, ...]
    labels: tuple[str, ...]

    def __post_init__(self) -> None:
        if len(self.codes) != len(self.labels):
            raise ParameterError(
                f"dimension '{self.level}' must have one label for each code. "
                f"Got {len(self.codes)} codes and {len(self.labels)} labels."
            )
        if len(set(self.codes)) != len(self.codes):
            raise ParameterError(f"dimension '{self.level}' must not repeat a code.")
        if any("\0" in code for code in self.codes):
            raise ParameterError(f"dimension '{self.level}' must have codes without NUL.")

    def __len__(self) -> int:
        return len(self.codes)

    def with_total(self) -> Dimension:
        """Return the dimension with a total after its categories."""
        return replace(self, codes=(*self.codes, TOTAL), labels=(*self.labels, "Total"))

    @classmethod
    def plain(cls, variable: str, codes: Sequence[str]) -> Dimension:
        """Return a dimension of which nothing but the codes is known."""
        return cls(variable, variable, variable, tuple(codes), tuple(codes))

    def recoded(self, codes: Sequence[str]) -> Dimension:
        """Return the dimension with other codes; those it had keep their labels."""
        label = dict(zip(self.codes, self.labels, strict=True))
        labels = tuple(label.get(code, code) for code in codes)
        return Dimension(self.variable, self.level, self.label, tuple(codes), labels)
