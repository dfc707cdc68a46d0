"""SDMX-ML 2.1, structure-specific data: one element per observation, the structure beside it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO
from xml.sax.saxutils import quoteattr

import numpy as np

from discreet.errors import NotOurs, ParameterError
from discreet.release.formats.base import (
    Format,
    Found,
    Named,
    assembled,
    chunks,
    document,
    figure,
    moment,
    parsed,
    proof_of,
    unlike,
)
from discreet.release.formats.sdmx import (
    AGENCY,
    NORMAL,
    SAFE,
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
from discreet.release.text import facts

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


def read(path: Path) -> Found:
    """Return what a data message says."""
    from lxml import etree

    attributes: dict[str, str] = {}
    components: dict[str, str] = {}
    codes: dict[str, list[str]] = {}
    values: list[int | None] = []
    try:
        for event, element in etree.iterparse(str(path), events=("start", "end"), **SAFE):
            name = etree.QName(element).localname
            if event == "start" and name == "DataSet":
                attributes = dict(element.attrib)
                if "PROVENANCE" not in attributes:
                    raise NotOurs(f"'{path.name}' must be a file that this program wrote.")
                components = parsed(attributes["PROVENANCE"], "the provenance")["components"]
                codes = {component: [] for component in components}
            elif event == "end" and name == "Obs":
                for component, column in codes.items():
                    column.append(original(element.attrib[component]))
                value = figure(element.get("OBS_VALUE"))
                if (element.get("OBS_STATUS") == NORMAL) != (value is not None):
                    raise ParameterError("the status of a figure contradicts it.")
                values.append(value)
                element.clear()
                while element.getprevious() is not None:
                    del element.getparent()[0]
    except etree.XMLSyntaxError as error:
        raise ParameterError(f"'{path.name}' must be XML. {error.msg}.") from None
    document = parsed(attributes.get("PROVENANCE", ""), "the provenance")
    labels = structure_labels(path.with_name(path.name + STRUCTURE))
    shown = labels or {}
    named = [
        Named(name, shown.get(f"{c}/", {}).get("", ""), shown.get(c))
        for c, name in components.items()
    ]
    table = assembled(named, [codes[c] for c in components], values)
    said = facts(document)
    wrong = unlike("TITLE", attributes.get("TITLE", ""), document["title"])
    for key, heads in (("NOTES", ("Note", "Availability")), ("FILTERS", ("Filter",))):
        stated = " ".join(text for head, text in said if head in heads)
        wrong += unlike(key, attributes.get(key, ""), stated)
    wrong += unlike("POPULATION", attributes.get("POPULATION", ""), document["population"])
    return Found(table, labels is not None, said, proof_of(document), wrong)


FORMAT = Format(
    "sdmx-ml", "SDMX-ML 2.1",
    "application/vnd.sdmx.structurespecificdata+xml; version=2.1", ".xml", write_to, read,
    lambda start: start.startswith(b"<") and b"<html" not in start[:200].lower(),
    companions, (STRUCTURE,),
)  # fmt: skip
