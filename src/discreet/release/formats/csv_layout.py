"""CSV as laid out: title, one block per layer with the last dimension across, notes at the end."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import BinaryIO

from discreet.errors import NotOurs
from discreet.release.formats.base import Format, Found, Public
from discreet.release.formats.compare import delimited, read_text, same_rows
from discreet.release.formats.laid_out import PROOF, layout, read_rows, sheets
from discreet.release.formats.tidy import META
from discreet.release.text import clean, guarded
from discreet.table import figure_text


def write_to(release: Public, file: BinaryIO) -> None:
    """Write a release block by block. Codes stay as they are; a label is never a formula."""
    text = io.TextIOWrapper(file, "utf-8-sig", newline="", write_through=True)
    try:
        writer = csv.writer(text, lineterminator="\r\n")
        said = release.facts
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
                shown = ["" if figure is None else figure_text(figure) for figure in figures]
                writer.writerow([*heads, *shown])
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
    return read_rows(delimited(text, _delimiter(path, text), path.name))


def same(path: Path, fresh: bytes, found: Found) -> str:
    """Return in what a file differs from one that was written anew."""
    del found
    return same_rows(path, fresh, _delimiter(path, read_text(path)))


def _delimiter(path: Path, text: str) -> str:
    found = re.findall(rf'(?m)^"?{PROOF}"?([,;\t])', text)
    if not found:
        raise NotOurs(
            f"'{path.name}' must be a file that this program wrote: it has no row '{PROOF}' and "
            f"no {path.name}{META} beside it."
        )
    return str(found[-1])


FORMAT = Format(
    "csv-layout", "CSV as laid out", "text/csv; charset=utf-8", ".csv", write_to, read, same=same
)  # fmt: skip
