"""Views give what the scan gives, are kept under their budget, and survive on disk."""

from __future__ import annotations

import os
from pathlib import Path
from threading import Event

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import Damaged, Stopped
from discreet.population import Version
from discreet.query import Query, Question
from discreet.table import CountTable
from discreet.tabulate import ScanEngine
from discreet.tabulate.chosen import choose
from discreet.tabulate.lattice import tables
from discreet.tabulate.view_files import cells_of
from discreet.tabulate.views import ViewEngine, needed
from populations import make_version


class Counting:
    """An engine that counts how often it is asked."""

    def __init__(self, version: Version) -> None:
        self.engine = ScanEngine(version, threads=1)
        self.asked = 0

    def tabulate(self, question: Question, stop: Event | None = None) -> CountTable:
        self.asked += 1
        return self.engine.tabulate(question, stop)


def ask(version: Version, by: str, where: dict[str, list[str]] | None = None) -> Question:
    return Question.of(Query.parse(by, where), version.schema)


def same(one: CountTable, other: CountTable) -> bool:
    return (
        one.dimensions == other.dimensions
        and np.array_equal(one.dense().counts, other.dense().counts)
        and np.array_equal(one.dense().keys, other.dense().keys)
    )


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_views_equal_the_scan(data: st.DataObject) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    modulus = data.draw(st.sampled_from([2**32, 256, 10**8, 3]))
    version = make_version(
        rng, data.draw(st.sampled_from([0, 1, 500])), [2, 5, 13, 101], [20, 6, 2], modulus,
        data.draw(st.booleans()),
    )  # fmt: skip
    scan = ScanEngine(version, threads=1)
    views = ViewEngine(version, scan)
    for _ in range(6):
        variables = data.draw(
            st.lists(st.sampled_from(version.schema.variables), min_size=1, max_size=4, unique=True)
        )
        by = [data.draw(st.sampled_from(v.levels)).id for v in variables]
        where = {}
        for variable in version.schema.variables:
            if data.draw(st.booleans()):
                level = data.draw(st.sampled_from(variable.levels))
                members = np.unique(level.of).tolist()
                picks = data.draw(st.lists(st.sampled_from(members), min_size=1, max_size=3))
                where[level.id] = [level.codes[i] for i in picks]
        question = Question.of(Query.parse(by, where), version.schema)
        assert same(views.tabulate(question), scan.tabulate(question)), question.canonical
    scan.close()


def test_a_covered_question_reads_no_record() -> None:
    version = make_version(np.random.default_rng(1), 1000, [2, 5, 13], [20, 6, 2])
    behind = Counting(version)
    views = ViewEngine(version, behind)
    views.tabulate(ask(version, "a,b,g1"))
    assert behind.asked == 1
    for question in [
        ask(version, "b"),
        ask(version, "b_half,a", {"a": ["a1"]}),
        ask(version, "g1", {"b": ["b1", "b4"]}),
    ]:
        assert same(views.tabulate(question), behind.engine.tabulate(question))
    assert behind.asked == 1
    views.tabulate(ask(version, "c"))
    assert behind.asked == 2


def test_a_table_of_small_areas_is_left_to_the_scan() -> None:
    version = make_version(np.random.default_rng(2), 1000, [101, 13], [2000, 6])
    assert needed(ask(version, "a,b,g0")) is None
    assert needed(ask(version, "a,b,g1")) == ("a", "b", "g1")
    assert needed(ask(version, "a", {"g0": ["g03"]})) == ("a", "g0")
    behind = Counting(version)
    views = ViewEngine(version, behind)
    views.tabulate(ask(version, "a,b,g0"))
    assert behind.asked == 1
    assert views.keys == ()


