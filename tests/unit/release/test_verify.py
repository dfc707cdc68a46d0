"""Verification: files saved anew verify, and one changed figure, label or note does not."""

from __future__ import annotations

import csv
import io
import json
import random
import re
from contextlib import suppress
from pathlib import Path
from zipfile import ZIP_STORED, ZipFile

import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.errors import ParameterError
from discreet.release import Release
from discreet.release.formats import FORMATS
from discreet.release.signature import Signer
from discreet.release.verify import Authenticity, verify
from discreet.table import Dimension
from releases import AWKWARD, MARK, dimension, release

TEXT_FORMATS = [name for name in FORMATS if name not in ("xlsx", "parquet")]


@pytest.fixture(scope="module")
def signer(tmp_path_factory: pytest.TempPathFactory) -> Signer:
    return Signer.of_store(tmp_path_factory.mktemp("store"))


@pytest.fixture
def made(signer: Signer) -> Release:
    parts = (dimension("area", 3, True), dimension("age", len(AWKWARD), labels=AWKWARD),
             dimension("sex", 2, True))  # fmt: skip
    return release(parts, withheld=1, bounds=True, signer=signer)


@pytest.mark.parametrize("format", FORMATS)
def test_a_file_is_genuine_as_it_was_written(
    format: str, made: Release, signer: Signer, tmp_path: Path
) -> None:
    made.write(tmp_path / "t", format)
    found = verify(tmp_path / "t", signer.public)
    assert found.genuine, found.reasons
    assert found.provenance == vars(made.provenance)


def _replaced(path: Path, old: str, new: str) -> None:
    text = path.read_bytes().decode()
    assert old in text
    path.write_bytes(text.replace(old, new).encode())


@pytest.mark.parametrize("format", TEXT_FORMATS)
@pytest.mark.parametrize("change", ["figure", "label", "withheld"])
def test_one_change_is_seen(
    format: str, change: str, made: Release, signer: Signer, tmp_path: Path
) -> None:
    path = tmp_path / "t"
    files = made.write(path, format)
    if change == "figure":
        mark = f"{MARK:,}" if format == "html" else str(MARK)
        _replaced(path, mark, mark.replace("7", "8", 1))
    elif change == "label":
        named = [f for f in files if "Sex number 1" in f.read_text("utf-8")][-1]
        text = named.read_text("utf-8").replace("Sex number 1", "Sex number ?")
        named.write_bytes(text.replace("Sex number 2", "Sex number 1").encode())
    else:
        text = path.read_bytes().decode()
        first = {
            "json-stat": ("", ""), "csv-layout": (",,,", ",0,,"), "px": ('".."', "0"),
            "sdmx-ml": ('OBS_STATUS="Q"', 'OBS_VALUE="0" OBS_STATUS="A"'),
            "html": ("<td>…", "<td>0"),
            "sdmx-csv": (",,Q", ",0,A"), "csv": (",,,\r\n", ",0,0,0\r\n"),
        }[format]  # fmt: skip
        assert first[0] in text
        if format == "json-stat":  # a figure and its bounds
            path.write_text(re.sub(r"(?<=[\[,])null(?=[,\]])", "0", text), "utf-8")
        else:
            path.write_bytes(text.replace(*first, 1).encode())
    found = verify(path, signer.public)
    assert found.authenticity is Authenticity.ALTERED
    expected = "labels" if change == "label" else "figures or codes"
    assert expected in found.reasons[0]


@pytest.mark.parametrize("format", FORMATS)
def test_a_changed_note_is_seen(format: str, made: Release, signer: Signer, tmp_path: Path) -> None:
    path = tmp_path / "t"
    files = made.write(path, format)
    old, new = "Use the published total.", "Add up as you like."
    if format == "xlsx":
        book = openpyxl.load_workbook(io.BytesIO(path.read_bytes()))
        cells = [c for row in book["Notes"].iter_rows() for c in row if c.value == old]
        assert cells
        cells[0].value = new
        book.save(path)
    elif format == "parquet":
        table = pq.read_table(path)
        said = table.schema.metadata[b"discreet"].replace(old.encode(), new.encode())
        pq.write_table(table.replace_schema_metadata({b"discreet": said}), path)
    else:
        for file in files:
            text = file.read_bytes().decode()
            quoted = old.replace(" ", "%20"), new.replace(" ", "%20")
            file.write_bytes(text.replace(old, new, 1).replace(*quoted, 1).encode())
    found = verify(path, signer.public)
    assert found.authenticity is Authenticity.ALTERED, found


def test_the_title_on_the_page_is_the_signed_one(
    made: Release, signer: Signer, tmp_path: Path
) -> None:
    leads = {
        "html": '<h1 dir="auto">', "px": 'TITLE="', "json-stat": '"label":"',
        "csv-layout": '\ufeff"', "sdmx-ml": 'TITLE="',
    }  # fmt: skip
    for format, tag in leads.items():
        path = tmp_path / format
        made.write(path, format)
        _replaced(path, tag + "Persons by", tag + "Prisoners by")
        found = verify(path, signer.public)
        assert found.authenticity is Authenticity.ALTERED, format


