"""Controlled tabular adjustment of counts and of magnitudes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.desk.adjust import Norm, Weight
from discreet.desk.adjust.method import ControlledAdjustment, of_tables
from discreet.desk.cells import CellTable, Records, read_cells
from discreet.desk.sensitivity import Given, PriorPosterior, Threshold
from discreet.errors import ParameterError
from discreet.protect import CountAdjustment

RNG = np.random.default_rng


def _firms(seed: int = 1, firms: int = 60) -> Records:
    """Firms in four regions (two of them north) and three industries, of very unequal size."""
    rng = np.random.default_rng(seed)
    at = np.stack([rng.integers(0, 4, firms), rng.integers(0, 3, firms)], axis=1)
    return Records(
        ("region", "industry"),
        (("n1", "n2", "s1", "s2", "north", "south", "_T"), ("a", "b", "c", "_T")),
        ((4, 4, 5, 5, 6, 6, -1), (3, 3, 3, -1)),
        at.astype(np.int64), np.round(rng.lognormal(4, 1.5, firms)), np.arange(firms), False,
    )  # fmt: skip


def _additive(table: CellTable, values: np.ndarray) -> None:
    for axis, parents in enumerate(table.parents):
        lines = np.moveaxis(values, axis, 0)
        for parent in set(parents) - {-1}:
            parts = [i for i, p in enumerate(parents) if p == parent]
            np.testing.assert_allclose(lines[parts].sum(axis=0), lines[parent], atol=1e-9)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000))
def test_magnitudes_of_firms_are_protected_whole_and_additive(seed: int) -> None:
    table = _firms(seed).table()
    found = ControlledAdjustment().adjust(table, [PriorPosterior(20)], RNG(1))
    _additive(table, found.values)
    assert not found.short.any()
    assert found.decimals == 0
    np.testing.assert_array_equal(found.values, np.rint(found.values))
    change = (found.values - table.values)[found.sensitive]
    needed = found.required
    assert (
        (change >= needed.upper[found.sensitive] - 1e-6)
        | (change <= -needed.lower[found.sensitive] + 1e-6)
    ).all()


def test_spread_moves_sensitive_cells_further_and_repeats_with_the_seed() -> None:
    table = _firms().table()
    plain = ControlledAdjustment().adjust(table, [PriorPosterior(20)], RNG(1))
    wide = ControlledAdjustment(spread=1.0).adjust(table, [PriorPosterior(20)], RNG(3))
    again = ControlledAdjustment(spread=1.0).adjust(table, [PriorPosterior(20)], RNG(3))
    np.testing.assert_array_equal(wide.values, again.values)
    assert not wide.short.any()
    size = [np.abs(one.values - table.values)[one.sensitive].sum() for one in (plain, wide)]
    assert size[1] > size[0]


def test_fixed_totals_stay_and_linked_tables_are_solved_together() -> None:
    table = _firms(4).table()
    fixed = of_tables(table, [[]])
    published = of_tables(table, [["region"], ["industry"]])
    found = ControlledAdjustment().adjust(table, [PriorPosterior(20)], RNG(1), fixed, published)
    assert found.values[-1, -1] == table.values[-1, -1]
    _additive(table, found.values)
    # Nothing but the two margins is published: 7 + 4 cells that share the total.
    assert published.sum() == 10
    assert not found.sensitive[~published].any()


def test_only_the_part_above_a_value_is_moved() -> None:
    table = _firms(2).table()
    found = ControlledAdjustment(above=200).adjust(table, [PriorPosterior(20)], RNG(1))
    inner = np.ix_(*table.inner)
    left_alone = (table.values[inner] > 0) & (found.parts[1].values[inner] == 0)
    np.testing.assert_array_equal(found.values[inner][left_alone], table.values[inner][left_alone])
    assert left_alone.any()
    assert found.parts[1].cells <= found.parts[0].cells


def test_sums_sensitive_in_the_part_alone_keep_their_capacity(tmp_path: Path) -> None:
    # All of row x is sensitive, so in the part its total is too; in the table it is not, and must
    # stay within 5%.
    path = tmp_path / "t.csv"
    path.write_text(
        "a,b,value,sensitive\nx,p,1000,1\nx,q,900,1\ny,p,5000,0\ny,q,7000,0\nz,p,20,0\nz,q,30,0\n"
    )
    table = read_cells(path)
    found = ControlledAdjustment(above=3000, capacity=0.05).adjust(table, [Given(20)], RNG(1))
    assert not found.short.any()
    assert found.parts[1].sensitive.sum() == 3
    change = np.abs(found.values - table.values)
    assert (change <= 0.05 * table.values)[~found.sensitive].all()
    _additive(table, found.values)


def test_a_heavier_margin_changes_less() -> None:
    table = _firms(6, 80).table()
    light, heavy = (
        ControlledAdjustment(weight=Weight.ONE, margins=factor).adjust(
            table, [PriorPosterior(20)], RNG(1)
        )
        for factor in (0.1, 10.0)
    )
    total = [abs(one.values[-1, -1] - table.values[-1, -1]) for one in (light, heavy)]
    assert total[1] <= total[0]


def test_decimals_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b,value,sensitive\nx,p,10.5,1\nx,q,20.25,0\ny,p,3.25,0\ny,q,7,1\n")
    table = read_cells(path)
    found = ControlledAdjustment().adjust(table, [Given(10)], RNG(1))
    assert found.decimals == 2
    _additive(table, found.values)
    np.testing.assert_allclose(found.values * 100, np.rint(found.values * 100), atol=1e-9)


def test_digits_do_not_tell_which_figures_were_moved(tmp_path: Path) -> None:
    # All end in 0000. The smallest protection is 10% of 100,000: thousands are at most half of it.
    path = tmp_path / "t.csv"
    path.write_text("a,b,value,sensitive\nx,p,100000,1\nx,q,500000,0\ny,p,310000,0\ny,q,120000,1\n")
    table = read_cells(path)
    found = ControlledAdjustment(spread=0.3).adjust(table, [Given(10)], RNG(1))
    assert found.decimals == -3
    np.testing.assert_array_equal(found.values % 1000, 0)
    assert not found.short.any()
    _additive(table, found.values)


def test_coarse_figures_do_not_stand_in_the_way_of_protection(tmp_path: Path) -> None:
    # 100 must move by 25, which in tens is 30; 1,000 and the total can take 10 each in tens, which
    # is too little, but 15 and 16 in units.
    path = tmp_path / "t.csv"
    path.write_text("a,value,sensitive\nx,100,1\ny,1000,0\n")
    table = read_cells(path)
    found = ControlledAdjustment(capacity=0.015).adjust(table, [Given(25)], RNG(1))
    assert not found.short.any()
    assert found.decimals == 0
    assert abs(found.values[0] - 100) == 25
    assert (np.abs(found.values - table.values)[1:] <= (15, 16)).all()


def test_squares_are_protected_too() -> None:
    table = _firms(9).table()
    found = ControlledAdjustment(norm=Norm.L2).adjust(table, [PriorPosterior(20)], RNG(1))
    _additive(table, np.round(found.values, 6))
    assert not found.short.any()


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([0.05, 0.2, 0.37]), st.sampled_from(list(Norm)))
def test_capacities_are_kept_to_the_unit_and_what_is_short_leaves_figures_whole(
    seed: int, capacity: float, norm: Norm
) -> None:
    table = _firms(seed).table()
    fixed = of_tables(table, [["region"]])
    method = ControlledAdjustment(norm=norm, capacity=capacity)
    found = method.adjust(table, [PriorPosterior(20)], RNG(1), fixed)
    _additive(table, found.values)
    assert found.decimals == 0
    np.testing.assert_array_equal(found.values[fixed], table.values[fixed])
    others = ~found.sensitive
    change = np.abs(found.values - table.values)
    assert (change <= capacity * table.values + 1e-6)[others].all()
    needed = found.required
    short = (change < np.where(found.values > table.values, needed.upper, needed.lower)) | (
        change == 0
    )
    np.testing.assert_array_equal(found.short, found.sensitive & short)


def test_squares_of_large_figures_of_linked_tables_are_solved() -> None:
    # Weights of 1 on figures of millions, and no weight on cells that are not published: the
    # quadratic programme needs both scaled. 1 to 4: firms by three dimensions, two of them at once.
    for seed in range(1, 5):
        rng = np.random.default_rng(seed)
        at = np.stack([rng.integers(0, size, 100) for size in (5, 3, 3)], axis=1)
        records = Records(
            ("a", "b", "c"),
            tuple((*map(str, range(size)), "_T") for size in (5, 3, 3)),
            tuple((size,) * size + (-1,) for size in (5, 3, 3)),
            at.astype(np.int64), np.round(100 * rng.lognormal(6, 1.5, 100)), np.arange(100), False,
        )  # fmt: skip
        table = records.table()
        published = of_tables(table, [["a", "b"], ["a", "c"]])
        method = ControlledAdjustment(norm=Norm.L2, weight=Weight.ONE)
        found = method.adjust(table, [PriorPosterior(10)], RNG(1), None, published)
        assert not found.short.any()
        _additive(table, found.values)


def test_the_unit_of_the_figures_does_not_matter() -> None:
    # In millions the figures are below 1; a change still counts in proportion to its cell.
    table = _firms(4).table()
    assert table.ranked is not None
    small = replace(table, values=table.values / 1e6, ranked=table.ranked / 1e6)
    plain, found = (
        ControlledAdjustment().adjust(one, [PriorPosterior(20)], RNG(1)) for one in (table, small)
    )
    assert found.decimals == 6
    assert found.cost == pytest.approx(plain.cost, rel=1e-3)
    _additive(small, found.values)
    assert not found.short.any()


def test_figures_of_many_decimals_add_up_as_printed() -> None:
    table = _firms(5).table()
    assert table.ranked is not None
    thirds = replace(table, values=table.values / 3, ranked=table.ranked / 3)
    found = ControlledAdjustment().adjust(thirds, [PriorPosterior(20)], RNG(1))
    assert found.decimals is None
    assert not found.short.any()
    _additive(thirds, found.values)
    np.testing.assert_array_equal(found.values, np.round(found.values, 6))


def test_counts_of_a_table_with_a_hierarchy() -> None:
    rng = np.random.default_rng(1)
    table = _firms(3, 40).table()
    inner = rng.poisson(3, (4, 3)).astype(float)
    counts = CellTable(table.variables, table.codes, table.parents, _sums(table, inner), True)
    found = ControlledAdjustment().adjust(counts, [Threshold(3)], RNG(2))
    _additive(counts, found.values)
    assert not np.isin(found.values, (1, 2)).any()
    assert (found.values[counts.values == 0] == 0).all()
    assert not found.short.any()


def _sums(table: CellTable, inner: np.ndarray) -> np.ndarray:
    from discreet.solve.system import TableSystem
    from discreet.table.hierarchy import Hierarchy

    system = TableSystem.table([Hierarchy(parents) for parents in table.parents])
    return system.values(inner)


def test_the_method_for_tables_leaves_no_small_count() -> None:
    counts = np.random.default_rng(5).poisson(2, (6, 5, 4))
    released = CountAdjustment(3).apply(counts, np.random.default_rng(1))
    assert not np.isin(released, (1, 2)).any()
    assert (released[counts == 0] == 0).all()
    assert (released[counts >= 3] >= 3).all()


def test_mistakes_are_explained() -> None:
    table = _firms().table()
    for build, message in [
        (lambda: ControlledAdjustment(margins=0), "margins"),
        (lambda: ControlledAdjustment(capacity=2), "capacity"),
        (lambda: ControlledAdjustment(above=-1), "above"),
        (lambda: ControlledAdjustment(spread=-1), "spread"),
        (lambda: CountAdjustment(1), "smallest_safe"),
        (lambda: of_tables(table, [["county"]]), "no dimension 'county'"),
    ]:
        with pytest.raises(ParameterError, match=message):
            build()
    counts = CellTable(("a",), (("x", "_T"),), ((1, -1),), np.array([1.0, 1]), True)
    with pytest.raises(ParameterError, match="threshold rule alone"):
        ControlledAdjustment().adjust(counts, [Threshold(3), Given(10)], RNG(1))
    with pytest.raises(ParameterError, match="for magnitudes, not for counts"):
        ControlledAdjustment(spread=1).adjust(counts, [Threshold(3)], RNG(1))


def test_a_text_names_the_norm_and_the_weight_and_nothing_else() -> None:
    method = ControlledAdjustment(norm="l2", weight="one")  # type: ignore[arg-type]
    assert method == ControlledAdjustment(Norm.L2, Weight.ONE)
    with pytest.raises(ParameterError, match=r"weight must be value or one\. Got many"):
        ControlledAdjustment(weight="many")  # type: ignore[arg-type]
