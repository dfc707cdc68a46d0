"""What the two SDMX writers share: ids that SDMX allows, and the structure [SDMX 2.1].

Figures are written here, in pieces; the structure is made and written by pysdmx.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.files import read_bytes
from discreet.release.formats.base import Public, moment
from discreet.release.formats.tags import tags
from discreet.release.text import clean

STRUCTURE = ".structure.xml"
AGENCY = "DISCREET"
VERSION = "1.0"
NORMAL, WITHHELD = "A", "Q"  # of the cross-domain code list CL_OBS_STATUS
ATTRIBUTES = ("TITLE", "POPULATION", "FILTERS", "NOTES", "QUALITY", "LAST_UPDATE", "PROVENANCE")
_COMMON: dict[str, Any] = {"agency": AGENCY, "version": VERSION}
PROLOG = '<?xml version="1.0" encoding="UTF-8"?>\n'
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
    def of(cls, release: Public) -> Names:
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


def attributes(release: Public) -> dict[str, str]:
    """Return the texts that go with the whole data set."""

    def all_of(*heads: str) -> str:
        return "\n".join(text for head, text in release.facts if head in heads)

    origin = release.provenance
    return {
        "TITLE": clean(release.title),
        "POPULATION": clean(release.document["population"]),
        "FILTERS": all_of("Filter"),
        "NOTES": all_of("Note", "Availability"),
        "QUALITY": all_of("Quality"),
        "LAST_UPDATE": origin.data_date,
    }


def structure(release: Public) -> bytes:
    """Return the structure message: code lists, concepts, data structure and dataflow."""
    from pysdmx import model
    from pysdmx.io import write_sdmx
    from pysdmx.io.format import Format as Sdmx
    from pysdmx.model.message import Header

    names = Names.of(release)
    title = _name(release.title, names.structure)
    lists, concepts = _codelists(release, names), _concepts(release, names)
    parts = model.Components(_components(names, lists, concepts.id))
    shape = model.DataStructureDefinition(
        id=names.structure, name=title, components=parts, **_COMMON
    )
    flow = model.Dataflow(id=names.flow, name=title, structure=shape, **_COMMON)
    sender = model.Organisation(id=AGENCY)
    header = Header(id=names.structure, prepared=moment(release), sender=sender, test=False)
    written = write_sdmx(
        [*lists.values(), concepts, shape, flow], Sdmx.STRUCTURE_SDMX_ML_2_1, header=header
    )
    assert written is not None
    return str(written).encode()


def _codelists(release: Public, names: Names) -> dict[str, Any]:
    """Return the code list of each component."""
    from pysdmx.model import Code, Codelist

    def listed(name: str, label: str, items: Iterable[tuple[str, str]]) -> Any:
        codes = [Code(id=code, name=_name(text, original(code))) for code, text in items]
        return Codelist(id=f"CL_{name}", name=_name(label, f"CL_{name}"), items=codes, **_COMMON)

    found = {}
    for component, d in zip(names.components, release.table.dimensions, strict=True):
        items = zip(map(safe, d.codes), d.labels, strict=True)
        found[component] = listed(component, _name(d.label, d.level), items)
    statuses = [(NORMAL, "Normal value"), (WITHHELD, "Missing value; suppressed")]
    return {**found, "OBS_STATUS": listed("OBS_STATUS", "Observation status", statuses)}


def _concepts(release: Public, names: Names) -> Any:
    from pysdmx.model import Concept, ConceptScheme

    dimensions = zip(names.components, release.table.dimensions, strict=True)
    labels = {component: _name(d.label, d.level) for component, d in dimensions}
    labels |= {"OBS_VALUE": release.provenance.unit or "Value", "OBS_STATUS": "Observation status"}
    labels |= {name: name.capitalize().replace("_", " ") for name in ATTRIBUTES}
    items = [Concept(id=key, name=_name(text, key)) for key, text in labels.items()]
    scheme = f"CS_{names.structure[4:]}"
    return ConceptScheme(id=scheme, name="Concepts", items=items, **_COMMON)


def _components(names: Names, lists: dict[str, Any], concepts: str) -> list[Any]:
    from pysdmx.model import Component, DataType, ItemReference, Role

    def part(name: str, required: bool, role: Role, *rest: Any, **more: Any) -> Any:
        concept = ItemReference("Concept", AGENCY, concepts, VERSION, name)
        return Component(name, required, role, concept, *rest, **more)

    return [
        *(part(c, True, Role.DIMENSION, local_codes=lists[c]) for c in names.components),
        part("OBS_VALUE", True, Role.MEASURE, DataType.LONG),
        part(
            "OBS_STATUS",
            True,
            Role.ATTRIBUTE,
            local_codes=lists["OBS_STATUS"],
            attachment_level="O",
        ),
        *(
            part(name, False, Role.ATTRIBUTE, DataType.STRING, attachment_level="D")
            for name in ATTRIBUTES
        ),
    ]


def _name(text: str, instead: str) -> str:
    """Return a name, which SDMX wants not to be empty."""
    shown = clean(text).replace("\r\n", "\n").replace("\r", "\n")
    return shown if shown.strip() else instead


def structure_labels(path: Path) -> dict[str, dict[str, str]] | None:
    """Return the labels of each component by code, None where there is no structure to read.

    Under the component with a slash behind is the label of the component itself.
    """
    if not path.is_file():
        return None
    text = read_bytes(path).decode("utf-8", "replace").removeprefix(PROLOG)
    found: dict[str, dict[str, str]] = {}
    component, code = "", ""
    for tag in tags(text, path.name):
        if tag.closes:
            code = "" if tag.name == "str:Code" else code
            component = "" if tag.name == "str:Codelist" else component
        elif tag.name == "str:Codelist":
            component = tag.attributes["id"].removeprefix("CL_")
            found[component] = {}
        elif tag.name == "str:Code":
            code = original(tag.attributes["id"])
        elif tag.name == "com:Name" and component:
            place, key = (component, code) if code else (f"{component}/", "")
            found.setdefault(place, {})[key] = tag.text
    return found
