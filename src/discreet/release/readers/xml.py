"""Reading SDMX-ML back, with the labels of the structure beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from discreet.errors import NotOurs, ParameterError
from discreet.release.readers.base import Found, Named, assembled, figure, parsed, proof_of, unlike
from discreet.release.text import facts
from discreet.release.writers.sdmx import NORMAL, STRUCTURE, original

_STR = "{http://www.sdmx.org/resources/sdmxml/schemas/v2_1/structure}"
_COM = "{http://www.sdmx.org/resources/sdmxml/schemas/v2_1/common}"
_SAFE: dict[str, Any] = {"resolve_entities": False, "no_network": True, "huge_tree": True}


def read(path: Path) -> Found:
    """Return what a data message says."""
    from lxml import etree

    attributes: dict[str, str] = {}
    components: dict[str, str] = {}
    codes: dict[str, list[str]] = {}
    values: list[int | None] = []
    try:
        for event, element in etree.iterparse(str(path), events=("start", "end"), **_SAFE):
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


def structure_labels(path: Path) -> dict[str, dict[str, str]] | None:
    """Return the labels of each component by code, None where there is no structure to read.

    Under the component with a slash behind is the label of the component itself.
    """
    from lxml import etree

    if not path.is_file():
        return None
    try:
        tree = etree.parse(str(path), etree.XMLParser(**_SAFE))
    except etree.XMLSyntaxError as error:
        raise ParameterError(f"'{path.name}' must be XML. {error.msg}.") from None
    found: dict[str, dict[str, str]] = {}
    for codelist in tree.iter(f"{_STR}Codelist"):
        component = codelist.get("id", "").removeprefix("CL_")
        found[f"{component}/"] = {"": codelist.findtext(f"{_COM}Name", "")}
        found[component] = {
            original(code.get("id", "")): code.findtext(f"{_COM}Name", "")
            for code in codelist.iter(f"{_STR}Code")
        }
    return found
