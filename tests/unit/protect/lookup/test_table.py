"""Look-up tables: what they refuse, their files, and the rule of the R package cellKey."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.protect import CellKeyPerturbation, LookupTable, lookup, plain_uniforms

HAND_MADE = """"i","j","p","v","p_int_lb","p_int_ub","type"
0,0,1,0,0,1,"all"
1,0,0.5,-1,0,0.5,"all"
1,2,0.5,1,0.5,1,"all"
2,1,0.25,-1,0,0.25,"all"
2,2,0.5,0,0.25,0.75,"all"
2,3,0.25,1,0.75,1,"all"
"""


@pytest.fixture
def hand_made(tmp_path: Path) -> LookupTable:
    (tmp_path / "ptable.csv").write_text(HAND_MADE)
    return LookupTable.read_csv(tmp_path / "ptable.csv")


def test_matrix_has_every_released_value_from_zero(hand_made: LookupTable) -> None:
    expected = [[1, 0, 0, 0], [0.5, 0, 0.5, 0], [0, 0.25, 0.5, 0.25]]
    np.testing.assert_array_equal(hand_made.matrix, expected)


def test_equals_cellkey_on_a_hand_computed_table(hand_made: LookupTable) -> None:
    # Rule: row = min(count, 2), first upper bound ≥ key / 10^8. Intervals are closed above: a key
    # of exactly 0.5 takes the first interval of row 1, 0.50000001 the second.
    cases = [
        # count, key, released
        (0, 0, 0),
        (1, 0, 0),
        (1, 50_000_000, 0),
        (1, 50_000_001, 2),
        (1, 99_999_999, 2),
        (2, 25_000_000, 1),
        (2, 25_000_001, 2),
        (2, 75_000_000, 2),
        (2, 75_000_001, 3),
        (7, 25_000_000, 6),
        (7, 75_000_001, 8),
    ]
    counts, keys, released = np.array(cases).T
    got = CellKeyPerturbation(hand_made).apply(counts, plain_uniforms(keys, 10**8))
    np.testing.assert_array_equal(got, released)


@pytest.mark.parametrize("name", ["D2_V1.08", "D5_V3", "D5_V3_js2", "D5_V3_p30"])
def test_equals_the_interval_rule_on_ptables_files(name: str, peers: Path) -> None:
    path = peers / f"ptable_{name}_ptable.csv"
    rows: dict[int, list[tuple[float, int]]] = {}
    for line in path.read_text().splitlines()[1:]:
        i, _, _, v, _, upper, _ = line.split(",")
        rows.setdefault(int(i), []).append((float(upper), int(v)))
    rng = np.random.default_rng(8)
    counts = rng.integers(0, 15, 3000)
    keys = rng.integers(0, 10**8, 3000)
    # Half of the keys exactly on a bound, where the rule is put to the test.
    for cell in range(0, 3000, 2):
        bounds = rows[min(int(counts[cell]), max(rows))]
        keys[cell] = round(bounds[cell % len(bounds)][0] * 10**8) % 10**8
    expected = [
        count + next(v for upper, v in rows[min(count, max(rows))] if upper >= key / 10**8)
        for count, key in zip(counts.tolist(), keys.tolist(), strict=True)
    ]
    method = CellKeyPerturbation(LookupTable.read_csv(path))
    np.testing.assert_array_equal(method.apply(counts, plain_uniforms(keys, 10**8)), expected)


@pytest.mark.parametrize("name", ["D2_V1.08", "D5_V3_js2"])
def test_ptables_own_file_comes_back_as_it_was(name: str, peers: Path, tmp_path: Path) -> None:
    theirs = peers / f"ptable_{name}_ptable.csv"
    LookupTable.read_csv(theirs).write_csv(tmp_path / "again.csv")
    for ours, line in zip(
        (tmp_path / "again.csv").read_text().splitlines(),
        theirs.read_text().splitlines(),
        strict=True,
    ):
        if line.startswith('"i"'):
            assert ours == line
            continue
        # R prints p with the rounding error of its subtraction; the rest is equal as text.
        ours_fields, fields = ours.split(","), line.split(",")
        assert float(ours_fields[2]) == pytest.approx(float(fields[2]), abs=1e-12)
        assert ours_fields[:2] + ours_fields[3:] == fields[:2] + fields[3:]


def test_a_look_up_written_and_read_is_the_same(tmp_path: Path) -> None:
    table = lookup.max_entropy(5, 3, forbid=(1, 2))
    table.write_csv(tmp_path / "a.csv")
    again = LookupTable.read_csv(tmp_path / "a.csv")
    np.testing.assert_allclose(again.matrix, table.matrix, atol=2e-8)
    again.write_csv(tmp_path / "b.csv")
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()


def test_a_transition_matrix_with_gaps_is_read(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text('"i","0","3"\n"0",1,0\n"1",0.75,0.25\n')
    expected = [[1, 0, 0, 0], [0.75, 0, 0, 0.25]]
    np.testing.assert_array_equal(LookupTable.read_csv(tmp_path / "t.csv").matrix, expected)


def test_the_order_of_intervals_in_a_file_is_kept(tmp_path: Path) -> None:
    # Rearranged so that small keys do not mean losses: +1, −1, and +1 again.
    (tmp_path / "p.csv").write_text(
        "i,j,p,v,p_int_lb,p_int_ub,type\n0,0,1,0,0,1,all\n"
        "1,2,0.2,1,0,0.2,all\n1,0,0.5,-1,0.2,0.7,all\n1,2,0.3,1,0.7,1,all\n"
    )
    table = LookupTable.read_csv(tmp_path / "p.csv")
    got = CellKeyPerturbation(table).apply(np.full(3, 1), np.array([0.1, 0.5, 0.9]))
    np.testing.assert_array_equal(got, [2, 0, 2])
    np.testing.assert_allclose(table.matrix[1], [0.5, 0, 0.5])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("a,b\n1,2\n", "must have ptable's columns"),
        ("i,j,p,v,p_int_lb,p_int_ub,type\n0,0,1,0,0,1,odd\n", "for magnitudes"),
        ("i,j,p,v,p_int_lb,p_int_ub,type\n1,1,1,0,0,1,all\n", "from 0 without gaps"),
        ("i,j,p,v,p_int_lb,p_int_ub,type\n0,0,1,0,0,0.9,all\n", "must end at 1"),
        ("i,j,p,v,p_int_lb,p_int_ub,type\n0,1,1,0,0,1,all\n", r"j must be i \+ v"),
        ("i,j,p,v,p_int_lb,p_int_ub,type\n0,-1,1,-1,0,1,all\n", "negative"),
        ("i,j,p,v,p_int_lb,p_int_ub,type\nx,0,1,0,0,1,all\n", "cannot be read"),
        ("i,0,1\n0,0.5,0.4\n", "sum to 1"),
    ],
)
def test_a_bad_file_is_refused(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_text(text)
    with pytest.raises(ParameterError, match=message):
        LookupTable.read_csv(tmp_path / "bad.csv")


def test_a_look_up_that_repeats_cannot_be_written_in_ptables_layout(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="repeats every 3 rows"):
        lookup.rounding(3).write_csv(tmp_path / "r.csv")


def test_a_look_up_that_moves_zeros_wants_to_know_the_impossible_cells() -> None:
    method = CellKeyPerturbation(LookupTable.from_matrix([[0.5, 0.5], [0.5, 0.5]]))
    counts, uniforms = np.zeros(4, int), np.full(4, 0.9)
    with pytest.raises(ParameterError, match="structural must say"):
        method.apply(counts, uniforms)
    mask = np.array([True, False, True, False])
    np.testing.assert_array_equal(method.apply(counts, uniforms, mask), [0, 1, 0, 1])
    with pytest.raises(ParameterError, match="count of zero"):
        method.apply(np.ones(4, int), uniforms, mask)


def test_a_look_up_must_be_one() -> None:
    with pytest.raises(ParameterError, match="must be a LookupTable"):
        CellKeyPerturbation([[1.0]])  # type: ignore[arg-type]


def test_the_fast_look_up_equals_its_naive_twin() -> None:
    rng = np.random.default_rng(3)
    for table in (lookup.max_entropy(5, 3), lookup.rounding(7), lookup.normal()):
        counts, uniforms = rng.integers(0, 40, (30, 40)), rng.random((30, 40))
        expected = [
            [
                count
                + next(
                    int(change)
                    for change, bound in zip(table.changes[row], table.bounds[row], strict=True)
                    if uniform < bound
                )
                for count, uniform, row in zip(*cells, strict=True)
            ]
            for cells in zip(counts, uniforms, table.transition().index(counts), strict=True)
        ]
        np.testing.assert_array_equal(table.draw(counts, uniforms), expected)


PARAMETERS = """params:
  ptable:
    i:
    - 0.0
    - 1.0
    - 1.0
    - 2.0
    - 2.0
    - 2.0
    j:
    - 0.0
    - 0.0
    - 2.0
    - 1.0
    - 2.0
    - 3.0
    v:
    - 0
    - -1
    - 1
    - -1
    - 0
    - 1
    lb:
    - 0.0
    - 0.0
    - 0.5
    - 0.0
    - 0.25
    - 0.75
    ub:
    - 1.0
    - 0.5
    - 1.0
    - 0.25
    - 0.75
    - 1.0
    type:
    - all
    - all
    - all
    - all
    - all
    - all
