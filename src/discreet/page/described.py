"""What search engines read of a page: a data set or a table, in the words of schema.org."""

from __future__ import annotations

import json
from typing import Any

from markupsafe import Markup

from discreet.release.text import clean
from discreet.service import Opened

CONTEXT = "https://schema.org"


def of_dataset(opened: Opened, base: str) -> Markup:
    """Return a data set as JSON-LD; no figure is in it."""
    return _script(_dataset(opened, base))


def of_table(opened: Opened, base: str, title: str, address: str, csv: str) -> Markup:
    """Return a table of a data set as JSON-LD, with where its file is."""
    names = _dataset(opened, base)
    return _script(
        {
            "@context": CONTEXT,
            "@type": "Dataset",
            "@id": address,
            "url": address,
            "name": clean(title),
            "description": f"{clean(title)}. Figures are protected against disclosure.",
            "isPartOf": {key: value for key, value in names.items() if key != "@context"},
            "dateModified": names["dateModified"],
            "isAccessibleForFree": True,
            "distribution": _download(csv),
        }
    )


def _dataset(opened: Opened, base: str) -> dict[str, Any]:
    schema = opened.schema
    address = f"{base}/datasets/{opened.id}"
    labels = [clean(variable.label) for variable in schema.variables]
    return {
        "@context": CONTEXT,
        "@type": "Dataset",
        "@id": address,
        "url": address,
        "identifier": opened.id,
        "name": clean(schema.title),
        "description": f"{clean(schema.title)}: any table of {clean(schema.unit)} by "
        f"{', '.join(labels)}, protected against disclosure.",
        "dateModified": str(opened.version.manifest["created"]),
        "isAccessibleForFree": True,
        "keywords": labels,
        "variableMeasured": [{"@type": "PropertyValue", "name": label} for label in labels],
        "includedInDataCatalog": {
            "@type": "DataCatalog", "name": "Discreet", "url": f"{base}/api/v1/catalogue"
        },
    }  # fmt: skip


def _download(csv: str) -> dict[str, Any]:
    return {"@type": "DataDownload", "encodingFormat": "text/csv", "contentUrl": csv}


def _script(value: dict[str, Any]) -> Markup:
    """Return a block of data; a label cannot end it, for it holds no angle bracket."""
    text = json.dumps(value, ensure_ascii=False).replace("&", "\\u0026")
    text = text.replace("<", "\\u003c").replace(">", "\\u003e")
    return Markup('<script type="application/ld+json">{}</script>').format(Markup(text))  # noqa: S704
