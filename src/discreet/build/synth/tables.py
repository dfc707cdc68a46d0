"""All distributions of the synthetic census as arrays that the kernel draws from."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.build.synth import households, origins, work
from discreet.build.synth.geography import DEPRIVATION_CLASSES
from discreet.build.synth.shares import AGES, Thresholds, chances, thresholds


class Tables(NamedTuple):
    """Thresholds by row; the comment gives what the row number counts, last fastest."""

    kind: Thresholds  # age class of the area
    first_age: Thresholds  # kind of household
    men_alone: Thresholds  # age
    age_gap: Thresholds
    children: Thresholds
    mother_at_birth: Thresholds
    sibling_gap: Thresholds
    still_at_home: Thresholds  # age
    sharers: Thresholds
    grandparent_older: Thresholds
    couple: Thresholds  # same sex, age
    unpartnered: Thresholds  # company, sex, age
    tenure: Thresholds  # kind group, work, deprivation, age
    child_group: NDArray[np.uint8]  # ethnic groups of the parents
    origin_age: NDArray[np.uint8]  # age
    birth: Thresholds  # ethnic group, age group
    child_born_here: Thresholds  # age group
    citizenship: Thresholds  # country of birth, age group
    religion: Thresholds  # class of the area, ethnic group, age group
    education: Thresholds  # sex, deprivation, age
    education_from: NDArray[np.uint8]  # education
    activity: Thresholds  # sex, education, young child, deprivation, age
    has_occupation: Thresholds  # activity, age
    occupation: Thresholds  # sex, education, age group
    occupation_age: NDArray[np.uint8]  # age
    travel: Thresholds  # kind of area, occupation, under 17
    health: Thresholds  # inactive, deprivation, age
    limited: Thresholds  # old, health
    chance: Thresholds  # single probabilities, by the positions named in the kernel


@cache
def tables() -> Tables:
    """Return all distributions, made once."""
    classes = DEPRIVATION_CLASSES
    return Tables(
        kind=thresholds(households.kind_shares()),
        first_age=thresholds(households.first_adult_ages()),
        men_alone=chances(households.MEN_ALONE),
        age_gap=thresholds(households.AGE_GAP),
        children=thresholds(households.CHILDREN),
        mother_at_birth=thresholds(households.MOTHER_AT_BIRTH),
        sibling_gap=thresholds(households.SIBLING_GAP),
        still_at_home=chances(households.STILL_AT_HOME),
        sharers=thresholds(households.SHARERS),
        grandparent_older=thresholds(households.GRANDPARENT_OLDER),
        couple=thresholds(households.couple_shares()),
        unpartnered=thresholds(households.unpartnered_shares()),
        tenure=thresholds(households.tenure_shares(classes)),
        child_group=origins.group_of_child(),
        origin_age=origins.age_groups(AGES).astype(np.uint8),
        birth=thresholds(origins.birth_shares()),
        child_born_here=chances(origins.CHILD_BORN_HERE),
        citizenship=thresholds(origins.citizenship_shares()),
        religion=thresholds(origins.religion_shares()),
        education=thresholds(work.education_shares(classes)),
        education_from=work.youngest_by_education().astype(np.uint8),
        activity=thresholds(work.activity_shares(classes)),
        has_occupation=chances(work.last_occupation_chances()).reshape(-1),
        occupation=thresholds(work.occupation_shares()),
        occupation_age=work.occupation_age_groups().astype(np.uint8),
        travel=thresholds(work.travel_shares()),
        health=thresholds(work.health_shares(classes)),
        limited=chances(work.LIMITED).reshape(-1),
        chance=chances(
            [
                households.SAME_SEX_COUPLES,
                households.MEN_AMONG_LONE_PARENTS,
                households.MEN_AMONG_SHARERS,
                households.BOYS,
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
            ]
        ),
    )
