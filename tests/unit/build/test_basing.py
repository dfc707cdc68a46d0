"""A protected base as a step of a build: what is in the store, what readers and users are told."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

import discreet as dc
from bases import (
    DESCRIPTION,
    PRAM,
    STEP,
    columns,
    counts,
    dc_build,
    keep_secret,
    originals,
    people,
    write,
)
from discreet.cli.show import release_text
from discreet.errors import ParameterError
from discreet.page.texts import texts
from discreet.page.told import of_release
from discreet.policy import explain, read_preset
from discreet.population import Store
from discreet.release.formats.csvw import description
from discreet.release.public_file import write_base
from discreet.release.told import ADDS_UP, BASE, BEFOREHAND, NINE_IN_TEN
from discreet.service.opened import open_store

if TYPE_CHECKING:
    from conftest import Folder


def test_the_store_holds_the_base(built: Path) -> None:
    base, true = columns(Store(built / "store").open()), columns(originals(built))
    for names in (("oa", "religion"), ("oa", "sex"), ("la", "religion", "health"), ("age",)):
        off = np.abs(counts(base, *names) - counts(true, *names))
        # Noise of variance 3 to 4 alone changes figures by 1.3 to 1.6 on average.
        assert 0 < off.mean() < 5, names
    together = ("la", "sex", "religion", "health", "age")
    assert ((counts(base, *together) > 0) <= (counts(true, *together) > 0)).all()


def test_the_record_of_the_build(built: Path) -> None:
    version = Store(built / "store").open()
    (facts,) = version.steps_beforehand
    assert version.manifest["protected_beforehand"] == ["base"]
    assert "ranges" not in json.dumps(version.manifest)
    assert list(facts["errors"]) == ["oa", "la", "all areas"]
    # Against a count of our own, of all figures of one variable by smallest area.
    base, true = columns(version), columns(originals(built))
    band = np.repeat([0, 1, 2], [10, 10, 20])
    absolute = cells = 0
    for name in ("sex", "religion", "health", "age"):
        one, other = (counts(held, "oa", name) for held in (true, base))
        if name == "age":
            one, other = (
                np.stack([t[:, band == k].sum(axis=1) for k in range(3)], 1) for t in (one, other)
            )
        absolute += int(np.abs(one - other)[one > 0].sum())
        cells += int((one > 0).sum())
    by_class = np.array(facts["held_by_class"]["oa"])[:, 1:]  # of figures above 0
    inside, number = by_class.sum(axis=(0, 1))
    assert number == facts["held_of"]["oa"]
    assert inside / number == pytest.approx(facts["held"]["oa"])
    assert facts["errors"]["oa"][0]["mean_absolute"] == pytest.approx(absolute / cells, abs=1e-3)


def test_a_release_tells_what_it_is(built: Path) -> None:
    release = dc.open(built / "store").release("oa,religion", totals="summed")
    assert release.notes == (BEFOREHAND, BASE, NINE_IN_TEN, ADDS_UP)
    table = release.table
    assert table.low is not None
    assert table.high is not None
    assert (table.low <= table.values).all()
    assert (table.high > table.values).all()
    true = counts(columns(originals(built)), "oa", "religion")
    inner = tuple(slice(0, size) for size in true.shape)
    held = (true >= table.low[inner]) & (true <= table.high[inner])
    assert held.mean() > 0.85  # of nine in ten, on 72 figures
    several = dc.open(built / "store").release("religion", "oa=1|2|7")
    assert several.table.low is None  # how far sums of areas are off is not known
    # Whoever reads that a range is given must not read that nothing is told.
    assert release.public_quality.sentences == (
        "Figures are counts of the altered records, and were not altered further.",
    )
    assert several.public_quality.sentences[-1] == "How close they are cannot be said."
    # The terminal has no room for ranges, and says where they are.
    assert "Low and high are in files: --out FILE.csv" in release_text(release, 200)
    assert "Low and high" not in release_text(several, 200)


@pytest.mark.parametrize(
    ("level", "first", "kind"), [("age", "3", "ranges_beyond"), ("age_band", "a", "ranges")]
)
def test_levels_of_many_categories_have_ranges_of_their_own(
    built: Path, level: str, first: str, kind: str
) -> None:
    # Single years are in no pair that is fitted: of 40 categories, 30 are the most.
    (facts,) = Store(built / "store").open().steps_beforehand
    assert facts["ranges_beyond"] != facts["ranges"]
    for asked in ((f"la,sex,{level}",), ("la,sex", f"{level}={first}")):
        table = dc.open(built / "store").release(*asked).table
        assert table.low is not None
        assert table.high is not None
        kinds = np.searchsorted(facts["classes"], table.values)
        low, high = np.array(facts[kind]["la"][1]).T
        assert (table.low == np.maximum(table.values + np.minimum(low[kinds], -1), 0)).all()
        assert (table.high == table.values + np.maximum(high[kinds], 1)).all()
    assert 0.85 < facts["held_beyond"]["la"] < 0.97  # of nine in ten


def test_a_description_says_what_a_range_is(built: Path) -> None:
    release = dc.open(built / "store").release("oa,religion")
    columns = json.loads(description(release, "t.csv"))["tableSchema"]["columns"]
    for one in columns[-2:]:
        assert "in nine of ten cases" in one["dc:description"]


@pytest.mark.parametrize("lang", ["en", "de"])
def test_the_page_tells_it_too(built: Path, lang: str) -> None:
    opened, t = open_store(built / "store"), texts(lang)
    population = dc.open(built / "store")
    one = of_release(population.release("oa,religion"), opened, t)
    names = ("beforehand", "base", "nine_in_ten", "adds_up")
    assert one.notes == tuple(t(f"notes.{name}") for name in names)
    assert one.far == t("quality.base")
    assert one.usual
    several = of_release(population.release("religion", "oa=1|2|7"), opened, t)
    assert several.notes == tuple(t(f"notes.{name}") for name in ("beforehand", "base", "adds_up"))
    assert several.far == t("quality.beforehand")  # no range is told
    assert not several.usual


def test_the_record_of_a_release_measures_the_whole_way(built: Path) -> None:
    population = dc.open(built / "store", originals=built / "originals")
    record = population.release("oa,religion").record
    assert record is not None
    assert record.utility["average_absolute"]
    assert record.risk_before is not None
    assert record.risk_after is not None
    assert 0 < record.risk_after < record.risk_before


CATEGORIES = {"sex": [1, 2], "religion": [*range(6)], "health": [*range(4)], "age": [*range(40)]}
COARSER = {
    "age": ("age_band", np.repeat([0, 1, 2], [10, 10, 20])),
    "oa": ("la", np.arange(12) // 6),
}
Filtered = tuple[str, tuple[int, ...]] | None


def margins(
    table: NDArray[np.int64], names: tuple[str, ...], where: Filtered, filters: list[Filtered]
) -> Iterator[tuple[tuple[frozenset[str], Filtered], NDArray[np.int64]]]:
    """Yield everything that follows from a table: by what, of whom, and the figures.

    Each variable may be summed up, in the whole or to its coarser level; where everybody is
    counted, also over the categories of one of the filters.
    """
    left: list[tuple[dict[str, int], Filtered, NDArray[np.int64]]] = [({}, where, table)]
    for name in names:
        found = []
        for by, who, held in left:
            at = len(by)
            found += [({**by, name: at}, who, held), (by, who, held.sum(axis=at))]
            if name in COARSER:
                coarser, of = COARSER[name]
                added = np.zeros((*held.shape[:at], of.max() + 1, *held.shape[at + 1 :]), np.int64)
                np.add.at(np.moveaxis(added, at, 0), of, np.moveaxis(held, at, 0))
                found.append(({**by, coarser: at}, who, added))
            for one in filters if who is None else ():
                if one is not None and one[0] == name:
                    places = [CATEGORIES[name].index(code) for code in one[1]]
                    found.append((by, one, held.take(places, axis=at).sum(axis=at)))
        left = found
    for by, who, held in left:
        order = [by[name] for name in sorted(by)]
        yield (frozenset(by), who), held.transpose(order)


@pytest.mark.slow
def test_ten_thousand_tables_add_up(built: Path) -> None:
    """Every margin that two tables share is the same in both, filters and levels included."""
    population, rng = dc.open(built / "store"), np.random.default_rng(8)
    filters: list[Filtered] = [None]
    for name, codes in CATEGORIES.items():
        picks = {tuple(code for code in codes if rng.random() < 0.5) for _ in range(400)} - {
            (),
            tuple(codes),
        }
        filters += [(name, pick) for pick in sorted(picks)]
    every = ["sex", "religion", "health", "age", "age_band", "oa", "la"]
    choices = [c for k in range(1, 5) for c in combinations(every, k)
               if not ({"oa", "la"} <= {*c} or {"age", "age_band"} <= {*c})]  # fmt: skip
    asked = [(c, f) for c in choices for f in filters
             if f is None or not {f[0], "age_band" if f[0] == "age" else ""} & {*c}]  # fmt: skip
    # Everybody first, whose margins are those of all filters; the others by chance, none twice.
    whole = [one for one in asked if one[1] is None]
    rest = [one for one in asked if one[1] is not None]
    chosen = whole + [rest[i] for i in rng.choice(len(rest), 10_000 - len(whole), replace=False)]
    seen: dict[tuple[frozenset[str], Filtered], NDArray[np.int64]] = {}
    discrepancies = shared = 0
    for names, where in chosen:
        text = None if where is None else f"{where[0]}={'|'.join(map(str, where[1]))}"
        table = population.tabulate(dc.Query.parse(",".join(names), text)).counts
        for key, own in margins(table.astype(np.int64), names, where, filters):
            shared += key in seen
            discrepancies += not np.array_equal(seen.setdefault(key, own), own)
    assert len(set(chosen)) == 10_000
    assert shared > 50_000
    assert discrepancies == 0


def test_the_order_of_the_rows_does_not_matter(built: Path, tmp_path: Path) -> None:
    order = np.random.default_rng(2).permutation(5_000)
    write(tmp_path, people().take(order))
    dc_build(tmp_path)
    one, other = (columns(Store(folder / "store").open()) for folder in (built, tmp_path))
    assert all((one[name] == other[name]).all() for name in one)


def test_noise_is_drawn_anew_for_each_edition(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or what changes between two editions would point to who left."""
    noise, used = dc.protect.ProtectedBase.noise, set[bytes]()

    def noted(self: dc.protect.ProtectedBase, level: int, secret: bytes) -> Any:
        used.add(secret)
        return noise(self, level, secret)

    monkeypatch.setattr(dc.protect.ProtectedBase, "noise", noted)
    editions = []
    for name, rows in (("all", 5_000), ("one left", 4_999)):
        (tmp_path / name).mkdir()
        write(tmp_path / name, people().slice(0, rows))
        used.clear()
        dc_build(tmp_path / name)
        editions.append(used - {bytes(32)})  # ranges depend on no secret
    assert [len(each) for each in editions] == [1, 1]
    assert len({bytes(range(32)), *editions[0], *editions[1]}) == 3


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ('[[protect]]\nmethod = "base"\n', "base needs 'within'"),
        ('[[protect]]\nmethod = "base"\nwithin = "town"\n', "no geography 'town'"),
        (STEP + "share = 0\n", "share must be above 0"),
        (STEP + "share = 1\n", "share must be a number from 0 to 0.8. Got 1"),
        (STEP + "variance = 0\n", "variance must be a number from 1"),
        (STEP + "variance_smallest = -2\n", "variance_smallest must be a number from 1"),
        (STEP + "max_exact = 0.51\n", "max_exact must be a number from 0 to 0.5. Got 0.51"),
        (STEP + 'tables = ["oa*sex"]\n', "tables must be without areas"),
        (STEP + 'tables = ["sex"]\n', "tables must be of 2 or 3 variables"),
        (STEP + "sweeps = 3\n", "sweeps"),
        (STEP + STEP, "base must be the only step"),
        (PRAM + STEP, "base must be the only step"),
        (STEP + PRAM, "base must be the only step"),
        (STEP + 'tables = ["sex*sex"]\n', r"of different variables. Got sex\*sex"),
        (STEP + 'tables = ["sex*age*age_band"]\n', r"of different variables. Got sex\*age\*age_ba"),
        (STEP + "max_error = 0.01\n", "more than max_error, 0.01"),
        (STEP + "max_exact = 0.01\n", "more than max_exact, 1%"),
    ],
)
def test_what_is_refused(step: str, message: str, tmp_path: Path) -> None:
    write(tmp_path, people(600), step)
    with pytest.raises(ParameterError, match=message):
        dc_build(tmp_path, originals=None)
    assert Store(tmp_path / "store").current() is None


