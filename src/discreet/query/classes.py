"""Classes of questions: which variables at which levels, filters included.

All questions of a class are answered from one complete table, made and judged once: a slice of
it, or sums of its figures. No question has noise of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod

from discreet.errors import ParameterError
from discreet.population.schema import Level, Schema
from discreet.query.question import Question

EVERYBODY = "everybody"
"""The name of the class without variables: the total of the population."""


@dataclass(frozen=True)
class QuestionClass:
    """A level in the chain of each variable: `ranks` has 0 for a variable that is not in it.

    1 is the coarsest level of a variable's chain and the largest number its finest, in the order
    of the schema's variables. A class covers another if every figure of that one is a sum of its
    own.
    """

    schema: Schema
    ranks: tuple[int, ...]

    @classmethod
    def of(cls, question: Question) -> QuestionClass:
        """Return the class of a question: the coarsest levels that can say it."""
        return cls.at(question.schema, question.ranks)

    @classmethod
    def at(cls, schema: Schema, ranks: tuple[int, ...]) -> QuestionClass:
        """Return the class of these ranks: one object for it, which knows its levels and cells."""
        found: QuestionClass = schema.kept(ranks, lambda: cls(schema, ranks))
        return found

    @classmethod
    def named(cls, name: str, schema: Schema) -> QuestionClass:
        """Return the class of a name; an unknown one is an error with the choices."""
        names = [] if name == EVERYBODY else name.split(",")
        made = cls.of(Question(schema, tuple(schema.find(one)[1] for one in names)))
        if made.name != name:
            raise ParameterError(f"'{name}' must be the name of a class. Did you mean {made.name}?")
        return made

    def __eq__(self, other: object) -> bool:
        return isinstance(other, QuestionClass) and (self.schema.id, self.ranks) == (
            other.schema.id,
            other.ranks,
        )

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.schema.id, self.ranks))

    @cached_property
    def levels(self) -> tuple[Level, ...]:
        """The levels of the table, in the order of the schema."""
        pairs = zip(self.schema.variables, self.ranks, strict=True)
        return tuple(variable.chain[-rank] for variable, rank in pairs if rank)

    @cached_property
    def name(self) -> str:
        """The ids of its levels in the order of the schema: the same for the same class."""
        return ",".join(level.id for level in self.levels) or EVERYBODY

    def __repr__(self) -> str:
        return f"QuestionClass({self.name!r})"

    @property
    def areas(self) -> Level | None:
        """The level of its areas, None where it has none."""
        pairs = zip(self.schema.variables, self.ranks, strict=True)
        return next((v.chain[-rank] for v, rank in pairs if rank and v.is_geography), None)

    @property
    def label(self) -> str:
        """Its levels as a reader knows them."""
        return " by ".join(level.label for level in self.levels) or "Everybody"

    @cached_property
    def cells(self) -> int:
        """The number of cells of its table."""
        return prod(len(level) for level in self.levels)

    @property
    def question(self) -> Question:
        """The question that asks for its whole table."""
        return Question.plain(self.schema, self.levels)

    def covers(self, other: QuestionClass) -> bool:
        """Whether every figure of the other class is a sum of figures of this one."""
        return all(mine >= its for mine, its in zip(self.ranks, other.ranks, strict=True))

    def parts(self, other: QuestionClass) -> float:
        """Return how many figures of this class one of the other is the sum of, on average."""
        return self.cells / other.cells

    def below(self) -> Iterator[QuestionClass]:
        """Yield every class that this one covers, itself included."""
        for ranks in product(*(range(rank + 1) for rank in self.ranks)):
            yield QuestionClass(self.schema, ranks)
