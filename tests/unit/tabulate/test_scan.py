"""The scan, DuckDB and a count by hand agree cell by cell, on counts and on key sums."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import Counter
from itertools import cycle, product
from pathlib import Path
from threading import Event, Thread
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from discreet.errors import Stopped
from discreet.population import Version
from discreet.query import Query, Question
from discreet.tabulate import ScanEngine, engine, kernels, plan, scan
from discreet.tabulate.duck import DuckEngine
from discreet.tabulate.parts import Part
from populations import MODULI, make_version, populations_and_queries, records
from stores import build_town
from tabulations import as_dict, same


def by_hand(version: Version, query: Query) -> dict[tuple[str, ...], tuple[int, int]]:
    """The naive twin: one record at a time, in Python integers."""
    counts: Counter[tuple[str, ...]] = Counter()
    keys: Counter[tuple[str, ...]] = Counter()
    for i, record in enumerate(records(version)):
        if all(record[name] in codes for name, codes in query.where):
            cell = tuple(record[name] for name, _ in query.by)
            counts[cell] += 1 if version.counts is None else int(version.counts[i])
            keys[cell] += int(version.keys[i])
    return {cell: (n, keys[cell] % version.modulus) for cell, n in counts.items() if n}


@pytest.fixture(params=["compiled", "plain"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts small data by the kernels, and large ones by their plain twins."""
    monkeypatch.setattr(scan, "SMALL", -1 if request.param == "compiled" else 2**40)
    monkeypatch.setattr(scan, "PATIENT", -1)  # kernels are waited for


@pytest.mark.parametrize("small", [-1, 2**40], ids=["compiled", "plain"])
@settings(max_examples=100, deadline=None)
@given(populations_and_queries())
def test_engines_agree(small: int, case: tuple[Version, Query]) -> None:
    version, query = case
    question = Question.of(query, version.schema)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scan, "SMALL", small)
        patch.setattr(scan, "PATIENT", -1)
        engine = ScanEngine(version, threads=2)
    duck = DuckEngine(version)
    try:
        scanned = engine.tabulate(question)
        assert as_dict(scanned) == by_hand(version, query)
        assert as_dict(duck.tabulate(question)) == as_dict(scanned)
        assert scanned.dimensions == question.dimensions
        # The way for vast tables must give the same on any table.
        listed = engine._list(question, Part(version), None)
        assert as_dict(listed) == as_dict(scanned)
    finally:
        engine.close()
        duck.close()


@pytest.mark.parametrize("modulus", MODULI)
@pytest.mark.parametrize("hypercube", [False, True])
@pytest.mark.usefixtures("way")
def test_key_sums_are_exact_when_every_key_is_the_largest(modulus: int, hypercube: bool) -> None:
    rng = np.random.default_rng(5)
    version = make_version(rng, 70_000, [2], None, modulus, hypercube)
    keys = np.full(70_000, modulus - 1, np.uint32)
    keys.setflags(write=False)
    object.__setattr__(version, "keys", keys)
    query = Query.parse("a")
    table = ScanEngine(version).tabulate(Question.of(query, version.schema))
    assert as_dict(table) == by_hand(version, query)


def test_records_of_many_pieces_and_threads_are_each_counted_once() -> None:
    rng = np.random.default_rng(6)
    rows = 3 * plan.PIECE + 12_345
    version = make_version(rng, rows, [2, 101, 13], [1000, 9])
    duck = DuckEngine(version, threads=2)
    for by, where in [
        ("a", None),
        ("b,c", {"a": "a1"}),
        ("a,b,c,g0", None),  # 2.6 million cells: threads share an accumulator by area
        ("g1,b", {"g0": [f"g0{i}" for i in range(0, 1000, 3)]}),
        ("c_half,g0", {"b_half": ["b_half3", "b_half40"]}),
    ]:
        question = Question.of(Query.parse(by, where), version.schema)
        assert same(ScanEngine(version, threads=3).tabulate(question), duck.tabulate(question)), by


