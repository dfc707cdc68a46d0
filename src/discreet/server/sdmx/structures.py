"""Structure messages [SDMX 2.1]: made by pysdmx, but for hierarchies and availability."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from discreet.population.schema import Level, Variable
from discreet.release.formats.sdmx import PROLOG, safe
from discreet.release.text import clean
from discreet.server.sdmx.names import CONFIDENTIAL, STATUS, TEXTS, VALUE, VERSION, Flow
from discreet.table import TOTAL

_SCHEMAS = "http://www.sdmx.org/resources/sdmxml/schemas/v2_1"
STATUSES = {"A": "Normal value", "Q": "Missing value; suppressed"}
CONFIDENTIALITIES = {"F": "Free for publication", "C": "Confidential statistical information"}
KINDS = ("dataflow", "datastructure", "codelist", "conceptscheme", "agencyscheme")
"""What may be asked for by its kind, beside hierarchies."""


def artefacts(flow: Flow) -> dict[str, list[Any]]:
    """Return all artefacts of a data set by their kind."""
    from pysdmx import model

    common: dict[str, Any] = {"agency": flow.agency, "version": VERSION}
    lists = _codelists(flow, common)
    concepts = _concepts(flow, common, lists)
    title = _name(flow.opened.schema.title, flow.id)
    shape = model.DataStructureDefinition(
        id=flow.structure,
        name=title,
        components=model.Components(_components(flow, lists, concepts)),
        **common,
    )
    found = model.Dataflow(id=flow.id, name=title, structure=shape, **common)
    office = model.Agency(id=flow.agency, name=flow.agency)
    scheme = model.AgencyScheme(agency="SDMX", version=VERSION, name="Agencies", items=[office])
    return {
        "dataflow": [found],
        "datastructure": [shape],
        "codelist": list(lists.values()),
        "conceptscheme": [concepts],
        "agencyscheme": [scheme],
    }


def message(flows: Sequence[Flow], kinds: Iterable[str], id: str | None, more: bool) -> bytes:
    """Return the artefacts of some kinds, or the one of an id; `more` adds what belongs to them."""
    found: dict[tuple[str, str], Any] = {}
    for flow in flows:
        own = artefacts(flow)
        named = [one for kind in kinds for one in own[kind] if id in (None, one.id)]
        if named and more:
            named += [one for kind in KINDS[:4] for one in own[kind]]
        found |= {(type(one).__name__, one.id): one for one in named}
    return _written(list(found.values()), flows[0]) if found else b""


def _written(found: list[Any], flow: Flow) -> bytes:
    from pysdmx import model
    from pysdmx.io import write_sdmx
    from pysdmx.io.format import Format
    from pysdmx.model.message import Header

    header = Header(
        id=flow.id, prepared=prepared(flow), sender=model.Organisation(id=flow.agency), test=False
    )
    text = write_sdmx(found, Format.STRUCTURE_SDMX_ML_2_1, header=header)
    assert text is not None
    return str(text).encode()


def prepared(flow: Flow) -> datetime:
    """Return the date of the data: equal questions have equal answers."""
    return datetime.fromisoformat(str(flow.opened.version.manifest["created"]))


def _codelists(flow: Flow, common: dict[str, Any]) -> dict[str, Any]:
    """Return the code lists by their ids: each level's own, and each with the total."""
    from pysdmx.model import Code, Codelist

    found, total = {}, Code(id=TOTAL, name="Total")

    def add(id: str, label: str, codes: list[Code]) -> None:
        found[id] = Codelist(id=id, name=_name(label, id), items=codes, **common)

    for name, (_, level) in flow.dimensions.items():
        codes = [
            Code(id=safe(code), name=_name(label, code))
            for code, label in zip(level.codes, level.labels, strict=True)
        ]
        add(flow.codes(name), level.label, codes)
        add(flow.with_total(name), f"{level.label}, with total", [*codes, total])
    for id, items in ((STATUS, STATUSES), (CONFIDENTIAL, CONFIDENTIALITIES)):
        add(f"CL_{id}", id.replace("_", " "), [Code(id=c, name=n) for c, n in items.items()])
    return found


def _concepts(flow: Flow, common: dict[str, Any], lists: dict[str, Any]) -> Any:
    from pysdmx.model import Concept, ConceptScheme, DataType

    items = [
        Concept(id=name, name=_name(level.label, name), codes=lists[flow.codes(name)])
        for name, (_, level) in flow.dimensions.items()
    ]
    items.append(Concept(id=VALUE, name=flow.opened.schema.unit or "Value", dtype=DataType.LONG))
    items += [
        Concept(id=name, name=name.replace("_", " "), codes=lists[f"CL_{name}"])
        for name in (STATUS, CONFIDENTIAL)
    ]
    items += [Concept(id=name, name=name.capitalize(), dtype=DataType.STRING) for name in TEXTS]
    return ConceptScheme(id=f"CS_{flow.id}", name="Concepts", items=items, **common)


