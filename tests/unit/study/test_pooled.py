"""Risks by what all draws show: as the plain way finds them, with errors that are true."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet import risk
from discreet.protect import Method, RandomRounding
from discreet.study.collect import collected
from discreet.study.judge import Known, Pairs, Seen, pairs_of, repeated
from discreet.study.methods import CountPram
from discreet.study.model import Judged
from discreet.study.pooled import Pooled
from discreet.study.results import Results
from discreet.study.run import run

F = np.array([[0, 1, 1, 2], [5, 9, 40, 0], [3, 14, 2, 7]])
DRAWS = 9


def draws(method: Method, number: int = DRAWS, seed: int = 1) -> list[Pairs]:
    rng = np.random.default_rng(seed)
    return [pairs_of(F, method.apply(F, rng)) for _ in range(number)]


def plain(known: Known, drawn: list[Pairs], weights: Any, contents: Any) -> list[float]:
    """The risks of draws one by one, by the transition of all of them: the slow twin."""
    full = known.filled(Seen.of(drawn))
    return [float(full.after(*repeated(pairs), weights, contents)) for pairs in drawn]


@pytest.mark.parametrize("weights", [risk.WEIGHTS, risk.SPLIT_WEIGHTS])
@pytest.mark.parametrize("contents", ["expected", "observed"])
@pytest.mark.parametrize(
    "known",
    [
        Known(),
        Known(multiplier=(0.4,)),
        Known(multiplier=(0.4, 0.8)),
        Known(chances=RandomRounding(3).transition()),
    ],
    ids=["seen", "one factor", "two factors", "chances"],
)
def test_risks_are_those_of_the_plain_way(known: Known, weights: Any, contents: Any) -> None:
    drawn = draws(CountPram(axis=1, stay=0.8))
    if known.chances is not None:
        rng = np.random.default_rng(1)
        drawn = [pairs_of(F, RandomRounding(3).apply(F, rng.random(F.shape))) for _ in range(9)]
    found = Pooled(F, drawn).risk(known, weights, contents)
    np.testing.assert_allclose(found.values, plain(known, drawn, weights, contents))


def test_the_error_is_the_jackknife_of_the_plain_way() -> None:
    drawn = draws(CountPram(axis=1, stay=0.8))
    means = []
    for left in range(DRAWS):
        kept = drawn[:left] + drawn[left + 1 :]
        means.append(np.mean(plain(Known(), kept, risk.WEIGHTS, "expected")))
    # √((n − 1)/n · Σ(θ₋ᵢ − θ̄)²), n the number of draws.
    expected = np.sqrt((DRAWS - 1) / DRAWS * ((means - np.mean(means)) ** 2).sum())
    found = Pooled(F, drawn).risk(Known(), risk.WEIGHTS, "expected")
    assert found.error == pytest.approx(expected)


def test_claims_are_those_of_the_plain_way() -> None:
    drawn = draws(CountPram(axis=1, stay=0.8))
    found = Pooled(F, drawn).claims()
    assert found.values == pytest.approx(Seen.of(drawn).correct_claims)
    shares = [Seen.of(drawn[:i] + drawn[i + 1 :]).correct_claims for i in range(DRAWS)]
    assert found.error == pytest.approx(np.sqrt((DRAWS - 1) * np.var(shares)))


def test_many_draws_are_left_out_in_groups() -> None:
    found = Pooled(F, draws(CountPram(axis=1, stay=0.8), 45))
    assert found._kept.shape[1] == 1 + 20


SEEDS = 80


@pytest.fixture(scope="module")
def over_seeds() -> list[Results]:
    """Studies with nothing but the seed different, 20 draws each."""
    counts = np.random.default_rng(5).negative_binomial(0.6, 0.02, (8, 6))
    methods = [
        {"method": "pram", "axis": "axis 0", "stay": 0.9},
        {"method": "individual-swapping", "axis": "axis 0", "rate": 0.1, "name": "Swapping"},
    ]
    study = dc.study(counts, methods, draws=2).study
    study = replace(study, draws=20, judged=Judged(measures=("claims", "transition")))
    return [collected(one, run(one)) for one in (replace(study, seed=i) for i in range(SEEDS))]


@pytest.mark.slow
@pytest.mark.parametrize("method", ["Pram", "Swapping"])
@pytest.mark.parametrize("measure", ["transition-seen", "score"])
def test_the_stated_error_is_the_spread_over_seeds(
    over_seeds: list[Results], method: str, measure: str
) -> None:
    """A standard deviation of 80 values has an error of its own, a share of 1/√160 = 0.079.

    The bound is 3 times that. The spread of the risks over draws, which share one matrix, would
    be off by a factor of 3.
    """
    spread, stated = spread_and_stated(over_seeds, method, measure)
    assert stated == pytest.approx(spread, rel=0.24)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["Pram", "Swapping"])
def test_the_stated_error_of_claims_is_an_upper_bound(
    over_seeds: list[Results], method: str
) -> None:
    """The best of several guesses has a kink where two are as good: the jackknife overstates."""
    spread, stated = spread_and_stated(over_seeds, method, "claims")
    assert 0.77 * spread < stated < 2 * spread


def spread_and_stated(found: list[Results], method: str, measure: str) -> tuple[float, float]:
    """The standard deviation of the means over seeds, and the error that each states (as RMS)."""
    name = next(s for s in found[0].settings if s.startswith(method))
    values = [one.value("table", name, measure) for one in found]
    spread = np.std([value.mean for value in values], ddof=1)
    return float(spread), float(np.sqrt(np.mean([value.error**2 for value in values])))
