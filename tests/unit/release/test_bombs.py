"""Small files that would take all the memory or time of the machine are refused before they do."""

from __future__ import annotations

import io
import json
import os
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.errors import ParameterError
from discreet.release import Release
from discreet.release.signature import Signer
from discreet.release.verify import verify
from releases import dimension, release

KEY = bytes(32)
LAUGHS = '<!DOCTYPE x [<!ENTITY a "ha">' + "".join(
    f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in zip("abcdefghi", "bcdefghij", strict=True)
) + "]>\n"  # fmt: skip


@pytest.fixture
def made(tmp_path: Path) -> Release:
    (tmp_path / "store").mkdir()
    parts = (dimension("area", 3, True), dimension("sex", 2))
    return release(parts, signer=Signer.of_store(tmp_path / "store"))


@contextmanager
def little_memory() -> Iterator[None]:
    """Allow a gigabyte more than the tests have now: what takes more fails with MemoryError."""
    kept = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * os.sysconf("SC_PAGE_SIZE") + 2**30
    resource.setrlimit(resource.RLIMIT_AS, (most, kept[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, kept)


def changed(path: Path, old: str, new: str) -> None:
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), "utf-8", newline="")


def refused(path: Path) -> str:
    """Return why a file is refused or not genuine: in a sentence."""
    try:
        with little_memory():
            found = verify(path, KEY)
    except ParameterError as error:
        return str(error)
    assert not found.genuine
    return found.reasons[0]


def test_json_stat_of_a_trillion_cells(made: Release, tmp_path: Path) -> None:
    path = tmp_path / "t"
    made.write(path, "json-stat")
    data = json.loads(path.read_text())
    codes = [str(i) for i in range(10_000)]
    data["id"] = list("abc")
    data["dimension"] = {
        name: {"label": name, "category": {"index": codes, "label": dict.fromkeys(codes, "x")}}
        for name in "abc"
    }
    path.write_text(json.dumps(data))
    assert "1,000,000,000,000 cells" in refused(path)


@pytest.mark.parametrize("deep", ["[" * 100_000, '{"a":' * 100_000])
def test_json_that_is_nested_without_end(deep: str, tmp_path: Path) -> None:
    (tmp_path / "t").write_text('{"a":' + deep)
    assert "nested" in refused(tmp_path / "t")


def test_px_of_more_cells_than_figures(made: Release, tmp_path: Path) -> None:
    path = tmp_path / "t"
    made.write(path, "px")
    codes = ",".join(f'"{i}"' for i in range(200_000))
    changed(path, 'CODES("Sex")="1","-8"', f'CODES("Sex")={codes}')
    changed(path, 'VALUES("Sex")="Sex number 1","Sex number 2"', f'VALUES("Sex")={codes}')
    assert "cells must be there once each" in refused(path)


def test_px_in_a_million_pieces(made: Release, tmp_path: Path) -> None:
    path = tmp_path / "t"
    made.write(path, "px")
    changed(path, 'TITLE="', 'TITLE="' + '"\r\n"'.join("x" * 1_000_000) + '"\r\n"')
    assert "differ" in refused(path) or "not signed" in refused(path)


def test_xml_that_laughs(made: Release, tmp_path: Path) -> None:
    structure = ".structure.xml"
    for format, ending in (("sdmx-ml", ""), ("sdmx-ml", structure), ("sdmx-csv", structure)):
        path = tmp_path / f"{format}{ending}"
        made.write(path, format)
        beside = path.with_name(path.name + ending)
        changed(beside, "?>\n", f"?>\n{LAUGHS}")
        changed(beside, "Persons", "&j;")
        assert "line 1" in refused(path)


def test_a_page_that_laughs_or_nests(made: Release, tmp_path: Path) -> None:
    path = tmp_path / "t"
    made.write(path, "html")
    changed(path, "<main>", "<main>" + "<!--" * 1_000_000)
    assert "is not as this program wrote it" in refused(path)


def rezipped(path: Path, change: Callable[[dict[str, bytes]], object]) -> None:
    with ZipFile(path) as old:
        parts = {name: old.read(name) for name in old.namelist()}
    change(parts)
    with ZipFile(path, "w", ZIP_DEFLATED) as new:
        for name, content in parts.items():
            new.writestr(name, content)


SHEET = "xl/worksheets/sheet1.xml"