def test_chosen_tables_are_fitted(tmp_path: Path) -> None:
    write(tmp_path, people(800), STEP + 'tables = ["sex*age", "sex*religion*health"]\n')
    dc_build(tmp_path)
    (facts,) = Store(tmp_path / "store").open().steps_beforehand
    assert facts["residuals"]["oa"][2] > 0  # tables of three variables have residuals


@pytest.mark.parametrize(
    ("rows", "areas", "refused"),
    [
        # The second la, of eight people, has nobody beside it: each la is in a region of its own.
        (600, {"la": [0] * 592 + [1] * 8}, "la 1 has too few people"),
        # Two smallest areas of the first la, one of the second.
        (
            2_000,
            {"la": [0] * 1_000 + [1] * 1_000, "oa": [0, 1] * 500 + [2] * 1_000},
            "la 1 has too",
        ),
        (499, {"la": [0] * 499}, "la 0 has too few people"),
        (400, {"la": [0] * 200 + [1] * 200, "region": [0] * 400}, "la 0, 1 have too few people"),
        (8, None, "base needs at least 500 people"),
    ],
)
def test_few_people_make_no_base(
    rows: int, areas: dict[str, list[int]] | None, refused: str, tmp_path: Path
) -> None:
    table = people(rows)
    table = table.append_column("region", table["la"])
    for name, values in (areas or {}).items():
        table = table.set_column(table.column_names.index(name), name, pa.array(values))
    if areas is not None and "region" not in areas:
        table = table.set_column(table.column_names.index("region"), "region", table["la"])
    if areas is not None and "oa" not in areas:
        oa = np.array(areas["la"]) * 2 + np.arange(rows) % 2
        table = table.set_column(table.column_names.index("oa"), "oa", pa.array(oa))
    write(tmp_path, table, '[[geography]]\nid = "region"\ncolumn = "region"\n' + STEP)
    if areas is None:
        text = f'id = "people"\ntitle = "People"\n{DESCRIPTION.split("[[geography]]")[0]}'
        step = STEP.replace('within = "la"\n', "")
        (tmp_path / "dataset.toml").write_text(text + step, encoding="utf-8")
    with pytest.raises(ParameterError, match=refused):
        dc_build(tmp_path, originals=None)
    assert Store(tmp_path / "store").current() is None