def _components(flow: Flow, lists: dict[str, Any], concepts: Any) -> list[Any]:
    from pysdmx.model import Component, DataType, ItemReference, Role

    def part(name: str, required: bool, role: Role, **more: Any) -> Any:
        concept = ItemReference("Concept", flow.agency, concepts.id, VERSION, name)
        return Component(name, required, role, concept, **more)

    return [
        *(
            part(name, True, Role.DIMENSION, local_codes=lists[flow.with_total(name)])
            for name in flow.dimensions
        ),
        part(VALUE, True, Role.MEASURE, local_dtype=DataType.LONG),
        *(
            part(name, True, Role.ATTRIBUTE, local_codes=lists[f"CL_{name}"], attachment_level="O")
            for name in (STATUS, CONFIDENTIAL)
        ),
        *(
            part(name, False, Role.ATTRIBUTE, local_dtype=DataType.STRING, attachment_level="D")
            for name in TEXTS
        ),
    ]


def _name(text: str, instead: str) -> str:
    shown = clean(text).replace("\r\n", "\n").replace("\r", "\n")
    return shown if shown.strip() else instead


# Hierarchies and constraints, of which pysdmx writes none in this version


def hierarchies(flow: Flow) -> bytes:
    """Return how the codes of each variable's levels lie in one another."""
    lists = []
    for variable in flow.opened.schema.variables:
        chain = [level for level in reversed(variable.chain) if level.id in flow.of_level]
        if len(chain) > 1:
            lists.append(_hierarchy(flow, variable, chain))
    return _around(flow, "HierarchicalCodelists", "".join(lists))


def _hierarchy(flow: Flow, variable: Variable, chain: list[Level]) -> str:
    id = f"HCL_{flow.id}_{flow.of_level[chain[-1].id]}"
    own = f'agencyID={quoteattr(flow.agency)} version="{VERSION}"'
    included = "".join(
        f'<str:IncludedCodelist alias="{flow.of_level[level.id]}">'
        f'<Ref id="{flow.codes(flow.of_level[level.id])}" {own} package="codelist" '
        'class="Codelist"/></str:IncludedCodelist>'
        for level in chain
    )
    name = escape(_name(variable.label, id))
    inside = [_inside(level, below) for level, below in pairwise(chain)]
    codes = "".join(_coded(flow, chain, inside, 0, range(len(chain[0]))))
    return (
        f'<str:HierarchicalCodelist id="{id}" {own}><com:Name xml:lang="en">{name}</com:Name>'
        f'{included}<str:Hierarchy id="H" leveled="false"><com:Name xml:lang="en">{name}</com:Name>'
        f"{codes}</str:Hierarchy></str:HierarchicalCodelist>"
    )


def _inside(level: Level, below: Level) -> list[list[int]]:
    """Return the categories of the next finer level that lie in each category."""
    found: list[list[int]] = [[] for _ in level.codes]
    for j, finest in enumerate(below.member.tolist()):
        if finest >= 0:
            found[int(level.of[finest])].append(j)
    return found


def _coded(
    flow: Flow, chain: list[Level], inside: list[list[list[int]]], depth: int, at: Iterable[int]
) -> Iterable[str]:
    level = chain[depth]
    alias = flow.of_level[level.id]
    for i in at:
        code = safe(level.codes[i])
        yield f'<str:HierarchicalCode id="{alias}-{code}"><str:CodelistAliasRef>{alias}'
        yield f'</str:CodelistAliasRef><str:CodeID><Ref id="{code}"/></str:CodeID>'
        if depth < len(inside):
            yield from _coded(flow, chain, inside, depth + 1, inside[depth][i])
        yield "</str:HierarchicalCode>"


def availability(flow: Flow) -> bytes:
    """Return which codes may be asked for; nothing is counted, so all of them."""
    values = "".join(
        f'<com:KeyValue id="{name}">'
        + "".join(f"<com:Value>{safe(code)}</com:Value>" for code in (*level.codes, TOTAL))
        + "</com:KeyValue>"
        for name, (_, level) in flow.dimensions.items()
    )
    own = f'agencyID={quoteattr(flow.agency)} version="{VERSION}"'
    return _around(
        flow,
        "Constraints",
        f'<str:ContentConstraint id="CC_{flow.id}" {own} type="Actual">'
        '<com:Name xml:lang="en">What may be asked for</com:Name>'
        f'<str:ConstraintAttachment><str:Dataflow><Ref id="{flow.id}" {own} '
        'package="datastructure" class="Dataflow"/></str:Dataflow></str:ConstraintAttachment>'
        f'<str:CubeRegion include="true">{values}</str:CubeRegion></str:ContentConstraint>',
    )


def _around(flow: Flow, kind: str, inner: str) -> bytes:
    """Return a structure message around artefacts of a kind."""
    at = prepared(flow).isoformat(timespec="seconds").replace("+00:00", "Z")
    return (
        f'{PROLOG}<mes:Structure xmlns:mes="{_SCHEMAS}/message" xmlns:str="{_SCHEMAS}/structure"'
        f' xmlns:com="{_SCHEMAS}/common"><mes:Header><mes:ID>{flow.id}</mes:ID>'
        f"<mes:Test>false</mes:Test><mes:Prepared>{at}</mes:Prepared>"
        f"<mes:Sender id={quoteattr(flow.agency)}/></mes:Header>"
        f"<mes:Structures><str:{kind}>{inner}</str:{kind}></mes:Structures></mes:Structure>\n"
    ).encode()