def test_a_csv_saved_anew_is_genuine(made: Release, signer: Signer, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    made.write(path, "csv")
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    frame = frame.sample(frac=1, random_state=1)[sorted(frame.columns, reverse=True)]
    frame.to_csv(path, sep=";", index=False, quoting=csv.QUOTE_ALL, encoding="utf-8-sig")
    assert verify(path, signer.public).genuine
    frame.to_csv(path, sep="\t", index=False, encoding="utf-16")
    assert verify(path, signer.public).genuine
    # A spreadsheet that takes figures for decimals.
    frame["value"] = [x and f"{x}.0" for x in frame["value"]]
    frame.to_csv(path, index=False)
    assert verify(path, signer.public).genuine
    frame.iloc[1:].to_csv(path, index=False)
    lacking = verify(path, signer.public)
    assert lacking.authenticity is Authenticity.ALTERED
    assert "once each" in lacking.reasons[0]


def test_a_workbook_packed_anew_is_genuine_and_one_saved_anew_is_not(
    made: Release, signer: Signer, tmp_path: Path
) -> None:
    path = tmp_path / "t.xlsx"
    made.write(path, "xlsx")
    with ZipFile(path) as old:
        parts = {name: old.read(name) for name in old.namelist()}
    with ZipFile(path, "w", ZIP_STORED) as new:
        for name, content in parts.items():
            new.writestr(name, content)
    assert verify(path, signer.public).genuine
    # What another program makes of it may look like anything: only its figures can be checked.
    book = openpyxl.load_workbook(path)
    book.save(path)
    (reason,) = verify(path, signer.public).reasons
    assert "another program saved it" in reason
    sheet = openpyxl.load_workbook(path).worksheets[0]
    marked = [cell.coordinate for row in sheet.iter_rows() for cell in row if cell.value == MARK]
    book = openpyxl.load_workbook(path)
    book.worksheets[0][marked[0]] = MARK + 1
    book.save(path)
    assert verify(path, signer.public).reasons == ("figures or codes differ",)
    book.worksheets[0][marked[0]] = f"={MARK}"
    book.save(path)
    assert verify(path, signer.public).authenticity is Authenticity.ALTERED


def test_a_parquet_sorted_by_another_program_is_genuine(
    made: Release, signer: Signer, tmp_path: Path
) -> None:
    path = tmp_path / "t.parquet"
    made.write(path, "parquet")
    table = pq.read_table(path)
    plain = table.cast(
        pa.schema([(f.name, pa.string() if pa.types.is_dictionary(f.type) else f.type)
                   for f in table.schema])
    ).sort_by([("value", "descending")])  # fmt: skip
    pq.write_table(plain.replace_schema_metadata(None), path)  # the sidecar is still there
    assert verify(path, signer.public).genuine
    low = plain.column_names.index("low")
    zeros = [None if x is None else 0 for x in plain["value"].to_pylist()]
    moved = plain.set_column(low, "low", pa.array(zeros, pa.int64()))
    pq.write_table(moved.replace_schema_metadata(None), path)
    assert verify(path, signer.public).reasons == ("bounds of figures differ",)


def test_another_key_and_no_key(made: Release, signer: Signer, tmp_path: Path) -> None:
    made.write(tmp_path / "t", "json-stat")
    (tmp_path / "other").mkdir()
    other = Signer.of_store(tmp_path / "other")
    assert verify(tmp_path / "t", other.public).authenticity is Authenticity.FOREIGN
    # A statement with digests of changed figures cannot be signed without the key.
    data = json.loads((tmp_path / "t").read_text())
    data["extension"]["discreet"]["proof"]["statement"]["cells"] = "0" * 64
    (tmp_path / "t").write_text(json.dumps(data))
    assert verify(tmp_path / "t", signer.public).authenticity is Authenticity.FOREIGN
    release(made.table.dimensions).write(tmp_path / "u", "json-stat")
    assert verify(tmp_path / "u", signer.public).authenticity is Authenticity.UNSIGNED


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"a,b\n1,2\n", "a file that this program wrote"), (b"PK..", "whole XLSX"),
     (b"<html></html>", "page of a release that this program wrote"), (None, "readable file")],
)  # fmt: skip
def test_a_file_that_is_not_ours_is_said(
    content: bytes | None, message: str, signer: Signer, tmp_path: Path
) -> None:
    if content is not None:
        (tmp_path / "t").write_bytes(content)
    with pytest.raises(ParameterError, match=message):
        verify(tmp_path / "t", signer.public)


def test_a_damaged_file_is_not_genuine(made: Release, signer: Signer, tmp_path: Path) -> None:
    for format in TEXT_FORMATS:
        path = tmp_path / format
        made.write(path, format)
        content = path.read_bytes()
        path.write_bytes(content[: len(content) // 2])
        with suppress(ParameterError):  # not a file of ours at all any more
            assert not verify(path, signer.public).genuine, format


# What formats escape, fold, guard or cannot hold, alone and side by side.
_PIECES = (
    *"aZ0 _-'\"=+@#;,&<>%$/\\\t\n\r\x07\x1f\u00a0\u2028\u0085\ufeffé漢😀:(){}[]",
    "_x0041_", "&amp;", "\r\n", "]]>", "..", "_T", " (a)",
)  # fmt: skip


def test_whatever_the_labels_are_an_unaltered_file_is_genuine(
    signer: Signer, tmp_path: Path
) -> None:
    rng = random.Random(5)

    def text(most: int) -> str:
        return "".join(rng.choice(_PIECES) for _ in range(rng.randint(0, most)))

    for number in range(12):
        parts = [
            Dimension(name, name, text(6), ("1", "a'=", "_x0041_"), (text(9), text(9), text(9)))
            for name in "abcd"[: number % 4 + 1]
        ]
        made = release(tuple(parts), number % 3 or None, bool(number % 2), signer=signer)
        for format in FORMATS:
            made.write(tmp_path / format, format)
            found = verify(tmp_path / format, signer.public)
            assert found.genuine, (format, found.reasons, parts)
