"""Editions: what a rebuild from changed records may show."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet.build import build
from discreet.build.comparing import changes, surely
from discreet.errors import ParameterError
from populations import make_version
from stores import write_town

ROWS = 20_000  # of which 200 must differ: one in a hundred


def changed(folder: Path, leave: int) -> Path:
    """Take the first so many people out of the town."""
    path = folder / "people.parquet"
    pq.write_table(pq.read_table(path).slice(leave), path)
    return folder / "dataset.toml"


def test_the_same_records_are_the_same_edition(tmp_path: Path) -> None:
    description = write_town(tmp_path / "town", ROWS)
    build(description, tmp_path / "store")
    first = dc.open(tmp_path / "store").release("sex,health").table.values
    # In another order, too: what counts is who is there.
    path = tmp_path / "town" / "people.parquet"
    table = pq.read_table(path)
    pq.write_table(table.take(pa.array(np.arange(ROWS)[::-1])), path)
    build(description, tmp_path / "store")
    again = dc.open(tmp_path / "store")
    assert again.version.edition == 1
    assert np.array_equal(again.release("sex,health").table.values, first)


def test_a_few_changes_make_no_edition(tmp_path: Path) -> None:
    description = write_town(tmp_path / "town", ROWS)
    build(description, tmp_path / "store")
    before = dc.open(tmp_path / "store").version.id
    dc.open(tmp_path / "store").release("sex")
    for leave in (1, 150):
        with pytest.raises(ParameterError, match="would show whose records changed"):
            build(changed(tmp_path / "town", leave), tmp_path / "store")
    assert dc.open(tmp_path / "store").version.id == before


def test_many_changes_make_an_edition_in_which_every_figure_is_drawn_anew(tmp_path: Path) -> None:
    description = write_town(tmp_path / "town", ROWS)
    build(description, tmp_path / "store")
    first = dc.open(tmp_path / "store").release("ward,health").table
    built = build(changed(tmp_path / "town", 400), tmp_path / "store")
    assert any("Edition 2: 400 records differ" in note for note in built.notes)
    second = dc.open(tmp_path / "store")
    assert second.version.edition == 2
    now = second.release("ward,health").table
    both = ~first.withheld & ~now.withheld
    # Of 200 figures rounded to base 3 about 2 in 5 would differ by two independent draws alone;
    # with the noise kept only those of the wards and healths of those who left could.
    assert (first.values != now.values)[both].mean() > 0.25


def test_looks_are_counted_over_editions(tmp_path: Path) -> None:
    description = write_town(tmp_path / "town", ROWS)
    store = tmp_path / "store"
    build(description, store)
    dc.open(store).release("ward,age_band,health")  # 40 x 3 x 5: 33 a cell
    build(changed(tmp_path / "town", 400), store)
    assert dc.open(store).version.edition == 2
    with pytest.raises(dc.QueryRefused) as refusal:
        dc.open(store).release("ward,age_band,health")
    assert refusal.value.code == "USED_UP"
    # Detail that is not guarded is released anew: 40 wards are 500 people each.
    assert dc.open(store).release("ward,sex").table.values.size == 80


def test_another_secret_is_another_edition(tmp_path: Path) -> None:
    description = write_town(tmp_path / "town", ROWS)
    build(description, tmp_path / "store")
    build(description, tmp_path / "store", new_secret=True)
    assert dc.open(tmp_path / "store").version.edition == 2


def test_what_was_never_published_may_be_corrected(tmp_path: Path) -> None:
    build(write_town(tmp_path / "town", ROWS), tmp_path / "store")
    build(changed(tmp_path / "town", 1), tmp_path / "store")
    assert dc.open(tmp_path / "store").version.rows == ROWS - 1


def test_every_edition_that_is_kept_is_compared(tmp_path: Path) -> None:
    """There and back: another delivery in between does not let one person's leaving show."""
    town, store = tmp_path / "town", tmp_path / "store"
    build(write_town(town, ROWS), store)
    first = dc.open(store).release("sex,health").table.values
    whole = (town / "people.parquet").read_bytes()
    build(changed(town, 400), store)
    (town / "people.parquet").write_bytes(whole)
    with pytest.raises(ParameterError, match="would show whose records changed"):
        build(changed(town, 1), store)
    # The same records again are the same edition, with the same figures.
    (town / "people.parquet").write_bytes(whole)
    build(town / "dataset.toml", store)
    assert dc.open(store).version.edition == 1
    assert np.array_equal(dc.open(store).release("sex,health").table.values, first)


def test_a_record_that_moved_has_changed() -> None:
    """One record more in the first area and one less in the second: as left and come, two."""
    old = make_version(np.random.default_rng(1), 100, [2], [6, 2])
    assert old.areas is not None
    areas = old.areas.copy()
    areas[1] += 1
    assert areas[1] <= areas[2]
    assert changes(old, replace(old, areas=areas)) == 2
    assert changes(old, replace(old, areas=old.areas.copy())) == 0


def described_anew(folder: Path, *changes: tuple[str, str]) -> Path:
    path = folder / "dataset.toml"
    text = path.read_text(encoding="utf-8")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path.write_text(text, encoding="utf-8")
    return path


