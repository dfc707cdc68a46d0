"""Where a JJ file is damaged: read once more, slowly, word by word, for the line of its fault."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite, isnan

from discreet.table.decimals import BEYOND, is_beyond
from discreet.table.jj import FIELDS, NEAR, STATUSES

BEGINS = "a JJ file must begin with 0, a list of cells"
LENGTH = "every equation must have as many cells as it says, and no more"


class Fault(Exception):
    """What is wrong in a line, and what is expected there."""

    def __init__(self, line: int, what: str) -> None:
        super().__init__(f"Line {line}: {what}")


@dataclass
class Words:
    """The words of a file, taken one after the other, and the line of the last one."""

    words: list[tuple[str, int]]
    at: int = 0

    @classmethod
    def of(cls, text: str) -> Words:
        """Return the words of a file; brackets and colons separate them."""
        return cls(list(_words(text)))

    @property
    def line(self) -> int:
        """The line of the last word taken."""
        return self.words[self.at - 1][1] if self.at else 1

    def take(self, what: str) -> str:
        """Return the next word."""
        if self.at == len(self.words):
            raise Fault(self.line, f"{what} must follow. The file ends here.")
        self.at += 1
        return self.words[self.at - 1][0]

    def number(self, what: str, ends: bool = False) -> float:
        """Return the next word as a number; only the bounds of a cell may be without end."""
        word = self.take(what)
        try:
            found = float(word)
        except ValueError:
            raise Fault(self.line, f"{what} must be a number. Got '{word}'.") from None
        if isnan(found) or not (ends or isfinite(found)):
            raise Fault(self.line, f"{what} must be a finite number. Got '{word}'.")
        return found

    def whole(self, what: str, least: int) -> int:
        """Return the next word as a whole number, however it is written."""
        found = self.number(what)
        if found != int(found) or found < least:
            raise Fault(self.line, f"{what} must be a whole number of {least} or more. "
                                   f"Got '{self.words[self.at - 1][0]}'.")  # fmt: skip
        return int(found)

    def left_in_line(self) -> int:
        """Return how many words are left in the line of the last one."""
        end = self.at
        while end < len(self.words) and self.words[end][1] == self.line:
            end += 1
        return end - self.at


def fault_of(text: str) -> str | None:
    """Return the first fault of the text of a JJ file, with its line; None where none is found."""
    words = Words.of(text)
    try:
        first = words.take("0")
        if first != "0":
            raise Fault(words.line, f"{BEGINS}. Got {first}.")
        size = words.whole("the number of cells", 1)
        values = _cells(words, size)
        for number in range(words.whole("the number of equations", 0)):
            _equation(words, number, values)
        if words.at < len(words.words):
            word = words.take("")
            raise Fault(words.line, f"{LENGTH}. Got '{word}' after the last one.")
    except Fault as fault:
        return str(fault)
    return None


def _words(text: str) -> Iterator[tuple[str, int]]:
    apart = str.maketrans("():", "   ")
    for number, line in enumerate(text.split("\n"), 1):
        for word in line.translate(apart).split():
            yield word, number


def _cells(words: Words, size: int) -> list[float]:
    """Return the values of all cells; a line with too few fields is told, not the one after it."""
    values: list[float] = []
    before = 0
    for number in range(size):
        at = words.at
        try:
            values.append(_cell(words, number))
        except Fault as fault:
            for first in (before, at):
                line, fields = words.words[first][1], words.words[first : first + FIELDS]
                there = sum(one == line for _, one in fields)
                if number and there < FIELDS and words.words[first - 1][1] != line:
                    said = f"a cell must have {FIELDS} fields. Got {there}."
                    raise Fault(line, said) from fault
            raise
        before = at
    return values


def _cell(words: Words, number: int) -> float:
    """Return the value of a cell; its nine fields are read."""
    found = words.number(f"the number of cell {number}")
    if found != number:
        raise Fault(
            words.line,
            f"the cells must be numbered 0, 1, 2 … without a gap, and {number} comes here, with "
            f"nine fields each. Got {found:g}.",
        )
    value = words.number(f"the value of cell {number}")
    word = words.words[words.at - 1][0]
    if is_beyond(word.lstrip("+-")):
        said = f"the value of a cell must be {BEYOND}. Got {word} of cell {number}."
        raise Fault(words.line, said)
    _not_negative(words, f"the cost of cell {number}")
    status = words.take(f"the status of cell {number}")
    if status not in STATUSES:
        letters = ", ".join(STATUSES)
        said = f"the status of a cell must be one of {letters}. Got '{status}'."
        raise Fault(words.line, said)
    low = words.number(f"the lower bound of cell {number}", ends=True)
    high = words.number(f"the upper bound of cell {number}", ends=True)
    slack = NEAR * max(1.0, abs(value))
    if not low <= value + slack or not value <= high + slack:
        raise Fault(
            words.line,
            f"cell {number} must be within its bounds, {low:g} to {high:g}. Got {value:g}.",
        )
    for name in ("lower", "upper", "sliding"):
        _not_negative(words, f"the {name} protection of cell {number}")
    return value


def _not_negative(words: Words, what: str) -> None:
    if words.number(what) < 0:
        word = words.words[words.at - 1][0]
        raise Fault(words.line, f"{what} must be 0 or more. Got {word}.")


def _equation(words: Words, number: int, values: list[float]) -> None:
    """Read an equation; what it says of its length is held against the line that it begins in."""
    right = words.number(f"the sum of equation {number}, counted from 0,")
    line = words.line
    cells = words.whole(f"the number of cells of equation {number}", 0)
    there = words.left_in_line()
    wrong = Fault(line, f"{LENGTH}. It says {cells}, and there are {there / 2:g} in this line.")
    if words.line == line and there > 2 * cells:
        raise wrong
    total, most = -right, abs(right)
    for _ in range(cells):
        try:
            cell = words.whole("the number of a cell", 0)
            sign = words.number("the sign of a cell")
        except Fault:
            if words.line != line or there < 2 * cells:
                raise wrong from None
            raise
        if cell >= len(values):
            if words.line != line:
                raise wrong
            said = f"the cells of an equation must be from 0 to {len(values) - 1}. Got {cell}."
            raise Fault(words.line, said)
        total += sign * values[cell]
        most += abs(sign * values[cell])
    if abs(total) > NEAR * max(1.0, most):
        if words.line != line:
            raise wrong
        raise Fault(
            line,
            f"the values must add up. Equation {number}, counted from 0, is off by {total:g}.",
        )
