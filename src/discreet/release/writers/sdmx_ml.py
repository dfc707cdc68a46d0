"""SDMX-ML 2.1, structure-specific data: one element an observation, the structure beside it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, BinaryIO
from xml.sax.saxutils import quoteattr

import numpy as np

from discreet.release.writers.base import Format, chunks, document
from discreet.release.writers.sdmx import (
    AGENCY,
    NORMAL,
    STRUCTURE,
    VERSION,
    WITHHELD,
    Names,
    attributes,
    moment,
    safe,
    structure,
)

if TYPE_CHECKING:
    from discreet.release.result import Release

_SCHEMAS = "http://www.sdmx.org/resources/sdmxml/schemas/v2_1"


def write_to(release: Release, file: BinaryIO) -> None:
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
        figures = [f' OBS_VALUE="{value}"{known}' for value in chunk.values.tolist()]
        for i in np.flatnonzero(chunk.withheld).tolist():
            figures[i] = missing
        lines = ("<Obs" + "".join(line) for line in zip(*parts, figures, strict=True))
        file.write("".join(lines).encode())
    file.write(b"</mes:DataSet>\n</mes:StructureSpecificData>\n")


def _head(release: Release, names: Names) -> str:
    urn = f"urn:sdmx:org.sdmx.infomodel.datastructure.DataStructure={names.urn}"
    ids = [d.level for d in release.table.dimensions]
    said = document(release, components=dict(zip(names.components, ids, strict=True)))
    texts = {name: text for name, text in attributes(release).items() if text}
    texts["PROVENANCE"] = json.dumps(said, ensure_ascii=False, separators=(",", ":"))
    written = " ".join(f"{name}={_quoted(text)}" for name, text in texts.items())
    prepared = moment(release).isoformat(timespec="seconds").replace("+00:00", "Z")
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<mes:StructureSpecificData xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"\
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


def companions(release: Release) -> Mapping[str, bytes]:
    """Return the structure message that the data message names."""
    return {STRUCTURE: structure(release)}


def _quoted(text: str) -> str:
    return quoteattr(text, {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})


FORMAT = Format(
    "sdmx-ml", "SDMX-ML 2.1",
    "application/vnd.sdmx.structurespecificdata+xml; version=2.1", ".xml", write_to, companions,
    (STRUCTURE,),
)  # fmt: skip
