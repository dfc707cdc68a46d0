"""Forgeries: what a reader sees is what is verified. At least twenty for each format.

Each changes a genuine file so that some reader sees something else, or could: another figure, a
hidden row, a foreign note. None may be called genuine.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet.errors import NotOurs
from discreet.release import Release
from discreet.release.formats import FORMATS
from discreet.release.signature import Signer
from discreet.release.verify import verify
from forging.base import Forger
from forging.parquets import PARQUET
from forging.texts import CSV, HTML, JSON_STAT, LAYOUT, PX, SDMX_CSV, SDMX_ML, SIDECAR
from forging.workbooks import XLSX
from releases import dimension, release


@pytest.fixture(scope="module")
def signer(tmp_path_factory: pytest.TempPathFactory) -> Signer:
    return Signer.of_store(tmp_path_factory.mktemp("store"))


@pytest.fixture(scope="module")
def made(signer: Signer) -> Release:
    parts = (
        dimension("area", 3, True, variable="geography"),
        dimension("age", 3),
        dimension("sex", 2, True),
    )
    return release(parts, withheld=1, bounds=True, signer=signer)


FORGERIES: dict[str, dict[str, Forger]] = {
    "json-stat": JSON_STAT,
    "csv": CSV | {f"in the notes, {name}": forger for name, forger in SIDECAR.items()},
    "csv-layout": LAYOUT,
    "xlsx": XLSX,
    "px": PX,
    "sdmx-csv": SDMX_CSV,
    "sdmx-ml": SDMX_ML,
    "parquet": PARQUET,
    "html": HTML,
}
CASES = [
    pytest.param(format, forger, id=f"{format}-{name}")
    for format, forgers in FORGERIES.items()
    for name, forger in forgers.items()
]


def test_there_are_twenty_for_each_format() -> None:
    assert set(FORGERIES) == set(FORMATS)
    assert all(len(forgers) >= 20 for forgers in FORGERIES.values())


@pytest.mark.parametrize(("format", "forger"), CASES)
def test_a_forgery_is_not_genuine(
    format: str, forger: Forger, made: Release, signer: Signer, tmp_path: Path
) -> None:
    path = tmp_path / "t"
    files = made.write(path, format)
    before = [file.read_bytes() for file in files]
    assert verify(path, signer.public).genuine
    forger(path)
    assert [file.read_bytes() for file in files] != before
    try:
        found = verify(path, signer.public)
    except NotOurs:
        return
    assert not found.genuine
    assert found.reasons
    assert all(len(reason) < 300 for reason in found.reasons)
