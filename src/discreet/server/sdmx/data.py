"""Data messages: SDMX-ML 2.1 structure-specific as series, or SDMX-CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from xml.sax.saxutils import quoteattr

from discreet.release.formats.sdmx import NORMAL, PROLOG, WITHHELD, safe
from discreet.release.text import clean
from discreet.server.parts import Part
from discreet.server.sdmx.names import CONFIDENTIAL, STATUS, VALUE, VERSION, Flow
from discreet.server.sdmx.structures import prepared
from discreet.table import TOTAL

_SCHEMAS = "http://www.sdmx.org/resources/sdmxml/schemas/v2_1"
FLAT = "AllDimensions"
FREE, HIDDEN = "F", "C"


def xml(flow: Flow, part: Part, along: str, keys_only: bool) -> bytes:
    """Return the figures as series along one dimension; R's rsdmx reads nothing else."""
    shown = [flow.of_level[d.level] for d in part.table.dimensions]
    if along != FLAT and along not in shown:
        along = shown[-1]
    lines = [_head(flow, part, along)]
    series: tuple[str, ...] | None = None
    for codes, figure in _cells(part):
        at = dict(zip(shown, codes, strict=True))
        status = f' {STATUS}="{WITHHELD}" {CONFIDENTIAL}="{HIDDEN}"'
        if figure is not None:
            status = f' {VALUE}="{figure}" {STATUS}="{NORMAL}" {CONFIDENTIAL}="{FREE}"'
        key = tuple(f'{n}="{at.get(n, TOTAL)}"' for n in flow.dimensions if n != along)
        if along == FLAT:
            lines.append(f"<Obs {' '.join(key)}{status}/>")
            continue
        if key != series:
            lines += ["</Series>"] * (series is not None) + [f"<Series {' '.join(key)}>"]
            series = key
        if not keys_only:
            lines.append(f'<Obs {along}="{at[along]}"{status}/>')
    lines += ["</Series>"] * (series is not None)
    lines.append("</mes:DataSet>\n</mes:StructureSpecificData>\n")
    return "\n".join(lines).encode()


def _cells(part: Part) -> Iterator[tuple[tuple[str, ...], int | None]]:
    """Give the codes and the figure of each cell, the last dimension fastest."""
    columns = part.table.columns()
    codes = [[safe(c) for c in columns[d.level]] for d in part.table.dimensions]
    return zip(zip(*codes, strict=True), columns["value"], strict=True)


def _head(flow: Flow, part: Part, along: str) -> str:
    urn = (
        "urn:sdmx:org.sdmx.infomodel.datastructure.DataStructure="
        f"{flow.agency}:{flow.structure}({VERSION})"
    )
    texts = "".join(
        f" {name}={quoteattr(text, {chr(10): '&#10;'})}" for name, text in _texts(part).items()
    )
    at = prepared(flow).isoformat(timespec="seconds").replace("+00:00", "Z")
    return f"""{PROLOG}<mes:StructureSpecificData xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"\
 xmlns:mes="{_SCHEMAS}/message" xmlns:ss="{_SCHEMAS}/data/structurespecific"\
 xmlns:com="{_SCHEMAS}/common" xmlns:ns1="{urn}:ObsLevelDim:{along}">
<mes:Header>
<mes:ID>{flow.id}</mes:ID>
<mes:Test>false</mes:Test>
<mes:Prepared>{at}</mes:Prepared>
<mes:Sender id={quoteattr(flow.agency)}/>
<mes:Structure structureID="{flow.structure}" namespace="{urn}" dimensionAtObservation="{along}">
<com:Structure><Ref agencyID={quoteattr(flow.agency)} id="{flow.structure}" version="{VERSION}"\
 class="DataStructure"/></com:Structure>
</mes:Structure>
</mes:Header>
<mes:DataSet{texts} ss:structureRef="{flow.structure}" xsi:type="ns1:DataSetType"\
 ss:dataScope="DataStructure" action="Replace">"""


def _texts(part: Part) -> dict[str, str]:
    return {
        "TITLE": clean(part.title),
        "NOTES": "\n".join(map(clean, part.notes)),
        "QUESTION": part.asked.question.canonical,
        "SIGNED": part.signed("sdmx-ml"),
    }


def text(flow: Flow, part: Part, newer: bool) -> bytes:
    """Return the figures as SDMX-CSV 1.0, or 2.0 where the newer one is asked for."""
    name = f"{flow.agency}:{flow.id}({VERSION})"
    shown = [flow.of_level[d.level] for d in part.table.dimensions]
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    first = ["STRUCTURE", "STRUCTURE_ID", "ACTION"] if newer else ["DATAFLOW"]
    about = ["dataflow", name, "I"] if newer else [name]
    writer.writerow([*first, *flow.dimensions, VALUE, STATUS, CONFIDENTIAL])
    for codes, figure in _cells(part):
        at = dict(zip(shown, codes, strict=True))
        told = ["", WITHHELD, HIDDEN] if figure is None else [figure, NORMAL, FREE]
        writer.writerow([*about, *(at.get(n, TOTAL) for n in flow.dimensions), *told])
    return file.getvalue().encode()