def test_a_policy_that_changes_tables_again_is_told(tmp_path: Path) -> None:
    write(tmp_path, people(900))
    path = tmp_path / "dataset.toml"
    path.write_text(path.read_text().replace("protected-base", "rounding-3"))
    built = dc_build(tmp_path, originals=None)
    (note,) = [note for note in built.notes if "not add up" in note]
    assert note.startswith("The policy changes tables once more (tier public")
    (made,) = [note for note in built.notes if note.startswith("Protected base of")]
    assert "from donors in 1 area. Mean" in made  # areas of so few people share donors
    assert re.search(r"all areas \d\.\d and \d\.\d; la \d", made)


def test_without_areas(folder: Folder) -> None:
    folder.write("p.parquet", people(900)).describe(
        DESCRIPTION.split("[[geography]]")[0] + '[[protect]]\nmethod = "base"\n'
    )
    keep_secret(folder.store.path)
    version = folder.version()
    assert list(version.steps_beforehand[0]["errors"]) == ["all areas"]
    release = dc.open(folder.store.path).release("sex,religion")
    assert release.table.low is not None


def test_the_preset_needs_a_base(folder: Folder) -> None:
    folder.write("p.parquet", people(600)).describe(DESCRIPTION + PRAM)
    with pytest.raises(ParameterError, match=r"must have record-swapping.* or base"):
        folder.build()


