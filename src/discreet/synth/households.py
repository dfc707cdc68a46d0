"""Who lives together: kinds of household, ages of their members, marital status and tenure."""

from __future__ import annotations

import numpy as np

from discreet.synth.shares import AGES, DEPRIVATION, by_age, rows_by_age
from discreet.synth.variables import ADULT
from discreet.types import Floats

# Kinds of household. The kernel knows them by position.
KINDS = (
    "one person of working age",
    "one older person",
    "couple of working age",
    "older couple",
    "couple with children",
    "lone parent",
    "sharers",
    "three generations",
)
KIND_SHARES = (16.6, 12.4, 16.4, 10.2, 27.6, 10.6, 3.4, 2.8)
# How an area's age class (0 young … 6 old) changes the shares, for each step from the middle.
KIND_PER_AGE_CLASS = (-0.05, 0.24, -0.02, 0.26, -0.04, -0.06, -0.42, -0.06)
AGE_CLASSES = 7

# Age of the first adult by kind of household: relative frequency at some ages.
FIRST_ADULT_AGE = (
    {17: 0, 18: 1, 21: 6, 26: 18, 32: 18, 40: 16, 50: 20, 58: 21, 63: 17, 68: 8, 74: 0},
    {56: 0, 62: 8, 67: 17, 72: 24, 77: 28, 82: 28, 87: 21, 92: 8, 96: 2, 99: 0.4, 100: 0.35},
    {18: 0, 20: 2, 24: 14, 28: 24, 32: 16, 38: 9, 44: 9, 50: 19, 56: 34, 61: 32, 67: 14, 73: 0},
    {56: 0, 62: 16, 67: 32, 72: 36, 77: 27, 82: 15, 88: 5, 93: 1, 98: 0.1, 100: 0},
    {18: 0, 20: 1, 24: 7, 30: 29, 36: 49, 42: 55, 48: 50, 54: 33, 60: 12, 66: 3, 74: 0},
    {17: 0, 18: 2, 22: 9, 28: 16, 36: 22, 44: 24, 50: 20, 56: 11, 64: 5, 74: 3, 85: 1, 95: 0},
    {17: 0, 18: 22, 20: 42, 23: 34, 27: 22, 33: 10, 42: 4, 55: 2, 70: 0.5, 80: 0},
    {24: 0, 28: 12, 36: 34, 44: 36, 52: 20, 60: 4, 66: 0},
)
# Share of men among first adults who live alone (kinds 0 and 1), by age.
MEN_ALONE = by_age(
    {18: 0.56, 30: 0.64, 45: 0.66, 60: 0.54, 70: 0.41, 80: 0.32, 90: 0.25, 100: 0.17}
)
MEN_AMONG_LONE_PARENTS = 0.14
MEN_AMONG_SHARERS = 0.57
SAME_SEX_COUPLES = 0.014
FIRST_ADULT_IS_A_MAN = 0.58  # of a couple of a man and a woman
BOYS = 0.512
SONS_AT_HOME = 0.57  # of children of 18 and over who live with a parent
SECOND_GRANDPARENT = 0.25

# Age of the man less age of the woman in a couple, from -8 to 14 years.
AGE_GAP = (
    0.4, 0.5, 0.8, 1.2, 2, 3, 4.5, 7, 11, 12, 11.5, 10, 8.5, 7, 5.5, 4, 3, 2.2, 1.6, 1.2, 0.9,
    0.7, 0.5,
)  # fmt: skip

# Children at home: how many, the mother's age (17 to 45) at the birth of the oldest, years between
# siblings, and the share of children of an age who have not left.
CHILDREN = (36, 43, 15, 4, 1.1, 0.35, 0.15)
MOTHER_AT_BIRTH = by_age({16: 0, 18: 11, 22: 40, 26: 66, 29: 71, 33: 48, 38: 15, 43: 2, 46: 0})[
    17:46
]
SIBLING_GAP = (3, 14, 28, 24, 15, 9, 7)  # 0 (twins), 1, … 6 years
STILL_AT_HOME = by_age({17: 1, 18: 0.86, 20: 0.6, 23: 0.46, 27: 0.24, 32: 0.1, 40: 0.05, 60: 0.02})
SHARERS = (52, 26, 12, 6, 2.2, 1, 0.5, 0.3)  # 2, 3, … 9 people
GRANDPARENT_OLDER = (1, 2, 3, 4, 5, 6, 7, 8, 8, 8, 8, 7, 6, 5, 4, 3, 2, 1)  # 20, 21, … years