def test_views_are_kept_under_their_budget_the_least_used_going_first(tmp_path: Path) -> None:
    version = make_version(np.random.default_rng(3), 1000, [100, 100, 100], None)
    behind = Counting(version)
    views = ViewEngine(version, behind, tmp_path / "views", budget=2 * 8 * 100**2)
    views.tabulate(ask(version, "a,b"))
    views.tabulate(ask(version, "a,c"))
    views.tabulate(ask(version, "b"))  # read off (a, b), which is now the last used
    views.tabulate(ask(version, "b,c"))
    assert views.keys == (("a", "b"), ("b", "c"))
    assert sorted(path.name for path in (tmp_path / "views").iterdir()) == ["a.b.u64", "b.c.u64"]


def test_views_are_found_again_on_disk_and_a_cut_one_is_not_believed(tmp_path: Path) -> None:
    version = make_version(np.random.default_rng(4), 1000, [2, 5], None)
    folder = tmp_path / "views"
    first = ViewEngine(version, ScanEngine(version), folder)
    table = first.tabulate(ask(version, "a,b"))
    first.tabulate(ask(version, "a"))
    assert (folder.stat().st_mode & 0o777, (folder / "a.b.u64").stat().st_mode & 0o777) == (
        0o700,
        0o600,
    )
    behind = Counting(version)
    again = ViewEngine(version, behind, folder)
    assert same(again.tabulate(ask(version, "a,b")), table)
    assert behind.asked == 0
    (folder / "a.b.u64").write_bytes(b"\0" * 8)
    cut = ViewEngine(version, behind, folder)
    assert same(cut.tabulate(ask(version, "a,b")), table)
    assert behind.asked == 1


@pytest.mark.parametrize("damage", ["bit", "name", "version"])
def test_a_view_without_its_checksum_is_not_believed(tmp_path: Path, damage: str) -> None:
    """A bit that rotted, the file of another view, the view of another version."""
    version = make_version(np.random.default_rng(4), 1000, [5, 5], None)
    folder = tmp_path / "views"
    right = ScanEngine(version).tabulate(ask(version, "a"))
    first = ViewEngine(version, ScanEngine(version), folder)
    for name in "ab":
        first.tabulate(ask(version, name))
    if damage == "bit":
        raw = bytearray((folder / "a.u64").read_bytes())
        raw[3] ^= 1
        (folder / "a.u64").write_bytes(raw)
    elif damage == "name":
        (folder / "b.u64").replace(folder / "a.u64")  # of the same size
    else:
        version.manifest["checksum"] = "another"
    behind = Counting(version)
    again = ViewEngine(version, behind, folder)
    assert again.covers(ask(version, "a"))
    assert same(again.tabulate(ask(version, "a")), right)
    assert behind.asked == 1
    last = ViewEngine(version, behind, folder)
    assert same(last.tabulate(ask(version, "a")), right)
    assert behind.asked == 1, "it was written anew"


def test_views_keep_no_file_open(tmp_path: Path) -> None:
    version = make_version(np.random.default_rng(4), 100, [2] * 8, None)
    folder, held = tmp_path / "views", len(os.listdir("/proc/self/fd"))
    for _ in range(2):
        views = ViewEngine(version, ScanEngine(version, threads=1), folder)
        for name in "abcdefgh":
            views.tabulate(ask(version, name))
    assert len(os.listdir("/proc/self/fd")) == held


def test_a_folder_that_cannot_be_written_costs_only_the_file(tmp_path: Path) -> None:
    version = make_version(np.random.default_rng(5), 100, [2, 5], None)
    (tmp_path / "views").write_text("in the way")
    views = ViewEngine(version, ScanEngine(version), tmp_path / "views")
    assert int(views.tabulate(ask(version, "a,b")).counts.sum()) == 100


def test_a_stopped_view_can_be_built_later() -> None:
    version = make_version(np.random.default_rng(6), 100, [2, 5], None)
    views = ViewEngine(version, ScanEngine(version))
    stop = Event()
    stop.set()
    with pytest.raises(Stopped):
        views.tabulate(ask(version, "a,b"), stop)
    assert int(views.tabulate(ask(version, "a,b")).counts.sum()) == 100