def test_other_labels_are_no_other_edition(tmp_path: Path) -> None:
    # Otherwise a typing error that is corrected would show all figures drawn anew.
    town, store = tmp_path / "town", tmp_path / "store"
    build(write_town(town, ROWS), store)
    first = dc.open(store).release("sex,health").table.values
    build(described_anew(town, ('title = "', 'title = "New: ')), store)
    again = dc.open(store)
    assert again.schema.title.startswith("New: ")
    assert again.version.edition == 1
    assert np.array_equal(again.release("sex,health").table.values, first)


def test_few_changes_do_not_hide_behind_a_label(tmp_path: Path) -> None:
    town, store = tmp_path / "town", tmp_path / "store"
    build(write_town(town, ROWS), store)
    dc.open(store).release("sex")
    described_anew(town, ('title = "', 'title = "New: '))
    with pytest.raises(ParameterError, match="Here 1 differ"):
        build(changed(town, 1), store)


def test_other_groups_are_new_looks_at_the_same_records(tmp_path: Path) -> None:
    # 40 wards x 3 bands x 5 healths have 33 people a cell: guarded, with one look. Bands that end a
    # year later are another look; by age 20 alone the two tables would differ.
    town, store = tmp_path / "town", tmp_path / "store"
    build(write_town(town, ROWS), store)
    dc.open(store).release("ward,age_band,health")
    build(described_anew(town, ('"0..19"', '"0..20"'), ('"20..59"', '"21..59"')), store)
    again = dc.open(store)
    assert again.version.edition == 1
    with pytest.raises(dc.QueryRefused) as refusal:
        again.release("ward,age_band,health")
    assert refusal.value.code == "USED_UP"


def recoded(folder: Path, **columns: dict[object, object]) -> Path:
    """Give the values of some columns other names, for everybody."""
    path = folder / "people.parquet"
    table = pq.read_table(path)
    for name, became in columns.items():
        values = [became.get(one, one) for one in table[name].to_pylist()]
        table = table.set_column(table.schema.get_field_index(name), name, pa.array(values))
    pq.write_table(table, path)
    return folder / "dataset.toml"


def sexes(folder: Path, leave: int = 0) -> Path:
    changed(folder, leave)
    described_anew(folder, ('1 = "Male", 2 = "Female"', 'M = "Male", F = "Female"'))
    return recoded(folder, sex={1: "M", 2: "F"})


def test_other_codes_are_no_other_records(tmp_path: Path) -> None:
    town, store = tmp_path / "town", tmp_path / "store"
    build(write_town(town, ROWS), store)
    first = dc.open(store).release("sex,health").table.values
    build(sexes(town), store)
    again = dc.open(store)
    assert again.schema.find("sex")[1].codes == ("M", "F")
    assert (again.version.edition, again.version.alike) == (1, [1])
    assert np.array_equal(again.release("sex,health").table.values, first)


def test_few_changes_do_not_hide_behind_other_codes(tmp_path: Path) -> None:
    town, store = tmp_path / "town", tmp_path / "store"
    build(write_town(town, ROWS), store)
    dc.open(store).release("sex")
    with pytest.raises(ParameterError, match="Here 1 differ"):
        build(sexes(town, leave=1), store)


def test_a_new_secret_is_no_other_people(tmp_path: Path) -> None:
    town, store = tmp_path / "town", tmp_path / "store"
    build(write_town(town, ROWS), store)
    build(sexes(town), store, new_secret=True)
    version = dc.open(store).version
    assert (version.edition, version.alike) == (2, [1])  # other noise, the same people
    build(changed(town, 400), store)
    version = dc.open(store).version
    # 400 of 20,000 left: more than the 200 that make an edition, under any names of categories.
    assert (version.edition, version.alike) == (3, [3])


def test_few_changes_do_not_hide_behind_a_new_secret(tmp_path: Path) -> None:
    town, store = tmp_path / "town", tmp_path / "store"
    build(write_town(town, ROWS), store)
    dc.open(store).release("sex")
    with pytest.raises(ParameterError, match="would show whose records changed"):
        build(changed(town, 1), store, new_secret=True)


def test_less_detail_and_other_ids_are_no_other_people(tmp_path: Path) -> None:
    town, store = tmp_path / "town", tmp_path / "store"
    build(write_town(town, ROWS), store)
    # Health of five categories is now of three: nobody else, but other figures.
    old = '[variables.health]\nlabel = "Health"\nrange = [1, 5]'
    described_anew(town, (old, old.replace("5]", "3]")))
    build(recoded(town, health={4: 3, 5: 3}), store)
    assert (dc.open(store).version.edition, dc.open(store).version.alike) == (2, [1])
    table = pq.read_table(town / "people.parquet")
    names = pa.array([f"n{i}" for i in range(ROWS)])
    pq.write_table(table.set_column(table.schema.get_field_index("id"), "id", names),
                   town / "people.parquet")  # fmt: skip
    build(town / "dataset.toml", store)
    assert (dc.open(store).version.edition, dc.open(store).version.alike) == (3, [1])


def test_the_least_number_of_records_that_differ() -> None:
    """Of 100 records 30 have code 0, then 40: at least 10 left it and 10 came, under any names."""
    old = make_version(np.random.default_rng(1), 100, [2])
    codes = np.zeros((1, 100), np.uint8)
    codes[0, 30:] = 1
    more = codes.copy()
    more[0, 30:40] = 0
    other = replace(old, codes8=1 - more, manifest={**old.manifest, "secret": "another"})
    assert surely(replace(old, codes8=codes), other) == 20