@pytest.mark.parametrize("modulus", MODULI)
@pytest.mark.parametrize("hypercube", [False, True])
def test_those_who_pass_are_copied_stretch_by_stretch(
    modulus: int, hypercube: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    # More areas than a stretch has records, many of them empty; filters of one byte and of two,
    # of one run and of several, that let many, few and hardly any pass.
    version = make_version(
        np.random.default_rng(14), 60_000, [2, 9, 3_000], [40_000, 7], modulus, hypercube
    )
    monkeypatch.setattr(scan, "PATIENT", -1)
    for by, where in [
        ("a,b,g0", {"b": ["b1", "b2", "b5"]}),
        ("a,g0", {"b": "b2"}),
        ("g1,a,b", {"c": [f"c{i}" for i in range(900, 2_000)]}),
        ("a,b", {"c": ["c7", "c9", "c1000"]}),
        ("g0", {"c": "c5"}),
        ("b,c", {"a": "a1", "b": ["b3", "b4"]}),
    ]:
        question, tables = Question.of(Query.parse(by, where), version.schema), []
        for small in (-1, 2**40):
            monkeypatch.setattr(scan, "SMALL", small)
            tables.append(ScanEngine(version, threads=2).tabulate(question))
        assert same(*tables), by


@pytest.mark.slow
def test_processors_that_do_not_squeeze_count_the_same(tmp_path: Path) -> None:
    """The kernels compiled for a processor of which nothing special is known."""
    plain = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": "", "NUMBA_CACHE_DIR": tmp_path}
    ran = subprocess.run(
        [
            sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist",
            f"{__file__}::{test_those_who_pass_are_copied_stretch_by_stretch.__name__}",
            f"{__file__}::{test_filters_that_let_few_or_many_pass_count_the_same.__name__}",
            f"{__file__}::{test_wide_codes_pass_one_by_one_or_in_a_run.__name__}",
        ],
        env={**os.environ, **{name: str(value) for name, value in plain.items()}},
        capture_output=True,
        text=True,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout
    assert " passed" in ran.stdout
    assert any(tmp_path.rglob("*scan-*.nbi"))  # compiled anew, and nothing of it here


@pytest.mark.usefixtures("way")
def test_a_vast_table_comes_out_sparse_and_a_full_one_dense() -> None:
    version = make_version(np.random.default_rng(7), 10_000, [255, 255, 255], [300_000, 10])
    engine = ScanEngine(version)
    vast = engine.tabulate(Question.of(Query.parse("a,b,c,g0"), version.schema))
    assert vast.is_sparse
    assert vast.size == 255**3 * 300_000
    assert int(vast.counts.sum()) == 10_000
    assert as_dict(vast) == by_hand(version, Query.parse("a,b,c,g0"))
    coordinates = vast.coordinates
    assert coordinates is not None
    order = np.ravel_multi_index(tuple(coordinates), vast.shape)
    assert (np.diff(order) > 0).all(), "cells are in row-major order"
    small = engine.tabulate(Question.of(Query.parse("a,b"), version.schema))
    assert not small.is_sparse
    assert small.counts.shape == (255, 255)


def test_a_table_over_many_areas_is_sparse_only_where_that_is_smaller() -> None:
    rng = np.random.default_rng(8)
    full = make_version(rng, 2_000_000, [2, 3], [200_000])
    table = ScanEngine(full).tabulate(Question.of(Query.parse("g0,a,b"), full.schema))
    assert not table.is_sparse
    thin = make_version(rng, 100_000, [2, 3], [200_000])
    table = ScanEngine(thin).tabulate(Question.of(Query.parse("g0,a,b"), thin.schema))
    assert table.is_sparse


def test_more_cells_than_can_be_numbered_are_refused() -> None:
    version = make_version(np.random.default_rng(9), 3, [65_535] * 4)
    question = Question.of(Query.parse("a,b,c,d"), version.schema)
    with pytest.raises(ValueError, match="fewer than 2\\^63 cells"):
        ScanEngine(version).tabulate(question)
    with pytest.raises(ValueError, match="fewer than 2\\^63 cells"):
        DuckEngine(version).tabulate(question)


def test_small_data_load_no_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "SMALL", 100)
    warmed: list[int] = []
    monkeypatch.setattr(scan, "warm", lambda *given: warmed.append(1))
    for rows, loaded in [(100, 0), (101, 1)]:
        version = make_version(np.random.default_rng(1), rows, [2])
        engine = ScanEngine(version)
        assert not warmed, "what views answer needs no kernel"
        engine.tabulate(Question.of(Query.parse("a"), version.schema))
        assert len(warmed) == loaded


def test_while_kernels_are_compiled_plain_code_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "SMALL", 10)
    monkeypatch.setattr(scan, "PATIENT", 20)
    monkeypatch.setattr(scan, "warm", lambda *given: None)
    compiling = True
    monkeypatch.setattr(scan, "under_way", lambda module: compiling)
    patient, large = (ScanEngine(make_version(np.random.default_rng(1), n, [2])) for n in (20, 21))
    assert patient._kernels is scan.plain
    assert large._kernels is scan.kernels
    compiling = False
    assert patient._kernels is scan.kernels


