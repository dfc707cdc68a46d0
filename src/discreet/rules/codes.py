"""The codes of refusals, for programs, each with the sentence that a person reads."""

from __future__ import annotations

from enum import StrEnum


class Code(StrEnum):
    """Why a question is refused; the sentence never says how near the table was."""

    sentence: str

    def __new__(cls, code: str, sentence: str) -> Code:
        """Return the code, which is a text, with its sentence."""
        made = str.__new__(cls, code)
        made._value_ = code
        made.sentence = sentence
        return made

    MAX_DIMENSIONS = "MAX_DIMENSIONS", "The table has too many variables."
    MAX_CELLS = "MAX_CELLS", "The table has too many cells."
    MAX_CATEGORIES = "MAX_CATEGORIES", "A variable of the table has too many categories."
    LEVEL = "LEVEL", "This much detail is not available to you."
    FILTER = "FILTER", "The table cannot be limited in this way."
    TOTALS = "TOTALS", "Totals are not available in this form."
    NOT_AVAILABLE = (
        "NOT_AVAILABLE",
        "Not available. This table could tell too much about too few people.",
    )
    USED_UP = "USED_UP", "This detail is in as many released tables as there may be."
    TOO_LARGE = (
        "TOO_LARGE",
        "The complete table of which this is a part is too large to be made.",
    )
    NOT_PROTECTED = "NOT_PROTECTED", "The data were not prepared as the policy asks."
    NO_METHOD = "NO_METHOD", "A table with this number of variables cannot be protected here."
    NOT_MEASURED = (
        "NOT_MEASURED",
        "The risk of a table with this number of variables cannot be measured here.",
    )
    SITES = "SITES", "The offices that keep the data do not all answer this question."
    MIXED = "MIXED", "Figures that offices protect in different ways are not added up."
    # Of the following only the custodian's record tells which it was.
    EMPTY = "EMPTY", "Nobody, or very few people, would be counted in this table."
    MIN_POPULATION = "MIN_POPULATION", "Too few people would be counted in this table."
    MEAN_CELL = "MEAN_CELL", "There are too few people for this much detail."
    SMALL_CELLS = "SMALL_CELLS", "Too many of the figures would be very small."
    SPARSE = "SPARSE", "Too many of the figures would be very small."
    SINGLE_LINES = "SINGLE_LINES", "Too many rows or columns would show only one group."
    RISK = "RISK", "The table as a whole would tell too much about single people."
