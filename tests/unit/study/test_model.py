"""Settings of a study: the names of their draws."""

from __future__ import annotations

import pickle

import numpy as np

from discreet.protect import CellKeyPerturbation, LookupTable, RandomRounding
from discreet.study.model import On, Setting


def key(made: object) -> str:
    return Setting("A", "", "a", (), On.TABLE, made).key  # type: ignore[arg-type]


def test_settings_that_differ_in_a_figure_only_have_draws_of_their_own() -> None:
    chances = np.array([[1.0, 0.0, 0.0], [0.2, 0.6, 0.2]])
    other = chances.copy()
    other[1] = 0.3, 0.4, 0.3
    one, two = (CellKeyPerturbation(LookupTable.from_matrix(matrix)) for matrix in (chances, other))
    assert key(one) != key(two)
    assert key(pickle.loads(pickle.dumps(one))) == key(one)


def test_a_setting_of_plain_numbers_is_named_by_its_repr() -> None:
    assert repr(RandomRounding(3)).replace("'", "") in key(RandomRounding(3)).replace("'", "")
    assert key(RandomRounding(3)) != key(RandomRounding(5))
