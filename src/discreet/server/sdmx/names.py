"""What a data set and its levels are called in SDMX; the names do not depend on a question."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from discreet.errors import unknown
from discreet.population.schema import Level, Variable
from discreet.server.levels import levels_of, variables_of
from discreet.service.opened import Opened

VERSION = "1.0"
VALUE, STATUS, CONFIDENTIAL = "OBS_VALUE", "OBS_STATUS", "CONF_STATUS"
TEXTS = ("TITLE", "NOTES", "QUESTION", "SIGNED")
"""Attributes of the whole data set."""


@dataclass(frozen=True)
class Flow:
    """A data set as a dataflow of an agency, with a dimension for each level."""

    opened: Opened
    agency: str

    @property
    def id(self) -> str:
        """The id of the dataflow."""
        found = re.sub(r"[^A-Z0-9_]", "_", self.opened.id.upper())
        return found if found[0].isalpha() else f"D{found}"

    @property
    def structure(self) -> str:
        """The id of the data structure definition."""
        return f"DSD_{self.id}"

    @cached_property
    def dimensions(self) -> dict[str, tuple[Variable, Level]]:
        """The levels that may be asked for by the id of their dimension, in order."""
        found: dict[str, tuple[Variable, Level]] = {}
        taken = {VALUE, STATUS, CONFIDENTIAL, *TEXTS}
        for variable in variables_of(self.opened):
            for level in levels_of(self.opened, variable):
                name = re.sub(r"[^A-Z0-9_]", "_", level.id.upper())
                name = name if name[0].isalpha() else f"D{name}"
                while name in taken:
                    name += "_"
                taken.add(name)
                found[name] = (variable, level)
        return found

    @cached_property
    def of_level(self) -> dict[str, str]:
        """The dimension of each level."""
        return {level.id: name for name, (_, level) in self.dimensions.items()}

    def codes(self, dimension: str) -> str:
        """Return the id of the code list of a level."""
        return f"CL_{self.id}_{dimension}"

    def with_total(self, dimension: str) -> str:
        """Return the id of the code list of a level with the total."""
        return f"{self.codes(dimension)}_TOTAL"

    def dimension(self, name: str) -> Level:
        """Return the level of a dimension; the error for an unknown one lists the choices."""
        if name not in self.dimensions:
            raise unknown("dimension", name[:64], self.dimensions)
        return self.dimensions[name][1]