def test_a_workbook_that_unpacks_to_more_than_it_may(made: Release, tmp_path: Path) -> None:
    path = tmp_path / "t"
    made.write(path, "xlsx")
    with ZipFile(path, "a", ZIP_DEFLATED) as book, book.open("xl/media/x", "w") as part:
        for _ in range(600):
            part.write(bytes(2**20))
    assert path.stat().st_size < 2**20
    assert "at most 536,870,912 bytes" in refused(path)


def test_a_workbook_that_unpacks_to_more_than_it_says(made: Release, tmp_path: Path) -> None:
    path = tmp_path / "t"
    made.write(path, "xlsx")
    rezipped(path, lambda parts: parts.update({SHEET: parts[SHEET] + b" " * 2**24}))
    raw = path.read_bytes()
    with ZipFile(path) as book:
        size = book.getinfo(SHEET).file_size.to_bytes(4, "little")
    assert raw.count(size) == 2
    path.write_bytes(raw.replace(size, (4_000).to_bytes(4, "little")))
    assert "whole XLSX" in refused(path)


@pytest.mark.parametrize("place", ["A1048576", "XFD6", "A9999999", "ZZZ6"])
def test_a_workbook_with_a_cell_far_away(place: str, made: Release, tmp_path: Path) -> None:
    path = tmp_path / "t"
    made.write(path, "xlsx")
    cell = f'<row r="1"><c r="{place}"><v>1</v></c></row></sheetData>'.encode()
    rezipped(path, lambda p: p.update({SHEET: p[SHEET].replace(b"</sheetData>", cell)}))
    assert refused(path)


def test_a_workbook_of_wide_rows(made: Release, tmp_path: Path) -> None:
    path = tmp_path / "t"
    made.write(path, "xlsx")
    rows = "".join(f'<row r="{i}"><c r="XFD{i}"/></row>' for i in range(100, 100_000))
    more = f"{rows}</sheetData>".encode()
    rezipped(path, lambda p: p.update({SHEET: p[SHEET].replace(b"</sheetData>", more)}))
    assert "at most 50,000,000 cells" in refused(path)


def test_a_workbook_that_laughs(made: Release, tmp_path: Path) -> None:
    path = tmp_path / "t"
    made.write(path, "xlsx")
    laughing = LAUGHS.encode()
    rezipped(path, lambda p: p.update({SHEET: p[SHEET].replace(b"?>\n", b"?>\n" + laughing)}))
    assert "line 1 of xl/worksheets/sheet1.xml" in refused(path)


def test_parquet_of_very_many_rows(made: Release, tmp_path: Path) -> None:
    path = tmp_path / "t"
    made.write(path, "parquet")
    schema = pq.read_schema(path)
    plain = pa.schema([("value", pa.int64())], schema.metadata)
    column = pa.chunked_array([pa.array([7] * 1_000_000, pa.int64())] * 60)
    pq.write_table(pa.table([column], plain), path, compression="zstd")
    assert path.stat().st_size < 2**20
    assert "at most 50,000,000 fields" in refused(path)


def test_parquet_with_a_text_that_unpacks_to_a_gigabyte(made: Release, tmp_path: Path) -> None:
    path = tmp_path / "t"
    made.write(path, "parquet")
    schema = pa.schema([("area", pa.string())], pq.read_schema(path).metadata)
    buffer = io.BytesIO()
    with pq.ParquetWriter(buffer, schema, compression="zstd", use_dictionary=False) as writer:
        for _ in range(40):
            writer.write_table(pa.table([["x" * 2**24]], schema))
    path.write_bytes(buffer.getvalue())
    assert path.stat().st_size < 2**20
    assert "at most 536,870,912 bytes unpacked" in refused(path)


def test_what_is_no_file_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero"), tmp_path):
        assert "must be a file" in refused(path)
    assert "readable" in refused(tmp_path / "a\0b")


def test_a_file_that_is_too_large(tmp_path: Path) -> None:
    with (tmp_path / "t").open("wb") as file:
        file.truncate(2**29 + 1)  # a hole, which takes no room
    assert "at most 536,870,912 bytes" in refused(tmp_path / "t")


def test_the_limit_of_memory_is_set() -> None:
    with little_memory(), pytest.raises(MemoryError):
        bytearray(2**31)