@pytest.mark.parametrize("by", ["a,g0", "a,b,c,g0"])
def test_kernels_may_be_compiled_in_the_middle_of_a_question(
    by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = make_version(np.random.default_rng(6), 400_000, [90, 200, 250], [300_000, 10])
    question = Question.of(Query.parse(by, {"b": ["b2", "b5", "b9"]}), version.schema)
    monkeypatch.setattr(scan, "SMALL", 2**40)
    whole = as_dict(ScanEngine(version, threads=1).tabulate(question))
    turns = cycle([scan.plain, scan.kernels])
    monkeypatch.setattr(scan._Code, "now", property(lambda code: next(turns)))
    engine = ScanEngine(version, threads=1)
    for _ in range(5):  # as ever, when a part is made, and from the part
        assert as_dict(engine.tabulate(question)) == whole


@pytest.mark.parametrize("by", ["a", "a,b,c,g0"])
def test_a_tabulation_can_be_stopped(by: str) -> None:
    version = make_version(np.random.default_rng(10), 10_000, [255, 255, 255], [300_000, 10])
    stop = Event()
    stop.set()
    with pytest.raises(Stopped):
        ScanEngine(version).tabulate(Question.of(Query.parse(by), version.schema), stop)


def test_a_running_tabulation_stops_between_two_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    version = make_version(np.random.default_rng(11), 50_000, [2])
    monkeypatch.setattr(plan, "PIECE", 1000)
    stop, seen = Event(), []

    def counted(event: Event | None) -> None:
        seen.append(1)
        if len(seen) == 5:
            stop.set()
        engine.check(event)

    monkeypatch.setattr(scan, "check", counted)
    with pytest.raises(Stopped):
        ScanEngine(version, threads=1).tabulate(Question.of(Query.parse("a"), version.schema), stop)
    assert len(seen) == 5


def test_concurrent_questions_do_not_disturb_each_other() -> None:
    from concurrent.futures import ThreadPoolExecutor

    version = make_version(np.random.default_rng(12), 400_000, [2, 9, 21], [50, 3])
    engine = ScanEngine(version, threads=2)
    names = [v.levels[0].id for v in version.schema.variables]
    questions = [
        Question.of(Query.parse(pair), version.schema)
        for pair in product(names, names)
        if pair[0] != pair[1]
    ]
    alone = [engine.tabulate(question) for question in questions]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(engine.tabulate, questions * 5))
    for i, table in enumerate(together):
        assert same(table, alone[i % len(questions)])


def test_kernels_do_not_hold_the_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    """While one call of the kernel runs in a thread, this thread goes on counting."""
    version = make_version(np.random.default_rng(13), 4_000_000, [2, 9, 21])
    monkeypatch.setattr(plan, "PIECE", version.rows)
    engine = ScanEngine(version, threads=1)
    question = Question.of(Query.parse("a,b,c"), version.schema)
    counted, during = [0], []

    def work() -> None:
        for _ in range(20):
            before = counted[0]
            engine.tabulate(question)
            during.append(counted[0] - before)

    interval = sys.getswitchinterval()
    # Nobody is made to hand the interpreter over: a thread gets on only when another lets go.
    sys.setswitchinterval(10)
    try:
        thread = Thread(target=work)
        thread.start()
        while thread.is_alive():
            counted[0] += 1
            time.sleep(0)
        thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert len(during) == 20
    assert sum(during) > 100