def test_policy_explained() -> None:
    preset = read_preset("protected-base")
    told = explain(preset)
    said = " ".join(told.split())
    assert "Combinations absent in the larger area stay absent" in said
    # The preset publishes ranges, so that "must not say by how much" would be wrong.
    assert "With a protected base every figure has a range" in said
    assert "must not say by how much" not in said
    # By the multiplier of the preset: what share was swapped has no part in it.
    assert "is measured from the released figures; no table is refused for it" in said
    tier = preset.tiers["public"]
    silent = replace(tier, protection=replace(tier.protection, published=False))
    untold = explain(replace(preset, tiers={"public": silent}))
    assert "must not say by how much" in " ".join(untold.split())


def test_a_public_use_file(built: Path, tmp_path: Path) -> None:
    out = tmp_path / "base.parquet"
    subprocess.run(
        [sys.executable, "-m", "discreet", "base", str(built / "store"), "--out", str(out)],
        check=True,
    )
    table = pq.read_table(out).to_pandas()
    version = Store(built / "store").open()
    assert len(table) == version.rows
    assert list(table.columns) == ["oa", "la", "sex", "religion", "health", "age"]
    release = dc.open(built / "store").release("la,religion")
    found = table.groupby(["la", "religion"], observed=False).size()
    for i, area in enumerate(release.table.dimensions[0].codes):
        for j, code in enumerate(release.table.dimensions[1].codes):
            assert found[area, code] == release.table.values[i, j]
    told = json.loads((tmp_path / "base.parquet.meta.json").read_text(encoding="utf-8"))
    assert told["rows"] == version.rows
    for kind in ("levels", "levels_of_more_categories"):
        for by_order in told["ranges"][kind].values():
            for ranges in by_order:
                assert all(low <= 0 < high for low, high in ranges)  # the figure is in its range
                assert all(low < 0 for low, high in ranges[1:])
    assert "errors" not in json.dumps(told)  # computed from true counts: for the custodian