def test_chosen_views_keep_to_the_budget_and_cover_what_is_small_first() -> None:
    version = make_version(np.random.default_rng(7), 1, [2, 3, 5, 7, 101], [300, 9, 2])
    everything = choose(version.schema, 10**9)
    names = ["a", "b", "c", "d", "e", "g1", "g2"]
    for one in names:
        for other in names:
            if {one, other} != {"g1", "g2"}:
                # Every area of g1 lies in one of g2, so that a view with g1 answers for g2.
                finer = {"g1" if name == "g2" else name for name in (one, other)}
                asked = ({one, other}, finer)
                assert any(s <= set(view) for view in everything for s in asked), (one, other)
    assert not any({"g1", "g2"} <= set(view) for view in everything)
    sizes = {v.id: len(v.finest) for v in version.schema.columns} | {"g1": 9, "g2": 2}
    small = choose(version.schema, 4000)
    total = sum(8 * int(np.prod([sizes[name] for name in view])) for view in small)
    assert 0 < total <= 4000
    assert any({"a", "b"} <= set(view) for view in small)


def test_views_that_are_wanted_first_are_among_the_chosen() -> None:
    version = make_version(np.random.default_rng(7), 1, [2, 3, 5, 7, 101], [300, 9, 2])
    wide = ("a", "b", "c", "d", "g1")  # 2 x 3 x 5 x 7 x 9 cells of 8 bytes are 15,120
    assert wide not in choose(version.schema, 16_000)
    assert wide in choose(version.schema, 16_000, [wide])
    assert wide not in choose(version.schema, 15_119, [wide])


def test_a_view_of_small_areas_answers_for_larger_ones() -> None:
    version = make_version(np.random.default_rng(1), 1000, [2, 5, 13], [20, 6, 2])
    behind = Counting(version)
    views = ViewEngine(version, behind)
    views.tabulate(ask(version, "a,g1"))
    question = ask(version, "g2,a")
    assert views.covers(question)
    assert same(views.tabulate(question), behind.engine.tabulate(question))
    assert behind.asked == 1
    assert not views.covers(ask(version, "a,g0"))


def test_views_in_one_file_stay_and_a_damaged_one_is_built_again(tmp_path: Path) -> None:
    version = make_version(np.random.default_rng(8), 1000, [2, 5, 7], None)
    folder, behind = tmp_path / "views", Counting(version)
    found = dict(next(tables(version, [("a", "b"), ("b", "c")], tmp_path))[1])
    first = ViewEngine(version, behind, folder)
    first.put_many(("a", "b", "c"), list(found.items()))
    again = ViewEngine(version, behind, folder, budget=1)
    asked = [ask(version, "b,a"), ask(version, "b,c")]
    for question in (*asked, *asked):
        assert same(again.tabulate(question), behind.engine.tabulate(question))
    assert behind.asked == 0, "a budget of one byte pushes nothing out that is built"
    (path,) = folder.iterdir()
    assert len(cells_of(version, path)) == 2 * 5 + 5 * 7
    raw = bytearray(path.read_bytes())
    raw[3] ^= 1  # in the first of the two
    path.write_bytes(raw)
    with pytest.raises(Damaged):
        cells_of(version, path)
    damaged = ViewEngine(version, behind, folder)
    for question in asked:
        assert same(damaged.tabulate(question), behind.engine.tabulate(question))
    assert behind.asked == 1
    for cut in (0, 1, 20, len(raw) - 1):
        path.write_bytes(raw[:cut])
        assert ViewEngine(version, behind, folder).keys == (("a", "b"),), "the one built again"


def test_cells_in_memory_are_kept_under_the_budget(tmp_path: Path) -> None:
    version = make_version(np.random.default_rng(9), 1000, [10, 10, 10], None)
    pairs = [("a", "b"), ("a", "c"), ("b", "c")]
    views = ViewEngine(version, Counting(version), tmp_path / "views", budget=2 * 800)
    for of, found in tables(version, pairs, tmp_path):
        views.put_many(of, found)
    for key in pairs:
        views.tabulate(ask(version, ",".join(key)))
    assert [key for key, _ in views._cells.items()] == pairs[1:], "two of 800 bytes"
