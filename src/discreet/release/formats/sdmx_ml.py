"""SDMX-ML 2.1, structure-specific data: one element per observation, the structure beside it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from discreet.errors import NotOurs, ParameterError
from discreet.files import read_bytes
from discreet.json import parsed
from discreet.release.formats.base import (
    Format,
    Found,
    Named,
    Public,
    assembled,
    chunks,
    decimal,
    document,
    moment,
    proof_of,
    without,
)
from discreet.release.formats.sdmx import (
    AGENCY,
    NORMAL,
    PROLOG,
    STRUCTURE,
    VERSION,
    WITHHELD,
    Names,
    attributes,
    original,
    safe,
    structure,
    structure_labels,
)
from discreet.release.formats.tags import tags
from discreet.release.text import facts

_SCHEMAS = "http://www.sdmx.org/resources/sdmxml/schemas/v2_1"


def write_to(release: Public, file: BinaryIO) -> None:
    """Write a release in pieces; a withheld figure has a status and no value."""
    table, names = release.table, Names.of(release)
    file.write(_head(release, names).encode())
    codes = [
        np.array([f" {component}={_quoted(safe(code))}" for code in d.codes], object)
        for component, d in zip(names.components, table.dimensions, strict=True)
    ]
    known, missing = f' OBS_STATUS="{NORMAL}"/>\n', f' OBS_STATUS="{WITHHELD}"/>\n'
    for chunk in chunks(table):
        parts = [code[index].tolist() for code, index in zip(codes, chunk.index, strict=True)]
        figures = [f' OBS_VALUE="{value}"{known}' for value in chunk.texts()]
        for i in np.flatnonzero(chunk.withheld).tolist():
            figures[i] = missing
        lines = ("<Obs" + "".join(line) for line in zip(*parts, figures, strict=True))
        file.write("".join(lines).encode())
    file.write(b"</mes:DataSet>\n</mes:StructureSpecificData>\n")


def _head(release: Public, names: Names) -> str:
    urn = f"urn:sdmx:org.sdmx.infomodel.datastructure.DataStructure={names.urn}"
    ids = [d.level for d in release.table.dimensions]
    said = document(release, components=dict(zip(names.components, ids, strict=True)))
    texts = {name: text for name, text in attributes(release).items() if text}
    texts["PROVENANCE"] = json.dumps(said, ensure_ascii=False, separators=(",", ":"))
    written = " ".join(f"{name}={_quoted(text)}" for name, text in texts.items())
    prepared = moment(release).isoformat(timespec="seconds").replace("+00:00", "Z")
    return f"""{PROLOG}<mes:StructureSpecificData xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"\
 xmlns:mes="{_SCHEMAS}/message" xmlns:ss="{_SCHEMAS}/data/structurespecific"\
 xmlns:com="{_SCHEMAS}/common" xmlns:ns1="{urn}:ObsLevelDim:AllDimensions">
<mes:Header>
<mes:ID>{names.flow}</mes:ID>
<mes:Test>false</mes:Test>
<mes:Prepared>{prepared}</mes:Prepared>
<mes:Sender id="{AGENCY}"/>
<mes:Structure structureID="{names.structure}" namespace="{urn}"\
 dimensionAtObservation="AllDimensions">
<com:Structure><Ref agencyID="{AGENCY}" id="{names.structure}" version="{VERSION}"\
 class="DataStructure"/></com:Structure>
</mes:Structure>
</mes:Header>
<mes:DataSet {written} ss:structureRef="{names.structure}" xsi:type="ns1:DataSetType"\
 ss:dataScope="DataStructure" action="Replace">
"""


def companions(release: Public) -> Mapping[str, bytes]:
    """Return the structure message that the data message names."""
    return {STRUCTURE: structure(release)}


def _quoted(text: str) -> str:
    from xml.sax.saxutils import quoteattr  # loads half of the network library

    return quoteattr(text, {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})


def read(path: Path) -> Found:
    """Return what a data message says."""
    said: dict[str, Any] = {}
    components: dict[str, str] = {}
    codes: dict[str, list[str]] = {}
    values: list[float | None] = []
    text = read_bytes(path).decode("utf-8", "replace").removeprefix(PROLOG)
    if "PROVENANCE=" not in text:
        raise NotOurs(f"'{path.name}' must be a file that this program wrote.")
    for tag in tags(text, path.name):
        if tag.name == "mes:DataSet" and not tag.closes:
            said = parsed(tag.attributes["PROVENANCE"], "the provenance")
            components = said["components"]
            codes = {component: [] for component in components}
        elif tag.name == "Obs" and not tag.closes:
            for component, column in codes.items():
                column.append(original(tag.attributes[component]))
            value = decimal(tag.attributes.get("OBS_VALUE"))
            if (tag.attributes["OBS_STATUS"] == NORMAL) != (value is not None):
                raise ParameterError("the status of a figure contradicts it.")
            values.append(value)
    labels = structure_labels(path.with_name(path.name + STRUCTURE))
    shown = labels or {}
    named = [
        Named(name, shown.get(f"{c}/", {}).get("", ""), shown.get(c))
        for c, name in components.items()
    ]
    table = assembled(named, [codes[c] for c in components], {"value": values})
    document = without(said, "components")
    return Found(table, facts(said), proof_of(said), document, labels is not None)


FORMAT = Format(
    "sdmx-ml", "SDMX-ML 2.1",
    "application/vnd.sdmx.structurespecificdata+xml; version=2.1", ".xml", write_to, read,
    lambda start: start.startswith(b"<") and b"<html" not in start[:200].lower(),
    companions, (STRUCTURE,),
)  # fmt: skip
