"""The random generator; what must hold for every person and household, and what is usual."""

from __future__ import annotations

import numpy as np

from discreet.synth import kernels
from discreet.synth.shares import thresholds
from discreet.synth.variables import CATEGORIES, IDS, OLDEST


def test_the_generator_is_splitmix64():
    # The first outputs for seed 1234567 as they are widely published, e.g. on Rosetta Code.
    expected = [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]
    state = np.array([1234567], dtype=np.uint64)
    assert [int(kernels._next(state)) for _ in expected] == [value >> 33 for value in expected]


def test_drawn_shares_are_those_of_the_table():
    row = thresholds([5, 0, 3, 2])[0]
    state = np.array([99], dtype=np.uint64)
    draws = 100_000
    found = np.bincount([kernels._scan(state, row, 0) for _ in range(draws)], minlength=4)
    expected = np.array([0.5, 0, 0.3, 0.2])
    # Five standard deviations of a binomial count.
    assert (abs(found - draws * expected) <= 5 * np.sqrt(draws * expected * (1 - expected))).all()


def code(variable: str, label: str) -> int:
    return CATEGORIES[variable].index(label) + 1


def share(condition, among):
    """The share of those among whom the condition holds; there must be some."""
    assert among.any()
    return (condition & among).sum() / among.sum()


def test_every_code_is_valid_and_every_category_occurs(country):
    for name in IDS:
        codes = range(OLDEST + 1) if name == "age" else range(1, len(CATEGORIES[name]) + 1)
        assert np.unique(country[name]).tolist() == list(codes), name


def test_children_are_single_and_have_neither_work_nor_qualifications(country):
    child = country["age"] < 16
    assert (country["marital_status"][child] == code("marital_status", "Never married")).all()
    assert (country["activity"][child] == code("activity", "Under 16")).all()
    assert (country["occupation"][child] == code("occupation", "No occupation")).all()
    assert (country["education"][child] == code("education", "Under 16")).all()
    assert (country["travel_to_work"][child] == code("travel_to_work", "Not in employment")).all()


def test_the_categories_for_children_hold_children_only(country):
    adult = country["age"] >= 16
    assert (country["activity"][adult] != code("activity", "Under 16")).all()
    assert (country["education"][adult] != code("education", "Under 16")).all()


def test_those_in_employment_have_an_occupation_and_a_way_to_work(country):
    employed = country["activity"] == code("activity", "In employment")
    assert (country["occupation"][employed] != code("occupation", "No occupation")).all()
    travels = country["travel_to_work"] != code("travel_to_work", "Not in employment")
    assert np.array_equal(travels, employed)


def test_things_happen_at_the_age_they_can(country):
    age = country["age"]

    def youngest(variable, label):
        return age[country[variable] == code(variable, label)].min()

    assert youngest("marital_status", "Married") >= 18
    assert youngest("marital_status", "Widowed") >= 18
    assert youngest("education", "Bachelor's degree") >= 20
    assert youngest("education", "Doctorate") >= 24
    assert youngest("activity", "Retired") >= 45
    assert youngest("travel_to_work", "Driving a car or van") >= 17
    soldiers = country["occupation"] == code("occupation", "Armed forces")
    assert age[soldiers].max() < 65


def test_household_size_counts_the_people_of_the_household(town):
    people = np.bincount(town.household)
    assert people.min() >= 1
    assert np.array_equal(town["household_size"], np.minimum(people, 8)[town.household])


def test_households_are_numbered_in_order_and_stay_in_one_area(town):
    steps = np.diff(town.household)
    assert town.household[0] == 0
    assert set(np.unique(steps)) == {0, 1}
    assert (np.diff(town.oa)[steps == 0] == 0).all()


def test_households_share_tenure_and_have_an_adult(town):
    first = np.flatnonzero(np.diff(town.household, prepend=-1))
    assert np.array_equal(town["tenure"], town["tenure"][first][town.household])
    oldest = np.zeros(len(first), dtype=np.int64)
    np.maximum.at(oldest, town.household, town["age"])
    assert oldest.min() >= 18


def test_households_share_religion_and_ethnic_group_far_more_than_neighbours_do(town):
    first = np.flatnonzero(np.diff(town.household, prepend=-1))
    other = np.setdiff1d(np.arange(len(town.household)), first)
    for name, least in (("religion", 0.8), ("ethnic_group", 0.85)):
        head = town[name][first][town.household]
        together = (town[name] == head)[other].mean()
        neighbours = (town[name][:-400] == town[name][400:]).mean()
        assert together > least
        assert together > neighbours + 0.1


def test_people_are_correlated_as_people_are(country):
    age, sex = country["age"], country["sex"]
    married = country["marital_status"] == code("marital_status", "Married")
    widowed = country["marital_status"] == code("marital_status", "Widowed")
    employed = country["activity"] == code("activity", "In employment")
    degree = country["education"] >= code("education", "Bachelor's degree")
    professional = country["occupation"] == code("occupation", "Professionals")
    bad = country["health"] >= code("health", "Bad")
    limited = country["illness"] == code("illness", "Limited")
    between = lambda low, high: (age >= low) & (age <= high)  # noqa: E731

    assert share(married, between(20, 24)) < 0.1 < 0.5 < share(married, between(45, 54))
    assert share(widowed, between(80, 100) & (sex == 2)) > 2 * share(
        widowed, between(80, 100) & (sex == 1)
    )
    assert share(employed, between(30, 50)) > 0.7 > 0.1 > share(employed, between(70, 79))
    assert share(degree, between(30, 39)) > 2 * share(degree, between(75, 84))
    assert share(professional, employed & degree) > 8 * share(professional, employed & ~degree)
    assert share(bad, between(75, 100)) > 5 * share(bad, between(0, 15))
    assert share(limited, bad) > 0.7 > 0.2 > share(limited, ~bad)


def test_areas_differ_in_religion_ethnic_group_and_age_beyond_chance(country):
    people = country.geography.persons
    for name, condition in (
        ("Muslim", country["religion"] == code("religion", "Muslim")),
        ("Indian", country["ethnic_group"] == code("ethnic_group", "Asian: Indian")),
        ("old", country["age"] >= 65),
    ):
        areas = np.bincount(country.oa, weights=condition) / people
        overall = condition.mean()
        by_chance = overall * (1 - overall) / people.mean()
        # Households alone, some 2.4 people alike, would double the variance.
        assert areas.var() > 3 * by_chance, name


def test_half_are_women_and_most_of_the_very_old(country):
    men, age = country["sex"] == 1, country["age"]
    assert 0.48 < men.mean() < 0.5  # 736,355 of 1,500,000 published
    assert 0.5 < men[age < 15].mean() < 0.53
    assert men[age >= 85].mean() < 0.42
