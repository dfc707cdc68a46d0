from __future__ import annotations

import numpy as np
import pytest

import discreet as dc
from discreet.errors import ParameterError
from discreet.policy import read_preset
from discreet.study.attacks.invented import USUAL, invent, invented_target, without_leavers


def test_the_same_seed_invents_the_same_people(census: dc.Population) -> None:
    first, again, other = (invent(census.schema, 1_000, seed) for seed in (1, 1, 2))
    assert np.array_equal(first.codes8, again.codes8)
    assert np.array_equal(first.keys, again.keys)
    assert not np.array_equal(first.codes8, other.codes8)
    first._check_ranges()  # every code has its category, and areas begin where they end


def test_nothing_of_the_records_is_in_them(census: dc.Population) -> None:
    # Of the store they know the schema, and the size of the population in two digits alone.
    target = invented_target(census.version, census.policy, 1)
    assert target.people == 20_000
    mine = np.asarray(census.tabulate("la,sex").dense().counts)
    assert not np.array_equal(target.truth("la,sex", None), mine)


def test_variables_and_areas_are_related(census: dc.Population) -> None:
    target = invented_target(census.version, census.policy, 1)
    # The largest category of a variable holds about half of the people, as in a census.
    shares = [target.truth(level.id, None) / 20_000 for level in target.levels(2, 24)]
    assert 0.3 < np.mean([share.max() for share in shares]) < 0.7
    # Where variables were independent, each row would have the shares of all rows.
    table = target.truth("marital_status,health", None).astype(float)
    apart = table.sum(1, keepdims=True) * table.sum(0) / table.sum()
    # The 0.1% point of chi-squared with (6 - 1)(5 - 1) = 20 degrees of freedom is 45.3.
    assert table.shape == (6, 5)
    assert ((table - apart) ** 2 / apart).sum() > 45.3


def test_people_of_a_smaller_spread_are_more_alike(census: dc.Population) -> None:
    def largest(factor: float) -> float:
        target = invented_target(census.version, census.policy, 1, USUAL.times(factor))
        shares = [target.truth(level.id, None) / 20_000 for level in target.levels(2, 24)]
        return float(np.mean([share.max() for share in shares]))

    assert USUAL.times(1) == USUAL
    assert largest(0.5) < largest(1) < largest(1.5)


def test_one_person_of_every_larger_area_has_left(census: dc.Population) -> None:
    first = invent(census.schema, 5_000, 1)
    later = without_leavers(first, 1)
    ward = census.schema.find("ward")[1]
    sizes, then = (np.diff(one.area_starts(ward)) for one in (first, later))
    assert np.array_equal(sizes - then, np.minimum(sizes, 1))
    assert len(later.keys) == later.codes8.shape[1] == int(then.sum())
    assert (first.edition, later.edition) == (1, 2)


def test_records_that_must_be_protected_first_cannot_be_invented(census: dc.Population) -> None:
    with pytest.raises(ParameterError, match="population must be"):
        invented_target(census.version, read_preset("protected-base"), 1)
