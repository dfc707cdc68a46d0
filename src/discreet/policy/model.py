"""The policy of an office: so far, what the build needs of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from discreet.errors import ParameterError
from discreet.toml import Mistakes, Section, load


@dataclass(frozen=True)
class Policy:
    """Thresholds under which a data set is published."""

    # A group with fewer people than this must not be obtainable by subtracting two groupings.
    # Ten is the smallest population at which offices commonly publish a univariate count.
    minimum_population: int = 10

    def __post_init__(self) -> None:
        if type(self.minimum_population) is not int or self.minimum_population < 1:
            raise ParameterError(
                "minimum_population must be an integer of at least 1. "
                f"Got {self.minimum_population!r}."
            )

    @classmethod
    def read(cls, path: Path) -> Policy:
        """Return the policy in a TOML file, or every mistake in it at once."""
        mistakes = Mistakes(str(path))
        section = Section(load(path), path.name)
        minimum = section.take("minimum_population", int, default=cls.minimum_population)
        policy: Policy = mistakes.gather(lambda: cls(minimum))
        mistakes.gather(section.end)
        mistakes.end()
        return policy
