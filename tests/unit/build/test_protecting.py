"""Protection before any table, as steps of a build: what is kept, what is told, what is not."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dc
from discreet.build import build
from discreet.build import steps as steps_module
from discreet.errors import QueryRefused
from discreet.policy import Policy
from discreet.population import Store, Version
from discreet.query import Query
from discreet.synth import write

if TYPE_CHECKING:
    from conftest import Folder

DESCRIPTION = """
policy = "preset:{policy}"
source = {{ files = "p.parquet", record_id = "id", household_id = "home" }}
[variables]
sex = {{ range = [1, 2] }}
age = {{ range = [0, 2] }}
religion = {{ range = [0, 5] }}
married = {{ range = [0, 1] }}
[[geography]]
id = "oa"
column = "oa"
categories = "oa.csv"
[[geography]]
id = "la"
categories = {{ a = "A", b = "B", c = "C" }}
"""
SWAP = """
[[protect]]
method = "record-swapping"
rate = 0.1
within = "la"
match = ["members", "sex*age"]
fallback = [["members"]]
"""
AREAS = "code,label,parent\n" + "".join(f"{i},Area {i},{'abc'[i // 6]}\n" for i in range(18))


def people(households: int = 3000, seed: int = 1) -> pa.Table:
    """Households in 18 areas of 3 larger ones; nobody of age 0 is married; a tenth imputed."""
    rng = np.random.default_rng(seed)
    home = np.repeat(np.arange(households), rng.integers(1, 5, households))
    number = len(home)
    age = rng.integers(0, 3, number)
    return pa.table(
        {
            "id": np.arange(number),
            "home": home + 5_000_000,
            "oa": rng.integers(0, 18, households)[home],
            "sex": rng.integers(1, 3, number),
            "age": age,
            "religion": rng.choice(6, number, p=[0.6, 0.3, 0.05, 0.03, 0.015, 0.005]),
            "married": np.where(age == 0, 0, rng.integers(0, 2, number)),
            "imputed": np.where(rng.random(households) < 0.1, "yes", "no")[home],
        }
    )


def described(
    folder: Folder, steps: str, table: pa.Table | None = None, policy: str = "rounding-3"
) -> Folder:
    folder.write("oa.csv", AREAS).write("p.parquet", people() if table is None else table)
    return folder.describe(DESCRIPTION.format(policy=policy) + steps)


def counts(version: Version, *names: str) -> Any:
    columns = []
    for name in names:
        variable, level = version.schema.find(name)
        if variable.is_geography:
            assert version.areas is not None
            areas = np.repeat(np.arange(len(variable.finest)), np.diff(version.areas))
            columns.append((level.of[areas], len(level)))
        else:
            columns.append((level.of[version.column(variable)], len(level)))
    shape = [size for _, size in columns]
    weights = None if version.counts is None else version.counts
    cells = np.ravel_multi_index([c for c, _ in columns], shape)
    found = np.bincount(cells, weights, minlength=int(np.prod(shape)))
    return found.astype(np.int64).reshape(shape)


def facts(version: Version) -> list[dict[str, Any]]:
    held: list[dict[str, Any]] = json.loads((version.path / "protection.json").read_text())
    return held


def test_swapping_keeps_what_it_says(folder: Folder) -> None:
    before = described(folder, "").version()
    after = described(folder, SWAP).version()
    whole = ("sex", "age", "religion", "married")
    assert np.array_equal(counts(after, *whole), counts(before, *whole))
    assert np.array_equal(counts(after, "la", *whole), counts(before, "la", *whole))
    assert np.array_equal(counts(after, "oa"), counts(before, "oa"))
    assert not np.array_equal(counts(after, "oa", "religion"), counts(before, "oa", "religion"))
    # Whole households move: nothing but the area of a record changes, and that with its key.
    assert sorted(after.keys.tolist()) == sorted(before.keys.tolist())
    (told,) = facts(after)
    assert told["method"] == "record-swapping"
    moved = sum(area["moved"] for area in told["by_area"])
    assert [area["la"] for area in told["by_area"]] == ["a", "b", "c"]
    assert 298 <= moved <= 300
    assert told["shortfall"] == 0
    # Nobody leaves the larger area: of tables by it, and of those without areas, nothing changed.
    assert after.swap_rate("oa") == pytest.approx(0.1, abs=0.02)
    assert after.swap_rate("la") == 0
    assert before.swap_rate("oa") == 0


def test_what_is_recorded_and_what_is_not(folder: Folder) -> None:
    version = described(folder, SWAP).version()
    manifest = (version.path / "manifest.json").read_text()
    assert json.loads(manifest)["protected_beforehand"] == ["record-swapping"]
    for secret in ("rate", "within", "match", "members"):
        assert f'"{secret}' not in manifest
    assert (version.path / "protection.json").stat().st_mode & 0o777 == 0o600
    version.verify()
    built = folder.build()
    assert built.notes[-1].startswith("Swapped: ")
    assert "of 3,000 households." in built.notes[-1]


def test_a_build_of_the_same_data_is_the_same_swap_whatever_the_order(folder: Folder) -> None:
    first = described(folder, SWAP).version()
    cells = counts(first, "oa", "religion", "sex", "age")
    again = folder.version()
    assert np.array_equal(counts(again, "oa", "religion", "sex", "age"), cells)
    table = people()
    order = np.random.default_rng(9).permutation(len(table))
    shuffled = described(folder, SWAP, table.take(order)).version()
    assert np.array_equal(counts(shuffled, "oa", "religion", "sex", "age"), cells)
    fresh = folder.version(new_secret=True)
    assert not np.array_equal(counts(fresh, "oa", "religion", "sex", "age"), cells)


def test_a_corrected_record_does_not_draw_everybody_again(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Policy, "changes_needed", lambda self, records: 0)
    first = counts(described(folder, SWAP).version(), "oa", "religion")
    table = people()
    religion = table["religion"].to_numpy().copy()
    religion[17] = (religion[17] + 1) % 6
    corrected = table.set_column(table.column_names.index("religion"), "religion", [religion])
    second = counts(described(folder, SWAP, corrected).version(), "oa", "religion")
    assert np.abs(second - first).sum() <= 2


def test_targeted_swapping_moves_those_in_small_cells(folder: Folder) -> None:
    target = SWAP + 'target = ["oa*religion", "oa*religion*age"]\nmatch_risk = true\n'
    (told,) = facts(described(folder, target).version())
    (random,) = facts(described(folder, SWAP).version())
    at_risk = sum(area["at_risk"] for area in told["by_area"])
    assert at_risk > 0
    share = sum(area["at_risk_moved"] for area in told["by_area"]) / at_risk
    # At random a tenth of them would move.
    assert share > 0.4
    assert all(area["at_risk"] == 0 for area in random["by_area"])
    assert any("of whom moved" in note for note in described(folder, target).build().notes)


def test_records_marked_are_left_out(folder: Folder) -> None:
    marked = SWAP + 'leave_out = { column = "imputed", values = ["yes"] }\n'
    table = people()
    version = described(folder, marked, table).version()
    (told,) = facts(version)
    homes = table["home"].to_numpy()
    yes = np.unique(homes[table["imputed"].to_numpy(zero_copy_only=False) == "yes"])
    assert sum(area["left_out"] for area in told["by_area"]) == len(yes)
    # A tenth of those that may move.
    moved = sum(area["moved"] for area in told["by_area"])
    assert 0 <= (3000 - len(yes)) * 0.1 - moved < 2


def test_two_levels_one_after_the_other(folder: Folder) -> None:
    """Out of the larger area for those who stand out in it; a country around them is needed."""
    steps = SWAP.replace('within = "la"', 'within = "country"\nof = "la"')
    steps = steps.replace("rate = 0.1", 'rate = 1\nonly_at_risk = true\ntarget = ["la*religion"]')
    steps = steps.replace("[[protect]]", "[[protect]]", 1) + "below = 40\n" + SWAP
    text = DESCRIPTION.format(policy="rounding-3").replace(
        'categories = { a = "A", b = "B", c = "C" }', 'categories = "la.csv"'
    )
    folder.write("la.csv", "code,label,parent\na,A,x\nb,B,x\nc,C,x\n")
    folder.write("oa.csv", AREAS).write("p.parquet", people())
    version = folder.describe(
        text + '[[geography]]\nid = "country"\ncategories = { x = "X" }\n' + steps
    ).version()
    first, second = facts(version)
    (country,) = first["by_area"]
    assert country["at_risk"] == country["at_risk_moved"] > 0
    assert len(second["by_area"]) == 3
    moved, again = first["rates"], second["rates"]
    assert version.swap_rate("oa") == pytest.approx(1 - (1 - moved["oa"]) * (1 - again["oa"]))
    # The first step goes from authority to authority, the second stays within them.
    assert 0 < version.swap_rate("la") == pytest.approx(moved["la"])
    assert again["la"] == moved["country"] == 0


def test_a_household_in_two_areas_is_refused(folder: Folder) -> None:
    table = people(10)
    oa = table["oa"].to_numpy().copy()
    homes = table["home"].to_numpy()
    large = np.flatnonzero(homes[1:] == homes[:-1])[0]
    oa[large] = (oa[large] + 1) % 18
    table = table.set_column(table.column_names.index("oa"), "oa", [oa])
    assert described(folder, SWAP, table).refused() == (
        "record-swapping: all members of a household must live in one area. 1 households have "
        "members in several."
    )


PRAM = """
[[protect]]
method = "pram"
variable = "married"
stay = 0.5
within = ["age", "la"]
"""


def test_pram_keeps_frequencies_about_and_makes_nothing_impossible(folder: Folder) -> None:
    before = described(folder, "").version()
    after = described(folder, PRAM).version()
    true, changed = (counts(v, "la", "age", "married") for v in (before, after))
    assert changed[:, 0, 1].sum() == 0  # no child is married
    assert np.array_equal(true.sum(axis=2), changed.sum(axis=2))
    # Each of about 830 changes with probability 1/2 at most: 5 standard deviations are 72.
    assert 0 < np.abs(true - changed).max() < 72
    (told,) = facts(after)
    assert told["changed"] > 0.2


IMPUTE = """
[[protect]]
method = "over-imputation"
variables = ["married", "religion"]
rate = 0.2
donors = ["oa*sex", "la"]
never_create = ["age*married"]
"""


def test_over_imputation_makes_nothing_impossible(folder: Folder) -> None:
    before = described(folder, "").version()
    after = described(folder, IMPUTE).version()
    assert counts(after, "age", "married")[0, 1] == 0
    assert np.array_equal(counts(after, "oa", "age", "sex"), counts(before, "oa", "age", "sex"))
    (told,) = facts(after)
    assert told["blanked"] == pytest.approx(0.2, abs=1e-3)
    assert 0.05 < told["changed"] < 0.2


CUBE = """
[[protect]]
method = "input-perturbation"
table_method = "random-rounding"
options = { base = 3 }
"""


def test_input_perturbation_makes_a_hypercube_of_rounded_cells(folder: Folder) -> None:
    before = described(folder, "").version()
    after = described(folder, CUBE).version()
    names = ("sex", "age", "religion", "married")
    true, noisy = counts(before, "oa", *names), counts(after, "oa", *names)
    assert (noisy % 3 == 0).all()
    assert np.abs(noisy - true).max() < 3
    assert not noisy[true == 0].any()
    # Every table is a sum of the same cells, whatever the engine: additive and consistent.
    population = dc.open(folder.store.path)
    one = np.asarray(population.tabulate(Query.parse("la,religion")).dense().counts)
    two = np.asarray(population.tabulate(Query.parse("oa,religion")).dense().counts)
    assert np.array_equal(two.reshape(3, 6, 6).sum(axis=1), one)
    assert after.manifest["hypercube"]
    # The keys of what is left are the sums of its records' keys.
    again = folder.version()
    assert np.array_equal(again.keys, after.keys)


def test_input_perturbation_by_exact_draws(folder: Folder) -> None:
    before = described(folder, "").version()
    text = CUBE.replace("random-rounding", "stochastic-perturbation")
    after = described(folder, text.replace("base = 3", "exact = true")).version()
    names = ("oa", "sex", "age", "religion", "married")
    true, noisy = counts(before, *names), counts(after, *names)
    # The printed matrix makes and removes no zero. Half of the cells of 1 stay, to less than one
    # [Shlomo2015, table 3].
    assert np.array_equal(noisy == 0, true == 0)
    ones = true == 1
    assert ones.sum() > 100
    assert abs((noisy[ones] == 1).sum() - ones.sum() / 2) < 1


def recorded(population: dc.Population, by: str) -> Any:
    """The record of a question, whatever the verdict."""
    try:
        return population.release(by).record
    except QueryRefused as refused:
        return refused.record


def test_a_release_knows_what_was_done_beforehand(folder: Folder) -> None:
    assert "tier 'public' of the policy needs records that are protected before any table" in (
        described(folder, "", policy="swapping-and-light-keys").refused()
    )
    plain = described(folder, "", policy="rounding-3").build()
    assert plain.rows
    population = dc.open(folder.store.path)
    unswapped = {by: recorded(population, by) for by in ("la,sex", "oa,religion")}
    notes = population.release("la,sex").notes
    assert not any("altered before any table" in note for note in notes)
    described(folder, SWAP, policy="rounding-3").build()
    population = dc.open(folder.store.path)
    # Within larger areas nothing moved: their tables, and what is left of their risk, are the same.
    assert recorded(population, "la,sex").risk_after == unswapped["la,sex"].risk_after
    assert recorded(population, "oa,religion").risk_after < unswapped["oa,religion"].risk_after
    notes = population.release("la,sex").notes
    assert any("altered before any table" in note for note in notes)
    described(folder, SWAP, policy="swapping-and-light-keys").build()
    assert dc.open(folder.store.path).release("la,sex").table.values.sum() > 0


HYPERCUBE = """
source = { files = "h.csv", count = "n" }
[variables]
sex = { range = [1, 2] }
[[geography]]
id = "oa"
column = "oa"
categories = "oa.csv"
[[geography]]
id = "la"
categories = { a = "A", b = "B", c = "C" }
"""
PERSONS = '[[protect]]\nmethod = "record-swapping"\nrate = 0.1\nwithin = "la"\nmatch = []\n'


def test_persons_of_a_hypercube_are_swapped(folder: Folder) -> None:
    lines = ["sex,oa,n"] + [f"{1 + i % 2},{i},{100 + i}" for i in range(18)]
    folder.write("oa.csv", AREAS).write("h.csv", "\n".join(lines) + "\n")
    before = folder.describe(HYPERCUBE).version()
    after = folder.describe(HYPERCUBE + PERSONS).version()
    assert np.array_equal(counts(after, "oa"), counts(before, "oa"))
    assert np.array_equal(counts(after, "la", "sex"), counts(before, "la", "sex"))
    # Each area had one sex only: who is of the other one now has moved.
    strangers = counts(after, "oa", "sex")[counts(before, "oa", "sex") == 0].sum()
    assert 0 < strangers < 0.1 * counts(before, "oa").sum()
    assert after.swap_rate("oa") == pytest.approx(0.1, abs=0.005)
    assert after.swap_rate("la") == 0
    # A cell that was there is still known by its categories: it has the key that it had.
    assert set(before.keys.tolist()) <= set(after.keys.tolist())
    assert len(after.keys) == 36


@pytest.mark.parametrize(
    ("steps", "sentence"),
    [
        (SWAP.replace("record-swapping", "swap"), "protect 1: no method 'swap'"),
        (SWAP.replace("0.1", "2"), "rate must be above 0 and at most 1. Got 2."),
        (SWAP.replace('"la"', '"oa"'), "'within' must be a larger area than 'of'. Got oa and oa."),
        (SWAP.replace('"la"', '"town"'), "no geography 'town'"),
        (SWAP.replace("sex*age", "sex*aeg"), "no variable 'aeg'"),
        (SWAP + "odds = 3\n", "need 'target'"),
        (SWAP + "speed = 3\n", "no setting 'speed'"),
        (
            SWAP + 'target = ["oa*sex"]\nbelow = 1\n',
            "below must be an integer of at least 2. Got 1.",
        ),
        (SWAP.replace('[["members"]]', '["members"]'), "'fallback' must be a list of lists"),
        (PRAM.replace('"married"', '"marired"'), "no variable 'marired'"),
        (PRAM.replace('"age", "la"', '"married"'), "it cannot be a condition"),
        (PRAM.replace("0.5", "1.5"), "stay must be between 0 and 1. Got 1.5."),
        (IMPUTE.replace("age*married", "age*sex"), "never_create must name tables"),
        (IMPUTE.replace("oa*sex", "oa*religion"), "'religion' is changed by the step"),
        (IMPUTE.replace('["married", "religion"]', "[]"), "variables must name at least one"),
        (CUBE.replace("random-rounding", "rounding"), "no method 'rounding'"),
        (CUBE.replace("random-rounding", "same-margins").replace("base = 3", ""), "leave zeros"),
        (CUBE + SWAP, "input-perturbation must be the last step"),
    ],
)
def test_mistakes_are_told_before_any_data_are_read(
    folder: Folder, steps: str, sentence: str
) -> None:
    described(folder, steps)
    (folder.path / "p.parquet").write_bytes(b"no data are opened")
    assert sentence in folder.refused()


@pytest.mark.parametrize(
    ("source", "steps", "sentence"),
    [
        ('files = "p.parquet", record_id = "id"', SWAP, "needs a 'household_id'"),
        ('files = "p.parquet", count = "n"', PRAM, "needs records with a 'record_id'"),
        (
            'files = "p.parquet", count = "n", key = { column = "k", modulus = 256 }',
            SWAP,
            "needs cells without a 'key'",
        ),
    ],
)
def test_what_a_step_needs_of_the_source(
    folder: Folder, source: str, steps: str, sentence: str
) -> None:
    described(folder, steps)
    text = (folder.path / "dataset.toml").read_text(encoding="utf-8")
    old = 'files = "p.parquet", record_id = "id", household_id = "home"'
    Path(folder.path / "dataset.toml").write_text(text.replace(old, source), encoding="utf-8")
    assert sentence in folder.refused()


def test_the_steps_of_the_page_run_on_the_synthetic_census(tmp_path: Path) -> None:
    page = Path(__file__).parents[3] / "docs" / "pretabular.md"
    steps = page.read_text(encoding="utf-8").partition('```toml title="protect.toml"\n')[2]
    steps = steps.partition("```")[0]
    write(20_000, tmp_path / "census", seed=1)
    description = tmp_path / "census" / "dataset.toml"
    with description.open("a", encoding="utf-8") as file:
        file.write(steps)
    built = build(description, tmp_path / "store", views=0)
    version = Store(tmp_path / "store").open()
    assert version.manifest["protected_beforehand"] == [
        "record-swapping",
        "pram",
        "over-imputation",
        "input-perturbation",
    ]
    told = facts(version)
    # A step on the page protects: it moves, changes or imputes about the share that it names.
    assert told[0]["rates"]["oa"] == pytest.approx(0.05, abs=0.01)
    assert told[1]["changed"] == pytest.approx(0.05, abs=0.005)
    assert told[2]["blanked"] == pytest.approx(0.02, abs=0.001)
    assert told[3]["changed"] > 0.3
    assert len([note for note in built.notes if "read from the data" not in note]) >= 4


def test_the_page_names_every_setting() -> None:
    """Whatever key a step takes is a row of a table on the page."""
    docs = Path(__file__).parents[3] / "docs"
    pages = [docs / name for name in ("pretabular.md", "base.md")]
    page = "".join(path.read_text(encoding="utf-8") for path in pages)
    source = (Path(steps_module.__file__)).read_text(encoding="utf-8")
    keys = set(re.findall(r'section\.take\("(\w+)"', source)) - {"method"}
    assert len(keys) > 15
    assert not [key for key in sorted(keys) if f"| `{key}` |" not in page]
