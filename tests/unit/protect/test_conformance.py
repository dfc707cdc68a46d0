"""Every method passes the suite, and the suite catches methods that break a promise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import discreet.protect as protect
from discreet.errors import ParameterError
from discreet.protect import Effect, Kept, Method, lookup
from discreet.protect.conformance import SHAPES, examine, failures
from discreet.table.transition import Transition

METHODS: dict[str, tuple[Any, dict[str, Any]]] = {
    **{f"rounding {base}": (protect.RandomRounding(base), {}) for base in (2, 3, 5, 10, 100)},
    **{f"nearest {base}": (protect.ConventionalRounding(base), {}) for base in (2, 3, 10)},
    **{f"small cells {base}": (protect.SmallCellAdjustment(base), {}) for base in (2, 3, 100)},
    "semi-controlled table": (protect.SemiControlledRounding(3), {}),
    "semi-controlled 100": (protect.SemiControlledRounding(100), {}),
    "semi-controlled rows": (protect.SemiControlledRounding(5, axis=0), {}),
    "semi-controlled columns": (protect.SemiControlledRounding(2, axis=1), {}),
    "semi-controlled, the paper's": (protect.SemiControlledRounding(3, form="paper"), {}),
    "controlled, two-way": (
        protect.ControlledRounding(3),
        {"shapes": tuple(shape for shape in SHAPES if len(shape) <= 2)},
    ),
    "controlled": (protect.ControlledRounding(5), {}),
    "small counts": (protect.SmallCountRounding(3), {}),
    "adjusted counts": (protect.CountAdjustment(3), {}),
    "stochastic": (protect.StochasticPerturbation.published(), {}),
    "stochastic, exact": (protect.StochasticPerturbation.published(exact=True), {}),
    "stochastic, invariant": (
        protect.StochasticPerturbation.published().invariant([90, 30, 20, 9, 8, 7, 6, 5]),
        {},
    ),
    "stochastic, the table's own": (
        protect.InvariantPerturbation(protect.StochasticPerturbation.published()),
        {},
    ),
    "stochastic, the table's own, exact": (
        protect.InvariantPerturbation(protect.StochasticPerturbation.published(exact=True)),
        {},
    ),
    "a matrix that moves zeros": (protect.StochasticPerturbation([[0.5, 0.5], [0.5, 0.5]]), {}),
    "the same, exact": (protect.StochasticPerturbation([[0.5, 0.5], [0.5, 0.5]], exact=True), {}),
    "cell keys D5V3": (protect.CellKeyPerturbation(lookup.max_entropy(5, 3)), {}),
    "cell keys without 1 and 2": (
        protect.CellKeyPerturbation(lookup.max_entropy(5, 3, forbid=(1, 2))),
        {},
    ),
    "cell keys, stay": (protect.CellKeyPerturbation(lookup.max_entropy(5, 3, stay=0.3)), {}),
    "cell keys, normal": (protect.CellKeyPerturbation(lookup.normal()), {}),
    "cell keys, rounding": (protect.CellKeyPerturbation(lookup.rounding(5)), {}),
    "sampling": (protect.Sampling(0.1), {}),
    "individual swapping": (
        protect.IndividualSwapping(0.1),
        {},
    ),
    "same margins": (protect.SameMargins(), {}),
    "same two-way margins": (
        protect.SameMargins(order=2, steps=20),
        {"shapes": ((3, 4, 2), (4, 4, 4))},
    ),
}


@pytest.mark.parametrize("name", METHODS)
def test_every_method_passes(name: str) -> None:
    method, options = METHODS[name]
    assert failures(method, **options) == []


def test_every_public_method_is_in_the_suite() -> None:
    public = {
        value
        for value in vars(protect).values()
        if isinstance(value, type) and issubclass(value, Method) and value is not Method
    }
    assert public == {type(method) for method, _ in METHODS.values()}


@dataclass(frozen=True)
class Broken(Method):
    """Rounding to base 3 that breaks one promise at a time."""

    fault: str
    cellwise = True

    def draw(self, counts: Any, uniforms: Any) -> Any:
        sound = protect.RandomRounding(3)
        if self.fault == "chances":
            return sound.apply(counts, uniforms**2)
        if self.fault == "neighbours" and counts.size > 1:
            return sound.apply(counts, np.roll(uniforms.reshape(-1), 1).reshape(counts.shape))
        released = sound.apply(counts, uniforms)
        if self.fault == "type":
            return released.astype(np.float64)
        if self.fault == "shape":
            return released.reshape(-1)
        if self.fault == "negative":
            return released.astype(np.int64) - 1
        if self.fault == "in place":
            counts[...] = released
        if self.fault == "zeros":
            return np.where(counts == 0, 3, released).astype(counts.dtype)
        return released

    def transition(self) -> Transition | None:
        if self.fault == "no transition":
            return None
        if self.fault == "bias":
            return Transition.from_matrix([[1, 0, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1]], period=3)
        return protect.RandomRounding(3).transition()

    def keeps(self, dimensions: int) -> Kept:
        return Kept(unbiased=self.fault != "modest")

    def effect(self, dimensions: int) -> Effect:
        if self.fault == "bound":
            return Effect(largest_change=1)
        if self.fault == "exact":
            return Effect(exact_above=3)
        if self.fault == "support":
            return protect.RandomRounding(2).effect(dimensions)
        return protect.RandomRounding(3).effect(dimensions)


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        ("chances", "are not those of its transition"),
        ("neighbours", "depends on its place"),
        ("type", "must draw whole numbers"),
        ("shape", "in the shape of the counts"),
        ("negative", "numbers of 0 or more"),
        ("no transition", "must have a transition"),
        ("in place", "are altered"),
        ("zeros", "a zero of shape"),
        ("exact", "above 3 is not as counted"),
        ("bias", "has a bias of"),
        ("modest", "its transition is not"),
        ("bound", "changes by more than 1"),
        ("support", "a value that its chances exclude"),
    ],
)
def test_the_suite_catches(fault: str, sentence: str) -> None:
    assert any(sentence in failure for failure in failures(Broken(fault)))


def test_the_suite_catches_table_wise_faults() -> None:
    @dataclass(frozen=True)
    class Wrong(Method):
        cellwise = False

        def draw(self, counts: Any, rng: np.random.Generator) -> Any:
            # Independent rounding, which keeps no total; and never up for a lone 1.
            keep = np.random.default_rng().random(counts.shape)
            return protect.RandomRounding(3).apply(counts, keep * 0.6)

        def keeps(self, dimensions: int) -> Kept:
            return Kept(unbiased=True, margins=((),), within=3)

        def effect(self, dimensions: int) -> Effect:
            return protect.RandomRounding(3).effect(dimensions)

    found = " ".join(failures(Wrong()))
    assert "with one seed differ" in found
    assert "3 or more off" in found
    assert "mean of many draws" in found
    assert "less or more often than its chances say" in found


def test_a_method_must_be_one() -> None:
    assert failures(object()) == ["object does not derive from Method."]
    with pytest.raises(TypeError, match="abstract"):
        type("Nothing", (Method,), {})()


def test_the_suite_says_what_it_checked() -> None:
    checks = dict(examine(protect.RandomRounding(3)))
    assert len(checks) == 7
    assert "Zeros stay zero, but for those that the method says it moves." in checks


def test_a_method_for_no_table_fails() -> None:
    # Order 3 takes tables of four dimensions and no other.
    assert failures(protect.SameMargins(order=3), shapes=((2, 2),)) == [
        "no table of up to 4 dimensions is taken."
    ]


@pytest.mark.parametrize("name", METHODS)
def test_bad_input_is_refused(name: str) -> None:
    method, _ = METHODS[name]
    source = np.full((2, 2, 2), 0.5) if method.cellwise else np.random.default_rng(1)
    with pytest.raises(ParameterError, match="must not be negative"):
        method.apply(np.full((2, 2, 2), -1), source)
    with pytest.raises(ParameterError, match="must be integers"):
        method.apply(np.full((2, 2, 2), 1.5), source)
    if method.cellwise:
        with pytest.raises(ParameterError, match="shape of the counts"):
            method.apply(np.ones((2, 2, 3), int), source)
        with pytest.raises(ParameterError, match="below 1"):
            method.apply(np.ones((2, 2, 2), int), source + 0.5)


def test_a_type_without_room_is_refused_rather_than_wrapped_around() -> None:
    # 255 is rounded to 256 with probability 1/2, at uniforms from 1/2 on: one too many for 8 bits.
    full = np.array([255], np.uint8)
    with pytest.raises(ParameterError, match="wider type"):
        protect.RandomRounding(2).apply(full, np.array([0.9]))
