"""Sets of tables, against looking at each table."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from discreet.ledger.index import Index, numbers
from discreet.population import Schema
from discreet.query import QuestionClass
from ledgers import SCHEMA, of

CLASSES = sorted(of("sex,age,oa").below(), key=lambda c: c.name)


@given(st.lists(st.sampled_from(CLASSES), max_size=40), st.sampled_from(CLASSES))
def test_sets_are_those_of_looking_at_each_table(
    tables: list[QuestionClass], asked: QuestionClass
) -> None:
    index = Index(SCHEMA)
    assert [index.add(table) for table in tables] == list(range(len(tables)))
    covering = [i for i, table in enumerate(tables) if table.covers(asked)]
    assert list(numbers(index.covering(asked))) == covering
    same = [i for i, table in enumerate(tables) if table.ranks[-1] == asked.ranks[-1]]
    assert list(numbers(index.same_areas(asked))) == same
    smallest = min((tables[i] for i in covering), key=lambda c: (c.cells, c.name), default=None)
    assert index.fewest_cells(index.covering(asked)) == smallest


def test_without_geography_all_tables_have_the_same_areas() -> None:
    schema = Schema("plain", "Plain", "people", SCHEMA.variables[:1])
    index = Index(schema)
    for rank in (0, 1):
        index.add(QuestionClass(schema, (rank,)))
    assert list(numbers(index.same_areas(QuestionClass(schema, (1,))))) == [0, 1]
