"""The push-down: what its text says, and that its rows are the table a scan makes."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusters import put_elsewhere
from discreet.errors import ParameterError
from discreet.population import Version
from discreet.query import Query, Question
from discreet.tabulate import PushDown, ScanEngine, engine_of
from discreet.tabulate.engines.sql import key_sums, push_down, table_of
from populations import ask, make_version
from tabulations import same


@pytest.fixture(scope="module")
def version() -> Version:
    return make_version(np.random.default_rng(7), 500, [2, 9, 300], [40, 7, 2])


def test_the_text_of_a_question(version: Version) -> None:
    # The finest level is grouped as it is, a coarser one is joined, a run of codes is a range.
    question = ask(version, "a,b_half", "b=b3|b4|b5,c=c1|c5")
    pushed = push_down(question, None, '"', "t")
    assert pushed.query == (
        "SELECT /*+ BROADCAST(t0) */ "
        'records."v_a" AS c0, t0.place AS c1, COUNT(*) AS n, '
        "CAST(SUM(key_low) AS BIGINT) AS key_low, CAST(SUM(key_high) AS BIGINT) AS key_high "
        'FROM records JOIN t0 ON records."v_b" = t0.code '
        'WHERE records."v_c" IN (1, 5) GROUP BY 1, 2'
    )
    assert pushed.tables["t0"].column("code").to_pylist() == [3, 4, 5]


def test_the_text_of_a_question_where_keys_are_whole(version: Version) -> None:
    # b_half has 5 of the 9 codes of b in pairs; a cell is 5 times the code of a, and its place.
    question = ask(version, "a,b_half")
    half = len(question.axes[1])
    pushed = push_down(question, None, '"', "t", 256)
    assert pushed.query == (
        "SELECT /*+ BROADCAST(t0) */ "
        f'CAST(CAST(records."v_a" AS FLOAT) * {half} + CAST(t0.place AS FLOAT) AS INTEGER) '
        "AS cell, "
        "COUNT(*) AS n, CAST(SUM(record_key) % 256 AS BIGINT) AS key_low, 0 AS key_high "
        'FROM records JOIN t0 ON records."v_b" = t0.code GROUP BY 1'
    )
    assert pushed.sizes == (2, half)
    rows = pa.table({"cell": [0, half + 1], "n": [7, 8], "key_low": [3, 4], "key_high": [0, 0]})
    apart = pushed.apart(rows)
    assert [apart.column(name).to_pylist() for name in ("c0", "c1", "n")] == [
        [0, 1],
        [0, 1],
        [7, 8],
    ]


@pytest.mark.parametrize("cell", [-1, 2])
def test_a_number_that_is_no_cell_is_no_table(version: Version, cell: int) -> None:
    pushed = push_down(ask(version, "a"), None, '"', "t", 256)
    rows = pa.table({"cell": [cell], "n": [1], "key_low": [0], "key_high": [0]})
    with pytest.raises(ParameterError, match="not asked for"):
        pushed.apart(rows)


@pytest.mark.parametrize(
    ("sizes", "kind"),
    [
        ([2**12, 2**12], "FLOAT"),  # 2^24 cells, the largest 2^24 − 1
        ([2**12, 2**12 + 1], "DOUBLE"),
        ([2**13, 2**10, 2**10, 2**10, 2**10], "DOUBLE"),  # 2^53
        ([2**13 + 1, 2**10, 2**10, 2**10, 2**10], None),
    ],
)
def test_cells_are_one_number_while_it_is_exact(sizes: list[int], kind: str | None) -> None:
    wide = make_version(np.random.default_rng(7), 5, sizes, None)
    pushed = push_down(ask(wide, ",".join("abcde"[: len(sizes)])), None, '"', "t", 256)
    if kind is None:
        assert pushed.sizes == ()
        assert pushed.query.endswith("GROUP BY 1, 2, 3, 4, 5")
    else:
        assert pushed.sizes == tuple(sizes)
        assert f'CAST(CAST(records."v_a" AS {kind})' in pushed.query


@pytest.mark.parametrize("sizes", [[2**12, 2**12], [2**12, 2**12 + 1], [2**13] + [2**10] * 4])
def test_the_last_cell_comes_back_exactly(sizes: list[int], tmp_path: Path) -> None:
    wide = make_version(np.random.default_rng(7), 4, sizes, None)
    last = np.array(sizes, np.uint16)[:, None] - 1
    codes16 = np.where(np.arange(4) < 3, last, last - 1).astype(np.uint16)
    wide = replace(wide, codes16=codes16, codes8=np.zeros((0, 4), np.uint8))
    engine = engine_of(put_elsewhere(wide, tmp_path / "coded", whole=True))
    table = engine.tabulate(ask(wide, ",".join("abcde"[: len(sizes)])))
    assert table.coordinates is not None
    assert table.coordinates.tolist() == [[size - 2, size - 1] for size in sizes]
    assert table.counts.tolist() == [1, 3]


def test_a_filter_of_many_codes_is_joined(version: Version) -> None:
    codes = "|".join(f"c{i}" for i in range(0, 300, 2))
    pushed = push_down(ask(version, "a", f"c={codes}"), None, "`", "t")
    assert "IN (" not in pushed.query
    assert pushed.tables["t0"].column("code").to_pylist() == list(range(0, 300, 2))


def test_areas_are_found_whatever_their_numbers_in_the_records(version: Version) -> None:
    # Area number 0 of the records is the last place, number 39 the first.
    order = np.arange(40, dtype=np.uint32)[::-1].copy()
    question = ask(version, "g0", "g0=g00|g039")
    pushed = push_down(question, order, '"', "t")
    assert 'records."area" IN (0, 39)' in pushed.query
    rows = pa.table({"c0": [0, 39], "n": [5, 6], "key_low": [1, 2], "key_high": [0, 0]})
    assert table_of(question, pushed.places, rows, 2**32).counts.tolist() == [6, 5]


@pytest.mark.parametrize("modulus", [2**32, 2**32 - 1, 256, 3])
def test_key_sums_lose_no_bit_at_ten_thousand_million_records(modulus: int) -> None:
    # The largest key a hundred times 10^8, whose plain sum (4.3 · 10^19) is above 2^64.
    records, key = 10**10, 2**32 - 1
    low, high = np.array([records * 0xFFFF]), np.array([records * 0xFFFF])
    assert key_sums(low, high, modulus).tolist() == [records * key % modulus]


def test_a_count_that_does_not_fit_is_no_table(version: Version) -> None:
    question = ask(version, "a")
    pushed = push_down(question, None, '"')
    rows = pa.table({"c0": [0], "n": [2**32], "key_low": [0], "key_high": [0]})
    with pytest.raises(ParameterError, match="at most"):
        table_of(question, pushed.places, rows, 2**32)


def test_a_category_that_was_not_asked_for_is_no_table(version: Version) -> None:
    question = ask(version, "b", "b=b3")
    rows = pa.table({"c0": [4], "n": [1], "key_low": [0], "key_high": [0]})
    with pytest.raises(ParameterError, match="not asked for"):
        table_of(question, push_down(question, None, '"').places, rows, 2**32)


def test_records_elsewhere_cannot_be_scanned(version: Version, tmp_path: Path) -> None:
    away = put_elsewhere(version, tmp_path / "coded")
    with pytest.raises(ParameterError, match="not in the store"):
        ScanEngine(away)
    with pytest.raises(ParameterError, match="not in the store"):
        away.column(version.schema.columns[0])


@st.composite
def asked(draw: st.DrawFn) -> tuple[Version, Query]:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    areas = draw(st.sampled_from([None, [1], [5, 2], [40, 7, 2]]))
    sizes = draw(st.lists(st.sampled_from([1, 2, 9, 255, 300]), min_size=1, max_size=3))
    modulus = draw(st.sampled_from([2**32, 256, 3, 2**32 - 1]))
    version = make_version(rng, draw(st.sampled_from([1, 300])), sizes, areas, modulus)
    names = [draw(st.sampled_from(v.levels)).id for v in version.schema.variables]
    by = draw(st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True))
    where = {}
    for variable in version.schema.variables:
        if draw(st.booleans()):
            level = draw(st.sampled_from(variable.levels))
            members = np.unique(level.of).tolist()
            picks = st.lists(st.sampled_from(members), min_size=1, max_size=3)
            where[level.id] = [level.codes[i] for i in draw(picks)]
    return version, Query.parse(by, where)


@settings(deadline=None, max_examples=60)
@given(asked(), st.booleans())
def test_duckdb_over_parquet_counts_what_a_scan_counts(
    asked: tuple[Version, Query], whole: bool
) -> None:
    version, query = asked
    folder = Path(mkdtemp())
    try:
        engine = engine_of(put_elsewhere(version, folder / "coded", whole=whole))
        assert isinstance(engine, PushDown)
        question = Question.of(query, version.schema)
        assert same(engine.tabulate(question), ScanEngine(version).tabulate(question))
        everybody = Question(version.schema, ())
        assert same(engine.tabulate(everybody), ScanEngine(version).tabulate(everybody))
        engine.close()
    finally:
        shutil.rmtree(folder)
