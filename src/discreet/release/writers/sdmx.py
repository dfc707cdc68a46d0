"""What the two SDMX writers share: ids that SDMX allows, and the structure [SDMX 2.1].

Figures are written here, in pieces; the structure is made and written by pysdmx.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from discreet.release.text import clean, facts, meta
from discreet.table import Dimension

if TYPE_CHECKING:
    from discreet.release.result import Release

STRUCTURE = ".structure.xml"
AGENCY = "DISCREET"
VERSION = "1.0"
NORMAL, WITHHELD = "A", "Q"  # of the cross-domain code list CL_OBS_STATUS
ATTRIBUTES = ("TITLE", "POPULATION", "FILTERS", "NOTES", "QUALITY", "LAST_UPDATE", "PROVENANCE")
_UNSAFE = re.compile(r"[^A-Za-z0-9_@\-]")
_ESCAPED = re.compile(r"\$([0-9A-F]+)\$")


def safe(code: str) -> str:
    """Return a code as SDMX may have it; other characters become `$hex$`.

    >>> safe("-8"), safe("a b"), safe("É")
    ('-8', 'a$20$b', '$C9$')
    """
    return _UNSAFE.sub(lambda found: f"${ord(found[0]):X}$", code)


def original(code: str) -> str:
    """Return the code that `safe` was given."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), code)


@dataclass(frozen=True)
class Names:
    """The ids of a release in SDMX."""

    structure: str
    flow: str
    components: tuple[str, ...]

    @property
    def urn(self) -> str:
        """The short name of the structure, as SDMX-CSV has it."""
        return f"{AGENCY}:{self.structure}({VERSION})"

    @classmethod
    def of(cls, release: Release) -> Names:
        """Return ids made of the data set, the question and the dimensions."""
        origin, used = release.provenance, {"OBS_VALUE", "OBS_STATUS", *ATTRIBUTES}
        said = f"{origin.question}\0{origin.totals}\0{release.title}"
        mark = hashlib.sha256(said.encode("utf-8", "replace")).hexdigest()[:8].upper()
        name = re.sub(r"[^A-Z0-9_]", "_", origin.dataset.upper())[:30] or "TABLE"
        components = []
        for dimension in release.table.dimensions:
            found = re.sub(r"[^A-Za-z0-9_]", "_", dimension.level)
            found = found if found[:1].isalpha() else f"D{found}"
            while found in used:
                found += "_"
            used.add(found)
            components.append(found)
        return cls(f"DSD_{name}_{mark}", f"DF_{name}_{mark}", tuple(components))


def attributes(release: Release) -> dict[str, str]:
    """Return the texts that go with the whole data set."""
    rows = facts(meta(release))

    def all_of(*heads: str) -> str:
        return "\n".join(text for head, text in rows if head in heads)

    origin = release.provenance
    return {
        "TITLE": clean(release.title),
        "POPULATION": clean(release.population),
        "FILTERS": all_of("Filter"),
        "NOTES": all_of("Note", "Availability"),
        "QUALITY": all_of("Quality"),
        "LAST_UPDATE": origin.data_date,
    }


def structure(release: Release) -> bytes:
    """Return the structure message: code lists, concepts, data structure and dataflow."""
    from pysdmx.io import write_sdmx
    from pysdmx.io.format import Format as Sdmx
    from pysdmx.model import (
        Code,
        Codelist,
        Component,
        Components,
        Concept,
        ConceptScheme,
        Dataflow,
        DataStructureDefinition,
        DataType,
        ItemReference,
        Organisation,
        Role,
    )
    from pysdmx.model.message import Header

    names = Names.of(release)
    dimensions = release.table.dimensions
    common: dict[str, Any] = {"agency": AGENCY, "version": VERSION}
    concepts = f"CS_{names.structure[4:]}"

    def listed(name: str, label: str, items: Iterator[tuple[str, str]]) -> Any:
        codes = [Code(id=code, name=_name(text, code)) for code, text in items]
        return Codelist(id=name, name=_name(label, name), items=codes, **common)

    def concept(name: str) -> Any:
        return ItemReference("Concept", AGENCY, concepts, VERSION, name)

    codelists = [
        listed(f"CL_{component}", _name(d.label, d.level), _items(d))
        for component, d in zip(names.components, dimensions, strict=True)
    ]
    status = listed(
        "CL_OBS_STATUS",
        "Observation status",
        iter([(NORMAL, "Normal value"), (WITHHELD, "Missing value; suppressed")]),
    )
    labels = {c: _name(d.label, c) for c, d in zip(names.components, dimensions, strict=True)}
    labels |= {"OBS_VALUE": release.provenance.unit or "Value", "OBS_STATUS": "Observation status"}
    labels |= {name: name.capitalize().replace("_", " ") for name in ATTRIBUTES}
    scheme = ConceptScheme(
        id=concepts,
        name="Concepts",
        items=[Concept(id=key, name=_name(text, key)) for key, text in labels.items()],
        **common,
    )
    parts = [
        Component(c, True, Role.DIMENSION, concept(c), local_codes=codelist)
        for c, codelist in zip(names.components, codelists, strict=True)
    ]
    parts.append(
        Component("OBS_VALUE", True, Role.MEASURE, concept("OBS_VALUE"), DataType.LONG)
    )  # fmt: skip
    parts.append(
        Component(
            "OBS_STATUS", True, Role.ATTRIBUTE, concept("OBS_STATUS"),
            local_codes=status, attachment_level="O",
        )
    )  # fmt: skip
    parts += [
        Component(name, False, Role.ATTRIBUTE, concept(name), DataType.STRING, attachment_level="D")
        for name in ATTRIBUTES
    ]
    title = _name(release.title, names.structure)
    shape = DataStructureDefinition(
        id=names.structure, name=title, components=Components(parts), **common
    )
    flow = Dataflow(id=names.flow, name=title, structure=shape, **common)
    header = Header(
        id=names.structure, prepared=moment(release), sender=Organisation(id=AGENCY), test=False
    )
    written = write_sdmx(
        [*codelists, status, scheme, shape, flow], Sdmx.STRUCTURE_SDMX_ML_2_1, header=header
    )
    assert written is not None
    return str(written).encode()


def moment(release: Release) -> datetime:
    """Return the date of the data: equal releases give equal files."""
    try:
        found = datetime.fromisoformat(release.provenance.data_date)
    except ValueError:
        return datetime(2000, 1, 1, tzinfo=UTC)
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _name(text: str, instead: str) -> str:
    """Return a name, which SDMX wants not to be empty."""
    return clean(text) if text.strip() else instead


def _items(dimension: Dimension) -> Iterator[tuple[str, str]]:
    for code, label in zip(dimension.codes, dimension.labels, strict=True):
        yield safe(code), label
