"""Every error that this package raises.

DiscreetError
  ParameterError       a value given by the caller breaks a rule
    UnknownDataset     there is no data set of this id
    NotOurs            a file that this program did not write
    Sealed             a store without the secret or key that belongs to it
    Damaged            a file of a store is not as it was written
    NotCertified       a store that its policy lets be served with a certificate only
    NotInstalled       a package that comes with an extra is not there
    CannotProtect      nothing that may be done to a table protects it
  QueryRefused         a disclosure rule refuses the question
  InternalError        a promise of this package did not hold
  Stopped              work that its caller ended
  NotReleased          a table that a question alone does not release
  Forbidden            somebody who is known may not do this
  Busy, Starting, TooLong   the server cannot answer now
  Unavailable          what is needed elsewhere cannot be reached now
    LedgerUnavailable  what is released cannot be looked up or written down now
    EngineUnavailable  the records cannot be counted where they are now
      RecordsUnreachable  the folder of coded records is not there now
  SitesUnavailable     sites that keep the data did not answer, or not as agreed

What a caller reads names the thing, the rule, the value that broke it and the choices; it never
contains a count of people.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

_MOST_SEARCHED = 1_000
_LONGEST_NAME = 100


class DiscreetError(Exception):
    """Anything this package raises on purpose."""


class ParameterError(DiscreetError, ValueError):
    """A value given by the caller breaks a rule; the message says which, and what is allowed.

    >>> try:
    ...     dc.protect.RandomRounding(base=1)
    ... except dc.ParameterError as error:
    ...     print(error)
    base must be an integer from 2 to 100. Got 1.
    """


class QueryRefused(DiscreetError):
    """A disclosure rule refuses the question: `code` says of which kind, `hints` what to try.

    `record` is for the custodian only, and there if the table was counted before it was refused.

    >>> try:
    ...     dc.open("people").release("town", totals="summed")
    ... except dc.QueryRefused as refusal:
    ...     print(refusal.code)
    TOTALS
    """

    def __init__(
        self, code: str, message: str, hints: tuple[Any, ...] = (), record: Any = None
    ) -> None:
        super().__init__(message)
        self.code = str(code)
        self.hints = hints
        self.record = record


class InternalError(DiscreetError, RuntimeError):
    """Something this package promised did not hold; nothing is released."""


class UnknownDataset(ParameterError):
    """There is no data set of this id."""


class NotOurs(ParameterError):
    """The file is none that this program wrote, or what belongs to it is not there."""


class Sealed(ParameterError):
    """What belongs to a store is missing or another's; nothing is released until it is put back."""


class NotCertified(ParameterError):
    """A store that its policy lets be served with a certificate only, and that has none."""


class NotInstalled(ParameterError, ModuleNotFoundError):
    """A package that comes with an extra is not installed; the message says with which."""


class CannotProtect(ParameterError):
    """Nothing that may be done to a table protects it as asked; nothing is written."""


class Damaged(ParameterError):
    """A file of a store is not as it was written; nothing is released from it."""


class Stopped(DiscreetError):
    """The caller ended the work before it was done; there is no result."""


class Busy(DiscreetError):
    """Too many questions wait already; `retry_after` seconds later there may be room."""

    def __init__(self, retry_after: int = 2) -> None:
        super().__init__("The server is busy.")
        self.retry_after = retry_after


class Starting(DiscreetError):
    """The stores are being opened."""


class NotReleased(DiscreetError):
    """The table is not released yet, and the way it was asked for does not release it."""

    def __init__(self) -> None:
        super().__init__("This table is not released yet.")


class Forbidden(DiscreetError):
    """Somebody who is known may not do this; `code` says why, for programs."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class TooLong(DiscreetError):
    """The question took longer than allowed and was stopped."""


class Unavailable(DiscreetError):
    """What is needed elsewhere cannot be reached now: nothing new is answered.

    `reason` is for whoever runs the program only.
    """

    what = "what is needed"

    def __init__(self, reason: str = "") -> None:
        super().__init__("New tables cannot be made now. Please try again later.")
        self.reason = reason


class LedgerUnavailable(Unavailable):
    """What is released cannot be looked up or written down now."""

    what = "the state database"


class EngineUnavailable(Unavailable):
    """Records cannot be counted where they are now; what views cover is answered all the same."""

    what = "the engine that counts the records"


class RecordsUnreachable(EngineUnavailable):
    """The folder of coded records is not there now: a disk that is not mounted, say."""

    what = "the folder of coded records"


class SitesUnavailable(DiscreetError):
    """Sites that keep the data did not answer, or not as agreed; `wrong` says what of which.

    What is `lasting` does not pass by itself.
    """

    def __init__(self, wrong: Mapping[str, str], lasting: bool = False) -> None:
        told = "; ".join(f"{site} {reason}" for site, reason in wrong.items())
        super().__init__(f"The table needs data of other offices: {told}.")
        self.wrong, self.lasting = dict(wrong), lasting


def unknown(
    kind: str, name: object, choices: Iterable[str], other: Iterable[str] = ()
) -> ParameterError:
    """Return the error for a name that is not among the choices, with the nearest one suggested.

    The name need not be a text: whoever passes a number is told the choices as well. `other` are
    names that would do too, and are not listed.

    >>> str(unknown("variable", "agee", ["age", "sex"]))
    "no variable 'agee'; did you mean 'age'? Choices: age, sex"
    """
    listed, name = list(choices), str(name)
    names = [*listed, *other]
    # Among thousands of areas the search takes seconds, which anyone could make a server spend.
    searched = len(names) <= _MOST_SEARCHED and len(name) <= _LONGEST_NAME
    near = get_close_matches(name, names, n=1, cutoff=0.6) if searched else []
    hint = f"did you mean '{near[0]}'? " if near else ""
    given = name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}…"
    return ParameterError(f"no {kind} '{given}'; {hint}Choices: {first_few(listed, 20) or 'none'}")


def first_few(items: Sequence[str], most: int = 5, count: int | None = None) -> str:
    """Return the first of many, and how many more there are; of `count` in all, if not all came."""
    number = len(items) if count is None else count
    shown = ", ".join(items[:most])
    return shown if number <= most else f"{shown} and {number - most:,} more"