# Marital status of couples: shares married, in a civil partnership, living together.
COUPLE_OPPOSITE = rows_by_age(
    {
        18: (4, 0, 96),
        21: (10, 0.1, 90),
        25: (27, 0.2, 73),
        30: (58, 0.3, 42),
        36: (74, 0.4, 26),
        45: (81, 0.4, 19),
        55: (87, 0.5, 13),
        65: (93, 0.6, 7),
        80: (97, 0.3, 3),
    }
)
COUPLE_SAME = rows_by_age(
    {18: (2, 1, 97), 25: (14, 8, 78), 35: (30, 22, 48), 50: (34, 30, 36), 100: (36, 32, 32)}
)
# Status of men and women who live alone: never married, separated, divorced, widowed.
ALONE = (
    rows_by_age(
        {
            18: (100, 0, 0, 0),
            24: (99, 0.6, 0.4, 0),
            30: (94, 3, 3, 0.05),
            40: (70, 9, 21, 0.4),
            50: (46, 11, 41, 2),
            60: (34, 8, 50, 8),
            70: (22, 4, 42, 32),
            80: (12, 2, 20, 66),
            90: (7, 0.7, 7, 85),
            100: (5, 0.2, 2, 93),
        }
    ),
    rows_by_age(
        {
            18: (100, 0, 0, 0),
            24: (97.5, 1.5, 1, 0),
            30: (88, 6, 6, 0.1),
            40: (62, 11, 26, 1),
            50: (38, 11, 47, 4),
            60: (23, 6, 54, 17),
            70: (10, 2, 36, 52),
            80: (6, 0.7, 13, 80),
            90: (6, 0.3, 4, 90),
            100: (7, 0.1, 2, 91),
        }
    ),
)
# How likely somebody living together without marriage, or an adult child at home, is to have been
# married before, against somebody of that age living alone.
BEFORE_FACTORS = ((1, 1, 1, 1), (1, 0.25, 0.6, 0.12))

# Tenure: owned outright, mortgage, social rented, private rented, by age of the first adult.
TENURE = rows_by_age(
    {
        18: (1, 4, 22, 73),
        24: (2, 16, 20, 62),
        30: (4, 38, 17, 41),
        40: (10, 55, 16, 19),
        50: (24, 49, 16, 11),
        60: (52, 24, 15, 9),
        70: (74, 6, 15, 5),
        85: (74, 2, 19, 5),
        100: (66, 1, 26, 8),
    }
)
TENURE_BY_WORK = ((1, 1.25, 0.55, 0.9), (1.25, 0.7, 1, 0.8), (0.6, 0.35, 2.6, 1.3))
TENURE_BY_KIND = ((1, 1, 1, 1), (0.5, 0.6, 2.2, 1.5), (0.15, 0.2, 0.4, 3.5))
TENURE_PER_DEPRIVATION = (-0.34, -0.2, 0.62, 0.22)  # exponent for each step from the middle class


def kind_shares() -> Floats:
    """Return the shares of the kinds of household, a row for each age class of an area."""
    steps = np.arange(AGE_CLASSES) - AGE_CLASSES // 2
    return np.asarray(KIND_SHARES * np.exp(np.outer(steps, KIND_PER_AGE_CLASS)))


def first_adult_ages() -> Floats:
    """Return the frequency of each age of the first adult, a row for each kind of household."""
    rows = np.stack([by_age(knots) for knots in FIRST_ADULT_AGE])
    rows[:, AGES < ADULT + 2] = 0
    return rows


def couple_shares() -> Floats:
    """Return shares married, civil partners, unmarried: opposite sex by age, then same sex."""
    return np.stack([COUPLE_OPPOSITE, COUPLE_SAME])


def unpartnered_shares() -> Floats:
    """Return shares of the six statuses by (alone or not) × sex × age; under 18 all single."""
    rows = np.zeros((2, 2, len(AGES), 6))
    for company, factors in enumerate(BEFORE_FACTORS):
        for sex, alone in enumerate(ALONE):
            rows[company, sex][:, [0, 3, 4, 5]] = alone * np.array(factors)
    rows[:, :, AGES < ADULT + 2, 1:] = 0
    return rows


def tenure_shares() -> Floats:
    """Return tenure by kind (usual, lone parent, sharers) × work × deprivation × age."""
    tilt = np.exp(np.outer(DEPRIVATION, TENURE_PER_DEPRIVATION))
    kinds, work = np.array(TENURE_BY_KIND), np.array(TENURE_BY_WORK)
    return np.asarray(np.einsum("kt,wt,dt,at->kwdat", kinds, work, tilt, TENURE))
