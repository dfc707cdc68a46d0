"""The codes of refusals: what a program reads."""

from __future__ import annotations

from enum import StrEnum


class Code(StrEnum):
    """Why a question is refused."""

    MAX_DIMENSIONS = "MAX_DIMENSIONS"
    MAX_CELLS = "MAX_CELLS"
    MAX_CATEGORIES = "MAX_CATEGORIES"
    LEVEL = "LEVEL"
    FILTER = "FILTER"
    TOTALS = "TOTALS"
    EMPTY = "EMPTY"
    MIN_POPULATION = "MIN_POPULATION"
    MEAN_CELL = "MEAN_CELL"
    SMALL_CELLS = "SMALL_CELLS"
    SPARSE = "SPARSE"
    SINGLE_LINES = "SINGLE_LINES"
    RISK = "RISK"
    NOT_PROTECTED = "NOT_PROTECTED"
    NO_METHOD = "NO_METHOD"
    NOT_MEASURED = "NOT_MEASURED"

    @property
    def sentence(self) -> str:
        """What a person reads; it never says how near the table was."""
        return _SENTENCES[self]


_SENTENCES = {
    Code.MAX_DIMENSIONS: "The table has too many variables.",
    Code.MAX_CELLS: "The table has too many cells.",
    Code.MAX_CATEGORIES: "A variable of the table has too many categories.",
    Code.LEVEL: "This much detail is not available to you.",
    Code.FILTER: "The table cannot be limited in this way.",
    Code.TOTALS: "Totals are not available in this form.",
    Code.EMPTY: "Nobody, or very few people, would be counted in this table.",
    Code.MIN_POPULATION: "Too few people would be counted in this table.",
    Code.MEAN_CELL: "There are too few people for this much detail.",
    Code.SMALL_CELLS: "Too many of the figures would be very small.",
    Code.SPARSE: "Too many of the figures would be very small.",
    Code.SINGLE_LINES: "Too many rows or columns would show only one group.",
    Code.RISK: "The table as a whole would tell too much about single people.",
    Code.NOT_PROTECTED: "The data were not prepared as the policy asks.",
    Code.NO_METHOD: "A table with this number of variables cannot be protected here.",
    Code.NOT_MEASURED: "The risk of a table with this number of variables cannot be measured here.",
}