def test_only_a_base_is_given_away(folder: Folder, tmp_path: Path) -> None:
    text = DESCRIPTION.replace("protected-base", "rounding-3")
    folder.write("p.parquet", people(300)).describe(text).build()
    with pytest.raises(ParameterError, match="must not be given away"):
        write_base(folder.store.path, tmp_path / "x.parquet")
    assert not (tmp_path / "x.parquet").exists()


def test_the_build_tells_who_is_at_home(built: Path) -> None:
    version = Store(built / "store").open()
    (facts,) = version.steps_beforehand
    # Some 80 of 5,000 have religion 5, more than 3 in 1,000, and so many are of every age.
    assert facts["at_home_rare"]["oa"]["copies"] == 0
    assert list(facts["at_home"]) == ["oa"]  # "la" is the level of donors, all of whom stay in it
    home = facts["at_home"]["oa"]
    # By an own count of those alone with their pattern, of all 5,000; each is a donor by chance.
    true = columns(originals(built))
    names = ("sex", "religion", "health", "age")
    _, of, times = np.unique(
        np.stack([true[name] for name in names]), axis=1, return_inverse=True, return_counts=True
    )
    single = int((times[of.ravel()] == 1).sum())
    assert 0.8 * single < home["copies"] < 1.2 * single
    assert home["by_chance"] == pytest.approx(1 / 6, abs=0.01)
    assert home["share"] == pytest.approx(1 / 6, abs=4 * (5 / 36 / home["copies"]) ** 0.5)
