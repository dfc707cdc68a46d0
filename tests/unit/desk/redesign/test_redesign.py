"""Redesign: the search against plain enumeration, and what it says about its answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import isinf, log, prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.desk.redesign.method import least_coarsening
from discreet.desk.redesign.model import Finding, Redesign
from discreet.desk.redesign.rules import AllOf, MeanCell, RiskBefore, SmallestCount, SmallShare
from discreet.errors import ParameterError
from discreet.solve.solution import Status
from discreet.table import Dimension

Blocks = tuple[frozenset[str], ...]


@dataclass(frozen=True)
class Table:
    counts: Any
    dimensions: tuple[Dimension, ...]


def _table(counts: Any, *codes: Sequence[str]) -> Table:
    dimensions = tuple(
        Dimension(name, name, name, tuple(listed), tuple(listed))
        for name, listed in zip("abcd", codes, strict=False)
    )
    return Table(np.asarray(counts), dimensions)


# The plain twin: every partition that a tree, its levels or an order allows, written down.


def _cuts(node: str, groups: Mapping[str, Sequence[str]]) -> Iterator[Blocks]:
    def leaves(code: str) -> frozenset[str]:
        if code not in groups:
            return frozenset([code])
        return frozenset().union(*(leaves(part) for part in groups[code]))

    yield (leaves(node),)
    if node in groups:
        for parts in product(*(_cuts(part, groups) for part in groups[node])):
            yield tuple(block for part in parts for block in part)


def _levels(codes: Sequence[str], groups: Mapping[str, Sequence[str]]) -> Iterator[Blocks]:
    above = {member: group for group, members in groups.items() for member in members}

    def path(code: str) -> list[str]:
        found = [code]
        while found[0] in above:
            found.insert(0, above[found[0]])
        return found

    for depth in range(8):
        blocks: dict[str, set[str]] = {}
        for code in codes:
            way = path(code)
            blocks.setdefault(way[min(depth, len(way) - 1)], set()).add(code)
        yield tuple(frozenset(block) for block in blocks.values())


def _runs(codes: Sequence[str]) -> Iterator[Blocks]:
    for joined in product([False, True], repeat=len(codes) - 1):
        blocks = [[codes[0]]]
        for code, together in zip(codes[1:], joined, strict=True):
            if together:
                blocks[-1].append(code)
            else:
                blocks.append([code])
        yield tuple(frozenset(block) for block in blocks)


def _apply(table: Table, design: Sequence[Blocks]) -> Any:
    values = table.counts
    for axis, (dimension, blocks) in enumerate(zip(table.dimensions, design, strict=True)):
        places = [[dimension.codes.index(code) for code in sorted(block)] for block in blocks]
        values = np.stack([values.take(rows, axis).sum(axis) for rows in places], axis)
    return values


def _price(table: Table, design: Sequence[Blocks], kind: str, weights: Sequence[float]) -> float:
    """Return the cost of a design, that of each dimension in billionths, which makes ties."""
    total = 0.0
    for axis, (dimension, blocks) in enumerate(zip(table.dimensions, design, strict=True)):
        if kind == "cells":
            total += round(weights[axis] * log(len(dimension) / len(blocks)), 9)
            continue
        others = tuple(i for i in range(table.counts.ndim) if i != axis)
        margin = table.counts.sum(others) / table.counts.sum()
        after = [sum(margin[dimension.codes.index(code)] for code in block) for block in blocks]
        total += round(weights[axis] * (_entropy(margin) - _entropy(after)), 9)
    return round(total, 9)


def _entropy(shares: Any) -> float:
    return -sum(float(p) * log(p) for p in shares if p > 0)


def _coarser(fine: Sequence[Blocks], coarse: Sequence[Blocks]) -> bool:
    return all(
        any(block <= outer for outer in outers)
        for blocks, outers in zip(fine, coarse, strict=True)
        for block in blocks
    )


def _enumerate(
    table: Table, spaces: list[list[Blocks]], rule: Any, kind: str, weights: Sequence[float]
) -> list[tuple[float, int, tuple[Blocks, ...]]]:
    """Return all designs that pass, cheapest first, those with more cells first among equals."""
    seen, found = set(), []
    for design in product(*spaces):
        key = tuple(frozenset(blocks) for blocks in design)
        if key in seen:
            continue
        seen.add(key)
        if rule(_apply(table, design), table.dimensions):
            cells = prod(len(blocks) for blocks in design)
            found.append((_price(table, design, kind, weights), -cells, design))
    return sorted(found, key=lambda entry: entry[:2])


def _blocks(table: Table, merged: Mapping[str, Mapping[str, Sequence[str]]]) -> tuple[Blocks, ...]:
    found = []
    for dimension in table.dimensions:
        groups = [frozenset(part) for part in merged.get(dimension.variable, {}).values()]
        rest = set(dimension.codes) - set().union(*groups)
        found.append((*groups, *(frozenset([code]) for code in rest)))
    return tuple(found)


# Ragged: g has three levels below it, "6" and "7" hang from the top.
RAGGED = {"g": ["h", "3", "4"], "h": ["1", "2"], "k": ["5"]}
TREES: list[tuple[list[str], dict[str, list[str]]]] = [
    (["1", "2", "3", "4", "5", "6"], RAGGED),
    (["1", "2", "3"], {}),
    (["1", "2", "3", "4"], {"p": ["1", "3"], "q": ["2", "4"]}),
    (["1", "2", "3", "4"], {"all": ["p", "q"], "p": ["1", "2"], "q": ["3", "4"]}),
    (["1"], {}),
]


@st.composite
def _problems(draw: st.DrawFn) -> tuple[Table, dict[str, Any], list[str], str, list[list[Blocks]]]:
    steps = draw(st.sampled_from(["levels", "subtrees"]))
    hierarchies, ordered, spaces, codes = {}, [], [], []
    for name in "abc"[: draw(st.integers(1, 3))]:
        listed, groups = draw(st.sampled_from(TREES))
        codes.append(listed)
        if not groups and draw(st.booleans()):
            ordered.append(name)
            spaces.append(list(_runs(listed)))
            continue
        hierarchies[name] = groups
        whole = {**groups, "_T": [*_tops(listed, groups)]}
        if steps == "levels":
            spaces.append([*_levels(listed, whole), tuple(frozenset([c]) for c in listed)])
        else:
            spaces.append(list(_present(_cuts("_T", whole), listed)))
    shape = tuple(len(listed) for listed in codes)
    mean = draw(st.sampled_from([0.5, 2.0, 6.0]))
    seed = draw(st.integers(0, 2**32 - 1))
    counts = np.random.default_rng(seed).poisson(mean, shape)
    counts.flat[0] += 1
    return _table(counts, *codes), hierarchies, ordered, steps, spaces


def _tops(codes: Sequence[str], groups: Mapping[str, Sequence[str]]) -> list[str]:
    members = {member for part in groups.values() for member in part}
    return [code for code in dict.fromkeys([*groups, *codes]) if code not in members]


def _present(cuts: Iterator[Blocks], codes: Sequence[str]) -> Iterator[Blocks]:
    for blocks in cuts:
        yield tuple(block & set(codes) for block in blocks if block & set(codes))


def _odd(counts: Any, dimensions: Any) -> bool:
    """A rule that no coarsening makes easier: the number of populated cells is odd and small."""
    populated = int(np.count_nonzero(counts))
    return populated % 2 == 1 and populated < counts.size


RULES = [
    SmallestCount(3),
    SmallShare(0.2),
    RiskBefore(0.2),
    MeanCell(4),
    AllOf((SmallestCount(2), RiskBefore(0.3))),
    _odd,
]


@settings(max_examples=150, deadline=None)
@given(_problems(), st.sampled_from(RULES), st.sampled_from(["cells", "information"]), st.data())
def test_the_answer_is_the_first_of_all_designs_that_pass(
    problem: Any, rule: Any, kind: str, data: st.DataObject
) -> None:
    table, hierarchies, ordered, steps, spaces = problem
    weights = [data.draw(st.sampled_from([1.0, 0.5, 3.0])) for _ in table.dimensions]
    named = {d.variable: w for d, w in zip(table.dimensions, weights, strict=True)}
    found = least_coarsening(
        table, hierarchies, rule, ordered=ordered, steps=steps, cost=kind, weights=named,
        runners_up=2,
    )  # fmt: skip
    passing = _enumerate(table, spaces, rule, kind, weights)
    if not passing:
        assert found.status is Status.INFEASIBLE
        assert found.design is None
        return
    assert found.status is Status.SOLVED
    assert found.design is not None
    assert found.design.cost == pytest.approx(passing[0][0], abs=2e-6)
    assert found.design.counts.size == -passing[0][1]
    blocks = _blocks(table, found.design.merged)
    assert any({*map(frozenset, blocks)} == {*map(frozenset, d)} for *_, d in passing)
    np.testing.assert_array_equal(
        np.sort(found.design.counts.ravel()), np.sort(_apply(table, blocks).ravel())
    )
    if found.design.cost == 0 and not found.design.merged:
        return
    # The next-best: the cheapest that is not merely coarser than one already chosen.
    chosen = [blocks]
    for runner in found.runners:
        left = [
            entry for entry in passing if not any(_coarser(known, entry[2]) for known in chosen)
        ]
        assert runner.cost == pytest.approx(left[0][0], abs=2e-6)
        assert not any(_coarser(known, _blocks(table, runner.merged)) for known in chosen)
        chosen.append(_blocks(table, runner.merged))
    if len(found.runners) < 2:
        assert all(any(_coarser(known, d) for known in chosen) for *_, d in passing)


@settings(max_examples=60, deadline=None)
@given(_problems(), st.sampled_from(RULES[:5]), st.integers(2, 60))
def test_with_few_tests_it_passes_and_no_single_merge_can_be_undone(
    problem: Any, rule: Any, most: int
) -> None:
    table, hierarchies, ordered, steps, spaces = problem
    found = least_coarsening(table, hierarchies, rule, ordered=ordered, steps=steps, most=most)
    passing = _enumerate(table, spaces, rule, "cells", [1.0] * 3)
    if found.design is None:
        assert found.status in {Status.INFEASIBLE, Status.NOT_CONVERGED}
        assert (found.status is Status.NOT_CONVERGED) or not passing
        return
    assert rule(found.design.counts, found.design.dimensions)
    assert found.design.cost >= passing[0][0] - 2e-6
    assert isinf(found.reach) or found.reach <= passing[-1][0] + 2e-6
    if found.status is Status.SOLVED:
        assert found.design.cost == pytest.approx(passing[0][0], abs=2e-6)
    else:
        assert found.reach <= found.design.cost


def test_a_rule_said_to_be_monotone_gives_the_same_with_fewer_tests() -> None:
    rng = np.random.default_rng(5)
    codes = [str(i) for i in range(8)]
    table = _table(rng.poisson(1.5, (8, 8)), codes, codes)
    groups = {f"g{i}": codes[2 * i : 2 * i + 2] for i in range(4)}

    def plain(counts: Any, dimensions: Any) -> bool:
        return not ((counts > 0) & (counts < 3)).any()

    free = least_coarsening(table, {"a": groups, "b": groups}, plain)
    told = least_coarsening(table, {"a": groups, "b": groups}, plain, monotone=True)
    assert free.design is not None
    assert told.design is not None
    assert free.design.cost == told.design.cost
    assert free.design.counts.size == told.design.counts.size
    assert free.status is told.status is Status.SOLVED
    assert told.tested < free.tested


# One row of counts: 1 5 | 4 4 | 9 with pairs (1 5), (4 4). Only the 1 is small.
ROW = _table([1, 5, 4, 4, 9], ["s", "t", "u", "v", "w"])
PAIRS = {"a": {"st": ["s", "t"], "uv": ["u", "v"]}}


def test_only_the_offending_branch_is_merged_or_the_whole_level() -> None:
    local = least_coarsening(ROW, PAIRS, SmallestCount(3))
    assert local.design is not None
    assert local.design.merged == {"a": {"st": ("s", "t")}}
    assert local.design.counts.tolist() == [6, 4, 4, 9]
    assert local.design.cost == pytest.approx(log(5 / 4))  # four of five categories are left
    whole = least_coarsening(ROW, PAIRS, SmallestCount(3), steps="levels")
    assert whole.design is not None
    assert whole.design.merged == {"a": {"st": ("s", "t"), "uv": ("u", "v")}}
    assert whole.design.cost == pytest.approx(log(5 / 3))


def test_the_information_lost_is_the_entropy_within_what_was_merged() -> None:
    found = least_coarsening(ROW, PAIRS, SmallestCount(3), cost="information")
    # 6 of 23 people are in the merged category, 1 and 5 of them in its parts.
    within = -(log(1 / 6) + 5 * log(5 / 6)) / 6
    assert found.design is not None
    assert found.design.cost == pytest.approx(6 / 23 * within, abs=1e-8)
    assert found.entropy - found.design.entropy == pytest.approx(found.design.cost, abs=1e-8)


def test_it_explains_itself() -> None:
    found = least_coarsening(ROW, PAIRS, SmallestCount(3), ordered=())
    assert found.before == Finding(False, 1 / 5, "1 cell of 1 to 2", ("a s",), 1, stays=True)
    (step,) = found.steps
    assert (step.variable, dict(step.merged)) == ("a", {"st": ("s", "t")})
    assert step.before is found.before
    (merge,) = found.merges
    assert merge.undone.reason == "1 cell of 1 to 2"
    (forced,) = found.forced
    assert forced.code == "st"
    assert {entry.verdict.passed for entry in found.rejected} == {False}
    assert found.rejected[0].merged == {}


def test_the_cost_of_the_steps_is_the_cost_of_the_design() -> None:
    rng = np.random.default_rng(1)
    codes = [str(i) for i in range(6)]
    table = _table(rng.poisson(1.0, (6, 6)), codes, codes)
    found = least_coarsening(table, {}, SmallestCount(3), ordered=["a", "b"])
    assert found.design is not None
    assert sum(step.cost for step in found.steps) == pytest.approx(found.design.cost)
    assert sum(found.design.costs.values()) == pytest.approx(found.design.cost)
    assert not any(merge.undone.passed for merge in found.merges)


def test_runs_of_numbers_have_the_name_of_their_range() -> None:
    table = _table([1, 1, 1, 9, 1, 1], ["0-4", "5-9", "10-14", "15-19", "20-24", "25+"])
    found = least_coarsening(table, {}, SmallestCount(3), ordered=["a"])
    assert found.design is not None
    assert found.design.dimensions[0].codes == ("0-14", "15+")
    words = _table([1, 2, 9], ["none", "some", "all"])
    named = least_coarsening(words, {}, SmallestCount(3), ordered=["a"]).design
    assert named is not None
    assert named.dimensions[0].codes == ("none..some", "all")


def test_a_dimension_without_hierarchy_is_dropped_and_the_rule_sees_one_category() -> None:
    seen: list[tuple[int, ...]] = []

    def rule(counts: Any, dimensions: tuple[Dimension, ...]) -> bool:
        assert counts.shape == tuple(len(dimension) for dimension in dimensions)
        seen.append(counts.shape)
        return bool(counts.min() >= 5)

    found = least_coarsening(_table([[1, 9], [7, 2]], ["x", "y"], ["p", "q"]), {}, rule)
    assert found.design is not None
    # Over the rows: 8 and 11; over the columns: 10 and 9. Both cost log 2; the first is kept.
    assert found.design.dropped in {("a",), ("b",)}
    assert found.design.counts.size == 2
    assert len(found.runners) == 1
    assert (2, 2) in seen


def test_dimensions_can_be_kept_or_fixed() -> None:
    table = _table([[1, 9], [7, 2]], ["x", "y"], ["p", "q"])
    fixed = least_coarsening(table, {}, SmallestCount(3), fixed=["a"])
    assert fixed.design is not None
    assert fixed.design.dropped == ("b",)
    kept = least_coarsening(table, {}, SmallestCount(3), keep=["b"])
    assert kept.design is not None
    assert kept.design.dropped == ("a",)
    none = least_coarsening(table, {}, SmallestCount(3), keep=["a", "b"])
    assert none.status is Status.INFEASIBLE
    # With a as it is, b would have to be dropped, and it is kept.
    neither = least_coarsening(table, {}, SmallestCount(3), keep=["b"], fixed=["a"])
    assert neither.status is Status.INFEASIBLE
    assert neither.design is None


def test_a_weight_makes_a_dimension_dearer() -> None:
    table = _table([[1, 9], [7, 2]], ["x", "y"], ["p", "q"])
    for name, other in (("a", "b"), ("b", "a")):
        found = least_coarsening(table, {}, SmallestCount(3), weights={name: 2})
        assert found.design is not None
        assert found.design.dropped == (other,)


def test_not_even_the_total_passes() -> None:
    found = least_coarsening(_table([1, 1], ["x", "y"]), {}, SmallestCount(3))
    assert (found.status, found.design, found.steps) == (Status.INFEASIBLE, None, ())
    assert found.rejected
    assert {entry.verdict.reason for entry in found.rejected} == {
        "1 cell of 1 to 2",
        "2 cells of 1 to 2",
    }


def test_a_table_that_passes_is_left_alone() -> None:
    found = least_coarsening(_table([3, 0, 7], ["x", "y", "z"]), {}, SmallestCount(3))
    assert found.status is Status.SOLVED
    assert found.design is not None
    assert (found.design.cost, found.design.merged, found.tested) == (0.0, {}, 1)


def test_a_rule_that_fails_when_coarser_finds_the_way_between() -> None:
    # Exactly three categories: too fine and too coarse both fail.
    def three(counts: Any, dimensions: Any) -> bool:
        return counts.size == 3

    found = least_coarsening(_table([4, 4, 4, 4, 4], list("vwxyz")), {}, three, ordered=["a"])
    assert found.status is Status.SOLVED
    assert found.design is not None
    assert found.design.counts.size == 3


def _large(size: int = 30) -> tuple[Table, dict[str, dict[str, list[str]]]]:
    rng = np.random.default_rng(3)
    codes = [str(i) for i in range(size)]
    counts = rng.poisson(rng.gamma(0.4, 4, (size, size)))
    groups = {f"g{i}": codes[3 * i : 3 * i + 3] for i in range(size // 3)}
    return _table(counts, codes, codes), {"a": groups, "b": groups}


def test_the_same_input_gives_the_same_answer() -> None:
    table, groups = _large()
    first, second = (least_coarsening(table, groups, SmallShare(0.1), most=400) for _ in range(2))
    assert first.design is not None
    assert second.design is not None
    assert first.design.merged == second.design.merged
    assert first.steps == second.steps
    assert first.tested == second.tested
    assert [entry.cost for entry in first.rejected] == [entry.cost for entry in second.rejected]


def test_progress_is_told() -> None:
    table, groups = _large()
    told: list[tuple[str, int, int | None]] = []
    least_coarsening(
        table, groups, SmallShare(0.1), most=400, tell=lambda *given: told.append(given)
    )
    assert {stage for stage, _, _ in told} == {"merging", "proving"}
    assert all(0 <= done <= (total or 0) for _, done, total in told)


@pytest.mark.parametrize("after", [1, 40, 300])
def test_ctrl_c_gives_the_best_so_far(after: int) -> None:
    table, groups = _large()
    calls = 0

    def rule(counts: Any, dimensions: Any) -> Finding:
        nonlocal calls
        calls += 1
        if calls == after + 1:
            raise KeyboardInterrupt
        return SmallShare(0.1)(counts, dimensions)

    found = least_coarsening(table, groups, rule)
    assert found.status is Status.STOPPED
    if after > 1:
        assert found.design is not None
        assert found.design.verdict.passed


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"hierarchies": {"z": {}}}, "no dimension 'z'"),
        ({"ordered": ["a"], "hierarchies": PAIRS}, "ordered or have a hierarchy, not both"),
        ({"cost": "money"}, "cost must be cells or information. Got money"),
        ({"steps": "leaps"}, "steps must be levels or subtrees. Got leaps"),
        ({"weights": {"a": -1}}, "weight of a must be a number of 0 or more"),
        ({"most": 1}, "most must be at least 2"),
        ({"runners_up": -1}, "runners_up must be at least 0"),
        ({"hierarchies": {"a": {"s": ["t", "u"]}}}, "'s' of a must not be a category and a group"),
        ({"hierarchies": {"a": {"g": ["t", "u"], "h": ["t"]}}}, "'t' of a must be part of one"),
        ({"hierarchies": {"a": {"g": ["1", "2"]}}}, "must have codes of the table, such as s"),
        ({"passes": lambda counts, dimensions: "yes"}, "True, False or a Finding. Got str"),
    ],
)
def test_wrong_values_are_explained(options: dict[str, Any], message: str) -> None:
    given = {"hierarchies": {}, "passes": SmallestCount(3), **options}
    with pytest.raises(ParameterError, match=message):
        least_coarsening(ROW, given.pop("hierarchies"), given.pop("passes"), **given)


@pytest.mark.parametrize("counts", [[0, 0], [-1, 2], [np.nan, 1], [[1, 2]]])
def test_a_table_must_hold_someone_and_fit_its_dimensions(counts: Any) -> None:
    with pytest.raises(ParameterError, match="table must"):
        least_coarsening(_table(counts, ["x", "y"]), {}, SmallestCount(3))


def test_values_need_not_be_whole() -> None:
    def rule(counts: Any, dimensions: Any) -> bool:
        return bool((counts >= 1).all())

    found = least_coarsening(_table([0.5, 0.75, 2.5], ["x", "y", "z"]), {}, rule, ordered=["a"])
    assert isinstance(found, Redesign)
    assert found.design is not None
    assert found.design.counts.tolist() == [1.25, 2.5]
