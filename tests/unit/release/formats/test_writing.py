"""Writing: what each file carries, whole or not at all, within limits and within memory."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from discreet.errors import ParameterError
from discreet.release import Release
from discreet.release.formats import FORMATS, to_bytes, xlsx
from discreet.release.text import PERTURBED
from discreet.risk import PublicQuality
from releases import dimension, release

SAID = "The expected Hellinger utility is 0.97."
ALTERED = PublicQuality(6, True, None, None, None, None, None, (SAID,))


@pytest.fixture
def given() -> Release:
    return release((dimension("area", 3, True), dimension("sex", 2)), 1, quality=ALTERED)


def whole(paths: list[Path]) -> str:
    """Return the text of a release's files, pieces of PX joined."""
    found = ""
    for path in paths:
        content = path.read_bytes()
        if content.startswith(b"PK"):
            with zipfile.ZipFile(path) as book:
                content = b"".join(book.read(name) for name in book.namelist())
        found += content.decode("utf-8", "replace")
    return re.sub(r'"\r\n"', "", found)


@pytest.mark.parametrize("format", FORMATS)
def test_every_file_carries_what_a_reader_needs(
    format: str, given: Release, tmp_path: Path
) -> None:
    text = whole(given.write(tmp_path / "t", format))
    for needed in (
        "Persons by area and sex",
        "Usual residents",
        "Local authority",
        "North, upper",
        "Census of Testland",
        PERTURBED,
        "Use the published total.",
        SAID,
        "3 of 4 areas available",
        "2024-01-02T03:04:05",
        "20240102T030405060708-abcdef",
        "2024.1",
        "by=age,sex",
    ):
        readable = needed.replace("&", "&amp;")
        assert readable in text, (format, needed)


def test_an_unknown_format_lists_the_choices(given: Release, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="no format 'xls'; did you mean 'xlsx'") as caught:
        given.write(tmp_path / "t", "xls")
    assert all(name in str(caught.value) for name in FORMATS)
    assert not list(tmp_path.iterdir())


def test_the_formats_are_the_ones_of_the_interface() -> None:
    assert list(FORMATS) == [
        "json-stat", "csv", "csv-layout", "xlsx", "px", "sdmx-csv", "sdmx-ml", "parquet", "html",
    ]  # fmt: skip


def test_no_half_file_is_left(
    given: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks(release: Release, file: BinaryIO) -> None:
        file.write(b"half")
        raise ParameterError("broken")

    (tmp_path / "t").write_text("before")
    monkeypatch.setitem(FORMATS, "csv", replace(FORMATS["csv"], write_to=breaks))
    with pytest.raises(ParameterError, match="broken"):
        given.write(tmp_path / "t", "csv")
    assert [path.name for path in tmp_path.iterdir()] == ["t"]
    assert (tmp_path / "t").read_text() == "before"


def test_a_folder_that_is_not_there_is_said(given: Release, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="folder that exists"):
        given.write(tmp_path / "none" / "t", "csv")
    with pytest.raises(ParameterError, match="must not be a folder"):
        given.write(tmp_path, "csv")


@pytest.mark.parametrize("format", FORMATS)
def test_equal_releases_give_equal_files(format: str, given: Release) -> None:
    again = release((dimension("area", 3, True), dimension("sex", 2)), 1, quality=ALTERED)
    assert to_bytes(given, format) == to_bytes(again, format)


@pytest.mark.parametrize(
    ("limit", "most", "allowed"),
    [("MOST_ROWS", 9, True), ("MOST_ROWS", 8, False), ("MOST_COLUMNS", 5, True),
     ("MOST_COLUMNS", 4, False)],
)  # fmt: skip
def test_the_limits_of_a_sheet_are_checked_before_writing(
    limit: str, most: int, allowed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    # 5 areas under 4 rows of heads are 9 rows; 3 columns beside label and code are 5.
    given = release((dimension("area", 5), dimension("sex", 3)))
    monkeypatch.setattr(xlsx, limit, most)
    if allowed:
        assert to_bytes(given, "xlsx")
    else:
        with pytest.raises(ParameterError, match=f"at most {most} .* needs {most + 1}"):
            to_bytes(given, "xlsx")


def test_a_sheet_for_each_layer_but_not_for_thousands() -> None:
    import io

    import openpyxl

    def sheets(*sizes: int) -> list[str]:
        parts = tuple(dimension(n, s) for n, s in zip("abcd", sizes, strict=False))
        return openpyxl.load_workbook(io.BytesIO(to_bytes(release(parts), "xlsx"))).sheetnames

    assert len(sheets(3, 2, 2)) == 3 + 1
    assert len(sheets(201, 2, 2)) == 2 + 1  # the second dimension makes the layers instead
    assert sheets(3, 2) == ["Table", "Notes"]


# A million cells, signed; the peak above what the table itself and the imports have.
_MEMORY = """
import resource, sys, tempfile
from dataclasses import replace
from pathlib import Path
from releases import dimension, release
from discreet.release.signature import Signer
import discreet.release.formats
folder = Path(tempfile.mkdtemp())
parts = tuple(dimension(name, 10) for name in "abcdef")
given = replace(release(parts, withheld=3), signer=Signer.of_store(folder))
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
before = peak()
given.write(folder / "t", sys.argv[1])
print(peak() - before)
"""


@pytest.mark.slow
@pytest.mark.parametrize("format", FORMATS)
def test_a_million_cells_fit_in_512_mib(format: str) -> None:
    environment: dict[str, Any] = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    done = subprocess.run(
        [sys.executable, "-c", _MEMORY, format],
        env=environment, capture_output=True, text=True, check=True, timeout=300,
    )  # fmt: skip
    assert int(done.stdout) < 512
