"""CSV as laid out: title, one block per layer with the last dimension across, notes at the end."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from discreet.errors import NotOurs
from discreet.release.formats.base import Format, Found
from discreet.release.formats.laid_out import PROOF, layout, read_rows, sheets
from discreet.release.formats.tidy import META, delimited, read_text
from discreet.release.text import clean, facts, guarded, meta

if TYPE_CHECKING:
    from discreet.release.result import Release


def write_to(release: Release, file: BinaryIO) -> None:
    """Write a release block by block. Codes stay as they are; a label is never a formula."""
    text = io.TextIOWrapper(file, "utf-8-sig", newline="", write_through=True)
    try:
        writer = csv.writer(text, lineterminator="\r\n")
        said = facts(meta(release))
        writer.writerow([guarded(said[0][1])])
        for sheet in sheets(release.table):
            writer.writerow([])
            if named := sheet.of_layer():
                label, level, category, code = named
                writer.writerow([_label(label), level, _label(category), code])
            first, *second = sheet.heads(release.provenance.unit)
            across = 2 * len(sheet.stub)
            writer.writerow([x if i % 2 and i < across else _label(x) for i, x in enumerate(first)])
            for codes in second:
                writer.writerow([_label(codes[0]), *codes[1:]])
            for stub, figures in sheet.rows():
                heads = [x for label, code in stub for x in (_label(label), code)]
                writer.writerow([*heads, *figures])
        writer.writerow([])
        for head, fact in said:
            writer.writerow([head, guarded(fact)])
        proof = {"layout": layout(release.table), "proof": release.proof}
        writer.writerow([PROOF, json.dumps(proof, ensure_ascii=False)])
    finally:
        text.detach()


def _label(text: str) -> str:
    return guarded(clean(text))


def read(path: Path) -> Found:
    """Return what a file says."""
    text = read_text(path)
    found = re.search(rf'(?m)^"?{PROOF}"?([,;\t])', text)
    if not found:
        raise NotOurs(
            f"'{path.name}' must be a file that this program wrote: it has no row '{PROOF}' and "
            f"no {path.name}{META} beside it."
        )
    return read_rows(list(delimited(text, found.group(1))))


FORMAT = Format(
    "csv-layout", "CSV as laid out", "text/csv; charset=utf-8", ".csv", write_to, read
)  # fmt: skip
