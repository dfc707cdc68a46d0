"""Methods by name: their options follow from their parameters."""

from __future__ import annotations

import pytest

from discreet import protect
from discreet.errors import ParameterError
from discreet.protect.registry import METHODS, method, not_public, options


def test_options_are_the_parameters_of_a_method() -> None:
    assert {name: list(options(name)) for name in METHODS} == {
        "random-rounding": ["base"],
        "conventional-rounding": ["base"],
        "small-cell-adjustment": ["base"],
        "semi-controlled-rounding": ["base", "axis", "form"],
        "controlled-rounding": ["base"],
        "small-count-rounding": ["base"],
        "count-adjustment": ["smallest_safe"],
        "stochastic-perturbation": ["matrix", "exact", "invariant"],
        "cell-key-perturbation": ["file", "design", "bound", "variance", "forbid", "stay"],
        "sampling": ["fraction"],
        "same-margins": ["order", "steps"],
    }


def test_texts_become_values() -> None:
    made = method("semi-controlled-rounding", {"base": "5", "axis": "1", "form": "paper"})
    assert made == protect.SemiControlledRounding(5, 1, "paper")
    assert method("sampling", {"fraction": "0.25"}) == protect.Sampling(0.25)
    assert method("stochastic-perturbation", {"exact": "True"}).cellwise is False
    made = method("cell-key-perturbation", {"forbid": "1|2", "bound": "5"})
    assert isinstance(made, protect.CellKeyPerturbation)
    assert not made.lookup.matrix[:, 1:3].any()


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("rounding", {}, "did you mean 'random-rounding'"),
        ("random-rounding", {"basis": "3"}, "no option of random-rounding 'basis'"),
        ("random-rounding", {"base": "3.0"}, "base must be an integer"),
        ("sampling", {"fraction": "half"}, "fraction must be a number"),
        ("sampling", {}, "sampling needs the option fraction, a number"),
        ("stochastic-perturbation", {"exact": "maybe"}, "exact must be yes or no"),
        ("cell-key-perturbation", {"forbid": "one"}, "forbid must be integers"),
        ("cell-key-perturbation", {"design": "normal", "stay": "0.5"}, "of the design max-entropy"),
    ],
)
def test_what_cannot_be_made_is_refused(name: str, given: dict[str, str], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        method(name, given)


def test_cellwise_methods_with_bounded_changes_are_for_the_public() -> None:
    given = {"sampling": {"fraction": "0.5"}}
    assert {name for name in METHODS if not not_public(name, given.get(name, {}))} == {
        "random-rounding",
        "conventional-rounding",
        "small-cell-adjustment",
        "stochastic-perturbation",
        "cell-key-perturbation",
    }
    assert not_public("stochastic-perturbation", {"exact": "yes"})
    assert not_public("stochastic-perturbation", {"invariant": "yes"})
