"""Draws the people of output areas, one household after the other.

Every output area has a random generator of its own (splitmix64), started from the seed and the
number of the area: what is drawn depends on neither blocks nor threads. Codes inside are
positions from 0; the columns written hold position + 1 (age aside).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.compiling import inner, njit

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX2 = np.uint64(0x94D049BB133111EB)
_27, _30, _31, _33 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(33)

# Columns of the output, in the order of census.toml.
_SEX, _AGE, _MARITAL, _ACTIVITY, _OCCUPATION, _EDUCATION, _CITIZENSHIP, _BIRTH = range(8)
_RELIGION, _ETHNIC, _TRAVEL, _HEALTH, _ILLNESS, _TENURE, _SIZE = range(8, 15)
COLUMNS = 15

# Numbers of the tables that tables.py fills. They stand here because a compiled kernel is kept on
# disk as long as this file does not change.
# Distributions; after each name what its row number counts, the last fastest.
KIND = np.int64(0)  # age class of the area
FIRST_AGE = np.int64(1)  # kind of household
AGE_GAP = np.int64(2)
CHILDREN = np.int64(3)
MOTHER_AT_BIRTH = np.int64(4)
SIBLING_GAP = np.int64(5)
SHARERS = np.int64(6)
GRANDPARENT_OLDER = np.int64(7)
COUPLE = np.int64(8)  # same sex, age
UNPARTNERED = np.int64(9)  # company, sex, age
TENURE = np.int64(10)  # kind group, work, deprivation, age
BIRTH = np.int64(11)  # ethnic group, age group
CITIZENSHIP = np.int64(12)  # country of birth, age group
RELIGION = np.int64(13)  # class of the area, ethnic group, age group
EDUCATION = np.int64(14)  # sex, deprivation, age
ACTIVITY = np.int64(15)  # sex, education, young child, deprivation, age
OCCUPATION = np.int64(16)  # sex, education, age group
TRAVEL = np.int64(17)  # kind of area, occupation, under 17
HEALTH = np.int64(18)  # inactive, deprivation, age
# Chances of single events.
MEN_ALONE = np.int64(19)  # age
STILL_AT_HOME = np.int64(20)  # age
CHILD_BORN_HERE = np.int64(21)  # age group
HAS_OCCUPATION = np.int64(22)  # activity, age
LIMITED = np.int64(23)  # old, health
CHANCE = np.int64(24)  # the positions named in the kernel
# Numbers to look up.
CHILD_GROUP = np.int64(25)  # ethnic groups of the parents
ORIGIN_AGE = np.int64(26)  # age
OCCUPATION_AGE = np.int64(27)  # age
EDUCATION_FROM = np.int64(28)  # education
# Places in the table CHANCE.
SAME_SEX, MAN_LONE_PARENT, MAN_SHARER, BOY, SON, TWO_GRANDPARENTS, MAN_FIRST = np.arange(7)
GROUP_COUPLE, GROUP_SHARER, BIRTH_COUPLE, BORN_HERE_CHILD, CITIZEN_CHILD = np.arange(7, 12)
RELIGION_COUPLE, RELIGION_CHILD, RELIGION_SHARER, EDUCATION_COUPLE = np.arange(12, 16)
_ONLY = np.int64(0)  # the row of a table that has one

_AGES = 101
_OLDEST = 100
_DEPRIVATION = 5  # classes of areas
_ORIGIN_AGES = 5  # age groups of origins
_WORK_AGES = 6  # age groups of occupations
_GROUPS, _LEVELS, _OCCUPATIONS, _HEALTHS = 19, 9, 12, 5  # ethnic, of education, in work, of health
_YOUNGEST_MOTHER, _OLDEST_MOTHER = 17, 45
_YOUNGEST_PARTNER = 18
_GAP_BELOW = 8  # the table AGE_GAP begins so many years below 0
_GRANDPARENT_FROM = 20  # the table GRANDPARENT_OLDER begins at so many years
_LARGEST = 16  # members a household can have: two parents, seven children, two grandparents
_FIRST, _PARTNER, _CHILD, _GRANDPARENT, _SHARER = range(5)
_COUPLE_YOUNG, _, _FAMILY, _LONE_PARENT, _SHARERS, _THREE_GENERATIONS = range(2, 8)
_TRIES = 40
_NO_OCCUPATION, _NO_TRAVEL = 12, 10
_EMPLOYED, _RETIRED, _INACTIVE = 0, 2, 3


class Bank(NamedTuple):
    """Every table, one after the other, and the start and the width of each."""

    values: NDArray[np.uint32]
    layout: NDArray[np.int64]


class Draws(NamedTuple):
    """The random generator and the tables that are drawn from."""

    state: NDArray[np.uint64]
    bank: NDArray[np.uint32]
    layout: NDArray[np.int64]


class Areas(NamedTuple):
    """Output areas: how many people each has, its classes, and its mix of ethnic groups."""

    persons: NDArray[np.int64]
    old: NDArray[np.uint8]
    deprived: NDArray[np.uint8]
    urban: NDArray[np.uint8]
    secular: NDArray[np.uint8]
    ethnic: NDArray[np.uint32]  # thresholds: a row for each area


class Members(NamedTuple):
    """The members of the household that is being drawn."""

    ages: NDArray[np.int64]
    sexes: NDArray[np.int64]
    roles: NDArray[np.int64]


@njit(nogil=True)
def _mix(z: np.uint64) -> np.uint64:
    z = (z ^ (z >> _30)) * _MIX1
    z = (z ^ (z >> _27)) * _MIX2
    return z ^ (z >> _31)


@njit(nogil=True)
def _next(state: NDArray[np.uint64]) -> np.uint32:
    """The next 31 random bits."""
    state[0] += _GOLDEN
    return np.uint32(_mix(state[0]) >> _33)


@njit(nogil=True)
def _scan(state: NDArray[np.uint64], bank: NDArray[np.uint32], start: int) -> int:
    """A position drawn from the thresholds that begin at start; the last one ends the search."""
    u = _next(state)
    k = start
    while u >= bank[k]:
        k += 1
    return k - start


# Numbers are NumPy's, above and below: for each constant of Python's a function is compiled anew.
@inner(forceinline=True)
def _pick(draws: Draws, table: int, row: int) -> int:
    """A position drawn from a row of a table."""
    start, width = draws.layout[table]
    return int(_scan(draws.state, draws.bank, start + row * width))


@inner(forceinline=True)
def _happens(draws: Draws, table: int, place: int) -> bool:
    """Whether the event with the chance at this place of a table happens."""
    return bool(_next(draws.state) < draws.bank[draws.layout[table, 0] + place])


@inner(forceinline=True)
def _look(draws: Draws, table: int, place: int) -> int:
    """The number at this place of a table."""
    return int(draws.bank[draws.layout[table, 0] + place])


@inner()
def _child_ages(draws: Draws, mother: int, ages: NDArray[np.int64], start: int) -> int:
    """Write the ages of the children at home from position start; return how many."""
    oldest = -1
    for _ in range(_TRIES):
        age = mother - _YOUNGEST_MOTHER - _pick(draws, MOTHER_AT_BIRTH, _ONLY)
        if age >= 0 and _happens(draws, STILL_AT_HOME, age):
            oldest = age
            break
    if oldest < 0:  # an old mother: somebody came back home
        oldest = mother - 30 if mother >= 60 else max(0, min(mother - _YOUNGEST_MOTHER, 8))
    ages[start] = oldest
    wanted = _pick(draws, CHILDREN, _ONLY) + 1
    count = 1
    while count < wanted:
        age = ages[start + count - 1] - _pick(draws, SIBLING_GAP, _ONLY)
        if age < 0 or mother - age > _OLDEST_MOTHER:
            break
        ages[start + count] = age
        count += 1
    return count


@inner()
def _mirror(age: int) -> int:
    """An age from 18 to 100: what lies outside is folded back, so that no age is a heap."""
    if age < _YOUNGEST_PARTNER:
        return 2 * _YOUNGEST_PARTNER - age
    if age > _OLDEST - 4:
        return 2 * (_OLDEST - 4) - age
    return age


@inner()
def _compose(draws: Draws, kind: int, members: Members) -> int:
    """Write ages, sexes and roles of the members of a household; return how many."""
    ages, sexes, roles = members
    ages[0] = _pick(draws, FIRST_AGE, kind)
    roles[0] = _FIRST
    if kind < _COUPLE_YOUNG:
        sexes[0] = 0 if _happens(draws, MEN_ALONE, ages[0]) else 1
        return 1
    if kind == _SHARERS:
        size: int = 2 + _pick(draws, SHARERS, _ONLY)
        for i in range(size):
            roles[i] = _SHARER if i else _FIRST
            sexes[i] = 0 if _happens(draws, CHANCE, MAN_SHARER) else 1
            if i:
                # Within some years of the first: half the difference of two age gaps of couples.
                gap = _pick(draws, AGE_GAP, _ONLY)
                gap -= _pick(draws, AGE_GAP, _ONLY)
                ages[i] = _mirror(ages[0] + gap // 2)
        return size
    size = 1
    mother = ages[0]
    if kind == _LONE_PARENT:
        sexes[0] = 0 if _happens(draws, CHANCE, MAN_LONE_PARENT) else 1
    else:
        size = 2
        roles[1] = _PARTNER
        sexes[0] = 0 if _happens(draws, CHANCE, MAN_FIRST) else 1
        gap = _pick(draws, AGE_GAP, _ONLY) - _GAP_BELOW
        ages[1] = _mirror(ages[0] - gap if sexes[0] == 0 else ages[0] + gap)
        sexes[1] = sexes[0] if _happens(draws, CHANCE, SAME_SEX) else 1 - sexes[0]
        mother = ages[1] if sexes[1] == 1 and sexes[0] == 0 else ages[0]
    if kind >= _FAMILY:
        count = _child_ages(draws, mother, ages, size)
        for i in range(size, size + count):
            roles[i] = _CHILD
            boy = BOY if ages[i] < 18 else SON
            sexes[i] = 0 if _happens(draws, CHANCE, boy) else 1
        size += count
    if kind == _THREE_GENERATIONS:
        older = _GRANDPARENT_FROM + _pick(draws, GRANDPARENT_OLDER, _ONLY)
        ages[size] = min(ages[0] + older, _OLDEST)
        roles[size] = _GRANDPARENT
        sexes[size] = 1
        size += 1
        if _happens(draws, CHANCE, TWO_GRANDPARENTS):
            gap = _pick(draws, AGE_GAP, _ONLY) - _GAP_BELOW
            ages[size] = min(ages[size - 1] + gap, _OLDEST)
            roles[size] = _GRANDPARENT
            sexes[size] = 0
            size += 1
    return size


@inner()
def _marital(draws: Draws, members: Members, out: NDArray[np.uint8]) -> None:
    """Write the marital status of the members of a household."""
    ages, sexes, roles = members
    size = out.shape[1]
    together = 2  # 0 married, 1 civil partners, 2 neither
    if size > 1 and roles[1] == _PARTNER:
        same = 1 if sexes[0] == sexes[1] else 0
        together = _pick(draws, COUPLE, same * _AGES + min(ages[0], ages[1]))
    grandparents = 0
    for i in range(size):
        grandparents += roles[i] == _GRANDPARENT
    for i in range(size):
        role = roles[i]
        if role <= _PARTNER and together < 2:
            out[_MARITAL, i] = 2 + together
        elif role == _GRANDPARENT and grandparents == 2:
            out[_MARITAL, i] = 2
        else:
            alone = role == _GRANDPARENT or (role == _FIRST and (size == 1 or roles[1] == _CHILD))
            row = ((0 if alone else 1) * 2 + sexes[i]) * _AGES + ages[i]
            out[_MARITAL, i] = _pick(draws, UNPARTNERED, row) + 1


@inner()
def _origins(
    draws: Draws, ethnic: NDArray[np.uint32], secular: int, members: Members, out: NDArray[np.uint8]
) -> None:
    """Write ethnic group, country of birth, citizenship and religion of a household.

    `ethnic` are the thresholds of the groups in the area.
    """
    ages, _, roles = members
    group0 = birth0 = citizen0 = religion0 = other = 0
    for i in range(out.shape[1]):
        role = roles[i]
        years = _look(draws, ORIGIN_AGE, ages[i])
        if role == _FIRST:
            group = _scan(draws.state, ethnic, _ONLY)
            group0 = other = group
        elif role == _CHILD:
            group = _look(draws, CHILD_GROUP, group0 * _GROUPS + other)
        elif role == _GRANDPARENT:
            group = group0
        else:
            place = GROUP_COUPLE if role == _PARTNER else GROUP_SHARER
            group = group0 if _happens(draws, CHANCE, place) else _scan(draws.state, ethnic, _ONLY)
            if role == _PARTNER:
                other = group

        birth = _pick(draws, BIRTH, group * _ORIGIN_AGES + years)
        if role == _CHILD:
            if birth0 == 0:
                if _happens(draws, CHANCE, BORN_HERE_CHILD):
                    birth = 0
            else:
                birth = 0 if _happens(draws, CHILD_BORN_HERE, years) else birth0
        elif (
            role == _PARTNER
            and group == group0
            and birth0 > 0
            and _happens(draws, CHANCE, BIRTH_COUPLE)
        ):
            birth = birth0

        if role == _CHILD and _happens(draws, CHANCE, CITIZEN_CHILD):
            citizen = citizen0
        else:
            citizen = _pick(draws, CITIZENSHIP, birth * _ORIGIN_AGES + years)

        religion = _pick(draws, RELIGION, (secular * _GROUPS + group) * _ORIGIN_AGES + years)
        if role != _FIRST:
            place = RELIGION_CHILD
            if role == _SHARER:
                place = RELIGION_SHARER
            elif role == _PARTNER:
                place = RELIGION_COUPLE
            if (role == _CHILD or group == group0) and _happens(draws, CHANCE, place):
                religion = religion0
        else:
            birth0, citizen0, religion0 = birth, citizen, religion
        out[_ETHNIC, i] = group + 1
        out[_BIRTH, i] = birth + 1
        out[_CITIZENSHIP, i] = citizen + 1
        out[_RELIGION, i] = religion + 1


@inner()
def _lives(
    draws: Draws, kind: int, urban: int, deprived: int, members: Members, out: NDArray[np.uint8]
) -> None:
    """Write education, work, travel, health, illness, tenure and size of a household."""
    ages, sexes, roles = members
    size = out.shape[1]
    infant = 0
    for i in range(size):
        if roles[i] == _CHILD and ages[i] < 5:
            infant = 1
    education0 = activity0 = 0
    for i in range(size):
        age, sex, role = ages[i], sexes[i], roles[i]
        education = _pick(draws, EDUCATION, (sex * _DEPRIVATION + deprived) * _AGES + age)
        if (
            role == _PARTNER
            and age >= _look(draws, EDUCATION_FROM, education0)
            and _happens(draws, CHANCE, EDUCATION_COUPLE)
        ):
            education = education0
        parent = infant if role <= _PARTNER else 0
        row = ((sex * _LEVELS + education) * 2 + parent) * _DEPRIVATION + deprived
        activity = _pick(draws, ACTIVITY, row * _AGES + age)
        occupation = _NO_OCCUPATION
        if _happens(draws, HAS_OCCUPATION, activity * _AGES + age):
            years = _look(draws, OCCUPATION_AGE, age)
            occupation = _pick(draws, OCCUPATION, (sex * _LEVELS + education) * _WORK_AGES + years)
        travel = _NO_TRAVEL
        if activity == _EMPLOYED:
            under_17 = 1 if age < 17 else 0
            travel = _pick(draws, TRAVEL, (urban * _OCCUPATIONS + occupation) * 2 + under_17)
        # Young inactive people are mostly students; older ones are often too ill to work.
        unwell = 1 if activity == _INACTIVE and age >= 25 else 0
        health = _pick(draws, HEALTH, (unwell * _DEPRIVATION + deprived) * _AGES + age)
        old = 1 if age >= 65 else 0
        limited = _happens(draws, LIMITED, old * _HEALTHS + health)
        if role == _FIRST:
            education0, activity0 = education, activity
        out[_SEX, i] = sex + 1
        out[_AGE, i] = age
        out[_ACTIVITY, i] = activity + 1
        out[_OCCUPATION, i] = occupation + 1
        out[_EDUCATION, i] = education + 1
        out[_TRAVEL, i] = travel + 1
        out[_HEALTH, i] = health + 1
        out[_ILLNESS, i] = 1 if limited else 2
    group = 0
    if kind == _LONE_PARENT:
        group = 1
    elif kind == _SHARERS:
        group = 2
    work = 2
    if activity0 == _EMPLOYED:
        work = 0
    elif activity0 == _RETIRED:
        work = 1
    row = ((group * 3 + work) * _DEPRIVATION + deprived) * _AGES + ages[0]
    tenure = _pick(draws, TENURE, row)
    for i in range(size):
        out[_TENURE, i] = tenure + 1
        out[_SIZE, i] = min(size, 8)


@njit(cache=True, nogil=True)
def populate(
    bank: Bank,
    seed: np.uint64,
    first: int,
    areas: Areas,
    out: NDArray[np.uint8],
    household: NDArray[np.uint32],
) -> int:
    """Fill the columns with the people of output areas; return the number of households.

    `first` is the number of the first area; `out` has a row for each variable and a column for
    each person; `household` is the household of each person, from 0.
    """
    draws = Draws(np.zeros(1, dtype=np.uint64), bank.values, bank.layout)
    members = Members(
        np.zeros(_LARGEST, np.int64), np.zeros(_LARGEST, np.int64), np.zeros(_LARGEST, np.int64)
    )
    at = np.int64(0)
    homes = 0
    for area in range(len(areas.persons)):
        # Mixed twice: areas with consecutive numbers start far apart.
        draws.state[0] = _mix(_mix(seed + _GOLDEN) ^ (np.uint64(first + area) * _GOLDEN + _MIX2))
        end = at + areas.persons[area]
        while at < end:
            # A household must fit into what is left of the area, which then has its exact size;
            # a household of one always fits.
            for _ in range(_TRIES):
                kind = _pick(draws, KIND, areas.old[area])
                size = _compose(draws, kind, members)
                if size <= end - at:
                    break
            else:
                kind = np.int64(0)
                size = _compose(draws, kind, members)
            people = out[:, at : at + size]
            _marital(draws, members, people)
            _origins(draws, areas.ethnic[area], areas.secular[area], members, people)
            _lives(draws, kind, areas.urban[area], areas.deprived[area], members, people)
            household[at : at + size] = homes
            homes += 1
            at += size
    return homes
