"""What is asked: variables, levels, filters, and the canonical form of a question."""

from discreet.query.classes import QuestionClass
from discreet.query.parse import Query
from discreet.query.question import Axis, Filter, Question

__all__ = ["Axis", "Filter", "Query", "Question", "QuestionClass"]
