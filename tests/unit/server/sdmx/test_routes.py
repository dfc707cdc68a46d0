"""SDMX REST, asked by sdmx1 and pysdmx as they come from PyPI."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import sdmx
from pysdmx.api.qb import (
    ApiVersion,
    DataContext,
    DataFormat,
    DataQuery,
    RestService,
    StructureDetail,
    StructureFormat,
    StructureQuery,
    StructureReference,
    StructureType,
)
from pysdmx.errors import Invalid
from pysdmx.io import get_datasets, read_sdmx
from pysdmx.io.xml.doc_validation import validate_doc
from pysdmx.model.dataflow import DataStructureDefinition

import discreet as dc
from applications import GENEROUS, Client, serving
from discreet.server.settings import Settings
from towns import town_of

DATA = "/sdmx/data/TOWN"
DIMENSIONS = ["SEX", "AGE", "AGE_BAND", "HEALTH", "RARE", "WARD", "DISTRICT"]


@pytest.fixture(scope="module")
def source(address: str) -> sdmx.Client:
    sdmx.add_source(
        {"id": "DISCREET", "url": f"{address}/sdmx", "name": "Town", "supports": {}},
        override=True,
    )
    return sdmx.Client("DISCREET")


def expected(store: Path, by: str, where: str | None = None) -> list[int]:
    values: list[int] = (
        dc.open(store).release(by, where, tier="public").table.values.ravel().tolist()
    )
    return values


# sdmx1


def test_sdmx1_lists_dataflows(source: sdmx.Client) -> None:
    found = source.dataflow()
    assert list(found.dataflow) == ["TOWN"]
    assert str(found.dataflow["TOWN"].name) == "The town"


def test_sdmx1_reads_the_structure(source: sdmx.Client) -> None:
    found = source.dataflow("TOWN", params={"references": "all"})
    structure = found.dataflow["TOWN"].structure
    assert [d.id for d in structure.dimensions] == DIMENSIONS
    sexes = structure.dimensions.get("SEX")
    total = sexes.local_representation.enumerated
    assert (total.id, list(total.items)) == ("CL_TOWN_SEX_TOTAL", ["1", "2", "_T"])
    # The concept has the code list of the level itself, the same for every question.
    plain = sexes.concept_identity.core_representation.enumerated
    assert (plain.id, list(plain.items)) == ("CL_TOWN_SEX", ["1", "2"])
    assert str(plain["2"].name) == "Female"
    # 7 levels, each with and without the total; the status and the confidentiality of a figure.
    assert len(found.codelist) == 2 * 7 + 2


def test_sdmx1_reads_data(source: sdmx.Client, store: Path) -> None:
    found = source.data("TOWN", key={"SEX": ["1", "2"], "AGE_BAND": "young+adult+old"})
    series = sdmx.to_pandas(found)
    assert series.astype(int).tolist() == expected(store, "sex,age_band")
    frame = series.reset_index()
    assert frame["AGE_BAND"].tolist() == ["young", "adult", "old"] * 2
    assert set(frame["HEALTH"]) == {"_T"}


def test_sdmx1_reads_data_without_being_told_the_structure(
    source: sdmx.Client, store: Path
) -> None:
    found = source.data("TOWN", key="2..young+adult....")
    where = "sex=2,age_band=young|adult"
    assert sdmx.to_pandas(found).astype(int).tolist() == expected(store, "sex,age_band", where)


def test_sdmx1_reads_what_may_be_asked_for(source: sdmx.Client) -> None:
    found = source.get(resource_type="availableconstraint", resource_id="TOWN", force=True)
    region = found.constraint["CC_TOWN"].data_content_region[0]
    members = {dimension.id: list(one.values) for dimension, one in region.member.items()}
    assert [one.value for one in members["SEX"]] == ["1", "2", "_T"]
    assert list(members) == DIMENSIONS


# pysdmx


def service(address: str, version: ApiVersion, **options: Any) -> RestService:
    return RestService(
        f"{address}/sdmx",
        version,
        data_format=options.get("data", DataFormat.SDMX_ML_2_1_STR),
        structure_format=StructureFormat.SDMX_ML_2_1,
        timeout=60,
    )


VERSIONS = [ApiVersion.V1_5_0, ApiVersion.V2_0_0]


@pytest.mark.parametrize("version", VERSIONS)
def test_pysdmx_reads_structure_and_data(address: str, store: Path, version: ApiVersion) -> None:
    rest = service(address, version)
    structure = rest.structure(
        StructureQuery(
            StructureType.DATAFLOW,
            "DISCREET",
            "TOWN",
            detail=StructureDetail.FULL,
            references=StructureReference.ALL,
        )
    )
    shapes = read_sdmx(structure.decode(), validate=True).structures
    (shape,) = [one for one in shapes if isinstance(one, DataStructureDefinition)]
    assert [one.id for one in shape.components.dimensions] == DIMENSIONS
    query = DataQuery(
        DataContext.DATAFLOW, "DISCREET", "TOWN", "1.0", key="1+2..young+adult+old...."
    )
    if version is ApiVersion.V2_0_0:
        query = DataQuery(
            DataContext.DATAFLOW, "DISCREET", "TOWN", "1.0", key="1+2.*.young+adult+old.*.*.*.*"
        )
    data = rest.data(query)
    (found,) = get_datasets(data.decode(), structure.decode(), validate=True)
    assert found.data["OBS_VALUE"].astype(int).tolist() == expected(store, "sex,age_band")


@pytest.mark.parametrize("format", [DataFormat.SDMX_CSV_1_0_0, DataFormat.SDMX_CSV_2_0_0])
def test_pysdmx_reads_csv(address: str, store: Path, format: DataFormat) -> None:
    rest = service(address, ApiVersion.V1_5_0, data=format)
    text = rest.data(DataQuery(DataContext.DATAFLOW, "DISCREET", "TOWN", "1.0", key="1+2......"))
    (found,) = read_sdmx(text.decode(), validate=False).data
    assert found.data["OBS_VALUE"].astype(int).tolist() == expected(store, "sex")


# Questions


@pytest.mark.parametrize(
    ("path", "by", "where"),
    [
        ("/1+2......", "sex", None),
        ("/..ne:_T....", "age_band", None),
        ("?dimensionAtObservation=HEALTH", "health", None),
        ("?c[DISTRICT]=0,3&c[SEX]=eq:1", "sex,district", "sex=1,district=0|3"),
        ("?c[WARD]=ne:_T", "ward", None),
        ("/2._T._T._T._T._T._T", "sex", "sex=2"),
        ("/all", "sex,age_band", None),  # nothing said: a small table, not all that there is
        ("", "sex,age_band", None),
    ],
)
def test_a_key_is_a_question(
    client: Client, store: Path, path: str, by: str, where: str | None
) -> None:
    answer = client.get(DATA + path, headers={"Accept": "application/vnd.sdmx.data+csv"})
    assert answer.status_code == 200, answer.text
    frame = pd.read_csv(io.StringIO(answer.text), dtype=str)
    assert frame["OBS_VALUE"].astype(int).tolist() == expected(store, by, where)
    shown = {level.upper() for level in by.split(",")}
    assert all(set(frame[name]) == {"_T"} for name in DIMENSIONS if name not in shown)


@pytest.mark.parametrize(
    ("path", "status", "message"),
    [
        ("/1+2", 400, "must have 7 positions"),
        ("/3......", 400, "No category of 'sex' '3'"),
        ("/1+_T......", 400, "must be asked for alone"),
        ("/_T......", 400, "one dimension at least"),
        ("/.1.young....", 400, "must be shown at one level"),
        ("/1......?c[SEX]=2", 400, "not in both"),
        ("/all?startPeriod=2020", 400, "no time dimension"),
        ("/all?what=1", 400, "No parameter 'what'"),
        ("/all?dimensionAtObservation=X", 400, "No dimension 'X'"),
        (",X/all", 404, "No agency 'TOWN'"),
    ],
)
def test_mistakes_are_told(client: Client, path: str, status: int, message: str) -> None:
    answer = client.get(DATA + path)
    assert answer.status_code == status
    assert message.lower() in answer.json()["error"]["message"].lower()


def test_what_is_not_there_is_404(client: Client) -> None:
    for path in ("/data/CITY/all", "/codelist/DISCREET/CL_X", "/dataflow/OTHER", "/metadata/x",
                 "/dataflow/DISCREET/TOWN/7.0", "/hierarchy/DISCREET/HCL_X"):  # fmt: skip
        answer = client.get("/sdmx" + path)
        assert answer.status_code == 404, path
        assert answer.json()["error"]["code"] == "NOT_FOUND"


def test_only_what_can_be_written_is_promised(client: Client) -> None:
    answer = client.get(DATA, headers={"Accept": "application/vnd.sdmx.data+json"})
    assert answer.status_code == 406


def test_data_are_series(client: Client) -> None:
    text = client.get(DATA).text
    # Sex by age band: a series for each sex, an observation for each band.
    assert (text.count("<Series "), text.count("<Obs ")) == (2, 6)
    flat = client.get(DATA, params={"dimensionAtObservation": "AllDimensions"}).text
    assert (flat.count("<Series "), flat.count("<Obs ")) == (0, 6)
    keys = client.get(DATA, params={"detail": "serieskeysonly"}).text
    assert (keys.count("<Series "), keys.count("<Obs ")) == (2, 0)


def test_levels_make_hierarchies(client: Client) -> None:
    message = sdmx.read_sdmx(
        io.BytesIO(client.get("/sdmx/hierarchicalcodelist/DISCREET/all").content)
    )
    found = message.hierarchical_codelist
    assert set(found) == {"HCL_TOWN_AGE", "HCL_TOWN_WARD"}


def test_the_agency_is_the_office(store: Path) -> None:
    with serving([store], replace(GENEROUS, agency="NSI.CENSUS")) as client:
        text = client.get("/sdmx/dataflow/NSI.CENSUS").text
        assert 'agencyID="NSI.CENSUS"' in text
        assert client.get("/sdmx/dataflow/DISCREET").status_code == 404
    with pytest.raises(dc.ParameterError, match="agency must be"):
        Settings(agency="1 office")


def test_a_figure_that_is_withheld_is_confidential(tmp_path: Path) -> None:
    # A ward has 100 of 4,000 people, more or less.
    store = town_of(tmp_path, counts={"minimum_population": 100})
    whole = dc.open(store).release("ward", tier="public").table.withheld
    with serving([store]) as client:
        text = client.get(DATA, params={"dimensionAtObservation": "WARD"}).text
        assert text.count('OBS_STATUS="Q" CONF_STATUS="C"') == whole.sum() > 0
        assert text.count("OBS_VALUE=") == (~whole).sum()
        hidden = [str(i) for i in whole.nonzero()[0]]
        alone = client.get(f"{DATA}/.....{hidden[0]}.")
        assert 'OBS_STATUS="Q"' in alone.text


def test_a_refusal_is_one_here_too(client: Client) -> None:
    answer = client.get(f"{DATA}/....ne:_T.ne:_T.")
    assert answer.json()["error"]["code"] == "NOT_AVAILABLE"


def test_an_address_releases_nothing_where_the_policy_says_so(tmp_path: Path) -> None:
    with serving([town_of(tmp_path, space='claim = "post"')]) as client:
        assert client.get(DATA).json()["error"]["code"] == "NOT_RELEASED"


@pytest.mark.parametrize(
    "path",
    [
        "/hierarchicalcodelist/all",
        "/availableconstraint/TOWN",
        "/structure/*/DISCREET",
        "/codelist",
    ],
)
def test_structures_are_valid(client: Client, path: str) -> None:
    text = client.get("/sdmx" + path).text
    validate_doc(text)
    with pytest.raises(Invalid):
        validate_doc(text.replace("<mes:ID>", "<mes:Id>").replace("</mes:ID>", "</mes:Id>"))
