"""All distributions of the synthetic census in one flat array that the kernel draws from.

Few large arguments are cheaper for a kernel than many small ones, to call and to compile. A table
has a number (the constants of the kernel), a start in the bank and a width: the length of a row.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from discreet.synth import households, origins, work
from discreet.synth import kernels as k
from discreet.synth.shares import AGES, Thresholds, chances, thresholds
from discreet.types import Floats


def _distributions() -> dict[np.int64, Floats | tuple[float, ...]]:
    return {
        k.KIND: households.kind_shares(),
        k.FIRST_AGE: households.first_adult_ages(),
        k.AGE_GAP: households.AGE_GAP,
        k.CHILDREN: households.CHILDREN,
        k.MOTHER_AT_BIRTH: households.MOTHER_AT_BIRTH,
        k.SIBLING_GAP: households.SIBLING_GAP,
        k.SHARERS: households.SHARERS,
        k.GRANDPARENT_OLDER: households.GRANDPARENT_OLDER,
        k.COUPLE: households.couple_shares(),
        k.UNPARTNERED: households.unpartnered_shares(),
        k.TENURE: households.tenure_shares(),
        k.BIRTH: origins.birth_shares(),
        k.CITIZENSHIP: origins.citizenship_shares(),
        k.RELIGION: origins.religion_shares(),
        k.EDUCATION: work.education_shares(),
        k.ACTIVITY: work.activity_shares(),
        k.OCCUPATION: work.occupation_shares(),
        k.TRAVEL: work.travel_shares(),
        k.HEALTH: work.health_shares(),
    }


def _events() -> dict[np.int64, Floats | tuple[float, ...]]:
    chance = {
        k.SAME_SEX: households.SAME_SEX_COUPLES,
        k.MAN_LONE_PARENT: households.MEN_AMONG_LONE_PARENTS,
        k.MAN_SHARER: households.MEN_AMONG_SHARERS,
        k.BOY: households.BOYS,
        k.SON: households.SONS_AT_HOME,
        k.TWO_GRANDPARENTS: households.SECOND_GRANDPARENT,
        k.MAN_FIRST: households.FIRST_ADULT_IS_A_MAN,
        k.GROUP_COUPLE: origins.SAME_GROUP_COUPLE,
        k.GROUP_SHARER: origins.SAME_GROUP_SHARER,
        k.BIRTH_COUPLE: origins.SAME_BIRTH_COUPLE,
        k.BORN_HERE_CHILD: origins.CHILD_BORN_HERE_OF_BORN_HERE,
        k.CITIZEN_CHILD: origins.CHILD_SHARES_CITIZENSHIP,
        k.RELIGION_COUPLE: origins.SAME_RELIGION_COUPLE,
        k.RELIGION_CHILD: origins.SAME_RELIGION_CHILD,
        k.RELIGION_SHARER: origins.SAME_RELIGION_SHARER,
        k.EDUCATION_COUPLE: work.SAME_EDUCATION_COUPLE,
    }
    return {
        k.MEN_ALONE: households.MEN_ALONE,
        k.STILL_AT_HOME: households.STILL_AT_HOME,
        k.CHILD_BORN_HERE: origins.CHILD_BORN_HERE,
        k.HAS_OCCUPATION: work.last_occupation_chances(),
        k.LIMITED: work.LIMITED,
        k.CHANCE: np.array([chance[place] for place in np.arange(len(chance))]),
    }


def _numbers() -> dict[np.int64, NDArray[np.uint32]]:
    return {
        k.CHILD_GROUP: origins.group_of_child(),
        k.ORIGIN_AGE: origins.age_groups(AGES),
        k.OCCUPATION_AGE: work.occupation_age_groups(),
        k.EDUCATION_FROM: work.youngest_by_education(),
    }


@cache
def bank() -> k.Bank:
    """Return all tables, made once."""
    pieces: dict[np.int64, Thresholds] = {key: thresholds(v) for key, v in _distributions().items()}
    pieces |= {key: chances(v) for key, v in _events().items()}
    pieces |= _numbers()
    ordered = [pieces[np.int64(key)] for key in range(len(pieces))]
    sizes = np.array([piece.size for piece in ordered])
    widths = [piece.shape[-1] for piece in ordered]
    return k.Bank(
        np.concatenate([piece.reshape(-1) for piece in ordered]),
        np.column_stack([np.cumsum(sizes) - sizes, widths]).astype(np.int64),
    )
