"""CSV as laid out: title, one block a layer with the last dimension across, notes at the end."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, BinaryIO

from discreet.release.text import clean, facts, guarded, meta
from discreet.release.writers.base import Format
from discreet.release.writers.layout import Layout, head_rows, layers

if TYPE_CHECKING:
    from discreet.release.result import Release

PROOF = "Proof"


def write_to(release: Release, file: BinaryIO) -> None:
    """Write a release block by block. Codes stay as they are; a label is never a formula."""
    table = release.table
    layout = Layout.of(table)
    text = io.TextIOWrapper(file, "utf-8-sig", newline="", write_through=True)
    try:
        writer = csv.writer(text, lineterminator="\r\n")
        said = facts(meta(release))
        writer.writerow([guarded(said[0][1])])
        for layer in layers(table, layout):
            writer.writerow([])
            if layer.category is not None and layout.layer is not None:
                d = table.dimensions[layout.layer]
                i = layer.category
                writer.writerow([_label(d.label), d.level, _label(d.labels[i]), d.codes[i]])
            across = 2 * len(layer.stub)
            first, *second = head_rows(layer, release.provenance.unit)
            heads = [x if i % 2 and i < across else _label(x) for i, x in enumerate(first)]
            writer.writerow(heads)
            for codes in second:
                writer.writerow([_label(codes[0]), *codes[1:]])
            for place, figures in layer.rows():
                stub = [
                    x
                    for d, i in zip(layer.stub, place, strict=True)
                    for x in (_label(d.labels[i]), d.codes[i])
                ]
                writer.writerow([*stub, *figures])
        writer.writerow([])
        for head, fact in said:
            writer.writerow([head, guarded(fact)])
        proof = {"layout": layout.as_dict(table), "proof": release.proof}
        writer.writerow([PROOF, json.dumps(proof, ensure_ascii=False)])
    finally:
        text.detach()


def _label(text: str) -> str:
    return guarded(clean(text))


FORMAT = Format(
    "csv-layout", "CSV as laid out", "text/csv; charset=utf-8", ".csv", write_to
)  # fmt: skip
