"""All distributions of the synthetic census in one flat array that the kernel draws from.

Few large arguments are cheaper for a kernel than many small ones, to call and to compile. A table
has a number (the constants below), a start in the bank and a width: the length of a row.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.build.synth import households, origins, work
from discreet.build.synth.geography import DEPRIVATION_CLASSES
from discreet.build.synth.shares import AGES, Floats, Thresholds, chances, thresholds

# Distributions; after each name what its row number counts, the last fastest.
KIND = 0  # age class of the area
FIRST_AGE = 1  # kind of household
AGE_GAP = 2
CHILDREN = 3
MOTHER_AT_BIRTH = 4
SIBLING_GAP = 5
SHARERS = 6
GRANDPARENT_OLDER = 7
COUPLE = 8  # same sex, age
UNPARTNERED = 9  # company, sex, age
TENURE = 10  # kind group, work, deprivation, age
BIRTH = 11  # ethnic group, age group
CITIZENSHIP = 12  # country of birth, age group
RELIGION = 13  # class of the area, ethnic group, age group
EDUCATION = 14  # sex, deprivation, age
ACTIVITY = 15  # sex, education, young child, deprivation, age
OCCUPATION = 16  # sex, education, age group
TRAVEL = 17  # kind of area, occupation, under 17
HEALTH = 18  # inactive, deprivation, age
# Chances of single events.
MEN_ALONE = 19  # age
STILL_AT_HOME = 20  # age
CHILD_BORN_HERE = 21  # age group
HAS_OCCUPATION = 22  # activity, age
LIMITED = 23  # old, health
CHANCE = 24  # the positions named in the kernel
# Numbers to look up.
CHILD_GROUP = 25  # ethnic groups of the parents
ORIGIN_AGE = 26  # age
OCCUPATION_AGE = 27  # age
EDUCATION_FROM = 28  # education


class Bank(NamedTuple):
    """Every table one after the other, and the start and width of each."""

    values: Thresholds
    layout: NDArray[np.int64]


def _distributions() -> dict[int, Floats | tuple[float, ...]]:
    classes = DEPRIVATION_CLASSES
    return {
        KIND: households.kind_shares(),
        FIRST_AGE: households.first_adult_ages(),
        AGE_GAP: households.AGE_GAP,
        CHILDREN: households.CHILDREN,
        MOTHER_AT_BIRTH: households.MOTHER_AT_BIRTH,
        SIBLING_GAP: households.SIBLING_GAP,
        SHARERS: households.SHARERS,
        GRANDPARENT_OLDER: households.GRANDPARENT_OLDER,
        COUPLE: households.couple_shares(),
        UNPARTNERED: households.unpartnered_shares(),
        TENURE: households.tenure_shares(classes),
        BIRTH: origins.birth_shares(),
        CITIZENSHIP: origins.citizenship_shares(),
        RELIGION: origins.religion_shares(),
        EDUCATION: work.education_shares(classes),
        ACTIVITY: work.activity_shares(classes),
        OCCUPATION: work.occupation_shares(),
        TRAVEL: work.travel_shares(),
        HEALTH: work.health_shares(classes),
    }


def _events() -> dict[int, Floats | tuple[float, ...]]:
    return {
        MEN_ALONE: households.MEN_ALONE,
        STILL_AT_HOME: households.STILL_AT_HOME,
        CHILD_BORN_HERE: origins.CHILD_BORN_HERE,
        HAS_OCCUPATION: work.last_occupation_chances(),
        LIMITED: work.LIMITED,
        CHANCE: (
            households.SAME_SEX_COUPLES,
            households.MEN_AMONG_LONE_PARENTS,
            households.MEN_AMONG_SHARERS,
            households.BOYS,
            households.SONS_AT_HOME,
            households.SECOND_GRANDPARENT,
            households.FIRST_ADULT_IS_A_MAN,
            origins.SAME_GROUP_COUPLE,
            origins.SAME_GROUP_SHARER,
            origins.SAME_BIRTH_COUPLE,
            origins.CHILD_BORN_HERE_OF_BORN_HERE,
            origins.CHILD_SHARES_CITIZENSHIP,
            origins.SAME_RELIGION_COUPLE,
            origins.SAME_RELIGION_CHILD,
            origins.SAME_RELIGION_SHARER,
            work.SAME_EDUCATION_COUPLE,
        ),
    }


def _numbers() -> dict[int, NDArray[np.uint32]]:
    return {
        CHILD_GROUP: origins.group_of_child(),
        ORIGIN_AGE: origins.age_groups(AGES),
        OCCUPATION_AGE: work.occupation_age_groups(),
        EDUCATION_FROM: work.youngest_by_education(),
    }


@cache
def bank() -> Bank:
    """Return all tables, made once."""
    pieces: dict[int, Thresholds] = {key: thresholds(v) for key, v in _distributions().items()}
    pieces |= {key: chances(v) for key, v in _events().items()}
    pieces |= _numbers()
    ordered = [pieces[key] for key in range(len(pieces))]
    sizes = np.array([piece.size for piece in ordered])
    widths = [piece.shape[-1] for piece in ordered]
    return Bank(
        np.concatenate([piece.reshape(-1) for piece in ordered]),
        np.column_stack([np.cumsum(sizes) - sizes, widths]).astype(np.int64),
    )