type: cnts
version: 1.0.2
ptype: params_cnts
"""
"""The look-up above, as R's yaml::write_yaml lays out what ck_params_cnts() hands it."""


def test_parameters_of_cellkey_are_read(hand_made: LookupTable, tmp_path: Path) -> None:
    (tmp_path / "params.yaml").write_text(PARAMETERS)
    read = LookupTable.read_csv(tmp_path / "params.yaml")
    np.testing.assert_array_equal(read.changes, hand_made.changes)
    np.testing.assert_array_equal(read.bounds, hand_made.bounds)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("params_cnts", "params_nums", "ptype must be params_cnts, parameters for counts."),
        ("ptype: params_cnts\n", "", "Got none."),
        ("    - all\n", "    - even\n", "this file is for magnitudes"),
        ("    ub:\n    - 1.0\n", "    ub:\n", "must have the same length"),
        ("    ub:\n", "    upper:\n", "ptable's columns are"),
        (
            "    i:\n    - 0.0\n",
            "    i: [0.0,\n",
            "this line is not as cellKey writes it: i: [0.0,",
        ),
    ],
)
def test_parameters_for_something_else_are_refused(
    tmp_path: Path, old: str, new: str, told: str
) -> None:
    assert old in PARAMETERS
    (tmp_path / "params.yaml").write_text(PARAMETERS.replace(old, new))
    with pytest.raises(ParameterError, match=re.escape(told)):
        LookupTable.read_csv(tmp_path / "params.yaml")
