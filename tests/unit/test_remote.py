"""A server asked from Python, as a population is."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from applications import listening
from stores import build_town


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("town")
    return build_town(folder / "data", folder / "store")


@pytest.fixture(scope="module")
def address(store: Path) -> Iterator[str]:
    with listening([store]) as (url, _):
        yield url


@pytest.fixture(scope="module")
def town(address: str) -> dc.Remote:
    return dc.connect(address)


def test_a_release_is_the_one_of_the_store(town: dc.Remote, store: Path) -> None:
    for by, where, totals in [
        ("sex,age_band", None, "none"),
        (["sex", "district"], {"health": ["1", "2"]}, "protected"),
        ("ward,sex", "age_band=young", "none"),
    ]:
        there = town.release(by, where, totals)
        here = dc.open(store).release(by, where, totals, "public")
        np.testing.assert_array_equal(there.table.values, here.table.values)
        np.testing.assert_array_equal(there.table.withheld, here.table.withheld)
        assert there.table.dimensions == here.table.dimensions
        assert set(there.table.told) == set(here.table.told)
        assert (there.title, list(there.notes)) == (here.title, here.document["notes"])
        assert there.provenance == vars(here.provenance)
        assert there.to_pandas(labels=True).equals(here.to_pandas(labels=True))


def test_a_release_is_plotted_as_that_of_a_population_is(town: dc.Remote, store: Path) -> None:
    there = town.release("sex,health", totals="protected").plot()
    here = dc.open(store).release("sex,health", totals="protected", tier="public").plot()
    assert there.get_title() == here.get_title()
    assert there.get_ylabel() == here.get_ylabel() == "records"
    heights = [[bar.get_height() for bar in axes.patches] for axes in (there, here)]
    assert heights[0] == heights[1]


def test_the_schema_is_the_one_of_the_store(town: dc.Remote, store: Path) -> None:
    assert town.schema.to_json() == dc.open(store).schema.to_json()
    assert town.check("sex")["allowed"]
    assert town.check("ward,rare,age")["code"] == "MAX_CELLS"
    assert repr(town).startswith("Remote('town' on http")


def test_refusals_and_mistakes_are_those_of_a_population(town: dc.Remote) -> None:
    with pytest.raises(dc.QueryRefused) as refused:
        town.release("ward,rare")
    assert refused.value.code == "NOT_AVAILABLE"
    assert refused.value.hints[0].by
    with pytest.raises(dc.ParameterError, match="No variable 'agee'"):
        town.release("agee")
    with pytest.raises(dc.ParameterError, match="by must be a text"):
        town.release([])
    with pytest.raises(dc.ParameterError, match="no data set 'city'"):
        dc.connect(town.url, dataset="city")
    with pytest.raises(dc.ParameterError, match="url must be"):
        dc.connect("town")
    with pytest.raises(dc.InternalError, match="cannot be reached"):
        dc.connect("http://127.0.0.1:9")


def test_a_signed_file_is_fetched(town: dc.Remote, store: Path, tmp_path: Path) -> None:
    path = town.release("sex").write(tmp_path / "sex.xlsx", "xlsx")
    assert dc.verify(path, store=store).genuine


def test_nothing_that_computes_is_needed(address: str) -> None:
    heavy = ["numba", "scipy", "highspy", "clarabel", "duckdb", "pyarrow", "sqlalchemy", "fastapi",
             "pysdmx", "resvg_py", "pydantic", "cryptography", "xlsxwriter"]  # fmt: skip
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({heavy!r}))\n"
        "import discreet as dc\n"
        f"print(int(dc.connect({address!r}).release('sex').table.values.sum()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 0
