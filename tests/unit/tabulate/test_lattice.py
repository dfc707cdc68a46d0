"""Tables that are built together are those that a scan gives one by one."""

from __future__ import annotations

from itertools import combinations
from math import prod
from pathlib import Path

import numpy as np
import pytest

from discreet.population import Version
from discreet.query import Question
from discreet.tabulate import ScanEngine
from discreet.tabulate.lattice import condensed, counting, kernels, tables
from discreet.tabulate.lattice.covers import covers
from populations import make_version


def scanned(version: Version, key: tuple[str, ...]) -> np.ndarray:
    """The plain twin: each table by a scan of its own."""
    levels = tuple(version.schema.find(name)[1] for name in key)
    table = ScanEngine(version, threads=1).tabulate(Question(version.schema, levels)).dense()
    return table.counts.astype(np.uint64) | table.keys.astype(np.uint64) << np.uint64(32)


@pytest.mark.parametrize("modulus", [2**32, 256, 10**8])
@pytest.mark.parametrize("hypercube", [False, True])
@pytest.mark.parametrize("chunk", [2**22, 300], ids=["one chunk", "many"])
def test_tables_are_those_of_a_scan(
    tmp_path: Path,
    modulus: int,
    hypercube: bool,
    chunk: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(condensed, "CHUNK", chunk)
    monkeypatch.setattr(counting, "COARSE", 4)  # of the levels g1 is fine and g2 coarse
    rng = np.random.default_rng(11)
    version = make_version(rng, 1000, [2, 5, 13, 3], [40, 6, 2], modulus, hypercube)
    names = ["a", "b", "c", "d"]
    wanted = [key for width in (1, 2, 3) for key in combinations(names, width)]
    wanted += [(*key, area) for key in wanted[:8] for area in ("g1", "g2")]
    found = [view for _, views in tables(version, wanted, tmp_path) for view in views]
    assert sorted(key for key, _ in found) == sorted(wanted)
    for key, cells in found:
        np.testing.assert_array_equal(cells, scanned(version, key), str(key))
    assert list(tmp_path.iterdir()) == [], "the condensed records are gone"


def test_columns_of_more_than_64_bits_are_counted_as_they_are(tmp_path: Path) -> None:
    """Eight variables of 255 categories take 8 bits each, and two areas one: 65 in all."""
    version = make_version(np.random.default_rng(12), 500, [255] * 8, [4, 2])
    wanted = [("a", "h"), ("b", "g1"), *zip("cde", "def", strict=True), ("g",)]
    found = {key: cells for _, views in tables(version, wanted, tmp_path) for key, cells in views}
    for key in wanted:
        np.testing.assert_array_equal(found[key], scanned(version, key))


def test_records_that_are_alike_become_one() -> None:
    """Codes 3, 1, 3: one record of code 1 and one of code 3, whose words 10 and 30 make 40."""
    codes = np.array([3, 1, 3], np.uint64)
    words = np.array([10, 20, 30], np.uint64)
    codes, words = kernels.sort(codes, words, 8)
    assert codes.tolist() == [1, 3, 3]
    assert kernels.merge(codes, words) == 2
    assert (codes[:2].tolist(), words[:2].tolist()) == ([1, 3], [20, 40])


def test_wide_tables_cover_all_that_is_wanted_within_their_bound() -> None:
    size = {"a": 2, "b": 3, "c": 5, "d": 7, "g1": 9, "g2": 2}
    of = {**{name: name for name in "abcd"}, "g1": "g", "g2": "g"}
    wanted = [key for key in combinations(size, 3) if len({of[name] for name in key}) == 3]
    wide = covers(wanted, size, of, 400)
    assert sorted(key for _, keys in wide for key in keys) == sorted(wanted), "each once"
    for levels, keys in wide:
        assert all(set(key) <= set(levels) for key in keys)
        assert len({of[name] for name in levels}) == len(levels), "one level of a variable"
        # A table that is wanted and larger is counted by itself: d, g1 and c have 315 cells.
        assert prod(size[name] for name in levels) <= 400
    assert len(wide) < len(wanted)