CUT_SHORT = """
import os, sys
from pathlib import Path
from discreet.errors import Damaged
from discreet.population import Store
from discreet.query import Query, Question
from discreet.tabulate import ScanEngine

version = Store(Path(sys.argv[1])).open()

def cut():
    for name in version.manifest["files"]:
        os.truncate(version.path / name, 0)

engine = ScanEngine(version, before=cut)
try:
    engine.tabulate(Question.of(Query.parse("sex,health"), version.schema))
except Damaged as error:
    sys.exit(str(error))
"""


def test_files_cut_short_during_a_scan_are_an_error_not_the_end(tmp_path: Path) -> None:
    """After the look at them and before the first record: mapped ones would raise SIGBUS."""
    store = build_town(tmp_path, tmp_path / "store", rows=5_000)
    done = subprocess.run(
        [sys.executable, "-c", CUT_SHORT, store], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "was changed after it was opened" in done.stderr


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("share", [1, 10, 25, 26, 60, 100], ids=lambda share: f"{share} of 101")
@pytest.mark.parametrize("sizes", [[2, 101, 40], [13, 101, 60]], ids=["16 bits", "32 bits"])
def test_filters_that_let_few_or_many_pass_count_the_same(share: int, sizes: list[int]) -> None:
    """Blocks of which few pass are counted in another way than the others.

    The cells are too many for a filter to be folded: 8,080, and 78,780, of which 16 bits are short.
    """
    version = make_version(np.random.default_rng(share), 3000, sizes, [20, 6])
    assert plan.FOLDED < 2 * 101 * 40
    for by in ("a,b,c", "a,b,c,g1"):
        where = {"b": [f"b{i}" for i in range(share)]}
        query = Query.parse(by, where)
        table = ScanEngine(version, threads=2).tabulate(Question.of(query, version.schema))
        assert as_dict(table) == by_hand(version, query)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("rows", [5 * kernels.LONG, 2 * kernels.LONG + 100])
def test_cells_that_no_near_cache_holds_count_the_same(rows: int) -> None:
    """They are sent for ahead: a last block of 100 records is shorter than what is ahead."""
    version = make_version(np.random.default_rng(8), rows, [255, 255, 20], [20, 6])
    query = Query.parse("a,b,c")
    question = Question.of(query, version.schema)
    assert question.cells > kernels.FAR
    assert kernels.AHEAD > 100
    table = ScanEngine(version, threads=2).tabulate(question)
    assert as_dict(table) == by_hand(version, query)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("areas", [3, 40, 63, 900], ids=lambda areas: f"{areas} areas")
@pytest.mark.parametrize("where", [None, {"b": "b1"}, {"c": ["c1", "c3"]}], ids=str)
def test_few_cells_of_an_area_count_the_same(areas: int, where: dict[str, Any] | None) -> None:
    """In registers or in four accumulators: areas of some 1,300, 100, 63 and 4 records."""
    version = make_version(np.random.default_rng(areas), 4000, [2, 5, 300, 13], [areas, 2])
    assert kernels.REGISTERS < 2 * 5
    assert kernels.LANES + 1 == 5 * 13
    for by in ("g0,a", "g0,a,b", "g0,d,a", "g0,d,b", "g1,b", "a", "a,b", "d,b"):
        query = Query.parse(by, where)
        table = ScanEngine(version, threads=2).tabulate(Question.of(query, version.schema))
        assert as_dict(table) == by_hand(version, query), by


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("codes", [(0,), (65_534,), (255, 256, 257), (3, 40_000)], ids=str)
def test_wide_codes_pass_one_by_one_or_in_a_run(codes: tuple[int, ...]) -> None:
    version = make_version(np.random.default_rng(8), 3000, [3, 65_535])
    wide = version.codes16.copy()
    wide[0, : 4 * len(codes)] = codes * 4
    wide.setflags(write=False)
    object.__setattr__(version, "codes16", wide)
    query = Query.parse("a,b", {"b": [f"b{code}" for code in codes]})
    table = ScanEngine(version).tabulate(Question.of(query, version.schema))
    assert as_dict(table) == by_hand(version, query)
    assert int(table.counts.sum()) >= 4 * len(codes)
