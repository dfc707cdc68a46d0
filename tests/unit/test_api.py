"""The public functions: building, verifying, converting; and what results show of themselves."""

from __future__ import annotations

import tomllib
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
import polars as pl
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet.errors import ParameterError
from stores import build_town, write_town
from towns import town_of


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> dc.Population:
    folder = tmp_path_factory.mktemp("town")
    return dc.open(build_town(folder / "data", folder / "store"))


def test_everything_there_is_is_listed() -> None:
    assert {"open", "connect", "build", "risk", "protect", "utility", "desk"} <= set(dir(dc))
    for name in dir(dc):
        assert getattr(dc, name) is not None


@pytest.mark.parametrize("form", ["pandas", "polars", "path", "none"])
def test_a_frame_is_built(tmp_path: Path, form: str) -> None:
    path = write_town(tmp_path, rows=1_000)
    records = pq.read_table(tmp_path / "people.parquet")
    data = {
        "pandas": records.to_pandas(),
        "polars": pl.from_arrow(records),
        "path": tmp_path / "people.parquet",
        "none": None,
    }[form]
    description = path if form != "polars" else tomllib.loads(path.read_text())
    population = dc.build(data, description, tmp_path / "store", views=0)
    assert population.tabulate("sex").counts.sum() == 1_000


def test_what_is_no_frame_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="data must be a data frame"):
        dc.build(5, write_town(tmp_path, rows=10), tmp_path / "store")
    assert not (tmp_path / "store").exists()


def test_a_file_is_verified(town: dc.Population, tmp_path: Path) -> None:
    store = town._opened.store
    (path, *_) = town.release("sex").write(tmp_path / "sex.json", "json-stat")
    assert dc.verify(path, store=store).genuine
    assert dc.verify(path, key=store / "signing.pub").genuine
    path.write_text(path.read_text().replace("Female", "Femail"))
    assert not dc.verify(path, store=store).genuine
    with pytest.raises(ParameterError, match="either store or key"):
        dc.verify(path)


def test_a_table_is_converted(tmp_path: Path) -> None:
    frame = pd.DataFrame({"sex": ["m", "f"], "count": [3, 4]})
    (path, *_) = dc.convert(frame, tmp_path / "t.csv", "csv", {"title": "Two"})
    assert pd.read_csv(path)["value"].tolist() == [3, 4]
    (tmp_path / "u.csv").write_text("sex,count\nm,3\nf,4\n")
    (other, *_) = dc.convert(tmp_path / "u.csv", tmp_path / "v.csv", "csv", {"title": "Two"})
    assert other.read_bytes() == path.read_bytes()


def test_a_release_becomes_what_people_use(town: dc.Population) -> None:
    release = town.release("sex,age_band")
    frame = release.to_pandas(labels=True)
    assert frame["sex"].tolist() == ["Male"] * 3 + ["Female"] * 3
    assert frame["age_band"].cat.categories.tolist() == ["0 to 19", "20 to 59", "60 to 79"]
    values = release.table.values
    assert frame["value"].tolist() == values.ravel().tolist()
    assert release.to_polars()["value"].to_list() == values.ravel().tolist()
    assert release.to_polars(labels=True)["sex"][0] == "Male"
    array = release.to_xarray()
    assert array.sel(sex="2", age_band="old").item() == values[1, 2]
    np.testing.assert_array_equal(np.asarray(release), values)
    np.testing.assert_array_equal(np.asarray(release.table, float), values)
    assert repr(release) == "Release('Records by sex and age band', 2 × 3)"
    assert repr(release.table) == "ProtectedTable(sex × age_band (2 × 3))"
    assert repr(town) == "Population('town', 5 variables)"


def test_withheld_figures_are_no_array(tmp_path: Path) -> None:
    # A ward has 100 of 4,000 people, more or less.
    release = dc.open(town_of(tmp_path, counts={"minimum_population": 100})).release("ward")
    many = int(release.table.withheld.sum())
    assert many
    with pytest.raises(ParameterError, match=f"{many} are withheld"):
        np.asarray(release)
    assert int(release.to_xarray().isnull().sum()) == many
    assert release.to_pandas()["value"].isna().sum() == many
    assert release._repr_html_().count("<td></td>") == release.table.withheld[:20].sum()


def test_results_show_themselves(town: dc.Population) -> None:
    release = town.release("sex,age_band")
    html = release._repr_html_()
    assert html.count("<tr>") == 3
    assert f"<td>{release.table.values[0, 0]:,}</td>" in html
    assert '<th scope="row">Female</th>' in html
    assert all(note in html for note in release.notes if not set(note) & set("<>&'\""))
    shown = town._repr_html_()
    assert "The town" in shown
    assert "<td>80</td>" in shown  # years of age
    long = town.release("ward")._repr_html_()
    assert "The first 20 of 40 rows." in long
    risk = dc.risk.before([[1, 2], [3, 4]])
    assert f"{float(risk):.3f}" in risk._repr_html_()
    lookup = dc.protect.lookup.rounding(3)
    assert "LookupTable" in repr(lookup)
    assert "<table>" in lookup._repr_html_()


def test_a_notebook_shows_no_true_count(town: dc.Population) -> None:
    counts = town.tabulate("sex")
    assert repr(counts) == "CountTable(sex (2), true counts)"
    assert not hasattr(counts, "_repr_html_")


def test_labels_are_escaped(town: dc.Population) -> None:
    from discreet.table.showing import rows_html

    assert "<script>" not in rows_html("<script>", ["<b>"], [["<i>", "<u>"]], ["<p>"])


def test_a_release_is_drawn(town: dc.Population) -> None:
    mpl.use("agg")
    from matplotlib import pyplot as plt

    release = town.release("sex,age_band", totals="protected")
    ax = release.plot()
    heights = [[bar.get_height() for bar in bars] for bars in ax.containers]
    assert np.array(heights).T.tolist() == release.table.values[:2, :3].tolist()
    assert ax.get_title() == release.title
    with pytest.raises(ParameterError, match="one or two variables"):
        town.release("sex,age_band,health").plot()
    assert len(town.release("health").plot(plt.subplots()[1]).containers) == 1
    plt.close("all")
